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
