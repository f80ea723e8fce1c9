//! From events to what `perf_event_open` wants, by the kernel's own descriptions in sysfs and tracefs.
//!
//! ```text
//! /sys/bus/event_source/devices/PMU/type          the PMU's number
//! /sys/bus/event_source/devices/PMU/format/TERM   where a term's bits lie: config:0-7,32-35
//! /sys/bus/event_source/devices/PMU/events/NAME   a named event: event=0x2e,umask=0x41
//! /sys/kernel/tracing/events/GROUP/NAME/id        a tracepoint's number
//! ```
//!
//! On a processor with several core types each has a PMU of its own. An event without a core type is opened on
//! every one of them, and its counts are added.

use crate::files::Files;
pub use crate::sys::perf::Attr;
use perf_event_open_sys::bindings as b;
use solo_model::EventId;
use solo_model::text::Printable;
use solo_observe::processors::Microarchitecture;
use solo_observe::set::{Names, RawLayout};
use solo_observe::{Cache, CacheResult, Code, CountedEvent, EventGroup, Filter, Generic, Software};

const DEVICES: &str = "/sys/bus/event_source/devices";
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Why an event can't be counted here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No such PMU.
    #[error("there is no PMU `{}` under {DEVICES}; there are {}", Printable(pmu), known.join(", "))]
    NoPmu {
        /// The PMU.
        pmu: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The PMU has no such event and no such term.
    #[error("PMU `{}` has no event or term `{}`; it has {}", Printable(pmu), Printable(term), known.join(", "))]
    NoTerm {
        /// The PMU.
        pmu: String,
        /// The term.
        term: String,
        /// Its events and terms.
        known: Vec<String>,
    },
    /// A term's value is no number or does not fit its bits.
    #[error(
        "PMU `{}`: `{}` is no number that fits bits {}",
        Printable(pmu),
        Printable(term),
        Printable(format)
    )]
    Value {
        /// The PMU.
        pmu: String,
        /// The term with its value.
        term: String,
        /// The kernel's description of its bits.
        format: String,
    },
    /// Tracefs is not mounted or may not be read.
    #[error(
        "tracepoint {group}:{name}: no /sys/kernel/tracing/events to be read; as root: mount -t tracefs nodev /sys/kernel/tracing"
    )]
    NoTracefs {
        /// The tracepoint's group.
        group: String,
        /// Its name.
        name: String,
    },
    /// The kernel has no such tracepoint.
    #[error("the kernel has no tracepoint {}:{}", Printable(group), Printable(name))]
    NoTracepoint {
        /// The tracepoint's group.
        group: String,
        /// Its name.
        name: String,
    },
    /// A core type that there is not.
    #[error("coretype={asked}: this machine has {there} core type(s), counted from 0")]
    NoCoreType {
        /// The core type.
        asked: u8,
        /// How many there are.
        there: usize,
    },
}

/// A core type's PMU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CorePmu {
    /// Its name in sysfs.
    pub name: String,
    /// Its number.
    pub kind: u32,
}

/// One event on one PMU: which of its set's events, and the attributes.
pub type Member = (usize, Attr);

/// Translates events by the descriptions in `files`.
pub struct Resolver<'a> {
    files: &'a dyn Files,
    cores: Vec<CorePmu>,
}

impl<'a> Resolver<'a> {
    /// Looks which PMUs there are.
    pub fn new(files: &'a dyn Files) -> Self {
        Self { files, cores: core_pmus(files) }
    }

    /// The PMU of each core type; empty where the processor's counters are not to be had.
    pub fn core_pmus(&self) -> &[CorePmu] {
        &self.cores
    }

    /// How this processor lays out raw codes: with unit masks where its PMU has them.
    pub fn layout(&self) -> RawLayout {
        let masks = |pmu: &CorePmu| self.files.exists(&format!("{DEVICES}/{}/format/umask", pmu.name));
        match self.cores.first() {
            Some(pmu) if !masks(pmu) => RawLayout::Plain,
            Some(_) => RawLayout::X86,
            None if cfg!(any(target_arch = "x86", target_arch = "x86_64")) => RawLayout::X86,
            None => RawLayout::Plain,
        }
    }

