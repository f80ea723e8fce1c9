//! Events of libpfm4, where the library is installed.
//!
//! libpfm4 has the event tables of nearly every processor, hybrid ones included; a build of it has those of its own
//! architecture. It is opened at run time
//! (`libpfm.so.4`) and not linked: whoever has it gets its names, and nobody needs a C compiler. Its encodings go through
//! [`crate::resolve`] like any other: raw codes of the core's PMU, or `pmu/config=.../` of one that sysfs lists.

use crate::files::Files;
use crate::sys::pfm as library;
use solo_observe::{Code, set::Names};
use std::sync::OnceLock;

const DEVICES: &str = "/sys/bus/event_source/devices";
/// `PERF_TYPE_RAW`.
const RAW: u32 = perf_event_open_sys::bindings::PERF_TYPE_RAW;

/// The library.
pub struct Pfm {
    library: library::Pfm,
}

/// A PMU of its tables.
#[derive(Clone, Debug)]
pub struct Pmu {
    /// Its name, which may stand before an event's: `skl::INST_RETIRED`.
    pub name: String,
    /// What it is.
    pub description: String,
    /// True where this machine has it.
    pub present: bool,
    /// How many events at a time any of its counters can count.
    pub counters: u32,
    /// How many counters count one event each.
    pub fixed_counters: u32,
    inner: library::Pmu,
}

/// An event of its tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// `pmu::NAME`.
    pub name: String,
    /// What is counted.
    pub description: String,
    /// Unit masks and what they pick out, to be written `pmu::NAME:MASK`.
    pub masks: Vec<(String, String)>,
}

/// Why there are no events of libpfm4.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PfmError {
    /// It can't be opened.
    #[error("no libpfm4 ({0}); on Debian: apt-get install libpfm4")]
    Missing(String),
}

/// Why an event of the tables has no code here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoCode {
    /// The processor has the unit that counts it, and its kernel does not offer it: one of a whole chip in a virtual machine.
    #[error("{0}")]
    NoUnit(String),
    /// The library does not know the event, or how to write it.
    #[error("{0}")]
    Refused(String),
}

impl Pfm {
    /// The library of this machine, opened once.
    ///
    /// # Errors
    /// It is not installed, or is none.
    pub fn get() -> Result<&'static Self, PfmError> {
        static PFM: OnceLock<Result<Pfm, PfmError>> = OnceLock::new();
        let open = || match library::Pfm::open() {
            Ok(library) => Ok(Self { library }),
            Err(tried) => Err(PfmError::Missing(tried)),
        };
        PFM.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// The version of its interface: 4.0 for all of libpfm4.
    pub fn version(&self) -> String {
        format!("{}.{}", self.library.version.0, self.library.version.1)
    }

    /// Every PMU of its tables, this machine's and others'.
    pub fn pmus(&self) -> Vec<Pmu> {
        let pmu = |inner: library::Pmu| Pmu {
            name: inner.name.clone(),
            description: inner.description.clone(),
            present: inner.present,
            counters: inner.counters,
            fixed_counters: inner.fixed_counters,
            inner,
        };
        self.library.pmus().into_iter().map(pmu).collect()
    }

    /// The events of a PMU.
    pub fn events(&self, pmu: &Pmu) -> Vec<Event> {
        let event = |event: library::Described| Event {
            name: format!("{}::{}", pmu.name, event.name),
            description: event.description,
            masks: event.masks,
        };
        self.library.events(&pmu.inner).into_iter().map(event).collect()
    }

    /// The code of `name`, an event with unit masks and modifiers (`c=1`, `i`, `e`) but without modes.
    ///
    /// # Errors
    /// What the library says: no such event, a unit mask missing, not on this machine.
    pub fn code(&self, name: &str, files: &dyn Files) -> Result<Code, NoCode> {
        let encoded = self.library.encode(name).map_err(|refused| match refused.unsupported {
            true => NoCode::NoUnit(refused.why),
            false => NoCode::Refused(refused.why),
        });
        let (kind, [config, config1, config2]) = encoded?;
        if kind == RAW {
            return Ok(Code::Raw { config, config1, config2 });
        }
        let named = |pmu: &String| files.number(&format!("{DEVICES}/{pmu}/type")) == Some(i64::from(kind));
        let pmu = files.list(DEVICES).into_iter().find(named);
        let pmu = pmu.ok_or_else(|| NoCode::NoUnit(format!("the kernel has no PMU of type {kind}")))?;
        Ok(Code::Pmu { pmu, terms: format!("config={config:#x},config1={config1:#x},config2={config2:#x}") })
    }
}

/// Names of libpfm4, after those that `first` knows.
pub struct PfmNames<'a, N> {
    /// Asked first.
    pub first: N,
    /// The library, where there is one.
    pub pfm: Option<&'a Pfm>,
    /// The PMUs of this machine.
    pub files: &'a dyn Files,
}

impl<N: Names> Names for PfmNames<'_, N> {
    fn find(&self, name: &str) -> Option<Code> {
        if let Some(code) = self.first.find(name) {
            return Some(code);
        }
        // Modes belong to the event of a set: libpfm4 would take them for its own.
        let last = name.rsplit(':').next().unwrap_or(name);
        if ["u", "k", "uk", "ku", "h", "usr", "os"].contains(&last) {
            return None;
        }
        self.pfm?.code(name, self.files).ok()
    }
}
