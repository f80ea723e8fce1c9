//! The progressive lockdown curve: what a job takes and transfers, against how many of its pages are locked (SCE 2.3).

use solo_model::Duration;

/// One number of locked pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Pages locked, the most accessed first.
    pub pages: u64,
    /// The execution time alone, `C`.
    pub alone: Duration,
    /// Lines that a job reads from memory at most.
    pub reads: u64,
    /// Lines that are written back because of it at most: by its own writes, and those of others that its reads push out.
    pub writes: u64,
}

impl Point {
    /// `mu`: transactions with memory, in both directions.
    pub const fn transactions(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }

    /// The same where write-backs were not counted: each line that is read may push a modified one out.
    pub const fn reads_only(pages: u64, alone: Duration, reads: u64) -> Self {
        Self { pages, alone, reads, writes: reads }
    }
}

/// Points by pages. More locked pages never take longer and never transfer more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    points: Vec<Point>,
}

/// Why points are no curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CurveError {
    /// No point for no pages.
    #[error("the curve begins with no page locked")]
    NoBeginning,
    /// Two points of as many pages.
    #[error("two points of {pages} pages")]
    Twice {
        /// So many.
        pages: u64,
    },
    /// It rises.
    #[error("the curve rises from {fewer} to {more} pages")]
    Rises {
        /// So many pages took less, or transferred less,
        fewer: u64,
        /// than so many.
        more: u64,
    },
}

impl Curve {
    /// The curve through points of any order.
    ///
    /// # Errors
    /// Where they are no curve.
    pub fn new(points: &[Point]) -> Result<Self, CurveError> {
        let mut points = points.to_vec();
        points.sort_by_key(|point| point.pages);
        if points.first().is_none_or(|point| point.pages > 0) {
            return Err(CurveError::NoBeginning);
        }
        for pair in points.windows(2) {
            let [fewer, more] = [pair[0], pair[1]];
            if fewer.pages == more.pages {
                return Err(CurveError::Twice { pages: more.pages });
            }
            if more.alone > fewer.alone || more.transactions() > fewer.transactions() {
                return Err(CurveError::Rises { fewer: fewer.pages, more: more.pages });
            }
        }
        Ok(Self { points })
    }

    /// The points, fewest pages first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// What holds with so many pages: the last point that has no more.
    pub fn at(&self, pages: u64) -> Point {
        let behind = self.points.partition_point(|point| point.pages <= pages);
        self.points[behind.saturating_sub(1)]
    }
}