    /// The groups of a set: events that can be on counters together. What the operating system counts goes
    /// with the first group.
    ///
    /// # Errors
    /// The first event that this machine does not know.
    pub fn groups(&self, set: &EventGroup, default: Filter) -> Result<Vec<Vec<Member>>, ResolveError> {
        let mut groups: Vec<(u32, Vec<Member>)> = Vec::new();
        let mut soft: Vec<Member> = Vec::new();
        for (i, event) in set.events.iter().enumerate() {
            for (pmu, attr) in self.attrs(event, default)? {
                match pmu {
                    None => soft.push((i, attr)),
                    Some(pmu) => match groups.iter_mut().find(|(other, _)| *other == pmu) {
                        Some((_, members)) => members.push((i, attr)),
                        None => groups.push((pmu, vec![(i, attr)])),
                    },
                }
            }
        }
        let mut groups: Vec<Vec<Member>> = groups.into_iter().map(|(_, members)| members).collect();
        match groups.first_mut() {
            Some(first) => first.extend(soft),
            None if !soft.is_empty() => groups.push(soft),
            None => {}
        }
        for group in &mut groups {
            // The sampled event leads, for its samples carry the group's reading.
            group.sort_by_key(|(_, attr)| attr.period == 0);
        }
        Ok(groups)
    }

    /// The PMU (`None` for the operating system) and attributes of an event, one for each core type.
    fn attrs(&self, event: &CountedEvent, default: Filter) -> Result<Vec<(Option<u32>, Attr)>, ResolveError> {
        let filter = event.filter.unwrap_or(default);
        let base = Attr {
            exclude_user: !filter.user,
            exclude_kernel: !filter.kernel,
            period: event.every.map_or(0, u64::from),
            ..Attr::default()
        };
        let of = |kind: u32, config: u64| Attr { kind, config: [config, 0, 0], ..base };
        match &event.code {
            Code::Software(event) => Ok(vec![(None, of(b::PERF_TYPE_SOFTWARE, software(*event)))]),
            Code::Tracepoint { group, name } => {
                Ok(vec![(None, of(b::PERF_TYPE_TRACEPOINT, self.tracepoint(group, name)?))])
            }
            Code::Pmu { pmu, terms } => {
                let (kind, config) = self.described(pmu, terms)?;
                Ok(vec![(Some(kind), Attr { kind, config, ..base })])
            }
            Code::Raw { config, config1, config2 } => {
                let pmus = self.pmus_for(event.core_type)?;
                let config = [*config, *config1, *config2];
                let attr = |kind| Attr { kind, config, ..base };
                Ok(match pmus.as_slice() {
                    [] => vec![(Some(b::PERF_TYPE_RAW), attr(b::PERF_TYPE_RAW))],
                    pmus => pmus.iter().map(|pmu| (Some(pmu.kind), attr(pmu.kind))).collect(),
                })
            }
            Code::Generic(event_code) => {
                self.mapped(event.core_type, b::PERF_TYPE_HARDWARE, generic(*event_code), base)
            }
            Code::Cache { cache, write, result } => {
                let config = cache_code(*cache) | u64::from(*write) << 8 | cache_result(*result) << 16;
                self.mapped(event.core_type, b::PERF_TYPE_HW_CACHE, config, base)
            }
        }
    }

    /// An event that the kernel maps: on hybrid processors the upper half of the configuration word says for
    /// which core type.
    fn mapped(
        &self,
        core_type: Option<u8>,
        kind: u32,
        config: u64,
        base: Attr,
    ) -> Result<Vec<(Option<u32>, Attr)>, ResolveError> {
        let pmus = self.pmus_for(core_type)?;
        let attr = |config| Attr { kind, config: [config, 0, 0], ..base };
        if self.cores.len() < 2 {
            let group = pmus.first().map_or(b::PERF_TYPE_RAW, |pmu| pmu.kind);
            return Ok(vec![(Some(group), attr(config))]);
        }
        let on = |pmu: &CorePmu| (Some(pmu.kind), attr(config | u64::from(pmu.kind) << 32));
        Ok(pmus.iter().map(on).collect())
    }

    fn pmus_for(&self, core_type: Option<u8>) -> Result<Vec<CorePmu>, ResolveError> {
        match core_type {
            None => Ok(self.cores.clone()),
            Some(asked) => match self.cores.get(usize::from(asked)) {
                Some(pmu) => Ok(vec![pmu.clone()]),
                None => Err(ResolveError::NoCoreType { asked, there: self.cores.len() }),
            },
        }
    }

    fn tracepoint(&self, group: &str, name: &str) -> Result<u64, ResolveError> {
        let (group_name, event_name) = (group.to_owned(), name.to_owned());
        let Some(tracing) = TRACING.iter().find(|at| self.files.exists(&format!("{at}/events"))) else {
            return Err(ResolveError::NoTracefs { group: group_name, name: event_name });
        };
        let id = self.files.number(&format!("{tracing}/events/{group}/{name}/id"));
        id.and_then(|id| u64::try_from(id).ok())
            .ok_or(ResolveError::NoTracepoint { group: group_name, name: event_name })
    }

