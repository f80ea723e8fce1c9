//! Whether cores got what they have reserved (the other half of a reservation; that nobody gets more is conservation).
//!
//! Memory serves G events in a period P at least. Of a core with a reservation of Q, the others may occupy it for P - P Q / G: that is
//! what their reservations add up to at most, and the rest of the period is this core's. A core that used U < Q, beyond misses
//! under way, and waited W for others, longer than that, did not get what it has reserved. One that computes, or whose own requests
//! take their time one after the other, would have used no more than U P / (P - W) without the others, and lacks no more than that.
//!
//! G is what the platform is known to serve. A scenario may state a higher guarantee; to believe it here would be to judge a promise
//! by itself: of two cores with half of twice what there is each waits for half the period, as two with half of what there is may.

use solo_model::isolation::{Counted, Regulation};
use solo_model::record::{RegulationRecord, WaitRecord};
use solo_model::{Bandwidth, CoreId, Duration, Events, Experiment};

/// What cores used in the period under way, and who lacked something in it.
pub(crate) struct Guarantees {
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
    pub(crate) fn new(experiment: &Experiment, regulation: &Regulation) -> Self {
        let platform = &experiment.platform;
        let line = platform.line();
        let misses = platform.core_set().iter().map(|core| platform.kind(core).outstanding_misses).max();
        let transfers = regulation.transfers(&experiment.tasks).max(1);
        let countable = served(experiment, regulation).get() / transfers;
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
    pub(crate) fn period(&mut self, record: &RegulationRecord) -> Vec<CoreId> {
        if let Some(last) = self.last.get_mut(record.core.index()) {
            *last = Some(*record);
        }
        // A core that is a period behind is done with.
        self.lacking
            .retain(|&(_, period)| period == record.period || period.checked_add(1) == Some(record.period));
        let lacking = self.lacking.iter();
        let others = lacking.filter(|&&(core, period)| period == record.period && core != record.core);
        others.map(|&(core, _)| core).collect()
    }

    /// The core waited so long in the part that was recorded last: what it lacks, `None` where nothing was promised.
    pub(crate) fn judge(&mut self, wait: &WaitRecord) -> Option<Events> {
        let record = (*self.last.get(wait.core.index())?)?;
        let limited = |at: usize| record.reserved[at] != Events::MAX;
        if record.shared || !limited(0) || record.at != wait.at {
            return None;
        }
        let lack = self.lack(&record, wait.behind_others);
        if !lack.is_zero() {
            self.lacking.push((record.core, record.period));
        }
        Some(lack)
    }

    fn lack(&self, record: &RegulationRecord, behind_others: Duration) -> Events {
        let span = record.at.since(record.since).min(self.period);
        let alone = span.saturating_sub(behind_others);
        let counted = if record.reserved[1].is_zero() { 1 } else { 2 };
        let (mut lacking, mut reserved) = (Events::ZERO, Events::ZERO);
        for at in 0..counted {
            let given = record.reserved[at].saturating_sub(record.donated[at]);
            let limit = given.saturating_add(record.reclaimed[at]);
            let entitled = scaled(record.reserved[at].min(limit), span, self.period);
            let used = record.used[at].saturating_add(self.in_flight);
            // A core whose own lines are written back got what it has reserved of one kind or of the other.
            if used >= entitled {
                return Events::ZERO;
            }
            let wanted = if alone.is_zero() { entitled } else { scaled(record.used[at], span, alone) };
            lacking = lacking.saturating_add(entitled.min(wanted).saturating_sub(used));
            reserved = reserved.saturating_add(entitled);
        }
        // What memory could have served while others had it, beyond what is theirs.
        let whole = scaled(self.guaranteed, span, self.period);
        let others = scaled(self.guaranteed, behind_others.min(span), self.period);
        lacking.min(others.saturating_sub(whole.saturating_sub(reserved)))
    }

    /// What the others used in the period in which `core` lacked something, as far as it is recorded.
    pub(super) fn meanwhile(&self, core: CoreId) -> Vec<(CoreId, [Events; 2])> {
        let period = self.last.get(core.index()).copied().flatten().map(|record| record.period);
        let others = self.last.iter().flatten().filter(|other| other.core != core);
        others.filter(|other| Some(other.period) == period).map(|other| (other.core, other.used)).collect()
    }
}

/// What memory serves whatever the addresses, lines written back included where any are: as the scenario says, at most as was
/// measured of the platform.
fn served(experiment: &Experiment, regulation: &Regulation) -> Bandwidth {
    let dram = &experiment.platform.dram;
    let written =
        regulation.counted == Counted::ReadsAndWrites || regulation.transfers(&experiment.tasks) > 1;
    let (stated, measured) = match written {
        true => (
            regulation.guaranteed_with_writes.unwrap_or(regulation.guaranteed),
            dram.guaranteed_with_writes.or(dram.guaranteed),
        ),
        false => (regulation.guaranteed, dram.guaranteed),
    };
    measured.map_or(stated, |measured| measured.min(stated))
}

fn scaled(events: Events, part: Duration, whole: Duration) -> Events {
    let scaled = u128::from(events.get()) * u128::from(part.get()) / u128::from(whole.get().max(1));
    Events::new(u64::try_from(scaled).unwrap_or(u64::MAX))
}
