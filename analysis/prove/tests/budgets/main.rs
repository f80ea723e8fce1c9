//! Bounds under budgets against a machine that executes what they bound, drawn cores, tasks and alignments; and wrong bounds,
//! each of which the same machine must exceed.

mod machine;

use machine::{Course, Memory, Others, Step, Work, execute};
use solo_model::random::SplitMix64;
use solo_model::{Duration, Picoseconds};
use solo_prove::Effort;
use solo_prove::wcet::{Arbiter, Less, Load, Point, Regulation, response_edf, response_fixed, stall_even};

/// Cases of each kind; each is executed in eight alignments.
const CASES: u64 = 2000;
const ALIGNMENTS: u64 = 8;

struct Case {
    memory: Memory,
    arbiter: Arbiter,
    tasks: Vec<Work>,
    points: Vec<Point>,
    less: u64,
}

fn between(random: &mut SplitMix64, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

fn one_in(random: &mut SplitMix64, of: u64) -> bool {
    random.below(of) == 0
}

/// Memory and budgets: few transactions a period, even or of one large share and small ones.
fn memory(random: &mut SplitMix64) -> (Memory, Arbiter) {
    let cores = between(random, 1, 8);
    let longest = between(random, 2_000, 60_000);
    let shortest =
        if one_in(random, 2) { between(random, 1, longest / 4) } else { between(random, 1, longest) };
    let mut budgets: Vec<u64> = if one_in(random, 2) {
        vec![between(random, 1, 12); cores as usize]
    } else {
        (0..cores).map(|_| between(random, 1, 6)).collect()
    };
    if one_in(random, 3) {
        budgets[0] = between(random, 1, 60);
    }
    let least = budgets.iter().sum::<u64>() * longest;
    let spare = if one_in(random, 2) { 0 } else { random.below(least * 2) };
    let period = (least + spare).div_ceil(1000) * 1000;
    let (arbiter, overtake) = match random.below(6) {
        0 => (Arbiter::HitsFirst { overtake: 3 }, 3),
        1 => (Arbiter::Unlimited, u64::MAX),
        _ => (Arbiter::RoundRobin, 0),
    };
    let at_issue = one_in(random, 3);
    (Memory { period, budgets, longest, shortest, overtake, at_issue }, arbiter)
}

/// Steps with so many transactions: early, late, or spread over computation.
fn steps(random: &mut SplitMix64, memory: &Memory, transactions: u64) -> Vec<Step> {
    let computes = random.below(memory.period * 2) / 1000 * 1000 + 1000;
    let shape = random.below(4);
    let mut steps = Vec::new();
    let pieces = transactions + 1;
    for at in 0..pieces {
        let piece = match shape {
            0 => {
                if at == 0 {
                    computes
                } else {
                    0
                }
            }
            1 => {
                if at + 1 == pieces {
                    computes
                } else {
                    0
                }
            }
            2 => computes / pieces,
            _ => random.below(computes / pieces + 1),
        };
        if piece > 0 || pieces == 1 {
            steps.push(Step::Compute(piece.max(1)));
        }
        if at + 1 < pieces {
            let slower =
                if one_in(random, 2) { 0 } else { random.below(memory.longest - memory.shortest + 1) };
            steps.push(Step::Transact(memory.shortest + slower));
        }
    }
    steps
}

impl Case {
    fn drawn(random: &mut SplitMix64) -> Self {
        let (memory, arbiter) = memory(random);
        let less = if one_in(random, 2) { memory.budgets[0] } else { random.below(memory.budgets[0] + 1) };
        let mut case = Self { memory, arbiter, tasks: Vec::new(), points: Vec::new(), less };
        let regulation = case.regulation();
        let factor = between(random, 2, 5);
        for _ in 0..between(random, 1, 3) {
            let most = case.memory.budgets[0] * 2 + 2;
            let (reads, writes) = (random.below(most), random.below(most));
            let steps = steps(random, &case.memory, reads + writes);
            let mut work = Work { steps, period: 0, deadline: 0, jitter: 0 };
            let alone = Duration::new(work.alone().div_ceil(1000));
            let point = Point { pages: 0, alone, reads, writes };
            let charge = regulation.charge(0, point.transactions()).expect("a core");
            work.period = (alone + charge).get() * 1000 * between(random, factor, factor * 3);
            work.deadline = if one_in(random, 2) {
                work.period
            } else {
                work.period / 10000 * between(random, 5, 10) * 1000
            };
            work.jitter = if one_in(random, 3) { random.below(work.period / 10000) * 1000 } else { 0 };
            case.tasks.push(work);
            case.points.push(point);
        }
        case
    }

    fn regulation(&self) -> Regulation {
        self.regulation_of(&self.memory.budgets, self.memory.longest)
    }

    fn regulation_of(&self, budgets: &[u64], longest: u64) -> Regulation {
        let times = (Picoseconds::new(self.memory.shortest.min(longest)), Picoseconds::new(longest));
        Regulation::new(Duration::new(self.memory.period / 1000), budgets, times, self.arbiter)
            .expect("it fits")
    }

    fn loads(&self, transactions: fn(&Point) -> u64) -> Vec<Load> {
        let load = |(work, point): (&Work, &Point)| Load {
            alone: point.alone,
            transactions: transactions(point),
            period: Duration::new(work.period / 1000),
            deadline: Duration::new(work.deadline / 1000),
            jitter: Duration::new(work.jitter / 1000),
        };
        self.tasks.iter().zip(&self.points).map(load).collect()
    }

    /// An alignment that somebody would choose who wishes the tasks ill, or any.
    fn course(&self, random: &mut SplitMix64, by_deadline: bool) -> Course {
        let memory = &self.memory;
        let border = memory.period * between(random, 2, 4);
        let turn = memory.longest * memory.budgets.len() as u64;
        let start = match random.below(5) {
            0 => border + random.below(memory.period),
            1 => border + 1 + random.below(memory.shortest),
            2 => border + memory.budgets[0] * memory.shortest + 1,
            3 => border + (memory.budgets[0] - 1) * memory.shortest + 1,
            _ => border - 1 - random.below(turn.min(memory.period - 1)),
        };
        let others = [Others::Together, Others::Together, Others::Always, Others::Sometimes];
        let before = [Others::Rest, Others::Rest, Others::Together];
        Course {
            start,
            others: others[random.below(4) as usize],
            slow: !one_in(random, 4),
            others_before: before[random.below(3) as usize],
            less: self.less,
            by_deadline,
            late: one_in(random, 3),
            jobs: 4,
        }
    }

    /// The longest responses in all alignments, in nanoseconds, ended ones counted whole.
    fn executed(&self, random: &mut SplitMix64, by_deadline: bool) -> Vec<u64> {
        let mut worst = vec![0; self.tasks.len()];
        for _ in 0..ALIGNMENTS {
            let course = self.course(random, by_deadline);
            let seen = execute(&self.memory, &self.tasks, course, random.next_u64());
            for (worst, seen) in worst.iter_mut().zip(seen) {
                *worst = (*worst).max(seen);
            }
        }
        worst
    }
}

fn fixed(regulation: &Regulation, loads: &[Load], less: u64) -> Vec<Option<Duration>> {
    let less = Less { transactions: less, locks: Duration::ZERO };
    response_fixed(regulation, 0, loads, less, &mut Effort::default())
        .unwrap_or_else(|| vec![None; loads.len()])
}

#[test]
fn no_executed_job_responds_later_than_its_bound() {
    let mut random = SplitMix64::new(15);
    let (mut bounded, mut close) = (0, 0);
    for number in 0..CASES {
        let case = Case::drawn(&mut random);
        let bounds = fixed(&case.regulation(), &case.loads(Point::transactions), case.less);
        let seen = case.executed(&mut random, false);
        for (task, (bound, seen)) in bounds.iter().zip(&seen).enumerate() {
            let Some(bound) = bound else { continue };
            let bound = bound.get() * 1000;
            assert!(
                *seen <= bound,
                "case {number}, task {task}: {seen} ps above {bound} ps\n{:?}\n{:?}",
                case.memory,
                case.points
            );
            bounded += 1;
            close += u64::from(seen * 10 >= bound * 8);
        }
    }
    println!("{CASES} cores, {bounded} bounds, {close} of them within a fourth of what was seen");
    assert!(bounded > CASES && close > CASES / 10, "{bounded} bounded, {close} close");
}

#[test]
fn no_deadline_that_is_proved_under_edf_is_missed() {
    let mut random = SplitMix64::new(16);
    let (mut proved, mut tight) = (0, 0);
    for number in 0..CASES {
        let case = Case::drawn(&mut random);
        let less = Less { transactions: case.less, locks: Duration::ZERO };
        let loads = case.loads(Point::transactions);
        let holds = response_edf(&case.regulation(), 0, &loads, less, &mut Effort::steps(1 << 16));
        if holds != Some(true) {
            continue;
        }
        let seen = case.executed(&mut random, true);
        for (work, seen) in case.tasks.iter().zip(&seen) {
            assert!(
                *seen <= work.deadline,
                "case {number}: {seen} after {}\n{:?}\n{:?}",
                work.deadline,
                case.memory,
                case.tasks
            );
            tight += u64::from(seen * 2 >= work.deadline);
        }
        proved += 1;
    }
    println!("{CASES} cores, {proved} proved, {tight} tasks beyond half of their deadlines");
    assert!(proved > CASES / 4 && tight > CASES / 40, "{proved} proved, {tight} tight");
}

/// One job alone on its core with a full budget, in every alignment: what the stall adds is enough. Equation 1 is where budgets are
/// even and hold so many transactions that one across the border is a small part of them.
#[test]
fn no_job_on_a_core_of_its_own_takes_longer_than_its_stall_allows() {
    let mut random = SplitMix64::new(17);
    let (mut even, mut above_even) = (0, 0);
    for number in 0..CASES {
        let mut case = Case::drawn(&mut random);
        case.tasks.truncate(1);
        case.less = 0;
        case.tasks[0].jitter = 0;
        let (point, cores) = (case.points[0], case.memory.budgets.len() as u64);
        let bound = point.alone + case.regulation().stall(0, point.transactions()).expect("a core");
        let mut worst = 0;
        for _ in 0..ALIGNMENTS {
            let course = Course { jobs: 1, ..case.course(&mut random, false) };
            worst = worst.max(execute(&case.memory, &case.tasks, course, random.next_u64())[0]);
        }
        let what = format!("case {number}: {worst} ps\n{:?}\n{:?}\n{:?}", case.memory, point, case.tasks);
        assert!(worst <= bound.get() * 1000, "above {bound:?}, {what}");
        let equal = case.memory.budgets.iter().all(|&budget| budget == case.memory.budgets[0]);
        let fair = case.memory.period / (cores * case.memory.longest) == case.memory.budgets[0];
        if equal && fair && case.arbiter == Arbiter::RoundRobin {
            let longest = Picoseconds::new(case.memory.longest);
            let equation_1 = point.alone + stall_even(cores, point.transactions(), longest);
            let holds = worst <= equation_1.get() * 1000;
            let large = case.memory.budgets[0] * case.memory.shortest >= 2 * cores * case.memory.longest;
            assert!(holds || !large, "Equation 1 says {equation_1:?}, {what}");
            (even, above_even) = (even + 1, above_even + u64::from(!holds));
        }
    }
    println!("{CASES} jobs; of {even} with even budgets {above_even} above Equation 1, all of small budgets");
    assert!(even > CASES / 20);
}

/// A bound that somebody might have written instead, from the drawn core.
type Mutant = fn(&Case) -> Vec<Option<Duration>>;

/// The four mistakes that the specification names.
const MUTANTS: [(&str, Mutant); 4] = [
    ("m - 1 cores", |case| {
        let fewer = case.memory.budgets.len().saturating_sub(1).max(1);
        let regulation = case.regulation_of(&case.memory.budgets[..fewer], case.memory.longest);
        fixed(&regulation, &case.loads(Point::transactions), case.less)
    }),
    ("L_max of reads", |case| {
        // Memory that writes back moves 10 % less than one that only reads.
        let regulation = case.regulation_of(&case.memory.budgets, case.memory.longest * 9 / 10);
        fixed(&regulation, &case.loads(Point::transactions), case.less)
    }),
    ("no blocking", |case| fixed(&case.regulation(), &case.loads(Point::transactions), 0)),
    ("mu without write-backs", |case| fixed(&case.regulation(), &case.loads(|point| point.reads), case.less)),
];

#[test]
fn each_wrong_bound_is_exceeded() {
    for (name, mutant) in MUTANTS {
        let mut random = SplitMix64::new(15);
        let mut caught = 0;
        for _ in 0..CASES {
            let case = Case::drawn(&mut random);
            let bounds = mutant(&case);
            let seen = case.executed(&mut random, false);
            let above = |(bound, seen): (&Option<Duration>, &u64)| {
                bound.is_some_and(|bound| *seen > bound.get() * 1000)
            };
            caught += u64::from(bounds.iter().zip(&seen).any(above));
        }
        println!("{name}: exceeded on {caught} of {CASES} cores");
        assert!(caught > 0, "nothing exceeds the bound with the mistake: {name}");
    }
}
