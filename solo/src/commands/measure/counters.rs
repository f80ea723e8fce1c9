//! `solo measure counters`: what the few counters of a chip say of a scenario when more events are asked for than it can
//! count at once. Sets of events take turns, one a period, and every sample names its set; the simulated machine knows what
//! really happened.

use crate::cli::MeasureCounters;
use crate::commands::run::{load, variant};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::{Bar, Bars};
use crate::simulate::{once, traces};
use serde::Serialize;
use solo_hal::{CounterId, Pmu};
use solo_model::{CoreId, Duration, Event, EventCounts, Experiment, Instant, PerMille, Record};
use solo_observe::rotation::{Rotation, Sample, Totals};
use solo_scenario::units::TIME;
use solo_sim::Observer;
use solo_sim::pmu::SimPmu;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Runs the scenario once and shows counts, estimates and what they are off by.
pub(crate) fn run(options: &MeasureCounters) -> Result<Exit, Failure> {
    let events = options.events.iter().map(|name| event(name)).collect::<Result<Vec<_>, _>>()?;
    let period = TIME.parse(&options.period).ok().filter(|period| *period > 0).ok_or_else(|| {
        let wanted = format!("expected a time above zero, for example {}", TIME.example);
        Failure::Usage(format!("--period {}: {wanted}", options.period))
    })?;
    let scenario = load(&options.scenario, options.show.quiet)?;
    let mut experiment = match &options.variant {
        Some(name) => variant(&scenario, name)?.clone(),
        None => scenario.base.clone(),
    };
    options.instead.apply(&mut experiment);
    experiment.sample_every = Duration::new(period);
    // One run tells one story: its counters are not switched off and on between two replications.
    experiment.jobs_per_replication = None;
    let bars = Bars::new(options.show.quiet);
    let mut counting = Counting::new(&experiment, &events, bars.add(&scenario.name))?;
    once(&experiment, &traces(&experiment)?, &mut counting)?;
    counting.bar.finish();
    if let Some(problem) = counting.problem {
        return Err(Failure::Usage(problem));
    }
    let shown = counting.shown(&experiment);
    if options.show.json {
        output::json(&shown)?;
    } else {
        output::text(&shown.text(&experiment))?;
    }
    Ok(Exit::Held)
}

fn event(name: &str) -> Result<Event, Failure> {
    let found = Event::ALL.into_iter().find(|event| event.name() == name);
    found.ok_or_else(|| Failure::Unknown {
        what: "event",
        found: name.to_owned(),
        known: Event::ALL.iter().map(|event| event.name().to_owned()).collect(),
    })
}

/// One core's counters and what they have said.
struct Core {
    rotation: Option<Rotation>,
    totals: Option<Totals>,
    /// All that happened, in so many periods and so much time.
    all: EventCounts,
    periods: usize,
    time: Duration,
    samples: Vec<Sample>,
}

/// Programs the counters of each core anew whenever a period ends.
struct Counting {
    pmu: SimPmu,
    /// Events that a counter of their own counts all the time.
    fixed: Vec<(Event, CounterId)>,
    cores: Vec<Core>,
    bar: Bar,
    problem: Option<String>,
}

impl Counting {
    fn new(experiment: &Experiment, events: &[Event], bar: Bar) -> Result<Self, Failure> {
        let platform = &experiment.platform;
        let pmu = SimPmu::new(platform);
        let first = platform.pmu.programmable;
        let bound = |event: Event| {
            (first..=u8::MAX)
                .map_while(|number| Some((pmu.event(CoreId(0), CounterId(number)).ok()?, CounterId(number))))
                .find(|(bound, _)| *bound == event)
        };
        let fixed: Vec<_> = events.iter().filter_map(|event| bound(*event)).collect();
        let others: Vec<_> = events.iter().copied().filter(|event| bound(*event).is_none()).collect();
        if first == 0 && !others.is_empty() {
            return Err(Failure::Usage(format!("{} has no programmable counter", platform.name)));
        }
        let core = |_: &_| {
            let rotation = Rotation::new(&others, first);
            let totals = rotation.as_ref().map(Totals::new);
            Core {
                rotation,
                totals,
                all: EventCounts::ZERO,
                periods: 0,
                time: Duration::ZERO,
                samples: Vec::new(),
            }
        };
        let cores = platform.cores.iter().map(core).collect();
        let mut counting = Self { pmu, fixed, cores, bar, problem: None };
        for core in platform.core_set().iter() {
            for (event, counter) in counting.fixed.clone() {
                counting.keep(core, counter, event);
            }
            counting.turn(core, Instant::ZERO);
        }
        Ok(counting)
    }

    fn keep(&mut self, core: CoreId, counter: CounterId, event: Event) {
        if let Err(error) = self.pmu.configure(core, counter, event) {
            self.problem = Some(error.to_string());
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
            let counters = 0..rotation.sets()[set].events.len() as u8;
            let counts = counters.map(|number| self.pmu.read(core, CounterId(number)).unwrap_or(0)).collect();
            let sample = Sample { core, set, at: now, span, counts };
            totals.add(&sample);
            samples.push(sample);
        }
        let next = rotation.sets()[turn.count].events.clone();
        for (number, event) in (0..).zip(next) {
            self.keep(core, CounterId(number), event);
        }
    }

