//! A processor model of PMCTrack: its counters and the mnemonics of its events.

use super::row::{Mnemonic, Place};
use super::{arm, x86};
use solo_model::EventId;
use solo_model::event::CANONICAL;
use solo_observe::catalog;
use solo_observe::processors::Microarchitecture;

/// Whose codes tell of canonical events that PMCTrack has no name for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codes {
    X86(Microarchitecture),
    Arm,
    Unknown,
}

/// A processor model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Model {
    /// Its short name.
    pub name: &'static str,
    /// What PMCTrack writes before it.
    pub family: &'static str,
    /// Its fixed counters, which come first.
    pub fixed: u8,
    /// Its programmable counters.
    pub programmable: u8,
    tables: &'static [&'static [Mnemonic]],
    codes: Codes,
}

const INTEL: &str = "x86_intel-core";
const AMD: &str = "x86_amd";

const fn model(
    family: &'static str,
    name: &'static str,
    counters: (u8, u8),
    codes: Codes,
    tables: &'static [&'static [Mnemonic]],
) -> Model {
    Model { name, family, fixed: counters.0, programmable: counters.1, tables, codes }
}

use Codes::{Arm, Unknown, X86};
use Microarchitecture as M;

/// All of PMCTrack 4.0.
pub const MODELS: &[Model] = &[
    model(INTEL, "core2", (3, 2), X86(M::Core), &[x86::CORE_2]),
    model(INTEL, "atom", (3, 2), Unknown, &[x86::CORE_2]),
    model(INTEL, "nehalem", (3, 4), X86(M::Nehalem), &[x86::INTEL]),
    model(INTEL, "ivybridge", (3, 4), X86(M::SandyBridge), &[x86::INTEL]),
    model(INTEL, "haswell", (3, 4), X86(M::Haswell), &[x86::INTEL]),
    model(INTEL, "haswell-ep", (3, 4), X86(M::Haswell), &[x86::INTEL, x86::L2, x86::UNCORE]),
    model(INTEL, "broadwell", (3, 4), X86(M::Haswell), &[x86::INTEL, x86::L2, x86::L2_LINES, x86::UNCORE]),
    model(INTEL, "broadwell-ep", (3, 4), X86(M::Haswell), &[x86::INTEL, x86::L2, x86::L2_LINES]),
    model(INTEL, "skylake", (3, 4), X86(M::Skylake), &[x86::INTEL, x86::L2, x86::L2_LINES, x86::SKYLAKE]),
    model(INTEL, "alderlake", (3, 8), X86(M::SapphireRapids), &[x86::INTEL, x86::L2, x86::GOLDEN_COVE]),
    model(INTEL, "raptorlake", (3, 8), X86(M::SapphireRapids), &[x86::INTEL, x86::L2, x86::GOLDEN_COVE]),
    model(AMD, "opteron", (0, 4), Unknown, &[x86::OPTERON]),
    model(AMD, "epyc", (0, 6), X86(M::Zen), &[x86::EPYC]),
    model("armv7", "cortex_a7", (1, 4), Arm, &[arm::CORTEX_A7]),
    model("armv7", "cortex_a15", (1, 6), Arm, &[arm::CORTEX_A15]),
    model("armv8", "cortex_a53", (1, 6), Arm, &[arm::CORTEX_A53]),
    model("armv8", "cortex_a57", (1, 6), Arm, &[arm::CORTEX_A57]),
    model("armv8", "cortex_a73", (1, 6), Arm, &[arm::CORTEX_A73]),
];

impl Model {
    /// By its name, short or as PMCTrack writes it: `haswell`, `x86_intel-core.haswell`.
    pub fn find(name: &str) -> Option<Self> {
        let is = |model: &&Self| {
            let whole = name.strip_prefix(model.family).and_then(|rest| rest.strip_prefix('.'));
            model.name == name || whole == Some(model.name)
        };
        MODELS.iter().find(is).copied()
    }

    /// The model whose codes a microarchitecture has.
    pub fn of(microarchitecture: Microarchitecture) -> Option<Self> {
        MODELS.iter().find(|model| model.codes == X86(microarchitecture)).copied()
    }

    /// Its mnemonics, in PMCTrack's order.
    pub fn mnemonics(&self) -> impl Iterator<Item = &'static Mnemonic> + use<> {
        self.tables.iter().flat_map(|table| table.iter())
    }

    /// The first and the last programmable counter.
    pub fn range(&self) -> (u8, u8) {
        (self.fixed, self.fixed + self.programmable - 1)
    }

    /// What a name stands for: PMCTrack's, with or without a part behind a dot, or a canonical one.
    pub(super) fn event(&self, name: &str) -> Option<(Place, Vec<(String, u64)>)> {
        let whole = |mnemonic: &&Mnemonic| mnemonic.name == name;
        // An event without its part is its first one.
        let first = |mnemonic: &&Mnemonic| mnemonic.name.split('.').next() == Some(name);
        let own = self.mnemonics().find(whole).or_else(|| self.mnemonics().find(first));
        if let Some(own) = own {
            let flags = own.flags.iter().map(|(key, value)| ((*key).to_string(), *value));
            return Some((own.place, flags.collect()));
        }
        let (code, mask) = self.code(catalog::find(name)?)?;
        let flags = mask.map(|mask| ("umask".to_string(), mask)).into_iter();
        Some((Place::Code(code), flags.collect()))
    }

    /// The model's own code of a canonical event.
    fn code(&self, event: EventId) -> Option<(u64, Option<u64>)> {
        match self.codes {
            X86(microarchitecture) => {
                let code = microarchitecture.code(event)?;
                Some((u64::from(code.number), (code.mask != 0).then_some(u64::from(code.mask))))
            }
            Arm => Some((u64::from(catalog::entry(event)?.arm64?), None)),
            Unknown => None,
        }
    }

    /// The canonical event that has this code and mask, by its name.
    pub(super) fn canonical(&self, code: u64, mask: Option<u64>) -> Option<&'static str> {
        let events = (0..).zip(CANONICAL).filter_map(|(number, _)| EventId::new(number));
        let mut known =
            events.filter(|event| self.code(*event) == Some((code, mask.filter(|mask| *mask != 0))));
        known.next()?.canonical().map(|definition| &*definition.name)
    }
}
