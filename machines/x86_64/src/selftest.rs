//! Tests of the machine's parts, run when the boot module holds no experiment.

use crate::arch::switch::{self, Context};
use crate::arch::{apic, registers};
use crate::counters::{self, Source};
use crate::interrupts::{COUNTER_INTERRUPTS, RESCHEDULE_INTERRUPTS, TIMER_INTERRUPTS};
use crate::memory::{Need, PAGE, RunMemory, Stacks};
use crate::{clock, cores, say};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_hal::CounterId;
use solo_isolate::frames::{Group, GroupId, Order};
use solo_isolate::{Classes, MemoryMap};
use solo_model::isolation::Fallback;
use solo_model::{Bytes, CoreId, Duration, EventId, EventTable};

const TIMER_SPAN: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(2);

static mut HERE: Context = Context::EMPTY;
static mut THERE: Context = Context::EMPTY;
static SWITCHED_AT: AtomicU64 = AtomicU64::new(0);

/// Tests timer, interrupts between cores and the context switch.
///
/// # Panics
/// If a part doesn't work.
pub fn run() {
    registers::enable_interrupts();
    timer();
    for core in 1..cores::count() {
        reschedule(CoreId(core as u16));
    }
    registers::disable_interrupts();
    context_switch();
    try_counters();
    say!("the machine's parts work");
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let end = clock::now() + PATIENCE;
    while !done() {
        assert!(clock::now() < end, "waited {PATIENCE} in vain for {what}");
        registers::pause();
    }
}

fn timer() {
    let (before, begin) = (TIMER_INTERRUPTS.load(Ordering::Relaxed), clock::now());
    clock::interrupt_after(TIMER_SPAN);
    wait_until("the timer", || TIMER_INTERRUPTS.load(Ordering::Relaxed) > before);
    let span = clock::now().since(begin);
    assert!(span >= TIMER_SPAN, "the timer came after {span} instead of {TIMER_SPAN}");
    say!("the timer came {} after its {TIMER_SPAN}", span - TIMER_SPAN);
}

fn reschedule(core: CoreId) {
    let before = RESCHEDULE_INTERRUPTS.load(Ordering::Relaxed);
    apic::send(cores::identity_of(core), apic::RESCHEDULE_VECTOR);
    wait_until("a core's answer", || RESCHEDULE_INTERRUPTS.load(Ordering::Relaxed) > before);
}

fn context_switch() {
    let (_memory, stacks) = stack();
    let begin = registers::time_stamp();
    // SAFETY: this core alone uses the two contexts, interrupts are kept out, and `there` switches back.
    unsafe {
        THERE = Context::begin(there, stacks.end(0));
        switch::switch(&raw mut HERE, THERE);
    }
    let end = registers::time_stamp();
    let middle = SWITCHED_AT.load(Ordering::Relaxed);
    assert!((begin..=end).contains(&middle), "the other context did not run");
    say!("a context switch there and back took {} ticks", end - begin);
}

/// One stack, and what it lies on.
fn stack() -> (RunMemory, Stacks) {
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

/// Where this core has counters: do they count a loop, and interrupt when they were asked to?
fn try_counters() {
    let Some(source) = Source::find(false) else {
        return say!("no counters: none counts the instructions of a loop");
    };
    let (mut unit, counter) = (source.begin(), CounterId(0));
    let mut count = |rounds, after: Option<u64>| {
        let done = unit.configure(counter, EventId::INSTRUCTIONS, &EventTable::default());
        let asked = unit.interrupt_after(counter, after.unwrap_or(u64::MAX));
        counters::turn(rounds);
        assert!(done.is_ok() && asked.is_ok(), "{done:?}, {asked:?}");
        unit.read(counter).unwrap_or_default()
    };
    let [short, long] = [1, 100_001].map(|rounds| count(rounds, None));
    say!("{} instructions counted in 100000 rounds of two", long - short);
    assert!((long - short).abs_diff(200_000) < 100, "{short} and {long} instructions");
    let before = COUNTER_INTERRUPTS.load(Ordering::Relaxed);
    registers::enable_interrupts();
    count(100_000, Some(50_000));
    registers::disable_interrupts();
    let came = COUNTER_INTERRUPTS.load(Ordering::Relaxed) - before;
    assert_eq!(unit.overflowed(), Some(counter));
    let late = counters::how_late();
    assert!(late < 1000, "the interrupt came {late} instructions late");
    assert_eq!(came, 1, "interrupts for one that was asked for");
    say!(
        "counters by {:?}: the interrupt after 50000 instructions came {late} late",
        source.description().kind
    );
    apic::silence_counters();
}

extern "sysv64" fn there() -> ! {
    SWITCHED_AT.store(registers::time_stamp(), Ordering::Relaxed);
    // SAFETY: as in `context_switch`: `HERE` was left a moment ago.
    unsafe { switch::switch(&raw mut THERE, HERE) };
    unreachable!("nobody switches back")
}
