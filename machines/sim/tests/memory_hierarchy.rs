//! What cores see: latencies, levels and events of small machines worked out by hand.

use solo_model::platform::{Contents, Inclusion};
use solo_model::{CoreId, Picoseconds, Platform, Signal};
use solo_sim::memory::coherence::State;
use solo_sim::memory::fixtures::{private_only, xeon_w3530};
use solo_sim::memory::{AccessKind, Answer, Completion, Hierarchy, HierarchyError, PhysicalAddress};

fn hierarchy(platform: &Platform) -> Hierarchy {
    Hierarchy::new(platform, 1).unwrap()
}

/// Performs an access to its end; the time of its end and the level (0 for DRAM).
fn perform(memory: &mut Hierarchy, core: u16, now: u64, address: u64, kind: AccessKind) -> (u64, u8) {
    match memory.access(CoreId(core), Picoseconds::new(now), PhysicalAddress(address), kind) {
        Answer::Hit { latency, level, stalls } => {
            assert_eq!(stalls.lookup + stalls.coherence, latency);
            (now + latency.get(), level)
        }
        Answer::Miss { request, lookup, stalls } => {
            assert_eq!(stalls.lookup + stalls.coherence, lookup);
            let completion = wait(memory, request);
            let dram = completion.unloaded + completion.queue_own + completion.queue_others;
            assert_eq!(completion.at.get(), now + lookup.get() + dram.get());
            (completion.at.get(), 0)
        }
    }
}

fn wait(memory: &mut Hierarchy, request: solo_sim::memory::RequestId) -> Completion {
    let mut answer = None;
    while answer.is_none() {
        let next = memory.next_event().expect("a request is under way");
        memory.advance(next, |completion| {
            if completion.request == request {
                answer = Some(*completion);
            }
        });
    }
    answer.unwrap()
}

fn events(memory: &Hierarchy, core: u16, names: &[Signal]) -> Vec<u64> {
    names.iter().map(|event| memory.counts(CoreId(core))[*event]).collect()
}

#[test]
fn each_level_answers_in_its_own_time() {
    let mut memory = hierarchy(&xeon_w3530());
    let (end, level) = perform(&mut memory, 0, 0, 0, AccessKind::Read);
    assert_eq!(level, 0);
    // 39 cycles of 2.8 GHz, 7.5 ns out (to the next edge of 1.5 ns), 9 + 9 + 4 clocks, 7.5 ns back.
    assert_eq!(end, 22_500 + 22 * 1500 + 7_500);
    assert_eq!(perform(&mut memory, 0, end, 8, AccessKind::Read), (end + 1429, 1));
    assert_eq!(perform(&mut memory, 1, end, 0, AccessKind::Read), (end + (39 + 26) * 10_000 / 28 + 1, 3));
    let counts =
        [Signal::L1Hit, Signal::L1Miss, Signal::L2Miss, Signal::LlcHit, Signal::LlcMiss, Signal::DramRead];
    assert_eq!(events(&memory, 0, &counts), [1, 1, 1, 0, 1, 1]);
    assert_eq!(events(&memory, 1, &counts), [0, 1, 1, 1, 0, 0]);
    assert_eq!(events(&memory, 1, &[Signal::SnoopHitClean, Signal::SnoopHitModified]), [1, 0]);
}

#[test]
fn a_modified_line_is_handed_over_and_back() {
    let mut memory = hierarchy(&xeon_w3530());
    let (end, _) = perform(&mut memory, 0, 0, 0x1000, AccessKind::Write);
    let (read, level) = perform(&mut memory, 1, end, 0x1000, AccessKind::Read);
    assert_eq!((read - end, level), (26_786, 3)); // 39 + 36 cycles
    assert_eq!(events(&memory, 1, &[Signal::SnoopHitModified]), [1]);
    let (write, _) = perform(&mut memory, 0, read, 0x1000, AccessKind::Write);
    assert_eq!(write - read, 23_215); // 39 + 26 cycles, each rounded to picoseconds
    assert_eq!(events(&memory, 0, &[Signal::Upgrade, Signal::InvalidationReceived]), [1, 0]);
    assert_eq!(events(&memory, 1, &[Signal::Upgrade, Signal::InvalidationReceived]), [0, 1]);
    // The owner writes again without asking anybody.
    assert_eq!(perform(&mut memory, 0, write, 0x1000, AccessKind::Write), (write + 1429, 1));
}

