//! The longest stretch of a task's work in which its core takes no interrupt: one access to memory with everything that
//! may be in its way. Whoever is released meanwhile waits for its end, however urgent.
//!
//! ```text
//!   own instructions on the line (done in one piece) + caches and snoops on the way + bus + DRAM
//!   DRAM: every request that can be under way, one after the other, each with a row conflict
//! ```
//!
//! Requests under way are bounded by the miss registers of the cores that use memory, by their prefetchers and, where
//! anybody writes, by the queue of writes. Where the controller prefers row hits, requests of other cores can pass again
//! and again, until a refresh closes the rows: then a refresh interval comes on top; without refresh there is no bound.

use super::walk::Profile;
use solo_isolate::{Blocks, Footprint};
use solo_model::platform::{CoreKind, Platform, RequestOrder};
use solo_model::units::Duration;
use solo_model::{Bytes, CoreId, CoreSet, Device, Experiment};

/// What the kernel keeps of a thread and of a core at most: a line less than this, wherever its blocks begin. A test holds it against
/// the kernel.
pub const KERNEL_BLOCKS: Blocks = Blocks { thread: Bytes::new(512), core: Bytes::new(512) };
/// The most instructions of one access (a random position, `solo-workload`).
const INSTRUCTIONS: u64 = 16;
/// The program's work on a line up to this long is done in one piece; longer work can be interrupted.
const IN_ONE_PIECE: u64 = 1_000_000;
/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

/// For each task the longest stretch without interrupts: zero where it only computes, `None` where it has no bound.
pub(super) fn longest(
    experiment: &Experiment,
    domains: &[CoreSet],
    homes: &[usize],
    profiles: &[Profile],
) -> Vec<Option<Duration>> {
    let cores_of = |home: usize| domains.get(home).copied().unwrap_or(CoreSet::EMPTY);
    let waits = kernel_lines(experiment).is_some();
    let users = homes.iter().zip(profiles).filter(|(_, profile)| waits || profile.touches);
    let active = users.clone().fold(CoreSet::EMPTY, |all, (&home, _)| all.or(cores_of(home)));
    let kernel = experiment.isolation.memory.as_ref().and_then(|memory| memory.kernel_data);
    let devices = experiment.devices.len() as u64;
    let traffic = Traffic {
        cores: active,
        streams: users.clone().any(|(_, profile)| profile.streams),
        writes: kernel.is_some()
            || experiment.devices.iter().any(Device::writes)
            || users.clone().any(|(_, profile)| profile.writes),
        crowded: devices > 0 || active.len() > 1,
        more: kernel_at_once(experiment).saturating_add(devices * Device::READS_UNDER_WAY as u64),
    };
    let memory = traffic.wait(&experiment.platform);
    let of_task = |(&home, profile): (&usize, &Profile)| {
        if !profile.touches && !waits {
            return Some(Duration::ZERO);
        }
        if profile.replays {
            // Instructions between recorded accesses are issued in one piece, as many as there are.
            return None;
        }
        let slowest = cores_of(home).iter().map(|core| on_core(experiment, core, profile)).max().unwrap_or(0);
        let picoseconds = memory?.checked_add(slowest)?;
        Some(Duration::new(u64::try_from(picoseconds.div_ceil(1000)).ok()?))
    };
    homes.iter().zip(profiles).map(of_task).collect()
}

/// The lines that the kernel touches at one instant, unless cores wait for them one by one: by each core an entry and a switch, and
/// all releases.
fn kernel_at_once(experiment: &Experiment) -> u64 {
    let kernel = experiment.isolation.memory.as_ref().and_then(|memory| memory.kernel_data);
    kernel.filter(|_| kernel_lines(experiment).is_none()).map_or(0, |data| {
        let [entry, release, switch] = Footprint::of(experiment, data, KERNEL_BLOCKS).lines();
        let cores = experiment.platform.cores.len() as u64;
        cores
            .saturating_mul(entry.saturating_add(switch))
            .saturating_add(release.saturating_mul(experiment.tasks.len() as u64))
    })
}

