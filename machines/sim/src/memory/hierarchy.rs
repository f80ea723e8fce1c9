//! Caches, coherence and DRAM together, as cores see them.

use super::array::{CacheArray, LINE_MASK, Service};
use super::bus::Bus;
use super::coherence::{Rules, State};
use super::dram::{Completion, Dram, DramCommands, DramCounts, RequestId, RowOutcome, Served};
use super::owners::tag;
use super::pending::Pending;
use super::prefetch::Prefetchers;
use super::snoop::Caches;
use super::topology::{MAX_LEVELS, Path, Topology};
use super::{HierarchyError, PhysicalAddress, WayMaskError};
use solo_model::platform::{Cache, Inclusion};
use solo_model::{CoreId, Cycles, Picoseconds, Platform, Rmid, Signal, SignalCounts};
use solo_replacement::Allowed;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// Loads data.
    Read,
    /// Stores data.
    Write,
    /// Fetches instructions.
    Fetch,
}

/// The cache up to which an access was looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// The first level.
    FirstLevel,
    /// A cache of the same physical core beyond the first level.
    PrivateCache,
    /// A cache shared with other cores.
    SharedCache,
}

/// How the time before an answer, or before DRAM is asked, is made up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stalls {
    /// How far the access was looked for,
    pub reached: Reached,
    /// and what that took.
    pub lookup: Picoseconds,
    /// What other cores' caches that had to hand over or give up the line added.
    pub coherence: Picoseconds,
}

impl Stalls {
    /// True where the core's first level answered by itself.
    #[inline]
    pub(crate) fn is_first_level(&self) -> bool {
        self.reached == Reached::FirstLevel && self.coherence.is_zero()
    }
}

/// What becomes of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The caches answer.
    Hit {
        /// From the access to its result.
        latency: Picoseconds,
        /// The level that answered; the last one where another core's cache did.
        level: u8,
        /// What the latency is made up of.
        stalls: Stalls,
    },
    /// DRAM must answer: a [`Completion`] with this request's number follows, exactly one for each miss.
    Miss {
        /// The request.
        request: RequestId,
        /// The time until DRAM is asked; the completion's parts count from there.
        lookup: Picoseconds,
        /// What `lookup` is made up of.
        stalls: Stalls,
    },
}

/// A cache on a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub(super) cache: usize,
    /// The bit by which it knows the cache before it on the route, none for the first; above it the [id](tag) of lines that the
    /// core brings in.
    pub(super) holder: u64,
    /// From the access to this cache's answer.
    pub(super) latency: Picoseconds,
    pub(super) level: u8,
    pub(super) reached: Reached,
    /// A line that was not changed leaves the cache without anybody having to know.
    pub(super) silent: bool,
    /// Where lines go that leave the cache.
    pub(super) onward: Onward,
    /// The ways that lines brought in on this route may take.
    pub(super) allowed: Allowed,
    /// It is a cache of the second level, whose fills are counted.
    pub(super) second: bool,
    /// The bits of the caches behind it that are not on the route.
    pub(super) beside: u64,
    /// The only one of them, where no other is behind it in turn.
    pub(super) only_beside: Option<usize>,
    /// What it does not hold, no cache behind it holds.
    pub(super) inclusive: bool,
    /// What is counted: for lines found, and for lines not found.
    pub(super) events: Option<(Signal, Signal)>,
}

/// Where lines go that leave a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Onward {
    /// Changed data to the next cache, of the second level or not, which mostly holds the line.
    Cache { number: usize, second: bool },
    /// From an inclusive cache to memory, when the caches behind have given it up.
    Memory,
    /// Anything else.
    General,
}

impl Onward {
    fn of(topology: &Topology, number: usize) -> Self {
        let node = &topology.nodes[number];
        match node.parent {
            None if node.inclusion == Inclusion::Inclusive => Self::Memory,
            Some(parent) if node.silent => {
                Self::Cache { number: parent, second: topology.nodes[parent].level == 2 }
            }
            _ => Self::General,
        }
    }
}

/// The route of one kind of access from one core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) path: Path,
    /// It has two caches or more, the first of the first level and none of them exclusive, and lines have states.
    pub(super) plain: bool,
    stages: [Stage; MAX_LEVELS],
}

impl Route {
    /// The caches, nearest first.
    #[inline]
    pub(super) fn stages(&self) -> &[Stage] {
        &self.stages[..self.path.len()]
    }

    /// The cache at `depth`, where the route has it.
    #[inline]
    pub(super) fn stage(&self, depth: usize) -> &Stage {
        &self.stages[depth]
    }

    /// The first two caches; the second means nothing where there is only one.
    #[inline]
    pub(super) fn nearest(&self) -> (&Stage, &Stage) {
        (&self.stages[0], &self.stages[1])
    }

