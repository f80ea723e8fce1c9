// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A scheduler with a gate before each CPU: where it is closed, nobody enters but the kernel's own threads and those of whoever
 * opens it, and the CPU idles. Who closes and opens gates is a program outside the kernel, whose threads have a real-time class
 * and so are not scheduled here.
 *
 * Otherwise it is a plain scheduler: a queue for all, in the order of arrival, and one for each CPU, for those that may run
 * nowhere else.
 */
#include "kernel.h"
#include "others.h"

/* For each CPU: not 0 where its gate is closed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, __u32);
	__type(value, __u32);
} closed SEC(".maps");

static __always_inline bool is_closed(__s32 cpu)
{
	__u32 key = cpu;
	__u32 *gate = bpf_map_lookup_elem(&closed, &key);

	return gate && *(volatile __u32 *)gate;
}

static __always_inline bool passes_gates(const struct task_struct *task)
{
	struct settings *all = of_all();

	return (task->flags & PF_KTHREAD) || (all && task->tgid == all->keeper);
}

/* An idle CPU whose gate is open, which is no longer idle then; of those that `task` may use, if there is one. Less than 0
 * where there is none. */
static __always_inline __s32 claim_open(const struct task_struct *task)
{
	__s32 cpu, cpus = number_of_cpus();

	bpf_for(cpu, 0, cpus) {
		if (is_closed(cpu) || (task && !may_use(task, cpu)))
			continue;
		if (scx_bpf_test_and_clear_cpu_idle(cpu))
			return cpu;
	}
	return -1;
}

SEC("struct_ops/gate_select_cpu")
__s32 BPF_PROG(gate_select_cpu, struct task_struct *task, __s32 previous, __u64 flags)
{
	bool is_idle = false;
	__s32 cpu = scx_bpf_select_cpu_dfl(task, previous, flags, &is_idle);

	/* A CPU that is idle because its gate is closed is no place to go to. */
	if (is_idle && is_closed(cpu)) {
		__s32 other = claim_open(task);

		is_idle = other >= 0;
		cpu = is_idle ? other : previous;
	}
	if (is_idle)
		insert(task, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

SEC("struct_ops/gate_enqueue")
void BPF_PROG(gate_enqueue, struct task_struct *task, __u64 flags)
{
	__u64 slice = task->scx.slice, queue = SHARED;

	if (!slice)
		slice = SCX_SLICE_DFL;
	/* Who passes gates, and who is alone where the gate is open, stays. */
	if (passes_gates(task) || ((flags & SCX_ENQ_LAST) && !is_closed(scx_bpf_task_cpu(task)))) {
		insert(task, SCX_DSQ_LOCAL, slice, flags);
		return;
	}
	/* Who was only interrupted by a real-time thread keeps its place. */
	if (flags & SCX_ENQ_REENQ)
		flags |= SCX_ENQ_HEAD;
	if (task->nr_cpus_allowed == 1)
		queue = scx_bpf_task_cpu(task);
	insert(task, queue, slice, flags);
	if (queue == SHARED && !(flags & SCX_ENQ_REENQ)) {
		__s32 cpu = claim_open(task);

		if (cpu >= 0)
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
}

SEC("struct_ops/gate_dispatch")
void BPF_PROG(gate_dispatch, __s32 cpu, struct task_struct *previous)
{
	if (is_closed(cpu)) {
		/* What waits for any CPU goes to one that is open. */
		__s32 other = scx_bpf_dsq_nr_queued(SHARED) > 0 ? claim_open(NULL) : -1;

		if (other >= 0)
			scx_bpf_kick_cpu(other, SCX_KICK_IDLE);
		return;
	}
	dispatch_other(cpu);
}

/* A real-time thread takes the CPU. Whoever is interrupted waits in a queue meanwhile, not before the CPU: the gate may be closed
 * when the real-time thread sleeps again. */
SEC("struct_ops/gate_cpu_release")
void BPF_PROG(gate_cpu_release, __s32 cpu, struct scx_cpu_release_args *args)
{
	reenqueue_local();
}

SEC("struct_ops.s/gate_init")
__s32 BPF_PROG(gate_init)
{
	return create_queues();
}

SEC("struct_ops/gate_exit")
void BPF_PROG(gate_exit, struct scx_exit_info *info)
{
	remember(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops gate = {
	.select_cpu = (void *)gate_select_cpu,
	.enqueue = (void *)gate_enqueue,
	.dispatch = (void *)gate_dispatch,
	.cpu_release = (void *)gate_cpu_release,
	.init = (void *)gate_init,
	.exit = (void *)gate_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 5000,
	.name = "solo_gate",
};
