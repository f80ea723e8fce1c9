//! The solvers against an independent search that looks at every unit of time.

use solo_ima::{Device, Impossible, Offsets, Partition, Problem, Step, Transfer, exact, hos};
use solo_model::units::Duration;
use solo_model::{CoreId, SplitMix64};

/// Who occupies what, unit by unit of a hyperperiod: knows nothing of residues.
struct Timeline {
    units: usize,
    cores: Vec<Vec<bool>>,
    io_core: Vec<bool>,
    devices: Vec<Vec<bool>>,
}

impl Timeline {
    fn new(units: usize) -> Self {
        let free = || vec![false; units];
        Self { units, cores: vec![free(), free()], io_core: free(), devices: vec![free(), free(), free()] }
    }

    fn row(&mut self, partition: &Partition, step: Step) -> &mut Vec<bool> {
        let device = |transfer: Option<Transfer>| usize::from(transfer.unwrap().device.0);
        match step {
            Step::Processing => &mut self.cores[partition.core.index()],
            Step::DeviceInput | Step::DeviceOutput => &mut self.io_core,
            Step::PhysicalInput => &mut self.devices[device(partition.input)],
            Step::PhysicalOutput => &mut self.devices[device(partition.output)],
        }
    }

    /// Occupies, and says whether all of it was free; what was occupied stays so.
    fn occupy(&mut self, partition: &Partition, step: Step, begin: usize, value: bool) -> bool {
        let (length, period) = (partition.duration(step).get() as usize, partition.period.get() as usize);
        if length == 0 {
            return true;
        }
        let units = self.units;
        let row = self.row(partition, step);
        let places =
            (0..units / period).flat_map(|k| (0..length).map(move |i| (begin + k * period + i) % units));
        let free = places.clone().all(|at| !row[at]);
        if free || !value {
            places.for_each(|at| row[at] = value);
        }
        free
    }
}

/// Every offset of every step of every partition, in the order of the file.
fn brute(
    partitions: &[Partition],
    timeline: &mut Timeline,
    chain: &mut Vec<usize>,
    at: usize,
    unbroken: bool,
) -> bool {
    let Some(partition) = partitions.get(at) else { return true };
    let step = Step::ALL[chain.len()];
    let length = |step| partition.duration(step).get() as usize;
    let (period, latency) = (partition.period.get() as usize, partition.latency.get() as usize);
    // Steps of no length lie where the one before them ends; the chain begins with its first step that has one.
    let from = chain.iter().zip(Step::ALL).next_back().map_or(0, |(begin, step)| begin + length(step));
    let first = chain.iter().zip(Step::ALL).find(|(_, step)| length(*step) > 0);
    let rest: usize = Step::ALL.into_iter().filter(|&other| other >= step).map(length).sum();
    let to = match first {
        _ if length(step) == 0 => from,
        None => period - 1,
        Some((begin, _)) if begin + latency < rest => return false,
        Some((begin, _)) => begin + latency - rest,
    };
    for begin in from..=to {
        let cut = step == Step::Processing && begin % period + length(step) > period;
        if unbroken && cut || !timeline.occupy(partition, step, begin, true) {
            continue;
        }
        chain.push(begin);
        let found = if chain.len() == 5 {
            brute(partitions, timeline, &mut Vec::new(), at + 1, unbroken)
        } else {
            brute(partitions, timeline, chain, at, unbroken)
        };
        if found {
            return true;
        }
        chain.pop();
        timeline.occupy(partition, step, begin, false);
    }
    false
}

fn hyperperiod(partitions: &[Partition]) -> usize {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    partitions.iter().map(|p| p.period.get()).fold(1, |a, b| a / gcd(a, b) * b) as usize
}

fn solvable(partitions: &[Partition], unbroken: bool) -> bool {
    brute(partitions, &mut Timeline::new(hyperperiod(partitions)), &mut Vec::new(), 0, unbroken)
}

