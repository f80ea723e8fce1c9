//! Charts that need nothing else: lines or bars as SVG, and the head and colors of every page that holds charts.
//!
//! * [`Chart`]: series over named places or over numbers, with a linear or a logarithmic scale
//! * [`axis`]: round numbers beside an axis
//! * [`page`]: a page of charts; what other pages begin with
//!
//! The same chart yields the same bytes, whatever the host.
#![forbid(unsafe_code)]

pub mod axis;
mod draw;
pub mod page;

/// How values become heights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// From zero.
    Linear,
    /// From zero to one.
    Share,
    /// By powers of ten; values that are not above zero are left out.
    Logarithmic,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A line through its points, which are marked where places are named.
    Line,
    /// Bars, those of several series side by side.
    Bars,
}

/// What runs along the lower edge.
#[derive(Clone, PartialEq, Debug)]
pub enum Places {
    /// Names side by side, from left to right.
    Named(Vec<String>),
    /// Numbers, each where it lies between the least and the most; finite.
    Numbers(Vec<f64>),
}

/// Values of one name, one for each place of the chart; `None` where there is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its values.
    pub values: Vec<Option<f64>>,
}

/// A chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// What the places are.
    pub across: String,
    /// What the values are, with their unit.
    pub up: String,
    /// The places.
    pub places: Places,
    /// What is drawn.
    pub series: Vec<Series>,
    /// How values become heights.
    pub scale: Scale,
    /// Lines or bars.
    pub mark: Mark,
}

impl Chart {
    /// The chart as a file of its own.
    pub fn svg(&self) -> String {
        valid(draw::draw(self, draw::Colors::Light).into_string())
    }

    /// The chart as a part of a [`page::document`], whose colors it takes.
    pub fn markup(&self) -> maud::Markup {
        draw::draw(self, draw::Colors::Page)
    }
}

impl Places {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Named(names) => names.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each of them as text.
    pub fn labels(&self) -> Vec<String> {
        match self {
            Self::Named(names) => names.clone(),
            Self::Numbers(numbers) => numbers.iter().copied().map(axis::short).collect(),
        }
    }
}

/// A page or picture with only characters that XML and HTML allow: what they don't is shown as U+FFFD.
pub fn valid(text: String) -> String {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    if text.chars().all(allowed) { text } else { text.replace(|c| !allowed(c), "\u{fffd}") }
}
