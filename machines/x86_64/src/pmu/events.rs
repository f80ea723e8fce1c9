//! The kernel's events in the codes of each microarchitecture.
//!
//! Codes carry the names of libpfm4, with which a test compares them where it is installed. What a processor counts
//! is what its manual says: `L1_HIT` of the retired loads, for example, knows no stores.

use super::describe::{Description, Kind};
use super::select::Select;
use solo_model::Event;

/// Whose event codes apply.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Microarchitecture {
    /// Core 2, 2006.
    Core,
    /// Nehalem and Westmere, 2008.
    Nehalem,
    /// Sandy Bridge and Ivy Bridge, 2011.
    SandyBridge,
    /// Haswell and Broadwell, 2013.
    Haswell,
    /// Skylake and what followed until 2020.
    Skylake,
    /// Golden Cove: Sapphire Rapids, 2023.
    SapphireRapids,
    /// AMD's Zen, 2017 and after.
    Zen,
}

/// An event of a microarchitecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// The kernel's event.
    pub event: Event,
    /// libpfm4's name, without that of its unit.
    pub name: &'static str,
    /// The selection.
    pub select: Select,
}

const fn code(event: Event, name: &'static str, number: u16, mask: u8) -> Code {
    Code { event, name, select: Select::new(number, mask) }
}

/// Intel's architectural events that the kernel has a word for, and their bits in CPUID 0AH, EBX.
const ARCHITECTURAL: &[(u32, Event, Select)] = &[
    (0, Event::Cycles, Select::new(0x3c, 0x00)),
    (1, Event::Instructions, Select::new(0xc0, 0x00)),
    (4, Event::LlcMiss, Select::new(0x2e, 0x41)),
];

const CORE: &[Code] = &[
    code(Event::L1Miss, "L1D_REPL", 0x45, 0x0f),
    code(Event::L2Miss, "MEM_LOAD_RETIRED:L2_MISS", 0xcb, 0x04),
    code(Event::CmpSnoopShare, "CMP_SNOOP:SHARE:SELF", 0x78, 0x41),
    code(Event::CmpSnoopInvalidate, "CMP_SNOOP:INVALIDATE:SELF", 0x78, 0x42),
    code(Event::ExtSnoopClean, "EXT_SNOOP:CLEAN:THIS_AGENT", 0x77, 0x01),
    code(Event::ExtSnoopHit, "EXT_SNOOP:HIT:THIS_AGENT", 0x77, 0x02),
    code(Event::ExtSnoopHitm, "EXT_SNOOP:HITM:THIS_AGENT", 0x77, 0x08),
    code(Event::BusDrdyClocks, "BUS_DRDY_CLOCKS:THIS_AGENT", 0x62, 0x00),
    code(Event::BusDataReceived, "BUS_DATA_RCV:SELF", 0x64, 0x40),
    code(Event::BusHitDriven, "BUS_HIT_DRV:THIS_AGENT", 0x7a, 0x00),
    code(Event::BusHitmDriven, "BUS_HITM_DRV:THIS_AGENT", 0x7b, 0x00),
    code(Event::BusBnrDriven, "BUS_BNR_DRV:THIS_AGENT", 0x61, 0x00),
    code(Event::BusLockClocks, "BUS_LOCK_CLOCKS:SELF:THIS_AGENT", 0x63, 0x40),
    code(Event::L2AddressStrobes, "L2_ADS:SELF", 0x21, 0x40),
];

const NEHALEM: &[Code] = &[
    code(Event::L1Hit, "MEM_LOAD_RETIRED:L1D_HIT", 0xcb, 0x01),
    code(Event::L1Miss, "L1D:REPL", 0x51, 0x01),
    code(Event::L2Hit, "MEM_LOAD_RETIRED:L2_HIT", 0xcb, 0x02),
    code(Event::L2Miss, "L2_RQSTS:MISS", 0x24, 0xaa),
    code(Event::L2LinesInShared, "L2_LINES_IN:S_STATE", 0xf1, 0x02),
    code(Event::SnoopHitModified, "MEM_UNCORE_RETIRED:OTHER_CORE_L2_HITM", 0x0f, 0x02),
];