fn draw(random: &mut SplitMix64) -> Vec<Partition> {
    let count = 2 + u64::from(random.below(4) == 0);
    (0..count)
        .map(|_| {
            let period = [4, 6, 8][random.below(3) as usize];
            let core = CoreId(random.below(2) as u16);
            let mut side = || {
                (random.below(4) > 0).then(|| Transfer {
                    device: Device(random.below(3) as u16),
                    physical: Duration::new(random.below(3)),
                    transfer: Duration::new(1 + random.below(2)),
                })
            };
            let (input, output) = (side(), side());
            let processing = Duration::new(1 + random.below(period / 2));
            let latency = Duration::new(period - random.below(2) + random.below(4));
            Partition { input, output, latency, ..Partition::new(core, Duration::new(period), processing) }
        })
        .collect()
}

/// Whether nothing meets and all is in order as the first instances lie, unit by unit, over ten hyperperiods.
fn runs(partitions: &[Partition], offsets: &[Offsets]) -> bool {
    let units = 10 * hyperperiod(partitions);
    let mut timeline = Timeline::new(units);
    for (partition, offsets) in partitions.iter().zip(offsets) {
        let mut end = None;
        for step in Step::ALL {
            if partition.duration(step).is_zero() {
                continue;
            }
            let begin = offsets.begin(step);
            if end.is_some_and(|end| end > begin) {
                return false;
            }
            end = Some(begin + partition.duration(step));
            if !timeline.occupy(partition, step, begin.get() as usize % units, true) {
                return false;
            }
        }
    }
    true
}

#[test]
fn a_thousand_small_problems_are_decided_as_by_looking_at_every_unit() {
    let mut random = SplitMix64::new(24);
    let (mut can, mut found) = (0, 0);
    for round in 0..1000 {
        let partitions = draw(&mut random);
        let problem = Problem::new(partitions.clone()).unwrap();
        let expected = solvable(&partitions, false);
        can += u64::from(expected);
        match exact::solve(&problem, 50_000_000) {
            exact::ExactAnswer::Solved(offsets) => {
                assert!(expected, "{round}: {partitions:?} {offsets:?}");
                assert_eq!(problem.violations(&offsets), [], "{round}: {partitions:?}");
                assert!(runs(&partitions, &offsets), "{round}: {partitions:?} {offsets:?}");
            }
            exact::ExactAnswer::Proved => assert!(!expected, "{round}: {partitions:?}"),
            exact::ExactAnswer::Unknown => panic!("{round}: {partitions:?}"),
        }
        let effort = hos::Effort { restarts: 200, ..hos::Effort::default() };
        if let hos::HosAnswer::Solved { offsets, .. } = hos::solve(&problem, round, effort) {
            assert!(expected, "{round}: {partitions:?} {offsets:?}");
            assert_eq!(problem.violations(&offsets), [], "{round}: {partitions:?}");
            assert!(runs(&partitions, &offsets), "{round}: {partitions:?} {offsets:?}");
            found += 1;
        }
        if expected {
            assert_eq!(problem.impossible(), [], "{round}: {partitions:?}");
        }
    }
    println!("of 1000 problems {can} can be solved; the heuristic solved {found}");
    assert!((200..=800).contains(&can), "problems of both kinds: {can}");
    assert!(found * 10 >= can * 9, "{found} of {can}");
}

