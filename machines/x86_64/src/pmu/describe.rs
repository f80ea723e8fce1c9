//! What CPUID tells of the unit.

use super::registers::{FULL_WIDTH_WRITES, INTEL_CAPABILITIES, Registers};
use solo_observe::processors::Microarchitecture;

/// Answers of CPUID: eax, ebx, ecx, edx of a leaf and its subleaf 0.
pub type Leaf = [u32; 4];

/// Which registers there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Intel's architectural unit of this version, 1 to 5 and above.
    Intel(u8),
    /// AMD's four counters, as since the K7.
    Amd,
    /// AMD's counters in the extended space.
    AmdExtended,
    /// The same with a status and a control of all counters.
    AmdVersion2,
}

/// A unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// Which registers there are.
    pub kind: Kind,
    /// General counters.
    pub general: u8,
    /// Bits of a general counter.
    pub width: u8,
    /// Fixed counters that can be used: a bit each.
    pub fixed: u32,
    /// Bits of a fixed counter.
    pub fixed_width: u8,
    /// Intel's architectural events that this processor has *not*: a bit each (CPUID 0AH, EBX).
    pub absent: u32,
    /// Writes take a counter's full width.
    pub full_writes: bool,
    /// Whose event codes apply, where they are known.
    pub microarchitecture: Option<Microarchitecture>,
}

/// Bits of AMD's counters.
const AMD_WIDTH: u8 = 48;

impl Description {
    /// Looks at the processor's own description of itself. `registers` is asked only for what CPUID has announced.
    /// `None` without any counter, as under emulators.
    pub fn detect(cpuid: impl Fn(u32) -> Leaf, registers: &impl Registers) -> Option<Self> {
        let [most, ebx, ecx, edx] = cpuid(0);
        let mut vendor = [0; 12];
        for (part, word) in vendor.chunks_exact_mut(4).zip([ebx, edx, ecx]) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        let [signature, _, features, _] = cpuid(1);
        let found = match &vendor {
            b"GenuineIntel" if most >= 0xa => Self::intel(cpuid(0xa)),
            b"AuthenticAMD" | b"HygonGenuine" => Self::amd(cpuid),
            _ => None,
        }?;
        // CPUID 01H, ECX bit 15: the capabilities can be read.
        let intel = matches!(found.kind, Kind::Intel(_));
        let capable = intel && features & 1 << 15 != 0;
        let full_writes = !intel || capable && registers.read(INTEL_CAPABILITIES) & FULL_WIDTH_WRITES != 0;
        let microarchitecture = Microarchitecture::of(intel, signature);
        Some(Self { full_writes, microarchitecture, ..found })
    }

    fn intel([eax, ebx, ecx, edx]: Leaf) -> Option<Self> {
        let byte = |at: u32| (eax >> at) as u8;
        let (version, general, width, events) = (byte(0), byte(8), byte(16), byte(24));
        if version == 0 || general == 0 || !(32..=64).contains(&width) {
            return None;
        }
        let contiguous = (1_u32 << (edx & 0x1f)) - 1;
        let fixed = match version {
            1 => 0,
            2..=4 => contiguous,
            _ => contiguous | ecx,
        };
        // An event beyond the length of the vector is absent.
        let beyond = if events >= 32 { 0 } else { u32::MAX << events };
        let fixed_width = if fixed == 0 { 0 } else { (edx >> 5) as u8 };
        let kind = Kind::Intel(version);
        let (full_writes, microarchitecture) = (false, None);
        Some(Self {
            kind,
            general,
            width,
            fixed,
            fixed_width,
            absent: ebx | beyond,
            full_writes,
            microarchitecture,
        })
    }

