//! What the few counters of a chip say of a scenario when more events are asked for than it can count at once. Sets of
//! events take turns, one a period, and every sample names its set; the simulated machine knows what really happened.

use crate::once::{Heard, once};
use crate::{CampaignError, Control, LabError, Recordings};
use solo_hal::{CounterId, Pmu};
use solo_model::{CoreId, Counts, Duration, EventId, Experiment, Instant, Record, Sample};
use solo_observe::rotation::{Rotation, Totals};
use solo_sim::pmu::SimPmu;
use std::ops::ControlFlow;

/// What counters that take turns said of a run.
#[derive(Clone, Debug)]
pub struct FoundCounts {
    /// The events of each set, in the order of their turns.
    pub sets: Vec<Vec<EventId>>,
    /// Each event on each core on which anything happened.
    pub rows: Vec<CountedEvent>,
    /// Every turn of a set, which each sample names.
    pub samples: Vec<Sample>,
}

/// An event on one core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedEvent {
    /// The core.
    pub core: CoreId,
    /// The set that the event takes its turns in; none where a counter of its own counts it all the time.
    pub set: Option<usize>,
    /// The event.
    pub event: EventId,
    /// How many turns it had.
    pub turns: usize,
    /// How long it was counted.
    pub time: Duration,
    /// What was counted.
    pub counted: u64,
    /// Of the whole time, at the rate of its own turns; none without a turn.
    pub estimate: Option<u64>,
    /// What really happened.
    pub all: u64,
}

/// Runs the experiment once, in one replication, and lets the next set of events count after each `period`.
///
/// # Errors
/// [`CampaignError::NoCounter`] and [`CampaignError::Counter`] where the platform can't count an event; where the
/// experiment can't run.
pub fn counters(
    experiment: &Experiment,
    recordings: &Recordings,
    events: &[EventId],
    period: Duration,
    control: &Control<'_>,
) -> Result<FoundCounts, LabError> {
    // One run tells one story: its counters are not switched off and on between two replications.
    let experiment = Experiment { sample_every: period, jobs_per_replication: None, ..experiment.clone() };
    let mut counting = Counting::new(&experiment, events)?;
    let images = recordings.of(&experiment)?;
    let mut take = |record: Record| {
        if let Record::Sample(sample) = record {
            counting.sample(&sample);
        }
        ControlFlow::Continue(())
    };
    let share = |now, done| control.progress.reached(&experiment.name, now, done);
    let outcome = once(&experiment, &images, &mut Heard { take: &mut take, share: &share, control })?;
    control.progress.ended(&experiment.name);
    if outcome.stop == solo_sim::Stop::Interrupted {
        return Err(LabError::Interrupted);
    }
    match counting.problem {
        Some(problem) => Err(problem.into()),
        None => Ok(counting.found()),
    }
}

/// One core's counters and what they have said.
struct Core {
    rotation: Option<Rotation>,
    totals: Option<Totals>,
    /// All that happened, in so many periods and so much time.
    all: Counts,
    periods: usize,
    time: Duration,
    samples: Vec<Sample>,
}

/// Programs the counters of each core anew whenever a period ends.
struct Counting {
    pmu: SimPmu,
    /// Events that a counter of their own counts all the time.
    fixed: Vec<(EventId, CounterId)>,
    cores: Vec<Core>,
    problem: Option<CampaignError>,
}

impl Counting {
    fn new(experiment: &Experiment, events: &[EventId]) -> Result<Self, CampaignError> {
        let platform = &experiment.platform;
        let pmu = SimPmu::new(platform);
        let first = platform.pmu.programmable;
        let bound = |event: EventId| {
            (first..=u8::MAX)
                .map_while(|number| Some((pmu.event(CoreId(0), CounterId(number)).ok()?, CounterId(number))))
                .find(|(bound, _)| *bound == event)
        };
        let fixed: Vec<_> = events.iter().filter_map(|event| bound(*event)).collect();
        let others: Vec<_> = events.iter().copied().filter(|event| bound(*event).is_none()).collect();
        if first == 0 && !others.is_empty() {
            return Err(CampaignError::NoCounter { platform: platform.name.clone() });
        }
        let core = |_: &_| {
            let rotation = Rotation::new(&others, first);
            let totals = rotation.as_ref().map(Totals::new);
            let (all, time) = (Counts::NONE, Duration::ZERO);
            Core { rotation, totals, all, periods: 0, time, samples: Vec::new() }
        };
        let cores = platform.cores.iter().map(core).collect();
        let mut counting = Self { pmu, fixed, cores, problem: None };
        for core in platform.core_set().iter() {
            for (event, counter) in counting.fixed.clone() {
                counting.keep(core, counter, event);
            }
            counting.turn(core, Instant::ZERO);
        }
        Ok(counting)
    }

