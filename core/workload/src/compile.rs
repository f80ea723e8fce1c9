//! From nested steps to a flat list of instructions, checked.

use crate::error::{BUFFER_MAX, WorkError};
use crate::image::TraceImage;
use crate::stream::pass::Pass;
use crate::stream::player::Player;
use alloc::sync::Arc;
use alloc::vec::Vec;
use solo_model::work::{Buffer, Flush, Replay, Span, Step, Touch, Visit, Work};
use solo_model::{BufferId, Bytes, Color, Duration, Execute, LockId, Phase};

/// How deep `repeat` may nest.
pub(crate) const DEPTH_MAX: usize = 32;

/// One instruction of a program. Steps that do nothing have none, so that every round of a loop yields an
/// operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    Compute(Span),
    /// Instructions of the phase of this number, and how long they take on the reference kind.
    Execute(u64, u16, Duration),
    Sleep(Span),
    Acquire(LockId),
    Release(LockId),
    Allocate {
        buffer: BufferId,
        size: Bytes,
        color: Option<Color>,
    },
    Free(BufferId),
    Flush(Flush),
    /// Starts the pass of this number.
    Pass(usize),
    /// Lets a recorded program go on, or run once if no number of accesses is given.
    Replay {
        player: usize,
        accesses: Option<u64>,
    },
    /// Sets the rounds of the loop at this depth; above zero.
    Repeat {
        depth: usize,
        times: u32,
    },
    /// Ends a round: goes back to `first` while rounds are left.
    Again {
        depth: usize,
        first: usize,
    },
}

pub(crate) struct Compiler<'w> {
    buffers: &'w [Buffer],
    traces: &'w [Arc<TraceImage>],
    line: Bytes,
    seed: u64,
    pub(crate) code: Vec<Instruction>,
    pub(crate) passes: Vec<Pass>,
    pub(crate) players: Vec<Player>,
    pub(crate) phases: Vec<Phase>,
    /// How many loops lie inside each other at most.
    pub(crate) deepest: usize,
}

impl<'w> Compiler<'w> {
    pub(crate) fn new(
        buffers: &'w [Buffer],
        line: Bytes,
        seed: u64,
        traces: &'w [Arc<TraceImage>],
    ) -> Result<Self, WorkError> {
        if !line.get().is_power_of_two() || line.get() > 4096 {
            return Err(WorkError::BadLine { line });
        }
        let (code, passes, players, phases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { buffers, traces, line, seed, code, passes, players, phases, deepest: 0 })
    }

