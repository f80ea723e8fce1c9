//! A followed thread: stopped, asked for system calls, let go.
#![allow(unsafe_code)]

use crate::registers::Registers;
use crate::sys::{Cpus, checked};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;

/// What waiting brought up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// Nobody is left.
    Nobody,
    /// A thread ended.
    Ended(i32, crate::Ended),
    /// A thread stopped.
    Stopped(i32, Stop),
}

/// Why a thread stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It is about to make one of the calls that change its memory.
    Calls,
    /// It has made a system call, or is about to.
    AtACall,
    /// It has become another program, and is still inside of `exec`.
    Became,
    /// It has started somebody.
    Started,
    /// It ends.
    Ends,
    /// It is new, was asked to stop, or its process was (the signal).
    Halted(i32),
    /// A signal is for it.
    Signal(i32),
}

/// A stop for a system call has this bit beside `SIGTRAP`.
const AT_A_CALL: i32 = libc::SIGTRAP | 0x80;

impl Stop {
    fn of(status: i32) -> Self {
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => Self::Calls,
            libc::PTRACE_EVENT_EXEC => Self::Became,
            libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => Self::Started,
            libc::PTRACE_EVENT_EXIT => Self::Ends,
            libc::PTRACE_EVENT_STOP => Self::Halted(signal),
            _ if signal == AT_A_CALL => Self::AtACall,
            _ => Self::Signal(signal),
        }
    }
}

/// Waits for news of `thread`, or for -1 of anyone; with `patience` until there are some, else `None` when there are none.
pub(crate) fn wait(thread: i32, patience: bool) -> io::Result<Option<News>> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | if patience { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: the pointer is valid for the call.
        let got = unsafe { libc::waitpid(thread, &raw mut status, flags) };
        let ended = |end| Ok(Some(News::Ended(got, end)));
        return match got {
            0 => Ok(None),
            -1 => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ECHILD) => Ok(Some(News::Nobody)),
                error if error.kind() == io::ErrorKind::Interrupted => continue,
                error => Err(error),
            },
            _ if libc::WIFEXITED(status) => ended(crate::Ended::Exited(libc::WEXITSTATUS(status) as u8)),
            _ if libc::WIFSIGNALED(status) => ended(crate::Ended::Signalled(libc::WTERMSIG(status))),
            _ => Ok(Some(News::Stopped(got, Stop::of(status)))),
        };
    }
}

/// A system call and its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// A followed thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Tracee(pub(crate) i32);