    /// The PMU's number and the configuration words of `terms`.
    fn described(&self, pmu: &str, terms: &str) -> Result<(u32, [u64; 3]), ResolveError> {
        let base = format!("{DEVICES}/{pmu}");
        let kind = self.files.number(&format!("{base}/type")).and_then(|kind| u32::try_from(kind).ok());
        let kind =
            kind.ok_or_else(|| ResolveError::NoPmu { pmu: pmu.to_owned(), known: self.files.list(DEVICES) })?;
        let mut config = [0; 3];
        for term in terms.split(',').map(str::trim).filter(|term| !term.is_empty()) {
            match self.files.text(&format!("{base}/events/{term}")) {
                Some(event) if !term.contains('=') => {
                    for inner in event.split(',') {
                        self.term(pmu, inner.trim(), &mut config)?;
                    }
                }
                _ => self.term(pmu, term, &mut config)?,
            }
        }
        Ok((kind, config))
    }

    /// Puts one `key=value` (or `key`, for 1) where the PMU's format says.
    fn term(&self, pmu: &str, term: &str, config: &mut [u64; 3]) -> Result<(), ResolveError> {
        let (key, value) = term.split_once('=').unwrap_or((term, "1"));
        let bad = |format: &str| ResolveError::Value {
            pmu: pmu.to_owned(),
            term: term.to_owned(),
            format: format.to_owned(),
        };
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        let Some(format) = self.files.text(&format!("{DEVICES}/{pmu}/format/{key}")) else {
            if let Some(word) = ["config", "config1", "config2"].iter().position(|name| *name == key) {
                config[word] |= value.map_err(|_| bad("0-63"))?;
                return Ok(());
            }
            let mut known = self.files.list(&format!("{DEVICES}/{pmu}/events"));
            known.extend(self.files.list(&format!("{DEVICES}/{pmu}/format")));
            return Err(ResolveError::NoTerm { pmu: pmu.to_owned(), term: key.to_owned(), known });
        };
        let value = value.map_err(|_| bad(&format))?;
        place(&format, value, config).ok_or_else(|| bad(&format))
    }
}

/// Spreads `value` over the bits of a format, `config1:0-7,32-35`; `None` where it does not fit.
fn place(format: &str, mut value: u64, config: &mut [u64; 3]) -> Option<()> {
    let (word, ranges) = format.split_once(':')?;
    let word = match word {
        "config" => 0,
        "config1" => 1,
        "config2" => 2,
        _ => return None,
    };
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        let width = high.checked_sub(low)?.checked_add(1)?;
        if high > 63 {
            return None;
        }
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        config[word] |= (value & mask) << low;
        value = if width == 64 { 0 } else { value >> width };
    }
    (value == 0).then_some(())
}

/// The PMUs that count for threads on cores: `cpu`, or one for each core type.
fn core_pmus(files: &dyn Files) -> Vec<CorePmu> {
    let names = files.list(DEVICES);
    let is_core = |name: &&String| {
        let hybrid = ["cpu_core", "cpu_atom", "cpu_lowpower"].contains(&name.as_str());
        let arm = name.starts_with("armv") || name.starts_with("apple_") && name.ends_with("_pmu");
        *name == "cpu" || hybrid || arm
    };
    let mut found: Vec<CorePmu> = names
        .iter()
        .filter(is_core)
        .filter_map(|name| {
            let kind = files.number(&format!("{DEVICES}/{name}/type"))?;
            Some(CorePmu { name: name.clone(), kind: u32::try_from(kind).ok()? })
        })
        .collect();
    // Big cores first, as coretype=0: Intel's `cpu_core` before `cpu_atom`.
    found.sort_by_key(|pmu| (pmu.name != "cpu_core", pmu.name.clone()));
    found
}

/// Names that this machine describes: tracepoints and the named events of its PMUs.
pub struct SysfsNames<'a>(pub &'a dyn Files);

