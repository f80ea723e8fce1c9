//! Mechanisms of isolation that a run shows to be without effect: the policies' checks, fed with what was counted.

use solo_isolate::diagnose::{Warning, counter, coverage};
use solo_model::isolation::{Counted, Regulation};
use solo_model::{Counts, EventId, Events, Experiment, Explain};
use solo_report::{CoreReport, Report};

/// Fewer periods than these say nothing: what a run began and ended in weighs too much.
const ENOUGH: u64 = 8;

/// What is probably not meant, in sentences with cause and remedy; tasks are called by their names.
pub fn warnings(experiment: &Experiment, report: &Report) -> Vec<String> {
    let regulation = experiment.isolation.bandwidth.as_ref();
    let kernel = experiment.isolation.memory.as_ref().is_some_and(|memory| memory.kernel_data.is_some());
    let of_bandwidth =
        regulation.map_or_else(Vec::new, |regulation| of_bandwidth(regulation, report, kernel));
    let sentences = of_bandwidth.into_iter().map(|warning| warning.with(experiment).to_string());
    sentences.chain(of_listening(report)).collect()
}

/// A scheduler that listens, and was told nothing.
fn of_listening(report: &Report) -> Option<String> {
    let listening = report.listening.as_ref()?;
    let silent = !listening.cores.is_empty() && listening.cores.iter().all(|core| core.samples == 0);
    silent.then(|| {
        format!(
            "the scheduler listens and was told nothing: its period of {} did not end within the run of {}; make the \
             period shorter, or run longer",
            listening.period, report.end
        )
    })
}

/// `kernel`: its own paths touch memory.
fn of_bandwidth(regulation: &Regulation, report: &Report, kernel: bool) -> Vec<Warning> {
    let Some(isolation) = &report.isolation else { return Vec::new() };
    let line = report.line.get().max(1);
    let periods = isolation.cores.iter().map(|core| core.periods).max().unwrap_or(0);
    if regulation.cores.is_empty() || periods < ENOUGH {
        return Vec::new();
    }
    let regulated = |core: &&CoreReport| isolation.cores.iter().any(|known| known.core == core.core);
    let moves = |core: &&CoreReport| moved(&core.counts).is_some_and(|moved| moved > Events::ZERO);
    let mut warnings: Vec<Warning> = report
        .cores
        .iter()
        // On a core that runs nobody the kernel itself may touch memory, at each tick.
        .filter(|core| !regulated(core) && moves(core) && !(kernel && core.busy.is_zero()))
        .map(|core| Warning::Unregulated { core: core.core })
        .collect();
    let used: u64 = isolation.cores.iter().map(|core| core.used.get() / line).sum();
    let mut counts = Counts::NONE;
    report.cores.iter().filter(regulated).for_each(|core| counts.merge(&core.counts));
    if used == 0 && moved(&counts).is_none_or(|moved| moved == Events::ZERO) {
        warnings.push(Warning::NobodyActive { periods });
        return warnings;
    }
    let used = Events::new(used);
    let (truth, sees_writes) = match regulation.counted {
        Counted::One(event) => (counts.get(event).map(Events::new), event == EventId::DRAM_WRITES),
        Counted::ReadsAndWrites => (moved(&counts), true),
    };
    if let (Counted::One(event), Some(truth)) = (regulation.counted, truth)
        && let Some(warning) = counter(event, truth, used)
    {
        // What is counted wrong says nothing about what is not counted.
        warnings.push(warning);
        return warnings;
    }
    let memory_event = match regulation.counted {
        Counted::One(event) => {
            matches!(event, EventId::LLC_MISSES | EventId::DRAM_READS | EventId::DRAM_WRITES)
        }
        Counted::ReadsAndWrites => true,
    };
    if let Some(moved) = moved(&counts).filter(|_| memory_event) {
        let written = !sees_writes && counts.get(EventId::DRAM_WRITES) > Some(0);
        warnings.extend(coverage(moved, used, written));
    }
    warnings
}

