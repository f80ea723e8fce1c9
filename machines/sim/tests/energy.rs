//! The energy meter, held against sums over what the records tell: who was on which core when, and what was counted (PMCTrack 4.2).

mod common;

use common::{compute, continuous, ms, periodic, platform, run, touch};
use solo_model::estimate::Asymmetry;
use solo_model::experiment::End;
use solo_model::listening::{Listening, MonitorKind, Reaction};
use solo_model::platform::{ClockStep, CoreKind};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::power::{ClusterPower, DramPower};
use solo_model::task::Release;
use solo_model::units::*;
use solo_model::work::{Buffer, Pattern};
use solo_model::{
    Consumer, CoreId, CoreSet, EnergyRecord, EventId, Experiment, Instant, KindId, Platform, PowerDomain,
    PowerModel, Record, SplitMix64, TaskId,
};
use solo_observe::monitor;
use solo_sim::Faults;

/// Two big cores at 1 GHz and two small ones at 500 MHz, all with a meter, and memory with one.
fn metered() -> Platform {
    let mut platform = platform(4);
    platform.kinds[0].clock = Frequency::new(1_000_000_000);
    platform.kinds.push(CoreKind {
        name: "small".into(),
        clock: Frequency::new(500_000_000),
        ..platform.kinds[0].clone()
    });
    platform.cores[2..].iter_mut().for_each(|core| core.kind = 1);
    let costs = |each: [u64; 4]| {
        let events = [EventId::CYCLES, EventId::INSTRUCTIONS, EventId::L1_HITS, EventId::LLC_MISSES];
        events.into_iter().zip(each.map(Energy::new)).collect()
    };
    platform.kinds[0].energy = costs([300_007, 140_003, 20_011, 600_013]);
    platform.kinds[1].energy = costs([80_021, 67_001, 10_007, 400_009]);
    let cluster = |on, gated, shared| ClusterPower {
        on: Power::new(on),
        gated: Power::new(gated),
        shared: Power::new(shared),
    };
    let dram = DramPower {
        activate: Energy::new(29_000_001),
        read: Energy::new(8_000_003),
        write: Energy::new(8_400_007),
        refresh: Energy::new(530_000_009),
        background: Power::new(540),
    };
    platform.power =
        Some(PowerModel { clusters: vec![cluster(101, 5, 61), cluster(23, 2, 27)], dram: Some(dram) });
    platform
}

/// Drawn tasks that compute and read, some again and again, some periodically.
fn drawn(seed: u64, writes: u16) -> Experiment {
    let platform = metered();
    let mut random = SplitMix64::new(seed);
    let mut tasks = Vec::new();
    let mut buffers = Vec::new();
    for task in 0..(2 + random.below(5)) {
        let core = random.below(4) as u16;
        let size = Bytes::from_kib(4 << random.below(8));
        let pattern = if random.below(2) == 0 { Pattern::Sweep } else { Pattern::Random };
        let steps = vec![
            compute(Duration::from_micros(10 + random.below(500))),
            touch(pattern, task as u32, size, writes),
        ];
        let name = format!("t{task}");
        buffers.push(Buffer { name: name.clone(), size });
        let period = ms(20 + random.below(20));
        tasks.push(match random.below(2) {
            0 => continuous(&name, core, steps),
            _ => periodic(&name, core, period, steps),
        });
    }
    let mut policy = Policy::new(Scope::Partitioned, Criterion::RoundRobin);
    policy.quantum = Some(ms(1));
    let mut experiment = Experiment::new("energy", platform, policy, tasks, End::At(ms(60)));
    experiment.buffers = buffers;
    experiment.seed = seed;
    experiment.sample_every = ms(7);
    experiment
}

/// The same where threads change between big and small cores every few milliseconds.
fn migrating(seed: u64) -> Experiment {
    let mut experiment = drawn(seed, 100);
    let asymmetry = Asymmetry { big: KindId(0), small: KindId(1), clock_ratio: 2000, model: None };
    let events = &experiment.platform.events;
    let observed =
        monitor::observed_of_kinds(MonitorKind::IpcSampling, asymmetry, events).expect("it can be observed");
    let mut listening = Listening::new(observed, ms(3), Reaction::Rr);
    listening.classes = vec![solo_model::TaskClass::Hard, solo_model::TaskClass::BestEffort];
    experiment.listening = Some(listening);
    experiment
}