    #[inline]
    pub(super) fn latency(&self, depth: usize) -> Picoseconds {
        self.stages[depth].latency
    }

    /// The time of an access that was looked for up to `depth`, without what other cores' caches add.
    #[inline]
    pub(super) fn stalls(&self, depth: usize) -> Stalls {
        let Stage { reached, latency: lookup, .. } = self.stages[depth];
        Stalls { reached, lookup, coherence: Picoseconds::ZERO }
    }
}

/// What coherence adds to an access of one core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    pub(super) clean: Picoseconds,
    pub(super) modified: Picoseconds,
    pub(super) upgrade: Picoseconds,
}

/// The memory of a machine.
///
/// Look-ups, replacement and coherence take effect at once, in the order of the calls; only DRAM takes
/// time. Calls come in the order of their times. A clean line that leaves a cache leaves silently: what a
/// shared cache knows about its inner caches is never less, but may be more, than what is there.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    pub(super) caches: Caches,
    pub(super) rules: Option<Rules>,
    /// By core: of its data, and of its instructions.
    pub(super) routes: Vec<[Route; 2]>,
    pub(super) extra: Vec<Extra>,
    /// The ways that a core's lines may take, by core, then cache.
    pub(super) ways: Vec<Allowed>,
    /// The id that lines carry which a core brings in, above the bits of holders: zero where nobody monitors them.
    pub(super) tags: Vec<u64>,
    pub(super) counts: Vec<SignalCounts>,
    /// What each requester has asked of the chips of memory.
    commands: Vec<DramCommands>,
    /// The bus between the outermost caches and memory, where there is one.
    pub(super) bus: Option<Bus>,
    /// The cores' prefetchers, where they are on.
    pub(super) prefetchers: Option<Prefetchers>,
    pub(super) dram: Dram,
    pub(super) pending: Pending,
    pub(super) line_shift: u32,
}

impl Hierarchy {
    /// The cold memory of `platform`; `seed` feeds random replacement.
    ///
    /// # Errors
    /// If the platform's caches or DRAM contradict themselves.
    pub fn new(platform: &Platform, seed: u64) -> Result<Self, HierarchyError> {
        Self::with_devices(platform, seed, 0)
    }