const SANDY_BRIDGE: &[Code] = &[
    code(Event::L1Hit, "MEM_LOAD_UOPS_RETIRED:L1_HIT", 0xd1, 0x01),
    code(Event::L1Miss, "L1D:REPLACEMENT", 0x51, 0x01),
    code(Event::L2Hit, "MEM_LOAD_UOPS_RETIRED:L2_HIT", 0xd1, 0x02),
    code(Event::LlcHit, "MEM_LOAD_UOPS_RETIRED:L3_HIT", 0xd1, 0x04),
    code(Event::SnoopHitModified, "MEM_LOAD_UOPS_LLC_HIT_RETIRED:XSNP_HITM", 0xd2, 0x04),
    code(Event::SnoopHitClean, "MEM_LOAD_UOPS_LLC_HIT_RETIRED:XSNP_HIT", 0xd2, 0x02),
    code(Event::SnoopMiss, "MEM_LOAD_UOPS_LLC_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
    code(Event::L2LinesInInvalid, "L2_LINES_IN:I", 0xf1, 0x01),
    code(Event::L2LinesInShared, "L2_LINES_IN:S", 0xf1, 0x02),
];

const HASWELL: &[Code] = &[
    code(Event::L1Hit, "MEM_LOAD_UOPS_RETIRED:L1_HIT", 0xd1, 0x01),
    code(Event::L1Miss, "L1D:REPLACEMENT", 0x51, 0x01),
    code(Event::L2Hit, "MEM_LOAD_UOPS_RETIRED:L2_HIT", 0xd1, 0x02),
    code(Event::L2Miss, "MEM_LOAD_UOPS_RETIRED:L2_MISS", 0xd1, 0x10),
    code(Event::LlcHit, "MEM_LOAD_UOPS_RETIRED:L3_HIT", 0xd1, 0x04),
    code(Event::SnoopHitModified, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", 0xd2, 0x04),
    code(Event::SnoopHitClean, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HIT", 0xd2, 0x02),
    code(Event::SnoopMiss, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
    code(Event::L2LinesInInvalid, "L2_LINES_IN:I", 0xf1, 0x01),
    code(Event::L2LinesInShared, "L2_LINES_IN:S", 0xf1, 0x02),
];

const SKYLAKE: &[Code] = &[
    code(Event::L1Hit, "MEM_LOAD_RETIRED:L1_HIT", 0xd1, 0x01),
    code(Event::L1Miss, "MEM_LOAD_RETIRED:L1_MISS", 0xd1, 0x08),
    code(Event::L2Hit, "MEM_LOAD_RETIRED:L2_HIT", 0xd1, 0x02),
    code(Event::L2Miss, "MEM_LOAD_RETIRED:L2_MISS", 0xd1, 0x10),
    code(Event::LlcHit, "MEM_LOAD_RETIRED:L3_HIT", 0xd1, 0x04),
    code(Event::SnoopHitModified, "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", 0xd2, 0x04),
    code(Event::SnoopHitClean, "MEM_LOAD_L3_HIT_RETIRED:XSNP_HIT", 0xd2, 0x02),
    code(Event::SnoopMiss, "MEM_LOAD_L3_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
];

const SAPPHIRE_RAPIDS: &[Code] = &[
    code(Event::L1Hit, "MEM_LOAD_RETIRED:L1_HIT", 0xd1, 0x01),
    code(Event::L1Miss, "MEM_LOAD_RETIRED:L1_MISS", 0xd1, 0x08),
    code(Event::L2Hit, "MEM_LOAD_RETIRED:L2_HIT", 0xd1, 0x02),
    code(Event::L2Miss, "MEM_LOAD_RETIRED:L2_MISS", 0xd1, 0x10),
    code(Event::LlcHit, "MEM_LOAD_RETIRED:L3_HIT", 0xd1, 0x04),
    code(Event::SnoopHitModified, "MEM_LOAD_L3_HIT_RETIRED:XSNP_FWD", 0xd2, 0x04),
    code(Event::SnoopHitClean, "MEM_LOAD_L3_HIT_RETIRED:XSNP_NO_FWD", 0xd2, 0x02),
    code(Event::SnoopMiss, "MEM_LOAD_L3_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
];

const ZEN: &[Code] = &[
    code(Event::Instructions, "RETIRED_INSTRUCTIONS", 0xc0, 0x00),
    code(Event::Cycles, "CYCLES_NOT_IN_HALT", 0x76, 0x00),
    code(Event::L2Miss, "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C", 0x64, 0x08),
];

impl Microarchitecture {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Core,
        Self::Nehalem,
        Self::SandyBridge,
        Self::Haswell,
        Self::Skylake,
        Self::SapphireRapids,
        Self::Zen,
    ];

    /// By the signature of CPUID 01H, EAX; `None` for those that are not in the tables.
    pub const fn of(intel: bool, signature: u32) -> Option<Self> {
        let base = signature >> 8 & 0xf;
        let family = if base == 0xf { base + (signature >> 20 & 0xff) } else { base };
        let model = signature >> 4 & 0xf | signature >> 12 & 0xf0;
        if !intel {
            return if family >= 0x17 { Some(Self::Zen) } else { None };
        }
        if family != 6 {
            return None;
        }
        match model {
            0x0f | 0x16 | 0x17 | 0x1d => Some(Self::Core),
            0x1a | 0x1e | 0x1f | 0x2e | 0x25 | 0x2c | 0x2f => Some(Self::Nehalem),
            0x2a | 0x2d | 0x3a | 0x3e => Some(Self::SandyBridge),
            0x3c | 0x3f | 0x45 | 0x46 | 0x3d | 0x47 | 0x4f | 0x56 => Some(Self::Haswell),
            0x4e | 0x5e | 0x55 | 0x8e | 0x9e | 0xa5 | 0xa6 => Some(Self::Skylake),
            0x8f | 0xcf => Some(Self::SapphireRapids),
            _ => None,
        }
    }

    /// libpfm4's name of its unit.
    pub const fn libpfm(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Nehalem => "nhm",
            Self::SandyBridge => "snb",
            Self::Haswell => "hsw",
            Self::Skylake => "skl",
            Self::SapphireRapids => "spr",
            Self::Zen => "amd64_fam19h_zen4",
        }
    }

    /// Its own events, beside the architectural ones.
    pub const fn codes(self) -> &'static [Code] {
        match self {
            Self::Core => CORE,
            Self::Nehalem => NEHALEM,
            Self::SandyBridge => SANDY_BRIDGE,
            Self::Haswell => HASWELL,
            Self::Skylake => SKYLAKE,
            Self::SapphireRapids => SAPPHIRE_RAPIDS,
            Self::Zen => ZEN,
        }
    }
}

/// How a unit counts `event` with a general counter; `None` where it can't.
pub fn select(unit: &Description, event: Event) -> Option<Select> {
    if matches!(unit.kind, Kind::Intel(_)) {
        let found =
            ARCHITECTURAL.iter().find(|(bit, known, _)| *known == event && unit.absent & 1 << bit == 0);
        if let Some((_, _, select)) = found {
            return Some(*select);
        }
    }
    let codes = unit.microarchitecture.map_or(&[] as &[Code], Microarchitecture::codes);
    codes.iter().find(|code| code.event == event).map(|code| code.select)
}

/// The event that a fixed counter of Intel's counts, where the kernel has a word for it.
pub const fn of_fixed(counter: u8) -> Option<Event> {
    match counter {
        0 => Some(Event::Instructions),
        1 => Some(Event::Cycles),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_one_code_a_microarchitecture() {
        for microarchitecture in Microarchitecture::ALL {
            let codes = microarchitecture.codes();
            for (at, code) in codes.iter().enumerate() {
                assert!(codes[..at].iter().all(|other| other.event != code.event), "{code:?}");
                assert!(codes[..at].iter().all(|other| other.select != code.select), "{code:?}");
            }
        }
    }

    #[test]
    fn signatures_name_their_microarchitecture() {
        for (signature, expected) in [
            (0x0001_067a, Some(Microarchitecture::Core)),
            (0x0001_06a5, Some(Microarchitecture::Nehalem)),
            (0x0002_06a7, Some(Microarchitecture::SandyBridge)),
            (0x0003_06c3, Some(Microarchitecture::Haswell)),
            (0x0005_0654, Some(Microarchitecture::Skylake)),
            (0x0008_06f8, Some(Microarchitecture::SapphireRapids)),
            (0x0000_0f29, None),
        ] {
            assert_eq!(Microarchitecture::of(true, signature), expected, "{signature:x}");
        }
        assert_eq!(Microarchitecture::of(false, 0x00a2_0f10), Some(Microarchitecture::Zen));
        assert_eq!(Microarchitecture::of(false, 0x0010_0f42), None);
    }
}
