//! An access that its first-level cache can't answer alone: the look-up further out, the other cores' caches,
//! the fills and the evictions.

use super::PhysicalAddress;
use super::array::{CacheArray, Evicted, holder_bit};
use super::coherence::{Rules, State};
use super::dram::RequestId;
use super::events::{Outside, count_fill};
use super::hierarchy::{AccessKind, Answer, Hierarchy, Onward, Route, Stage, Stalls, route};
use super::snoop::{Caches, Found};
use super::topology::Path;
use solo_model::platform::Inclusion;
use solo_model::{CoreId, Picoseconds, Signal, SignalCounts};
use std::cmp::Ordering;

/// What the other caches said to an access.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SnoopResult {
    pub(super) found: Found,
    /// Caches of the path nearer than this may not write: others, not behind them, hold the line.
    shared_below: usize,
    /// The farthest depth at which another physical core's cache was involved.
    depth: usize,
    /// The state of the line where the path found it.
    held: Option<State>,
    /// The write needed a permission.
    pub(super) upgrade: bool,
    /// Copies of another physical core were found.
    remote: bool,
    /// The depth of the path's cache that is to take over changed data, where it does not hold the line yet.
    dirty_fill: Option<usize>,
    /// What the caches said that meet at memory, if they were asked.
    pub(super) outside: Option<Outside>,
    /// The cache where the line was found took others to hold it, which did not any more.
    asked_in_vain: bool,
}

/// Where the path of an access meets those of snooped.
#[derive(Clone, Copy)]
struct Meeting {
    /// The common cache; none at memory.
    cache: Option<usize>,
    /// The place among those that meet there that the path comes from.
    mine: usize,
    /// How many meet there.
    count: usize,
    /// Who of them may hold the line.
    mask: u64,
    /// They are caches of one core.
    private: bool,
}

/// What the caches said that meet a path.
struct Asked {
    found: Found,
    /// The bits of those that hold the line, the path's own included.
    holders: u64,
    /// Somebody was asked.
    any: bool,
    /// The core that answers for the one that had the line.
    answering: Option<CoreId>,
}

impl Hierarchy {
    /// An access with everything that may come of it.
    #[inline(never)]
    pub(super) fn walk(&mut self, core: CoreId, now: Picoseconds, line: u64, kind: AccessKind) -> Answer {
        let route = route(&self.routes, core, kind);
        let (depth, slot) = look_up(&self.caches.arrays, &mut self.counts[core.index()], route, line);
        if depth > 0 && route.path.len() > 1 {
            self.counts[core.index()].increment(Signal::L2AddressStrobes);
        }
        if depth == route.path.len() && self.caches.topology.common_root {
            // The last cache holds whatever any cache holds: nobody need be asked.
            return self.fetch_from_dram(core, now, line, kind);
        }
        self.with_snoops(core, now, line, kind, depth, slot)
    }

    /// The line may be on its way for an earlier access: this one is answered together with it.
    fn answer_with(
        &mut self,
        primary: RequestId,
        core: CoreId,
        now: Picoseconds,
        latency: Picoseconds,
        (stalls, cache): (Stalls, usize),
    ) -> Answer {
        let dram = &mut self.dram;
        match self.pending.join(primary, core.into(), now + latency, || dram.reserve_id()) {
            Some(request) => Answer::Miss { request, lookup: latency, stalls },
            None => Answer::Hit { latency, level: self.caches.topology.nodes[cache].level, stalls },
        }
    }

    /// The line is in no cache: DRAM must bring it.
    pub(super) fn fetch_from_dram(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
    ) -> Answer {
        let route = route(&self.routes, core, kind);
        let count = route.path.len();
        let last = count - 1;
        let lookup = route.latency(last);
        let stalls = route.stalls(last);
        self.fill_alone(core, now + lookup, line, kind, count);
        self.ask_dram(core, now, line, lookup, stalls)
    }