    /// AMD's processors have four counters even where nothing says so.
    fn amd(cpuid: impl Fn(u32) -> Leaf) -> Option<Self> {
        let most = cpuid(0x8000_0000)[0];
        if most < 0x8000_0001 {
            return None;
        }
        let extended = cpuid(0x8000_0001)[2] & 1 << 23 != 0;
        let [version, counters, ..] = if most >= 0x8000_0022 { cpuid(0x8000_0022) } else { [0; 4] };
        let (kind, general) = match (version & 1 != 0, extended) {
            (true, _) => (Kind::AmdVersion2, (counters & 0xf) as u8),
            (false, true) => (Kind::AmdExtended, 6),
            (false, false) => (Kind::Amd, 4),
        };
        (general > 0).then_some(Self {
            kind,
            general,
            width: AMD_WIDTH,
            fixed: 0,
            fixed_width: 0,
            absent: u32::MAX,
            full_writes: true,
            microarchitecture: None,
        })
    }

    /// Counters of both kinds.
    pub const fn len(&self) -> u8 {
        self.general.saturating_add(self.fixed.count_ones() as u8)
    }

    /// True without any counter, which is never detected.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True where one register says which counters have overflowed.
    pub const fn has_status(&self) -> bool {
        match self.kind {
            Kind::Intel(version) => version >= 2,
            Kind::AmdVersion2 => true,
            Kind::Amd | Kind::AmdExtended => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmu::model::Model;

    fn intel(leaf: Leaf, capabilities: bool) -> impl Fn(u32) -> Leaf {
        move |asked| match asked {
            0 => [0xd, 0x756e_6547, 0x6c65_746e, 0x4965_6e69],
            1 => [0x0002_06a7, 0, if capabilities { 1 << 15 } else { 0 }, 0],
            0xa => leaf,
            _ => [0; 4],
        }
    }

    fn found(leaf: Leaf) -> Option<Description> {
        Description::detect(intel(leaf, false), &Model::absent())
    }

    #[test]
    fn intels_leaf_is_read_version_by_version() {
        // Core 2: version 2, two counters of 40 bits, seven events; three fixed ones of 40 bits.
        let core = found([0x0728_0202, 0, 0, 0x503]).unwrap();
        assert_eq!((core.kind, core.general, core.width, core.absent & 0x7f), (Kind::Intel(2), 2, 40, 0));
        assert_eq!((core.fixed, core.fixed_width, core.absent & 1 << 7), (0b111, 40, 1 << 7));
        // Version 1 has no fixed counters, whatever stands there.
        assert_eq!(found([0x0728_0201, 0, 0, 0x503]).unwrap().fixed, 0);
        // Sapphire Rapids: version 5, eight of 48 bits, fixed ones 0 to 3 by their bits.
        let spr = found([0x0830_0805, 0, 0b1111, 0x8604]).unwrap();
        assert_eq!((spr.kind, spr.general, spr.width, spr.fixed), (Kind::Intel(5), 8, 48, 0b1111));
        assert_eq!(found([0x0830_0805, 0, 0b1_0000, 0x8603]).unwrap().fixed, 0b1_0111);
        // Emulators say version 0.
        assert_eq!(found([0; 4]), None);
    }

    #[test]
    fn amds_leaves_are_read() {
        let amd = |features: u32, version2: Option<u32>| {
            let cpuid = move |asked| match asked {
                0 => [0x10, 0x6874_7541, 0x444d_4163, 0x6974_6e65],
                1 => [0x00a2_0f10, 0, 0, 0],
                0x8000_0000 => [if version2.is_some() { 0x8000_0028 } else { 0x8000_001f }, 0, 0, 0],
                0x8000_0001 => [0, 0, features, 0],
                0x8000_0022 => [1, version2.unwrap_or(0), 0, 0],
                _ => [0; 4],
            };
            let found = Description::detect(cpuid, &Model::absent()).unwrap();
            (found.kind, found.general, found.has_status())
        };
        assert_eq!(amd(0, None), (Kind::Amd, 4, false));
        assert_eq!(amd(1 << 23, None), (Kind::AmdExtended, 6, false));
        assert_eq!(amd(1 << 23, Some(0x106)), (Kind::AmdVersion2, 6, true));
    }
}
