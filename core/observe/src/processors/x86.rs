//! The events of x86 processors, one table for each microarchitecture.
//!
//! Codes carry the names of libpfm4, with which a test compares them where it is installed. A code stands with an event
//! only where it counts what the event means: the retired loads that hit are `l1_load_hits`, for the stores are not among
//! them. Answers of other cores (`snoop_*`) are an exception that the processors make: those that can tell them apart
//! count them for retired loads only.

use solo_model::EventId;
use solo_model::event::ProcessorCode;

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
    /// The canonical event.
    pub event: EventId,
    /// libpfm4's name, without that of its unit.
    pub name: &'static str,
    /// The event's number; AMD's have 12 bits, Intel's 8.
    pub number: u16,
    /// Its mask.
    pub mask: u8,
}

impl Code {
    /// Number and mask as the `config` of a raw event of Linux, and as selection registers hold them: bits 8 to 11 of the
    /// number lie at 32.
    pub const fn config(&self) -> u64 {
        let number = self.number as u64;
        number & 0xff | (number >> 8 & 0xf) << 32 | (self.mask as u64) << 8
    }
}

const fn code(event: EventId, name: &'static str, number: u16, mask: u8) -> Code {
    Code { event, name, number, mask }
}

/// Intel's architectural events that are canonical, and their bits in CPUID 0AH, EBX.
pub const ARCHITECTURAL: &[(u32, Code)] = &[
    (0, code(EventId::CYCLES, "UNHALTED_CORE_CYCLES", 0x3c, 0x00)),
    (1, code(EventId::INSTRUCTIONS, "INSTRUCTION_RETIRED", 0xc0, 0x00)),
    (4, code(EventId::LLC_MISSES, "LLC_MISSES", 0x2e, 0x41)),
];

const CORE: &[Code] = &[
    code(EventId::L1_MISSES, "L1D_REPL", 0x45, 0x0f),
    code(EventId::L2_LOAD_MISSES, "MEM_LOAD_RETIRED:L2_MISS", 0xcb, 0x04),
];

const NEHALEM: &[Code] = &[
    code(EventId::L1_LOAD_HITS, "MEM_LOAD_RETIRED:L1D_HIT", 0xcb, 0x01),
    code(EventId::L1_MISSES, "L1D:REPL", 0x51, 0x01),
    code(EventId::L2_LOAD_HITS, "MEM_LOAD_RETIRED:L2_HIT", 0xcb, 0x02),
    code(EventId::L2_MISSES, "L2_RQSTS:MISS", 0x24, 0xaa),
    code(EventId::L2_LINES_IN_S, "L2_LINES_IN:S_STATE", 0xf1, 0x02),
    code(EventId::SNOOP_HITM, "MEM_UNCORE_RETIRED:OTHER_CORE_L2_HITM", 0x0f, 0x02),
];

