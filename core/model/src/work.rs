//! What a job does to the processor and to memory, as a description.
//!
//! `solo-workload` turns a description into a stream of operations; any machine can execute the stream, by
//! simulating each access or by performing it.

use crate::id::{BufferId, Color, LockId};
use crate::phase::Phase;
use crate::platform::Platform;
use crate::units::{Bytes, Duration, PerMille};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// The steps that every job of a task performs in order.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Work {
    /// The steps; an empty list is a job that does nothing.
    pub steps: Vec<Step>,
}

impl Work {
    /// All steps in their order, with where repetitions begin and end.
    pub fn walk(&self) -> Walk<'_> {
        walk(&self.steps)
    }

    /// The steps that are no repetitions, each once and in their order.
    pub fn plain_steps(&self) -> impl Iterator<Item = &Step> {
        self.walk().filter_map(|visit| match visit {
            Visit::Step(step) => Some(step),
            Visit::Begin { .. } | Visit::End { .. } => None,
        })
    }

    /// True where a job accesses this buffer, or empties caches of it.
    pub fn touches(&self, buffer: BufferId) -> bool {
        self.plain_steps().any(|step| step.buffer() == Some(buffer))
    }

    /// The buffers for which it takes memory while it runs, and the colors that it names for them.
    pub fn allocations(&self) -> impl Iterator<Item = (BufferId, Option<Color>)> + '_ {
        self.plain_steps().filter_map(|step| match step {
            Step::Allocate { buffer, color } => Some((*buffer, *color)),
            _ => None,
        })
    }

    /// True where it takes memory for a buffer while it runs.
    pub fn allocates(&self, buffer: BufferId) -> bool {
        self.allocations().any(|(known, _)| known == buffer)
    }

    /// The program and its arguments, where a job is a program of the host's.
    pub fn command(&self) -> Option<&[String]> {
        match self.steps.as_slice() {
            [Step::Command(words)] => Some(words),
            _ => None,
        }
    }

    /// True where it may leave a modified line in a cache. What a recorded program writes is in its recording, which is not here: it may, and
    /// so may a program.
    pub fn writes(&self) -> bool {
        // Whoever goes through rows writes their first elements, whatever share was asked for.
        let may_write = |touch: &Touch| {
            matches!(touch.pattern, Pattern::Rows { .. }) || touch.writes > PerMille::default()
        };
        let unknown = |step: &Step| matches!(step, Step::Replay(_) | Step::Command(_));
        self.plain_steps().any(|step| unknown(step) || step.touch().is_some_and(may_write))
    }

    /// True where a job accesses memory, as every program does, or empties caches.
    pub fn touches_memory(&self) -> bool {
        let uses = |step: &Step| step.buffer().is_some() || matches!(step, Step::Command(_));
        self.plain_steps().any(uses) || self.flushes()
    }

    /// True where it empties caches.
    pub fn flushes(&self) -> bool {
        self.flushed().next().is_some()
    }

    /// What it empties caches of, step by step.
    pub fn flushed(&self) -> impl Iterator<Item = Flush> + '_ {
        self.plain_steps().filter_map(|step| match step {
            Step::Flush(flush) => Some(*flush),
            _ => None,
        })
    }
}

/// The shortest job of a task that releases the next one as soon as one is done: below it a run would consist of kernel paths. A
/// sweep over ten lines is about as long.
pub const SHORTEST_ROUND: Duration = Duration::new(100);

/// A round number between an access to a first-level cache and one to a last level: for judging whether a job is a job.
const ABOUT_AN_ACCESS: Duration = Duration::new(10);

/// The most steps of a job in which no time passes: see [`idle_steps`].
pub const MOST_IDLE_STEPS: u64 = 1_000_000;

/// What is done at one level of repetitions.
#[derive(Clone, Copy, Default)]
struct Idle {
    time_passes: bool,
    steps: u64,
}

impl Idle {
    fn add(&mut self, time_passes: bool, steps: u64) {
        self.time_passes |= time_passes;
        self.steps = self.steps.saturating_add(steps);
    }
}