/// The same where no processing is cut in two by the end of its period.
#[test]
fn unbroken_problems_are_decided_as_by_looking_at_every_unit() {
    let mut random = SplitMix64::new(31);
    let (mut can, mut found, mut cut) = (0, 0, 0);
    for round in 0..1000 {
        let partitions = draw(&mut random);
        let problem = Problem::new(partitions.clone()).unwrap().unbroken();
        let expected = solvable(&partitions, true);
        can += u64::from(expected);
        let sound = |offsets: &[Offsets]| {
            assert!(expected, "{round}: {partitions:?} {offsets:?}");
            assert_eq!(problem.violations(offsets), [], "{round}: {partitions:?}");
            for (partition, offsets) in partitions.iter().zip(offsets) {
                let begin = offsets.begin(Step::Processing).get() % partition.period.get();
                assert!(begin + partition.processing.get() <= partition.period.get(), "{round}");
            }
        };
        match exact::solve(&problem, 50_000_000) {
            exact::ExactAnswer::Solved(offsets) => sound(&offsets),
            exact::ExactAnswer::Proved => assert!(!expected, "{round}: {partitions:?}"),
            exact::ExactAnswer::Unknown => panic!("{round}: {partitions:?}"),
        }
        let effort = hos::Effort { restarts: 200, ..hos::Effort::default() };
        if let hos::HosAnswer::Solved { offsets, .. } = hos::solve(&problem, round, effort) {
            sound(&offsets);
            found += 1;
        }
        let free = Problem::new(partitions.clone()).unwrap();
        if let hos::HosAnswer::Solved { offsets, .. } = hos::solve(&free, round, effort) {
            cut += u64::from(!problem.violations(&offsets).is_empty());
        }
    }
    println!(
        "{can} can be solved, the heuristic solved {found}; without the condition it cuts processing in {cut}"
    );
    assert!(cut > 50 && found * 10 >= can * 9, "{cut} {found} of {can}");
    // What is moved across the end of its period is found by the judge.
    let alone = Partition::new(CoreId(0), Duration::new(10), Duration::new(4));
    let late = [Offsets::new([Duration::new(8); 5])];
    assert_eq!(Problem::new(vec![alone.clone()]).unwrap().violations(&late), []);
    let found = Problem::new(vec![alone]).unwrap().unbroken().violations(&late);
    assert!(matches!(found[..], [solo_ima::Violation::Broken { left, .. }] if left.get() == 2), "{found:?}");
}

/// Offsets moved at random: the verdict is that of looking at every unit.
#[test]
fn violations_are_those_that_every_unit_shows() {
    let mut random = SplitMix64::new(7);
    let (mut sound, mut broken) = (0, 0);
    for _ in 0..2000 {
        let partitions = draw(&mut random);
        let problem = Problem::new(partitions.clone()).unwrap();
        let hos::HosAnswer::Solved { mut offsets, .. } = hos::solve(&problem, 1, hos::Effort::default())
        else {
            continue;
        };
        let which = random.below(partitions.len() as u64) as usize;
        let by = Duration::new(random.below(12));
        let begins = Step::ALL.map(|step| offsets[which].begin(step) + by);
        offsets[which] = Offsets::new(begins);
        let verdict = problem.violations(&offsets).is_empty();
        assert_eq!(verdict, runs(&partitions, &offsets), "{partitions:?} {offsets:?}");
        *(if verdict { &mut sound } else { &mut broken }) += 1;
    }
    assert!(sound > 100 && broken > 100, "{sound} {broken}");
}

#[test]
fn what_can_not_be_had_is_named_with_its_numbers() {
    let at = |core, period, processing| {
        Partition::new(CoreId(core), Duration::new(period), Duration::new(processing))
    };
    let problem = |partitions| Problem::new(partitions).unwrap();
    let pair = problem(vec![at(0, 18, 6), at(0, 36, 13)]).impossible();
    assert!(
        matches!(pair[..], [Impossible::Pair { together, modulus, .. }] if (together.get(), modulus.get()) == (19, 18)),
        "{pair:?}"
    );
    let three = problem(vec![at(0, 4, 2), at(0, 4, 2), at(0, 4, 2)]).impossible();
    assert!(matches!(three[..], [Impossible::Overload { utilization_ppm: 1_500_000, .. }]), "{three:?}");
    let long = problem(vec![Partition { latency: Duration::new(5), ..at(0, 12, 6) }]).impossible();
    assert!(matches!(long[..], [Impossible::TooLong { .. }]), "{long:?}");
}

