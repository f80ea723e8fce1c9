//! Whether cores got what they have reserved (the other half of a reservation; that nobody gets more is conservation).
//!
//! Memory serves G events in a period P at least. Of a core with a reservation of Q, the others may occupy it for P - P Q / G: that is
//! what their reservations add up to at most, and the rest of the period is this core's. A core that used less than Q, beyond misses
//! under way, and waited for others longer than that did not get what it has reserved. One that computes, or whose own requests take
//! their time one after the other, waits for nobody and lacks nothing.

use solo_model::isolation::Regulation;
use solo_model::record::{RegulationRecord, WaitRecord};
use solo_model::{CoreId, Duration, Events, Experiment};

/// What cores used in the period under way, and who lacked something in it.
pub(super) struct Guarantees {
    /// The regulation period P.
    period: Duration,
    /// What memory guarantees in it, G.
    guaranteed: Events,
    /// Misses under way that an interrupt comes too late for.
    in_flight: Events,
    /// The part of each core that was recorded last.
    last: Vec<Option<RegulationRecord>>,
    /// Who lacked something in which period.
    lacking: Vec<(CoreId, u64)>,
}

impl Guarantees {
    pub(super) fn new(experiment: &Experiment, regulation: &Regulation) -> Self {
        let platform = &experiment.platform;
        let line = platform.line();
        let misses = platform.core_set().iter().map(|core| platform.kind(core).outstanding_misses).max();
        let countable = regulation.guaranteed.get() / regulation.transfers(&experiment.tasks).max(1);
        let bytes = u128::from(countable) * u128::from(regulation.period.get()) / 1_000_000_000;
        let guaranteed = u64::try_from(bytes / u128::from(line.get().max(1))).unwrap_or(u64::MAX);
        Self {
            period: regulation.period,
            guaranteed: Events::new(guaranteed),
            in_flight: Events::new(2 * u64::from(misses.unwrap_or(1).max(1))),
            last: vec![None; platform.cores.len()],
            lacking: Vec::new(),
        }
    }

    /// Takes in a core's part of a period; the cores that lacked something in that very period.
    pub(super) fn period(&mut self, record: &RegulationRecord) -> Vec<CoreId> {
        if let Some(last) = self.last.get_mut(record.core.index()) {
            *last = Some(*record);
        }
        // A core that is a period behind is done with.
        self.lacking.retain(|&(_, period)| period == record.period || period + 1 == record.period);
        let lacking = self.lacking.iter();
        let others = lacking.filter(|&&(core, period)| period == record.period && core != record.core);
        others.map(|&(core, _)| core).collect()
    }

    /// The core waited so long in the part that was recorded last: what it lacks, `None` where nothing was promised.
    pub(super) fn judge(&mut self, wait: &WaitRecord) -> Option<Events> {
        let record = (*self.last.get(wait.core.index())?)?;
        let limited = |at: usize| record.reserved[at] != Events::MAX;
        if record.shared || !limited(0) || record.at != wait.at {
            return None;
        }
        let lacks = [0, 1].map(|at| self.lack(&record, wait.behind_others, at));
        // A core whose own lines are written back got what it has reserved of one kind or of the other.
        let counted = if record.reserved[1].is_zero() { 1 } else { 2 };
        let least = lacks[..counted].iter().copied().min().unwrap_or_default();
        if !least.is_zero() {
            self.lacking.push((record.core, record.period));
        }
        Some(least)
    }

    fn lack(&self, record: &RegulationRecord, behind_others: Duration, at: usize) -> Events {
        let span = record.at.since(record.since).min(self.period);
        let limit =
            record.reserved[at].saturating_sub(record.donated[at]).saturating_add(record.reclaimed[at]);
        let entitled = scaled(record.reserved[at].min(limit), span, self.period);
        // What memory could have served while others had it, beyond what is theirs.
        let whole = scaled(self.guaranteed, span, self.period);
        let others = scaled(self.guaranteed, behind_others.min(span), self.period);
        let taken = others.saturating_sub(whole.saturating_sub(entitled));
        entitled.saturating_sub(record.used[at]).saturating_sub(self.in_flight).min(taken)
    }

    /// What the others used in the period in which `core` lacked something, as far as it is recorded.
    pub(super) fn meanwhile(&self, core: CoreId) -> Vec<(CoreId, [Events; 2])> {
        let period = self.last.get(core.index()).copied().flatten().map(|record| record.period);
        let others = self.last.iter().flatten().filter(|other| other.core != core);
        others.filter(|other| Some(other.period) == period).map(|other| (other.core, other.used)).collect()
    }
}

fn scaled(events: Events, part: Duration, whole: Duration) -> Events {
    let scaled = u128::from(events.get()) * u128::from(part.get()) / u128::from(whole.get().max(1));
    Events::new(u64::try_from(scaled).unwrap_or(u64::MAX))
}
