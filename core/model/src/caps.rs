//! What a machine is able to do, as a value.
//!
//! A machine answers for itself, and experiments and policies are held against the answer before they start. Nobody asks for a
//! machine's name. What wraps a machine, or knows that less is there, may [lower](Caps::lowered) the answer and never raise it.

use crate::event::EventSet;
use crate::id::CoreSet;
use crate::units::{Duration, PerMille};
use alloc::vec;
use alloc::vec::Vec;

/// Cores of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KindCaps {
    /// Which.
    pub cores: CoreSet,
    /// How fast they compute, against the fastest kind of the machine.
    pub capacity: PerMille,
}

/// A machine's abilities.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Caps {
    /// The cores that can run threads.
    pub cores: CoreSet,
    /// The same by their kinds, in the order of the lowest core of each.
    pub kinds: Vec<KindCaps>,
    /// The finest distance between two timer interrupts that the machine can tell apart.
    pub timer_resolution: Duration,
    /// One-shot timers for each core.
    pub one_shot_timer: bool,
    /// A core can ask another to reschedule.
    pub reschedule_ipi: bool,
    /// Threads can be preempted; without it only FCFS-like policies run.
    pub preemption: bool,
    /// The time of a core can be divided into windows of partitions.
    pub windows: bool,
    /// Tasks can be moved to another core at each release.
    pub migrates: bool,
    /// The most threads, idle threads not counted.
    pub threads_max: u32,
    /// Jobs can touch memory, and it takes the time that it takes.
    pub memory: bool,
    /// Devices can move data between themselves and memory.
    pub devices: bool,
    /// They start by themselves, without a core that does it.
    pub self_starting_devices: bool,
    /// Caches can be emptied of the lines of a buffer.
    pub flushes_buffers: bool,
    /// All that a core reaches can be emptied of all lines.
    pub flushes_all: bool,
    /// Recorded programs can be replayed.
    pub recordings: bool,
    /// Jobs can be programs of the host's.
    pub commands: bool,
    /// Freely programmable event counters of each core.
    pub counters: u8,
    /// Counters of each core that count one event each, as [`Pmu::fixed`] says.
    pub fixed_counters: u8,
    /// Bits of a counter.
    pub counter_width: u8,
    /// Counters can interrupt when they overflow; without it no budget can be enforced.
    pub counter_overflow: bool,
    /// What programmable counters can count, by the table of the experiment's platform.
    pub countable: EventSet,
    /// How much of a cache each task holds can be told.
    pub occupancy: bool,
    /// Cores can be slowed by eighths (duty-cycle modulation).
    pub duty_cycles: bool,
    /// Energy can be measured.
    pub energy: bool,
    /// Page colors of the last-level cache: 1 where coloring has no effect, 0 where pages can't be placed by color.
    pub colors: u16,
    /// DRAM banks that pages can be placed in; 0 where they can't be.
    pub banks: u16,
    /// Ways of the last-level cache that can be given to cores and tasks; 0 where none can.
    pub ways: u16,
    /// Cache lines or ways can be locked.
    pub cache_lock: bool,
}

impl Caps {
    /// A plain machine: `cores` cores that are alike, timers exact to a nanosecond, requests between cores, threads that can be
    /// preempted. Nothing to count with, and no memory.
    ///
    /// # Panics
    /// Above [`CoreSet::CAPACITY`] cores.
    pub fn plain(cores: usize) -> Self {
        let cores = CoreSet::first(cores);
        Self {
            cores,
            kinds: vec![KindCaps { cores, capacity: PerMille::ONE }],
            timer_resolution: Duration::new(1),
            one_shot_timer: true,
            reschedule_ipi: true,
            preemption: true,
            windows: true,
            migrates: true,
            threads_max: u32::MAX,
            memory: false,
            devices: false,
            self_starting_devices: false,
            flushes_buffers: false,
            flushes_all: false,
            recordings: false,
            commands: false,
            counters: 0,
            fixed_counters: 0,
            counter_width: 64,
            counter_overflow: false,
            countable: EventSet::EMPTY,
            occupancy: false,
            duty_cycles: false,
            energy: false,
            colors: 0,
            banks: 0,
            ways: 0,
            cache_lock: false,
        }
    }

    /// What both this machine and `other` are able to do: what a wrapper promises of the machine inside it.
    #[must_use]
    pub fn lowered(&self, other: &Self) -> Self {
        let cores = self.cores.and(other.cores);
        let countable = self.countable.iter().filter(|event| other.countable.contains(*event)).collect();
        Self {
            cores,
            kinds: common_kinds(&self.kinds, &other.kinds, cores),
            timer_resolution: self.timer_resolution.max(other.timer_resolution),
            one_shot_timer: self.one_shot_timer && other.one_shot_timer,
            reschedule_ipi: self.reschedule_ipi && other.reschedule_ipi,
            preemption: self.preemption && other.preemption,
            windows: self.windows && other.windows,
            threads_max: self.threads_max.min(other.threads_max),
            memory: self.memory && other.memory,
            devices: self.devices && other.devices,
            self_starting_devices: self.self_starting_devices && other.self_starting_devices,
            flushes_buffers: self.flushes_buffers && other.flushes_buffers,
            migrates: self.migrates && other.migrates,
            flushes_all: self.flushes_all && other.flushes_all,
            recordings: self.recordings && other.recordings,
            commands: self.commands && other.commands,
            counters: self.counters.min(other.counters),
            fixed_counters: self.fixed_counters.min(other.fixed_counters),
            counter_width: self.counter_width.min(other.counter_width),
            counter_overflow: self.counter_overflow && other.counter_overflow,
            countable,
            occupancy: self.occupancy && other.occupancy,
            duty_cycles: self.duty_cycles && other.duty_cycles,
            energy: self.energy && other.energy,
            colors: self.colors.min(other.colors),
            banks: self.banks.min(other.banks),
            ways: self.ways.min(other.ways),
            cache_lock: self.cache_lock && other.cache_lock,
        }
    }
}

/// Those of `cores` that both know, each at the lower capacity.
fn common_kinds(one: &[KindCaps], other: &[KindCaps], cores: CoreSet) -> Vec<KindCaps> {
    let mut kinds = Vec::new();
    for a in one {
        let both = |b: &KindCaps| KindCaps {
            cores: a.cores.and(b.cores).and(cores),
            capacity: a.capacity.min(b.capacity),
        };
        kinds.extend(other.iter().map(both).filter(|kind| !kind.cores.is_empty()));
    }
    kinds.sort_by_key(|kind: &KindCaps| kind.cores.lowest());
    kinds
}