#[test]
fn a_line_on_its_way_is_waited_for() {
    let mut memory = hierarchy(&xeon_w3530());
    let ask = |memory: &mut Hierarchy, core, now| {
        memory.access(CoreId(core), Picoseconds::new(now), PhysicalAddress(0), AccessKind::Read)
    };
    let Answer::Miss { request: first, .. } = ask(&mut memory, 0, 0) else { panic!("cold") };
    let Answer::Miss { request: second, lookup, .. } = ask(&mut memory, 0, 5000) else {
        panic!("on its way")
    };
    let Answer::Miss { request: third, .. } = ask(&mut memory, 1, 6000) else { panic!("on its way") };
    let mut done = Vec::new();
    while let Some(next) = memory.next_event() {
        memory.advance(next, |completion| done.push(*completion));
    }
    assert_eq!(done.iter().map(|completion| completion.request).collect::<Vec<_>>(), [first, second, third]);
    assert!(done.iter().all(|completion| completion.at == done[0].at));
    assert_eq!(done[1].unloaded.get(), done[0].at.get() - 5000 - lookup.get());
    // DRAM has decided, but the data are not there yet.
    let late = done[0].at.get() - 20_000;
    let Answer::Miss { request: fourth, .. } = ask(&mut memory, 2, late - 15_000) else {
        panic!("on its way")
    };
    assert!(memory.next_event().is_some());
    memory.advance(Picoseconds::new(late), |completion| done.push(*completion));
    assert_eq!((done[3].request, done[3].at), (fourth, done[0].at));
    assert_eq!(memory.counts(CoreId(0))[Signal::DramRead], 1);
    assert!(matches!(ask(&mut memory, 0, done[0].at.get()), Answer::Hit { level: 1, .. }));
}

#[test]
fn an_inclusive_cache_takes_lines_back() {
    let mut memory = hierarchy(&xeon_w3530());
    let stride = 8192 * 64;
    let mut now = 0;
    for way in 0..17 {
        (now, _) = perform(&mut memory, way % 2, now, u64::from(way) * stride, AccessKind::Write);
    }
    // The seventeenth line of the set took the place of the first, which core 0 had changed.
    assert_eq!(memory.state(1, PhysicalAddress(0)), State::Invalid);
    assert_eq!(events(&memory, 0, &[Signal::InvalidationReceived, Signal::DramWrite]), [1, 1]);
}

#[test]
fn private_caches_alone_exchange_lines_without_memory() {
    let mut memory = hierarchy(&private_only(2, 32, 8));
    let (end, _) = perform(&mut memory, 0, 0, 0, AccessKind::Write);
    // 1 cycle and 200 for a modified copy; the data go to memory too.
    assert_eq!(perform(&mut memory, 1, end, 0, AccessKind::Read), (end + 201_000, 1));
    assert_eq!(
        events(&memory, 1, &[Signal::SnoopHitModified, Signal::DramRead, Signal::DramWrite]),
        [1, 0, 1]
    );
    assert_eq!(memory.state(0, PhysicalAddress(0)), State::Shared);
}

#[test]
fn impossible_machines_are_refused_with_the_reason() {
    let refuse = |change: fn(&mut Platform)| {
        let mut platform = xeon_w3530();
        change(&mut platform);
        Hierarchy::new(&platform, 1).unwrap_err()
    };
    assert!(matches!(
        refuse(|chip| chip.caches[0].ways = 7),
        HierarchyError::Geometry { level: 1, ways: 7, .. }
    ));
    assert!(matches!(refuse(|chip| chip.caches.clear()), HierarchyError::NoCache { .. }));
    assert!(matches!(refuse(|chip| chip.cores.clear()), HierarchyError::Cores { cores: 0 }));
    assert!(matches!(refuse(|chip| chip.kinds.clear()), HierarchyError::NoClock { .. }));
    assert!(matches!(
        refuse(|chip| chip.caches[0].line = solo_model::Bytes::new(32)),
        HierarchyError::LineSizes { .. }
    ));
    assert!(matches!(
        refuse(|chip| chip.caches.push(chip.caches[0].clone())),
        HierarchyError::Overlap { level: 1, .. }
    ));
    assert!(matches!(
        refuse(|chip| chip.dram.timing.rc = 1),
        HierarchyError::Dram(solo_sim::memory::DramError::Timing { smaller: "tRC", .. })
    ));
}

