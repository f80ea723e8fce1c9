//! System calls behind safe functions: memory of this process, user faults, page maps, the seccomp filter.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

/// The error of the last system call where it returned -1.
pub(crate) fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn checked_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The size of a page, in bytes.
pub(crate) fn page() -> u64 {
    // SAFETY: no pointers; the answer is positive on every Linux.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.unsigned_abs()
}

/// Anonymous memory of this process, in small pages, given back when dropped.
pub(crate) struct Region {
    base: usize,
    bytes: usize,
}

impl Region {
    /// So many bytes, none of them there before they are touched.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let region = Self { base: base as usize, bytes };
        // A kernel without huge pages refuses this; then there is nothing to keep away.
        let _ = region.advise(0, bytes, libc::MADV_NOHUGEPAGE);
        // A child would share these frames, and the next write be put into another.
        region.advise(0, bytes, libc::MADV_DONTFORK)?;
        Ok(region)
    }

    pub(crate) fn base(&self) -> usize {
        self.base
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn advise(&self, from: usize, bytes: usize, advice: libc::c_int) -> io::Result<()> {
        assert!(from.checked_add(bytes).is_some_and(|end| end <= self.bytes), "advice outside of a region");
        // SAFETY: the range lies within this mapping. What `MADV_DONTNEED` drops reads as zeros afterwards, and nobody holds a
        // reference into a region while it is advised: references need `&mut self` of their owner.
        checked(unsafe { libc::madvise((self.base + from) as *mut libc::c_void, bytes, advice) }).map(drop)
    }

    /// Brings every page in.
    pub(crate) fn populate(&self) -> io::Result<()> {
        self.bring_in(0, self.bytes)
    }

    /// Brings pages in.
    pub(crate) fn bring_in(&self, from: usize, bytes: usize) -> io::Result<()> {
        /// `MADV_POPULATE_WRITE` (Linux 5.14).
        const POPULATE_WRITE: libc::c_int = 23;
        self.advise(from, bytes, POPULATE_WRITE)
    }

    /// Gives pages back to the kernel; they read as zeros afterwards.
    pub(crate) fn give_back(&self, from: usize, bytes: usize) -> io::Result<()> {
        self.advise(from, bytes, libc::MADV_DONTNEED)
    }

    /// The memory itself.
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping is readable and as long as is said, for as long as the region lives.
        unsafe { std::slice::from_raw_parts(self.base as *const u8, self.bytes) }
    }

    /// The memory itself, to write.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is writable and as long as is said; `&mut self` keeps everybody else out.
        unsafe { std::slice::from_raw_parts_mut(self.base as *mut u8, self.bytes) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody can refer to it any more.
        unsafe { libc::munmap(self.base as *mut libc::c_void, self.bytes) };
    }
}

/// Where a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    entry: u64,
}

impl Place {
    /// Whether it is in memory.
    pub(crate) fn is_present(self) -> bool {
        self.entry >> 63 & 1 == 1
    }

    /// Whether it belongs to a file or to shared memory.
    pub(crate) fn is_of_a_file(self) -> bool {
        self.entry >> 61 & 1 == 1
    }

    /// Its frame; 0 where the kernel hides it.
    pub(crate) fn frame(self) -> u64 {
        self.entry & ((1 << 55) - 1)
    }
}

/// `/proc/PID/pagemap`: the frames of a process's pages.
pub(crate) struct Pagemap {
    file: File,
    page: u64,
}

impl Pagemap {
    pub(crate) fn of(process: &str) -> io::Result<Self> {
        Ok(Self { file: File::open(format!("/proc/{process}/pagemap"))?, page: page() })
    }

    /// Where the page at this address is.
    pub(crate) fn at(&self, address: u64) -> io::Result<Place> {
        let mut entry = [0; 8];
        self.file.read_exact_at(&mut entry, address / self.page * 8)?;
        Ok(Place { entry: u64::from_ne_bytes(entry) })
    }

    /// Where so many pages from this address on are.
    pub(crate) fn from(&self, address: u64, pages: usize) -> io::Result<Vec<Place>> {
        let mut bytes = vec![0; pages * 8];
        self.file.read_exact_at(&mut bytes, address / self.page * 8)?;
        let entries = bytes.as_chunks().0.iter();
        Ok(entries.map(|entry| Place { entry: u64::from_ne_bytes(*entry) }).collect())
    }
}

/// Whether the kernel says in which frames pages are.
pub(crate) fn shows_frames() -> io::Result<bool> {
    let here = 0_u8;
    let place = Pagemap::of("self")?.at(&raw const here as u64)?;
    Ok(place.is_present() && place.frame() != 0)
}

