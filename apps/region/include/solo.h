/* libsolo: counters around parts of a program, on stock Linux.
 *
 *     solo_regions *regions = solo_regions_open("instructions,llc_misses");
 *     if (!regions) { fprintf(stderr, "%s\n", solo_error()); return 1; }
 *     solo_region_start(regions);
 *     work();
 *     solo_region_stop(regions, "work");
 *     char *table = solo_regions_table(regions);
 *     fputs(table, stdout);
 *     solo_text_free(table);
 *     solo_regions_close(regions);
 *
 * Regions belong to the thread that opened them and count that thread alone: each thread opens its own, and uses
 * and closes them itself. Regions nest: a stop ends the region that was started last. Events that the machine can't
 * count are no error; they are `-` in the table and -1 here. Link with -lsolo (shared), or with libsolo.a -lpthread
 * -ldl -lm.
 */
#ifndef SOLO_H
#define SOLO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct solo_regions solo_regions;

/* Opens events, written as for `solo watch -e`; they count in user mode where they do not say otherwise
 * (instructions:uk, cycles:k). NULL where the string is wrong; see solo_error. */
solo_regions *solo_regions_open(const char *events);

/* The same for whoever runs on any CPU of the machine; takes the right to count CPUs (CAP_PERFMON). */
solo_regions *solo_regions_open_machine(const char *events);

/* Opens for the calling thread what another thread has opened: its events, sampling period and virtual counters, with totals of their
 * own. The other thread must not use its regions during the call. NULL where that can't be; see solo_error. */
solo_regions *solo_regions_clone(const solo_regions *regions);

/* Counts other events from the next region on; what was counted stays under its event's name. 0, or -1 where the string is wrong or a
 * region is open: then everything is as before. */
int solo_regions_events(solo_regions *regions, const char *events);

/* Takes a sample in a region each time the thread has run so long, 100 us or more; 0 for none. Samples by an event need no period: write
 * it as page_faults:ebs=100. 0, or -1 as above. */
int solo_regions_every(solo_regions *regions, uint64_t period_ns);

/* Reads the virtual counters of these monitoring modules (`solo events --modules` lists them: "psi,rapl") where regions begin and
 * end; they are the machine's. 0, or -1 where there is no such module. */
int solo_regions_virtual(solo_regions *regions, const char *modules);

/* Adds the totals of another thread's regions with the same events; its samples and virtual counters stay its own. The other thread
 * must not use its regions during the call. 0, or -1. */
int solo_regions_merge(solo_regions *regions, const solo_regions *others);

/* What went wrong last on this thread; valid until the next call on it. Never NULL. */
const char *solo_error(void);

/* Begins a region: 0, or -1 where 64 are open already. */
int solo_region_start(solo_regions *regions);

/* Ends the region that was started last, under this name: 0, or -1 where none is open. */
int solo_region_stop(solo_regions *regions, const char *name);

/* What an event came to in a region over all passes; -1 where either is unknown or could not be counted. */
int64_t solo_region_count(const solo_regions *regions, const char *name, const char *event);

/* How often a region was passed, and the time in it in nanoseconds; 0 for unknown ones. */
uint64_t solo_region_passes(const solo_regions *regions, const char *name);
uint64_t solo_region_time_ns(const solo_regions *regions, const char *name);

/* What a virtual counter came to in a region: the sum over all passes, or for one that tells how things are, the last value.
 * INT64_MIN where either is unknown or could not be read. */
int64_t solo_region_virtual(const solo_regions *regions, const char *name, const char *counter);

/* The samples of a region, from 0: how many, how many found no room, when one was taken (nanoseconds since its pass began), and what an
 * event came to since the sample before, or since the region began; -1 where that is unknown. A sample in a region inside another
 * is the inner one's. */
uint64_t solo_region_samples(const solo_regions *regions, const char *name);
uint64_t solo_region_lost(const solo_regions *regions, const char *name);
uint64_t solo_region_sample_at_ns(const solo_regions *regions, const char *name, uint64_t sample);
int64_t solo_region_sample_count(const solo_regions *regions, const char *name, uint64_t sample, const char *event);

/* What an empty region costs, in nanoseconds a start and stop, measured now. */
uint64_t solo_region_cost_ns(solo_regions *regions);

/* All regions as a table; to be given back with solo_text_free. NULL where there is no memory. */
char *solo_regions_table(const solo_regions *regions);
void solo_text_free(char *text);

/* Closes the counters. NULL is allowed. */
void solo_regions_close(solo_regions *regions);

#ifdef __cplusplus
}
#endif

#endif
