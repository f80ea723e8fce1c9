//! A chip as data: cores, caches, coherence, DRAM, counters.
//!
//! Platform files (`platforms/*.toml`) are read into this by `solo-scenario`; the simulated machine is built
//! from it, `isolate` derives colors and banks from it, reports print it.

use crate::event::{Counts, EventId, EventTable};
use crate::id::{CoreSet, KindId};
use crate::power::{PowerDomain, PowerModel};
use crate::units::{Bandwidth, Bytes, Cycles, Duration, Energy, Frequency, PerMille, Picoseconds, Voltage};
use alloc::string::String;
use alloc::vec::Vec;

/// A chip.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Platform {
    /// The name of the platform file.
    pub name: String,
    /// The kinds of cores.
    pub kinds: Vec<CoreKind>,
    /// The position among them of the kind on which computing takes as long as a task says; see [`RelativeSpeed`](crate::RelativeSpeed).
    #[cfg_attr(feature = "serde", serde(default))]
    pub reference: u8,
    /// The logical processors: `CoreId(i)` is `cores[i]`. At most [`CoreSet::CAPACITY`].
    pub cores: Vec<Core>,
    /// The caches, first level first; within a level by their lowest core.
    pub caches: Vec<Cache>,
    /// What it costs to keep private caches coherent.
    pub coherence: Coherence,
    /// The bus between the outermost caches and memory, where they share one.
    pub bus: Option<FrontSideBus>,
    /// The prefetcher of each core, where it has one.
    pub prefetcher: Option<StreamPrefetcher>,
    /// Main memory.
    pub dram: Dram,
    /// The size of a page, a power of two.
    pub page: Bytes,
    /// How pages are placed in physical memory.
    pub frames: FramePolicy,
    /// The performance monitoring unit of each core.
    pub pmu: Pmu,
    /// What its event ids mean: the canonical events and the processor's own.
    pub events: EventTable,
    /// What it draws, where somebody has said: it then has an energy meter.
    #[cfg_attr(feature = "serde", serde(default))]
    pub power: Option<PowerModel>,
    /// Where each value comes from: `(key, source)`, in the order of the file.
    pub sources: Vec<(String, String)>,
}

/// A kind of core.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreKind {
    /// The name, for example `big`.
    pub name: String,
    /// The nominal clock.
    pub clock: Frequency,
    /// Instructions per thousand cycles when nothing misses the first-level cache.
    pub instructions_per_kilocycle: u32,
    /// What limits accesses that don't depend on each other; where nobody has said, `instructions_per_kilocycle` does.
    pub ports: Option<Ports>,
    /// How many first-level misses can be under way at once; at least 1.
    pub outstanding_misses: u8,
    /// The speed of computation while the SMT sibling computes too; 1000 without SMT.
    pub smt_speed: PerMille,
    /// Cycles that a mispredicted branch costs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub branch_miss: u16,
    /// Cycles that a miss of a translation buffer costs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tlb_miss: u16,
    /// What each of some events costs; what a core draws while it is busy is a cost of its cycles. Empty where
    /// nobody has said.
    pub energy: Vec<(EventId, Energy)>,
    /// The clocks that it can have, ascending, one of them the one that it is described at; empty where nobody has said.
    #[cfg_attr(feature = "serde", serde(default))]
    pub steps: Vec<ClockStep>,
    /// The clock that it is described at, where it has another now: times on the reference kind are meant at this one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub described_at: Option<Frequency>,
}

/// A clock, and the supply that it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClockStep {
    /// The clock.
    #[cfg_attr(feature = "serde", serde(rename = "clock_hz"))]
    pub clock: Frequency,
    /// The supply.
    #[cfg_attr(feature = "serde", serde(rename = "voltage_mv"))]
    pub voltage: Voltage,
}

/// How many operations of each sort a core begins in a cycle when none waits for another; each at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ports {
    /// Instructions of any sort.
    pub instructions: u8,
    /// Loads.
    pub loads: u8,
    /// Stores.
    pub stores: u8,
}

impl CoreKind {
    /// The energy of what was counted; zero where the kind has no costs, `None` where something that costs was not
    /// counted.
    pub fn energy_of(&self, counts: &Counts) -> Option<Energy> {
        let cost = |&(event, each): &(EventId, Energy)| Some(each.get().saturating_mul(counts.get(event)?));
        let sum = |sum: u64, cost: Option<u64>| Some(sum.saturating_add(cost?));
        self.energy.iter().map(cost).try_fold(0, sum).map(Energy::new)
    }
}

/// A logical processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Core {
    /// The position in [`Platform::kinds`].
    pub kind: u8,
    /// The physical core: logical processors of the same number are SMT siblings.
    pub physical: u16,
}

