//! The same policy that listens on the simulated machine and over samples as stock Linux gives them: the same decisions.

mod common;

use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::listening::{Listening, Observed, Reaction, ScriptedCount};
use solo_model::sample::{Sample, Subject, Why};
use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::{
    CoreId, CoreSet, Counts, Criterion, Duration, EventId, EventSet, Experiment, Fixed, Instant, MetricId,
    Policy, Record, Scope, SplitMix64, Task, TaskClass, TaskId,
};
use solo_observe::monitor::{Board, Count, Monitor};
use solo_schedule::{Action, Hook, KindId, Placed, Situation, TaskParameters, Whose, placements};

const EVENT: EventId = EventId::SNOOP_HITM;
const CORES: u16 = 2;
const PERIOD: Duration = Duration::from_millis(1);

/// A task that never ends; one on each core.
fn task(core: u16, class: TaskClass) -> Task {
    Task {
        name: format!("t{core}"),
        class,
        release: Release::Once { offset: Duration::ZERO },
        deadline: None,
        wcet: None,
        misses: None,
        migrate: None,
        priority: Some(u32::from(core)),
        core: Some(CoreId(core)),
        work: Work { steps: vec![Step::Compute(Span::exactly(Duration::from_millis(500)))] },
    }
}

fn experiment(seed: u64) -> Experiment {
    let mut random = SplitMix64::new(seed);
    let classes = [TaskClass::BestEffort, TaskClass::Soft];
    let tasks = vec![task(0, TaskClass::BestEffort), task(1, classes[random.below(2) as usize])];
    let script = (0..40).map(|half: u64| ScriptedCount {
        core: CoreId(random.below(u64::from(CORES)) as u16),
        event: EVENT,
        at: Instant::new(300_000 + half * 500_000),
        count: random.below(5),
    });
    let listening = Listening {
        threshold: Fixed::from(3_u64),
        script: script.collect(),
        ..Listening::new(Observed::count_of(EVENT), PERIOD, Reaction::Yield)
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
    let end = End::At(Duration::from_millis(22));
    let plain = Experiment::new("listens", ideal_platform(usize::from(CORES)), policy, tasks, end);
    Experiment { listening: Some(listening), ..plain }
}

/// Who was held, from when, until when; in the order of the beginnings.
type Held = Vec<(TaskId, Instant, Instant)>;

fn on_the_simulated_machine(experiment: &Experiment) -> Held {
    let (records, _) = common::run(experiment);
    let held = records.iter().filter_map(|record| match record {
        Record::Held(held) => Some((held.task, held.since, held.at)),
        _ => None,
    });
    let mut held: Held = held.collect();
    held.sort_by_key(|&(task, since, _)| (since, task));
    held
}

/// An agent beside an operating system: it has samples of processors, a board, the policy, and freezes what it is told to.
struct Agent<'e> {
    experiment: &'e Experiment,
    board: Board,
    /// Until when each task is frozen.
    frozen: Vec<Instant>,
    now: Instant,
}

impl Situation for Agent<'_> {
    fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed> {
        match whose {
            Whose::Core(core) => self.board.metric(core.index(), metric),
            Whose::Task(_) => None,
        }
    }
    fn age(&self, whose: Whose, metric: MetricId) -> Option<Duration> {
        match whose {
            Whose::Core(core) => self.board.last(core.index(), metric).map(|(_, at)| self.now.since(at)),
            Whose::Task(_) => None,
        }
    }
    fn running(&self, core: CoreId) -> Option<TaskId> {
        let there = (0..).map(TaskId).zip(&self.experiment.tasks).find(|(_, task)| task.core == Some(core));
        // Whoever is thawed now has not been there in the period that is judged.
        there.map(|(task, _)| task).filter(|task| self.frozen[task.index()] < self.now)
    }
    fn parameters(&self, task: TaskId) -> Option<TaskParameters> {
        self.experiment.tasks.get(task.index()).map(TaskParameters::from)
    }
    fn cores(&self) -> CoreSet {
        CoreSet::first(usize::from(CORES))
    }
    fn kind(&self, _: CoreId) -> Option<KindId> {
        Some(KindId(0))
    }
}

/// Rows of a period each, as `perf` gives them for processors; the policy is told and obeyed.
fn over_samples_of_linux(experiment: &Experiment, mut placement: Placed) -> Held {
    let listening = experiment.listening.as_ref().expect("it listens");
    let board = Board::new(usize::from(CORES), 1);
    let frozen = vec![Instant::ZERO; experiment.tasks.len()];
    let mut agent = Agent { experiment, board, frozen, now: Instant::ZERO };
    let mut monitors = vec![Count::new(MetricId(0), EVENT); usize::from(CORES)];
    let mut held = Held::new();
    let _ = placement.on(agent.now, Hook::Enable, &agent);
    for _ in 0..21 {
        let since = agent.now;
        agent.now += PERIOD;
        for core in (0..CORES).map(CoreId) {
            let counted =
                |count: &&ScriptedCount| count.core == core && count.at > since && count.at <= agent.now;
            let count = listening.script.iter().filter(counted).map(|count| count.count).sum();
            let sample = Sample {
                at: agent.now,
                span: PERIOD,
                subject: Subject::Core(core),
                why: Why::Tick,
                set: 0,
                counts: Counts::of(EventSet::EMPTY.with(EVENT), |_| count),
                virtuals: Vec::new(),
            };
            agent.board.note(core.index(), &monitors[core.index()].sample(&sample), agent.now);
            let of = Whose::Core(core);
            let _ = placement.on(agent.now, Hook::Sample { of, core, why: Why::Tick }, &agent);
            let actions = placement.on(agent.now, Hook::Tick { core, next: agent.now + PERIOD }, &agent);
            for action in actions.iter() {
                let Action::Hold { task, until } = action else {
                    panic!("only holds were asked for: {action:?}")
                };
                agent.frozen[task.index()] = until;
                held.push((task, agent.now, until));
            }
        }
    }
    held
}

#[test]
fn one_value_decides_alike_in_a_kernel_and_over_samples_of_linux() {
    let mut decisions = 0;
    for seed in 0..20 {
        let experiment = experiment(seed);
        let placement =
            placements::of(experiment.listening.as_ref().expect("it listens"), &experiment.platform);
        let simulated = on_the_simulated_machine(&experiment);
        let mut agent = over_samples_of_linux(&experiment, placement.clone());
        // A thread that is held when the run ends has not been let go.
        agent.retain(|&(_, _, until)| until < Instant::new(22_000_000));
        assert_eq!(simulated, agent, "seed {seed}");
        decisions += agent.len();
        assert_eq!(
            placement,
            placements::of(experiment.listening.as_ref().expect("it listens"), &experiment.platform),
            "a value"
        );
    }
    assert!(decisions > 40, "{decisions} decisions");
}
