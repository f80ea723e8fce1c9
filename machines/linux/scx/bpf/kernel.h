/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What gate.bpf.c and ranks.bpf.c use of Linux: fields that are looked up where the program is loaded (CO-RE), numbers that are fixed, and
 * functions of sched_ext. Kernels from 6.13 on name some of these functions anew; each pair is declared, the one that the
 * kernel has is called.
 */
#ifndef SOLO_KERNEL_H
#define SOLO_KERNEL_H

typedef signed int __s32;
typedef signed long long __s64;
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#define bool _Bool
#define true 1
#define false 0

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_RINGBUF = 27 };

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_iter_num {
	__u64 opaque;
} __attribute__((aligned(8)));

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Its length depends on the kernel; nobody here looks inside. */
struct cpumask {
	unsigned long bits[1];
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

struct sched_ext_entity {
	__u64 slice;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	unsigned short migration_disabled;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

struct scx_cpu_acquire_args;
struct scx_cpu_release_args;

/* Members are matched by their names: the kernel's has more. */
struct sched_ext_ops {
	__u64 flags; /* the first one: gates.rs adds to it before it is loaded */
	__s32 (*select_cpu)(struct task_struct *task, __s32 previous, __u64 flags);
	void (*enqueue)(struct task_struct *task, __u64 flags);
	void (*dispatch)(__s32 cpu, struct task_struct *previous);
	void (*running)(struct task_struct *task);
	void (*quiescent)(struct task_struct *task, __u64 flags);
	bool (*yield)(struct task_struct *task, struct task_struct *to);
	void (*cpu_acquire)(__s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(__s32 cpu, struct scx_cpu_release_args *args);
	__s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	__u32 timeout_ms;
	char name[128];
};

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

/* kernel/sched/ext_internal.h */
#define SCX_OPS_ENQ_LAST (1ULL << 1)
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)
#define SCX_ENQ_HEAD (1ULL << 4)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_ENQ_LAST (1ULL << 41)
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_SLICE_DFL 20000000ULL

extern __s32 scx_bpf_create_dsq(__u64 queue, __s32 node) __ksym;
extern __s32 scx_bpf_select_cpu_dfl(struct task_struct *task, __s32 previous, __u64 flags, bool *is_idle) __ksym;
extern __s32 scx_bpf_dsq_nr_queued(__u64 queue) __ksym;
extern __s32 scx_bpf_task_cpu(const struct task_struct *task) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(__s32 cpu) __ksym;
extern void scx_bpf_kick_cpu(__s32 cpu, __u64 flags) __ksym;
extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;
extern bool bpf_cpumask_test_cpu(__u32 cpu, const struct cpumask *mask) __ksym;

/* What follows the last three underscores is not part of the kernel's name. */
extern void scx_bpf_dsq_insert___old(struct task_struct *task, __u64 queue, __u64 slice, __u64 flags) __ksym __weak;
extern bool scx_bpf_dsq_insert___v2___new(struct task_struct *task, __u64 queue, __u64 slice, __u64 flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local___old(__u64 queue) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local___v2___new(__u64 queue, __u64 flags) __ksym __weak;
extern __u32 scx_bpf_reenqueue_local___old(void) __ksym __weak;
extern void scx_bpf_reenqueue_local___v2___new(void) __ksym __weak;

/* Asking for the type lets the compiler describe it whole, without which no declaration of a function that takes it is that of the
 * kernel. */
static __always_inline bool may_use(const struct task_struct *task, __s32 cpu)
{
	return bpf_core_type_exists(struct cpumask) && bpf_cpumask_test_cpu(cpu, task->cpus_ptr);
}

static __always_inline void insert(struct task_struct *task, __u64 queue, __u64 slice, __u64 flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___new))
		scx_bpf_dsq_insert___v2___new(task, queue, slice, flags);
	else
		scx_bpf_dsq_insert___old(task, queue, slice, flags);
}

static __always_inline bool move_to_local(__u64 queue)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___new))
		return scx_bpf_dsq_move_to_local___v2___new(queue, 0);
	return scx_bpf_dsq_move_to_local___old(queue);
}

static __always_inline void reenqueue_local(void)
{
	if (bpf_ksym_exists(scx_bpf_reenqueue_local___v2___new))
		scx_bpf_reenqueue_local___v2___new();
	else
		scx_bpf_reenqueue_local___old();
}

#endif
