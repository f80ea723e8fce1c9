//! The heaps from which the jobs of an experiment take memory while they run.

use super::tlsf::{GRANULE, Tlsf, surely_enough};
use super::{ColoredHeaps, HeapError, Mode};
use alloc::vec::Vec;
use solo_model::isolation::{Allocation, Coloring};
use solo_model::{BufferId, Bytes, Color, Task, ThreadId};

/// Where memory was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapPlace {
    /// In the heap of this color.
    pub color: Color,
    /// From the beginning of that heap.
    pub offset: Bytes,
}

/// Heaps of colors, and what of them each buffer has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobHeaps {
    heaps: ColoredHeaps,
    size: Bytes,
    in_use: Vec<Color>,
    /// By buffer, who has taken its memory, and where it begins in the range of all heaps.
    places: Vec<Option<(ThreadId, Bytes)>>,
}

impl JobHeaps {
    /// The heaps that a coloring asks for, of a memory with so many colors; `None` where no task takes memory while it runs.
    pub fn of(coloring: &Coloring, colors: u16, tasks: &[Task], buffers: usize) -> Option<Self> {
        tasks.iter().any(|task| task.work.allocations().next().is_some()).then(|| {
            let mode = match coloring.heaps.allocation {
                Allocation::User => Mode::UserCentric,
                Allocation::Os => Mode::OsCentric,
            };
            let size = coloring.heaps.size;
            // Heaps that nobody may ask are as small as one can be.
            let whole = ColoredHeaps::new(0, size, coloring.kernel, mode);
            let heaps = (0..colors).map(|_| Tlsf::new(1)).collect();
            let mut heaps = ColoredHeaps { heaps, ..whole };
            let in_use = colors_in_use(&heaps, tasks);
            for color in &in_use {
                if let Some(heap) = heaps.heaps.get_mut(usize::from(color.0)) {
                    *heap = Tlsf::new(heaps.granules);
                }
            }
            Self { heaps, size, in_use, places: alloc::vec![None; buffers] }
        })
    }

    /// The colors of whose heaps something may be taken, ascending: a machine needs memory for these only.
    pub fn colors_in_use(&self) -> &[Color] {
        &self.in_use
    }

    /// What each heap holds.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// By task, the first color whose heap may not have what the task asks for, whatever jobs hold meanwhile; `None` where each heap
    /// always has. `sizes` are those of the buffers.
    ///
    /// A buffer has memory once at most. Where others hold `v` of a heap of `h` in `n` pieces, what is left lies in `n + 1` pieces at
    /// most, and the largest is no less than `(h - v) / (n + 1)`.
    pub fn may_run_out(&self, tasks: &[Task], sizes: &[Bytes]) -> Vec<Option<Color>> {
        let mut asked: Vec<(Color, BufferId, u64)> = Vec::new();
        for (thread, task) in (0..).map(ThreadId).zip(tasks) {
            let wishes = task.work.allocations().map(|(buffer, named)| {
                let size = sizes.get(buffer.index()).copied().unwrap_or(Bytes::ZERO);
                (self.heaps.color_for(thread, named), buffer, size.get().div_ceil(GRANULE).max(1))
            });
            asked.extend(wishes);
        }
        asked.sort_unstable();
        asked.dedup();
        let has = |color: Color, buffer: BufferId| {
            let of_color = || asked.iter().filter(|wish| wish.0 == color);
            let Some(own) = of_color().find(|wish| wish.1 == buffer) else { return false };
            let others = of_color().filter(|wish| wish.1 != buffer);
            let (pieces, held) =
                others.fold((1_u64, 0_u64), |(pieces, held), wish| (pieces + 1, held.saturating_add(wish.2)));
            let wanted = u32::try_from(own.2).map_or(u64::MAX, surely_enough);
            let left = u64::from(self.heaps.granules).saturating_sub(held);
            left.div_ceil(pieces) >= wanted
        };
        let lacking = |(thread, task): (ThreadId, &Task)| {
            let mut colors =
                task.work.allocations().map(|(buffer, named)| (self.heaps.color_for(thread, named), buffer));
            colors.find(|&(color, buffer)| !has(color, buffer)).map(|(color, _)| color)
        };
        (0..).map(ThreadId).zip(tasks).map(lacking).collect()
    }

    /// Takes memory for a buffer. Whatever it had before is given back.
    ///
    /// # Errors
    /// As [`ColoredHeaps::allocate`]; then the buffer has none.
    pub fn take(
        &mut self,
        thread: ThreadId,
        buffer: BufferId,
        size: Bytes,
        named: Option<Color>,
    ) -> Result<HeapPlace, HeapError> {
        self.give_back(buffer);
        let offset = self.heaps.allocate(thread, named, size)?;
        if let Some(place) = self.places.get_mut(buffer.index()) {
            *place = Some((thread, offset));
        }
        let color = self.heaps.color_at(offset).unwrap_or_default();
        let before = u64::from(color.0).saturating_mul(self.heaps.size_of_each().get());
        Ok(HeapPlace { color, offset: Bytes::new(offset.get().saturating_sub(before)) })
    }

    /// Gives the memory of a buffer back to the heap it came from; false where it has none.
    pub fn give_back(&mut self, buffer: BufferId) -> bool {
        let place = self.places.get_mut(buffer.index()).and_then(Option::take);
        place.is_some_and(|(_, offset)| self.heaps.release(offset).is_ok())
    }

    /// Gives back all that the job of a thread has taken and not given back: it is over.
    pub fn end_job(&mut self, thread: ThreadId) {
        for buffer in 0..self.places.len() {
            if self.places[buffer].is_some_and(|(owner, _)| owner == thread) {
                self.give_back(BufferId(buffer as u32));
            }
        }
    }

    /// What is free in the heap of a color, in pieces.
    pub fn free(&self, color: Color) -> Option<Bytes> {
        self.heaps.free(color)
    }
}

fn colors_in_use(heaps: &ColoredHeaps, tasks: &[Task]) -> Vec<Color> {
    let mut found = Vec::new();
    for (thread, task) in (0..).map(ThreadId).zip(tasks) {
        found.extend(task.work.allocations().map(|(_, named)| heaps.color_for(thread, named)));
    }
    found.sort_unstable();
    found.dedup();
    found
}