fn used(records: &[Record]) -> impl Iterator<Item = &EnergyRecord> {
    records.iter().filter_map(|record| match record {
        Record::Energy(used) => Some(used),
        _ => None,
    })
}

/// Dynamic and static energy that the meter of a domain told.
fn told(records: &[Record], of: PowerDomain) -> (u64, u64) {
    let own = used(records).filter(|record| record.of == Consumer::Domain(of));
    own.fold((0, 0), |(dynamic, fixed), record| (dynamic + record.dynamic.get(), fixed + record.fixed.get()))
}

/// Dynamic, static and memory's energy of all jobs on cores of a kind.
fn jobs_on(records: &[Record], on: u8) -> (u64, u64, u64) {
    let own =
        used(records).filter(|record| matches!(record.of, Consumer::Job { kind, .. } if kind == KindId(on)));
    own.fold((0, 0, 0), |(dynamic, fixed, dram), record| {
        (dynamic + record.dynamic.get(), fixed + record.fixed.get(), dram + record.dram.get())
    })
}

/// The time that each core was on in nanoseconds, by the switches alone, and how many there were.
fn on_by_switches(records: &[Record], cores: usize, end: Instant) -> (Vec<u64>, u64) {
    let mut on = vec![(0, None); cores];
    let mut switches = 0;
    for record in records {
        let Record::Switch(switch) = record else { continue };
        switches += 1;
        let (sum, since) = &mut on[switch.core.index()];
        if let Some(begun) = since.take() {
            *sum += switch.at.since(begun).get();
        }
        *since = switch.to.map(|_| switch.at);
    }
    let times = on.into_iter().map(|(sum, since)| sum + since.map_or(0, |begun| end.since(begun).get()));
    (times.collect(), switches)
}

/// Static energy integrated over the intervals between switches, dynamic energy summed over the counts of the samples; both are another
/// way to the same joules. Switches are told in whole nanoseconds, so that each may be one off.
#[test]
fn the_energy_of_a_run_is_the_integral_of_power() {
    for seed in 0..40 {
        let mut experiment = drawn(seed, 200);
        // Samples of a core that is computing tell what it had counted when it was last looked at: at the end all are idle.
        let once = Release::Once { offset: Duration::from_micros(seed) };
        experiment.tasks.iter_mut().for_each(|task| (task.release, task.deadline) = (once, None));
        let (records, end) = run(&experiment);
        let done = records.iter().filter(|record| matches!(record, Record::Job(_))).count();
        assert_eq!(done, experiment.tasks.len());
        let model = experiment.platform.power.as_ref().expect("it has meters");
        let (on, switches) = on_by_switches(&records, 4, end.end);
        let whole = end.end.since(Instant::ZERO).get();
        for (kind, power) in model.clusters.iter().enumerate() {
            let cores = || (0..4).filter(|core| usize::from(experiment.platform.cores[*core].kind) == kind);
            let by_time: u64 =
                cores().map(|core| on[core] * power.on.get() + (whole - on[core]) * power.gated.get()).sum();
            let fixed = (by_time + whole * power.shared.get()) * 1_000;
            let costs = &experiment.platform.kinds[kind].energy;
            let dynamic: u64 = records
                .iter()
                .filter_map(|record| match record {
                    Record::Sample(sample) => Some((sample.core()?, &sample.counts)),
                    _ => None,
                })
                .filter(|(core, _)| usize::from(experiment.platform.cores[core.index()].kind) == kind)
                .flat_map(|(_, counts)| {
                    costs.iter().map(|(event, cost)| counts.get(*event).unwrap() * cost.get())
                })
                .sum();
            let (told_dynamic, told_fixed) = told(&records, PowerDomain::Cluster(KindId(kind as u8)));
            assert_eq!(told_dynamic, dynamic, "seed {seed}, kind {kind}");
            let slack = (switches + 4) * power.on.get() * 1_000;
            assert!(
                told_fixed.abs_diff(fixed) <= slack,
                "seed {seed}, kind {kind}: {told_fixed} and {fixed}"
            );
            assert!(slack < fixed / 100, "the slack is no excuse");
        }
    }
}

