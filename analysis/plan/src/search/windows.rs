//! Windows of IMA partitions, on cores that have several of them and for which none are written (SCE 2.4 and 3.1, steps 3 and 5).
//!
//! ```text
//!   budgets ─▶ each partition: its period, the shortest window with which its deadlines are proved ─▶ offsets ─▶ a cycle
//!                ▲ a common period, half of it, a quarter                    │ too much for the core, no place
//!                └──────────────────────────────────────────────────────────┘
//! ```
//!
//! A partition's windows all have one length and one distance, so that what is proved of it does not depend on where they begin: the shortest
//! periods first, each as early as it can be, and where that finds no place by the heuristic for conflict-free I/O (HOS). What is
//! left of a cycle goes to partitions without deadlines, in equal parts of each gap.
//!
//! Cores whose partitions exchange data with devices are divided together, for the devices share one I/O core ([`super::table`]).

use super::choices::{CycleChoice, DividedPartition, Division, WindowChoice, WindowRule};
use super::home::Home;
use super::lack::NoPlan;
use super::subject::Subject;
use super::{JUDGE_STEPS, late};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use solo_ima::{Problem, Step, hos};
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
use solo_model::policy::Timing;
use solo_model::{CoreId, Duration, Experiment, PartitionId, TaskClass, TaskId};
use solo_prove::Effort;
use solo_prove::system::{System, TaskFinding};

/// Periods are tried as they are, then halved, then quartered and so on.
const PARTS: [u64; 4] = [1, 2, 4, 8];
/// A cycle has no more windows than this.
const MOST_WINDOWS: u64 = 1_000;
/// How often offsets are drawn anew.
const RESTARTS: u64 = 200;
/// The cycle of a core whose partitions have no deadlines.
const UNASKED: Duration = Duration::from_millis(10);

/// By when a task ends that is to end within a window, where that is later; nothing is said of one without an analysis.
pub(super) fn outlasts(finding: &TaskFinding, window: Duration) -> Option<Duration> {
    match finding {
        TaskFinding::Proved(proof) => Some(proof.bound),
        TaskFinding::NotProved(gap) => Some(gap.needs),
        TaskFinding::Open(_) => None,
    }
    .filter(|needs| *needs > window)
}

/// A core while its time is divided.
pub(super) struct Dividing<'a> {
    subject: &'a Subject,
    experiment: &'a Experiment,
    system: &'a System,
    homes: &'a [Home],
    pub(super) core: CoreId,
    /// The partitions on it.
    here: Vec<usize>,
}

/// The windows that a partition needs.
#[derive(Clone, Copy)]
pub(super) struct Need {
    pub(super) home: usize,
    pub(super) period: u64,
    pub(super) length: u64,
}

/// How the periods of windows are chosen, in the order in which that is tried.
pub(super) fn rules() -> impl Iterator<Item = WindowRule> {
    PARTS.into_iter().flat_map(|parts| [WindowRule::Own { parts }, WindowRule::Common { parts }])
}

impl<'a> Dividing<'a> {
    /// A core with the partitions `here`.
    pub(super) fn new(
        subject: &'a Subject,
        experiment: &'a Experiment,
        system: &'a System,
        core: CoreId,
        here: Vec<usize>,
    ) -> Self {
        Self { subject, experiment, system, homes: subject.homes(), core, here }
    }

    /// Divides it by itself.
    pub(super) fn divide(&self) -> Result<Division, NoPlan> {
        let own: Vec<(usize, Option<u64>)> =
            self.here.iter().map(|&home| (home, self.shortest_period(home))).collect();
        let shortest = own.iter().filter_map(|(_, period)| *period).min();
        let mut tried: Vec<(WindowRule, NoPlan)> = Vec::new();
        for rule in rules() {
            let wanted = self.wanted(rule);
            // With equal periods a common one is no other attempt.
            let alike = wanted.windows(2).all(|pair| pair[0].1 == pair[1].1);
            if matches!(rule, WindowRule::Common { .. })
                && own.iter().all(|(_, own)| own.is_none_or(|own| Some(own) == shortest))
                && alike
            {
                continue;
            }
            match self.with_periods(&wanted, rule) {
                Ok(division) => return Ok(Division { tried, ..division }),
                Err(lack) => tried.push((rule, lack)),
            }
        }
        let nearest = tried.into_iter().map(|(_, lack)| lack).min_by_key(NoPlan::distance);
        Err(nearest.unwrap_or(NoPlan::Rounds))
    }