    /// Brings the line, which no other core's cache holds, into the caches of the route before `depth`, the farthest
    /// first.
    #[inline(always)]
    pub(super) fn fill_alone(
        &mut self,
        core: CoreId,
        at: Picoseconds,
        line: u64,
        kind: AccessKind,
        depth: usize,
    ) {
        for here in (0..depth).rev() {
            let stage = route(&self.routes, core, kind).stage(here);
            let array = &mut self.caches.arrays[stage.cache];
            let modified = kind == AccessKind::Write && here == 0;
            let state = if modified { State::Modified } else { State::Exclusive };
            if array.refuses(line) {
                if self.goes_past(core, at, stage.cache, line, modified, kind) {
                    break;
                }
                continue;
            }
            let evicted = array.insert(line, state, stage.holder, stage.allowed);
            let counts = &mut self.counts[core.index()];
            if stage.second {
                count_fill(counts, state, evicted.is_none());
            }
            if let Some(evicted) = evicted
                && (evicted.is_dirty() || !stage.silent)
            {
                let (cache, next) = (stage.cache, send_onward(&mut self.caches, counts, stage, evicted));
                self.follow_up(core, at, cache, evicted, next);
            }
        }
    }

    /// Does what is left to do for a line that left `cache`.
    #[inline(always)]
    pub(super) fn follow_up(
        &mut self,
        core: CoreId,
        at: Picoseconds,
        cache: usize,
        evicted: Evicted,
        next: Next,
    ) {
        match next {
            Next::Nothing => {}
            Next::WriteBack => {
                let at = self.write_back_over_the_bus(core, at);
                self.write_to_dram(core, at, evicted.line());
            }
            Next::Everything => self.pass_on(core, at, cache, evicted),
        }
    }

    #[inline(always)]
    fn ask_dram(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        lookup: Picoseconds,
        stalls: Stalls,
    ) -> Answer {
        self.counts[core.index()].increment(Signal::DramRead);
        let address = PhysicalAddress(line << self.line_shift);
        let request = self.dram.submit(now + lookup, core, address, false);
        self.pending.tidy(now);
        self.pending.insert(line, request);
        Answer::Miss { request, lookup, stalls }
    }

    /// Some cache may hold the line.
    #[inline(never)]
    fn with_snoops(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
        depth: usize,
        slot: Option<usize>,
    ) -> Answer {
        let write = kind == AccessKind::Write;
        let route = *route(&self.routes, core, kind);
        let snooped = self.snoop(&route.path, line, write, depth, slot);
        self.count_snoop_result(core, &snooped);
        let lookup_depth = depth.min(route.path.len() - 1);
        let at_dram = now + route.latency(lookup_depth);
        let dirty_from = self.take_hit(&route.path, depth, slot, write, snooped.found.any);
        self.fill(core, at_dram, &route.path, line, write, depth, &snooped, dirty_from);
        if snooped.found.writes_back && snooped.dirty_fill.is_none() && snooped.depth >= route.path.len() {
            self.write_to_dram(core, at_dram, line);
        }
        let (mut stalls, mut latency) = self.latency(core, &route, depth, &snooped);
        let mut supplied = depth < route.path.len() || snooped.found.supplies;
        if let (Some(_), Some(outside)) = (&self.bus, snooped.outside) {
            let base = route.latency(lookup_depth);
            (supplied, latency) =
                self.over_the_bus(core, now, base, (depth < route.path.len(), write), &outside);
            stalls.coherence = latency - base;
        }
        if supplied {
            let cache = route.path.at(lookup_depth);
            if let Some(primary) = self.pending.find(line, now) {
                return self.answer_with(primary, core, now, latency, (stalls, cache));
            }
            let level = self.caches.topology.nodes[cache].level;
            return Answer::Hit { latency, level, stalls };
        }
        self.ask_dram(core, now, line, latency, stalls)
    }

