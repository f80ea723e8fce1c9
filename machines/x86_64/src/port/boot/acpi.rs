//! Which processors there are: ACPI's multiple APIC description table (ACPI 6.4, 5.2.12).

use alloc::vec::Vec;
use core::slice;

const HEADER: usize = 36;
/// The memory that the ready-made page tables map.
const MAPPED: u64 = 4 << 30;
const LOCAL_APIC: u8 = 0;
const LOCAL_X2APIC: u8 = 9;
const ENABLED: u32 = 1;

/// The APIC identities of the processors that may run, in the order of the table; empty where no table is found.
///
/// # Safety
/// `root_pointer` must be 0 or the address of ACPI's root system description pointer.
pub unsafe fn processors(root_pointer: u64) -> Vec<u32> {
    if root_pointer == 0 {
        return Vec::new();
    }
    // SAFETY: the caller vouches for the root, and it for the tables.
    unsafe {
        let root = slice::from_raw_parts(root_pointer as *const u8, HEADER);
        let (tables, width) = match root[15] {
            0 => (table(u64::from(word(root, 16))), 4),
            _ => (table(u64::from(word(root, 24)) | u64::from(word(root, 28)) << 32), 8),
        };
        for entry in tables.get(HEADER..).unwrap_or_default().chunks_exact(width) {
            let high = if width == 8 { u64::from(word(entry, 4)) << 32 } else { 0 };
            let candidate = table(u64::from(word(entry, 0)) | high);
            if candidate.starts_with(b"APIC") {
                return local_apics(candidate);
            }
        }
    }
    Vec::new()
}

/// A table with its header; empty where it lies beyond the memory that is mapped.
///
/// # Safety
/// `address` must be that of a system description table.
unsafe fn table(address: u64) -> &'static [u8] {
    if address == 0 || address >= MAPPED {
        return &[];
    }
    // SAFETY: the caller vouches for the table; its length stands at offset 4. Firmware's tables lie in memory that is
    // mapped, as far as they are looked at.
    unsafe {
        let length = u64::from((address as *const u32).add(1).read_unaligned()).max(HEADER as u64);
        slice::from_raw_parts(address as *const u8, length.min(MAPPED - address) as usize)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk::<4>().map_or(0, |word| u32::from_le_bytes(*word))
}

fn local_apics(table: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut rest = table.get(HEADER + 8..).unwrap_or_default();
    while let [kind, length, ..] = *rest {
        let length = usize::from(length);
        if length < 2 || length > rest.len() {
            break;
        }
        let (identity, flags) = match kind {
            LOCAL_APIC if length >= 8 => (u32::from(rest[3]), word(rest, 4)),
            LOCAL_X2APIC if length >= 16 => (word(rest, 4), word(rest, 8)),
            _ => (0, 0),
        };
        // Firmware may list a processor both ways.
        if flags & ENABLED != 0 && !found.contains(&identity) {
            found.push(identity);
        }
        rest = &rest[length..];
    }
    found
}