    /// The same with so many devices, which ask beside the cores.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_devices(
        platform: &Platform,
        seed: u64,
        devices: usize,
    ) -> Result<Self, HierarchyError> {
        let requesters = platform.cores.len() + devices;
        let mut topology = Topology::new(platform)?;
        // A bus is asked even by the only cache at it.
        topology.common_root &= platform.bus.is_none();
        let build = |(number, cache): (usize, &Cache)| {
            let node = &topology.nodes[number];
            let track = node.inclusion == Inclusion::Inclusive;
            CacheArray::new(cache, track, seed ^ (number as u64) << 48)
        };
        let arrays = platform.caches.iter().enumerate().map(build).collect::<Result<Vec<_>, _>>()?;
        let mut routes = Vec::new();
        let mut extra = Vec::new();
        for (number, core) in platform.cores.iter().enumerate() {
            let clock = platform.kinds.get(usize::from(core.kind)).map_or(0, |kind| kind.clock.get());
            if clock == 0 {
                return Err(HierarchyError::NoClock { core: CoreId(number as u16) });
            }
            routes.push([false, true].map(|fetch| describe(platform, &topology, number, fetch)));
            let time = |cycles: Cycles| cycles.at(solo_model::Frequency::new(clock));
            let costs = &platform.coherence;
            extra.push(Extra {
                clean: time(costs.snoop_clean),
                modified: time(costs.snoop_modified),
                upgrade: time(costs.upgrade),
            });
        }
        let line = solo_model::Bytes::new(1 << topology.line_shift);
        Ok(Self {
            dram: Dram::new(&platform.dram, line, requesters)?,
            bus: platform.bus.map(Bus::new),
            prefetchers: Prefetchers::new(platform, topology.line_shift),
            rules: Rules::of(platform.coherence.protocol),
            line_shift: topology.line_shift,
            caches: Caches { arrays, topology },
            routes,
            extra,
            ways: vec![Allowed::All; platform.cores.len() * platform.caches.len()],
            tags: vec![0; platform.cores.len()],
            counts: vec![SignalCounts::ZERO; requesters],
            commands: vec![DramCommands::default(); requesters],
            pending: Pending::new(),
        })
    }

    /// One access to the line at `address`, at `now`.
    ///
    /// # Panics
    /// If the platform has no such core.
    #[inline]
    pub fn access(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        address: PhysicalAddress,
        kind: AccessKind,
    ) -> Answer {
        let line = address.0 >> self.line_shift & LINE_MASK;
        // A line under way is in the caches already, and its data are not.
        let arrived = self.pending.find(line, now).is_none();
        let mut absent = false;
        if arrived {
            let write = kind == AccessKind::Write;
            let route = route(&self.routes, core, kind);
            let first = route.nearest().0;
            let service = self.caches.arrays[first.cache].serve(line, write);
            if service == Service::Served {
                if let Some((hit, _)) = first.events {
                    self.counts[core.index()].increment(hit);
                }
                return Answer::Hit { latency: first.latency, level: 1, stalls: route.stalls(0) };
            }
            absent = service == Service::Absent;
        }
        self.beyond_first_level(core, now, line, kind, absent)
    }

    /// The next time at which DRAM must decide something: call [`advance`](Self::advance) before any core
    /// goes past it.
    #[inline]
    pub fn next_event(&self) -> Option<Picoseconds> {
        if self.pending.has_ready() { Some(Picoseconds::ZERO) } else { self.dram.next_event() }
    }

    /// Lets DRAM decide everything up to and including `until`. Reads are handed to `done` in the order in
    /// which they are decided; their `at` may lie after `until`.
    pub fn advance(&mut self, until: Picoseconds, mut done: impl FnMut(&Completion)) {
        self.pending.take_ready(&mut done);
        let (counts, pending, bus) = (&mut self.counts, &mut self.pending, &mut self.bus);
        let (prefetchers, commands) = (&mut self.prefetchers, &mut self.commands);
        self.dram.advance(until, |served| {
            let (requester, row, write) = match served {
                Served::Read(completion) => {
                    // Nobody waits for what was prefetched, unless an access has joined it.
                    if prefetchers.as_mut().is_none_or(|all| !all.arrived(completion)) {
                        done(completion);
                    }
                    pending.complete(completion, &mut done);
                    if let Some(bus) = bus {
                        bus.decided(completion.at);
                    }
                    (completion.requester, completion.row, false)
                }
                Served::Write { requester, row, .. } => (*requester, *row, true),
            };
            commands[requester.index()].serve(row, write);
            match row {
                RowOutcome::Hit => counts[requester.index()].increment(Signal::DramRowHit),
                RowOutcome::Conflict => counts[requester.index()].increment(Signal::DramRowConflict),
                RowOutcome::Closed | RowOutcome::Forwarded => {}
            }
        });
    }

    /// All memory events that `core` caused, except for invalidations, which are counted where they hurt.
    pub fn counts(&self, core: CoreId) -> &SignalCounts {
        &self.counts[core.index()]
    }

    /// What memory's chips did for `core`: it is counted when they do it, for a modified line long after the core has lost it.
    pub(crate) fn dram_commands(&self, core: CoreId) -> DramCommands {
        self.commands[core.index()]
    }

    /// What the DRAM controller counted.
    pub fn dram_counts(&self) -> DramCounts {
        self.dram.counts()
    }

    /// Restricts the ways of the cache at `position` of the platform's list that lines brought in by `core` may
    /// take, way 0 lowest. Lines already there stay, and hits are allowed in any way.
    ///
    /// # Errors
    /// If no way of the cache is left; the restriction then stays as it was.
    pub fn restrict_ways(&mut self, core: CoreId, position: usize, mask: u64) -> Result<(), WayMaskError> {
        let caches = self.caches.arrays.len();
        let ways = self.caches.arrays.get(position).map_or(0, CacheArray::ways);
        let all = if ways >= 64 { u64::MAX } else { (1 << ways) - 1 };
        if mask & all == 0 || core.index() >= self.routes.len() {
            return Err(WayMaskError { mask, ways });
        }
        let unrestricted = mask & all == all && ways <= 64;
        let allowed = if unrestricted { Allowed::All } else { Allowed::Only(mask & all) };
        self.ways[core.index() * caches + position] = allowed;
        for route in &mut self.routes[core.index()] {
            let stages = route.stages.iter_mut().filter(|stage| stage.cache == position);
            stages.for_each(|stage| stage.allowed = allowed);
        }
        Ok(())
    }

    /// From now on each line that comes into the cache at `position` of the platform's list carries the id of the core that
    /// brings it in, of so many ids.
    pub fn monitor_lines(&mut self, position: usize, rmids: u16) {
        if let Some(array) = self.caches.arrays.get_mut(position) {
            array.monitor(rmids);
        }
    }

    /// Lines that `core` brings in carry this id from now on, where they are monitored.
    pub fn tag_lines(&mut self, core: CoreId, rmid: Rmid) {
        let Some(routes) = self.routes.get_mut(core.index()) else { return };
        let old = core::mem::replace(&mut self.tags[core.index()], tag(rmid));
        for stage in routes.iter_mut().flat_map(|route| &mut route.stages) {
            stage.holder = stage.holder & !old | tag(rmid);
        }
    }

    /// The lines of the cache at `position` of the platform's list that carry an id; `None` where they carry none.
    pub fn lines_of(&self, position: usize, rmid: Rmid) -> Option<u64> {
        self.caches.arrays.get(position)?.lines_of(rmid)
    }

    /// Loads the line at `address` into the cache at `position` of the platform's list and keeps it there: other
    /// lines take the other ways of its set, or, where all are locked, go past the cache. False where the set has no
    /// room; nothing changes then.
    pub fn lock_line(&mut self, position: usize, address: PhysicalAddress) -> bool {
        let line = address.0 >> self.line_shift & LINE_MASK;
        self.caches.arrays.get_mut(position).is_some_and(|array| array.lock(line, State::Exclusive))
    }

    /// Lets the line at `address` be evicted from the cache at `position` again.
    pub fn unlock_line(&mut self, position: usize, address: PhysicalAddress) {
        let line = address.0 >> self.line_shift & LINE_MASK;
        if let Some(array) = self.caches.arrays.get_mut(position) {
            array.unlock(line);
        }
    }

    pub(super) fn allowed(&self, core: CoreId, cache: usize) -> Allowed {
        self.ways[core.index() * self.caches.arrays.len() + cache]
    }

    /// The state of the line at `address` in the cache at `position` of the platform's list.
    pub fn state(&self, position: usize, address: PhysicalAddress) -> State {
        let array = &self.caches.arrays[position];
        array.find(address.0 >> self.line_shift & LINE_MASK).map_or(State::Invalid, |slot| array.state(slot))
    }

    /// All lines held by the cache at `position` of the platform's list, by the address of their first byte.
    pub fn lines(&self, position: usize) -> impl Iterator<Item = (PhysicalAddress, State)> + '_ {
        let lines = self.caches.arrays[position].lines();
        lines.map(|(line, state)| (PhysicalAddress(line << self.line_shift), state))
    }
}

