//! A brake: one thread watches the road on one core, and asks another one, on the other core, to brake.
#![cfg_attr(target_os = "none", no_std, no_main)]

use solo_app::{Periodic, Program, Sporadic, Trigger, ms, record, simulated_cost, us, wait_next};

solo_app::program!(car);

fn car(program: &mut Program) {
    program.jobs(20);
    let brake = program.sporadic("brake", Sporadic::new(ms(5)).deadline(ms(1)).core(1), brake);
    program.thread("watch", Periodic::new(ms(20)).core(0), move || watch(brake));
}

fn watch(brake: Trigger) {
    loop {
        simulated_cost(us(1));
        brake.fire(); // now
        brake.fire(); // no sooner than 5 ms after the one before: held back
        brake.fire(); // one is held back: nothing more
        solo_app::sleep(ms(6));
        brake.fire_after(us(6500)); // 12.5 ms after the first
        wait_next();
    }
}

fn brake() {
    for job in 0.. {
        simulated_cost(us(2));
        record("braked", job);
        wait_next();
    }
}