/// About how long a job takes, without kernel paths and waiting for locks: the mean of what it computes and sleeps,
/// and 10 ns for each access to memory; [`SHORTEST_ROUND`] for a whole recording and for a program, whose lengths are not here.
pub fn about(steps: &[Step]) -> Duration {
    let mut rounds = vec![1_u64];
    let mut sum = 0_u64;
    for visit in walk(steps) {
        let times = rounds.last().copied().unwrap_or(1);
        let length = match visit {
            Visit::Begin { times: more } => {
                rounds.push(times.saturating_mul(u64::from(more)));
                0
            }
            Visit::End { .. } => {
                rounds.pop();
                0
            }
            Visit::Step(step) => step.about().get(),
        };
        sum = sum.saturating_add(length.saturating_mul(times));
    }
    Duration::new(sum)
}

/// How many steps of a job take no time at all, where no time passes between them either: a machine does all these
/// at one instant. Rounds of a repetition in which some time passes count once.
pub fn idle_steps(steps: &[Step]) -> u64 {
    let mut levels = vec![Idle::default()];
    for visit in walk(steps) {
        match visit {
            Visit::Begin { .. } => levels.push(Idle::default()),
            Visit::Step(step) => {
                let level = levels.last_mut();
                level.into_iter().for_each(|level| level.add(step.takes_time(), 1));
            }
            Visit::End { times } => {
                let inner = levels.pop().unwrap_or_default();
                let rounds = if inner.time_passes { 1 } else { u64::from(times) };
                let steps = inner.steps.saturating_add(1).saturating_mul(rounds);
                let outer = levels.last_mut();
                outer.into_iter().for_each(|outer| outer.add(inner.time_passes && times > 0, steps));
            }
        }
    }
    levels.pop().unwrap_or_default().steps
}

/// Changes every step that is no repetition.
pub fn update_steps(steps: &mut [Step], mut change: impl FnMut(&mut Step)) {
    let mut levels = vec![steps.iter_mut()];
    while let Some(level) = levels.last_mut() {
        match level.next() {
            Some(Step::Repeat { steps, .. }) => levels.push(steps.iter_mut()),
            Some(step) => change(step),
            None => _ = levels.pop(),
        }
    }
}

/// What a walk over steps meets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Visit<'w> {
    /// A step that is no repetition.
    Step(&'w Step),
    /// A repetition begins; its steps follow once.
    Begin {
        /// How often they are done.
        times: u32,
    },
    /// The innermost repetition ends.
    End {
        /// How often its steps were done.
        times: u32,
    },
}

/// A walk over steps and what repeats inside them; see [`walk`]. Remembers one place for each level, so that no depth of
/// repetitions exhausts a stack.
#[derive(Clone, Debug)]
pub struct Walk<'w> {
    /// What is left of the level walked now.
    steps: core::slice::Iter<'w, Step>,
    /// By outer level, what is left of it and how often the level inside it is done.
    outer: Vec<(core::slice::Iter<'w, Step>, u32)>,
}

/// Walks over `steps` in their order; a repetition is announced, its steps are met once, and its end is announced, also
/// where it is done no times at all.
pub fn walk(steps: &[Step]) -> Walk<'_> {
    Walk { steps: steps.iter(), outer: Vec::new() }
}

impl<'w> Iterator for Walk<'w> {
    type Item = Visit<'w>;

    fn next(&mut self) -> Option<Visit<'w>> {
        match self.steps.next() {
            Some(Step::Repeat { times, steps }) => {
                self.outer.push((core::mem::replace(&mut self.steps, steps.iter()), *times));
                Some(Visit::Begin { times: *times })
            }
            Some(step) => Some(Visit::Step(step)),
            None => {
                let (rest, times) = self.outer.pop()?;
                self.steps = rest;
                Some(Visit::End { times })
            }
        }
    }
}

/// A length of computation: always the same, or drawn anew for each job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// The shortest length.
    pub least: Duration,
    /// The longest length; drawn uniformly from `least..=most` by the experiment's seed.
    pub most: Duration,
}

impl Span {
    /// The same length each time.
    pub const fn exactly(length: Duration) -> Self {
        Self { least: length, most: length }
    }
}

