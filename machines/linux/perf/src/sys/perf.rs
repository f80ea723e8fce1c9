//! `perf_event_open` and its ioctls.

use perf_event_open_sys as sys;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use sys::bindings as b;

/// What `perf_event_open` is told about one event.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Attr {
    /// The PMU.
    pub kind: u32,
    /// Its configuration words.
    pub config: [u64; 3],
    /// Don't count in user mode.
    pub exclude_user: bool,
    /// Don't count in kernel mode.
    pub exclude_kernel: bool,
    /// A sample each time this many were counted; 0 for none.
    pub period: u64,
}

impl Attr {
    /// Nanoseconds that a thread ran, with a sample each time so many have passed.
    pub(crate) const fn clock(period: u64) -> Self {
        let config = [b::PERF_COUNT_SW_TASK_CLOCK as u64, 0, 0];
        Self { kind: b::PERF_TYPE_SOFTWARE, config, exclude_user: false, exclude_kernel: false, period }
    }

    /// Moves of a thread from one CPU to another, which the kernel counts itself.
    pub const MIGRATIONS: Self = Self {
        kind: b::PERF_TYPE_SOFTWARE,
        config: [b::PERF_COUNT_SW_CPU_MIGRATIONS as u64, 0, 0],
        exclude_user: false,
        exclude_kernel: false,
        period: 0,
    };
}

/// Whom an event counts, and when it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scope {
    /// A thread, or -1 for all.
    pub(crate) thread: i32,
    /// A CPU, or -1 for all.
    pub(crate) cpu: i32,
    /// Count what comes out of the thread, too.
    pub(crate) inherit: bool,
    /// Start when the thread executes another program.
    pub(crate) on_exec: bool,
}

/// Words before the counts of a group reading: number, time enabled, time running.
pub(crate) const HEADER_WORDS: usize = 3;

/// When the kernel wakes who waits for samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wake {
    /// Never: samples are looked for.
    Never,
    /// At each sample.
    Each,
}

/// Opens one event, stopped unless it is a follower in a group.
pub(crate) fn open(attr: &Attr, scope: Scope, leader: Option<&File>) -> io::Result<File> {
    open_with(attr, scope, leader, Wake::Never)
}

/// Opens an event of a CPU, stopped, whose samples wake who waits for them: of everybody there, or of a control group's tasks.
pub(crate) fn open_alarm(attr: &Attr, cpu: i32, group: Option<BorrowedFd<'_>>) -> io::Result<File> {
    let flags = if group.is_some() { b::PERF_FLAG_PID_CGROUP } else { 0 };
    let thread = group.map_or(-1, |group| group.as_raw_fd());
    let scope = Scope { thread, cpu, inherit: false, on_exec: false };
    open_flagged(attr, scope, None, Wake::Each, flags)
}

fn open_with(attr: &Attr, scope: Scope, leader: Option<&File>, wake: Wake) -> io::Result<File> {
    open_flagged(attr, scope, leader, wake, 0)
}

