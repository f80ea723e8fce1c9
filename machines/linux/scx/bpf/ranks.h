/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a scheduler of threads with ranks knows and decides: of the threads of a domain, which is a set of CPUs, those of the lowest
 * ranks run. No call of the kernel stands here, so that the same lines are tested as a program (tests/plane.c).
 *
 * Each function changes what is known and writes down what it decided, with a number: whoever reads these in their order can decide
 * everything again.
 */
#ifndef SOLO_RANKS_H
#define SOLO_RANKS_H

/* Threads with ranks, and CPUs of domains, have numbers below these. */
#define SEATS 64
#define POSTS 64
#define NOBODY 0xffffffff

enum state { ABSENT, READY, RUNNING, LEAVING };

/* What is told: numbers of told.rs. */
enum kind {
	TOLD_READY,	/* `seat` is ready, with `rank` */
	TOLD_CHOSEN,	/* `cpu` takes `seat`, or nobody */
	TOLD_GONE,	/* `seat` sleeps or ends, or is the kernel's to place */
	TOLD_RANK,	/* `seat` goes on with `rank` */
	TOLD_PLACED,	/* the kernel has put `seat` on `cpu` by itself */
	TOLD_TAKEN,	/* a real-time thread has `cpu` */
	TOLD_GIVEN,	/* and gives it back */
};

/* Of each kind `asked` is the CPU that is asked to choose because of it, if any. */

struct told {
	__u64 number;
	__u64 rank;
	__u32 kind;
	__u32 seat;
	__u32 cpu;
	__u32 asked;
};

struct seat {
	__u64 rank;
	__u32 state;
	__u32 cpu;
	__u32 domain;
	__s32 thread;
};

struct post {
	__u32 running;
	__u32 asked;
	__u32 taken;
	__u32 domain;
};

struct plane {
	struct bpf_spin_lock lock;
	__u64 number;
	/* What a search has found: kept here, and not in a register, so that the verifier does not follow each case to the end. */
	volatile __u64 best_rank;
	volatile __u32 best;
	volatile __u32 running;
	volatile __u32 count;
	struct seat seats[SEATS];
	struct post posts[POSTS];
};

/* A number below `most`, a power of two; in a way that the compiler does not take out where it knows better than the verifier. */
#ifdef __bpf__
#define BELOW(most, number) ({ __u64 below = (number); asm volatile("%0 &= %1" : "+r"(below) : "i"((most) - 1)); below; })
#else
#define BELOW(most, number) ((number) & ((most) - 1))
#endif

static __always_inline struct seat *seat_at(struct plane *p, __u32 number)
{
	return &p->seats[BELOW(SEATS, number)];
}

static __always_inline struct post *post_at(struct plane *p, __u32 cpu)
{
	return &p->posts[BELOW(POSTS, cpu)];
}

static __always_inline void note(struct plane *p, struct told *what, __u32 kind, __u32 seat, __u32 cpu, __u64 rank)
{
	what->number = p->number++;
	what->rank = rank;
	what->kind = kind;
	what->seat = seat;
	what->cpu = cpu;
	what->asked = NOBODY;
}

/* True where what a CPU runs (NOBODY for nothing) is less urgent than what another runs. Of equal ranks the higher number is. */
static __always_inline bool is_less_urgent(__u32 one, __u64 rank, __u32 other, __u64 other_rank)
{
	if (one == NOBODY || other == NOBODY)
		return one == NOBODY && other != NOBODY;
	return rank > other_rank || (rank == other_rank && one > other);
}

static __always_inline __u64 rank_on(struct plane *p, const struct post *post)
{
	return post->running < SEATS ? seat_at(p, post->running)->rank : ~0ULL;
}

/* The CPU to ask, for those that wait in `domain`. With CPUs from the least urgent on (idle ones before all) and threads from the most
 * urgent on, the kth CPU is to choose where the kth thread comes before what it runs. So the least urgent CPU that was not asked yet
 * is, where more threads come before what it runs than CPUs that were asked are less urgent. NOBODY for none. */
static __always_inline __u32 whom_to_ask(struct plane *p, __u32 domain)
{
	__u32 i, before;

	p->best = NOBODY;
	for (i = 0; i < POSTS; i++) {
		struct post *post = &p->posts[i];

		if (post->domain != domain || post->taken || post->asked)
			continue;
		if (p->best == NOBODY ||
		    is_less_urgent(post->running, rank_on(p, post), post_at(p, p->best)->running, p->best_rank)) {
			p->best = i;
			p->best_rank = rank_on(p, post);
		}
	}
	if (p->best == NOBODY)
		return NOBODY;
	p->running = post_at(p, p->best)->running;
	p->count = 0;
	for (i = 0; i < POSTS; i++) {
		struct post *post = &p->posts[i];

		if (post->domain == domain && !post->taken && post->asked &&
		    !is_less_urgent(p->running, p->best_rank, post->running, rank_on(p, post)))
			p->count++;
	}
	before = p->count;
	p->count = 0;
	for (i = 0; i < SEATS; i++) {
		struct seat *seat = &p->seats[i];

		if (seat->state == READY && seat->domain == domain && is_less_urgent(p->running, p->best_rank, i, seat->rank))
			p->count++;
	}
	return p->count > before ? p->best : NOBODY;
}

