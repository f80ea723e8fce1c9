/* What a program of real-time threads in C links with. The same source boots on x86-64 and on 64-bit Arm with Solocore's kernel, and
 * runs as a process of Linux; `solo new NAME --language c` writes a whole one.
 *
 * A program has one function solo_declare, which declares its threads and locks and runs once. From there on each thread is a function
 * that runs from its first release until it returns; solo_wait_next() ends a job and returns at the next release.
 *
 * Times are in nanoseconds. A string must live as long as the program, as literals do. What a program declares wrongly is refused before
 * it runs, in words; a thread that makes a mistake later ends alone, and the report names it. On bare metal there is neither a C
 * library nor floating point.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef SOLO_APP_H
#define SOLO_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many microseconds, milliseconds, seconds. */
#define SOLO_US(n) (UINT64_C(1000) * (n))
#define SOLO_MS(n) (UINT64_C(1000000) * (n))
#define SOLO_S(n) (UINT64_C(1000000000) * (n))

typedef struct solo_program solo_program;
typedef struct solo_parameters solo_parameters;
typedef struct solo_semaphore solo_semaphore;
typedef struct solo_mutex solo_mutex;
typedef struct solo_trigger solo_trigger;

/* What a thread does. The argument is what it was declared with. */
typedef void (*solo_body)(void *argument);

/* ---- Declaring: in solo_declare, and nowhere else ---- */

/* Yours: declares the program. */
void solo_declare(solo_program *program);

/* The program ends when each periodic thread has finished so many jobs. */
void solo_jobs(solo_program *program, uint64_t jobs);
/* It ends at this time; without either after a second. */
void solo_run_for(solo_program *program, uint64_t time_ns);

enum { SOLO_PARTITIONED = 0, SOLO_GLOBAL = 1 };
/* How threads share cores, and who comes first: a criterion by its name in scenario files, such as "DM", "RM", "EDF" or "FP". Without
 * it partitioned and "DM". As a process of Linux only fixed priorities can be had. */
void solo_policy(solo_program *program, uint32_t scope, const char *criterion);

/* A counting semaphore with so many units at the beginning. Never NULL. */
solo_semaphore *solo_new_semaphore(solo_program *program, const char *name, uint32_t units);

enum { SOLO_PLAIN = 0, SOLO_INHERITANCE = 1, SOLO_CEILING = 2 };
/* A mutex of one of these protocols. Never NULL. */
solo_mutex *solo_new_mutex(solo_program *program, const char *name, uint32_t protocol);

/* What a thread is declared with: released once each period, above zero, its deadline hard and its period. Never NULL. */
solo_parameters *solo_periodic(uint64_t period_ns);
/* Released once, at the beginning, on what all others leave. Never NULL. */
solo_parameters *solo_once(void);
/* Released when others ask, with this distance between two releases or more, above zero; its deadline hard and the distance. For
 * solo_sporadic_thread. Never NULL. */
solo_parameters *solo_sporadic(uint64_t distance_ns);

/* A job is due so long after its release, instead of the period; what is released once becomes soft. */
void solo_deadline(solo_parameters *parameters, uint64_t deadline_ns);
/* The first release of a periodic thread comes so late. */
void solo_offset(solo_parameters *parameters, uint64_t offset_ns);
/* A periodic or sporadic thread may miss deadlines; misses are counted. */
void solo_soft(solo_parameters *parameters);
/* It runs on what all others leave. */
void solo_best_effort(solo_parameters *parameters);
/* Its priority under "FP": 0 is the most urgent. */
void solo_priority(solo_parameters *parameters, uint32_t priority);
/* Its worst-case execution time, for criteria that order by it. */
void solo_wcet(solo_parameters *parameters, uint64_t wcet_ns);
/* Its core, of which 0 is the first and the one without a word. */
void solo_core(solo_parameters *parameters, uint16_t core);
/* The color of its stack and of what it allocates: 0 to 31. */
void solo_color(solo_parameters *parameters, uint16_t color);
/* It uses this lock. A thread that takes another one is ended. */
void solo_uses_semaphore(solo_parameters *parameters, const solo_semaphore *semaphore);
void solo_uses_mutex(solo_parameters *parameters, const solo_mutex *mutex);

/* A thread that does `body`. `parameters` are used up. */
void solo_thread(solo_program *program, const char *name, solo_parameters *parameters, solo_body body, void *argument);

/* The same of solo_sporadic: what asks for its jobs; NULL where the program is refused. Its body begins when it is asked for the first time. */
solo_trigger *solo_sporadic_thread(solo_program *program, const char *name, solo_parameters *parameters, solo_body body, void *argument);

/* ---- In threads ---- */

/* Asks for a job of a sporadic thread: it is released now, or as soon as its least distance has passed since the one before; while one is
 * held back so, nothing more is. */
void solo_fire(const solo_trigger *trigger);
/* The same, so much later. One such request is kept at a time, the first to come; solo_fire does not wait for it. */
void solo_fire_after(const solo_trigger *trigger, uint64_t time_ns);

/* The job is done. Returns when the next one is released, at its absolute time: periods do not drift. */
void solo_wait_next(void);
/* Leaves the core for so long, at most 100 days. */
void solo_sleep(uint64_t length_ns);
/* Computes until the thread has used so much more of a core, at most 100 days. */
void solo_compute(uint64_t length_ns);
/* Tells the simulated machine, which does not see instructions, what the thread's own code costs there since it last asked for something;
 * 0 where it costs nothing. Each job tells it, or computes, or it is refused there. On other machines nothing happens. */
void solo_simulated_cost(uint64_t cost_ns);
/* The time since the beginning of the run, in nanoseconds. */
uint64_t solo_now(void);
/* Lets an emulator go on with other cores; a loop of more than some microseconds should call it. 50 ns on the simulated machine. */
void solo_pause(void);
/* A number for the report, with time and thread; at most 16,384 are kept. */
void solo_record(const char *name, uint64_t value);

/* Takes a unit, or waits for one; adds one. */
void solo_acquire(const solo_semaphore *semaphore);
void solo_release(const solo_semaphore *semaphore);
/* Takes a mutex, or waits for it; gives it back, which the thread that took it must do. A thread that takes what it holds already, or gives
 * back what it does not hold, is ended. */
void solo_lock(const solo_mutex *mutex);
void solo_unlock(const solo_mutex *mutex);

/* So many bytes of a color that a thread of the program has, or of the color of the thread that asks; aligned to 16, zeros at the
 * beginning. NULL where there are none: a color's heap has 64 KiB, of which each piece takes up to 80 bytes more. */
void *solo_alloc_in(uint16_t color, size_t bytes);
void *solo_alloc(size_t bytes);
/* Gives it back. NULL is nothing; what is given back twice ends the thread. */
void solo_free(void *memory);

enum { SOLO_INSTRUCTIONS = 0, SOLO_CYCLES = 1, SOLO_LAST_LEVEL_MISSES = 2 };
/* A counter of one of these events, in memory of yours. It must not move once it was found. */
typedef struct {
    uint64_t internal[24];
} solo_counter;
/* Finds the counter: of the core on bare metal, of the thread as a process. False where none counts; then it must not be used. */
bool solo_counter_find(solo_counter *counter, uint32_t event);
/* Lets it count from now on. From Rust these are the mediator's instructions in place; from C they are calls. */
void solo_counter_start(solo_counter *counter);
/* What it has counted. Differences of two readings count. */
uint64_t solo_counter_read(solo_counter *counter);

#ifdef __cplusplus
}
#endif
#endif