/// What a cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Contents {
    /// Instructions only.
    Instructions,
    /// Data only.
    Data,
    /// Both.
    Unified,
}

pub use solo_replacement::Replacement;

/// How a cache relates to the levels nearer to the core.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Inclusion {
    /// Holds every line of the nearer levels: evicting a line takes it from them too.
    Inclusive,
    /// Neither guarantees nor avoids copies.
    NonInclusive,
    /// Holds only lines that nearer levels have evicted.
    Exclusive,
}

/// A set-associative, write-back, write-allocate cache.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cache {
    /// The level, 1 nearest to the core.
    pub level: u8,
    /// What it holds.
    pub contents: Contents,
    /// The cores behind it: one core for a private cache, two siblings under SMT, a cluster, or all.
    pub cores: CoreSet,
    /// Total size of the data.
    pub size: Bytes,
    /// Lines in a set.
    pub ways: u16,
    /// The size of a line, a power of two.
    pub line: Bytes,
    /// From the core's load to its use, when the line is found here.
    pub latency: Cycles,
    /// Which line leaves a full set.
    pub replacement: Replacement,
    /// How it relates to nearer levels.
    pub inclusion: Inclusion,
    /// Address bits whose parity selects each bit of the slice number; empty for one slice.
    pub slice_hash: Vec<XorBits>,
    /// So many slices among which a hash that nobody has published spreads lines evenly; 1 for none.
    pub hashed_slices: u16,
}

impl Cache {
    /// Sets over all slices.
    ///
    /// # Panics
    /// If ways or line size are zero.
    pub const fn sets(&self) -> u64 {
        self.size.get() / (self.line.get() * self.ways as u64)
    }

    /// The slices that lines are spread over; at least 1.
    pub fn slices(&self) -> u64 {
        (1 << self.slice_hash.len()) * u64::from(self.hashed_slices.max(1))
    }

    /// Page colors: groups of pages that share no set, counted by index bits above the page offset within
    /// a slice. At least 1. Where the sets of a slice are no power of two, pages are told apart modulo its largest
    /// divisor that is one.
    pub fn colors(&self, page: Bytes) -> u16 {
        let bytes_per_way = self.sets() / self.slices() * self.line.get();
        let whole = bytes_per_way.trailing_zeros().saturating_sub(page.get().trailing_zeros());
        u16::try_from(1_u64 << whole.min(63)).unwrap_or(u16::MAX)
    }
}

/// A bit that is the parity of some physical address bits: bit `n` of the mask stands for address bit `n`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct XorBits(pub u64);

impl XorBits {
    /// The bit for a physical address.
    pub const fn of(self, address: u64) -> u64 {
        ((address & self.0).count_ones() & 1) as u64
    }
}

/// The family of coherence states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Protocol {
    /// Private caches are not kept coherent.
    None,
    /// Modified, exclusive, shared, invalid.
    Mesi,
    /// MESI with a forwarder among the sharers.
    Mesif,
    /// MESI with an owner of modified shared lines.
    Moesi,
}

/// What it costs to keep private caches coherent. Each cost is added to the shared level's latency.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Coherence {
    /// The states.
    pub protocol: Protocol,
    /// Another core holds the line clean and exclusive.
    pub snoop_clean: Cycles,
    /// Another core holds the line modified.
    pub snoop_modified: Cycles,
    /// A write must invalidate shared copies.
    pub upgrade: Cycles,
}

/// A bus that joins the outermost caches (its agents) and the memory controller: each transaction has an address
/// phase, a snoop phase in which every other agent answers, and mostly a data phase (hpc-invalidations, section 4).
/// Phases of different transactions overlap; what is shared is one set of address and one of data lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrontSideBus {
    /// The period of the bus clock.
    pub clock: Picoseconds,
    /// Bus clocks of an address phase.
    pub address: u16,
    /// Bus clocks from the end of the address phase to the answer of all agents.
    pub snoop: u16,
    /// Bus clocks from that answer until an agent that has changed the line begins to send it.
    pub reply: u16,
    /// Bus clocks of the data phase of a line.
    pub data: u16,
    /// Bus clocks for which an agent holds HIT# or HITM#.
    pub signal: u16,
    /// Transactions that can be under way at once; at least 1.
    pub depth: u16,
}

/// A prefetcher of each core that follows streams: accesses to neighbouring lines of a page that its first level does
/// not have. What it asks for goes into the last level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamPrefetcher {
    /// It works; else it is there and switched off.
    pub on: bool,
    /// Streams that it follows at once; at least 1.
    pub streams: u16,
    /// Neighbouring lines in a row before it begins; at least 1.
    pub after: u16,
    /// How many lines it goes ahead; at least 1. Also the lines that it can wait for at once.
    pub distance: u16,
}