    /// Lets the other caches react, from the nearest common cache outwards, as far as the access must be known.
    fn snoop(
        &mut self,
        path: &Path,
        line: u64,
        write: bool,
        depth: usize,
        slot: Option<usize>,
    ) -> SnoopResult {
        let mut snooped = SnoopResult::default();
        let held_here = slot.map(|slot| self.caches.arrays[path.at(depth)].state(slot));
        snooped.held = held_here;
        snooped.upgrade = write && held_here.is_some_and(|state| !state.is_writable());
        if held_here.is_some_and(|state| !state.is_writable()) && !write {
            snooped.shared_below = depth + 1;
        }
        let Some(rules) = self.rules else {
            self.remember_holder(path, depth, slot);
            return snooped;
        };
        for level in 1..=path.len() {
            if level > depth && !snooped.upgrade && (!write || depth < path.len()) {
                break;
            }
            let known = match level.cmp(&depth) {
                Ordering::Less => None,
                Ordering::Equal => slot,
                Ordering::Greater if level < path.len() => self.caches.arrays[path.at(level)].find(line),
                Ordering::Greater => None,
            };
            let closed = self.ask_level(path, line, write, (level, known), &rules, &mut snooped);
            if level >= depth && closed {
                break;
            }
        }
        snooped
    }

    /// Asks the caches that meet the path at its cache of depth `level`, which has the line in `slot`, or at
    /// memory. True where that cache
    /// has the line to itself, so that nobody outside need be asked.
    fn ask_level(
        &mut self,
        path: &Path,
        line: u64,
        write: bool,
        (level, slot): (usize, Option<usize>),
        rules: &Rules,
        snooped: &mut SnoopResult,
    ) -> bool {
        let meeting = self.meeting(path, level, slot);
        let Asked { mut found, holders, any: asked, answering } =
            self.ask_siblings(&meeting, line, write, rules);
        let private = meeting.private;
        if found.any {
            if !write {
                snooped.shared_below = snooped.shared_below.max(level);
            }
            snooped.depth = snooped.depth.max(level);
            snooped.remote |= !private;
        }
        match meeting.cache {
            None => snooped.outside = Some(Outside { owner: answering, dirty: found.dirty }),
            Some(cache) if asked && !private && !found.any && slot.is_some() => {
                snooped.asked_in_vain |= self.caches.topology.nodes[cache].inclusion == Inclusion::Inclusive;
            }
            Some(_) => {}
        }
        let mut closed = false;
        if let Some(cache) = meeting.cache {
            match slot {
                Some(slot) => closed = self.note_answers(cache, slot, write, holders, &found),
                None if found.writes_back => snooped.dirty_fill = Some(level),
                None => {}
            }
        }
        let merged = meeting.cache.is_some() && slot.is_some();
        if private || merged {
            // The data are at hand in the common cache: nobody needs to write them back any more.
            found.writes_back = false;
        }
        if snooped.upgrade && !private {
            snooped.depth = snooped.depth.max(level);
        }
        if private {
            // Instruction and data cache of one core: no coherence traffic, but the states count.
            found = Found { any: false, exclusive: false, dirty: false, ..found };
        }
        snooped.found.merge(found);
        closed
    }

    /// Where a path of depth `level` meets others: at a cache that has the line in `slot`, or at memory.
    #[inline]
    fn meeting(&self, path: &Path, level: usize, slot: Option<usize>) -> Meeting {
        let mine = self.caches.topology.nodes[path.at(level - 1)].position;
        if level >= path.len() {
            let count = self.caches.topology.roots.len();
            return Meeting { cache: None, mine, count, mask: u64::MAX, private: false };
        }
        let cache = path.at(level);
        let node = &self.caches.topology.nodes[cache];
        let mask = match slot {
            Some(slot) => self.caches.arrays[cache].holders(slot),
            None if node.inclusion == Inclusion::Inclusive => 0,
            None => u64::MAX,
        };
        Meeting { cache: Some(cache), mine, count: node.children.len(), mask, private: node.private }
    }