    /// The periods of windows by a rule, of partitions with deadlines; of one with devices it is theirs.
    pub(super) fn wanted(&self, rule: WindowRule) -> Vec<(usize, u64)> {
        let shortest = self.here.iter().filter_map(|&home| self.shortest_period(home)).min();
        let period = |own: u64| match rule {
            WindowRule::Own { parts } => self.on_grain(own, parts),
            WindowRule::Common { parts } => self.on_grain(shortest.unwrap_or(own), parts),
        };
        let of = |&home: &usize| match self.subject.exchange(home) {
            Some(exchange) => Some((home, exchange.period.get())),
            None => Some((home, period(self.shortest_period(home)?))),
        };
        self.here.iter().filter_map(of).collect()
    }

    /// The shortest period of a partition's tasks with deadlines.
    fn shortest_period(&self, home: usize) -> Option<u64> {
        let tasks = self.homes[home].tasks.iter().map(|&task| &self.experiment.tasks[task]);
        let asked = tasks.filter(|task| task.relative_deadline().is_some());
        asked.filter_map(|task| task.release.period()).map(Duration::get).min()
    }

    /// A part of a period where the machine can begin a window.
    fn on_grain(&self, period: u64, parts: u64) -> u64 {
        let part = period / parts;
        match self.experiment.policy.timing {
            Timing::OneShot if period.is_multiple_of(parts) => part,
            _ => (part - part % self.grain(part)).max(self.grain(part)),
        }
    }

    /// What lengths of windows are multiples of.
    fn grain(&self, period: u64) -> u64 {
        match self.experiment.policy.timing {
            Timing::Tick(tick) => tick.get().max(1),
            Timing::OneShot if period >= 1_000_000 => 10_000,
            Timing::OneShot => 1_000.min(period.max(1)),
        }
    }

    fn with_periods(&self, wanted: &[(usize, u64)], rule: WindowRule) -> Result<Division, NoPlan> {
        let needs = self.needs(wanted)?;
        let length = self.cycle_length(&needs).ok_or_else(|| self.too_much(&needs))?;
        let windows = self.offsets(&needs, length)?;
        self.division(&needs, windows, length, rule)
    }

    /// The windows that partitions need with these periods, no more together than the core has time.
    pub(super) fn needs(&self, wanted: &[(usize, u64)]) -> Result<Vec<Need>, NoPlan> {
        let mut needs = Vec::new();
        for &(home, period) in wanted {
            let length = self.least(home, period)?;
            needs.push(Need { home, period, length });
        }
        if asked(&needs) > 1_000_000 { Err(self.too_much(&needs)) } else { Ok(needs) }
    }

    /// That these windows are more than the core's time, or too many.
    pub(super) fn too_much(&self, needs: &[Need]) -> NoPlan {
        NoPlan::Windows {
            core: self.core,
            partitions: needs.iter().map(|need| self.homes[need.home].name.clone()).collect(),
            asked: asked(needs),
        }
    }

    /// The division with these windows, given as begin, end and partition.
    pub(super) fn division(
        &self,
        needs: &[Need],
        mut windows: Vec<(u64, u64, usize)>,
        length: u64,
        rule: WindowRule,
    ) -> Result<Division, NoPlan> {
        windows.sort_unstable();
        let idle = self.fill(&mut windows, length)?;
        let row = |&home: &usize| {
            let need = needs.iter().find(|need| need.home == home);
            DividedPartition {
                name: self.homes[home].name.clone(),
                period: need.map(|need| Duration::new(need.period)),
                least: need.map(|need| Duration::new(need.length)),
            }
        };
        let choice = |&(begin, until, home): &(u64, u64, usize)| WindowChoice {
            partition: self.homes[home].name.clone(),
            begin: Duration::new(begin),
            length: Duration::new(until - begin),
        };
        let cycle = CycleChoice {
            core: self.core,
            length: Duration::new(length),
            windows: windows.iter().map(choice).collect(),
        };
        let partitions = self.here.iter().map(row).collect();
        Ok(Division {
            core: self.core,
            rule,
            cycle,
            partitions,
            idle: Duration::new(idle),
            tried: Vec::new(),
        })
    }

