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

use super::choices::{CycleChoice, DividedPartition, Division, NoPlan, WindowChoice, WindowRule};
use super::cores::Placement;
use super::subject::Subject;
use super::{JUDGE_STEPS, late};
use crate::request::IsolationWish;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use solo_ima::{Problem, Step, hos};
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
use solo_model::policy::Timing;
use solo_model::{CoreId, Duration, Experiment, PartitionId, TaskId};
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

/// A partition of the request.
pub(super) struct Home {
    pub(super) name: String,
    /// Its tasks.
    pub(super) tasks: Vec<usize>,
}

impl Subject {
    /// The partitions of the request that have tasks.
    pub(super) fn homes(&self) -> Vec<Home> {
        let IsolationWish::By(wished) = &self.request.isolation else { return Vec::new() };
        let named = |name: &str| {
            let of = |task: &usize| self.request.tasks[self.wish_of[*task]].name.value == name;
            (0..self.wish_of.len()).filter(of).collect::<Vec<_>>()
        };
        let home = |wish: &crate::PartitionWish| Home {
            name: wish.name.value.clone(),
            tasks: wish.tasks.iter().flat_map(|name| named(&name.value)).collect(),
        };
        wished.partitions.iter().map(home).collect()
    }

    /// Divides the time of each core that has two partitions or more and no written cycle.
    ///
    /// # Errors
    /// What lacks on the first core for which there is no cycle.
    pub(super) fn divide(
        &self,
        experiment: &Experiment,
        placement: &Placement,
    ) -> Result<Vec<Division>, NoPlan> {
        let IsolationWish::By(wished) = &self.request.isolation else { return Ok(Vec::new()) };
        let homes = self.homes();
        let core_of = |home: &Home| home.tasks.first().map(|&task| placement.cores[task]);
        let mut cores: Vec<CoreId> = homes.iter().filter_map(core_of).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.retain(|&core| {
            let several = homes.iter().filter(|home| core_of(home) == Some(core)).count() > 1;
            several && !wished.cycles.iter().any(|cycle| cycle.core.value == core)
        });
        if cores.is_empty() {
            return Ok(Vec::new());
        }
        let system = System::of(experiment);
        let divide = |core: CoreId| {
            let here: Vec<usize> =
                (0..homes.len()).filter(|&home| core_of(&homes[home]) == Some(core)).collect();
            let loose = (0..placement.cores.len()).find(|task| {
                placement.cores[*task] == core && !homes.iter().any(|home| home.tasks.contains(task))
            });
            if let Some(task) = loose {
                let task = experiment.tasks[task].name.clone();
                return Err(NoPlan::Unpartitioned { task, core });
            }
            Dividing { experiment, system: &system, homes: &homes, core, here }.divide()
        };
        cores.into_iter().map(divide).collect()
    }
}

/// A core while its time is divided.
struct Dividing<'a> {
    experiment: &'a Experiment,
    system: &'a System,
    homes: &'a [Home],
    core: CoreId,
    /// The partitions on it.
    here: Vec<usize>,
}

/// The windows that a partition needs.
#[derive(Clone, Copy)]
struct Need {
    home: usize,
    period: u64,
    length: u64,
}

impl Dividing<'_> {
    fn divide(&self) -> Result<Division, NoPlan> {
        let own: Vec<(usize, Option<u64>)> =
            self.here.iter().map(|&home| (home, self.shortest_period(home))).collect();
        let shortest = own.iter().filter_map(|(_, period)| *period).min();
        let mut tried: Vec<(WindowRule, NoPlan)> = Vec::new();
        for rule in
            PARTS.into_iter().flat_map(|parts| [WindowRule::Own { parts }, WindowRule::Common { parts }])
        {
            let period = |own: u64| match rule {
                WindowRule::Own { parts } => self.on_grain(own, parts),
                WindowRule::Common { parts } => self.on_grain(shortest.unwrap_or(own), parts),
            };
            let wanted: Vec<(usize, u64)> =
                own.iter().filter_map(|&(home, own)| Some((home, period(own?)))).collect();
            // With equal periods a common one is no other attempt.
            let alike = wanted.windows(2).all(|pair| pair[0].1 == pair[1].1);
            if matches!(rule, WindowRule::Common { .. })
                && own.iter().all(|(_, own)| own.is_none_or(|own| Some(own) == shortest))
                && alike
            {
                continue;
            }
            match self.with_periods(&wanted) {
                Ok((cycle, partitions, idle)) => {
                    return Ok(Division { core: self.core, rule, cycle, partitions, idle, tried });
                }
                Err(lack) => tried.push((rule, lack)),
            }
        }
        let nearest = tried.into_iter().map(|(_, lack)| lack).min_by_key(NoPlan::distance);
        Err(nearest.unwrap_or(NoPlan::Rounds))
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

    fn with_periods(
        &self,
        wanted: &[(usize, u64)],
    ) -> Result<(CycleChoice, Vec<DividedPartition>, Duration), NoPlan> {
        let mut needs = Vec::new();
        for &(home, period) in wanted {
            let length = self.least(home, period)?;
            needs.push(Need { home, period, length });
        }
        let asked = needs.iter().map(|need| u128::from(need.length) * 1_000_000).zip(&needs);
        let asked = asked.map(|(length, need)| length.div_ceil(u128::from(need.period))).sum::<u128>();
        let asked = u64::try_from(asked).unwrap_or(u64::MAX);
        let lack = || NoPlan::Windows {
            core: self.core,
            partitions: needs.iter().map(|need| self.homes[need.home].name.clone()).collect(),
            asked,
        };
        if asked > 1_000_000 {
            return Err(lack());
        }
        let length = self.cycle_length(&needs).ok_or_else(lack)?;
        let mut windows = self.offsets(&needs, length)?;
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
        Ok((cycle, self.here.iter().map(row).collect(), Duration::new(idle)))
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
        let found = system.judge_core(self.core, &mut Effort::steps(JUDGE_STEPS));
        let own = found.iter().filter(|(task, _)| self.homes[home].tasks.contains(task));
        let gaps = own.filter_map(|(task, finding)| match finding {
            TaskFinding::NotProved(gap) => Some((*task, gap)),
            // What has no analysis at all has none in windows either: that is the verdict's to say.
            TaskFinding::Proved(_) | TaskFinding::Open(_) => None,
        });
        let late = late(self.experiment, gaps);
        late.map_or(Ok(()), Err)
    }

    /// After how long windows of these periods repeat.
    fn cycle_length(&self, needs: &[Need]) -> Option<u64> {
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
