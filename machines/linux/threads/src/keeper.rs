//! Nothing of a program stays behind, whatever becomes of who started it: a process that waits for that, and ends them.
#![allow(unsafe_code)]

use crate::sched;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// How often the keeper tries to end a group whose members go on to start others.
const ROUNDS: u32 = 200;

/// The groups of processes that are under way, in memory that the keeper sees, too.
struct Groups {
    first: *const AtomicI32,
    count: usize,
}

// SAFETY: what is shared are atomic numbers.
unsafe impl Send for Groups {}
// SAFETY: as above.
unsafe impl Sync for Groups {}

/// No group.
const NONE: i32 = 0;

impl Groups {
    fn new(count: usize) -> io::Result<Self> {
        let size = count.max(1) * size_of::<AtomicI32>();
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, which nobody else has; it is all zeros.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { first: memory.cast(), count: count.max(1) })
    }

    fn all(&self) -> &[AtomicI32] {
        // SAFETY: there are so many, from the beginning of the mapping on, and they live as long as this.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody has a reference any more.
        unsafe { libc::munmap(self.first.cast_mut().cast(), self.count * size_of::<AtomicI32>()) };
    }
}

/// Ends the processes of all groups that are under way when this process ends, killed or not.
pub(crate) struct Keeper {
    groups: Groups,
    process: libc::pid_t,
    /// Held open: its end is this process's.
    alive: Option<File>,
}

impl Keeper {
    /// Starts it, for so many groups at a time.
    ///
    /// # Errors
    /// Where the system has no process or memory for it.
    pub(crate) fn start(groups: usize) -> io::Result<Self> {
        let groups = Groups::new(groups)?;
        let mut ends = [0; 2];
        // SAFETY: the array has room for the two descriptors, which are ours alone afterwards.
        let (dead, alive) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
        };
        // SAFETY: the child makes system calls only, on memory and descriptors that it has, and never returns.
        let process = unsafe { libc::fork() };
        if process == 0 {
            // SAFETY: as above.
            unsafe { keep(groups.all(), dead.as_raw_fd(), alive.as_raw_fd()) }
        }
        if process < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { groups, process, alive: Some(alive) })
    }

    /// From now on these processes are under way.
    pub(crate) fn begins(&self, place: usize, group: u32) {
        let group = i32::try_from(group).unwrap_or(NONE);
        self.groups.all()[place].store(group, Ordering::SeqCst);
    }

    /// They have ended; to be said before the number of the group may be another's.
    pub(crate) fn ended(&self, place: usize) {
        self.groups.all()[place].store(NONE, Ordering::SeqCst);
    }

    /// The group that is under way there.
    pub(crate) fn group(&self, place: usize) -> Option<i32> {
        Some(self.groups.all()[place].load(Ordering::SeqCst)).filter(|group| *group > NONE)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.alive = None;
        let mut status = 0;
        // SAFETY: the pointer is valid for the call; the process is ours, and nobody else waits for it.
        while unsafe { libc::waitpid(self.process, &raw mut status, 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// Waits until nobody holds `alive` any more, and kills all groups that are under way then.
///
/// # Safety
/// To be called in the child right after `fork`: it does what is safe there, and nothing else.
unsafe fn keep(groups: &[AtomicI32], dead: RawFd, alive: RawFd) -> ! {
    // SAFETY: system calls on memory of this stack, and on descriptors of this process.
    unsafe {
        libc::close(alive);
        // A terminal's signals, and those that are meant for who started it, are not for the keeper.
        libc::setsid();
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut signals);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_NAME, c"keeper".as_ptr());
        // More urgent than whom it has to end, where that is allowed.
        let _ = sched::scheduler(libc::SCHED_FIFO, libc::sched_get_priority_max(libc::SCHED_FIFO));
        let mut byte = 0_u8;
        loop {
            let got = libc::read(dead, (&raw mut byte).cast(), 1);
            if got == 0 || got < 0 && *libc::__errno_location() != libc::EINTR {
                break;
            }
        }
        for _ in 0..ROUNDS {
            let mut found = false;
            for group in groups {
                let group = group.load(Ordering::SeqCst);
                found |= group > 1 && libc::kill(-group, libc::SIGKILL) == 0;
            }
            if !found {
                break;
            }
            let nap = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            libc::nanosleep(&raw const nap, std::ptr::null_mut());
        }
        libc::_exit(0)
    }
}
