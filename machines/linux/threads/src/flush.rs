//! Lines that a process takes out of the caches of all cores, by the instruction that needs no privilege.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, Ordering, fence};

/// The bytes of the lines that [`flush`] is for; `None` where this processor lets no process take lines out of caches.
pub(crate) fn line() -> Option<usize> {
    instruction::line().filter(|line| line.is_power_of_two())
}

/// Writes the lines that hold `memory` back and takes them out of all caches, one after the other, as long as `goes_on`. They have when
/// this returns true.
pub(crate) fn flush(memory: &[AtomicU8], line: usize, mut goes_on: impl FnMut() -> bool) -> bool {
    for at in firsts(memory.as_ptr().addr(), memory.len(), line) {
        if !goes_on() {
            return false;
        }
        instruction::flush(memory.as_ptr().wrapping_add(at));
    }
    fence(Ordering::SeqCst);
    true
}

/// By line, the first byte of `length` bytes from `base` on that lies in it.
fn firsts(base: usize, length: usize, line: usize) -> impl Iterator<Item = usize> {
    let before = base % line;
    let lines = if length == 0 { 0 } else { (before + length).div_ceil(line) };
    (0..lines).map(move |at| (at * line).saturating_sub(before))
}

#[cfg(target_arch = "x86_64")]
mod instruction {
    use core::arch::x86_64::{__cpuid, _mm_clflush};
    use std::sync::atomic::AtomicU8;

    /// Intel SDM volume 2A, CPUID, leaf 1: EDX 19 announces the instruction, EBX 15:8 its lines in units of 8 bytes.
    pub(super) fn line() -> Option<usize> {
        #[allow(unused_unsafe, reason = "newer compilers take the instruction for safe")]
        // SAFETY: every x86-64 processor has the instruction and the leaf.
        let answer = unsafe { __cpuid(1) };
        (answer.edx >> 19 & 1 == 1).then_some((answer.ebx >> 8 & 0xff) as usize * 8)
    }

    pub(super) fn flush(byte: *const AtomicU8) {
        // SAFETY: what the line holds stays what it is; who calls has a reference to the byte.
        unsafe { _mm_clflush(byte.cast()) };
    }
}

#[cfg(target_arch = "aarch64")]
mod instruction {
    use core::arch::asm;
    use std::sync::atomic::AtomicU8;

    /// Arm ARM, CTR_EL0: the smallest line of any data cache. Linux lets processes read it and clean by address (SCTLR_EL1.UCT and UCI),
    /// or does both for them.
    pub(super) fn line() -> Option<usize> {
        let types: usize;
        // SAFETY: reading it changes nothing.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) types, options(nomem, nostack, preserves_flags)) };
        Some(4 << (types >> 16 & 0xf))
    }

    pub(super) fn flush(byte: *const AtomicU8) {
        // SAFETY: what the line holds stays what it is; who calls has a reference to the byte.
        unsafe { asm!("dc civac, {}", "dsb ish", in(reg) byte, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod instruction {
    use std::sync::atomic::AtomicU8;

    pub(super) fn line() -> Option<usize> {
        None
    }

    pub(super) fn flush(_byte: *const AtomicU8) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever memory and lines have to do with each other, each line is found once, by a byte of the memory.
    #[test]
    fn each_line_is_found_once() {
        for line in [1, 4, 64] {
            for (base, length) in (0..130).flat_map(|base| (0..200).map(move |length| (base, length))) {
                let lines: std::collections::BTreeSet<usize> =
                    (base..base + length).map(|at| at / line).collect();
                let found: Vec<usize> = firsts(base, length, line).collect();
                assert!(found.iter().all(|at| *at < length), "{base}, {length}");
                let of_found: Vec<usize> = found.iter().map(|at| (base + at) / line).collect();
                assert_eq!(of_found, lines.into_iter().collect::<Vec<_>>(), "{base}, {length}");
            }
        }
    }

    #[test]
    fn what_memory_holds_stays_what_it_is() {
        let Some(line) = line() else {
            println!("skipped: this processor lets no process take lines out of caches");
            return;
        };
        assert!(line >= 16);
        let memory: Vec<AtomicU8> = (0..10_000).map(|at| AtomicU8::new(at as u8)).collect();
        let mut asked = 0;
        let all = flush(&memory[3..9_000], line, || {
            asked += 1;
            true
        });
        assert!(all && asked >= 8_997 / line && asked <= 8_997 / line + 2, "{asked} lines");
        assert!(memory.iter().zip(0_usize..).all(|(byte, at)| byte.load(Ordering::Relaxed) == at as u8));
        let mut left = 5;
        let stopped = flush(&memory, line, || {
            left -= 1;
            left > 0
        });
        assert!(!stopped && left == 0);
    }
}