/// One step of a job.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Step {
    /// Computes without touching memory, for this long on a core of the platform's reference kind.
    Compute(Span),
    /// Executes instructions of a phase, which may touch memory.
    Execute(Execute),
    /// Touches memory.
    Touch(Touch),
    /// Performs the next operations of a recorded program.
    Replay(Replay),
    /// Takes a mutex or decrements a semaphore; may block.
    Acquire(LockId),
    /// Gives a mutex back or increments a semaphore.
    Release(LockId),
    /// Does the steps inside `times` times.
    Repeat {
        /// How often; zero skips the steps.
        times: u32,
        /// What is repeated.
        steps: Vec<Step>,
    },
    /// Leaves its core for this long: waits for a timer or a device, and competes for a core again after that.
    Sleep(Span),
    /// Takes memory for a buffer from the heap of a color (thesis 4.3.3, 4.3.4).
    Allocate {
        /// The buffer, which nobody else uses; its size is what is asked for.
        buffer: BufferId,
        /// The color that is named.
        color: Option<Color>,
    },
    /// Gives the memory of a buffer back.
    Free(BufferId),
    /// Writes changed lines back to memory and empties caches (thesis 5.8).
    Flush(Flush),
    /// Runs a program of the host's and its arguments from its start to its end; the only step of its task. What it does is not here.
    Command(Vec<String>),
}

/// The most words of a program and its arguments.
pub const MOST_WORDS: usize = 256;
/// The most bytes of these words together: far below what Linux takes.
pub const MOST_WORD_BYTES: usize = 1 << 16;

/// What a step empties caches of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Flush {
    /// Of all lines, in the caches that the core reaches.
    All,
    /// Of the lines of this buffer, in every cache.
    Buffer(BufferId),
}

impl Step {
    /// The accesses that it makes to a buffer, one after the other; nothing for recorded programs, whose accesses are elsewhere.
    pub const fn touch(&self) -> Option<&Touch> {
        match self {
            Self::Touch(touch) => Some(touch),
            Self::Execute(execute) => execute.touch.as_ref(),
            Self::Compute(_)
            | Self::Replay(_)
            | Self::Acquire(_)
            | Self::Release(_)
            | Self::Repeat { .. }
            | Self::Sleep(_)
            | Self::Allocate { .. }
            | Self::Free(_)
            | Self::Flush(_)
            | Self::Command(_) => None,
        }
    }

    /// The memory that it touches, or empties caches of.
    pub fn buffer(&self) -> Option<BufferId> {
        match self {
            Self::Replay(replay) => Some(replay.buffer),
            Self::Flush(Flush::Buffer(buffer)) => Some(*buffer),
            _ => self.touch().map(|touch| touch.buffer),
        }
    }

    /// Where the memory stands that it touches, takes, gives back or empties caches of.
    pub const fn buffer_mut(&mut self) -> Option<&mut BufferId> {
        match self {
            Self::Replay(replay) => Some(&mut replay.buffer),
            Self::Allocate { buffer, .. } | Self::Free(buffer) => Some(buffer),
            Self::Flush(Flush::Buffer(buffer)) => Some(buffer),
            Self::Touch(touch) | Self::Execute(Execute { touch: Some(touch), .. }) => Some(&mut touch.buffer),
            _ => None,
        }
    }

    /// About how long it takes; zero for a repetition, whose steps are asked one by one.
    fn about(&self) -> Duration {
        let accesses = |accesses: u64, each: u64| Duration::new(accesses.saturating_mul(each));
        match self {
            Self::Compute(span) | Self::Sleep(span) => {
                Duration::new(span.least.get() / 2).saturating_add(Duration::new(span.most.get().div_ceil(2)))
            }
            Self::Execute(execute) => {
                let touched = execute.touch.as_ref().map_or(0, |touch| touch.accesses);
                execute.on_reference.saturating_add(accesses(touched, ABOUT_AN_ACCESS.get()))
            }
            Self::Touch(touch) => {
                accesses(touch.accesses, ABOUT_AN_ACCESS.get().saturating_add(touch.think.get()))
            }
            Self::Replay(Replay { accesses: Some(some), .. }) => accesses(*some, ABOUT_AN_ACCESS.get()),
            Self::Replay(Replay { accesses: None, .. }) | Self::Command(_) => SHORTEST_ROUND,
            // A line at least, whatever caches hold.
            Self::Flush(_) => ABOUT_AN_ACCESS,
            Self::Acquire(_)
            | Self::Release(_)
            | Self::Repeat { .. }
            | Self::Allocate { .. }
            | Self::Free(_) => Duration::ZERO,
        }
    }

    /// True where time may pass while it is done.
    fn takes_time(&self) -> bool {
        self.about() > Duration::ZERO
    }
}

