//! Which ways of a set may be replaced.

/// The ways of a set that may be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// Every way.
    All,
    /// The ways whose bits are set, way 0 lowest; at least one.
    Only(u64),
}

impl Allowed {
    /// True where `way` may be replaced.
    #[inline]
    pub fn contains(self, way: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(mask) => way < 64 && mask >> way & 1 == 1,
        }
    }

    /// Without the `locked` ways of a set of `ways`, of which at least one is not locked. Where nothing else is
    /// allowed, any way that is not locked: what is locked stays whatever the mask says.
    pub fn less(self, locked: u64, ways: usize) -> Self {
        if locked == 0 {
            return self;
        }
        let all = if ways >= 64 { u64::MAX } else { (1 << ways) - 1 };
        let had = match self {
            Self::All => all,
            Self::Only(mask) => mask & all,
        };
        let left = had & !locked;
        Self::Only(if left == 0 { all & !locked } else { left })
    }
}
