//! Offsets by constraint programming beside those by hierarchically ordered scheduling (single-core equivalence,
//! Fig. 9): how often each finds some and how much of a processor's time it takes, in turns in one process on the same problems.
//!
//! `cargo run --release [INSTANCES [SECONDS]]` in this folder; 20 instances a point and 10 s for the solver unless told
//! otherwise, of the clock. Ends with 1 where the solver proves that there are no offsets and the heuristic has found some.
//!
//! Each is asked [`TIMES`] times in a row about a problem. The *first* time it finds the caches as the other one has left
//! them, which says more about the other one than about it where it takes microseconds; *again* is the median of the
//! others, in which both have their own code and data near. What reading the clock takes is measured and taken off.

use pumpkin_conflict_resolvers::resolvers::ResolutionResolver;
use pumpkin_solver::Solver;
use pumpkin_solver::core::results::{ProblemSolution, SatisfactionResult};
use pumpkin_solver::core::termination::TimeBudget;
use pumpkin_solver::core::variables::{AffineView, DomainId, TransformableVariable};
use rustix::time::{ClockId, clock_gettime};
use solo_ima::draw::Family;
use solo_ima::{Leg, Offsets, Problem, Step, hos};
use solo_model::SplitMix64;
use solo_model::units::{Duration as Span, PerMille};
use std::process::ExitCode;
use std::time::Duration;

/// How often each is asked about a problem, in a row.
const TIMES: usize = 6;

/// A solver that takes longer than this is asked once: no cache is warm or cold for so long.
const LONG: Duration = Duration::from_millis(50);

/// The processor's time that this thread has used: what else the machine does is in no comparison.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

/// What two readings of the clock are apart with nothing between them: the median of some thousand.
fn of_the_clock() -> Duration {
    let mut all: Vec<Duration> =
        (0..4_001).map(|_| (used(), used())).map(|(begin, end)| end - begin).collect();
    median(&mut all).unwrap_or_default()
}

/// How long one of them took for one problem.
#[derive(Clone, Copy)]
struct Took {
    first: Duration,
    again: Duration,
}

impl Took {
    fn ratio(self, quick: Self) -> (f64, f64) {
        let times = |slow: Duration, quick: Duration| slow.as_secs_f64() / quick.as_secs_f64();
        (times(self.first, quick.first), times(self.again, quick.again))
    }
}

/// The last answer of several, and what they took less the clock's own time.
fn timed<T>(clock: Duration, ask: impl Fn() -> T) -> (T, Took) {
    let once = || {
        let begin = used();
        let answer = ask();
        (answer, (used() - begin).saturating_sub(clock))
    };
    let (mut answer, first) = once();
    let mut others = Vec::with_capacity(TIMES);
    while first < LONG && others.len() + 1 < TIMES {
        let took;
        (answer, took) = once();
        others.push(took);
    }
    (answer, Took { first, again: median(&mut others).unwrap_or(first) })
}

/// What the solver says.
enum Answer {
    Offsets(Vec<Offsets>),
    None,
    OutOfTime,
}

/// The problem as linear constraints over whole numbers. A pair of steps of lengths `a` and `b` on one resource, with
/// periods whose greatest common divisor is `g`, does not meet iff for some whole `k`:
/// `a <= begin of the second - begin of the first - k g <= g - b`.
struct Model<'a> {
    problem: &'a Problem,
    solver: Solver,
    begins: Vec<(Leg, DomainId)>,
}

impl<'a> Model<'a> {
    fn new(problem: &'a Problem) -> Self {
        let mut model = Self { problem, solver: Solver::default(), begins: Vec::new() };
        for partition in 0..problem.partitions().len() {
            model.partition(partition);
        }
        for first in 0..model.begins.len() {
            for second in first + 1..model.begins.len() {
                model.apart(first, second);
            }
        }
        model
    }

    fn units(&self, span: Span) -> i32 {
        i32::try_from(span.get() / self.problem.unit().get()).expect("problems of this comparison are small")
    }