    /// Asks the caches that meet there.
    #[inline]
    fn ask_siblings(&mut self, meeting: &Meeting, line: u64, write: bool, rules: &Rules) -> Asked {
        let Meeting { cache, mine, count, mask, private } = *meeting;
        let mut asked =
            Asked { found: Found::default(), holders: holder_bit(mine), any: false, answering: None };
        for position in (0..count).filter(|position| *position != mine && mask & holder_bit(*position) != 0) {
            let sibling = match cache {
                None => self.caches.topology.roots[position],
                Some(cache) => self.caches.topology.nodes[cache].children[position],
            };
            let mut found = Found::default();
            self.caches.snoop(sibling, line, write, rules, &mut found);
            if found.any && !write {
                asked.holders |= holder_bit(position);
            }
            if found.any && write && !private {
                self.caches.count_losses(sibling, &found, &mut self.counts);
            }
            if !private {
                self.count_snoops(found.snooped, write);
            }
            asked.any = true;
            if found.any {
                let owner = found.lost.lowest().unwrap_or(self.caches.topology.nodes[sibling].owner);
                asked.answering = Some(owner);
            }
            asked.found.merge(found);
        }
        asked
    }

    /// A common cache takes note of who holds the line in `slot` now. True where it has the line to itself.
    #[inline]
    fn note_answers(&mut self, cache: usize, slot: usize, write: bool, holders: u64, found: &Found) -> bool {
        let array = &mut self.caches.arrays[cache];
        array.set_holders(slot, holders);
        let state = array.state(slot);
        let closed = state.is_writable();
        if write && !closed {
            array.set_state(slot, if state.is_dirty() { State::Modified } else { State::Exclusive });
        }
        if found.writes_back {
            array.set_state(slot, array.state(slot).dirtied());
        }
        closed
    }

    /// Without coherence only the inclusive caches must know who may hold the line.
    fn remember_holder(&mut self, path: &Path, depth: usize, slot: Option<usize>) {
        if let (Some(slot), true) = (slot, depth > 0) {
            let mine = self.caches.topology.nodes[path.at(depth - 1)].position;
            let array = &mut self.caches.arrays[path.at(depth)];
            let holders = array.holders(slot);
            array.set_holders(slot, holders | holder_bit(mine));
        }
    }

    fn count_snoop_result(&mut self, core: CoreId, snooped: &SnoopResult) {
        let counts = &mut self.counts[core.index()];
        if snooped.upgrade {
            counts.increment(Signal::Upgrade);
        } else if snooped.remote && snooped.found.dirty {
            counts.increment(Signal::SnoopHitModified);
        } else if snooped.remote {
            counts.increment(Signal::SnoopHitClean);
        } else if snooped.asked_in_vain {
            counts.increment(Signal::SnoopMiss);
        }
    }

    /// Updates the cache that had the line. Returns the state it takes along where it left an exclusive cache:
    /// a line that caches of other cores hold too stays there, since one of them may own the data.
    fn take_hit(
        &mut self,
        path: &Path,
        depth: usize,
        slot: Option<usize>,
        write: bool,
        shared: bool,
    ) -> Option<State> {
        let slot = slot?;
        let cache = path.at(depth);
        let exclusive_cache = self.caches.topology.nodes[cache].inclusion == Inclusion::Exclusive;
        let array = &mut self.caches.arrays[cache];
        if exclusive_cache && depth > 0 && (write || (array.state(slot).is_writable() && !shared)) {
            return Some(array.remove(slot).state());
        }
        array.touch(slot);
        if write && depth == 0 {
            array.set_state(slot, State::Modified);
        } else if write {
            let state = array.state(slot);
            array.set_state(slot, if state.is_dirty() { State::Modified } else { State::Exclusive });
        }
        None
    }