    /// Appends a job's steps.
    pub(crate) fn work(&mut self, work: &Work) -> Result<(), WorkError> {
        // Where the loops around the current step begin.
        let mut loops = Vec::new();
        for visit in work.walk() {
            match visit {
                Visit::Begin { times } => {
                    let depth = loops.len();
                    if depth >= DEPTH_MAX {
                        return Err(WorkError::TooDeep);
                    }
                    loops.push(self.code.len());
                    self.code.push(Instruction::Repeat { depth, times });
                }
                Visit::End { times } => self.repeat(times, loops.pop().unwrap_or(0), loops.len()),
                Visit::Step(step) => self.step(step)?,
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), WorkError> {
        match step {
            Step::Compute(span) => self.span(*span, Instruction::Compute)?,
            Step::Sleep(span) => self.span(*span, Instruction::Sleep)?,
            Step::Execute(execute) => self.execute(execute)?,
            Step::Touch(touch) => self.touch(touch, None)?,
            Step::Replay(replay) => self.replay(replay)?,
            Step::Acquire(lock) => self.code.push(Instruction::Acquire(*lock)),
            Step::Release(lock) => self.code.push(Instruction::Release(*lock)),
            Step::Allocate { buffer, color } => {
                let size = self.size_of(*buffer)?;
                self.code.push(Instruction::Allocate { buffer: *buffer, size, color: *color });
            }
            Step::Free(buffer) => self.code.push(Instruction::Free(*buffer)),
            Step::Flush(flush) => {
                if let Flush::Buffer(buffer) = flush {
                    self.size_of(*buffer)?;
                }
                self.code.push(Instruction::Flush(*flush));
            }
            Step::Command(_) => return Err(WorkError::Command),
            // Announced by the walk.
            Step::Repeat { .. } => {}
        }
        Ok(())
    }

    fn span(&mut self, span: Span, instruction: fn(Span) -> Instruction) -> Result<(), WorkError> {
        if span.least > span.most {
            return Err(WorkError::EmptySpan);
        }
        if span.most.get() > 0 {
            self.code.push(instruction(span));
        }
        Ok(())
    }

    /// Instructions, and among them accesses to memory, each after equally many.
    fn execute(&mut self, execute: &Execute) -> Result<(), WorkError> {
        let known = self.phases.iter().position(|phase| *phase == execute.phase);
        let number =
            u16::try_from(known.unwrap_or(self.phases.len())).map_err(|_| WorkError::TooManyPhases)?;
        if known.is_none() {
            self.phases.push(execute.phase.clone());
        }
        let accesses = execute.touch.as_ref().map_or(0, |touch| touch.accesses);
        let each = execute.instructions.checked_div(accesses).unwrap_or(0).min(u64::from(u16::MAX));
        if let Some(touch) = &execute.touch {
            self.touch(touch, Some((each as u32, number)))?;
        }
        let rest = execute.instructions.saturating_sub(each.saturating_mul(accesses));
        if rest > 0 {
            let share = u128::from(execute.on_reference.get()).saturating_mul(u128::from(rest));
            let on_reference = share.checked_div(u128::from(execute.instructions)).unwrap_or(0);
            self.code.push(Instruction::Execute(rest, number, Duration::new(on_reference as u64)));
        }
        Ok(())
    }

    fn touch(&mut self, touch: &Touch, executes: Option<(u32, u16)>) -> Result<(), WorkError> {
        let size = self.size_of(touch.buffer)?;
        if touch.stride.get() == 0 {
            return Err(WorkError::ZeroStride { buffer: touch.buffer });
        }
        if touch.accesses > 0 {
            self.code.push(Instruction::Pass(self.passes.len()));
            let pass = Pass::new(touch, size, self.line, self.seed);
            self.passes.push(match executes {
                Some((instructions, phase)) => pass.executing(instructions, phase),
                None => pass,
            });
        }
        Ok(())
    }

    fn replay(&mut self, replay: &Replay) -> Result<(), WorkError> {
        let &Replay { trace, buffer, accesses } = replay;
        let has = self.size_of(buffer)?;
        let missing = WorkError::NoSuchTrace { trace, traces: self.traces.len() };
        let image = self.traces.get(trace as usize).ok_or(missing)?;
        if image.records() == 0 {
            return Err(WorkError::EmptyTrace { trace });
        }
        if image.memory() > has {
            return Err(WorkError::TraceTooLarge { trace, needs: image.memory(), has });
        }
        if accesses == Some(0) {
            return Ok(());
        }
        // Two steps that replay the same program in the same memory are one program that goes on.
        let known = self.players.iter().position(|player| (player.trace, player.buffer) == (trace, buffer));
        let player = known.unwrap_or_else(|| {
            self.players.push(Player::new(trace, buffer, self.line, Arc::clone(image)));
            self.players.len().saturating_sub(1)
        });
        self.code.push(Instruction::Replay { player, accesses });
        Ok(())
    }

    /// Closes a loop that begins at `start`, inside `depth` others.
    fn repeat(&mut self, times: u32, start: usize, depth: usize) {
        let first = start.saturating_add(1);
        if times == 0 || self.code.len() == first {
            // The passes of a loop of no rounds stay in the table, unused.
            self.code.truncate(start);
        } else {
            self.code.push(Instruction::Again { depth, first });
            self.deepest = self.deepest.max(depth.saturating_add(1));
        }
    }

    fn size_of(&self, buffer: BufferId) -> Result<Bytes, WorkError> {
        let missing = WorkError::NoSuchBuffer { buffer, buffers: self.buffers.len() };
        let size = self.buffers.get(buffer.index()).ok_or(missing)?.size;
        if size.get() == 0 {
            return Err(WorkError::EmptyBuffer { buffer });
        }
        if size > BUFFER_MAX {
            return Err(WorkError::BufferTooLarge { buffer, size });
        }
        Ok(size)
    }
}
