//! Who ran where and when.

use solo_model::{CoreId, Duration, Instant, Record, TaskId};

/// A stretch of time in which a core ran one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its begin.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
    /// The task.
    pub task: TaskId,
}

/// The segments of each core in the order of time; between them the core is idle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// A row for each core.
    pub cores: Vec<Vec<Segment>>,
}

impl Schedule {
    /// `cores` idle cores.
    pub fn idle(cores: usize) -> Self {
        Self { cores: vec![Vec::new(); cores] }
    }

    /// The schedule that `records` tell of, up to `horizon`. Segments that are not longer than `shortest` are
    /// left out, and neighbours of the same task become one.
    pub fn from_records(records: &[Record], cores: usize, horizon: Instant, shortest: Duration) -> Self {
        let mut schedule = Self::idle(cores);
        let mut running: Vec<Option<(Instant, TaskId)>> = vec![None; cores];
        for record in records {
            let Record::Switch(switch) = record else { continue };
            let Some(current) = running.get_mut(switch.core.index()) else { continue };
            let at = switch.at.min(horizon);
            if let Some((from, task)) = current.take() {
                schedule.add(switch.core, Segment { from, to: at, task }, shortest);
            }
            *current = switch.to.map(|task| (at, task));
        }
        for (core, current) in running.into_iter().enumerate() {
            if let Some((from, task)) = current {
                schedule.add(CoreId(core as u16), Segment { from, to: horizon, task }, shortest);
            }
        }
        schedule
    }

    /// Lets all times count from `origin`.
    pub fn count_from(&mut self, origin: Instant) {
        for segment in self.cores.iter_mut().flatten() {
            segment.from = Instant::ZERO + segment.from.since(origin);
            segment.to = Instant::ZERO + segment.to.since(origin);
        }
    }

    fn add(&mut self, core: CoreId, segment: Segment, shortest: Duration) {
        if segment.to.since(segment.from) <= shortest {
            return;
        }
        let row = &mut self.cores[core.index()];
        match row.last_mut() {
            Some(last) if last.task == segment.task && segment.from.since(last.to) <= shortest => {
                last.to = segment.to
            }
            _ => row.push(segment),
        }
    }

    /// True where both have the same tasks in the same order on each core, with begins and ends that differ by
    /// at most `tolerance`.
    pub(crate) fn agrees_with(&self, other: &Self, tolerance: Duration) -> bool {
        let near = |a: Instant, b: Instant| a.since(b).max(b.since(a)) <= tolerance;
        let same =
            |(a, b): (&Segment, &Segment)| a.task == b.task && near(a.from, b.from) && near(a.to, b.to);
        let same_row =
            |(a, b): (&Vec<Segment>, &Vec<Segment>)| a.len() == b.len() && a.iter().zip(b).all(same);
        self.cores.len() == other.cores.len() && self.cores.iter().zip(&other.cores).all(same_row)
    }
}