/// The most lines that an entry of the kernel, a release and a switch touch, where cores wait for them.
pub(super) fn kernel_lines(experiment: &Experiment) -> Option<[u64; 3]> {
    let data = experiment.isolation.memory.as_ref()?.kernel_data?;
    experiment.overheads.without_misses.then(|| Footprint::of(experiment, data, KERNEL_BLOCKS).lines())
}

/// What it takes a core to load so many lines and lock them alone, or `crowded` by others that nothing holds; the longest stretch of
/// it without interrupts beside the others; and what it takes to unlock them. `None` where that has no bound.
pub(super) fn loading(
    experiment: &Experiment,
    users: CoreSet,
    core: CoreId,
    lines: u64,
    crowded: bool,
) -> Option<[Duration; 3]> {
    let nanoseconds =
        |picoseconds: u128| Some(Duration::new(u64::try_from(picoseconds.div_ceil(1000)).ok()?));
    let platform = &experiment.platform;
    let own = on_core(experiment, core, &Profile::default());
    let alone =
        Traffic { cores: CoreSet::only(core), streams: false, writes: false, crowded: false, more: 0 };
    let devices = experiment.devices.len() as u64;
    let beside = Traffic {
        cores: users.or(CoreSet::only(core)),
        streams: true,
        writes: true,
        crowded: true,
        more: kernel_at_once(experiment).saturating_add(devices * Device::READS_UNDER_WAY as u64),
    };
    let step = beside.wait(platform)?.checked_add(own)?;
    let each = if crowded { step } else { alone.wait(platform)?.checked_add(own)? };
    // What each line pushes out of every level may be written back, and what waited in the controller's queue before.
    let levels = platform.caches.iter().map(|cache| u64::from(cache.level)).max().unwrap_or(1);
    let written = lines.saturating_mul(levels).saturating_add(u64::from(platform.dram.queue));
    let busy = |each: u128| u128::from(lines) * each + u128::from(written) * conflict(platform);
    // A refresh in each tREFI, instead of one for each access.
    let (timing, clock) = (&platform.dram.timing, u128::from(platform.dram.clock.get()));
    let refresh = (u128::from(timing.rfc) + u128::from(timing.rc)) * clock;
    let room = (u128::from(timing.refi) * clock).saturating_sub(refresh);
    let all = match room {
        0 => busy(each),
        room => {
            let busy = busy(each.saturating_sub(refresh));
            busy + (busy / room + 2) * refresh
        }
    };
    let kind = platform.kind(core);
    let per_kilocycle = u128::from(kind.instructions_per_kilocycle.max(1));
    let slow = u128::from(kind.smt_speed.get().clamp(1, 1000));
    let unlocking = cycles(kind, (u128::from(lines) * 1000).div_ceil(per_kilocycle)) * 1000 / slow;
    Some([nanoseconds(all)?, nanoseconds(step)?, nanoseconds(unlocking + 1000)?])
}

/// A row conflict in the same bank, with the bus turned around, in picoseconds.
fn conflict(platform: &Platform) -> u128 {
    let (t, dram) = (&platform.dram.timing, &platform.dram);
    let clocks = |value: u16| u128::from(value);
    let data = clocks(t.burst) / 2;
    let recovery = clocks(t.rtp).max(clocks(t.cwl) + data + clocks(t.wr));
    let each = clocks(t.rc).max(clocks(t.rcd) + recovery + clocks(t.rp)) + clocks(t.ccd) + clocks(t.wtr) + 2;
    each * u128::from(dram.clock.get())
}

