//! Keeping the rest of the machine out of a measurement, as far as Linux lets.

use std::io;

/// Priority under SCHED_FIFO while something is measured.
pub(crate) const PRIORITY: i32 = 80;

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// What the kernel says, for example that there is no such CPU.
pub fn keep_on(cpu: usize) -> io::Result<()> {
    // SAFETY: all zeros is the empty set; the kernel only reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu % (8 * size_of::<libc::cpu_set_t>()), &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPUs that the calling thread may use, ascending.
pub fn cpus() -> Vec<usize> {
    // SAFETY: the kernel fills in the set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: the positions lie within the set.
    (0..8 * size_of::<libc::cpu_set_t>()).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Puts the calling thread under SCHED_FIFO.
///
/// # Errors
/// What the kernel says, for example that it may not.
pub fn fifo(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel only reads the parameters.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel's `sched_setattr` reads.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Puts the calling thread under SCHED_DEADLINE, with its deadline at the end of its period. It must be allowed on
/// every CPU.
///
/// # Errors
/// What the kernel says, for example that the CPUs are promised to others.
pub fn deadline(runtime_ns: u64, period_ns: u64) -> io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_DEADLINE as u32,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: runtime_ns,
        deadline: period_ns,
        period: period_ns,
    };
    // SAFETY: the kernel reads as many bytes as the first field says.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Back to SCHED_OTHER.
pub fn other() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel only reads the parameters. Giving priority up is always allowed.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) };
}

/// The calling thread on one CPU, under SCHED_FIFO where that is allowed, until the end of `what`; its CPUs and
/// SCHED_OTHER come back afterwards. Says whether it was allowed.
pub fn steadily<T>(cpu: usize, what: impl FnOnce() -> T) -> (T, io::Result<()>) {
    let before = cpus();
    let kept = keep_on(cpu).and_then(|()| fifo(PRIORITY));
    let result = what();
    other();
    allow(&before);
    (result, kept)
}

/// Lets the calling thread use these CPUs.
pub fn allow(cpus: &[usize]) {
    // SAFETY: all zeros is the empty set; the kernel only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|&cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Keeps the pages of the process in memory, where that is allowed.
pub(crate) fn keep_in_memory() {
    // SAFETY: changes nothing but whether pages may be given away.
    unsafe { libc::mlockall(libc::MCL_CURRENT) };
}
