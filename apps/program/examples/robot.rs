//! A robot: one thread reads a sensor, the other steers when there is something new.
#![cfg_attr(target_os = "none", no_std, no_main)]

use solo_app::{Color, Instructions, PerfMon, Periodic, Program, Semaphore, alloc_in, ms, record, wait_next};

solo_app::program!(robot);

fn robot(program: &mut Program) {
    program.jobs(20); // it ends when each thread has done 20 jobs
    let fresh = program.semaphore("fresh", 0);
    program.thread("sense", Periodic::new(ms(10)).core(0).color(1).uses(fresh), move || sense(fresh));
    program.thread("steer", Periodic::new(ms(10)).core(1).uses(fresh), move || steer(fresh));
}

fn sense(fresh: Semaphore) {
    let mut samples = alloc_in(Color(1), 4096).expect("memory of color 1");
    let mut executed = PerfMon::<Instructions>::find(); // None where nothing counts
    executed.iter_mut().for_each(PerfMon::start);
    for job in 0.. {
        samples.fill(job);
        solo_app::simulated_cost(solo_app::us(3)); // what the simulated machine can't see
        executed.iter_mut().for_each(|counter| record("instructions", counter.read()));
        fresh.release();
        wait_next();
    }
}

fn steer(fresh: Semaphore) {
    for job in 0.. {
        fresh.acquire();
        solo_app::simulated_cost(solo_app::us(1));
        record("steered", job);
        wait_next();
    }
}