/// Work on one line and the way through the caches, in picoseconds.
fn on_core(experiment: &Experiment, core: CoreId, profile: &Profile) -> u128 {
    let platform = &experiment.platform;
    let kind = platform.kind(core);
    let line = platform.caches.iter().map(|cache| cache.line.get()).max().unwrap_or(64);
    let accesses = line.div_ceil(profile.finest_stride.unwrap_or(line)).max(1);
    let locked = experiment.isolation.lockdown.as_ref().map_or(0, |lockdown| lockdown.pages.len() as u64);
    let unlocking = locked.saturating_mul(platform.page.get() / line.max(1));
    let per_kilocycle = u128::from(kind.instructions_per_kilocycle.max(1));
    let issued = u128::from(INSTRUCTIONS * accesses + unlocking + 2) * 1000;
    let issue = cycles(kind, issued.div_ceil(per_kilocycle));
    let slow = u128::from(kind.smt_speed.get().clamp(1, 1000));
    let think = u128::from(profile.think) * u128::from(accesses) * 1000;
    let own = ((issue + think.min(u128::from(IN_ONE_PIECE))) * 1000).div_ceil(slow);
    let snoop = &platform.coherence;
    let caches: u64 =
        platform.caches.iter().filter(|cache| cache.cores.contains(core)).map(|c| c.latency.get()).sum();
    let way = caches + snoop.snoop_clean.get() + snoop.snoop_modified.get() + snoop.upgrade.get();
    own + cycles(kind, u128::from(way) * 2)
}

/// Cycles of a core in picoseconds, rounded up.
fn cycles(kind: &CoreKind, cycles: u128) -> u128 {
    (cycles * SECOND).div_ceil(u128::from(kind.clock.get().max(1)))
}

/// Who can have requests under way.
struct Traffic {
    /// The cores with tasks that use memory.
    cores: CoreSet,
    streams: bool,
    writes: bool,
    /// More than one core, or a device, uses memory.
    crowded: bool,
    /// Requests of others than cores.
    more: u64,
}

impl Traffic {
    /// The longest that a request waits for its data, in picoseconds; `None` where it has no bound.
    fn wait(&self, platform: &Platform) -> Option<u128> {
        let of_core = |core: CoreId| {
            let registers = u64::from(platform.kind(core).outstanding_misses.max(1));
            let ahead = platform.prefetcher.filter(|it| it.on).map_or(0, |it| u64::from(it.distance) + 1);
            ahead + if self.streams { registers + 1 } else { 1 }
        };
        let reads: u64 = self.cores.iter().map(of_core).sum::<u64>() + self.more;
        let levels = platform.caches.iter().map(|cache| u64::from(cache.level)).max().unwrap_or(1);
        let dram = &platform.dram;
        let writes = if self.writes { u64::from(dram.queue) + reads * levels } else { 0 };
        let requests = u128::from(reads + writes);
        let bus = platform.bus.map_or(0, |bus| {
            let phases = [bus.address, bus.snoop, bus.reply, bus.data, bus.signal];
            let clocks: u64 = phases.into_iter().map(u64::from).sum();
            requests * u128::from(clocks) * u128::from(bus.clock.get())
        });
        let t = &dram.timing;
        let clocks = |value: u16| u128::from(value);
        let data = clocks(t.burst) / 2;
        let recovery = clocks(t.rtp).max(clocks(t.cwl) + data + clocks(t.wr));
        // A row conflict in the same bank, and the bus turned around.
        let each = clocks(t.rc).max(clocks(t.rcd) + recovery + clocks(t.rp)) + clocks(t.ccd) + 2;
        let ends = clocks(t.faw)
            + clocks(t.wtr)
            + clocks(t.cl).max(clocks(t.cwl))
            + data
            + clocks(t.rcd)
            + clocks(t.rp);
        let mut served = requests * each + ends + 2;
        let refresh = clocks(t.rfc) + clocks(t.rc);
        if self.crowded && dram.order == RequestOrder::RowHitsFirst {
            if t.refi == 0 {
                return None;
            }
            served += clocks(t.refi) + refresh;
        }
        if t.refi > 0 {
            let room = clocks(t.refi).saturating_sub(refresh).max(1);
            served += (served / room + 1) * refresh;
        }
        let path = u128::from(dram.path.get()) * 1000;
        Some(bus + served * u128::from(dram.clock.get()) + path)
    }
}