/// Reads only, each waited for: then what cores counted is what memory did, to the last command.
#[test]
fn memory_draws_by_its_commands_and_by_time() {
    let mut read = 0;
    for seed in 0..20 {
        let mut experiment = drawn(seed, 0);
        experiment.end = End::Jobs(2);
        let refreshes = seed % 2 == 0;
        if !refreshes {
            experiment.platform.dram.timing.refi = 0;
        }
        let (records, end) = run(&experiment);
        let dram = experiment.platform.power.as_ref().and_then(|model| model.dram).expect("it has a meter");
        let count = |event| -> u64 {
            let counts = records.iter().filter_map(|record| match record {
                Record::Sample(sample) => sample.core().and(sample.counts.get(event)),
                _ => None,
            });
            counts.sum()
        };
        let (reads, hits) = (count(EventId::DRAM_READS), count(EventId::DRAM_ROW_HITS));
        let (dynamic, fixed) = told(&records, PowerDomain::Dram);
        let least = reads * dram.read.get() + (reads - hits) * dram.activate.get();
        let whole = end.end.since(Instant::ZERO).get() * 1_000;
        let refresh_every =
            experiment.platform.dram.clock.get() * u64::from(experiment.platform.dram.timing.refi);
        let refreshed = whole.checked_div(refresh_every).unwrap_or(0);
        assert_eq!(fixed, whole * dram.background.get() + refreshed * dram.refresh.get(), "seed {seed}");
        // The last reads of whoever did not finish may still be on their way.
        let under_way = 8 * (dram.read.get() + dram.activate.get());
        // A refresh closes rows that are opened again.
        let again = if refreshes { refreshed * 8 * dram.activate.get() } else { 0 };
        assert!(dynamic + under_way >= least && dynamic <= least + again, "seed {seed}: {dynamic}, {least}");
        read += reads;
    }
    assert!(read > 10_000, "{read}");
}

/// What all jobs used and what nobody used is what the meters told, to the femtojoule, however often jobs move between kinds.
#[test]
fn splitting_a_job_at_its_migrations_conserves_its_energy() {
    let (mut split, mut moved) = (0, 0);
    for seed in 0..40 {
        let experiment = migrating(seed);
        let (records, end) = run(&experiment);
        let model = experiment.platform.power.as_ref().expect("it has meters");
        let whole = end.end.since(Instant::ZERO).get() * 1_000;
        let mut of_memory = 0;
        for (kind, power) in model.clusters.iter().enumerate() {
            let (dynamic, fixed, dram) = jobs_on(&records, kind as u8);
            let (told_dynamic, told_fixed) = told(&records, PowerDomain::Cluster(KindId(kind as u8)));
            assert_eq!(told_dynamic, dynamic, "seed {seed}, kind {kind}: nobody else does anything");
            assert_eq!(fixed % power.on.get(), 0);
            let gated = 2 * whole - fixed / power.on.get();
            let all = fixed + gated * power.gated.get() + whole * power.shared.get();
            assert_eq!(told_fixed, all, "seed {seed}, kind {kind}");
            of_memory += dram;
        }
        let commands = told(&records, PowerDomain::Dram).0;
        assert!(
            of_memory <= commands && of_memory * 10 >= commands * 9,
            "seed {seed}: {of_memory} {commands}"
        );
        moved +=
            records.iter().filter(|record| matches!(record, Record::Job(job) if job.migrations > 0)).count();
        let mut parts: Vec<(TaskId, u64)> = used(&records)
            .filter_map(|record| match record.of {
                Consumer::Job { task, job, .. } => Some((task, job.0)),
                _ => None,
            })
            .collect();
        parts.sort_unstable();
        split += parts.windows(2).filter(|pair| pair[0] == pair[1]).count();
    }
    assert!(split > 100 && moved > 100, "{split} jobs are split, {moved} have moved");
}

