//! What a watch has counted since it began, for readers that come now and then and keep what they heard.
//!
//! Frames are for eyes: the oldest go. A scraper wants numbers that only grow, so each frame is added here before it can go.

use solo_model::{CoreId, Duration};
use solo_observe::Subject;
use solo_watch::Columns;
use std::collections::BTreeMap;

/// Sums over all frames.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Totals {
    counts: BTreeMap<(Option<CoreId>, usize), u64>,
    counted: Vec<Duration>,
}

impl Totals {
    /// Adds the counts of a frame, and for each set how long it was in force.
    pub(super) fn add(
        &mut self,
        counts: &BTreeMap<(Subject, usize), Vec<Option<u64>>>,
        spans: &[Duration],
        columns: &Columns,
    ) {
        for ((subject, _), counts) in counts {
            let core = match subject {
                Subject::Core(core) => Some(*core),
                _ => None,
            };
            for (event, count) in counts.iter().enumerate() {
                if let Some(count) = count {
                    let sum = self.counts.entry((core, event)).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
        }
        self.counted.resize(columns.counts.len(), Duration::ZERO);
        for (set, span) in columns.sets.iter().zip(spans) {
            for event in set {
                if let Some(counted) = self.counted.get_mut(*event) {
                    *counted += *span;
                }
            }
        }
    }

    /// For each event that was counted, its place among the columns and how often it happened: by core where rows are by
    /// core, of all threads or processes together elsewhere.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Option<CoreId>, usize, u64)> + '_ {
        self.counts.iter().map(|((core, event), count)| (*core, *event, *count))
    }

    /// For each event, how long its set was in force. Sets that take turns count a part of the time only.
    pub(crate) fn counted(&self) -> &[Duration] {
        &self.counted
    }
}
