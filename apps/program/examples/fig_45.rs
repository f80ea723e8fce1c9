//! The periodic thread of thesis Fig. 45, with the counter of Fig. 38 around its work: 200 releases. Beside it, the two methods of the
//! counter as functions of their own, for a test that takes the object code of this image apart.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![allow(unsafe_code)] // a name that is not mangled

use solo_app::{Instructions, PerfMon, Periodic, Program, ms, record, simulated_cost, us, wait_next};

/// So many releases.
const RELEASES: u64 = 200;

solo_app::program!(main_of_fig_45);

fn main_of_fig_45(program: &mut Program) {
    program.jobs(RELEASES);
    program.thread("t", Periodic::new(ms(10)), func);
}

fn func() {
    let mut counter = PerfMon::<Instructions>::find();
    if let Some(counter) = &mut counter {
        fig_45_start(counter);
    }
    for job in 0.. {
        do_work(job);
        simulated_cost(us(1));
        if let Some(counter) = &mut counter {
            record("instructions", fig_45_read(counter));
        }
        wait_next();
    }
}

fn do_work(job: u64) {
    for round in 0..1000 {
        core::hint::black_box(job ^ round);
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn fig_45_start(counter: &mut PerfMon<Instructions>) {
    counter.start();
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn fig_45_read(counter: &mut PerfMon<Instructions>) -> u64 {
    counter.read()
}
