// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A scheduler for threads with ranks, as ranks.h says. Who they are, in which domain, and of which rank each job is, a program outside
 * the kernel says; a job that becomes ready brings its rank with it. Everybody else has what is left: a queue for all and one for each
 * CPU. The kernel's own threads come where a CPU has to choose anyway.
 *
 * One lock orders everything that is decided: it is held while what is known changes, never while the kernel is called.
 */
#include "kernel.h"
#include "others.h"
#include "ranks.h"

#define SLICE 4000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plane);
} plane SEC(".maps");

struct wish {
	__u64 rank;
	__u64 domain;
};

/* The rank of each seat's next job, and its domain. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SEATS);
	__type(key, __u32);
	__type(value, struct wish);
} wishes SEC(".maps");

/* Who has which seat, by the thread's number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * SEATS);
	__type(key, __s32);
	__type(value, __u32);
} seat_of SEC(".maps");

/* The domain of each CPU; NOBODY for none. From before the start. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, POSTS);
	__type(key, __u32);
	__type(value, __u32);
} domains SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} told SEC(".maps");

static __always_inline struct plane *the_plane(void)
{
	return bpf_map_lookup_elem(&plane, &ONLY);
}

/* The seat of a thread, or NOBODY. */
static __always_inline __u32 seat_of_thread(const struct task_struct *task)
{
	__s32 thread = task->pid;
	__u32 *seat = bpf_map_lookup_elem(&seat_of, &thread);

	return seat && *seat < SEATS ? *seat : NOBODY;
}

static __always_inline struct wish wish_of(__u32 seat)
{
	struct wish *wish = bpf_map_lookup_elem(&wishes, &seat), none = { 0, 0 };

	return wish ? *wish : none;
}

/* True where the CPU belongs to a domain. */
static __always_inline bool is_own(struct plane *p, __s32 cpu)
{
	return p && cpu >= 0 && cpu < POSTS && post_at(p, cpu)->domain != NOBODY;
}

/* What does not fit is missed by its number. */
static __always_inline void tell(struct told *what)
{
	bpf_ringbuf_output(&told, what, sizeof(*what), 0);
}

static __always_inline void leave(struct plane *p, __u32 seat)
{
	struct told what;

	bpf_spin_lock(&p->lock);
	on_gone(p, seat, &what);
	bpf_spin_unlock(&p->lock);
	tell(&what);
}

static __always_inline void kick(__u32 asked)
{
	if (asked != NOBODY)
		scx_bpf_kick_cpu(asked, SCX_KICK_PREEMPT);
}

/* Its migration is disabled, and not only by this program while it runs on its behalf. */
static __always_inline bool is_kept_here(const struct task_struct *task)
{
	if (!bpf_core_field_exists(task->migration_disabled))
		return false;
	if (task->migration_disabled == 1)
		return bpf_get_current_task_btf() != task;
	return task->migration_disabled;
}