/// Main memory: all channels are alike.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Dram {
    /// The capacity.
    pub size: Bytes,
    /// Address bits that select the channel; empty for one channel.
    pub channel_bits: Vec<XorBits>,
    /// Address bits that select the rank; empty for one rank.
    pub rank_bits: Vec<XorBits>,
    /// Address bits that select the bank within a rank.
    pub bank_bits: Vec<XorBits>,
    /// The number of the lowest address bit of the row number.
    pub row_shift: u8,
    /// The period of the bus clock; data moves twice in each.
    pub clock: Picoseconds,
    /// The width of a channel's data bus in bytes.
    pub bus_width: Bytes,
    /// Timing in bus clocks.
    pub timing: DramTiming,
    /// Rows stay open after an access, or are closed at once.
    pub page_policy: PagePolicy,
    /// How the controller orders requests.
    pub order: RequestOrder,
    /// Requests that wait in a channel's controller: reads and writes each.
    pub queue: u16,
    /// The way between core and controller and back, both together, that every request takes beside the
    /// DRAM's own time.
    pub path: Duration,
    /// What memory moves whatever the addresses (r_min), as it was measured; absent where nobody has.
    #[cfg_attr(feature = "serde", serde(default))]
    pub guaranteed: Option<Bandwidth>,
    /// The same where every line that is read pushes out a modified one: reads and writes together.
    #[cfg_attr(feature = "serde", serde(default))]
    pub guaranteed_with_writes: Option<Bandwidth>,
}

impl Dram {
    /// The most that all channels together can move.
    pub fn peak(&self) -> Bandwidth {
        let channels = 1_u64 << self.channel_bits.len();
        let per_second = 2_000_000_000_000_u128 / u128::from(self.clock.get().max(1));
        Bandwidth::new((per_second * u128::from(self.bus_width.get() * channels)) as u64)
    }
}

/// DRAM timing in bus clocks, by their JEDEC names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DramTiming {
    /// Column read to first data (CL).
    pub cl: u16,
    /// Column write to first data (CWL).
    pub cwl: u16,
    /// Row activation to column command (tRCD).
    pub rcd: u16,
    /// Precharge to activation (tRP).
    pub rp: u16,
    /// Activation to precharge (tRAS).
    pub ras: u16,
    /// Activation to activation of the same bank (tRC).
    pub rc: u16,
    /// Activation to activation of another bank of the rank (tRRD).
    pub rrd: u16,
    /// The window in which a rank activates at most four rows (tFAW).
    pub faw: u16,
    /// End of write data to precharge (tWR).
    pub wr: u16,
    /// End of write data to column read (tWTR).
    pub wtr: u16,
    /// Column read to precharge (tRTP).
    pub rtp: u16,
    /// Column command to column command (tCCD).
    pub ccd: u16,
    /// Length of a refresh (tRFC).
    pub rfc: u16,
    /// Time between refreshes (tREFI); 0 switches refresh off.
    pub refi: u16,
    /// Transfers of a burst (BL).
    pub burst: u16,
}

/// What happens to a row after an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum PagePolicy {
    /// It stays open until another is needed.
    Open,
    /// It is closed at once.
    Closed,
}

/// How the memory controller orders requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RequestOrder {
    /// As they come.
    Fcfs,
    /// Those that hit an open row first, then as they come (FR-FCFS).
    RowHitsFirst,
}

/// How pages are placed in physical memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum FramePolicy {
    /// One frame after the other: a freshly booted system.
    Sequential,
    /// Drawn from the free frames by the experiment's seed: a system that has run for a while.
    Random,
}

/// A performance monitoring unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pmu {
    /// Counters that can be set to any event.
    pub programmable: u8,
    /// Counters bound to one event each: instructions first, then cycles; a single one counts cycles.
    pub fixed: u8,
    /// Bits of a counter.
    pub width: u8,
    /// Overflow raises an interrupt.
    pub overflow: bool,
    /// Ids by which lines of the last level are told apart (Intel CMT), 0 among them, which is nobody's; 0 where how much of it
    /// is held can't be told.
    #[cfg_attr(feature = "serde", serde(default))]
    pub rmids: u16,
}

impl Pmu {
    /// What so many counters count that are bound to one event each; of those beyond the second nothing is made.
    pub const fn events_of_fixed(counters: u8) -> &'static [EventId] {
        match counters {
            0 => &[],
            1 => &[EventId::CYCLES],
            _ => &[EventId::INSTRUCTIONS, EventId::CYCLES],
        }
    }
}