const SANDY_BRIDGE: &[Code] = &[
    code(EventId::L1_LOAD_HITS, "MEM_LOAD_UOPS_RETIRED:L1_HIT", 0xd1, 0x01),
    code(EventId::L1_MISSES, "L1D:REPLACEMENT", 0x51, 0x01),
    code(EventId::L2_LOAD_HITS, "MEM_LOAD_UOPS_RETIRED:L2_HIT", 0xd1, 0x02),
    code(EventId::LLC_LOAD_HITS, "MEM_LOAD_UOPS_RETIRED:L3_HIT", 0xd1, 0x04),
    code(EventId::SNOOP_HITM, "MEM_LOAD_UOPS_LLC_HIT_RETIRED:XSNP_HITM", 0xd2, 0x04),
    code(EventId::SNOOP_HITS, "MEM_LOAD_UOPS_LLC_HIT_RETIRED:XSNP_HIT", 0xd2, 0x02),
    code(EventId::SNOOP_MISSES, "MEM_LOAD_UOPS_LLC_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
    code(EventId::L2_LINES_IN_I, "L2_LINES_IN:I", 0xf1, 0x01),
    code(EventId::L2_LINES_IN_S, "L2_LINES_IN:S", 0xf1, 0x02),
];

const HASWELL: &[Code] = &[
    code(EventId::L1_LOAD_HITS, "MEM_LOAD_UOPS_RETIRED:L1_HIT", 0xd1, 0x01),
    code(EventId::L1_MISSES, "L1D:REPLACEMENT", 0x51, 0x01),
    code(EventId::L2_LOAD_HITS, "MEM_LOAD_UOPS_RETIRED:L2_HIT", 0xd1, 0x02),
    code(EventId::L2_LOAD_MISSES, "MEM_LOAD_UOPS_RETIRED:L2_MISS", 0xd1, 0x10),
    code(EventId::LLC_LOAD_HITS, "MEM_LOAD_UOPS_RETIRED:L3_HIT", 0xd1, 0x04),
    code(EventId::SNOOP_HITM, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", 0xd2, 0x04),
    code(EventId::SNOOP_HITS, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HIT", 0xd2, 0x02),
    code(EventId::SNOOP_MISSES, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
    code(EventId::L2_LINES_IN_I, "L2_LINES_IN:I", 0xf1, 0x01),
    code(EventId::L2_LINES_IN_S, "L2_LINES_IN:S", 0xf1, 0x02),
];

const SKYLAKE: &[Code] = &[
    code(EventId::L1_LOAD_HITS, "MEM_LOAD_RETIRED:L1_HIT", 0xd1, 0x01),
    code(EventId::L1_LOAD_MISSES, "MEM_LOAD_RETIRED:L1_MISS", 0xd1, 0x08),
    code(EventId::L2_LOAD_HITS, "MEM_LOAD_RETIRED:L2_HIT", 0xd1, 0x02),
    code(EventId::L2_LOAD_MISSES, "MEM_LOAD_RETIRED:L2_MISS", 0xd1, 0x10),
    code(EventId::LLC_LOAD_HITS, "MEM_LOAD_RETIRED:L3_HIT", 0xd1, 0x04),
    code(EventId::SNOOP_HITM, "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", 0xd2, 0x04),
    code(EventId::SNOOP_HITS, "MEM_LOAD_L3_HIT_RETIRED:XSNP_HIT", 0xd2, 0x02),
    code(EventId::SNOOP_MISSES, "MEM_LOAD_L3_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
];

const SAPPHIRE_RAPIDS: &[Code] = &[
    code(EventId::L1_LOAD_HITS, "MEM_LOAD_RETIRED:L1_HIT", 0xd1, 0x01),
    code(EventId::L1_LOAD_MISSES, "MEM_LOAD_RETIRED:L1_MISS", 0xd1, 0x08),
    code(EventId::L2_LOAD_HITS, "MEM_LOAD_RETIRED:L2_HIT", 0xd1, 0x02),
    code(EventId::L2_LOAD_MISSES, "MEM_LOAD_RETIRED:L2_MISS", 0xd1, 0x10),
    code(EventId::LLC_LOAD_HITS, "MEM_LOAD_RETIRED:L3_HIT", 0xd1, 0x04),
    code(EventId::SNOOP_HITM, "MEM_LOAD_L3_HIT_RETIRED:XSNP_FWD", 0xd2, 0x04),
    code(EventId::SNOOP_HITS, "MEM_LOAD_L3_HIT_RETIRED:XSNP_NO_FWD", 0xd2, 0x02),
    code(EventId::SNOOP_MISSES, "MEM_LOAD_L3_HIT_RETIRED:XSNP_MISS", 0xd2, 0x01),
];

const ZEN: &[Code] = &[
    code(EventId::INSTRUCTIONS, "RETIRED_INSTRUCTIONS", 0xc0, 0x00),
    code(EventId::CYCLES, "CYCLES_NOT_IN_HALT", 0x76, 0x00),
    code(EventId::L2_MISSES, "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C", 0x64, 0x08),
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
        Self::of_model(intel, family, model)
    }

    /// By the family and model that the signature comes to; `None` for those that are not in the tables.
    pub const fn of_model(intel: bool, family: u32, model: u32) -> Option<Self> {
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

    /// How it counts `event`: by its own code, else by an architectural one. CPUID may say that it lacks the latter; who
    /// can ask it, asks it.
    pub fn code(self, event: EventId) -> Option<Code> {
        let architectural = ARCHITECTURAL.iter().map(|(_, code)| *code).filter(|_| self != Self::Zen);
        architectural.chain(self.codes().iter().copied()).find(|code| code.event == event)
    }

    /// True where a platform's own `code` is one of this microarchitecture.
    pub fn has(self, code: &ProcessorCode) -> bool {
        code.processor == self.libpfm()
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
                assert!(code.event.canonical().is_some(), "{code:?}");
                assert!(codes[..at].iter().all(|other| other.config() != code.config()), "{code:?}");
            }
        }
    }

    #[test]
    fn codes_of_loads_have_the_names_of_loads() {
        for code in Microarchitecture::ALL.into_iter().flat_map(Microarchitecture::codes) {
            let name = &*code.event.canonical().expect("canonical").name;
            let of_loads = code.name.starts_with("MEM_LOAD");
            assert!(!of_loads || name.contains("load") || name.starts_with("snoop"), "{name}: {}", code.name);
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
