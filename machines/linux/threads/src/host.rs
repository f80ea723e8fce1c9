//! What this Linux lends to threads.

use crate::sched;
use solo_model::Duration;
use std::fs;

/// What this process may do here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The CPUs that it may use, ascending.
    pub cpus: Vec<usize>,
    /// How many there are in all.
    pub online: usize,
    /// Whether threads may be under SCHED_FIFO.
    pub fifo: bool,
    /// The priorities of SCHED_FIFO, lowest and highest.
    pub priorities: (i32, i32),
    /// Bytes of memory that nobody uses; 0 where the kernel does not say.
    pub memory: u64,
    /// Microseconds of each period that real-time threads may use, and the period; `None` where they may use all of it.
    pub real_time_share: Option<(u64, u64)>,
    /// How long a thread under SCHED_RR runs before its equals do; `None` where the kernel does not say.
    pub slice: Option<Duration>,
}

impl Host {
    /// Looks at this machine. A thread that ends at once finds out about SCHED_FIFO.
    pub fn look() -> Self {
        let priorities = sched::priorities();
        // As high as threads may be asked for: a limit may allow less than the highest.
        let tried = std::thread::spawn(move || sched::fifo(priorities.1).is_ok()).join();
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
        let runtime = number("/proc/sys/kernel/sched_rt_runtime_us").and_then(|us| u64::try_from(us).ok());
        let period = number("/proc/sys/kernel/sched_rt_period_us").and_then(|us| u64::try_from(us).ok());
        Self {
            cpus: sched::cpus(),
            online: solo_perf::cpus::online(&solo_perf::files::Host::new()).len(),
            fifo: tried.unwrap_or(false),
            priorities,
            memory: sched::memory(),
            slice: number("/proc/sys/kernel/sched_rr_timeslice_ms")
                .and_then(|ms| u64::try_from(ms).ok())
                .map(Duration::from_millis),
            real_time_share: runtime.zip(period).filter(|(runtime, period)| runtime < period),
        }
    }
}