#[test]
fn an_inclusive_cache_of_one_core_takes_lines_back_too() {
    let mut platform = private_only(1, 1, 2);
    let only = platform.core_set();
    let mut second = solo_sim::memory::fixtures::cache(2, Contents::Unified, only, 2, 1, 10);
    second.inclusion = Inclusion::Inclusive;
    platform.caches.push(second);
    let mut memory = hierarchy(&platform);
    // Lines 0 and 32 share the only way of a set of the second level, but fit beside each other in the first.
    let (end, _) = perform(&mut memory, 0, 0, 0, AccessKind::Write);
    perform(&mut memory, 0, end, 32 * 64, AccessKind::Read);
    assert_eq!(memory.state(0, PhysicalAddress(0)), State::Invalid);
    assert_eq!(events(&memory, 0, &[Signal::InvalidationReceived, Signal::DramWrite]), [1, 1]);
}

#[test]
fn a_locked_line_stays_where_a_way_mask_leaves_nothing_else() {
    // One set of the shared cache: every 8192nd line of the Xeon's last level.
    let platform = xeon_w3530();
    let last = platform.caches.iter().position(|cache| cache.level == 3).unwrap();
    let line = |n: u64| n * 8192 * 64;
    let mut memory = hierarchy(&platform);
    assert!(
        memory.lock_line(last, PhysicalAddress(line(0))) && memory.lock_line(last, PhysicalAddress(line(1)))
    );
    // Ways are filled from the lowest on: the mask is just what is locked.
    memory.restrict_ways(CoreId(0), last, 0b11).unwrap();
    for n in 2..100 {
        perform(&mut memory, 0, n * 1_000_000, line(n), AccessKind::Read);
        for locked in [0, 1] {
            assert_ne!(memory.state(last, PhysicalAddress(line(locked))), State::Invalid, "after {n}");
        }
    }
}

/// Every way of a set is locked: other lines of the set go past the cache, and past those behind it that an inclusive
/// one answers for; nothing hangs, nothing locked leaves, and nothing written is lost.
#[test]
fn a_set_of_locked_ways_is_gone_past() {
    for inclusion in [Inclusion::Inclusive, Inclusion::NonInclusive] {
        let mut platform = private_only(2, 1, 2);
        let mut last = solo_sim::memory::fixtures::cache(2, Contents::Unified, platform.core_set(), 1, 2, 10);
        last.inclusion = inclusion;
        platform.caches.push(last);
        let position = platform.caches.len() - 1;
        // Every eighth line lies in the same set of the shared cache.
        let line = |n: u64| PhysicalAddress(n * 8 * 64);
        let mut memory = hierarchy(&platform);
        assert!(memory.lock_line(position, line(0)) && memory.lock_line(position, line(1)));
        assert!(!memory.lock_line(position, line(2)), "no way is left");
        let mut now = 0;
        for n in 0..60 {
            let (core, kind) =
                ((n % 2) as u16, if n % 3 == 0 { AccessKind::Write } else { AccessKind::Read });
            now = perform(&mut memory, core, now, line(2 + n % 5).0, kind).0;
            // Whether the first level has it now depends on whether the shared one would have to as well.
            let (end, level) = perform(&mut memory, core, now, line(2 + n % 5).0, AccessKind::Read);
            assert_eq!(level, u8::from(inclusion != Inclusion::Inclusive), "after {n}");
            now = end;
            assert_ne!(memory.state(position, line(0)), State::Invalid, "after {n}");
            assert_ne!(memory.state(position, line(1)), State::Invalid, "after {n}");
            let past = (2..7).all(|other| memory.state(position, line(other)) == State::Invalid);
            assert!(past, "after {n}");
            if inclusion == Inclusion::Inclusive {
                let behind = (2..7)
                    .any(|other| (0..2).any(|first| memory.state(first, line(other)) != State::Invalid));
                assert!(!behind, "after {n}");
            }
        }
        let [reads, writes] = [Signal::DramRead, Signal::DramWrite]
            .map(|event| memory.counts(CoreId(0))[event] + memory.counts(CoreId(1))[event]);
        if inclusion == Inclusion::Inclusive {
            assert_eq!((reads, writes), (120, 20));
        } else {
            // First levels still keep lines, and hand changed ones over or back.
            assert!(reads <= 60 && writes > 0, "{reads} reads, {writes} writes");
        }
        // A locked line is still served, and a way that is given back is used again.
        assert_eq!(perform(&mut memory, 0, now, line(0).0, AccessKind::Read).1, 2);
        memory.unlock_line(position, line(1));
        now = perform(&mut memory, 0, now + 1_000_000, line(20).0, AccessKind::Read).0;
        perform(&mut memory, 1, now, line(21).0, AccessKind::Read);
        assert_eq!(memory.state(position, line(1)), State::Invalid, "its way is used again");
        assert_ne!(memory.state(position, line(0)), State::Invalid);
    }
}
