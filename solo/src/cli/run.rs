//! The command line of `solo run`.

use super::{Instead, Keep, On, Show};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Run a scenario.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The scenario file; or the folder of a program that stands on solo-app (docs/programs.md)
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) scenario: PathBuf,
    /// Run this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// The simulated multicore, threads of this Linux, or the bare-metal kernel under QEMU: on x86-64, or on 64-bit Arm
    #[arg(long, value_enum, default_value_t = On::Sim)]
    pub(crate) on: On,
    /// With --on rtos or rtos-arm64: boot nothing, take what a machine said on its serial line after it booted what `solo pack` wrote
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) serial: Option<PathBuf>,
    /// With --on rtos: what executes the kernel. QEMU counts a nanosecond for each instruction unless said, so that runs repeat exactly; kvm is
    /// this machine's own processor, parallel QEMU with each core in a thread: both in real time
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) accel: Option<Accel>,
    /// With --on linux: who schedules the threads of hard and soft tasks. SCHED_FIFO unless said; ranks is SCHED_FIFO with priorities that
    /// follow the ranks of jobs, for EDF; hosted is the kernel of the other machines in this process, for any criterion; deadline is SCHED_DEADLINE, for EDF over all CPUs; sched-ext is a scheduler in eBPF, for EDF too, which schedules all ordinary threads of this machine meanwhile
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) scheduler: Option<LinuxScheduler>,
    /// With --on linux: what is counted of each job (`solo events` lists it), for example instructions,llc_misses
    #[arg(long, value_name = "EVENTS")]
    pub(crate) count: Option<String>,
    /// Stop as soon as this happens: "miss" (a deadline passes), "throttle" (a core has used up its budget), or TASK>TIME such
    /// as "control>3ms" (a job is not done so long after its release)
    #[arg(long, value_name = "WHAT")]
    pub(crate) stop_on: Option<String>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// What executes the kernel of bare metal.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accel {
    // QEMU's translator, a nanosecond for each instruction.
    InstructionClock,
    // QEMU's translator, each core in a thread.
    Parallel,
    // The processor itself.
    Kvm,
}

/// Who schedules threads of this Linux.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinuxScheduler {
    // Linux's own SCHED_FIFO, by priorities.
    Fifo,
    // Linux's own SCHED_DEADLINE, over all CPUs.
    Deadline,
    // SCHED_FIFO, with priorities that follow the ranks of jobs: EDF without a module or eBPF.
    Ranks,
    // The kernel of the other machines, in this process: any criterion.
    Hosted,
    // A scheduler in eBPF (sched_ext), by the ranks of jobs; the criterion repeats what it decides.
    SchedExt,
}
