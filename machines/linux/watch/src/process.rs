//! Starting, following and waiting for processes: system calls behind safe functions.
#![allow(unsafe_code)]

use solo_model::Duration;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, Ordering};

/// The error of the last system call where it returned -1.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A program that has been started and waits before its first instruction.
pub(crate) struct Held {
    /// The process.
    pub(crate) process: i32,
    go: File,
    failed: File,
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for the two descriptors, which are ours alone afterwards.
    unsafe {
        checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a zero byte in an argument"))
}

/// Starts a process that waits for [`Held::release`] before it becomes the program.
pub(crate) fn start(command: &[OsString], cpus: Option<&[usize]>) -> io::Result<Held> {
    let arguments = command.iter().map(|word| c_string(word)).collect::<io::Result<Vec<_>>>()?;
    let mut pointers: Vec<_> = arguments.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let mut mask = cpus.map(CpuSet::new).transpose()?;
    let (go_read, go) = pipe()?;
    let (failed, failed_write) = pipe()?;
    // SAFETY: between fork and exec the child calls only functions that are safe there, and everything they
    // need was allocated before.
    let process = checked(unsafe { libc::fork() })?;
    if process == 0 {
        // SAFETY: as above; `child` ends in exec or exit.
        unsafe {
            child(&pointers, mask.as_mut(), go_read.as_raw_fd(), go.as_raw_fd(), failed_write.as_raw_fd())
        }
    }
    Ok(Held { process, go, failed })
}

/// The child's side. Never returns.
///
/// # Safety
/// To be called right after `fork`, in the child, with pointers to zero-terminated strings, the last null.
unsafe fn child(
    arguments: &[*const libc::c_char],
    mask: Option<&mut CpuSet>,
    go: RawFd,
    unused: RawFd,
    failed: RawFd,
) -> ! {
    // SAFETY: plain system calls on descriptors and memory that this process owns.
    unsafe {
        // With the parent's end closed here, the parent's death ends the wait.
        libc::close(unused);
        let mut byte = 0_u8;
        loop {
            let got = libc::read(go, (&raw mut byte).cast(), 1);
            if got == 1 {
                break;
            }
            if got == 0 || *libc::__errno_location() != libc::EINTR {
                libc::_exit(127);
            }
        }
        if let Some(error) = mask.and_then(|mask| mask.keep_this_thread()) {
            say(failed, Stage::Cpus, error);
            libc::_exit(127);
        }
        // The parent may ignore or block what the program must not.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execvp(arguments[0], arguments.as_ptr());
        say(failed, Stage::Execute, *libc::__errno_location());
        libc::_exit(127)
    }
}

/// What a child was about when it failed.
#[derive(Clone, Copy)]
#[repr(i32)]
enum Stage {
    Execute = 0,
    Cpus = 1,
}

/// Tells the parent.
///
/// # Safety
/// `failed` is a descriptor of this process.
unsafe fn say(failed: RawFd, stage: Stage, error: libc::c_int) {
    let words = [stage as i32, error];
    // SAFETY: the words are valid for the call.
    unsafe { libc::write(failed, words.as_ptr().cast(), size_of_val(&words)) };
}

/// More CPUs than any Linux has (`CONFIG_NR_CPUS` is 8192 at most).
const CPUS_MAX: usize = 1 << 16;
type Word = libc::c_ulong;

/// CPUs to stay on, and as much room for the kernel's answer. Any number of them, where `cpu_set_t` ends at 1024.
struct CpuSet {
    wanted: Vec<Word>,
    got: Vec<Word>,
}

impl CpuSet {
    fn new(cpus: &[usize]) -> io::Result<Self> {
        let bits = Word::BITS as usize;
        let mut wanted: Vec<Word> = vec![0; CPUS_MAX / bits];
        for cpu in cpus {
            let word = wanted.get_mut(cpu / bits);
            *word.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))? |= 1 << (cpu % bits);
        }
        Ok(Self { got: vec![0; wanted.len()], wanted })
    }

    /// Keeps the calling thread on all of them and on no other; the error's number where that can't be. Allocates
    /// nothing.
    fn keep_this_thread(&mut self) -> Option<libc::c_int> {
        let size = size_of_val(self.wanted.as_slice());
        // SAFETY: both sets are as long as is said, and valid for the calls.
        unsafe {
            if libc::sched_setaffinity(0, size, self.wanted.as_ptr().cast()) == -1
                || libc::sched_getaffinity(0, size, self.got.as_mut_ptr().cast()) == -1
            {
                return Some(*libc::__errno_location());
            }
        }
        // The kernel leaves out in silence what is offline or not allowed here (cpuset).
        (self.wanted != self.got).then_some(libc::EINVAL)
    }
}

impl Held {
    /// Lets the process become its program. The kernel's error when there is no such program comes later, from
    /// [`Started::failure`], for a followed process stops on its way.
    pub(crate) fn release(mut self) -> io::Result<Started> {
        self.go.write_all(&[1])?;
        Ok(Started { failed: self.failed })
    }
}

/// A program that was let go.
pub(crate) struct Started {
    failed: File,
}

/// Why a program was never executed.
#[derive(Debug)]
pub enum Failure {
    /// It is not there, or not allowed.
    Execute(io::Error),
    /// It may not be kept on those CPUs.
    Cpus(io::Error),
}

