/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What both schedulers have in common: how threads are scheduled that they have nothing to say about (a queue for all, in the order of
 * arrival, and one for each CPU, for those that may run nowhere else), and what is kept of how the kernel ended them.
 */
#ifndef SOLO_OTHERS_H
#define SOLO_OTHERS_H

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CPUS 1024
/* Queues of CPUs have the CPUs' numbers. */
#define SHARED CPUS

struct settings {
	__u32 cpus;
	__s32 keeper;
};

struct ending {
	__u32 over;
	__u32 kind;
	char reason[64];
	char message[192];
};

/* For each CPU: which queue comes first next time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, __u32);
	__type(value, __u32);
} turn SEC(".maps");

/* How many CPUs there may be, and the process that has loaded the scheduler. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

/* Why the kernel has ended the scheduler. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ending);
} ending SEC(".maps");

static const __u32 ONLY = 0;

static __always_inline struct settings *of_all(void)
{
	return bpf_map_lookup_elem(&settings, &ONLY);
}

static __always_inline __s32 number_of_cpus(void)
{
	struct settings *all = of_all();

	return !all ? 0 : all->cpus > CPUS ? CPUS : all->cpus;
}

static __always_inline __s32 create_queues(void)
{
	__s32 cpu, error = scx_bpf_create_dsq(SHARED, -1), cpus = number_of_cpus();

	bpf_for(cpu, 0, cpus) {
		if (error)
			break;
		error = scx_bpf_create_dsq(cpu, -1);
	}
	return error;
}

/* One queue and the other come first in turn. */
static __always_inline void dispatch_other(__s32 cpu)
{
	__u32 key = cpu, *own = bpf_map_lookup_elem(&turn, &key);

	if (!own)
		return;
	*own = !*own;
	if (*own) {
		if (!move_to_local(cpu))
			move_to_local(SHARED);
	} else if (!move_to_local(SHARED)) {
		move_to_local(cpu);
	}
}

/* An idle CPU that `task` may use, which is no longer idle then; less than 0 where there is none. */
static __always_inline __s32 claim_idle(const struct task_struct *task)
{
	__s32 cpu, cpus = number_of_cpus();

	bpf_for(cpu, 0, cpus) {
		if (may_use(task, cpu) && scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	}
	return -1;
}

/* Into the queue that is its own; the kernel's threads are before all. */
static __always_inline void enqueue_other(struct task_struct *task, __u64 flags)
{
	__u64 slice = task->scx.slice, queue = SHARED;
	__s32 cpu;

	if (!slice)
		slice = SCX_SLICE_DFL;
	if (task->flags & PF_KTHREAD) {
		insert(task, SCX_DSQ_LOCAL, slice, flags);
		return;
	}
	if (task->nr_cpus_allowed == 1)
		queue = scx_bpf_task_cpu(task);
	insert(task, queue, slice, flags);
	cpu = queue == SHARED ? claim_idle(task) : -1;
	if (cpu >= 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

static __always_inline void remember(struct scx_exit_info *info)
{
	struct ending *end = bpf_map_lookup_elem(&ending, &ONLY);

	if (!end)
		return;
	end->kind = info->kind;
	bpf_probe_read_kernel_str(end->reason, sizeof(end->reason), info->reason);
	bpf_probe_read_kernel_str(end->message, sizeof(end->message), info->msg);
	*(volatile __u32 *)&end->over = 1;
}

#endif
