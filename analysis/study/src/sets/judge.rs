//! One block: its sets drawn, inflated and judged.

use crate::error::StudyError;
use crate::plan::{Block, Curve, StudyPlan};
use crate::sets::draw::{Stream, draw};
use solo_model::overhead::OverheadTable;
use solo_model::units::{Bytes, Duration};
use solo_prove::catalogue::{self, Test};
use solo_prove::overhead::{Accounting, CacheDelay};
use solo_prove::pack::{Fit, cedf};
use solo_prove::uni::qpa;
use solo_prove::{Effort, Task, TaskSet, TestAnswer};

/// A verdict on a set: schedulable, not proved, undecided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Schedulable,
    NotProved,
    /// A test ran out of its work limit and none accepted.
    Undecided,
}

impl Found {
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Schedulable => 'T',
            Self::NotProved => 'F',
            Self::Undecided => '?',
        }
    }
    pub(crate) const fn from_letter(letter: char) -> Option<Self> {
        Some(match letter {
            'T' => Self::Schedulable,
            'F' => Self::NotProved,
            '?' => Self::Undecided,
            _ => return None,
        })
    }
}

/// One set with its verdicts, a curve each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) tasks: u32,
    pub(crate) utilization_ppm: u64,
    pub(crate) found: Vec<Found>,
}

/// A test as a curve asks it.
enum Asked {
    /// As the catalogue has it.
    Test(&'static Test),
    /// Packed into clusters, each judged by any of these.
    Clustered(Fit, Vec<&'static Test>),
}

/// The tests for global EDF, cheapest first: of a cluster, and where a curve names several.
const CHEAPEST_FIRST: [&str; 5] = ["gfb", "load", "ffdbf", "bar", "rta"];

impl Asked {
    /// Where the test stands in the order in which a curve asks its tests.
    fn rank(&self) -> usize {
        match self {
            Self::Test(test) => CHEAPEST_FIRST.iter().position(|id| *id == test.id).map_or(0, |at| at + 1),
            Self::Clustered(..) => CHEAPEST_FIRST.len(),
        }
    }

    /// `None` for a test that is skipped.
    fn new(id: &str, skip: &[&str]) -> Option<Self> {
        let fit = match id {
            "cedf_ffd" => Fit::First,
            "cedf_bfd" => Fit::Best,
            "cedf_wfd" => Fit::Worst,
            _ => return catalogue::find(id).filter(|test| !skip.contains(&test.id)).map(Self::Test),
        };
        let tests = CHEAPEST_FIRST.iter().filter(|id| !skip.contains(id));
        Some(Self::Clustered(fit, tests.filter_map(|id| catalogue::find(id)).collect()))
    }

    fn ask(&self, set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
        match self {
            Self::Test(test) => (test.run)(set, effort),
            Self::Clustered(fit, tests) => cedf::clustered_by(set, *fit, effort, &mut |cluster, effort| {
                if cluster.cores() == 1 {
                    return qpa::qpa(cluster, effort);
                }
                let mut last = TestAnswer::NotProved;
                for test in tests {
                    match (test.run)(cluster, effort) {
                        TestAnswer::Accepted => return TestAnswer::Accepted,
                        TestAnswer::OutOfTime => last = TestAnswer::OutOfTime,
                        _ => {}
                    }
                }
                last
            }),
        }
    }
}

/// A plan with its tests looked up.
pub(crate) struct Judge<'a> {
    pub(crate) plan: &'a StudyPlan,
    /// For each distribution and curve.
    tests: Vec<Vec<Vec<Asked>>>,
    keys: Vec<String>,
    free: OverheadTable,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(plan: &'a StudyPlan) -> Self {
        let tests = |skip: &Vec<&'static str>| {
            let of = |curve: &Curve| {
                let skip: &[&str] = if curve.all_tests { &[] } else { skip };
                let mut asked: Vec<Asked> =
                    curve.any_of.iter().filter_map(|id| Asked::new(id, skip)).collect();
                asked.sort_by_key(Asked::rank);
                asked
            };
            plan.curves.iter().map(of).collect()
        };
        Self {
            plan,
            tests: plan.skips.iter().map(tests).collect(),
            keys: plan.distributions.iter().map(|(_, distribution)| distribution.key()).collect(),
            free: OverheadTable::free(),
        }
    }