impl Started {
    /// Why the program could not be executed, once its process has ended.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        let mut words = [[0; 4]; 2];
        self.failed.read_exact(words.as_flattened_mut()).ok()?;
        let [stage, error] = words.map(i32::from_ne_bytes);
        let error = io::Error::from_raw_os_error(error);
        Some(if stage == Stage::Cpus as i32 { Failure::Cpus(error) } else { Failure::Execute(error) })
    }
}

/// From now on this process becomes the parent of every descendant whose own parent ends.
///
/// # Errors
/// Where the kernel can't do that.
pub fn adopt() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }).map(drop)
}

/// The calling thread's number.
pub(crate) fn this_thread() -> i32 {
    // SAFETY: no pointers, no failure.
    unsafe { libc::gettid() }
}

/// Something that waiting brought up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    /// Nothing yet.
    Nothing,
    /// There is nobody left to wait for.
    Nobody,
    /// A thread ended with this exit status or by this signal.
    Ended(i32, Ended),
    /// A thread stopped for its follower: signal, and the event in the upper bits.
    Stopped(i32, i32, i32),
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By itself, with this status.
    Exited(u8),
    /// By a signal.
    Signalled(i32),
}

impl Ended {
    /// The status that a shell would pass on: 128 and the signal.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(255),
        }
    }
}

/// Looks whether something happened to `process`, or for -1 to any child or followed thread of the calling thread.
pub(crate) fn wait(process: i32, block: bool) -> io::Result<Waited> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | if block { 0 } else { libc::WNOHANG };
    // SAFETY: the pointer is valid for the call.
    let got = unsafe { libc::waitpid(process, &raw mut status, flags) };
    match got {
        0 => Ok(Waited::Nothing),
        -1 => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(Waited::Nobody),
            error if error.kind() == io::ErrorKind::Interrupted => Ok(Waited::Nothing),
            error => Err(error),
        },
        thread if libc::WIFEXITED(status) => {
            Ok(Waited::Ended(thread, Ended::Exited(libc::WEXITSTATUS(status) as u8)))
        }
        thread if libc::WIFSIGNALED(status) => {
            Ok(Waited::Ended(thread, Ended::Signalled(libc::WTERMSIG(status))))
        }
        thread => Ok(Waited::Stopped(thread, libc::WSTOPSIG(status), status >> 16)),
    }
}

/// C libraries number requests with and without a sign.
fn ptrace(request: impl Into<i64>, thread: i32, data: usize) -> io::Result<()> {
    let request = request.into();
    // SAFETY: these requests take no address and a number as data.
    let result = unsafe { libc::ptrace(request as _, thread, std::ptr::null_mut::<libc::c_void>(), data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Follows a thread and all that it starts.
pub(crate) fn seize(thread: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC;
    ptrace(libc::PTRACE_SEIZE, thread, options as usize)
}

/// Lets a stopped thread go on, with a signal or 0.
pub(crate) fn go_on(thread: i32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_CONT, thread, signal as usize)
}

/// Leaves a thread stopped as the user wanted it, but hears when it goes on.
pub(crate) fn listen(thread: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_LISTEN, thread, 0)
}

/// Stops a thread for its follower.
pub(crate) fn interrupt(thread: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, thread, 0)
}

/// Follows a stopped thread no longer.
pub(crate) fn detach(thread: i32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_DETACH, thread, signal as usize)
}

/// The number that came with the last event of a stopped thread.
pub(crate) fn event_message(thread: i32) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one word to the pointer, which is valid for the call.
    let result = unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, std::ptr::null_mut::<libc::c_void>(), &raw mut message)
    };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(message) }
}

/// What has been used of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Used {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

/// What children have used of CPUs that were waited for.
pub(crate) fn used() -> Used {
    // SAFETY: all zeros is a valid structure, which the kernel fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time =
        |time: libc::timeval| Duration::new(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000);
    Used { user: time(usage.ru_utime), system: time(usage.ru_stime) }
}

/// Sends a signal to a process.
pub(crate) fn signal(process: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::kill(process, signal) }).map(drop)
}

/// Where the handler of SIGCHLD knocks.
static BELL: AtomicI32 = AtomicI32::new(-1);

extern "C" fn knock(_: libc::c_int) {
    let bell = BELL.load(Ordering::Relaxed);
    if bell >= 0 {
        let one = 1_u64;
        // SAFETY: `write` may be called in a signal handler, and errno is put back for whoever was interrupted.
        unsafe {
            let before = *libc::__errno_location();
            libc::write(bell, (&raw const one).cast(), size_of::<u64>());
            *libc::__errno_location() = before;
        }
    }
}

/// Rings when a child or a followed thread has news. One for the process, kept for good.
pub(crate) fn bell() -> io::Result<RawFd> {
    static ONCE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ONCE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let known = BELL.load(Ordering::Acquire);
    if known >= 0 {
        return Ok(known);
    }
    // SAFETY: the handler is installed after the descriptor that it uses is there, and does only what handlers
    // may. The structure is whole.
    unsafe {
        let bell = checked(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
        BELL.store(bell, Ordering::Release);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = knock as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        checked(libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut()))?;
        Ok(bell)
    }
}

/// Waits until the bell rings or this many nanoseconds have passed.
pub(crate) fn sleep(bell: RawFd, nanoseconds: u64) {
    let mut poll = libc::pollfd { fd: bell, events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as _,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    let mut rings = 0_u64;
    // SAFETY: both structures and the word are valid for the calls; the descriptor never blocks.
    unsafe {
        if libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) > 0 {
            libc::read(bell, (&raw mut rings).cast(), size_of::<u64>());
        }
    }
}