    /// The name of a partition.
    pub(super) fn name(&self, home: usize) -> String {
        self.homes[home].name.clone()
    }

    /// The tasks of a partition that are released with its window.
    pub(super) fn released(&self, home: usize) -> impl Iterator<Item = usize> + '_ {
        let tasks = self.homes[home].tasks.iter().copied();
        tasks.filter(|&task| self.experiment.tasks[task].class != TaskClass::BestEffort)
    }

    /// The source of all randomness.
    pub(super) fn seed(&self) -> u64 {
        self.experiment.seed
    }

    /// The shortest window with which a partition's deadlines are proved, once a period.
    fn least(&self, home: usize, period: u64) -> Result<u64, NoPlan> {
        let grain = self.grain(period);
        let (mut low, mut high) = (0, period / grain);
        self.proved(home, period, high * grain)?;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.proved(home, period, middle * grain) {
                Ok(()) => high = middle,
                Err(_) => low = middle,
            }
        }
        Ok(high * grain)
    }

    /// Whether the deadlines of a partition are proved with a window of this length once a period, and what is late if not.
    fn proved(&self, home: usize, period: u64, length: u64) -> Result<(), NoPlan> {
        let id = |home: usize| PartitionId(home as u16);
        let window = TimeWindow { partition: id(home), begin: Duration::ZERO, length: Duration::new(length) };
        let cycle = MajorCycle { core: self.core, length: Duration::new(period), windows: vec![window] };
        let all = self.homes.iter().map(|home| Partition {
            name: home.name.clone(),
            tasks: home.tasks.iter().map(|&task| TaskId(task as u32)).collect(),
        });
        let partitions = Partitions::new(all.collect(), vec![cycle]).map_err(|_| NoPlan::Rounds)?;
        let mut system = self.system.clone();
        system.divide(partitions);
        // Only those with devices are released with their windows, wherever these are put.
        if self.subject.exchange(home).is_none() {
            system.unphased();
        }
        let found = system.judge_core(self.core, &mut Effort::steps(JUDGE_STEPS));
        let own = found.iter().filter(|(task, _)| self.homes[home].tasks.contains(task));
        let gaps = own.filter_map(|(task, finding)| match finding {
            TaskFinding::NotProved(gap) => Some((*task, gap)),
            // What has no analysis at all has none in windows either: that is the verdict's to say.
            TaskFinding::Proved(_) | TaskFinding::Open(_) => None,
        });
        if let Some(late) = late(self.experiment, gaps) {
            return Err(late);
        }
        let ends = |(task, finding): &(usize, TaskFinding)| {
            let asked = self.experiment.tasks[*task].class != TaskClass::BestEffort;
            let needs = outlasts(finding, Duration::new(length)).filter(|_| asked)?;
            let (name, partition) = (self.experiment.tasks[*task].name.clone(), self.name(home));
            Some(NoPlan::Outlasts { task: name, partition, needs, has: Duration::new(length) })
        };
        let mut own = found.iter().filter(|(task, _)| self.homes[home].tasks.contains(task));
        let with_devices = self.subject.exchange(home).is_some();
        own.find_map(ends).filter(|_| with_devices).map_or(Ok(()), Err)
    }

    /// After how long windows of these periods repeat.
    pub(super) fn cycle_length(&self, needs: &[Need]) -> Option<u64> {
        if needs.is_empty() {
            return Some(UNASKED.get());
        }
        let mut length = 1_u64;
        for need in needs {
            length = (length / gcd(length, need.period)).checked_mul(need.period)?;
        }
        let windows = needs.iter().map(|need| length / need.period).sum::<u64>();
        (windows <= MOST_WINDOWS).then_some(length)
    }

    /// Windows as begin, end and partition, in a cycle that begins with one of them.
    fn offsets(&self, needs: &[Need], length: u64) -> Result<Vec<(u64, u64, usize)>, NoPlan> {
        let piece = |need: &Need| {
            solo_ima::Partition::new(self.core, Duration::new(need.period), Duration::new(need.length))
        };
        let no_place =
            |home: usize| NoPlan::NoTable { core: self.core, partition: self.homes[home].name.clone() };
        let Some(first) = needs.first() else { return Ok(Vec::new()) };
        let problem = Problem::new(needs.iter().map(piece).collect()).map_err(|_| no_place(first.home))?;
        let begins = match first_fit(needs) {
            Some(begins) => begins,
            None => {
                let effort = hos::Effort { restarts: RESTARTS, ..hos::Effort::default() };
                match hos::solve(&problem, self.experiment.seed, effort) {
                    hos::HosAnswer::Solved { offsets, .. } => {
                        offsets.iter().map(|offsets| offsets.begin(Step::Processing).get()).collect()
                    }
                    hos::HosAnswer::GivenUp { stuck, .. } => {
                        let at = stuck.first().map_or(0, |(leg, _)| leg.partition);
                        return Err(no_place(needs.get(at).unwrap_or(first).home));
                    }
                }
            }
        };
        // Nothing overlaps the begin of a window: a cycle that begins there cuts none in two.
        let zero = begins.first().copied().unwrap_or(0) % length;
        let of = |(need, begin): (&Need, u64)| {
            let (need, period) = (*need, need.period);
            let first = (begin + period - zero % period) % period;
            (0..length / period).map(move |at| {
                let begin = first + at * period;
                (begin, begin + need.length, need.home)
            })
        };
        Ok(needs.iter().zip(begins).flat_map(of).collect())
    }

    /// Gives what is left of a cycle to the partitions without deadlines; what stays idle.
    fn fill(&self, windows: &mut Vec<(u64, u64, usize)>, length: u64) -> Result<u64, NoPlan> {
        let open: Vec<usize> =
            self.here.iter().copied().filter(|&home| self.shortest_period(home).is_none()).collect();
        let begins = windows.iter().map(|window| window.0).chain([length]);
        let ends = [0].into_iter().chain(windows.iter().map(|window| window.1));
        let gaps: Vec<(u64, u64)> = ends.zip(begins).filter(|(end, begin)| begin > end).collect();
        let left = gaps.iter().map(|(end, begin)| begin - end).sum();
        if open.is_empty() {
            return Ok(left);
        }
        let mut given = 0;
        for (from, to) in gaps {
            let grain = self.grain(to - from);
            let each = (to - from) / grain / open.len() as u64 * grain;
            for (at, &home) in open.iter().enumerate().filter(|_| each > 0) {
                let begin = from + at as u64 * each;
                windows.push((begin, begin + each, home));
                given += each;
            }
        }
        if given == 0 {
            let partition = self.homes[open[0]].name.clone();
            return Err(NoPlan::NothingLeft { core: self.core, partition });
        }
        windows.sort_unstable();
        Ok(left - given)
    }
}