    /// Brings the line into all caches of the path before `depth`, the farthest first.
    #[allow(clippy::too_many_arguments)]
    fn fill(
        &mut self,
        core: CoreId,
        at: Picoseconds,
        path: &Path,
        line: u64,
        write: bool,
        depth: usize,
        snooped: &SnoopResult,
        taken: Option<State>,
    ) {
        // A copy of a copy that does not answer for others does not either.
        let shared = match (snooped.held, self.rules) {
            (Some(State::Shared | State::Owned), _) | (_, None) => State::Shared,
            (_, Some(rules)) => rules.read_shared,
        };
        // Changed data that left an exclusive cache go to the first cache on the way that takes the line.
        let mut inherits = taken.is_some_and(State::is_dirty);
        for here in (0..depth).rev() {
            let cache = path.at(here);
            if self.caches.topology.nodes[cache].inclusion == Inclusion::Exclusive {
                // It takes no copies of what inner caches have: what one of them wrote back goes on to memory.
                if snooped.dirty_fill == Some(here) {
                    let at = self.write_back_over_the_bus(core, at);
                    self.write_to_dram(core, at, line);
                }
                continue;
            }
            let mut state = match (write, here) {
                (true, 0) => State::Modified,
                (true, _) => State::Exclusive,
                (false, _) if here < snooped.shared_below => shared,
                (false, _) => State::Exclusive,
            };
            if core::mem::take(&mut inherits) || snooped.dirty_fill == Some(here) {
                state = state.dirtied();
            }
            let holder = if here == 0 {
                0
            } else {
                holder_bit(self.caches.topology.nodes[path.at(here - 1)].position)
            };
            let holder = holder | self.tags[core.index()];
            let allowed = self.allowed(core, cache);
            if self.caches.arrays[cache].refuses(line) {
                let kind = if write { AccessKind::Write } else { AccessKind::Read };
                if self.goes_past(core, at, cache, line, state.is_dirty(), kind) {
                    break;
                }
                continue;
            }
            let evicted = self.caches.arrays[cache].insert(line, state, holder, allowed);
            if self.caches.topology.nodes[cache].level == 2 {
                count_fill(&mut self.counts[core.index()], state, evicted.is_none());
            }
            if let Some(evicted) = evicted {
                self.evict(core, at, cache, evicted);
            }
        }
    }

    /// All ways of the line's set in `cache` are locked, and the line goes past it. True where it goes past the caches
    /// behind too, since an inclusive cache must have what they have. Data that were `changed` by then, or are to be
    /// and find no cache, go to memory.
    #[cold]
    #[inline(never)]
    fn goes_past(
        &mut self,
        core: CoreId,
        at: Picoseconds,
        cache: usize,
        line: u64,
        changed: bool,
        kind: AccessKind,
    ) -> bool {
        let node = &self.caches.topology.nodes[cache];
        let ends = node.inclusion == Inclusion::Inclusive && !node.children.is_empty();
        if changed || (ends && kind == AccessKind::Write) {
            let at = self.write_back_over_the_bus(core, at);
            self.write_to_dram(core, at, line);
        }
        ends
    }

    /// Sends a line that left `cache` where it belongs: to the next cache or to memory if it was changed.
    #[inline(always)]
    pub(super) fn evict(&mut self, core: CoreId, at: Picoseconds, cache: usize, evicted: Evicted) {
        if evicted.is_dirty() || !self.caches.topology.nodes[cache].silent {
            self.pass_on(core, at, cache, evicted);
        }
    }

    #[inline(never)]
    pub(super) fn pass_on(&mut self, core: CoreId, at: Picoseconds, cache: usize, evicted: Evicted) {
        let (mut cache, mut evicted) = (cache, evicted);
        loop {
            let node = &self.caches.topology.nodes[cache];
            let (parent, position) = (node.parent, node.position);
            if node.inclusion == Inclusion::Inclusive
                && !node.children.is_empty()
                && self.caches.take_back(cache, evicted, &mut self.counts)
            {
                evicted = evicted.dirtied();
            }
            let Some(parent) = parent else {
                if evicted.is_dirty() {
                    let at = self.write_back_over_the_bus(core, at);
                    self.write_to_dram(core, at, evicted.line());
                }
                return;
            };
            let collects = self.caches.topology.nodes[parent].inclusion == Inclusion::Exclusive;
            if !evicted.is_dirty() && !collects {
                return;
            }
            match self.put_back(core, parent, position, evicted) {
                Some(next) => (cache, evicted) = (parent, next),
                None => return,
            }
        }
    }

