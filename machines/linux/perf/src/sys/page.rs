//! Reading a counter without the kernel: the page that describes it, and `rdpmc`.
//!
//! The kernel keeps a sequence number, the counter's index and an offset in a page of each event; what is read is
//! valid where the sequence number has not changed meanwhile (perf_event_open(2), `struct perf_event_mmap_page`).

use perf_event_open_sys::bindings as b;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

/// The page of an event that counts the calling thread.
pub(crate) struct UserPage {
    page: NonNull<b::perf_event_mmap_page>,
    length: usize,
}

impl UserPage {
    /// Maps the page of an event.
    pub(crate) fn new(event: &File) -> io::Result<Self> {
        let length = super::page_size();
        // SAFETY: a new read-only mapping at an address of the kernel's choice touches no memory of ours.
        let page = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, event.as_raw_fd(), 0)
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = NonNull::new(page.cast()).ok_or_else(|| io::Error::other("the kernel mapped nothing"))?;
        Ok(Self { page, length })
    }

    /// The count; `None` where the event is on no counter now, or user mode may not read counters.
    ///
    /// To be called by the thread that the event counts.
    pub(crate) fn count(&self) -> Option<u64> {
        let page = self.page.as_ptr();
        loop {
            // SAFETY: the mapping lives as long as `self`; the kernel writes it on this CPU only, so volatile
            // reads between compiler fences see a whole update or a changed sequence number.
            unsafe {
                let sequence = (&raw const (*page).lock).read_volatile();
                compiler_fence(Ordering::SeqCst);
                let index = (&raw const (*page).index).read_volatile();
                let capabilities = (&raw const (*page).__bindgen_anon_1.capabilities).read_volatile();
                let offset = (&raw const (*page).offset).read_volatile();
                let width = (&raw const (*page).pmc_width).read_volatile();
                // Bit 2 is cap_user_rdpmc.
                if index == 0 || capabilities >> 2 & 1 == 0 || width == 0 || width > 64 {
                    return None;
                }
                let raw = read_counter(index - 1)?;
                compiler_fence(Ordering::SeqCst);
                if (&raw const (*page).lock).read_volatile() == sequence {
                    // The counter's value is signed and `width` bits wide.
                    let shift = 64 - u32::from(width);
                    let signed = (raw << shift) as i64 >> shift;
                    return Some(offset.wrapping_add(signed) as u64);
                }
            }
        }
    }
}

impl Drop for UserPage {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and nothing refers into it any more.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.length) };
    }
}

/// Reads a counter.
///
/// # Safety
/// The kernel must have said that user mode may (`cap_user_rdpmc`).
#[cfg(target_arch = "x86_64")]
unsafe fn read_counter(index: u32) -> Option<u64> {
    let (low, high): (u32, u32);
    // SAFETY: the caller's.
    unsafe {
        std::arch::asm!("rdpmc", in("ecx") index, out("eax") low, out("edx") high, options(nostack, nomem));
    }
    Some(u64::from(high) << 32 | u64::from(low))
}

/// Other processors: the kernel reads.
///
/// # Safety
/// None needed.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn read_counter(_: u32) -> Option<u64> {
    None
}
