//! Stacks with guard pages.

use crate::memory::RunMemory;
use crate::module::STACK_RESERVE;
use crate::paging::{PAGE, Paging};
use crate::placement::MemoryUser;
use solo_isolate::frames::{FramesError, GroupId};
use solo_model::TaskId;

/// Stacks of one size, each above a page that isn't there. They last as long as the memory of their run.
#[derive(Debug)]
pub struct Stacks {
    base: u64,
    each: u64,
    count: u64,
}

impl Stacks {
    /// A stack of `bytes`, rounded up to whole pages, for each of `groups`, from its colors.
    ///
    /// # Errors
    /// If there are no pages for one: which, and why.
    pub fn new<P: Paging>(
        memory: &mut RunMemory<P>,
        groups: impl Iterator<Item = GroupId>,
        bytes: u64,
    ) -> Result<Self, (TaskId, FramesError)> {
        let pages = bytes.div_ceil(PAGE);
        let mut stacks = Self { base: 0, each: (pages + 1) * PAGE, count: 0 };
        for group in groups {
            let task = TaskId(stacks.count as u32);
            let place = MemoryUser::Stack(task);
            let limit = memory.map(place, group, pages).map_err(|error| (task, error))?;
            if stacks.count == 0 {
                stacks.base = limit - PAGE;
            }
            stacks.count += 1;
            debug_assert_eq!(limit, stacks.limit(task.index()), "stacks follow each other");
        }
        Ok(stacks)
    }

    /// The end of a stack: where it begins to grow down from. A multiple of 16.
    pub fn end(&self, index: usize) -> u64 {
        self.base + (index as u64 + 1) * self.each
    }

    /// The lowest address of a stack, right above its guard page.
    pub fn limit(&self, index: usize) -> u64 {
        self.end(index) - self.each + PAGE
    }

    /// What a stack pointer may be where the kernel is to be entered on the stack.
    pub fn own(&self, index: usize) -> core::ops::RangeInclusive<u64> {
        self.limit(index) + STACK_RESERVE..=self.end(index)
    }

    /// The stack whose guard page `address` lies in.
    pub fn guards(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        let index = offset / self.each;
        (index < self.count && offset % self.each < PAGE).then_some(index as usize)
    }
}
