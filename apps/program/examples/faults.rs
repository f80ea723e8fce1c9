//! Mistakes, each made by a thread of its own, beside threads that make none: each ends the one that made it. Two of them end a whole
//! process, and so they are made on the kernel only.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![allow(unsafe_code)] // two of the mistakes can't be made without

use core::hint::black_box;
use solo_app::{
    Color, Criterion, Mutex, Periodic, Program, Protocol, Scope, alloc_in, ms, record, simulated_cost, us,
    wait_next,
};

solo_app::program!(faults);

fn faults(program: &mut Program) {
    program.policy(Scope::Partitioned, Criterion::StaticPriority);
    program.run_for(ms(200));
    let shared = program.mutex("shared", Protocol::Inheritance);
    // Core 0: those that make a mistake in their first job, more urgent than the one that makes none.
    let urgent = || Periodic::new(ms(10)).priority(1);
    #[cfg(target_os = "none")]
    {
        program.thread("overruns its stack", urgent(), || _ = black_box(recurse(0)));
        program.thread("jumps to null", urgent(), jump_to_null);
    }
    program.thread("divides by zero", urgent(), || _ = black_box(black_box(1) / black_box(0)));
    program.thread("frees twice", urgent().color(1), free_twice);
    program.thread("wants more than there is", urgent().color(2), || exhaust(Color(2)));
    program.thread("wants a color that nobody has", urgent(), || exhaust(Color(31)));
    program.thread("takes what it did not declare", urgent(), move || drop(shared.lock()));
    program.thread("dies with a mutex", urgent().uses(shared), move || die_with(shared));
    program.thread("steady", Periodic::new(ms(10)).priority(2).uses(shared), move || steady(shared));
    // Core 1: one that never waits, and one that is more urgent.
    program.thread("never waits", Periodic::new(ms(10)).priority(9).core(1), never_wait);
    program.thread("prompt", Periodic::new(ms(10)).priority(0).core(1), go_on);
}

#[cfg(target_os = "none")]
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: u64) -> u64 {
    black_box(depth) + recurse(depth + 1)
}

#[cfg(target_os = "none")]
#[inline(never)]
fn jump_to_null() {
    // SAFETY: not safe at all: it is a mistake, and the compiler is not told that the address is zero.
    let nowhere = unsafe { core::mem::transmute::<usize, extern "C" fn()>(black_box(0)) };
    nowhere();
    black_box(());
}

fn free_twice() {
    let block = alloc_in(Color(1), 100).expect("memory of color 1");
    // SAFETY: not safe at all: the block has two owners now, and both give it back.
    let twin = unsafe { core::ptr::read(&raw const block) };
    #[cfg(not(target_os = "none"))]
    core::mem::forget(block); // a process would be ended as a whole
    #[cfg(target_os = "none")]
    drop(block);
    drop(twin);
}

fn exhaust(color: Color) {
    loop {
        let block = alloc_in(color, 20_000).unwrap_or_else(|error| panic!("{error}"));
        core::mem::forget(block);
    }
}

fn die_with(shared: Mutex) {
    let _held = shared.lock();
    panic!("with a mutex");
}

fn never_wait() {
    // On Linux a process ends with its last thread.
    #[cfg(target_os = "none")]
    loop {
        for round in 0..400 {
            black_box(round);
        }
        solo_app::pause();
    }
    #[cfg(not(target_os = "none"))]
    go_on();
}

fn steady(shared: Mutex) {
    for job in 0.. {
        drop(shared.lock());
        simulated_cost(us(5));
        record("steady", job);
        wait_next();
    }
}

fn go_on() {
    for job in 0.. {
        simulated_cost(us(5));
        record("prompt", job);
        wait_next();
    }
}
