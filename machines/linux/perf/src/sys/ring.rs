//! The ring in which the kernel leaves samples.

use perf_event_open_sys::bindings as b;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the kernel left in a ring of samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RingRecord {
    /// An event had been counted N times.
    Sample {
        /// The thread.
        thread: u32,
        /// When, on the monotonic clock in nanoseconds.
        time: u64,
        /// The CPU.
        cpu: u32,
        /// The group's reading: number of events, nanoseconds enabled and running, then the counts.
        words: Vec<u64>,
    },
    /// A thread was given a CPU, or lost it.
    Switch(Switch),
    /// Samples for which there was no room.
    Lost(u64),
    /// Sampling was slowed down.
    Throttled,
}

/// A thread was given a CPU, or lost it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// When, on the monotonic clock in nanoseconds.
    pub time: u64,
    /// The CPU.
    pub cpu: u32,
    /// Which.
    pub turn: Turn,
}

/// What a switch was for its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It was given the CPU.
    In,
    /// It gave the CPU away: it waits.
    Out,
    /// Another thread took the CPU; it could go on.
    Preempted,
}

/// A ring of samples of one event.
pub(crate) struct Ring {
    base: NonNull<u8>,
    length: usize,
    /// Where the data begin, and how many bytes they are: a power of two.
    data: usize,
    size: usize,
    /// A record that wraps around, made whole.
    whole: Vec<u8>,
}

impl Ring {
    /// Maps a ring of `pages` pages (a power of two) for an event; fewer where that many are not allowed.
    pub(crate) fn new(event: &File, mut pages: usize) -> io::Result<Self> {
        loop {
            match Self::map(event, pages) {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && pages > 1 => pages /= 2,
                other => return other,
            }
        }
    }

    fn map(event: &File, pages: usize) -> io::Result<Self> {
        let page = super::page_size();
        let length = (1 + pages) * page;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, event.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("the kernel mapped nothing"))?;
        Ok(Self { base, length, data: page, size: pages * page, whole: Vec::new() })
    }

    fn page(&self) -> *mut b::perf_event_mmap_page {
        self.base.as_ptr().cast()
    }

    /// Takes out everything that the kernel has left so far.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(RingRecord)) {
        // SAFETY: the first page of the mapping is this structure. The kernel writes the head and reads the
        // tail concurrently, so both are used as atomics.
        let (head, tail) = unsafe {
            let page = self.page();
            (AtomicU64::from_ptr(&raw mut (*page).data_head), AtomicU64::from_ptr(&raw mut (*page).data_tail))
        };
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        while at < end {
            let size =
                self.copy(at, 8).map_or(0, |header| usize::from(u16::from_ne_bytes([header[6], header[7]])));
            if size < 8 || size as u64 > end - at {
                // The kernel never does this; to go on would be to misread.
                break;
            }
            if let Some(record) = self.copy(at, size).and_then(parse) {
                take(record);
            }
            at += size as u64;
        }
        tail.store(end, Ordering::Release);
    }

    /// `size` bytes at position `at`, in one piece.
    fn copy(&mut self, at: u64, size: usize) -> Option<&[u8]> {
        if size > self.size {
            return None;
        }
        let start = (at % self.size as u64) as usize;
        let first = size.min(self.size - start);
        self.whole.clear();
        self.whole.reserve(size);
        // SAFETY: both pieces lie inside the mapping's data, which the kernel does not touch between the tail
        // and the head; the buffer has room for `size` bytes.
        unsafe {
            let data = self.base.as_ptr().add(self.data);
            std::ptr::copy_nonoverlapping(data.add(start), self.whole.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, self.whole.as_mut_ptr().add(first), size - first);
            self.whole.set_len(size);
        }
        Some(&self.whole)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `map` made, and nothing refers into it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Reads one record: header, then for samples thread, time, CPU and reading, in the kernel's fixed order.
fn parse(record: &[u8]) -> Option<RingRecord> {
    let kind = u32::from_ne_bytes(record.get(..4)?.try_into().ok()?);
    let word = |i: usize| -> Option<u64> {
        Some(u64::from_ne_bytes(record.get(8 + 8 * i..16 + 8 * i)?.try_into().ok()?))
    };
    let low = |word: u64| word.to_ne_bytes();
    match kind {
        b::PERF_RECORD_SAMPLE => {
            let ids = low(word(0)?);
            let thread = u32::from_ne_bytes([ids[4], ids[5], ids[6], ids[7]]);
            let cpu = low(word(2)?);
            let cpu = u32::from_ne_bytes([cpu[0], cpu[1], cpu[2], cpu[3]]);
            let words = (3..(record.len() - 8) / 8).map(word).collect::<Option<Vec<_>>>()?;
            Some(RingRecord::Sample { thread, time: word(1)?, cpu, words })
        }
        b::PERF_RECORD_SWITCH => {
            let misc = u32::from(u16::from_ne_bytes([*record.get(4)?, *record.get(5)?]));
            let turn = match (
                misc & b::PERF_RECORD_MISC_SWITCH_OUT,
                misc & b::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
            ) {
                (0, _) => Turn::In,
                (_, 0) => Turn::Out,
                _ => Turn::Preempted,
            };
            let cpu = low(word(2)?);
            let cpu = u32::from_ne_bytes([cpu[0], cpu[1], cpu[2], cpu[3]]);
            Some(RingRecord::Switch(Switch { time: word(1)?, cpu, turn }))
        }
        b::PERF_RECORD_LOST => Some(RingRecord::Lost(word(1)?)),
        b::PERF_RECORD_THROTTLE => Some(RingRecord::Throttled),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = (8 + 8 * words.len()) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(size.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn records_are_read_in_the_kernels_order() {
        let ids = u64::from_ne_bytes([7, 0, 0, 0, 9, 0, 0, 0]);
        let sample = record(b::PERF_RECORD_SAMPLE, &[ids, 1234, 1, 2, 10, 10, 55, 66]);
        let expected = RingRecord::Sample { thread: 9, time: 1234, cpu: 1, words: vec![2, 10, 10, 55, 66] };
        assert_eq!(parse(&sample), Some(expected));
        assert_eq!(parse(&record(b::PERF_RECORD_LOST, &[3, 17])), Some(RingRecord::Lost(17)));
        assert_eq!(parse(&record(b::PERF_RECORD_THROTTLE, &[0, 0, 0])), Some(RingRecord::Throttled));
    }

    #[test]
    fn switches_say_whether_the_thread_could_have_gone_on() {
        let switch = |misc: u32| {
            let mut bytes = record(b::PERF_RECORD_SWITCH, &[7, 1234, 3]);
            bytes[4..6].copy_from_slice(&(misc as u16).to_ne_bytes());
            parse(&bytes)
        };
        let expected = |turn| Some(RingRecord::Switch(Switch { time: 1234, cpu: 3, turn }));
        let out = b::PERF_RECORD_MISC_SWITCH_OUT;
        assert_eq!(switch(0), expected(Turn::In));
        assert_eq!(switch(out), expected(Turn::Out));
        assert_eq!(switch(out | b::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT), expected(Turn::Preempted));
    }

    #[test]
    fn short_and_strange_records_are_left_out() {
        assert_eq!(parse(&record(b::PERF_RECORD_SAMPLE, &[1])), None);
        assert_eq!(parse(&record(b::PERF_RECORD_LOST, &[])), None);
        assert_eq!(parse(&[1, 2]), None);
        assert_eq!(parse(&record(99, &[1, 2])), None);
    }
}