/// Lines from and to DRAM; `None` where nobody counted them.
fn moved(counts: &Counts) -> Option<Events> {
    let (reads, writes) = (counts.get(EventId::DRAM_READS)?, counts.get(EventId::DRAM_WRITES)?);
    Some(Events::new(reads.saturating_add(writes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::record::RegulationRecord;
    use solo_model::{Bandwidth, CoreId, Duration, Instant, Record, Sample};
    use solo_report::Summary;

    /// Ten periods of a millisecond in which core 0 used `used` lines each, while the samples of both cores
    /// counted `counts`.
    fn warned(counted: Counted, used: u64, counts: [&[(EventId, u64)]; 2]) -> Vec<Warning> {
        warned_where(false, counted, used, counts)
    }

    /// The same where the kernel's own paths touch memory, or not.
    fn warned_where(
        kernel: bool,
        counted: Counted,
        used: u64,
        counts: [&[(EventId, u64)]; 2],
    ) -> Vec<Warning> {
        let text = "name = \"t\"\nplatform = \"xeon-w3530\"\njobs = 1\n[scheduler]\npolicy = \"P-RM\"\n\
                    [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"1ms\"\nwork = [{ compute = \"1us\" }]\n\
                    [isolation.bandwidth]\ncores = { 0 = \"100MB/s\" }\n";
        let platforms = solo_scenario::Platforms::builtin();
        let scenario = solo_scenario::parse(text, std::path::Path::new("t.toml"), &platforms).expect("sound");
        let mut experiment = scenario.base;
        let regulation = experiment.isolation.bandwidth.as_mut().expect("it is regulated");
        regulation.counted = counted;
        assert!(regulation.guaranteed > Bandwidth::ZERO);
        let mut summary = Summary::new(&experiment);
        let none = [Events::ZERO; 2];
        for period in 1..=10 {
            let at = Instant::new(period * 1_000_000);
            summary.add(&Record::Regulation(RegulationRecord {
                at,
                since: Instant::new((period - 1) * 1_000_000),
                core: CoreId(0),
                period,
                used: [Events::new(used), Events::ZERO],
                reserved: none,
                predicted: none,
                donated: none,
                reclaimed: none,
                throttled: Duration::ZERO,
                shared: false,
                lost_overflow: false,
            }));
        }
        for (core, counts) in counts.into_iter().enumerate() {
            let counted = experiment.platform.events.simulated().map(|(event, _)| event).collect();
            let mut sample = Counts::of(counted, |_| 0);
            counts.iter().for_each(|(event, count)| sample.add(*event, *count));
            let (at, span) = (Instant::new(10_000_000), Duration::from_millis(10));
            let core = CoreId(core as u16);
            summary.add(&Record::Sample(Sample::of_core(core, at, span, sample)));
        }
        let report = summary.finish(Instant::new(10_000_000));
        of_bandwidth(experiment.isolation.bandwidth.as_ref().expect("it is regulated"), &report, kernel)
    }

    const MISSES: Counted = Counted::One(EventId::LLC_MISSES);

    #[test]
    fn what_is_as_it_should_be_is_not_mentioned() {
        let counts: &[(EventId, u64)] =
            &[(EventId::LLC_MISSES, 1000), (EventId::DRAM_READS, 1000), (EventId::DRAM_WRITES, 50)];
        assert_eq!(warned(MISSES, 100, [counts, &[]]), []);
    }

    #[test]
    fn writes_that_nobody_counts_are_named() {
        let counts: &[(EventId, u64)] =
            &[(EventId::LLC_MISSES, 1000), (EventId::DRAM_READS, 1000), (EventId::DRAM_WRITES, 900)];
        let expected = Warning::UncountedTraffic {
            moved: Events::new(1900),
            counted: Events::new(1000),
            writes_ignored: true,
        };
        assert_eq!(warned(MISSES, 100, [counts, &[]]), [expected]);
        assert!(warned(Counted::ReadsAndWrites, 190, [counts, &[]]).is_empty());
    }

    #[test]
    fn prefetches_that_nobody_counts_are_named() {
        let counts: &[(EventId, u64)] = &[(EventId::LLC_MISSES, 1000), (EventId::DRAM_READS, 3000)];
        let warnings = warned(MISSES, 100, [counts, &[]]);
        assert!(warnings[0].to_string().contains("prefetchers"), "{warnings:?}");
    }

    #[test]
    fn a_counter_that_counts_something_else_is_named() {
        let counts: &[(EventId, u64)] = &[(EventId::LLC_MISSES, 1000), (EventId::DRAM_READS, 1000)];
        let warnings = warned(MISSES, 3, [counts, &[]]);
        assert!(
            matches!(warnings[..], [Warning::WrongCounter { event: EventId::LLC_MISSES, .. }]),
            "{warnings:?}"
        );
    }

    #[test]
    fn budgets_on_idle_cores_and_cores_without_budgets_are_named() {
        let counts: &[(EventId, u64)] = &[(EventId::LLC_MISSES, 1000), (EventId::DRAM_READS, 1000)];
        let warnings = warned(MISSES, 0, [&[], counts]);
        let expected = [Warning::Unregulated { core: CoreId(1) }, Warning::NobodyActive { periods: 10 }];
        assert_eq!(warnings, expected);
        assert_eq!(warnings[0].advice(&()).remedy.as_deref(), Some("give it one"));
    }

    /// Each tick of a core may touch memory for the kernel: that is no task, and a budget would stop nobody.
    #[test]
    fn a_core_that_only_ticks_needs_no_budget() {
        let counts: &[(EventId, u64)] = &[(EventId::LLC_MISSES, 1000), (EventId::DRAM_READS, 1000)];
        assert_eq!(warned_where(true, MISSES, 0, [&[], counts]), [Warning::NobodyActive { periods: 10 }]);
    }
}