fn open_flagged(
    attr: &Attr,
    scope: Scope,
    leader: Option<&File>,
    wake: Wake,
    flags: u32,
) -> io::Result<File> {
    let mut raw = b::perf_event_attr {
        type_: attr.kind,
        size: size_of::<b::perf_event_attr>() as u32,
        config: attr.config[0],
        ..Default::default()
    };
    raw.__bindgen_anon_3.config1 = attr.config[1];
    raw.__bindgen_anon_4.config2 = attr.config[2];
    raw.read_format = u64::from(
        b::PERF_FORMAT_GROUP | b::PERF_FORMAT_TOTAL_TIME_ENABLED | b::PERF_FORMAT_TOTAL_TIME_RUNNING,
    );
    raw.set_disabled(u64::from(leader.is_none()));
    raw.set_inherit(u64::from(scope.inherit));
    raw.set_enable_on_exec(u64::from(scope.on_exec && leader.is_none()));
    raw.set_exclude_user(u64::from(attr.exclude_user));
    raw.set_exclude_kernel(u64::from(attr.exclude_kernel));
    raw.set_exclude_hv(u64::from(attr.exclude_kernel));
    // All events of a group must be on the same clock.
    raw.set_use_clockid(1);
    raw.clockid = libc::CLOCK_MONOTONIC;
    if attr.period > 0 {
        raw.__bindgen_anon_1.sample_period = attr.period;
        raw.sample_type =
            u64::from(b::PERF_SAMPLE_TID | b::PERF_SAMPLE_TIME | b::PERF_SAMPLE_CPU | b::PERF_SAMPLE_READ);
        match wake {
            Wake::Never => {
                raw.set_watermark(1);
                raw.__bindgen_anon_2.wakeup_watermark = u32::MAX;
            }
            Wake::Each => raw.__bindgen_anon_2.wakeup_events = 1,
        }
    }
    let group = leader.map_or(-1, AsRawFd::as_raw_fd);
    let flags = libc::c_ulong::from(b::PERF_FLAG_FD_CLOEXEC | flags);
    // SAFETY: the attributes are a whole, initialised structure of the size they state.
    let fd = unsafe { sys::perf_event_open(&raw mut raw, scope.thread, scope.cpu, group, flags) };
    super::checked(fd)?;
    // SAFETY: the call has just given this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Opens an event that counts nothing and tells when a thread is given a CPU and loses it; it tells at once. On one CPU, it also tells of all
/// that comes out of the thread from now on.
pub(crate) fn open_switches(thread: i32, cpu: Option<i32>) -> io::Result<File> {
    let mut raw = b::perf_event_attr {
        type_: b::PERF_TYPE_SOFTWARE,
        size: size_of::<b::perf_event_attr>() as u32,
        config: b::PERF_COUNT_SW_DUMMY as u64,
        sample_type: u64::from(b::PERF_SAMPLE_TID | b::PERF_SAMPLE_TIME | b::PERF_SAMPLE_CPU),
        ..Default::default()
    };
    raw.set_context_switch(1);
    raw.set_inherit(u64::from(cpu.is_some()));
    raw.set_sample_id_all(1);
    raw.set_exclude_kernel(1);
    raw.set_exclude_hv(1);
    raw.set_use_clockid(1);
    raw.clockid = libc::CLOCK_MONOTONIC;
    raw.set_watermark(1);
    raw.__bindgen_anon_2.wakeup_watermark = u32::MAX;
    let flags = libc::c_ulong::from(b::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: the attributes are a whole, initialised structure of the size they state.
    let fd = unsafe { sys::perf_event_open(&raw mut raw, thread, cpu.unwrap_or(-1), -1, flags) };
    super::checked(fd)?;
    // SAFETY: the call has just given this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Lets a group count.
pub(crate) fn enable(leader: &File) -> io::Result<()> {
    // SAFETY: the descriptor is an event's; the argument is a flag.
    super::checked(unsafe { sys::ioctls::ENABLE(leader.as_raw_fd(), b::PERF_IOC_FLAG_GROUP) }).map(drop)
}

/// Stops a group.
pub(crate) fn disable(leader: &File) -> io::Result<()> {
    // SAFETY: as above.
    super::checked(unsafe { sys::ioctls::DISABLE(leader.as_raw_fd(), b::PERF_IOC_FLAG_GROUP) }).map(drop)
}

/// Lets a stopped event give its next sample after so many more; it counts from where it is enabled.
pub(crate) fn set_period(event: &File, period: u64) -> io::Result<()> {
    // The kernel takes the number by its address.
    let address = (&raw const period).addr() as u64;
    // SAFETY: the descriptor is an event's; the kernel reads the number during the call only.
    super::checked(unsafe { sys::ioctls::PERIOD(event.as_raw_fd(), address) }).map(drop)
}

/// Reads a group: number of events, time enabled, time running, then the counts.
pub(crate) fn read(mut leader: &File, words: &mut Vec<u64>, events: usize) -> io::Result<()> {
    let mut bytes = [0; 8 * 64];
    let wanted = 8 * (HEADER_WORDS + events);
    let buffer = bytes.get_mut(..wanted).ok_or_else(|| io::Error::other("a group has too many events"))?;
    let got = leader.read(buffer)?;
    if got != wanted {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the kernel gave no reading"));
    }
    words.clear();
    words.extend(buffer.chunks_exact(8).map(|chunk| u64::from_ne_bytes(std::array::from_fn(|i| chunk[i]))));
    Ok(())
}