    fn keep(&mut self, core: CoreId, counter: CounterId, event: EventId) {
        if let Err(error) = self.pmu.configure(core, counter, event) {
            self.problem = Some(CampaignError::Counter { event, error });
        }
    }

    /// Reads the set that has counted, and lets the next one count.
    fn turn(&mut self, core: CoreId, now: Instant) {
        let Core { rotation: Some(rotation), totals: Some(totals), samples, .. } =
            &mut self.cores[core.index()]
        else {
            return;
        };
        let turn = rotation.turn(now);
        if let Some((set, span)) = turn.read {
            let counters = (0..).zip(&rotation.sets()[set].events);
            let read = |(number, event): (u8, &EventId)| {
                (*event, self.pmu.read(core, CounterId(number)).unwrap_or(0))
            };
            let counts = counters.map(read).collect();
            let sample = Sample { set: set as u16, ..Sample::of_core(core, now, span, counts) };
            totals.add(&sample);
            samples.push(sample);
        }
        let next = rotation.sets()[turn.count].events.clone();
        for (number, event) in (0..).zip(next) {
            self.keep(core, CounterId(number), event);
        }
    }

    /// A period is over.
    fn sample(&mut self, sample: &Sample) {
        let Some(number) = sample.core() else { return };
        let core = &mut self.cores[number.index()];
        core.all.merge(&sample.counts);
        core.periods += 1;
        core.time += sample.span;
        self.pmu.observe_counts(number, &core.all);
        self.turn(number, sample.at);
    }

    fn found(self) -> FoundCounts {
        let mut rows: Vec<CountedEvent> = Vec::new();
        for (number, core) in self.cores.iter().enumerate() {
            self.rows_of(CoreId(number as u16), core, &mut rows);
        }
        let first = self.cores.first().and_then(|core| core.rotation.as_ref());
        let sets = first
            .map_or(Vec::new(), |rotation| rotation.sets().iter().map(|set| set.events.to_vec()).collect());
        // Cores on which nothing of it happens say nothing.
        let busy: Vec<CoreId> = rows.iter().filter(|row| row.all > 0).map(|row| row.core).collect();
        rows.retain(|row| busy.contains(&row.core));
        let mut samples: Vec<Sample> = self.cores.into_iter().flat_map(|core| core.samples).collect();
        samples.retain(|sample| sample.core().is_some_and(|core| busy.contains(&core)));
        FoundCounts { sets, rows, samples }
    }

    fn rows_of(&self, number: CoreId, core: &Core, rows: &mut Vec<CountedEvent>) {
        for &(event, counter) in &self.fixed {
            let counted = self.pmu.read(number, counter).unwrap_or(0);
            let (turns, time, all) = (core.periods, core.time, core.all.get(event).unwrap_or(0));
            let estimate = Some(counted);
            rows.push(CountedEvent { core: number, set: None, event, turns, time, counted, estimate, all });
        }
        let (Some(rotation), Some(totals)) = (&core.rotation, &core.totals) else { return };
        for (set, events) in rotation.sets().iter().enumerate() {
            for (position, &event) in events.events.iter().enumerate() {
                let Some((counted, time)) = totals.counted(set, position) else { continue };
                let turns = core.samples.iter().filter(|sample| usize::from(sample.set) == set).count();
                let (estimate, all) = (totals.estimate(set, position), core.all.get(event).unwrap_or(0));
                let set = Some(set);
                rows.push(CountedEvent { core: number, set, event, turns, time, counted, estimate, all });
            }
        }
    }
}