    fn length(&self, leg: Leg) -> i32 {
        self.units(self.problem.partitions()[leg.partition].duration(leg.step))
    }

    /// `sum <= limit`
    fn at_most(&mut self, terms: Vec<AffineView<DomainId>>, limit: i32) {
        let tag = self.solver.new_constraint_tag();
        let constraint = pumpkin_constraints::less_than_or_equals(terms, limit, tag);
        self.solver.add_constraint(constraint).post();
    }

    /// One instance: its steps in order, within its latency, the first one in the first period.
    fn partition(&mut self, partition: usize) {
        let of = &self.problem.partitions()[partition];
        let (period, latency) = (self.units(of.period), self.units(of.latency));
        let all = Step::ALL.map(|step| Leg { partition, step });
        let legs: Vec<Leg> = all.into_iter().filter(|leg| self.length(*leg) > 0).collect();
        let mut before: Option<(Leg, DomainId)> = None;
        let mut first = None;
        for leg in legs {
            let latest = if first.is_none() { period - 1 } else { period + latency };
            let begin = self.solver.new_bounded_integer(0, latest);
            self.begins.push((leg, begin));
            if let Some((earlier, begun)) = before {
                let length = self.length(earlier);
                self.at_most(vec![begun.scaled(1), begin.scaled(-1)], -length);
            }
            before = Some((leg, begin));
            first.get_or_insert(begin);
        }
        if let (Some(first), Some((last, begin))) = (first, before) {
            let length = self.length(last);
            self.at_most(vec![begin.scaled(1), first.scaled(-1)], latency - length);
        }
    }

    fn apart(&mut self, first: usize, second: usize) {
        let ((a, a_begin), (b, b_begin)) = (self.begins[first], self.begins[second]);
        if self.problem.resource(a) != self.problem.resource(b) {
            return;
        }
        let period = |leg: Leg| self.units(self.problem.partitions()[leg.partition].period);
        let latency = |leg: Leg| self.units(self.problem.partitions()[leg.partition].latency);
        let (mut g, mut rest) = (period(a), period(b));
        while rest != 0 {
            (g, rest) = (rest, g % rest);
        }
        let reach = (period(a) + latency(a)).max(period(b) + latency(b)) / g + 1;
        let k = self.solver.new_bounded_integer(-reach, reach);
        let (a_length, b_length) = (self.length(a), self.length(b));
        self.at_most(vec![a_begin.scaled(1), b_begin.scaled(-1), k.scaled(g)], -a_length);
        self.at_most(vec![b_begin.scaled(1), a_begin.scaled(-1), k.scaled(-g)], g - b_length);
    }

    fn solve(mut self, limit: Duration) -> Answer {
        let mut brancher = self.solver.default_brancher();
        let mut termination = TimeBudget::starting_now(limit);
        let mut resolver = ResolutionResolver::default();
        let values: Vec<(Leg, i32)> =
            match self.solver.satisfy(&mut brancher, &mut termination, &mut resolver) {
                SatisfactionResult::Satisfiable(found) => {
                    let solution = found.solution();
                    self.begins.iter().map(|&(leg, begin)| (leg, solution.get_integer_value(begin))).collect()
                }
                SatisfactionResult::Unsatisfiable(..) => return Answer::None,
                SatisfactionResult::Unknown(..) => return Answer::OutOfTime,
            };
        Answer::Offsets(offsets(self.problem, &values))
    }
}

fn offsets(problem: &Problem, values: &[(Leg, i32)]) -> Vec<Offsets> {
    let of = |(partition, has): (usize, &solo_ima::Partition)| {
        let mut end = Span::ZERO;
        Offsets::new(Step::ALL.map(|step| {
            let found = values.iter().find(|(leg, _)| *leg == Leg { partition, step });
            let begin = found.map_or(end, |(_, units)| problem.unit() * u64::from(units.unsigned_abs()));
            end = begin + has.duration(step);
            begin
        }))
    };
    problem.partitions().iter().enumerate().map(of).collect()
}