impl Names for SysfsNames<'_> {
    fn find(&self, name: &str) -> Option<Code> {
        if let Some((group, event)) = name.split_once(':') {
            let known = TRACING.iter().any(|at| self.0.exists(&format!("{at}/events/{group}/{event}/id")));
            let plausible = !TRACING.iter().any(|at| self.0.exists(&format!("{at}/events")))
                && ["sched", "syscalls", "irq", "timer", "power", "kmem", "raw_syscalls"].contains(&group)
                && !event.contains(':');
            let code = Code::Tracepoint { group: group.to_owned(), name: event.to_owned() };
            return (known || plausible).then_some(code);
        }
        let pmus = core_pmus(self.0);
        let wanted = solo_observe::catalog::normal(name);
        pmus.iter().find_map(|pmu| {
            let events = self.0.list(&format!("{DEVICES}/{}/events", pmu.name));
            let event = events.into_iter().find(|event| solo_observe::catalog::normal(event) == wanted)?;
            Some(Code::Pmu { pmu: pmu.name.clone(), terms: event })
        })
    }

    /// By the table of the processor's microarchitecture; on processors of several core types by none, for each has its own.
    fn canonical(&self, event: EventId) -> Option<Code> {
        let one = core_pmus(self.0).len() == 1;
        let code = microarchitecture(self.0).filter(|_| one)?.code(event)?;
        Some(Code::Raw { config: code.config(), config1: 0, config2: 0 })
    }
}

/// The microarchitecture that `/proc/cpuinfo` names, where there is a table for it.
pub fn microarchitecture(files: &dyn Files) -> Option<Microarchitecture> {
    let info = files.text("/proc/cpuinfo")?;
    let value = |wanted: &str| {
        let fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == wanted)
    };
    let number = |key: &str| value(key)?.1.parse().ok();
    let intel = match value("vendor_id")?.1 {
        "GenuineIntel" => true,
        "AuthenticAMD" | "HygonGenuine" => false,
        _ => return None,
    };
    Microarchitecture::of_model(intel, number("cpu family")?, number("model")?)
}

const fn software(event: Software) -> u64 {
    (match event {
        Software::CpuClock => b::PERF_COUNT_SW_CPU_CLOCK,
        Software::TaskClock => b::PERF_COUNT_SW_TASK_CLOCK,
        Software::PageFaults => b::PERF_COUNT_SW_PAGE_FAULTS,
        Software::ContextSwitches => b::PERF_COUNT_SW_CONTEXT_SWITCHES,
        Software::CpuMigrations => b::PERF_COUNT_SW_CPU_MIGRATIONS,
        Software::MinorFaults => b::PERF_COUNT_SW_PAGE_FAULTS_MIN,
        Software::MajorFaults => b::PERF_COUNT_SW_PAGE_FAULTS_MAJ,
        Software::AlignmentFaults => b::PERF_COUNT_SW_ALIGNMENT_FAULTS,
        Software::EmulationFaults => b::PERF_COUNT_SW_EMULATION_FAULTS,
    }) as u64
}

const fn generic(event: Generic) -> u64 {
    (match event {
        Generic::Cycles => b::PERF_COUNT_HW_CPU_CYCLES,
        Generic::Instructions => b::PERF_COUNT_HW_INSTRUCTIONS,
        Generic::CacheReferences => b::PERF_COUNT_HW_CACHE_REFERENCES,
        Generic::CacheMisses => b::PERF_COUNT_HW_CACHE_MISSES,
        Generic::Branches => b::PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
        Generic::BranchMisses => b::PERF_COUNT_HW_BRANCH_MISSES,
        Generic::BusCycles => b::PERF_COUNT_HW_BUS_CYCLES,
        Generic::StalledFrontend => b::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
        Generic::StalledBackend => b::PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
        Generic::ReferenceCycles => b::PERF_COUNT_HW_REF_CPU_CYCLES,
    }) as u64
}

const fn cache_code(cache: Cache) -> u64 {
    (match cache {
        Cache::L1Data => b::PERF_COUNT_HW_CACHE_L1D,
        Cache::L1Instruction => b::PERF_COUNT_HW_CACHE_L1I,
        Cache::LastLevel => b::PERF_COUNT_HW_CACHE_LL,
        Cache::DataTlb => b::PERF_COUNT_HW_CACHE_DTLB,
        Cache::InstructionTlb => b::PERF_COUNT_HW_CACHE_ITLB,
        Cache::Branch => b::PERF_COUNT_HW_CACHE_BPU,
        Cache::Node => b::PERF_COUNT_HW_CACHE_NODE,
    }) as u64
}

const fn cache_result(result: CacheResult) -> u64 {
    (match result {
        CacheResult::Access => b::PERF_COUNT_HW_CACHE_RESULT_ACCESS,
        CacheResult::Miss => b::PERF_COUNT_HW_CACHE_RESULT_MISS,
    }) as u64
}

#[cfg(test)]
mod tests;