impl Tracee {
    /// C libraries number requests with and without a sign.
    pub(crate) fn ptrace<T>(self, request: impl Into<i64>, address: usize, data: *mut T) -> io::Result<()> {
        // SAFETY: every request below is given what `ptrace(2)` says that it reads or writes, valid for the call.
        let result = unsafe { libc::ptrace(request.into() as _, self.0, address as *mut libc::c_void, data) };
        if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn plain(self, request: impl Into<i64>, data: usize) -> io::Result<()> {
        self.ptrace(request, 0, data as *mut libc::c_void)
    }

    /// Follows it and all that it starts; when this process ends, they do.
    pub(crate) fn seize(self) -> io::Result<()> {
        let options = libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_TRACEEXIT
            | libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_EXITKILL;
        self.plain(libc::PTRACE_SEIZE, options as usize)
    }

    /// Lets it go on, with a signal or 0.
    pub(crate) fn go_on(self, signal: i32) -> io::Result<()> {
        self.plain(libc::PTRACE_CONT, signal as usize)
    }

    /// Lets it go on until it enters or leaves a system call.
    pub(crate) fn go_on_to_call(self) -> io::Result<()> {
        self.plain(libc::PTRACE_SYSCALL, 0)
    }

    /// Leaves it stopped, but hears when it goes on.
    pub(crate) fn listen(self) -> io::Result<()> {
        self.plain(libc::PTRACE_LISTEN, 0)
    }

    /// Asks it to stop.
    pub(crate) fn interrupt(self) -> io::Result<()> {
        self.plain(libc::PTRACE_INTERRUPT, 0)
    }

    /// The number that came with its last event.
    pub(crate) fn message(self) -> io::Result<u64> {
        let mut message: libc::c_ulong = 0;
        self.ptrace(libc::PTRACE_GETEVENTMSG, 0, &raw mut message)?;
        Ok(message)
    }

    /// Whether the signal for which it has stopped is this process's own [`knock`].
    pub(crate) fn is_knocked(self, signal: i32) -> io::Result<bool> {
        if signal != KNOCK {
            return Ok(false);
        }
        // SAFETY: all zeros is such a structure.
        let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
        self.ptrace(libc::PTRACE_GETSIGINFO, 0, &raw mut about)?;
        // SAFETY: a signal that a process has sent says who it was.
        let sender = unsafe { about.si_pid() };
        Ok(about.si_code == libc::SI_USER && u32::try_from(sender) == Ok(std::process::id()))
    }

    fn registers(self) -> io::Result<Registers> {
        Registers::read(self)
    }

    /// The system call at which it stands.
    pub(crate) fn system_call(self) -> io::Result<Call> {
        Ok(self.registers()?.call())
    }

    /// What the system call that it has made returned; `None` for an error.
    pub(crate) fn returned(self) -> io::Result<Option<u64>> {
        let value = self.registers()?.value() as u64;
        // Errors are the last 4,095 numbers.
        Ok((value < (-4095_i64) as u64).then_some(value))
    }

    /// Whether it runs a 64-bit program.
    pub(crate) fn is_sixty_four(self) -> io::Result<bool> {
        Ok(self.registers()?.is_sixty_four())
    }

    /// Makes it carry out a system call, at an instruction of its own that makes one, and puts it back as it was. It
    /// stands at the end of a system call or is halted.
    pub(crate) fn make(self, gate: u64, number: libc::c_long, arguments: [u64; 6]) -> io::Result<u64> {
        let mut all_signals = !0_u64;
        let mut blocked = 0_u64;
        let bytes = size_of::<u64>();
        self.ptrace(libc::PTRACE_GETSIGMASK, bytes, &raw mut blocked)?;
        let before = self.registers()?.interrupted();
        self.ptrace(libc::PTRACE_SETSIGMASK, bytes, &raw mut all_signals)?;
        before.at_call(gate, &Call { number, arguments }).write(self)?;
        self.cross()?;
        let value = self.registers()?.value();
        before.write(self)?;
        self.ptrace(libc::PTRACE_SETSIGMASK, bytes, &raw mut blocked)?;
        if (-4095..0).contains(&value) {
            Err(io::Error::from_raw_os_error(-value as i32))
        } else {
            Ok(value as u64)
        }
    }

    /// Into a system call and out of it again.
    fn cross(self) -> io::Result<()> {
        let mut stops = 0;
        while stops < 2 {
            self.go_on_to_call()?;
            match wait(self.0, true)? {
                Some(News::Stopped(_, Stop::AtACall)) => stops += 1,
                // The filter tells of the call between the two.
                Some(News::Stopped(_, Stop::Calls | Stop::Halted(_))) => {}
                _ => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        }
        Ok(())
    }
}

/// A program that waits before its first instruction.
pub(crate) struct Held {
    pub(crate) thread: Tracee,
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

/// The calls after which memory must be looked at.
const CALLS: [libc::c_long; 4] = [libc::SYS_mmap, libc::SYS_brk, libc::SYS_mremap, libc::SYS_munmap];

/// The filter that stops a thread at those calls, and at nothing else.
fn filter() -> Vec<libc::sock_filter> {
    /// `AUDIT_ARCH_X86_64` of `linux/audit.h`.
    const X86_64: u32 = 0xc000_003e;
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |offset| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let answer = |what| statement(libc::BPF_RET | libc::BPF_K, what);
    let equal = |k: u32, jt: usize, jf: usize| libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    };
    let mut program = vec![load(4), equal(X86_64, 1, 0), answer(libc::SECCOMP_RET_ALLOW), load(0)];
    for (index, number) in CALLS.iter().enumerate() {
        program.push(equal(*number as u32, CALLS.len() - index, 0));
    }
    program.extend([answer(libc::SECCOMP_RET_ALLOW), answer(libc::SECCOMP_RET_TRACE)]);
    program
}

/// Starts a process that waits for [`Held::release`] before it becomes the program.
pub(crate) fn start(command: &[OsString]) -> io::Result<Held> {
    let zero = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let words = command.iter().map(|word| CString::new(word.as_bytes()).map_err(zero));
    let words = words.collect::<io::Result<Vec<_>>>()?;
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let mut filter = filter();
    let cpus = Cpus::of_this_thread()?;
    let (go_read, go) = pipe()?;
    let (failed, failed_write) = pipe()?;
    // SAFETY: between fork and exec the child makes plain system calls only, and everything that they need was allocated before.
    let process = checked(unsafe { libc::fork() })?;
    if process == 0 {
        // SAFETY: as above; `child` ends in exec or exit.
        unsafe {
            child(
                &pointers,
                &mut filter,
                cpus,
                [go_read.as_raw_fd(), go.as_raw_fd(), failed_write.as_raw_fd()],
            )
        }
    }
    Ok(Held { thread: Tracee(process), go, failed })
}

/// The child's side. Never returns.
///
/// # Safety
/// To be called right after `fork`, in the child, with pointers to zero-terminated strings, the last null.
unsafe fn child(
    words: &[*const libc::c_char],
    filter: &mut [libc::sock_filter],
    cpus: Cpus,
    [go, unused, failed]: [RawFd; 3],
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
        let _ = cpus.keep();
        // Huge pages have frames of many colors.
        libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        let install =
            || libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program);
        // Who is not root needs the promise not to gain rights.
        if install() == -1 {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if install() == -1 {
                say(failed, *libc::__errno_location());
                libc::_exit(127);
            }
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execvp(words[0], words.as_ptr());
        say(failed, *libc::__errno_location());
        libc::_exit(127)
    }
}

/// Tells the parent.
///
/// # Safety
/// `failed` is a descriptor of this process.
unsafe fn say(failed: RawFd, error: libc::c_int) {
    // SAFETY: the word is valid for the call.
    unsafe { libc::write(failed, (&raw const error).cast(), size_of::<libc::c_int>()) };
}

impl Held {
    /// Lets the process become its program; the pipe tells later whether it could.
    pub(crate) fn release(mut self) -> io::Result<File> {
        self.go.write_all(&[1])?;
        Ok(self.failed)
    }
}

/// Why a program could not be executed, once its process has ended.
pub(crate) fn failure(pipe: &mut File) -> Option<io::Error> {
    let mut word = [0; 4];
    pipe.read_exact(&mut word).ok()?;
    Some(io::Error::from_raw_os_error(i32::from_ne_bytes(word)))
}

/// A signal that the program never sees: its follower takes it away.
const KNOCK: libc::c_int = 64;

/// Makes a thread of a process stop for its follower, who may be waiting.
pub(crate) fn knock(process: i32) {
    signal(process, KNOCK);
}

/// Asks a process to end, or with `SIGKILL` ends it.
pub(crate) fn signal(process: i32, signal: i32) {
    // SAFETY: no pointers. A process that has ended needs no signal.
    unsafe { libc::kill(process, signal) };
}
