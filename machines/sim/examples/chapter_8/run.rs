//! The evaluation of thesis chapter 8: hard tasks in colors of their own, groups of soft tasks that share a color and a buffer
//! with a best-effort task, under three approaches of the thesis and one that it proposes (8.4).
//!
//! Periods, execution times and the sampling period are the thesis's divided by `scale`.

#[path = "../thesis/mod.rs"]
mod thesis;

#[path = "draw.rs"]
mod draw;

use draw::{Set, draw};
use solo_model::experiment::{End, Experiment};
use solo_model::listening::{CoreHeard, Listening, Observed, Reaction};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Pattern, Step, Touch, Work};
use solo_model::{
    BufferId, Bytes, Color, CoreId, Duration, EventId, Fixed, Instant, OverheadTable, PerMille, Platform,
    Record,
};
use solo_sim::Observer;
use std::ops::ControlFlow;
use thesis::{Drawn, Jobs, Pace, Touching, buffers, coloring};
pub(crate) use thesis::{Size, machine};

/// The colors that the thesis's kernel tells apart on this processor (6.2).
const COLORS: u16 = 32;
/// Half the events of a best-effort task's sweep read, the others write.
const LINE_AND_A_HALF: Bytes = Bytes::new(32);
/// A best-effort task alone takes so long for a job (8.3.1: 46.29 ms on average).
const BEST_EFFORT_JOB: Duration = Duration::from_micros(46_290);
/// Elements of its array: 512 KB in steps of a line, each read and written.
const BEST_EFFORT_SWEEP: u64 = 512 * 1024 / 32;
/// The sampling period, QUANTUM in 8.3.1, and the threshold.
const QUANTUM: Duration = Duration::from_millis(10);
const THRESHOLD: u64 = 4;

/// Who decides on which core a task is, and who on which it may not stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Approach {
    /// Best-fit decreasing, without regard to colors.
    Bfd,
    /// CAP-GS.
    CapGs,
    /// CAP-GS with the dynamic phase: CA-P-RM (8.2.3).
    Dynamic,
    /// The same by interrupt (8.4).
    AtOnce,
    /// CAP-GS without best-effort tasks: what is left when all of them are kept off for ever.
    Quiet,
}

impl Approach {
    pub(crate) const ALL: [Self; 5] = [Self::Bfd, Self::CapGs, Self::Dynamic, Self::AtOnce, Self::Quiet];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bfd => "BFD",
            Self::CapGs => "CAP-GS",
            Self::Dynamic => "CAP-GS, yield",
            Self::AtOnce => "CAP-GS, overflow",
            Self::Quiet => "CAP-GS, no BE",
        }
    }

    const fn reaction(self) -> Option<Reaction> {
        match self {
            Self::Bfd | Self::CapGs | Self::Quiet => None,
            Self::Dynamic => Some(Reaction::Yield),
            Self::AtOnce => Some(Reaction::Overflow),
        }
    }
}

/// The working set of each task and the share of its accesses that write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memories {
    pub(crate) wss: Bytes,
    pub(crate) writes: PerMille,
}

/// What became of all sets under an approach.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Row {
    /// Jobs of hard tasks, and of soft ones.
    pub(crate) jobs: [u64; 2],
    /// Of these, late ones.
    pub(crate) late: [u64; 2],
    /// Sum over sets of the sum over tasks of longest response less deadline, in nanoseconds.
    pub(crate) tardiness: i64,
    /// Sum over sets of the time until each real-time task had done its jobs, in thousandths of the time that it should take.
    pub(crate) total: u64,
    /// Jobs of best-effort tasks.
    pub(crate) best_effort: u64,
    /// What the scheduler heard and did on all cores.
    pub(crate) heard: CoreHeard,
    pub(crate) sets: u64,
}

impl Row {
    /// Late hard and late soft jobs in ten thousandths of all.
    pub(crate) fn shares(&self) -> [u64; 2] {
        [0, 1].map(|class| self.late[class] * 10_000 / self.jobs[class].max(1))
    }
}

/// What all sets have in common.
#[derive(Clone, Copy)]
struct Setting<'a> {
    platform: &'a Platform,
    overheads: &'a OverheadTable,
    memories: Memories,
    size: Size,
}

/// All sets under all approaches: the same sets, with the same repetitions.
pub(crate) fn evaluate(
    platform: &Platform,
    overheads: &OverheadTable,
    memories: Memories,
    size: Size,
) -> [Row; 5] {
    let setting = Setting { platform, overheads, memories, size };
    let (pace, repetitions) = (setting.pace(), setting.best_effort_repetitions());
    let mut rows = [Row::default(); 5];
    for set in 0..size.sets {
        let set = draw(set, size.scale);
        for (row, approach) in rows.iter_mut().zip(Approach::ALL) {
            let experiment = setting.experiment(&set, approach, pace, repetitions);
            let mut seen =
                Seen { worst: vec![i64::MIN; experiment.tasks.len()], row: *row, tasks: &experiment.tasks };
            let outcome = solo_sim::run(&experiment, &[], &mut seen).expect("the set can run");
            let Seen { worst, row: sum, .. } = seen;
            *row = sum;
            row.tardiness += worst.into_iter().filter(|lateness| *lateness != i64::MIN).sum::<i64>();
            let should = set.longest().get() * size.jobs;
            row.total += outcome.end.since(Instant::ZERO).get() * 1000 / should.max(1);
            outcome.heard.into_iter().for_each(|heard| row.heard += heard);
            row.sets += 1;
        }
    }
    rows
}

/// What is seen of a run.
struct Seen<'a> {
    tasks: &'a [Task],
    row: Row,
    /// By task, the longest response less the deadline.
    worst: Vec<i64>,
}

