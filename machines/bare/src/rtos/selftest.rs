//! Tests of the machine's parts, run when the boot module holds no experiment.

use super::clock::timebase;
use super::cores::{self, Signal};
use super::port::{Counters, Port, Source};
use super::thread::{COUNTER_INTERRUPTS, LATE, RESCHEDULE_INTERRUPTS, TIMER_INTERRUPTS};
use crate::context::Context;
use crate::memory::{Need, RunMemory};
use crate::paging::PAGE;
use crate::queue::Piece;
use crate::say;
use crate::stacks::Stacks;
use crate::window::translate;
use crate::wire::{self, PIECES, Wire};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_hal::CounterId;
use solo_isolate::frames::{Group, GroupId, Order};
use solo_isolate::{Classes, MemoryMap};
use solo_model::isolation::Fallback;
use solo_model::{Bytes, CoreId, Duration, EventId, EventTable, Instant};

/// The rounds of the loop of two instructions by which ports try their counters.
pub const LOOP_ROUNDS: u64 = 1000;

const TIMER_SPAN: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(2);

static mut HERE: Context = Context::EMPTY;
static mut THERE: Context = Context::EMPTY;
static SWITCHED_AT: AtomicU64 = AtomicU64::new(0);

/// Tests timer, interrupts between cores and the context switch.
///
/// # Panics
/// If a part doesn't work.
pub(super) fn run<P: Port>() {
    P::enable_interrupts();
    timer::<P>();
    for core in 1..cores::count() {
        reschedule::<P>(CoreId(core as u16));
    }
    P::disable_interrupts();
    context_switch::<P>();
    try_counters::<P>();
    if P::HAS_DEVICES {
        try_wires::<P>();
    }
    say!(P, "the machine's parts work");
}

fn now<P: Port>() -> Instant {
    timebase().instant(P::time_stamp())
}

fn wait_until<P: Port>(what: &str, mut done: impl FnMut() -> bool) {
    let end = now::<P>() + PATIENCE;
    while !done() {
        assert!(now::<P>() < end, "waited {PATIENCE} in vain for {what}");
        P::pause();
    }
}

fn timer<P: Port>() {
    let (before, begin) = (TIMER_INTERRUPTS.load(Ordering::Relaxed), now::<P>());
    P::interrupt_after(TIMER_SPAN);
    wait_until::<P>("the timer", || TIMER_INTERRUPTS.load(Ordering::Relaxed) > before);
    let span = now::<P>().since(begin);
    assert!(span >= TIMER_SPAN, "the timer came after {span} instead of {TIMER_SPAN}");
    say!(P, "the timer came {} after its {TIMER_SPAN}", span - TIMER_SPAN);
}

fn reschedule<P: Port>(core: CoreId) {
    let before = RESCHEDULE_INTERRUPTS.load(Ordering::Relaxed);
    P::signal(core, Signal::Reschedule);
    wait_until::<P>("a core's answer", || RESCHEDULE_INTERRUPTS.load(Ordering::Relaxed) > before);
}

fn context_switch<P: Port>() {
    let (_memory, stacks) = stack::<P>();
    let begin = P::time_stamp();
    // SAFETY: this core alone uses the two contexts, interrupts are kept out, and `there` switches back.
    unsafe {
        THERE = P::begin(there::<P>, stacks.end(0));
        P::switch(&raw mut HERE, THERE);
    }
    let end = P::time_stamp();
    let middle = SWITCHED_AT.load(Ordering::Relaxed);
    assert!((begin..=end).contains(&middle), "the other context did not run");
    say!(P, "a context switch there and back took {} ticks", end - begin);
}

/// One stack, and what it lies on.
fn stack<P: Port>() -> (RunMemory<P>, Stacks) {
    let none = || Classes::new(&[]);
    let all = [Group { colors: Vec::new(), banks: Vec::new(), fallback: Fallback::Fail }];
    let memory = MemoryMap::new(Bytes::new(PAGE), none(), none(), None).ok().and_then(|map| {
        let need = Need::Pages { pages: 4, pieces: 1 };
        RunMemory::new(map, &all, GroupId(0), Order::Ascending, need).ok()
    });
    let Some(mut memory) = memory else { panic!("no memory for a stack") };
    match Stacks::new(&mut memory, core::iter::once(GroupId(0)), 4 * PAGE) {
        Ok(stacks) => (memory, stacks),
        Err((_, error)) => panic!("no memory for a stack: {error}"),
    }
}