/// A core's route for a kind of access.
#[inline(always)]
pub(super) fn route(routes: &[[Route; 2]], core: CoreId, kind: AccessKind) -> &Route {
    &routes[core.index()][usize::from(kind == AccessKind::Fetch)]
}

fn describe(platform: &Platform, topology: &Topology, core: usize, fetch: bool) -> Route {
    let clock = platform.kinds[usize::from(platform.cores[core].kind)].clock;
    let last = platform.levels();
    let path = if fetch { topology.fetch[core] } else { topology.data[core] };
    let nothing = Stage {
        cache: usize::MAX,
        holder: 0,
        latency: Picoseconds::ZERO,
        level: 0,
        reached: Reached::FirstLevel,
        silent: false,
        onward: Onward::General,
        allowed: Allowed::All,
        second: false,
        beside: 0,
        only_beside: None,
        inclusive: false,
        events: None,
    };
    let mut stages = [nothing; MAX_LEVELS];
    for (depth, number) in path.iter().enumerate() {
        let cache = &platform.caches[number];
        let events = match (depth, cache.level) {
            // Where the first level is the last, data accesses count for both: `SimCore::add_own_counts`.
            (0, level) if fetch => (level == last).then_some((Signal::LlcHit, Signal::LlcMiss)),
            (0, _) => Some((Signal::L1Hit, Signal::L1Miss)),
            (_, level) if level == last => Some((Signal::LlcHit, Signal::LlcMiss)),
            (_, 2) => Some((Signal::L2Hit, Signal::L2Miss)),
            _ => None,
        };
        let holder = if depth == 0 { 0 } else { topology.holder_bits[path.at(depth - 1)] };
        let latency = cache.latency.at(clock);
        let reached = match (depth, topology.nodes[number].private) {
            (0, _) => Reached::FirstLevel,
            (_, true) => Reached::PrivateCache,
            (_, false) => Reached::SharedCache,
        };
        let (allowed, second) = (Allowed::All, cache.level == 2);
        let node = &topology.nodes[number];
        let (silent, inclusive) = (node.silent, node.inclusion == Inclusion::Inclusive);
        let nearer = depth.checked_sub(1).map(|nearer| path.at(nearer));
        let others = || node.children.iter().copied().filter(|child| Some(*child) != nearer);
        let beside = others().fold(0, |bits, child| bits | topology.holder_bits[child]);
        let only = others()
            .next()
            .filter(|child| others().count() == 1 && topology.nodes[*child].children.is_empty());
        stages[depth] = Stage {
            cache: number,
            holder,
            latency,
            level: cache.level,
            reached,
            silent,
            onward: Onward::of(topology, number),
            allowed,
            second,
            beside,
            only_beside: only,
            inclusive,
            events,
        };
    }
    let collects = path.iter().any(|cache| topology.nodes[cache].inclusion == Inclusion::Exclusive);
    let plain =
        path.len() > 1 && !stages[0].second && !collects && Rules::of(platform.coherence.protocol).is_some();
    Route { path, plain, stages }
}