impl Observer for Seen<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        let (task, late, lateness) = match record {
            Record::Job(job) => (job.task, job.missed(), job.lateness_ns()),
            Record::Unfinished(job) if job.deadline.is_some_and(|deadline| deadline <= job.at) => {
                let over = job.deadline.map(|deadline| job.at.since(deadline).get() as i64);
                (job.task, true, over)
            }
            _ => return ControlFlow::Continue(()),
        };
        let class = match self.tasks[task.index()].class {
            TaskClass::Hard => 0,
            TaskClass::Soft => 1,
            TaskClass::BestEffort => {
                self.row.best_effort += 1;
                return ControlFlow::Continue(());
            }
        };
        self.row.jobs[class] += 1;
        self.row.late[class] += u64::from(late);
        let worst = &mut self.worst[task.index()];
        *worst = (*worst).max(lateness.unwrap_or(i64::MIN));
        ControlFlow::Continue(())
    }
}

impl Setting<'_> {
    /// The pace where each core has one task, of a color of its own.
    fn pace(&self) -> Pace {
        Pace::measure(8, |drawn, pace| {
            let task = |(at, drawn): (usize, &Drawn)| self.touching(drawn, at, at, pace);
            let tasks: Vec<Task> = drawn.iter().enumerate().map(task).collect();
            let colors = 0..tasks.len() as u16;
            self.of(tasks, vec![self.memories.wss; 8], colors.collect(), 3)
        })
    }

    /// How often a best-effort task sweeps its array so that it takes as long as the thesis's, alone on the machine.
    fn best_effort_repetitions(&self) -> u64 {
        const SWEEPS: u64 = 8;
        let alone =
            Task { release: Release::Once { offset: Duration::ZERO }, ..self.best_effort(0, 0, 0, SWEEPS) };
        let experiment = self.of(vec![alone], vec![self.memories.wss], vec![0], 1);
        let executed = Jobs::of(&experiment).finished.first().map_or(1, |job| job.1);
        let wanted = BEST_EFFORT_JOB.get() / self.size.scale.max(1);
        (wanted * SWEEPS * BEST_EFFORT_SWEEP / executed.max(1)).max(1)
    }

    fn experiment(&self, set: &Set, approach: Approach, pace: Pace, sweeps: u64) -> Experiment {
        let cores = if approach == Approach::Bfd { &set.bfd } else { &set.cap_gs };
        let real_time = set.tasks.iter().zip(cores).enumerate().map(|(at, (member, &core))| {
            let task = self.touching(&member.drawn, at, core, pace);
            Task { class: member.class, ..with_buffer(task, member.buffer) }
        });
        let mut tasks: Vec<Task> = real_time.collect();
        let mut colors: Vec<u16> = set.tasks.iter().map(|member| member.buffer).collect();
        for (buffer, core) in set.best_effort().filter(|_| approach != Approach::Quiet) {
            tasks.push(Task {
                work: self.sweeping(buffer, sweeps),
                ..self.best_effort(tasks.len(), core, buffer, 1)
            });
            colors.push(buffer);
        }
        let sizes = vec![self.memories.wss; set.buffers()];
        let listening = approach.reaction().map(|reaction| Listening {
            threshold: Fixed::from(THRESHOLD),
            ..Listening::new(
                Observed::count_of(EventId::SNOOP_HITM),
                Duration::new(QUANTUM.get() / self.size.scale.max(1)),
                reaction,
            )
        });
        Experiment { listening, ..self.of(tasks, sizes, colors, self.size.jobs) }
    }

    /// A hard task that touches the buffer of its number at random.
    fn touching(&self, drawn: &Drawn, at: usize, core: usize, pace: Pace) -> Task {
        let touching = Touching {
            // A job finds its memory evicted by the others of its color, and evicts that of a job which it preempts.
            accesses: pace.accesses(drawn.wcet, 2),
            stride: Bytes::new(4),
            writes: self.memories.writes,
        };
        drawn.task(at, Some(CoreId(core as u16)), Pattern::Random, touching)
    }

    /// A best-effort task that sweeps its group's buffer (Fig. 99), so often that 512 KB are swept `sweeps` times.
    fn best_effort(&self, at: usize, core: usize, buffer: u16, sweeps: u64) -> Task {
        Task {
            core: Some(CoreId(core as u16)),
            work: self.sweeping(buffer, sweeps * BEST_EFFORT_SWEEP),
            ..Task::new(
                format!("T{at}"),
                TaskClass::BestEffort,
                Release::Continuous { offset: Duration::ZERO },
            )
        }
    }

    /// So many steps through a buffer, of which every second one writes.
    fn sweeping(&self, buffer: u16, accesses: u64) -> Work {
        let step = Touch {
            pattern: Pattern::Sweep,
            buffer: BufferId(buffer.into()),
            accesses,
            stride: LINE_AND_A_HALF,
            writes: PerMille::new(500).expect("a half"),
            think: Duration::ZERO,
        };
        Work { steps: vec![Step::Touch(step)] }
    }

    fn of(&self, tasks: Vec<Task>, sizes: Vec<Bytes>, colors: Vec<u16>, jobs: u64) -> Experiment {
        let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
        Experiment {
            overheads: self.overheads.clone(),
            buffers: buffers(sizes),
            isolation: coloring(COLORS, Some(Color(COLORS - 1)), colors),
            sample_every: Duration::from_millis(1000),
            ..Experiment::new("thesis chapter 8", self.platform.clone(), policy, tasks, End::Jobs(jobs))
        }
    }
}

/// The same task on another buffer.
fn with_buffer(mut task: Task, buffer: u16) -> Task {
    for step in &mut task.work.steps {
        if let Step::Touch(touch) = step {
            touch.buffer = BufferId(buffer.into());
        }
    }
    task
}
