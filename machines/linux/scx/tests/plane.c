/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * bpf/ranks.h as a program: a kernel that is driven by random numbers wakes, preempts and places threads, and what the scheduler tells
 * is printed, a line each. What the kernel takes off a CPU comes back late; requests to choose arrive late, and CPUs choose unasked.
 *
 *     plane SEED THREADS CPUS DOMAINS EVENTS
 */
#include <stdio.h>
#include <stdlib.h>

typedef signed int __s32;
typedef unsigned int __u32;
typedef unsigned long long __u64;
#define bool _Bool
#define true 1
#define false 0

struct bpf_spin_lock {
	__u32 val;
};

#include "ranks.h"

static struct plane plane;
static __u64 state, now;
static __u32 threads, cpus, domains;
static bool pending[POSTS], returns[SEATS];

static __u64 draw(__u64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void print(const struct told *what)
{
	printf("%llu %u %u %u %u %llu\n", what->number, what->kind, what->seat, what->cpu, what->asked, what->rank);
}

static void asks(__u32 cpu)
{
	if (cpu != NOBODY)
		pending[cpu] = true;
}

static void comes(__u32 seat)
{
	struct told what;

	asks(on_ready(&plane, seat, now + draw(40), seat % domains, seat, &what));
	print(&what);
}

/* What the kernel took off a CPU comes back later. */
static void taken_off(__u32 seat)
{
	if (seat != NOBODY)
		returns[seat] = true;
}

static void chooses(__u32 cpu)
{
	__u32 before = plane.posts[cpu].running, taken;
	struct told what;

	if (plane.posts[cpu].taken)
		return;
	pending[cpu] = false;
	taken = on_choose(&plane, cpu, &what);
	print(&what);
	if (before != taken)
		taken_off(before);
}

static void step(void)
{
	__u32 seat = draw(threads), cpu = draw(cpus), running = plane.posts[cpu].running;
	struct told what;

	now += draw(3);
	switch (draw(16)) {
	case 0 ... 3:
		if (returns[seat] || plane.seats[seat].state == ABSENT) {
			returns[seat] = false;
			comes(seat);
		}
		break;
	case 4 ... 7:
		if (pending[cpu])
			chooses(cpu);
		break;
	case 8:
		chooses(cpu);
		break;
	case 9 ... 11:
		if (running != NOBODY) {
			on_gone(&plane, running, &what);
			print(&what);
			pending[cpu] = true;
		}
		break;
	case 12:
		if (running != NOBODY) {
			on_rank(&plane, running, now + draw(40), &what);
			print(&what);
			pending[cpu] = true;
		}
		break;
	case 13:
		if (!plane.posts[cpu].taken) {
			taken_off(running);
			asks(on_taken(&plane, cpu, &what));
		} else {
			on_given(&plane, cpu, &what);
			pending[cpu] = true;
		}
		print(&what);
		break;
	case 14:
		if (plane.seats[seat].state == READY) {
			on_gone(&plane, seat, &what);
			print(&what);
		}
		break;
	default:
		if ((returns[seat] || plane.seats[seat].state == ABSENT) && !plane.posts[cpu].taken &&
		    seat % domains == cpu % domains) {
			returns[seat] = false;
			taken_off(running);
			pending[cpu] = false;
			asks(on_placed(&plane, seat, cpu, now + draw(40), seat % domains, &what));
			print(&what);
		}
	}
}

int main(int count, char **words)
{
	__u64 events, i;

	if (count != 6)
		return 2;
	state = 88172645463325252ULL + strtoull(words[1], NULL, 10) * 2654435761ULL;
	threads = strtoul(words[2], NULL, 10);
	cpus = strtoul(words[3], NULL, 10);
	domains = strtoul(words[4], NULL, 10);
	events = strtoull(words[5], NULL, 10);
	for (i = 0; i < POSTS; i++) {
		plane.posts[i].running = NOBODY;
		plane.posts[i].domain = i < cpus ? i % domains : NOBODY;
	}
	while (plane.number < events)
		step();
	return 0;
}
