/* A robot: one thread reads a sensor, the other steers when there is something new. */
#include "solo_app.h"

static void sense(void *fresh) {
    enum { SAMPLES = 4000 };
    unsigned char *samples = solo_alloc_in(1, SAMPLES);
    solo_counter executed; /* nothing counts on an emulated PC */
    bool counts = solo_counter_find(&executed, SOLO_INSTRUCTIONS);
    if (counts) {
        solo_counter_start(&executed);
    }
    for (unsigned job = 0;; job++) {
        for (unsigned at = 0; samples && at < SAMPLES; at++) {
            samples[at] = (unsigned char)job;
        }
        solo_simulated_cost(SOLO_US(3)); /* what the simulated machine can't see */
        if (counts) {
            solo_record("instructions", solo_counter_read(&executed));
        }
        solo_release(fresh);
        solo_wait_next();
    }
}

static void steer(void *fresh) {
    for (uint64_t job = 0;; job++) {
        solo_acquire(fresh);
        solo_simulated_cost(SOLO_US(1));
        solo_record("steered", job);
        solo_wait_next();
    }
}

void solo_declare(solo_program *program) {
    solo_jobs(program, 20); /* it ends when each thread has done 20 jobs */
    solo_semaphore *fresh = solo_new_semaphore(program, "fresh", 0);

    solo_parameters *sensing = solo_periodic(SOLO_MS(10));
    solo_core(sensing, 0);
    solo_color(sensing, 1);
    solo_uses_semaphore(sensing, fresh);
    solo_thread(program, "sense", sensing, sense, fresh);

    solo_parameters *steering = solo_periodic(SOLO_MS(10));
    solo_core(steering, 1);
    solo_uses_semaphore(steering, fresh);
    solo_thread(program, "steer", steering, steer, fresh);
}
