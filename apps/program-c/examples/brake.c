/* A brake: one thread watches the road on one core, and asks another one, on the other core, to brake. */
#include "solo_app.h"

static void watch(void *brake) {
    for (;;) {
        solo_simulated_cost(SOLO_US(1));
        solo_fire(brake); /* now */
        solo_fire(brake); /* no sooner than 5 ms after the one before: held back */
        solo_fire(brake); /* one is held back: nothing more */
        solo_sleep(SOLO_MS(6));
        solo_fire_after(brake, SOLO_US(6500)); /* 12.5 ms after the first */
        solo_wait_next();
    }
}

static void brake(void *nothing) {
    (void)nothing;
    for (uint64_t job = 0;; job++) {
        solo_simulated_cost(SOLO_US(2));
        solo_record("braked", job);
        solo_wait_next();
    }
}

void solo_declare(solo_program *program) {
    solo_jobs(program, 20);
    solo_parameters *braking = solo_sporadic(SOLO_MS(5));
    solo_deadline(braking, SOLO_MS(1));
    solo_core(braking, 1);
    solo_trigger *trigger = solo_sporadic_thread(program, "brake", braking, brake, NULL);
    solo_thread(program, "watch", solo_periodic(SOLO_MS(20)), watch, trigger);
}