/// What windows ask of a core, in millionths of it.
fn asked(needs: &[Need]) -> u64 {
    let asked = needs.iter().map(|need| u128::from(need.length) * 1_000_000).zip(needs);
    let asked = asked.map(|(length, need)| length.div_ceil(u128::from(need.period))).sum::<u128>();
    u64::try_from(asked).unwrap_or(u64::MAX)
}

/// Begins of windows, the shortest periods first, each as early as it meets none of those before; `None` where one has no place so. Windows
/// of one period always have.
fn first_fit(needs: &[Need]) -> Option<Vec<u64>> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&at| (needs[at].period, core::cmp::Reverse(needs[at].length), at));
    let mut placed: Vec<(u64, Need)> = Vec::new();
    let mut begins = vec![0; needs.len()];
    for at in order {
        let need = needs[at];
        // Two windows of (o, c, T) and (o', c', T') meet nowhere iff c' <= (o - o') mod g <= g - c, with g = gcd(T, T') (SCE 2.4).
        let meets = |begin: u64, (other, beside): &(u64, Need)| {
            let g = gcd(need.period, beside.period);
            let distance = (begin % g + g - other % g) % g;
            distance < beside.length || distance + need.length > g
        };
        let behind = placed.iter().flat_map(|(other, beside)| {
            let g = gcd(need.period, beside.period);
            (0..(need.period / g).min(MOST_WINDOWS))
                .map(move |step| (other + beside.length + step * g) % need.period)
        });
        let free = |begin: &u64| !placed.iter().any(|beside| meets(*begin, beside));
        let begin = core::iter::once(0).chain(behind).filter(free).min()?;
        begins[at] = begin;
        placed.push((begin, need));
    }
    Some(begins)
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
