//! What a policy beside an operating system is told: every hook once, in its order. A call that is left out is missing here.

use solo_corpus::ideal_platform;
use solo_model::listening::{Observed, Reaction};
use solo_model::sample::Why;
use solo_model::{CoreId, Counts, Duration, EventId, EventSet, Instant, Listening, TaskClass, TaskId};
use solo_place::{Agent, CoreSeen, Decision, Life, Observation, PlacedTask, Placing, TaskSeen};
use solo_schedule::{Action, Actions, Hook, Placed, Placement, Situation, Whose};
use std::sync::{Arc, Mutex};

const EVENT: EventId = EventId::SNOOP_HITM;
const PERIOD: Duration = Duration::from_millis(1);
const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const LEFT: CoreId = CoreId(0);
const RIGHT: CoreId = CoreId(1);

/// Writes down what it hears, and answers the first end of a period.
#[derive(Clone, Debug)]
struct Journal {
    heard: Arc<Mutex<Vec<Hook>>>,
    says: Option<Action>,
}

impl PartialEq for Journal {
    fn eq(&self, other: &Self) -> bool {
        self.says == other.says
    }
}

impl Placement for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn on(&mut self, _: Instant, hook: Hook, _: &dyn Situation) -> Actions {
        self.heard.lock().unwrap().push(hook);
        let says = self.says.take_if(|_| matches!(hook, Hook::Tick { .. }));
        says.map_or(Actions::NONE, Actions::one)
    }
}

/// An agent for two tasks that begin on the left of two cores.
struct Watched {
    agent: Agent,
    heard: Arc<Mutex<Vec<Hook>>>,
}

impl Watched {
    fn new(says: Option<Action>) -> Self {
        let task =
            |name: &str| PlacedTask { name: name.to_owned(), class: TaskClass::BestEffort, core: LEFT };
        let placing = Placing {
            listening: Listening::new(Observed::count_of(EVENT), PERIOD, Reaction::Report),
            platform: ideal_platform(2),
            tasks: vec![task("a"), task("b")],
        };
        let heard = Arc::default();
        let placement = Placed::new(Journal { heard: Arc::clone(&heard), says });
        Self { agent: Agent::with(&placing, placement).expect("a monitor"), heard }
    }

    /// What it decides, and what was told meanwhile, when so many periods are over: who is on each core, and where and how each
    /// task is.
    fn sees(
        &mut self,
        periods: u64,
        on: [Option<TaskId>; 2],
        tasks: &[(TaskId, CoreId, Life)],
    ) -> (Vec<Decision>, Vec<Hook>) {
        let counts = Counts::of(EventSet::EMPTY.with(EVENT), |_| 1);
        let core = |(core, running)| CoreSeen { core, running, set: 0, counts: counts.clone() };
        let task = |&(task, core, life): &(TaskId, CoreId, Life)| {
            let ran = if on.contains(&Some(task)) { PERIOD } else { Duration::ZERO };
            TaskSeen { task, life, core, ran, counts: counts.clone(), held: None }
        };
        let at = Instant::ZERO + PERIOD * periods;
        let decided = self.agent.on(&Observation {
            at,
            span: PERIOD,
            next: Some(at + PERIOD),
            cores: [LEFT, RIGHT].into_iter().zip(on).map(core).collect(),
            tasks: tasks.iter().map(task).collect(),
        });
        (decided, std::mem::take(&mut *self.heard.lock().unwrap()))
    }
}

fn enters(task: TaskId, core: CoreId) -> Hook {
    Hook::SwitchIn { task, core }
}

fn leaves(task: TaskId, core: CoreId) -> Hook {
    Hook::SwitchOut { task, core }
}

fn moves(task: TaskId, from: Option<CoreId>, to: CoreId) -> Hook {
    Hook::Migrate { task, from, to }
}

fn sample(of: Whose, core: CoreId) -> Hook {
    Hook::Sample { of, core, why: Why::Tick }
}

/// A period of `core` ends with the core's sample.
fn ends(core: CoreId, periods: u64) -> [Hook; 2] {
    let next = Instant::ZERO + PERIOD * (periods + 1);
    [sample(Whose::Core(core), core), Hook::Tick { core, next }]
}

#[test]
fn a_policy_hears_everything_once_and_in_order() {
    let mut watched = Watched::new(None);
    let both = [(A, LEFT, Life::Lives), (B, LEFT, Life::Lives)];
    let (_, heard) = watched.sees(1, [Some(A), None], &both);
    let first = [Hook::Enable, Hook::Fork(A), Hook::Fork(B), enters(A, LEFT), moves(A, None, LEFT)];
    let sampled = [sample(Whose::Task(A), LEFT)];
    assert_eq!(heard, [&first[..], &sampled, &ends(LEFT, 1), &ends(RIGHT, 1)].concat());

    // A has gone to the right; B, which is on the left now, is another program.
    let (_, heard) =
        watched.sees(2, [Some(B), Some(A)], &[(A, RIGHT, Life::Lives), (B, LEFT, Life::Executed)]);
    let left = [leaves(A, LEFT), enters(B, LEFT), moves(B, None, LEFT)];
    let right = [enters(A, RIGHT), moves(A, Some(LEFT), RIGHT)];
    let (of_a, of_b) = ([sample(Whose::Task(A), RIGHT)], [sample(Whose::Task(B), LEFT)]);
    let looks = [&of_b[..], &ends(LEFT, 2), &of_a, &ends(RIGHT, 2)].concat();
    assert_eq!(heard, [&[Hook::Exec(B)][..], &left, &right, &looks].concat());

    // A is back where it came from, and B has ended.
    let (_, heard) = watched.sees(3, [Some(A), None], &[(A, LEFT, Life::Lives), (B, LEFT, Life::Ended)]);
    // Everybody leaves before anybody comes.
    let left = [leaves(B, LEFT), leaves(A, RIGHT), enters(A, LEFT), moves(A, Some(RIGHT), LEFT)];
    let looks = [&sampled[..], &ends(LEFT, 3), &ends(RIGHT, 3)].concat();
    assert_eq!(heard, [&left[..], &looks, &[Hook::Exit(B)]].concat());
}

#[test]
fn whoever_goes_on_after_a_hold_comes_onto_its_core_again() {
    let until = Instant::ZERO + PERIOD * 2;
    let mut watched = Watched::new(Some(Action::Hold { task: A, until }));
    let both = [(A, LEFT, Life::Lives), (B, LEFT, Life::Lives)];
    let (decided, _) = watched.sees(1, [Some(A), None], &both);
    assert_eq!(decided, [Decision::Hold { task: A, until }]);
    let (decided, heard) = watched.sees(2, [None, None], &both);
    assert_eq!(decided, [Decision::Go { task: A }]);
    let back = [enters(A, LEFT)];
    assert_eq!(heard, [&[leaves(A, LEFT)][..], &ends(LEFT, 2), &back, &ends(RIGHT, 2)].concat());
}