/// The page faults of a process, told to us by the kernel.
pub(crate) struct Faults(OwnedFd);

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Copy {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
struct WakeUp {
    start: u64,
    len: u64,
}

/// The numbers of `linux/userfaultfd.h`.
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_WAKE: libc::c_ulong = 0x8010_aa02;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const REGISTER_MISSING: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;

impl Faults {
    /// Those of this process.
    pub(crate) fn of_this_process() -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: no pointers; the descriptor is ours alone.
        let raw = unsafe {
            let raw = checked_long(libc::syscall(libc::SYS_userfaultfd, flags))?;
            OwnedFd::from_raw_fd(raw as RawFd)
        };
        Self::agreed(raw)
    }

    /// From the descriptor of another process: the handshake.
    pub(crate) fn agreed(raw: OwnedFd) -> io::Result<Self> {
        let faults = Self(raw);
        let mut api = Api { api: UFFD_API, features: 0, ioctls: 0 };
        faults.control(UFFDIO_API, &raw mut api)?;
        Ok(faults)
    }

    fn control<T>(&self, request: libc::c_ulong, argument: *mut T) -> io::Result<()> {
        // SAFETY: each request is called with the structure that `linux/userfaultfd.h` names for it, valid for the call.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, argument) }).map(drop)
    }

    /// From now on missing pages of this range are told.
    pub(crate) fn register(&self, start: u64, len: u64) -> io::Result<()> {
        let mut range = Register { start, len, mode: REGISTER_MISSING, ioctls: 0 };
        self.control(UFFDIO_REGISTER, &raw mut range)
    }

    /// Puts a page with this content there, in the frame that the kernel hands out next, and wakes who waits for it.
    pub(crate) fn place(&self, address: u64, content: &[u8]) -> io::Result<()> {
        let len = content.len() as u64;
        let mut copy = Copy { dst: address, src: content.as_ptr() as u64, len, mode: 0, copied: 0 };
        self.control(UFFDIO_COPY, &raw mut copy)
    }

    /// Wakes who waits for a page that is there by now.
    pub(crate) fn wake(&self, start: u64, len: u64) -> io::Result<()> {
        let mut range = WakeUp { start, len };
        self.control(UFFDIO_WAKE, &raw mut range)
    }

    /// The address of the next fault; `None` when there is none just now.
    pub(crate) fn next(&self) -> io::Result<Option<u64>> {
        let mut message = [0_u8; 32];
        let room = message.as_mut_ptr().cast();
        // SAFETY: the kernel writes at most as many bytes as there is room for.
        let got = unsafe { libc::read(self.0.as_raw_fd(), room, message.len()) };
        if got == -1 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
        }
        let address = message[16..24].try_into().map(u64::from_ne_bytes).unwrap_or_default();
        Ok((got == 32 && message[0] == EVENT_PAGEFAULT).then_some(address))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A descriptor of another process, as one of ours.
pub(crate) fn descriptor_of(process: i32, descriptor: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; both descriptors that come back are ours alone.
    unsafe {
        let handle = checked_long(libc::syscall(libc::SYS_pidfd_open, process, 0))?;
        let handle = OwnedFd::from_raw_fd(handle as RawFd);
        let got = checked_long(libc::syscall(libc::SYS_pidfd_getfd, handle.as_raw_fd(), descriptor, 0))?;
        Ok(OwnedFd::from_raw_fd(got as RawFd))
    }
}

/// Whether two processes live in the same memory.
pub(crate) fn share_memory(one: i32, other: i32) -> bool {
    /// `KCMP_VM` of `linux/kcmp.h`.
    const VM: libc::c_int = 1;
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, VM, 0, 0) == 0 }
}

/// The CPUs of the calling thread.
#[derive(Clone, std::marker::Copy)]
pub(crate) struct Cpus(libc::cpu_set_t);

impl Cpus {
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        // SAFETY: the set is as long as is said; all zeros is a set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            checked(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set))?;
            Ok(Self(set))
        }
    }

    /// The one that runs the calling thread just now.
    pub(crate) fn current() -> Self {
        // SAFETY: no pointers; the kernel's number is below the size of the set, or `CPU_SET` ignores it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let cpu = usize::try_from(libc::sched_getcpu()).unwrap_or(0);
            if cpu < 8 * size_of::<libc::cpu_set_t>() {
                libc::CPU_SET(cpu, &mut set);
            }
            Self(set)
        }
    }

    /// Keeps the calling thread on them. Safe in a new process between `fork` and `exec`.
    pub(crate) fn keep(&self) -> io::Result<()> {
        // SAFETY: the set is valid for the call.
        checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) })
            .map(drop)
    }
}

/// The calling thread goes before ordinary threads, and after everybody else of real time.
pub(crate) struct Urgent {
    /// The policy from before, where that changed.
    before: Option<libc::c_int>,
}

impl Urgent {
    /// Where this thread may not, nothing changes.
    pub(crate) fn begin() -> Self {
        // SAFETY: no pointers.
        let (policy, lowest) = unsafe {
            (
                libc::syscall(libc::SYS_sched_getscheduler, 0) as libc::c_int,
                libc::sched_get_priority_min(libc::SCHED_FIFO),
            )
        };
        let ordinary = policy == libc::SCHED_OTHER || policy == libc::SCHED_BATCH;
        Self { before: (ordinary && schedule(libc::SCHED_FIFO, lowest)).then_some(policy) }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(policy) = self.before {
            // Back to ordinary every thread may go.
            schedule(policy, 0);
        }
    }
}

/// Asks the kernel itself, whose `sched_param` is a priority and nothing else: the C library of static programs refuses,
/// because POSIX means the process and Linux the thread. True where it was done.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: the kernel only reads the priority.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) == 0 }
}

/// Waits until a descriptor has something to read or so many milliseconds have passed.
pub(crate) fn wait_for(descriptors: &[RawFd], milliseconds: i32) -> io::Result<()> {
    let poll = |&fd: &RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<_> = descriptors.iter().map(poll).collect();
    // SAFETY: the structures are valid for the call.
    match checked(unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, milliseconds) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// A descriptor that becomes readable when somebody rings.
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor is ours alone.
        unsafe {
            let raw = checked(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
            Ok(Self(OwnedFd::from_raw_fd(raw)))
        }
    }

    pub(crate) fn ring(&self) {
        let one = 1_u64;
        // SAFETY: the word is valid for the call, which never blocks. A bell that rings already needs no other ring.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    pub(crate) fn hush(&self) {
        let mut rings = 0_u64;
        // SAFETY: the word is valid for the call, which never blocks.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut rings).cast(), size_of::<u64>()) };
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
