/* Mistakes, each made by a thread of its own, beside threads that make none: each ends the one that made it. Those that would end a
 * whole process are made on the kernel only. */
#include "solo_app.h"

static volatile unsigned sink;

#if !__STDC_HOSTED__
__attribute__((noinline)) static unsigned recurse(volatile unsigned depth) {
    volatile unsigned char frame[256];
    frame[depth & 255] = 1;
    return frame[0] + recurse(depth + 1) + frame[depth & 255];
}

static void overrun(void *nothing) {
    (void)nothing;
    sink = recurse(0);
}

__attribute__((noinline)) static void jump_to_null(void *nothing) {
    (void)nothing;
    void (*volatile nowhere)(void) = 0;
    nowhere();
    sink = 1;
}

static void write_to_null(void *nothing) {
    (void)nothing;
    unsigned *volatile null = 0;
    *null = 1;
}

static void trap(void *nothing) {
    (void)nothing;
    __builtin_trap();
}

static void never_wait(void *nothing) {
    (void)nothing;
    for (;;) {
        for (unsigned round = 0; round < 400; round++) {
            sink = round;
        }
        solo_pause();
    }
}
#endif

static void free_twice(void *nothing) {
    (void)nothing;
    void *memory = solo_alloc_in(1, 100);
    solo_free(memory);
    solo_free(memory);
}

static void free_what_was_not_had(void *nothing) {
    (void)nothing;
    _Alignas(16) unsigned char own[128] = {0};
    sink = own[sink & 1];
    solo_free(own + 96);
}

static void take_without_a_word(void *shared) {
    solo_lock(shared);
}

static void give_null(void *nothing) {
    (void)nothing;
    solo_release(NULL);
}

static void read_without_a_counter(void *nothing) {
    (void)nothing;
    solo_counter none = {{0}};
    sink = (unsigned)solo_counter_read(&none);
}

static void die_with(void *shared) {
    solo_lock(shared);
    give_null(NULL);
}

static void steady(void *shared) {
    solo_record("no such color", solo_alloc_in(31, 8) == NULL);
    solo_record("too much", solo_alloc_in(1, (size_t)-1) == NULL);
    solo_record("aligned", ((uintptr_t)solo_alloc_in(2, 24) & 15) == 0);
    for (uint64_t job = 0;; job++) {
        solo_lock(shared);
        solo_unlock(shared);
        solo_simulated_cost(SOLO_US(5));
        solo_record("steady", job);
        solo_wait_next();
    }
}

static void go_on(void *nothing) {
    (void)nothing;
    for (uint64_t job = 0;; job++) {
        solo_simulated_cost(SOLO_US(5));
        solo_record("prompt", job);
        solo_wait_next();
    }
}

/* Under "FP", with this priority, on this core. */
static solo_parameters *each(uint32_t priority, uint16_t core) {
    solo_parameters *parameters = solo_periodic(SOLO_MS(10));
    solo_priority(parameters, priority);
    solo_core(parameters, core);
    return parameters;
}

void solo_declare(solo_program *program) {
    solo_policy(program, SOLO_PARTITIONED, "FP");
    solo_run_for(program, SOLO_MS(200));
    solo_mutex *shared = solo_new_mutex(program, "shared", SOLO_INHERITANCE);
    /* Core 0: those that make a mistake in their first job, more urgent than the one that makes none. */
#if !__STDC_HOSTED__
    solo_thread(program, "overruns its stack", each(1, 0), overrun, NULL);
    solo_thread(program, "jumps to null", each(1, 0), jump_to_null, NULL);
    solo_thread(program, "writes to null", each(1, 0), write_to_null, NULL);
    solo_thread(program, "traps", each(1, 0), trap, NULL);
    solo_thread(program, "never waits", each(9, 1), never_wait, NULL);
#endif
    solo_parameters *twice = each(1, 0);
    solo_color(twice, 1);
    solo_thread(program, "frees twice", twice, free_twice, NULL);
    solo_thread(program, "frees what it had not", each(1, 0), free_what_was_not_had, NULL);
    solo_thread(program, "takes what it did not declare", each(1, 0), take_without_a_word, shared);
    solo_thread(program, "gives null", each(1, 0), give_null, NULL);
    solo_thread(program, "reads without a counter", each(1, 0), read_without_a_counter, NULL);
    solo_parameters *dying = each(1, 0);
    solo_uses_mutex(dying, shared);
    solo_thread(program, "dies with a mutex", dying, die_with, shared);
    solo_parameters *calm = each(2, 0);
    solo_uses_mutex(calm, shared);
    solo_color(calm, 2);
    solo_thread(program, "steady", calm, steady, shared);
    solo_thread(program, "prompt", each(0, 1), go_on, NULL);
}