/// True where counter 0 of these counts the instructions of a loop: emulators announce counters that do not.
pub fn counts_a_loop<P: Port>(counters: &mut impl Counters) -> bool {
    let counter = CounterId(0);
    let configured = counters.configure(counter, EventId::INSTRUCTIONS, &EventTable::default());
    P::turn(LOOP_ROUNDS);
    let counted = counters.read(counter).unwrap_or_default();
    let _ = counters.run(counter, false);
    configured.is_ok() && (2 * LOOP_ROUNDS..20 * LOOP_ROUNDS).contains(&counted)
}

/// Where this core has counters: do they count a loop, and interrupt when they were asked to?
fn try_counters<P: Port>() {
    let Some(source) = P::Source::find(false) else {
        return say!(P, "no counters: none counts the instructions of a loop");
    };
    let (mut unit, counter) = (source.begin(), CounterId(0));
    let mut count = |rounds, after: Option<u64>| {
        let done = unit.configure(counter, EventId::INSTRUCTIONS, &EventTable::default());
        let asked = unit.interrupt_after(counter, after.unwrap_or(u64::MAX));
        P::turn(rounds);
        assert!(done.is_ok() && asked.is_ok(), "{done:?}, {asked:?}");
        unit.read(counter).unwrap_or_default()
    };
    let [short, long] = [1, 100_001].map(|rounds| count(rounds, None));
    say!(P, "{} instructions counted in 100000 rounds of two", long - short);
    assert!((long - short).abs_diff(200_000) < 100, "{short} and {long} instructions");
    let before = COUNTER_INTERRUPTS.load(Ordering::Relaxed);
    P::enable_interrupts();
    count(100_000, Some(50_000));
    P::disable_interrupts();
    let came = COUNTER_INTERRUPTS.load(Ordering::Relaxed) - before;
    assert_eq!(unit.overflowed(), 1 << counter.0);
    let late = LATE.load(Ordering::Relaxed);
    assert!(late < 1000, "the interrupt came {late} instructions late");
    assert_eq!(came, 1, "interrupts for one that was asked for");
    say!(P, "counters by {source}: the interrupt after 50000 instructions came {late} late");
    P::Source::silence();
}

/// Where there are wires: does a frame of whole pages carry every byte, in both directions?
fn try_wires<P: Port>() {
    // SAFETY: the port's.
    let wires = unsafe { wire::find(&P::virtio()) };
    for (number, ends) in wires.into_iter().enumerate() {
        let mut memory = alloc::vec![0u8; (PIECES as u64 * PAGE) as usize];
        let base = memory.as_mut_ptr().expose_provenance() as u64;
        let length = PAGE as u32;
        let pieces: [Piece; PIECES] = core::array::from_fn(|page| Piece {
            physical: translate::<P>(base + page as u64 * PAGE).unwrap_or_default(),
            length,
        });
        let carry = |inward| {
            let Some(mut wire) = Wire::new(ends, inward, translate::<P>) else {
                panic!("wire {number} does not take its queues")
            };
            assert!(wire.send(&pieces), "a wire without room");
            wire.go();
            let mut bytes = 0;
            wait_until::<P>("a frame", || {
                bytes += wire.arrived();
                !wire.is_busy()
            });
            (bytes, *wire.page())
        };
        let (came, sent) = carry(true);
        assert!(memory.chunks(sent.len()).all(|page| page == sent), "other bytes came than were sent");
        memory.iter_mut().for_each(|byte| *byte = !*byte);
        let (left, taken) = carry(false);
        assert!(memory.ends_with(&taken) && taken != sent, "other bytes left than were there");
        say!(P, "wire {number}: {came} bytes came, {left} left");
    }
}

extern "C" fn there<P: Port>() -> ! {
    SWITCHED_AT.store(P::time_stamp(), Ordering::Relaxed);
    // SAFETY: as in `context_switch`: `HERE` was left a moment ago.
    unsafe { P::switch(&raw mut THERE, HERE) };
    unreachable!("nobody switches back")
}
