//! Which cores there are, and how those come up that the boot core starts.

use super::clock::{self, Clock};
use crate::agenda::MOST_CORES;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use solo_model::{CoreId, Duration};

/// How many milliseconds the others may take to come.
const PATIENCE: usize = 1000;

/// What the hardware calls each core; what is nobody's name for those that are not expected. Entry code may look its own up.
#[cfg_attr(target_os = "none", unsafe(export_name = "core_identities"))]
static IDENTITIES: [AtomicU64; MOST_CORES] = [const { AtomicU64::new(u64::MAX) }; MOST_CORES];

/// The end of the stack on which each core but the boot core begins, for the entry code.
#[cfg_attr(target_os = "none", unsafe(export_name = "other_core_stacks"))]
static STACKS: [AtomicU64; MOST_CORES] = [const { AtomicU64::new(0) }; MOST_CORES];

static ARRIVED: [AtomicBool; MOST_CORES] = [const { AtomicBool::new(false) }; MOST_CORES];
/// The cores that firmware told of, and those that were started.
static EXPECTED: AtomicUsize = AtomicUsize::new(1);
static STARTED: AtomicUsize = AtomicUsize::new(1);

/// An interrupt that a core causes on another one, or on itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Schedule anew.
    Reschedule,
    /// A counter has overflowed: for counters that are a model.
    Counter,
    /// The run is over: leave everything.
    Rest,
    /// Something went wrong: stop for ever.
    Stop,
}

/// The cores of a machine.
pub trait Cores: Clock {
    /// The bytes of the stack on which a core begins that is not the boot core.
    const STACK_BYTES: usize;

    /// Whether an emulator of it counts the instructions of all cores together.
    const COUNT_TOGETHER: bool = false;

    /// The core that asks.
    fn current() -> CoreId;

    /// Lets the cores from 1 up to `count`, which is more than 1, begin on their stacks: entry code leads them to where they
    /// tell that they have [`arrived`].
    fn start_others(count: usize);

    /// Interrupts `core`.
    fn signal(core: CoreId, signal: Signal);

    /// Interrupts all others.
    fn signal_others(signal: Signal);

    /// The end of the stack on which `core` began, where it may begin anew.
    fn first_stack_end(core: CoreId) -> u64;
}

/// Keeps which cores there are: the boot core, which asks, is core 0, and the others follow in the order of `all`. Those above what
/// an image runs on are left out.
pub fn expect(own: u64, all: impl IntoIterator<Item = u64>) {
    let others = all.into_iter().filter(|&identity| identity != own);
    let mut count = 0;
    for (place, identity) in IDENTITIES.iter().zip(core::iter::once(own).chain(others)) {
        place.store(identity, Ordering::Release);
        count += 1;
    }
    EXPECTED.store(count, Ordering::Release);
}

/// How many cores have been started.
pub fn count() -> usize {
    STARTED.load(Ordering::Relaxed)
}

/// What the hardware calls `core`.
#[inline(always)]
pub fn identity_of(core: CoreId) -> u64 {
    IDENTITIES[core.index()].load(Ordering::Relaxed)
}

/// The end of the stack that `core`, which is not the boot core, was given.
pub fn stack_end_of(core: CoreId) -> u64 {
    STACKS[core.index()].load(Ordering::Relaxed)
}

/// `core` has come, and can be interrupted.
pub fn arrived(core: CoreId) {
    ARRIVED[core.index()].store(true, Ordering::Release);
}

/// True once all that were started have come.
pub fn all_came() -> bool {
    ARRIVED[..count()].iter().all(|arrived| arrived.load(Ordering::Acquire))
}

/// Starts the other cores that are expected. Returns what the hardware calls those that did not come within a second.
pub(super) fn start_others<C: Cores>() -> Vec<u64> {
    let count = EXPECTED.load(Ordering::Relaxed);
    for place in &STACKS[1..count] {
        let stack: &'static mut [u128] = Box::leak(alloc::vec![0u128; C::STACK_BYTES / 16].into());
        place.store(stack.as_mut_ptr_range().end as u64, Ordering::Release);
    }
    STARTED.store(count, Ordering::Release);
    if count > 1 {
        C::start_others(count);
    }
    for _ in 0..PATIENCE {
        if all_came() {
            break;
        }
        clock::wait::<C>(Duration::from_millis(1));
    }
    let came = |core: usize| ARRIVED[core].load(Ordering::Acquire);
    let missing = (1..count).filter(|&core| !came(core));
    missing.map(|core| IDENTITIES[core].load(Ordering::Relaxed)).collect()
}