/* Asks whoever has to be, and writes that down. */
static __always_inline __u32 ask(struct plane *p, __u32 domain, struct told *what)
{
	__u32 cpu = whom_to_ask(p, domain);

	if (cpu != NOBODY)
		post_at(p, cpu)->asked = 1;
	what->asked = cpu;
	return cpu;
}

/* The most urgent of those that wait in `domain`, and of the one that `cpu` runs. NOBODY for none. */
static __always_inline __u32 whom_to_take(struct plane *p, __u32 domain, __u32 cpu)
{
	__u32 i;

	p->best = NOBODY;
	p->best_rank = ~0ULL;
	for (i = 0; i < SEATS; i++) {
		struct seat *seat = &p->seats[i];
		bool here = seat->state == READY || (seat->state == RUNNING && seat->cpu == cpu);

		if (here && seat->domain == domain && (p->best == NOBODY || seat->rank < p->best_rank)) {
			p->best = i;
			p->best_rank = seat->rank;
		}
	}
	return p->best;
}

/* Whoever `cpu` runs leaves it: it is with the kernel until it is ready again. */
static __always_inline __u32 empty(struct plane *p, __u32 cpu)
{
	struct post *post = post_at(p, cpu);
	__u32 before = post->running;

	if (before < SEATS)
		seat_at(p, before)->state = LEAVING;
	post->running = NOBODY;
	return before;
}

/* `seat` is no longer where it ran, if it did; that CPU chooses next. */
static __always_inline void vacate(struct plane *p, __u32 number)
{
	struct seat *seat = seat_at(p, number);
	struct post *post = post_at(p, seat->cpu);

	if (seat->state == RUNNING && post->running == number) {
		post->running = NOBODY;
		post->asked = 1;
	}
}

/* A thread waits. Who comes anew brings its rank and domain; who was on a CPU keeps them. Returns the CPU to ask. */
static __always_inline __u32 on_ready(struct plane *p, __u32 number, __u64 rank, __u32 domain, __s32 thread, struct told *what)
{
	struct seat *seat = seat_at(p, number);

	if (seat->state == ABSENT) {
		seat->rank = rank;
		seat->domain = domain;
	}
	vacate(p, number);
	seat->state = READY;
	seat->thread = thread;
	note(p, what, TOLD_READY, number, NOBODY, seat->rank);
	return ask(p, seat->domain, what);
}

/* A CPU of a domain chooses. Returns whom it takes, which may be the one it runs; NOBODY for none. */
static __always_inline __u32 on_choose(struct plane *p, __u32 cpu, struct told *what)
{
	struct post *post = post_at(p, cpu);
	__u32 taken = whom_to_take(p, post->domain, cpu);

	post->asked = 0;
	if (taken != post->running)
		empty(p, cpu);
	if (taken != NOBODY) {
		seat_at(p, taken)->state = RUNNING;
		seat_at(p, taken)->cpu = cpu;
	}
	post->running = taken;
	note(p, what, TOLD_CHOSEN, taken, cpu, 0);
	return taken;
}

static __always_inline void on_gone(struct plane *p, __u32 number, struct told *what)
{
	vacate(p, number);
	seat_at(p, number)->state = ABSENT;
	note(p, what, TOLD_GONE, number, NOBODY, 0);
}

/* A thread goes on with another rank; its CPU chooses next. */
static __always_inline void on_rank(struct plane *p, __u32 number, __u64 rank, struct told *what)
{
	struct seat *seat = seat_at(p, number);

	seat->rank = rank;
	if (seat->state == RUNNING)
		post_at(p, seat->cpu)->asked = 1;
	note(p, what, TOLD_RANK, number, NOBODY, rank);
}

/* Somebody begins to run whom nobody has chosen: the kernel has by itself. Returns the CPU to ask. */
static __always_inline __u32 on_placed(struct plane *p, __u32 number, __u32 cpu, __u64 rank, __u32 domain, struct told *what)
{
	struct seat *seat = seat_at(p, number);

	if (seat->state == ABSENT) {
		seat->rank = rank;
		seat->domain = domain;
	}
	vacate(p, number);
	empty(p, cpu);
	seat->state = RUNNING;
	seat->cpu = cpu;
	post_at(p, cpu)->running = number;
	post_at(p, cpu)->asked = 0;
	note(p, what, TOLD_PLACED, number, cpu, seat->rank);
	return ask(p, post_at(p, cpu)->domain, what);
}

/* Returns the CPU to ask. */
static __always_inline __u32 on_taken(struct plane *p, __u32 cpu, struct told *what)
{
	post_at(p, cpu)->taken = 1;
	post_at(p, cpu)->asked = 0;
	note(p, what, TOLD_TAKEN, empty(p, cpu), cpu, 0);
	return ask(p, post_at(p, cpu)->domain, what);
}

/* It chooses now. */
static __always_inline void on_given(struct plane *p, __u32 cpu, struct told *what)
{
	post_at(p, cpu)->taken = 0;
	post_at(p, cpu)->asked = 1;
	note(p, what, TOLD_GIVEN, NOBODY, cpu, 0);
}

#endif