/// The same job on the same cores uses the same, whether it moves or not: a mean of what it uses on either kind, by what it did there.
#[test]
fn a_job_that_moves_once_has_both_parts_by_hand() {
    let mut experiment = migrating(0);
    let work = vec![compute(ms(40))];
    experiment.buffers.clear();
    experiment.tasks = vec![continuous("one", 0, work.clone()), continuous("two", 2, work)];
    for kind in &mut experiment.platform.kinds {
        kind.energy.truncate(1);
    }
    let (records, _) = run(&experiment);
    let power = experiment.platform.power.as_ref().expect("it has meters").clusters.clone();
    for part in used(&records) {
        let Consumer::Job { kind, .. } = part.of else { continue };
        let kind = usize::from(kind.0);
        let picoseconds = part.fixed.get() / power[kind].on.get();
        let cycles = picoseconds / [1_000, 2_000][kind];
        let cost = experiment.platform.kinds[kind].energy[0].1.get();
        let expected = cycles * cost;
        assert!(part.dynamic.get().abs_diff(expected) <= 8 * cost, "{part:?}: {expected}");
    }
}

/// A platform without powers has no meter, and one with them does everything else alike.
#[test]
fn a_meter_changes_nothing_but_its_records() {
    for seed in 0..10 {
        let with = migrating(seed);
        let mut without = with.clone();
        without.platform.power = None;
        let (metered, _) = run(&with);
        let (plain, _) = run(&without);
        let rest: Vec<Record> =
            metered.into_iter().filter(|record| !matches!(record, Record::Energy(_))).collect();
        assert!(rest == plain, "seed {seed}");
        assert!(!plain.iter().any(|record| matches!(record, Record::Energy(_))));
    }
}

/// A program alone, in windows of 250,000 instructions.
fn in_windows() -> Experiment {
    let mut experiment = drawn(1, 0);
    let size = Bytes::from_kib(512);
    experiment.buffers = vec![Buffer { name: "b".into(), size }];
    let steps = vec![compute(ms(2)), touch(Pattern::Sweep, 0, size, 0)];
    experiment.tasks = vec![continuous("one", 0, steps)];
    let observed = monitor::observed(MonitorKind::EnergyDelay, None, "", &[], &experiment.platform.events)
        .expect("it can be observed");
    let mut listening = Listening::new(observed, ms(5), Reaction::Windows);
    listening.settings = vec![250_000];
    experiment.listening = Some(listening);
    experiment.sample_every = ms(60);
    experiment
}

/// Instructions, length and energy of each window.
fn windows_of(records: &[Record]) -> Vec<(u64, u64, u64)> {
    let mut windows = Vec::new();
    for record in used(records) {
        if let Consumer::Window { kind, events, span, .. } = record.of {
            assert_eq!(kind, KindId(0));
            windows.push((events.get(), span.get(), record.dynamic.get()));
        }
    }
    windows
}

/// Where interrupts are lost, windows go on two periods later at most: one without its interrupt has all that was counted
/// meanwhile, and the report says how many there were. Where none is, none is said to be, though a period ends in many a window.
#[test]
fn a_window_without_its_interrupt_ends_with_a_period_and_is_told() {
    let experiment = in_windows();
    let seen = |every| {
        let lost_overflows = if every > 0 { CoreSet::only(CoreId(0)) } else { CoreSet::EMPTY };
        let faults = Faults { lost_overflows, every, ..Faults::default() };
        let mut keep = common::Keep::default();
        let outcome = solo_sim::run_with_faults(&experiment, &[], &mut keep, faults).expect("it can run");
        let lost: u64 = outcome.heard.iter().map(|core| core.lost_overflows).sum();
        (windows_of(&keep.0), lost)
    };
    let instructions =
        |windows: &[(u64, u64, u64)]| windows.iter().map(|(events, _, _)| *events).sum::<u64>();
    let (all, none) = seen(0);
    assert!(none == 0 && all.len() > 50, "{none} of {}", all.len());
    // Each, or each second interrupt.
    for every in [1, 2] {
        let (windows, lost) = seen(every);
        let (whole, long): (Vec<_>, Vec<_>) = windows.iter().partition(|(events, _, _)| *events < 250_100);
        assert!(long.len() >= 5 && lost == long.len() as u64, "{every}: {windows:?}");
        assert!(whole.len().abs_diff(long.len() * (every as usize - 1)) <= 1, "{every}: {windows:?}");
        assert!(long.iter().all(|(_, span, _)| *span <= ms(11).get()), "{every}: {windows:?}");
        let share = instructions(&windows) as f64 / instructions(&all) as f64;
        assert!(share > 0.8, "{every}: {share} of the instructions are in a window");
    }
}