#[test]
fn hostile_numbers_are_refused_or_answered() {
    let at = |period, processing| Partition::new(CoreId(0), Duration::new(period), Duration::new(processing));
    assert!(Problem::new(vec![at(0, 1)]).is_err());
    assert!(Problem::new(vec![at(1, 0)]).is_err());
    assert!(Problem::new(vec![at(u64::MAX, 1)]).is_err());
    let problem = Problem::new(vec![at(u64::MAX, u64::MAX), at(u64::MAX, u64::MAX)]).unwrap();
    assert!(!problem.impossible().is_empty());
    assert_eq!(exact::solve(&problem, 1000), exact::ExactAnswer::Proved);
    assert!(matches!(hos::solve(&problem, 1, hos::Effort::default()), hos::HosAnswer::GivenUp { .. }));
    assert!(matches!(
        hos::solve(&Problem::new(vec![]).unwrap(), 1, hos::Effort::default()),
        hos::HosAnswer::Solved { .. }
    ));
    // Periods without a common divisor: each round of the search moves by one unit of 2^40.
    let fine = Problem::new(vec![at((1 << 40) - 1, 2), at(1 << 40, 2), at((1 << 40) - 5, 2)]).unwrap();
    let effort = hos::Effort { restarts: 10, work: 100_000 };
    assert!(matches!(hos::solve(&fine, 1, effort), hos::HosAnswer::GivenUp { .. }));
}

/// Of a partition alone, with begins of its steps drawn: what arithmetic says of them is what a search over all of them finds.
#[test]
fn begins_that_the_order_of_steps_contradicts_are_those_that_no_search_places() {
    let mut dice = SplitMix64::new(0xbe91);
    let (mut refused, mut placed) = (0, 0);
    for _ in 0..2_000 {
        let time = |units: u64| Duration::new(units * 1000);
        let period = 8 + dice.below(17);
        let mut partition = Partition::new(CoreId(0), time(period), time(1 + dice.below(4)));
        let mut side = |device| {
            let (physical, transfer) = (time(dice.below(3)), time(1));
            Transfer { device: Device(device), physical, transfer }
        };
        // One side only: two transfers may meet on the I/O core, and that is another reason.
        (partition.input, partition.output) = (Some(side(0)), None);
        partition.latency = time(4 + dice.below(2 * period));
        for step in [Step::PhysicalInput, Step::DeviceInput, Step::Processing] {
            if dice.below(2) == 0 {
                partition.fixed[step as usize] = Some(time(dice.below(period)));
            }
        }
        let Ok(problem) = Problem::new(vec![partition.clone()]) else { continue };
        let impossible = problem.impossible();
        let told =
            impossible.iter().any(|why| matches!(why, Impossible::Waits { .. } | Impossible::TooLong { .. }));
        match exact::solve(&problem, 1 << 20) {
            exact::ExactAnswer::Proved => assert!(told, "{partition:?}"),
            exact::ExactAnswer::Solved(_) => assert!(!told, "{impossible:?} {partition:?}"),
            exact::ExactAnswer::Unknown => panic!("it is small: {partition:?}"),
        }
        if let Some(Impossible::Waits { waits, takes, latency, .. }) = impossible.first() {
            assert!(takes > latency && waits > &Duration::ZERO, "{impossible:?}");
            // With that much more time there are offsets.
            let longer = Partition { latency: *takes, ..partition };
            let problem = Problem::new(vec![longer]).expect("it is a problem");
            assert!(matches!(exact::solve(&problem, 1 << 20), exact::ExactAnswer::Solved(_)));
            refused += 1;
        }
        placed += usize::from(impossible.is_empty());
    }
    assert!(refused > 200 && placed > 200, "{refused} {placed}");
}