    /// A line comes from the inner cache at `position`: its data are kept here.
    fn put_back(&mut self, core: CoreId, cache: usize, position: usize, evicted: Evicted) -> Option<Evicted> {
        let allowed = self.allowed(core, cache);
        let array = &mut self.caches.arrays[cache];
        match array.find(evicted.line()) {
            Some(slot) => {
                if evicted.is_dirty() {
                    array.set_state(slot, array.state(slot).dirtied());
                }
                array.touch(slot);
                if self.caches.topology.nodes[cache].level == 2 {
                    self.counts[core.index()].increment(Signal::L2AddressStrobes);
                }
                None
            }
            None if array.refuses(evicted.line()) => Some(evicted),
            None => {
                let state = evicted.state();
                let holder = holder_bit(position) | self.tags[core.index()];
                let next = array.insert(evicted.line(), state, holder, allowed);
                if self.caches.topology.nodes[cache].level == 2 {
                    count_fill(&mut self.counts[core.index()], state, next.is_none());
                }
                next
            }
        }
    }

    pub(super) fn write_to_dram(&mut self, core: CoreId, at: Picoseconds, line: u64) {
        self.counts[core.index()].increment(Signal::DramWrite);
        self.dram.submit(at, core, PhysicalAddress(line << self.line_shift), true);
    }

    /// The time an access takes before data or DRAM's answer: the level's own and what coherence adds. An
    /// exchange with other cores takes place at the level where they meet, or at the last.
    fn latency(
        &self,
        core: CoreId,
        route: &Route,
        depth: usize,
        snooped: &SnoopResult,
    ) -> (Stalls, Picoseconds) {
        // Where the path does not have the line, a forwarder's copy comes from its cache like an exclusive one.
        let forwarded = depth == route.path.len() && snooped.found.supplies;
        let depth = depth.min(route.path.len() - 1);
        let base = route.latency(depth);
        let extra = &self.extra[core.index()];
        let added = if snooped.remote && snooped.found.dirty {
            extra.modified
        } else if snooped.remote && (snooped.found.exclusive || forwarded) {
            extra.clean
        } else if snooped.upgrade || (snooped.remote && snooped.found.any && snooped.shared_below == 0) {
            extra.upgrade
        } else {
            Picoseconds::ZERO
        };
        let mut latency = base;
        if !added.is_zero() {
            let meeting = snooped.depth.min(route.path.len() - 1);
            latency = base.max(route.latency(meeting)) + added;
        }
        (Stalls { coherence: latency - base, ..route.stalls(depth) }, latency)
    }
}

/// What is left to do for a line that left a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Nothing,
    /// Memory must have it.
    WriteBack,
    /// Whatever may be: nothing has been done yet.
    Everything,
}

/// Sends a line that left the cache of a stage where it belongs, in the usual cases.
#[inline(always)]
pub(super) fn send_onward(
    caches: &mut Caches,
    counts: &mut SignalCounts,
    stage: &Stage,
    evicted: Evicted,
) -> Next {
    match stage.onward {
        Onward::Cache { number, second } if caches.arrays[number].take_back(evicted.line()) => {
            if second {
                counts.increment(Signal::L2AddressStrobes);
            }
            Next::Nothing
        }
        Onward::Memory if !caches.is_held_behind(stage.cache, evicted) => {
            if evicted.is_dirty() {
                Next::WriteBack
            } else {
                Next::Nothing
            }
        }
        _ => Next::Everything,
    }
}

/// Looks for `line` along the path: the depth where it is, or the path's length.
#[inline]
fn look_up(
    arrays: &[CacheArray],
    counts: &mut SignalCounts,
    route: &Route,
    line: u64,
) -> (usize, Option<usize>) {
    for (depth, stage) in route.stages().iter().enumerate() {
        let slot = arrays[stage.cache].find(line);
        if let Some((hit, miss)) = stage.events {
            counts.increment(if slot.is_some() { hit } else { miss });
        }
        if slot.is_some() {
            return (depth, slot);
        }
    }
    (route.path.len(), None)
}
