//! On bare metal: entries into the kernel that the program is linked with.

use super::{Code, make_codes};
use crate::memory::AllocationError;
use alloc::borrow::Cow;
use core::marker::PhantomData;
use solo_bare::rtos::program::{self, Declare};
use solo_bare::rtos::{Call, program::Piece};
use solo_isolate::frames::GroupId;
use solo_isolate::heap::HeapError;
use solo_model::{Bytes, Duration, Instant, LockId, TaskId};

#[cfg(target_arch = "aarch64")]
use super::arm as perf_mon;
#[cfg(target_arch = "x86_64")]
use super::intel as perf_mon;
#[cfg(target_arch = "aarch64")]
use solo_aarch64::{Arm64 as Machine, start_program};
#[cfg(target_arch = "x86_64")]
use solo_x86_64::{X86 as Machine, start_program};

/// Runs what `declare` says.
pub fn start(module: Option<&'static [u8]>, heap_bytes: u64, declare: Declare) -> ! {
    perf_mon::look();
    start_program(module, heap_bytes, declare)
}

#[inline]
pub(crate) fn wait_next() {
    program::call::<Machine>(Call::WaitNext);
}

#[inline]
pub(crate) fn acquire(lock: LockId) {
    program::call::<Machine>(Call::Acquire(lock));
}

#[inline]
pub(crate) fn release(lock: LockId) {
    program::call::<Machine>(Call::Release(lock));
}

#[inline]
pub(crate) fn pause() {
    <Machine as solo_bare::isa::Isa>::pause();
}

pub(crate) fn compute(length: Duration) {
    program::compute::<Machine>(length);
}

#[inline]
pub(crate) fn simulated_cost(_: Duration) {}

#[inline]
pub(crate) fn sleep(length: Duration) {
    program::call::<Machine>(Call::Sleep(length));
}

#[inline]
pub(crate) fn trigger(task: TaskId, after: Duration) {
    program::call::<Machine>(Call::Trigger(task, after));
}

#[inline]
pub(crate) fn now() -> Instant {
    program::now::<Machine>()
}

pub(crate) fn record(name: &'static str, value: u64) {
    program::note::<Machine>(name, value);
}

/// The number of the thread that asks.
pub(crate) fn this_thread() -> Option<usize> {
    program::this_thread::<Machine>().map(|thread| thread.index())
}

/// Ends the thread that asks.
pub(crate) fn end(why: &'static str) -> ! {
    program::end::<Machine>(Cow::Borrowed(why))
}

/// Memory that was had.
pub(crate) type Memory = Piece<Machine>;

pub(crate) fn allocate(group: Option<u16>, size: Bytes) -> Result<Memory, AllocationError> {
    program::allocate::<Machine>(group.map(GroupId), size).map_err(|error| {
        let free = match error {
            HeapError::Exhausted { free, .. } => free.get(),
            _ => 0,
        };
        AllocationError::Exhausted { wanted: size.get(), free }
    })
}

#[cfg(target_arch = "x86_64")]
make_codes! {
    Instructions = 0, 0xc0, 0x00;
    Cycles = 1, 0x3c, 0x00;
    LastLevelMisses = 2, 0x2e, 0x41;
}

#[cfg(target_arch = "aarch64")]
make_codes! {
    Instructions = 0, 0x08, 0;
    Cycles = 1, 0x11, 0;
    LastLevelMisses = 2, 0x37, 0;
}

/// A counter of the core.
#[derive(Debug)]
pub(crate) struct Counter<C>(PhantomData<C>);

impl<C: Code> Counter<C> {
    pub(crate) fn find() -> Option<Self> {
        perf_mon::counts(C::COUNTER, C::EVENT.0, C::EVENT.1).then_some(Self(PhantomData))
    }

    #[inline(always)]
    pub(crate) fn start(&mut self) {
        perf_mon::start(const { C::COUNTER }, const { C::EVENT.0 }, const { C::EVENT.1 });
    }

    #[inline(always)]
    pub(crate) fn read(&mut self) -> u64 {
        perf_mon::read(const { C::COUNTER })
    }
}