/// A step of work in instructions.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Execute {
    /// How many.
    pub instructions: u64,
    /// What they are like.
    pub phase: Phase,
    /// The memory that they access, spread evenly among them; `think` is zero. Nothing for instructions that touch none.
    pub touch: Option<Touch>,
    /// How long they take on the reference kind, memory apart: what machines compute for that know no kinds of cores.
    pub on_reference: Duration,
}

impl Execute {
    /// The most instructions of a step.
    pub const INSTRUCTIONS_MAX: u64 = 1 << 48;

    /// So many instructions of a phase on a platform; `touch` as in the field.
    pub fn new(platform: &Platform, instructions: u64, phase: Phase, touch: Option<Touch>) -> Self {
        let on_reference = phase.on_reference(platform, instructions);
        Self { instructions, phase, touch, on_reference }
    }
}

/// A pass over a buffer.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Touch {
    /// The order of the accesses.
    pub pattern: Pattern,
    /// The memory touched.
    pub buffer: BufferId,
    /// How many accesses a job makes.
    pub accesses: u64,
    /// The distance between neighbouring accesses of a sweep or stream, and the grain of random ones: the
    /// size of the element that the program works on. Above zero.
    pub stride: Bytes,
    /// The share of accesses that write.
    pub writes: PerMille,
    /// Computation that follows each access: the program's own work on the element, on a core of the reference kind.
    pub think: Duration,
}

/// The order in which a pass visits its buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Pattern {
    /// From the first element to the last and again, each access after the other: a loop whose next step
    /// needs the element just read.
    Sweep,
    /// Like a sweep, but a pass goes on where the last one stopped: the next of a ring of buffers that a device
    /// fills.
    Ring,
    /// Like a sweep, but accesses don't wait for each other: as many outstanding misses as the core has.
    Stream,
    /// Row by row: reads the row's elements, of each array in turn, then writes the first elements of these rows in
    /// turn, as often as a row has elements (hpc-invalidations, Fig. 4). No access needs another's data.
    Rows {
        /// The size of a row, at least a stride.
        row: Bytes,
        /// The arrays that share the buffer, one after the other, each of whole rows; at least one.
        arrays: u16,
        /// The next time goes on where this one stops, and does not begin at the first row: something may come between two rows.
        #[cfg_attr(feature = "serde", serde(default))]
        goes_on: bool,
    },
    /// Uniformly at random (thesis Figs. 71 and 78), each access after the other.
    Random,
    /// Along one random cycle through all elements: each address is known only when the last one has
    /// arrived, so the latency of memory shows unhidden.
    Chase,
}

/// A part of a recorded program.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Replay {
    /// The position in [`Experiment::traces`](crate::Experiment).
    pub trace: u32,
    /// The memory of the recorded program.
    pub buffer: BufferId,
    /// How many memory accesses a job makes before it is done; the next job goes on from there, and from
    /// the beginning again at the end of the trace. `None` replays the whole trace each job.
    pub accesses: Option<u64>,
}

/// Memory that one or more tasks touch.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Buffer {
    /// The name in the scenario; private buffers are named after their task and step.
    pub name: String,
    /// The size; above zero.
    pub size: Bytes,
}

/// A recorded program that steps may replay.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TraceSource {
    /// The file, as resolved against the scenario's folder.
    pub path: String,
    /// BLAKE3 of the file in hex, so that a run can be repeated with certainty.
    pub hash: String,
}

/// How a lock keeps a low-priority holder from delaying a high-priority waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LockProtocol {
    /// A counting semaphore with this many units; no protection.
    Semaphore {
        /// Units at the start.
        units: u32,
    },
    /// A mutex without protection: priority inversion shows.
    Plain,
    /// A mutex whose holder runs at the rank of its most urgent waiter.
    Inheritance,
    /// A mutex whose holder runs at the rank of the most urgent task that ever takes it (immediate priority
    /// ceiling; EPOS's `IPC_Semaphore`, thesis 4.2.1).
    Ceiling,
}

