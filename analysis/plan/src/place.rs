//! What a text says about one thing, and where.

use core::ops::Range;

/// Where a wish stands: bytes of the text that it was read from. What a command line lays over a text lies behind its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct TextRange {
    /// The first byte.
    pub begin: usize,
    /// Behind the last byte.
    pub end: usize,
}

impl From<Range<usize>> for TextRange {
    fn from(range: Range<usize>) -> Self {
        Self { begin: range.start, end: range.end }
    }
}

impl From<TextRange> for Range<usize> {
    fn from(place: TextRange) -> Self {
        place.begin..place.end
    }
}

/// Something that is wished, and where that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wish<T> {
    /// What.
    pub value: T,
    /// Where.
    pub at: TextRange,
}

impl<T> Wish<T> {
    /// A wish at a place.
    pub fn new(value: T, at: impl Into<TextRange>) -> Self {
        Self { value, at: at.into() }
    }
}

/// What a text says about one thing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Said<T> {
    /// Nothing: a strategy decides.
    #[default]
    Nothing,
    /// Something that can't be read. Who read it has complained; a plan puts nothing in its place and does not complain that it is
    /// missing.
    Unreadable,
    /// This.
    This(Wish<T>),
}

impl<T> Said<T> {
    /// What is said, where it can be read.
    pub fn value(&self) -> Option<&T> {
        self.wish().map(|wish| &wish.value)
    }

    /// The same with its place.
    pub fn wish(&self) -> Option<&Wish<T>> {
        match self {
            Self::This(wish) => Some(wish),
            Self::Nothing | Self::Unreadable => None,
        }
    }

    /// True where nothing stands there, right or wrong.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}
