//! Passes over a buffer: sweep, ring, stream, rows, random, chase.

use crate::stream::cycle::Cycle;
use crate::stream::op::{Access, AccessKind, Spread};
use crate::stream::rows::Rows;
use solo_model::SplitMix64;
use solo_model::work::{Pattern, Touch};
use solo_model::{BufferId, Bytes, Duration};

/// Instructions of one access with the loop around it, on a machine that loads and stores in instructions of
/// their own: the access, its use, the step to the next element, the branch back.
const SWEEP_INSTRUCTIONS: u32 = 4;
/// The same for a random position: also the generator (three multiplications, three shifts, three xors, an
/// addition) and its scaling to the array (thesis Fig. 71, lines 27 to 29).
const RANDOM_INSTRUCTIONS: u32 = 16;
/// The same for a chase: the load is the step to the next element.
const CHASE_INSTRUCTIONS: u32 = 3;

/// One touching step of a program, and how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    buffer: BufferId,
    accesses: u64,
    stride: u64,
    /// The binary logarithm of a stride that has one: divisions are what a pass spends its time on.
    shift: Option<u32>,
    size: u64,
    line: u64,
    think: Duration,
    writes: Spread,
    waits: bool,
    instructions: u32,
    /// The phase of these instructions, where they are of one.
    phase: Option<u16>,
    order: Order,
    left: u64,
    spread: Spread,
}

/// Where the next access goes.
#[derive(Clone, Debug)]
enum Order {
    /// The offset of the next element; a ring goes on from there in the next pass.
    Straight { offset: u64, ring: bool },
    /// A row at a time; first its elements, then its first element as often.
    Rows(Rows),
    /// Any of this many elements.
    Random { elements: u64, random: SplitMix64 },
    /// The next of the cycle.
    Chase(Cycle),
}

impl Pass {
    /// The pass that `touch` describes, over a buffer of `size` bytes; `line` is a power of two, stride and
    /// size are above zero and at most 2^48. `chase_seed` picks the cycle of a chase.
    pub(crate) fn new(touch: &Touch, size: Bytes, line: Bytes, chase_seed: u64) -> Self {
        let stride = touch.stride.get().min(size.get());
        let elements = size.get().div_ceil(stride);
        let (order, instructions) = match touch.pattern {
            Pattern::Sweep | Pattern::Ring | Pattern::Stream => {
                let ring = touch.pattern == Pattern::Ring;
                (Order::Straight { offset: 0, ring }, SWEEP_INSTRUCTIONS)
            }
            Pattern::Rows { row, arrays, goes_on } => {
                let arrays = u64::from(arrays).clamp(1, size.get() / stride);
                let row = row.get().clamp(stride, size.get() / arrays);
                (Order::Rows(Rows::new(row, stride, size.get(), arrays, goes_on)), 0)
            }
            Pattern::Random => (Order::Random { elements, random: SplitMix64::new(0) }, RANDOM_INSTRUCTIONS),
            Pattern::Chase => {
                let seed = SplitMix64::derived(chase_seed, &[u64::from(touch.buffer.0), elements]).next_u64();
                (Order::Chase(Cycle::new(elements, seed)), CHASE_INSTRUCTIONS)
            }
        };
        Self {
            buffer: touch.buffer,
            accesses: touch.accesses,
            stride,
            shift: stride.is_power_of_two().then_some(stride.trailing_zeros()),
            size: size.get(),
            line: line.get(),
            think: touch.think,
            writes: Spread::new(touch.writes),
            waits: !matches!(touch.pattern, Pattern::Stream),
            instructions,
            phase: None,
            order,
            left: 0,
            spread: Spread::NONE,
        }
    }

    /// The same with so many instructions of a phase at each access, and no others.
    pub(crate) fn executing(self, instructions: u32, phase: u16) -> Self {
        Self { instructions, phase: Some(phase), ..self }
    }

    /// Prepares for a new job: its random positions come from `random`.
    pub(crate) fn begin_job(&mut self, seeded: SplitMix64) {
        self.left = 0;
        self.spread = self.writes;
        if let Order::Random { random, .. } = &mut self.order {
            *random = seeded;
        }
    }

    /// Begins the pass: a ring, and rows that go on, where the last pass stopped, others at the first element. Random positions and the spread of writes go on, so that a
    /// repeated pass neither repeats its positions nor loses writes to rounding.
    pub(crate) fn start(&mut self) {
        self.left = self.accesses;
        match &mut self.order {
            Order::Straight { ring: true, .. } => {}
            Order::Straight { offset, .. } => *offset = 0,
            Order::Rows(rows) => rows.begin(),
            Order::Random { .. } => {}
            Order::Chase(cycle) => cycle.restart(),
        }
    }

    /// The next accesses to one line, or `None` at the end of the pass.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Access> {
        if self.left == 0 {
            return None;
        }
        let mut instructions = self.instructions;
        let (offset, count) = match &mut self.order {
            Order::Rows(rows) => {
                let (offset, count, writes) = rows.next(self.line, self.left);
                self.spread = if writes { Spread::ALL } else { Spread::NONE };
                instructions = if self.phase.is_some() { instructions } else { rows.instructions(writes) };
                (offset, count)
            }
            Order::Straight { offset, .. } => {
                let first = *offset;
                let fit = if self.stride >= self.line {
                    1
                } else {
                    // All are at most a line, so 32 bits do.
                    let end = ((first | (self.line - 1)) + 1).min(self.size);
                    let (rest, stride) = ((end - first) as u32, self.stride as u32);
                    match self.shift {
                        Some(shift) => (rest + stride - 1) >> shift,
                        None => rest.div_ceil(stride),
                    }
                };
                let count = if u64::from(fit) <= self.left { fit } else { self.left as u32 };
                let next = first + u64::from(count) * self.stride;
                *offset = if next < self.size { next } else { 0 };
                (first, count)
            }
            Order::Random { elements, random } => (random.below(*elements) * self.stride, 1),
            Order::Chase(cycle) => (cycle.advance() * self.stride, 1),
        };
        self.left -= u64::from(count);
        let spread = self.spread;
        let writes = self.spread.take(count);
        Some(Access {
            buffer: self.buffer,
            offset: Bytes::new(offset),
            kind: if writes == 0 { AccessKind::Read } else { AccessKind::Write },
            count,
            writes,
            stride: Bytes::new(self.stride),
            waits: self.waits,
            pipelined: matches!(self.order, Order::Rows(_)),
            think: self.think,
            instructions: instructions.saturating_mul(count),
            phase: self.phase,
            spread,
        })
    }
}