    fn shown(&self, experiment: &Experiment) -> Shown {
        let mut rows = Vec::new();
        let mut sets = Vec::new();
        let mut samples = Vec::new();
        for (number, core) in self.cores.iter().enumerate() {
            let Core { rotation, totals, all, samples: own, .. } = core;
            for (event, counter) in &self.fixed {
                let counted = self.pmu.read(CoreId(number as u16), *counter).unwrap_or(0);
                let row = Row {
                    core: number,
                    set: None,
                    event: event.name(),
                    turns: core.periods,
                    counted_ns: core.time,
                };
                rows.push(Estimated { row, counted, estimate: Some(counted), all: all[*event] });
            }
            let (Some(rotation), Some(totals)) = (rotation, totals) else { continue };
            if number == 0 {
                let names =
                    |set: &solo_observe::rotation::Set| set.events.iter().map(|event| event.name()).collect();
                sets = rotation.sets().iter().map(names).collect();
            }
            for (set, events) in rotation.sets().iter().enumerate() {
                for (position, event) in events.events.iter().enumerate() {
                    let Some((counted, counted_ns)) = totals.counted(set, position) else { continue };
                    let turns = own.iter().filter(|sample| sample.set == set).count();
                    let row = Row { core: number, set: Some(set), event: event.name(), turns, counted_ns };
                    let estimate = totals.estimate(set, position);
                    rows.push(Estimated { row, counted, estimate, all: all[*event] });
                }
            }
            let named = |sample: &Sample| Named {
                core: number,
                set: sample.set,
                at_ns: sample.at,
                span_ns: sample.span,
                counts: sample.counts.clone(),
            };
            samples.extend(own.iter().map(named));
        }
        // Cores on which nothing of it happens say nothing.
        let busy: Vec<usize> = rows.iter().filter(|row| row.all > 0).map(|row| row.row.core).collect();
        rows.retain(|row| busy.contains(&row.row.core));
        samples.retain(|sample| busy.contains(&sample.core));
        let platform = experiment.platform.name.clone();
        Shown { platform, period_ns: experiment.sample_every, sets, rows, samples }
    }
}

impl Observer for Counting {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Sample(sample) = record {
            let core = &mut self.cores[sample.core.index()];
            core.all.merge(&sample.counts);
            core.periods += 1;
            core.time += sample.span;
            let all = core.all;
            self.pmu.observe(sample.core, &all);
            self.turn(sample.core, sample.at);
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
        self.bar.show(now, done);
        ControlFlow::Continue(())
    }
}

#[derive(Serialize)]
struct Shown {
    platform: String,
    period_ns: Duration,
    /// The events of each set.
    sets: Vec<Vec<&'static str>>,
    rows: Vec<Estimated>,
    samples: Vec<Named>,
}

#[derive(Serialize)]
struct Row {
    core: usize,
    /// None where a counter of its own counts the event all the time.
    set: Option<usize>,
    event: &'static str,
    turns: usize,
    counted_ns: Duration,
}

#[derive(Serialize)]
struct Estimated {
    #[serde(flatten)]
    row: Row,
    counted: u64,
    /// Of the whole time, at the rate of its own turns; none without a turn.
    estimate: Option<u64>,
    /// What really happened.
    all: u64,
}

/// A sample, which names its set.
#[derive(Serialize)]
struct Named {
    core: usize,
    set: usize,
    at_ns: Instant,
    span_ns: Duration,
    counts: Vec<u64>,
}

impl Shown {
    fn text(&self, experiment: &Experiment) -> String {
        let pmu = &experiment.platform.pmu;
        let mut text = format!(
            "{}: {} programmable counters of {} bits; a set of events counts for {}, then the next of {}\n\n",
            self.platform,
            pmu.programmable,
            pmu.width,
            self.period_ns,
            self.sets.len()
        );
        let head = ["core", "set", "event", "turns", "counted for", "counted", "estimate", "all", "off by"];
        let [core, set, event, turns, time, counted, estimate, all, off] = head;
        let _ = writeln!(
            text,
            "{core:>4} {set:>5} {event:<20} {turns:>6} {time:>12} {counted:>12} {estimate:>12} {all:>12} {off:>8}"
        );
        for Estimated { row, counted, estimate, all } in &self.rows {
            let set = row.set.map_or_else(|| "fixed".to_owned(), |set| set.to_string());
            let off = match estimate {
                Some(estimate) if *all > 0 => {
                    format!("{:+.1} %", (*estimate as f64 / *all as f64 - 1.0) * 100.0)
                }
                _ => "-".to_owned(),
            };
            let estimate = estimate.map_or_else(|| "-".to_owned(), |estimate| estimate.to_string());
            let (core, event, turns, time) = (row.core, row.event, row.turns, row.counted_ns.to_string());
            let _ = writeln!(
                text,
                "{core:>4} {set:>5} {event:<20} {turns:>6} {time:>12} {counted:>12} {estimate:>12} {all:>12} {off:>8}"
            );
        }
        text.push_str(
            "\nAn estimate supposes that events come while a set counts as often as while it does not.\n\
             Sets count at different times: what two of them say need not add up. `--json` has every sample with its set.\n",
        );
        text
    }
}