/// True where a value's source, `KEY: text` as in [`Platform::sources`], says that nobody has checked the value: keys `G`
/// (guess) and `M` (memory), and whatever is said to be guessed or remembered.
pub fn is_guess(source: &str) -> bool {
    let (key, text) = source.split_once(':').unwrap_or((source, ""));
    matches!(key, "G" | "M") || ["guess", "remember"].iter().any(|word| text.contains(word))
}

impl Platform {
    /// Everything that has an energy meter: the cores of each kind, then memory. Empty without `power`.
    pub fn power_domains(&self) -> Vec<PowerDomain> {
        let Some(model) = &self.power else { return Vec::new() };
        let clusters = (0..model.clusters.len()).map(|kind| PowerDomain::Cluster(KindId(kind as u8)));
        clusters.chain(model.dram.map(|_| PowerDomain::Dram)).collect()
    }

    /// The kind of a core.
    ///
    /// # Panics
    /// If the core is not of this platform.
    pub fn kind(&self, core: crate::CoreId) -> &CoreKind {
        &self.kinds[usize::from(self.cores[core.index()].kind)]
    }

    /// All cores.
    pub fn core_set(&self) -> CoreSet {
        CoreSet::first(self.cores.len())
    }

    /// How many cache levels there are: the number of the last one, 0 without caches.
    pub fn levels(&self) -> u8 {
        self.caches.iter().map(|cache| cache.level).max().unwrap_or(0)
    }

    /// The last-level cache: the outermost one that holds data, and of several the one of the highest cores. `None`
    /// without caches.
    pub fn last_level(&self) -> Option<&Cache> {
        self.data_caches().map(|(_, cache)| cache).max_by_key(|cache| cache.level)
    }

    /// The outermost cache that holds data of a core, with its position in [`Platform::caches`].
    pub fn last_level_of(&self, core: crate::CoreId) -> Option<(usize, &Cache)> {
        self.data_caches()
            .filter(|(_, cache)| cache.cores.contains(core))
            .max_by_key(|(_, cache)| cache.level)
    }

    /// The size of a line, the unit in which caches and memory exchange data: that of the last level, since it is what
    /// memory moves. All caches of a chip have it; scenario and simulated machine refuse chips where they differ. Memory
    /// without caches is accessed by 64 bytes.
    pub fn line(&self) -> Bytes {
        self.last_level().map_or(Bytes::new(64), |cache| cache.line)
    }

    fn data_caches(&self) -> impl Iterator<Item = (usize, &Cache)> {
        self.caches.iter().enumerate().filter(|(_, cache)| cache.contents != Contents::Instructions)
    }

    /// The groups of cores that share a data or unified cache of `level`, by their lowest core.
    pub fn clusters(&self, level: u8) -> Vec<CoreSet> {
        self.data_caches().filter(|(_, cache)| cache.level == level).map(|(_, cache)| cache.cores).collect()
    }

    /// The cores behind each cache of the outermost level that has several: lines go between two of these sets the long way.
    /// Empty where there is no such level.
    pub fn neighborhoods(&self) -> Vec<CoreSet> {
        let levels = (1..=self.levels()).rev().map(|level| self.clusters(level));
        levels.into_iter().find(|clusters| clusters.len() > 1).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{cache, chip};
    use crate::platform::Contents;
    use crate::{Bytes, CoreId, CoreSet};

    /// Two clusters with an L2 each, and a large instruction cache that is no data cache whatever its level says.
    #[test]
    fn the_last_level_holds_data_and_gives_the_line() {
        let mut platform = chip(4);
        assert_eq!((platform.levels(), platform.last_level(), platform.line()), (0, None, Bytes::new(64)));
        let pair = |low| CoreSet::only(CoreId(low)).with(CoreId(low + 1));
        platform.caches = alloc::vec![
            cache(1, Contents::Data, pair(0), 32, 8, 4),
            cache(2, Contents::Unified, pair(0), 256, 8, 12),
            cache(2, Contents::Unified, pair(2), 512, 8, 12),
            cache(3, Contents::Instructions, CoreSet::first(4), 1024, 8, 30),
        ];
        for cache in &mut platform.caches[..3] {
            cache.line = Bytes::new(128);
        }
        assert_eq!(platform.levels(), 3);
        assert_eq!(platform.last_level().map(|cache| cache.size), Some(Bytes::from_kib(512)));
        assert_eq!(platform.last_level_of(CoreId(1)).map(|(at, _)| at), Some(1));
        assert_eq!(platform.last_level_of(CoreId(3)).map(|(at, _)| at), Some(2));
        assert_eq!(platform.line(), Bytes::new(128));
        assert_eq!(platform.clusters(2), [pair(0), pair(2)]);
        assert_eq!(platform.clusters(3), []);
    }
}
