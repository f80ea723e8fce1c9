//! The endless stream of one task.

use crate::compile::{Compiler, DEPTH_MAX, Instruction};
use crate::error::WorkError;
use crate::image::TraceImage;
use crate::stream::op::Op;
use crate::stream::pass::Pass;
use crate::stream::player::{Limit, Player};
use alloc::boxed::Box;
use alloc::sync::Arc;
use solo_model::SplitMix64;
use solo_model::work::{Buffer, Span, Work};
use solo_model::{Bytes, Duration, JobIndex, Phase, TaskId};

/// The jobs of one task, operation by operation.
///
/// A new program stands at the beginning of job 0. [`Program::next`] yields the job's operations and `None`
/// at its end; [`Program::begin_job`] starts another job at any time.
#[derive(Clone, Debug)]
pub struct Program {
    code: Box<[Instruction]>,
    passes: Box<[Pass]>,
    players: Box<[Player]>,
    phases: Box<[Phase]>,
    /// Rounds left of each `repeat` around the current step.
    rounds: Box<[u32]>,
    next: usize,
    active: Active,
    seed: u64,
    task: TaskId,
    /// Where lengths of computation come from.
    spans: SplitMix64,
}

/// The step that has begun and not ended.
#[derive(Clone, Copy, Debug)]
enum Active {
    Nothing,
    Pass(usize),
    Player(usize, Limit),
}

/// Streams of random numbers that must not meet.
const SPANS: u64 = 0;
const POSITIONS: u64 = 1;

impl Program {
    /// How deep `repeat` may nest.
    pub const DEPTH_MAX: usize = DEPTH_MAX;

    /// The program of `task`, which does `work` on `buffers` and replays `traces`, for a machine with cache
    /// lines of `line` bytes, a power of two up to 4096; buffers begin at a line.
    ///
    /// Random positions and lengths depend on `seed`, the task and the job; the order of a pointer chase on
    /// `seed` and the buffer, because the list lies in memory: every job and task walks the same one.
    ///
    /// # Errors
    /// If the work names a buffer or trace that doesn't exist, or can't be performed: see [`WorkError`].
    pub fn new(
        work: &Work,
        task: TaskId,
        buffers: &[Buffer],
        line: Bytes,
        seed: u64,
        traces: &[Arc<TraceImage>],
    ) -> Result<Self, WorkError> {
        let mut compiler = Compiler::new(buffers, line, seed, traces)?;
        compiler.work(work)?;
        let mut program = Self {
            code: compiler.code.into_boxed_slice(),
            passes: compiler.passes.into_boxed_slice(),
            players: compiler.players.into_boxed_slice(),
            phases: compiler.phases.into_boxed_slice(),
            rounds: alloc::vec![0; compiler.deepest].into_boxed_slice(),
            next: 0,
            active: Active::Nothing,
            seed,
            task,
            spans: SplitMix64::new(0),
        };
        program.begin_job(JobIndex(0));
        Ok(program)
    }

    /// What instructions of the phase of this number are like; `None` where there is no such phase.
    pub fn phase(&self, number: u16) -> Option<&Phase> {
        self.phases.get(usize::from(number))
    }

    /// Goes to the beginning of `job`. A replay limited to a number of accesses goes on where it was.
    pub fn begin_job(&mut self, job: JobIndex) {
        let (task, job) = (u64::from(self.task.0), job.0);
        self.next = 0;
        self.active = Active::Nothing;
        self.spans = SplitMix64::derived(self.seed, &[task, job, SPANS]);
        for (index, pass) in self.passes.iter_mut().enumerate() {
            pass.begin_job(SplitMix64::derived(self.seed, &[task, job, POSITIONS, index as u64]));
        }
    }

    /// The next operation of the job; `None` when the job is done, and again on every further call.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "the stream goes on after None when another job begins"
    )]
    pub fn next(&mut self) -> Option<Op> {
        loop {
            // Each way returns by itself, so that an access is written once, to where the caller wants it.
            match &mut self.active {
                Active::Pass(index) => {
                    if let Some(access) = self.passes[*index].next() {
                        return Some(Op::Access(access));
                    }
                }
                Active::Player(index, limit) => {
                    if let Some(access) = self.players[*index].next(limit) {
                        return Some(Op::Access(access));
                    }
                }
                Active::Nothing => {}
            }
            self.active = Active::Nothing;
            if let Some(op) = self.step()? {
                return Some(op);
            }
        }
    }

    fn draw(&mut self, span: Span) -> Duration {
        let spread = span.most.get() - span.least.get();
        let extra = if spread == 0 { 0 } else { self.spans.below(spread.saturating_add(1)) };
        Duration::new(span.least.get() + extra)
    }

    /// Performs the next instruction. `None` at the end of the job.
    #[cold]
    fn step(&mut self) -> Option<Option<Op>> {
        let instruction = *self.code.get(self.next)?;
        self.next += 1;
        match instruction {
            Instruction::Compute(span) => return Some(Some(Op::Compute(self.draw(span)))),
            Instruction::Execute(instructions, phase, on_reference) => {
                return Some(Some(Op::Execute { instructions, phase, on_reference }));
            }
            Instruction::Sleep(span) => return Some(Some(Op::Sleep(self.draw(span)))),
            Instruction::Allocate { buffer, size, color } => {
                return Some(Some(Op::Allocate { buffer, size, color }));
            }
            Instruction::Free(buffer) => return Some(Some(Op::Free(buffer))),
            Instruction::Flush(flush) => return Some(Some(Op::Flush(flush))),
            Instruction::Acquire(lock) => return Some(Some(Op::Acquire(lock))),
            Instruction::Release(lock) => return Some(Some(Op::Release(lock))),
            Instruction::Pass(index) => {
                self.passes[index].start();
                self.active = Active::Pass(index);
            }
            Instruction::Replay { player, accesses: Some(accesses) } => {
                self.active = Active::Player(player, Limit::Accesses(accesses));
            }
            Instruction::Replay { player, accesses: None } => {
                self.players[player].rewind();
                self.active = Active::Player(player, Limit::End);
            }
            Instruction::Repeat { depth, times } => self.rounds[depth] = times,
            Instruction::Again { depth, first } => {
                self.rounds[depth] -= 1;
                if self.rounds[depth] > 0 {
                    self.next = first;
                }
            }
        }
        Some(None)
    }
}