    /// The rows of a block, in the order of its sets.
    pub(crate) fn block(&self, block: &Block) -> Result<Vec<Row>, StudyError> {
        let (name, distribution) = &self.plan.distributions[block.distribution];
        let cap = block.cap as f64 / 1000.0;
        (block.first..block.first + block.sets)
            .map(|index| {
                let mut stream = Stream::of(self.plan.seed, &self.keys[block.distribution], block.cap, index);
                let drawn = draw(distribution, cap, &mut stream).ok_or_else(|| StudyError::Unreachable {
                    distribution: name.clone(),
                    cap: format!("{cap}"),
                })?;
                Ok(Row {
                    tasks: drawn.tasks.len() as u32,
                    utilization_ppm: drawn.utilization_ppm,
                    found: self.judge(block.distribution, &drawn.tasks),
                })
            })
            .collect()
    }

    /// The verdicts on a set of a distribution, a curve each.
    pub(crate) fn judge(&self, distribution: usize, tasks: &[Task]) -> Vec<Found> {
        let mut inflated: Vec<Option<Option<TaskSet>>> = vec![None; self.plan.inflations.len()];
        let mut known: Vec<Known> = vec![Known::new(); self.plan.inflations.len()];
        let curves = self.plan.curves.iter().zip(&self.tests[distribution]);
        curves
            .map(|(curve, tests)| {
                let set =
                    inflated[curve.inflation].get_or_insert_with(|| self.inflate(tasks, curve.inflation));
                match set {
                    Some(set) => any(tests, set, self.plan.work_limit, &mut known[curve.inflation]),
                    None => Found::NotProved,
                }
            })
            .collect()
    }

    /// The set with overheads; `None` where a task has grown beyond its period.
    fn inflate(&self, tasks: &[Task], inflation: usize) -> Option<TaskSet> {
        let inflation = &self.plan.inflations[inflation];
        let tasks = if inflation.overheads.is_none() && inflation.cache_delay.is_zero() {
            tasks.to_vec()
        } else {
            let cache = CacheDelay::from_steps(vec![(Bytes::new(1), inflation.cache_delay)]);
            let accounting = Accounting {
                table: inflation.overheads.as_ref().unwrap_or(&self.free),
                cache: &cache,
                tick: inflation.tick,
                ipi: inflation.ipi,
            };
            accounting.inflate(tasks, &[], Duration::new(1)).ok()?
        };
        let set = TaskSet::new(self.plan.cores, tasks).ok()?;
        match self.plan.cluster {
            Some(size) => set.with_clusters(u64::from(size)).ok(),
            None => Some(set),
        }
    }
}

/// Verdicts of tests on one set with one kind of overheads, which several curves may ask for.
type Known = Vec<(&'static str, TestAnswer)>;

fn any(tests: &[Asked], set: &TaskSet, work_limit: u64, known: &mut Known) -> Found {
    let mut undecided = false;
    for asked in tests {
        let ask = || asked.ask(set, &mut Effort::steps(work_limit));
        let verdict = match asked {
            Asked::Test(test) => match known.iter().find(|(id, _)| *id == test.id) {
                Some(&(_, verdict)) => verdict,
                None => {
                    let verdict = ask();
                    known.push((test.id, verdict));
                    verdict
                }
            },
            Asked::Clustered(..) => ask(),
        };
        match verdict {
            TestAnswer::Accepted => return Found::Schedulable,
            // No scheduler could: no other test need be asked.
            TestAnswer::Infeasible(solo_prove::Infeasible::Utilization) => return Found::NotProved,
            TestAnswer::OutOfTime => undecided = true,
            TestAnswer::NotProved | TestAnswer::Infeasible(_) | TestAnswer::NotApplicable(_) => {}
        }
    }
    if undecided { Found::Undecided } else { Found::NotProved }
}