SEC("struct_ops/ranks_select_cpu")
__s32 BPF_PROG(ranks_select_cpu, struct task_struct *task, __s32 previous, __u64 flags)
{
	bool is_idle = false;
	__s32 cpu;

	if (seat_of_thread(task) != NOBODY)
		return previous;
	cpu = scx_bpf_select_cpu_dfl(task, previous, flags, &is_idle);
	if (is_idle)
		insert(task, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

SEC("struct_ops/ranks_enqueue")
void BPF_PROG(ranks_enqueue, struct task_struct *task, __u64 flags)
{
	__u32 seat = seat_of_thread(task), asked;
	struct plane *p = the_plane();
	struct told what;
	struct wish wish;

	if (seat == NOBODY || !p) {
		enqueue_other(task, flags);
		return;
	}
	if (is_kept_here(task)) {
		/* No other CPU may have it. */
		leave(p, seat);
		insert(task, SCX_DSQ_LOCAL, SLICE, flags);
		return;
	}
	wish = wish_of(seat);
	bpf_spin_lock(&p->lock);
	asked = on_ready(p, seat, wish.rank, wish.domain, task->pid, &what);
	bpf_spin_unlock(&p->lock);
	kick(asked);
	tell(&what);
}

SEC("struct_ops/ranks_dispatch")
void BPF_PROG(ranks_dispatch, __s32 cpu, struct task_struct *previous)
{
	struct plane *p = the_plane();
	struct task_struct *task;
	struct told what;
	__u32 seat, before;
	__s32 thread = 0;

	if (!is_own(p, cpu)) {
		dispatch_other(cpu);
		return;
	}
	bpf_spin_lock(&p->lock);
	before = post_at(p, cpu)->running;
	seat = on_choose(p, cpu, &what);
	if (seat != NOBODY)
		thread = seat_at(p, seat)->thread;
	bpf_spin_unlock(&p->lock);
	tell(&what);
	if (seat == NOBODY) {
		dispatch_other(cpu);
		return;
	}
	if (seat == before && previous && previous->pid == thread) {
		previous->scx.slice = SLICE;
		return;
	}
	task = bpf_task_from_pid(thread);
	if (!task)
		return;
	insert(task, SCX_DSQ_LOCAL, SLICE, 0);
	bpf_task_release(task);
}

SEC("struct_ops/ranks_running")
void BPF_PROG(ranks_running, struct task_struct *task)
{
	__u32 seat = seat_of_thread(task), cpu = scx_bpf_task_cpu(task);
	struct plane *p = the_plane();
	struct told what;
	struct wish wish;
	__u32 asked = NOBODY;
	bool placed;

	if (seat == NOBODY || !is_own(p, cpu))
		return;
	wish = wish_of(seat);
	bpf_spin_lock(&p->lock);
	placed = post_at(p, cpu)->running != seat;
	if (placed)
		asked = on_placed(p, seat, cpu, wish.rank, wish.domain, &what);
	bpf_spin_unlock(&p->lock);
	if (placed)
		tell(&what);
	kick(asked);
}

SEC("struct_ops/ranks_quiescent")
void BPF_PROG(ranks_quiescent, struct task_struct *task, __u64 flags)
{
	__u32 seat = seat_of_thread(task);
	struct plane *p = the_plane();

	if (seat != NOBODY && p)
		leave(p, seat);
}

/* A thread's next job is there already: it goes on with another rank, if it still may. */
SEC("struct_ops/ranks_yield")
bool BPF_PROG(ranks_yield, struct task_struct *task, struct task_struct *to)
{
	__u32 seat = seat_of_thread(task);
	struct plane *p = the_plane();
	struct told what;
	struct wish wish;

	task->scx.slice = 0;
	if (seat == NOBODY || !p)
		return false;
	wish = wish_of(seat);
	bpf_spin_lock(&p->lock);
	on_rank(p, seat, wish.rank, &what);
	bpf_spin_unlock(&p->lock);
	tell(&what);
	return false;
}

/* A real-time thread takes the CPU, and who is on it waits as everybody does. */
SEC("struct_ops/ranks_cpu_release")
void BPF_PROG(ranks_cpu_release, __s32 cpu, struct scx_cpu_release_args *args)
{
	struct plane *p = the_plane();
	struct told what;
	__u32 asked;

	if (is_own(p, cpu)) {
		bpf_spin_lock(&p->lock);
		asked = on_taken(p, cpu, &what);
		bpf_spin_unlock(&p->lock);
		kick(asked);
		tell(&what);
	}
	reenqueue_local();
}

SEC("struct_ops/ranks_cpu_acquire")
void BPF_PROG(ranks_cpu_acquire, __s32 cpu, struct scx_cpu_acquire_args *args)
{
	struct plane *p = the_plane();
	struct told what;

	if (!is_own(p, cpu))
		return;
	bpf_spin_lock(&p->lock);
	on_given(p, cpu, &what);
	bpf_spin_unlock(&p->lock);
	tell(&what);
}

SEC("struct_ops.s/ranks_init")
__s32 BPF_PROG(ranks_init)
{
	struct plane *p = the_plane();
	__s32 cpu;

	bpf_for(cpu, 0, POSTS) {
		__u32 key = cpu, *domain = bpf_map_lookup_elem(&domains, &key);

		if (!p || !domain)
			break;
		post_at(p, cpu)->domain = *domain;
		post_at(p, cpu)->running = NOBODY;
	}
	return create_queues();
}

SEC("struct_ops/ranks_exit")
void BPF_PROG(ranks_exit, struct scx_exit_info *info)
{
	remember(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops ranks = {
	.select_cpu = (void *)ranks_select_cpu,
	.enqueue = (void *)ranks_enqueue,
	.dispatch = (void *)ranks_dispatch,
	.running = (void *)ranks_running,
	.quiescent = (void *)ranks_quiescent,
	.yield = (void *)ranks_yield,
	.cpu_acquire = (void *)ranks_cpu_acquire,
	.cpu_release = (void *)ranks_cpu_release,
	.init = (void *)ranks_init,
	.exit = (void *)ranks_exit,
	.timeout_ms = 5000,
	.name = "solo_ranks",
};