/// Of one point of the figure.
#[derive(Default)]
struct Point {
    ruled_out: u64,
    hos: Vec<Took>,
    cp: Vec<Took>,
    /// Of the problems that both solved, how many times longer the solver took: the first time, and again.
    ratios: Vec<(f64, f64)>,
    none: u64,
    out_of_time: u64,
    wrong: u64,
}

impl Point {
    fn add(&mut self, problem: &Problem, seed: u64, limit: Duration, clock: Duration) {
        if !problem.impossible().is_empty() {
            self.ruled_out += 1;
            return;
        }
        let (heuristic, quick) = timed(clock, || hos::solve(problem, seed, hos::Effort::default()));
        let solved = matches!(&heuristic, hos::HosAnswer::Solved { .. });
        if solved {
            self.hos.push(quick);
        }
        let (answer, slow) = timed(clock, || Model::new(problem).solve(limit));
        match answer {
            Answer::Offsets(offsets) => {
                self.wrong += u64::from(!problem.violations(&offsets).is_empty());
                self.cp.push(slow);
                if solved {
                    self.ratios.push(slow.ratio(quick));
                }
            }
            Answer::None => {
                self.none += 1;
                self.wrong += u64::from(solved);
            }
            Answer::OutOfTime => self.out_of_time += 1,
        }
    }

    fn line(&self) -> String {
        let times = |all: &[Took], of: fn(&Took) -> Duration, per_second: f64| {
            let mut all: Vec<Duration> = all.iter().map(of).collect();
            median(&mut all).map_or(f64::NAN, |time| time.as_secs_f64() * per_second)
        };
        let ratio = |of: fn(&(f64, f64)) -> f64| {
            median(&mut self.ratios.iter().map(of).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        format!(
            "{:>9}  {:>3}  {:>8.1} {:>8.1}  {:>3}  {:>4}  {:>11}  {:>8.2} {:>8.2}  {:>6.0} {:>6.0}  {:>5}",
            self.ruled_out,
            self.hos.len(),
            times(&self.hos, |took| took.first, 1e6),
            times(&self.hos, |took| took.again, 1e6),
            self.cp.len(),
            self.none,
            self.out_of_time,
            times(&self.cp, |took| took.first, 1e3),
            times(&self.cp, |took| took.again, 1e3),
            ratio(|both| both.0),
            ratio(|both| both.1),
            self.wrong
        )
    }
}

fn median<T: Copy + PartialOrd>(all: &mut [T]) -> Option<T> {
    all.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    all.get(all.len() / 2).copied()
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mut number = |default: u64| words.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (instances, limit) = (number(20), Duration::from_secs(number(10)));
    let clock = of_the_clock();
    println!(
        "{instances} instances a point, seed 9; the constraint solver has {} s for each",
        limit.as_secs()
    );
    println!(
        "p50 of the first time and again; {} ns for reading the clock are taken off each",
        clock.as_nanos()
    );
    println!(
        "partitions  U    ruled out  HOS  us first    again   CP  none  out of time  ms first    again  CP/HOS  again  wrong"
    );
    let mut wrong = 0;
    let wanted: Vec<u16> = words.filter_map(|word| word.parse().ok()).collect();
    let all = [4_u16, 8, 16, 32, 64];
    for partitions in all.into_iter().filter(|count| wanted.is_empty() || wanted.contains(count)) {
        for utilization in [300_u16, 500, 700, 900] {
            let Some(utilization) = PerMille::new(utilization) else { continue };
            let family = Family { partitions, per_core: 4, utilization };
            let mut point = Point::default();
            for instance in 0..instances {
                let parts = [u64::from(partitions), u64::from(utilization.get()), instance];
                let drawn = family.draw(&mut SplitMix64::derived(9, &parts));
                point.add(&Problem::new(drawn).expect("what is drawn is sound"), instance, limit, clock);
            }
            wrong += point.wrong;
            println!("{partitions:>10}  {:.1}  {}", f64::from(utilization.get()) / 1000.0, point.line());
        }
    }
    ExitCode::from(u8::from(wrong > 0))
}