/// Counters and meter are read in one interrupt after each window; the windows of a program alone are all of it.
#[test]
fn windows_have_equal_instructions_and_the_energy_in_between() {
    let (records, _) = run(&in_windows());
    let windows = windows_of(&records);
    assert!(windows.len() > 50, "{} windows", windows.len());
    // An access of several instructions is done in one piece.
    assert!(windows.iter().all(|(events, _, _)| (250_000..250_100).contains(events)), "{windows:?}");
    let meters = [PowerDomain::Cluster(KindId(0)), PowerDomain::Cluster(KindId(1)), PowerDomain::Dram];
    let all: u64 = meters.into_iter().map(|meter| told(&records, meter)).map(|(a, b)| a + b).sum();
    let (spans, sum) = windows.iter().fold((0, 0), |(span, sum), window| (span + window.1, sum + window.2));
    let share = spans as f64 / ms(60).get() as f64;
    assert!(share > 0.95 && share <= 1.0);
    assert!((sum as f64 / all as f64 - share).abs() < 0.02, "{sum} of {all}, {share} of the time");
}

/// A core that computes 3 ms at its highest clock in each period of 10 ms, at this clock; femtojoules of its cluster in ten periods.
fn at_clock(on: u64, clock: Frequency) -> u64 {
    let mut platform = metered();
    let step = |megahertz: u64, millivolts| ClockStep {
        clock: Frequency::new(megahertz * 1_000_000),
        voltage: Voltage::new(millivolts),
    };
    platform.kinds[0].steps = vec![step(500, 800), step(1000, 1000)];
    if let Some(power) = &mut platform.power {
        power.clusters[0].on = Power::new(on);
    }
    assert!(platform.set_clock(KindId(0), clock));
    let tasks = vec![periodic("t", 0, ms(10), vec![compute(ms(3))])];
    let policy = Policy::new(Scope::Partitioned, Criterion::Edf);
    let mut experiment = Experiment::new("clocks", platform, policy, tasks, End::At(ms(100)));
    experiment.sample_every = ms(10);
    let (dynamic, fixed) = told(&run(&experiment).0, PowerDomain::Cluster(KindId(0)));
    dynamic + fixed
}

/// Race to idle against slow and steady, by hand: a cycle costs V^2, an instruction too, and what is on costs V for as long as it is on.
/// Steady wins where events cost most, racing where being on does.
#[test]
fn racing_to_idle_wins_where_being_on_costs_more_than_events() {
    let (fast, slow) = (Frequency::new(1_000_000_000), Frequency::new(500_000_000));
    // An instruction a cycle: 30 million of each in ten periods, whatever the clock.
    let events = 30.0e6 * (300_007.0 + 140_003.0);
    for (on, steady_wins) in [(101, true), (900, false)] {
        let time = |busy: f64, volts: f64| {
            // Two cores, one of them gated all the time, and what both share, for 100 ms; milliwatts times picoseconds.
            let on = on as f64 * busy + 5.0 * (100.0e9 - busy) + 5.0 * 100.0e9 + 61.0 * 100.0e9;
            on * volts
        };
        let by_hand = [events + time(30.0e9, 1.0), events * 0.64 + time(60.0e9, 0.8)];
        let found = [at_clock(on, fast) as f64, at_clock(on, slow) as f64];
        for (found, by_hand) in found.iter().zip(by_hand) {
            let off = found / by_hand - 1.0;
            // Powers are whole milliwatts.
            assert!(off.abs() < 0.01, "{found} instead of {by_hand}");
        }
        assert_eq!(found[1] < found[0], steady_wins, "on = {on} mW: {found:?}");
    }
}