/// A semaphore or mutex.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lock {
    /// The name in the scenario; unique.
    pub name: String,
    /// The protocol.
    pub protocol: LockProtocol,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute(ns: u64) -> Step {
        Step::Compute(Span::exactly(Duration::new(ns)))
    }

    fn repeat(times: u32, steps: Vec<Step>) -> Step {
        Step::Repeat { times, steps }
    }

    #[test]
    fn steps_in_which_no_time_passes_are_counted() {
        let lock = || Step::Acquire(LockId(0));
        let idle = |steps: Vec<Step>| idle_steps(&steps);
        assert_eq!(idle(vec![]), 0);
        assert_eq!(idle(vec![compute(0), lock(), compute(5)]), 3);
        assert_eq!(idle(vec![repeat(1000, vec![])]), 1000);
        assert_eq!(idle(vec![repeat(1000, vec![compute(0), lock()])]), 3000);
        // Time passes in each round.
        assert!(idle(vec![repeat(1000, vec![compute(0), compute(1), lock()])]) < 10);
        assert!(idle(vec![repeat(1000, vec![repeat(2, vec![compute(1)]), lock()])]) < 10);
        // A round that is never done makes no time pass.
        assert!(idle(vec![repeat(1000, vec![repeat(0, vec![compute(1)]), lock()])]) >= 1000);
        let endless = repeat(u32::MAX, vec![repeat(u32::MAX, vec![repeat(u32::MAX, vec![])])]);
        assert_eq!(idle(vec![endless]), u64::MAX);
    }

    #[test]
    fn the_length_of_a_job_is_about_what_its_steps_take() {
        let about = |steps: Vec<Step>| super::about(&steps).get();
        assert_eq!(about(vec![]), 0);
        assert_eq!(about(vec![compute(0), Step::Acquire(LockId(0))]), 0);
        assert_eq!(
            about(vec![compute(7), repeat(10, vec![compute(100), repeat(2, vec![compute(3)])])]),
            1067
        );
        let drawn = Span { least: Duration::ZERO, most: Duration::new(3000) };
        assert_eq!(about(vec![Step::Sleep(drawn)]), 1500);
        let touch = Touch {
            pattern: Pattern::Random,
            buffer: BufferId(0),
            accesses: 100,
            stride: Bytes::new(64),
            writes: PerMille::default(),
            think: Duration::new(5),
        };
        assert_eq!(about(vec![Step::Touch(touch)]), 1500);
        assert_eq!(about(vec![repeat(u32::MAX, vec![repeat(u32::MAX, vec![compute(u64::MAX)])])]), u64::MAX);
    }

    #[test]
    fn a_walk_meets_each_step_once_and_each_repetition_from_both_sides() {
        let empty = Step::Repeat { times: 0, steps: vec![] };
        let inner = Step::Repeat { times: 3, steps: vec![compute(2)] };
        let outer = Step::Repeat { times: 2, steps: vec![inner, empty, compute(3)] };
        let work = Work { steps: vec![compute(1), outer, compute(4)] };
        let met: Vec<_> = work
            .walk()
            .map(|visit| match visit {
                Visit::Step(Step::Compute(span)) => ('c', span.most.get()),
                Visit::Step(other) => panic!("{other:?} is no plain step of this work"),
                Visit::Begin { times } => ('(', times.into()),
                Visit::End { times } => (')', times.into()),
            })
            .collect();
        let expected = [
            ('c', 1),
            ('(', 2),
            ('(', 3),
            ('c', 2),
            (')', 3),
            ('(', 0),
            (')', 0),
            ('c', 3),
            (')', 2),
            ('c', 4),
        ];
        assert_eq!(met, expected);
        assert_eq!(work.plain_steps().count(), 4);
        assert!(!work.touches_memory());

        let mut doubled = work.clone();
        update_steps(&mut doubled.steps, |step| {
            if let Step::Compute(span) = step {
                *span = Span::exactly(Duration::new(span.most.get() * 2));
            }
        });
        let lengths: Vec<_> = doubled.plain_steps().cloned().collect();
        assert_eq!(lengths, [compute(2), compute(4), compute(6), compute(8)]);
    }

    /// A recursion would need as many frames of the stack.
    #[test]
    fn repetitions_may_lie_inside_each_other_as_deep_as_memory_allows() {
        let mut step = compute(1);
        for _ in 0..20_000 {
            step = Step::Repeat { times: 1, steps: vec![step] };
        }
        let mut work = Work { steps: vec![step] };
        assert_eq!(work.walk().count(), 40_001);
        // Taken apart level by level, for dropping recurses, too.
        while let Some(Step::Repeat { steps, .. }) = work.steps.pop() {
            work.steps = steps;
        }
    }
}
