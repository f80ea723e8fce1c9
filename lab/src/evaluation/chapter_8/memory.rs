//! Which arrays there are, and who touches which.

use super::{ARRAY, Point, Sharing};
use crate::evaluation::drawn::Touched;
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Pattern, Step, Touch, Work};
use solo_model::{BufferId, Bytes, CoreId, Duration, PerMille};

/// The distance between two accesses of a best-effort task, half a line: the first writes the line, the second reads it.
const HALF_A_LINE: Bytes = Bytes::new(32);

/// The arrays of a set, by number: what hard and soft tasks touch, lines of generators, what only best-effort tasks touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) of: Point,
    /// Hard and soft tasks.
    pub(super) tasks: usize,
    /// Colors from 0 up: one of each hard task, then one of each group.
    pub(super) colors: usize,
    /// Groups that have a best-effort task.
    pub(super) groups: usize,
}

impl Memory {
    fn working_set(self) -> Bytes {
        Bytes::from_kib(self.of.working_set_kib)
    }

    /// What is left of a best-effort task's array beside what it shares with its group.
    fn rest(self) -> Bytes {
        match self.of.sharing {
            Sharing::Array => Bytes::new(ARRAY.get().saturating_sub(self.working_set().get())),
            Sharing::Color | Sharing::Line => ARRAY,
        }
    }

    /// The number of the first line of a generator.
    const fn lines(self) -> usize {
        match self.of.sharing {
            Sharing::Array => self.colors,
            Sharing::Color | Sharing::Line => self.tasks,
        }
    }

    /// The number of the first array that only a best-effort task touches.
    const fn apart(self) -> usize {
        match self.of.sharing {
            Sharing::Line => self.lines() + self.colors,
            Sharing::Array | Sharing::Color => self.lines(),
        }
    }

    /// The sizes of all of them.
    pub(super) fn sizes(self, line: Bytes) -> Vec<Bytes> {
        let mut sizes = vec![self.working_set(); self.lines()];
        sizes.resize(self.apart(), line);
        if self.rest() > Bytes::ZERO {
            sizes.resize(self.apart() + self.groups, self.rest());
        }
        sizes
    }

    /// What the hard or soft task of this number and color touches.
    pub(super) fn touched(self, at: usize, color: u16) -> Touched {
        let color = usize::from(color);
        Touched {
            array: if self.of.sharing == Sharing::Array { color } else { at },
            generator: (self.of.sharing == Sharing::Line).then_some(self.lines() + color),
        }
    }

    /// The best-effort task of a group (Fig. 99): it writes and reads line by line the 512 KiB of which the first part is what
    /// its group shares. Before each sweep it asks its generator for a place to begin.
    pub(super) fn best_effort(
        self,
        at: usize,
        core: usize,
        (group, color): (usize, u16),
        sweeps: u32,
    ) -> Task {
        let half = PerMille::new(500).unwrap_or_default();
        let touch = |buffer: usize, size: Bytes, writes: PerMille| {
            let accesses = size.get() / HALF_A_LINE.get();
            let buffer = BufferId(buffer as u32);
            let (pattern, think) = (Pattern::Sweep, Duration::ZERO);
            let step = Touch { pattern, buffer, accesses, stride: HALF_A_LINE, writes, think };
            (accesses > 0).then_some(Step::Touch(step))
        };
        let shared = match self.of.sharing {
            Sharing::Array => touch(color.into(), self.working_set().min(ARRAY), half),
            Sharing::Line => touch(self.lines() + usize::from(color), HALF_A_LINE, PerMille::ONE),
            Sharing::Color => None,
        };
        let apart = touch(self.apart() + group, self.rest(), half);
        let steps = shared.into_iter().chain(apart).collect();
        Task {
            core: Some(CoreId(core as u16)),
            work: Work { steps: vec![Step::Repeat { times: sweeps, steps }] },
            ..Task::new(
                format!("T{at}"),
                TaskClass::BestEffort,
                Release::Continuous { offset: Duration::ZERO },
            )
        }
    }
}
