//! The performance monitoring unit: limited counters, width, exact overflow.

use proptest::prelude::*;
use solo_hal::{CounterId, Modes, Pmu, PmuError};
use solo_model::{CoreId, Counts, EventId, Signal};
use solo_sim::memory::fixtures::bare;
use solo_sim::pmu::SimPmu;

const CORE: CoreId = CoreId(0);
const FIRST: CounterId = CounterId(0);

fn unit() -> SimPmu {
    SimPmu::new(&bare(2))
}

fn counted(event: EventId, count: u64) -> Counts {
    let mut counts = Counts::NONE;
    counts.add(event, count);
    counts
}

#[test]
fn a_counter_counts_from_its_configuration_on() {
    let mut pmu = unit();
    pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 100));
    pmu.configure(CORE, FIRST, EventId::LLC_MISSES).unwrap();
    assert_eq!(pmu.read(CORE, FIRST), Ok(0));
    pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 130));
    assert_eq!(pmu.read(CORE, FIRST), Ok(30));
    pmu.stop(CORE, FIRST).unwrap();
    pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 150));
    assert_eq!(pmu.read(CORE, FIRST), Ok(30));
    pmu.start(CORE, FIRST).unwrap();
    pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 151));
    assert_eq!(pmu.read(CORE, FIRST), Ok(31));
    assert_eq!(pmu.read(CoreId(1), FIRST), Ok(0));
}

#[test]
fn a_write_sets_the_value_and_never_the_event() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, EventId::DRAM_READS).unwrap();
    // The published mirror wrote the value into the event-select register.
    pmu.write(CORE, FIRST, 1).unwrap();
    assert_eq!(pmu.event(CORE, FIRST), Ok(EventId::DRAM_READS));
    pmu.observe_counts(CORE, &counted(EventId::DRAM_READS, 5));
    assert_eq!(pmu.read(CORE, FIRST), Ok(1 + 5));
    let mut cycles = counted(EventId::DRAM_READS, 5);
    cycles.add(EventId::CYCLES, 1_000);
    pmu.observe_counts(CORE, &cycles);
    assert_eq!(pmu.read(CORE, FIRST), Ok(1 + 5));
}

#[test]
fn counters_wrap_at_their_width() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, EventId::L1_HITS).unwrap();
    pmu.write(CORE, FIRST, (1 << 48) - 2).unwrap();
    pmu.observe_counts(CORE, &counted(EventId::L1_HITS, 5));
    assert_eq!(pmu.read(CORE, FIRST), Ok(3));
    pmu.write(CORE, FIRST, u64::MAX).unwrap();
    assert_eq!(pmu.read(CORE, FIRST), Ok((1 << 48) - 1));
}

#[test]
fn counters_are_few_and_fixed_ones_fixed() {
    let mut pmu = unit();
    let instructions = CounterId(4);
    assert_eq!(pmu.configure(CORE, instructions, EventId::INSTRUCTIONS), Ok(()));
    assert_eq!(
        pmu.configure(CORE, instructions, EventId::LLC_MISSES),
        Err(PmuError::NotCountable { counter: instructions, event: EventId::LLC_MISSES })
    );
    assert_eq!(pmu.event(CORE, instructions), Ok(EventId::INSTRUCTIONS));
    let none = Err(PmuError::NoSuchCounter { counter: CounterId(7), counters: 7 });
    assert_eq!(pmu.configure(CORE, CounterId(7), EventId::LLC_MISSES), none);
    assert_eq!(pmu.start(CoreId(9), FIRST), Err(PmuError::NoSuchCounter { counter: FIRST, counters: 0 }));
}

/// Every shipped chip has the counters of the research note's table (section 3), as wide, and not one more; what its
/// fixed ones are bound to cannot be changed.
#[test]
fn each_chip_has_its_own_counters() {
    const INSTRUCTIONS: EventId = EventId::INSTRUCTIONS;
    const CYCLES: EventId = EventId::CYCLES;
    let chips: [(&str, u8, &[EventId], u32); 8] = [
        ("core2-q9550", 2, &[INSTRUCTIONS, CYCLES, CYCLES], 40),
        ("i7-2600", 4, &[INSTRUCTIONS, CYCLES, CYCLES], 48),
        ("xeon-w3530", 4, &[INSTRUCTIONS, CYCLES, CYCLES], 48),
        ("p4080", 4, &[], 32),
        ("quickia", 2, &[INSTRUCTIONS, CYCLES, CYCLES], 40),
        ("juno", 6, &[CYCLES], 32),
        ("opteron-2425", 4, &[], 48),
        ("xeon-e5-2695v3", 4, &[INSTRUCTIONS, CYCLES, CYCLES], 48),
    ];
    for (name, programmable, fixed, width) in chips {
        let platform = solo_scenario::Platforms::builtin().load(name, std::path::Path::new("")).unwrap();
        let mut pmu = SimPmu::new(&platform);
        for number in 0..programmable {
            for (event, definition) in platform.events.iter() {
                let counter = CounterId(number);
                let countable = definition.signal.map(drop).ok_or(PmuError::NotCountable { counter, event });
                assert_eq!(pmu.configure(CORE, counter, event), countable, "{name}: {event}");
            }
        }
        for (number, bound) in (programmable..).zip(fixed) {
            let counter = CounterId(number);
            assert_eq!(pmu.event(CORE, counter), Ok(*bound), "{name}");
            for (event, _) in platform.events.iter() {
                assert_eq!(pmu.configure(CORE, counter, event).is_ok(), event == *bound, "{name}");
            }
        }
        let (counters, beyond) = (programmable + fixed.len() as u8, programmable + fixed.len() as u8);
        let none = Err(PmuError::NoSuchCounter { counter: CounterId(beyond), counters });
        assert_eq!(pmu.configure(CORE, CounterId(beyond), CYCLES), none, "{name}");
        pmu.configure(CORE, FIRST, EventId::LLC_MISSES).unwrap();
        pmu.write(CORE, FIRST, (1 << width) - 1).unwrap();
        pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 3));
        assert_eq!(pmu.read(CORE, FIRST), Ok(2), "{name} wraps at {width} bits");
    }
}

#[test]
fn without_overflow_there_is_no_interrupt() {
    let mut platform = bare(1);
    platform.pmu.overflow = false;
    let mut pmu = SimPmu::new(&platform);
    pmu.configure(CORE, FIRST, EventId::L1_HITS).unwrap();
    assert_eq!(pmu.interrupt_after(CORE, FIRST, 10), Err(PmuError::NoOverflow));
}

#[test]
fn a_stopped_counter_keeps_its_distance() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, EventId::LLC_MISSES).unwrap();
    pmu.interrupt_after(CORE, FIRST, 10).unwrap();
    pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 4));
    pmu.stop(CORE, FIRST).unwrap();
    assert_eq!(pmu.limit(CORE, Signal::LlcMiss), None);
    pmu.observe_counts(CORE, &counted(EventId::LLC_MISSES, 100));
    assert_eq!(pmu.poll(CORE), None);
    pmu.start(CORE, FIRST).unwrap();
    assert_eq!(pmu.limit(CORE, Signal::LlcMiss), Some(106));
    assert_eq!(pmu.limit(CORE, Signal::LlcHit), None);
}

#[test]
fn an_interrupt_after_nothing_comes_at_once_and_once() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, EventId::LLC_MISSES).unwrap();
    pmu.interrupt_after(CORE, FIRST, 0).unwrap();
    assert_eq!(pmu.poll(CORE), Some(FIRST));
    assert_eq!(pmu.poll(CORE), None);
    // Reprogramming takes back an interrupt that was not taken yet.
    pmu.interrupt_after(CORE, FIRST, 0).unwrap();
    pmu.interrupt_after(CORE, FIRST, 5).unwrap();
    assert_eq!(pmu.poll(CORE), None);
}

/// Events of both kinds, so that a counter that should stand still shows it.
fn both(misses: u64, cycles: u64) -> Counts {
    let mut counts = counted(EventId::LLC_MISSES, misses);
    counts.add(EventId::CYCLES, cycles);
    counts
}

#[test]
fn an_overflow_freezes_all_counters_of_its_core_where_it_is_asked_to() {
    let second = CounterId(1);
    for freezes in [false, true] {
        let mut pmu = unit();
        pmu.configure(CORE, FIRST, EventId::LLC_MISSES).unwrap();
        pmu.configure(CORE, second, EventId::CYCLES).unwrap();
        pmu.configure(CoreId(1), second, EventId::CYCLES).unwrap();
        pmu.freeze_on_overflow(CORE, freezes).unwrap();
        pmu.interrupt_after(CORE, FIRST, 10).unwrap();
        pmu.observe_counts(CORE, &both(9, 900));
        pmu.observe_counts(CORE, &both(10, 1000));
        // The interrupt is on its way: what happens now is the handler's.
        pmu.observe_counts(CORE, &both(13, 1500));
        pmu.observe_counts(CoreId(1), &both(13, 1500));
        assert_eq!(pmu.poll(CORE), Some(FIRST));
        let expected = if freezes { (10, 1000) } else { (13, 1500) };
        let read = |pmu: &SimPmu| (pmu.read(CORE, FIRST).unwrap(), pmu.read(CORE, second).unwrap());
        assert_eq!(read(&pmu), expected);
        assert_eq!(pmu.read(CoreId(1), second), Ok(1500), "other cores go on");
        pmu.resume(CORE);
        pmu.observe_counts(CORE, &both(14, 1700));
        assert_eq!(read(&pmu), (expected.0 + 1, expected.1 + 200));
    }
    let mut platform = bare(1);
    platform.pmu.overflow = false;
    assert_eq!(SimPmu::new(&platform).freeze_on_overflow(CORE, true), Err(PmuError::NoOverflow));
}

#[test]
fn counters_tell_the_kernel_from_its_threads() {
    let counters = [(FIRST, Modes::All), (CounterId(1), Modes::User), (CounterId(2), Modes::Kernel)];
    let mut pmu = unit();
    for (counter, modes) in counters {
        pmu.configure(CORE, counter, EventId::CYCLES).unwrap();
        pmu.count_in(CORE, counter, modes).unwrap();
    }
    pmu.interrupt_after(CORE, CounterId(1), 150).unwrap();
    let read = |pmu: &SimPmu| counters.map(|(counter, _)| pmu.read(CORE, counter).unwrap());
    pmu.observe_counts(CORE, &counted(EventId::CYCLES, 100));
    pmu.set_kernel(CORE, true);
    pmu.observe_counts(CORE, &counted(EventId::CYCLES, 130));
    assert_eq!((read(&pmu), pmu.limit(CORE, Signal::Cycles)), ([130, 100, 30], None));
    pmu.set_kernel(CORE, false);
    // Fifty more of the threads' own, whatever the kernel took in between.
    assert_eq!(pmu.limit(CORE, Signal::Cycles), Some(180));
    pmu.observe_counts(CORE, &counted(EventId::CYCLES, 180));
    assert_eq!((read(&pmu), pmu.poll(CORE)), ([180, 150, 30], Some(CounterId(1))));
    // Programmed anew, a counter counts in all modes.
    pmu.configure(CORE, CounterId(2), EventId::CYCLES).unwrap();
    pmu.observe_counts(CORE, &counted(EventId::CYCLES, 200));
    assert_eq!(pmu.read(CORE, CounterId(2)), Ok(20));
}

proptest! {
    /// The interrupt comes at exactly the n-th event, whatever the steps and the counter's value.
    #[test]
    fn overflow_is_exact(n in 1_u64..5_000, value in any::<u64>(), steps in prop::collection::vec(1_u64..100, 1..100)) {
        let mut pmu = unit();
        let mut counts = Counts::NONE;
        pmu.configure(CORE, FIRST, EventId::LLC_MISSES).unwrap();
        pmu.write(CORE, FIRST, value).unwrap();
        pmu.interrupt_after(CORE, FIRST, n).unwrap();
        for step in steps {
            let before = counts.get(EventId::LLC_MISSES).unwrap_or(0);
            let room = pmu.limit(CORE, Signal::LlcMiss).map(|at| at - before);
            prop_assert_eq!(room, (before < n).then(|| n - before));
            counts.add(EventId::LLC_MISSES, room.map_or(step, |room| step.min(room)));
            pmu.observe_counts(CORE, &counts);
            let due = before < n && counts.get(EventId::LLC_MISSES).unwrap_or(0) == n;
            prop_assert_eq!(pmu.poll(CORE), due.then_some(FIRST));
        }
    }
}

/// Six events on the two counters of a Core 2: three sets take turns, every sample names its set, and the estimates
/// are right where events come evenly.
#[test]
fn sets_of_events_take_turns_on_few_counters() {
    use solo_model::Sample;
    use solo_model::{Duration, Instant};
    use solo_observe::rotation::{Rotation, Totals};
    let mut platform = bare(1);
    platform.pmu.programmable = 2;
    let mut pmu = SimPmu::new(&platform);
    let events = [
        EventId::L1_HITS,
        EventId::L1_MISSES,
        EventId::LLC_HITS,
        EventId::LLC_MISSES,
        EventId::SNOOP_HITS,
        EventId::SNOOP_HITM,
    ];
    let mut rotation = Rotation::new(&events, platform.pmu.programmable).unwrap();
    let mut totals = Totals::new(&rotation);
    let (mut counts, mut seen) = (Counts::NONE, Vec::new());
    let period = Duration::from_millis(1);
    for turn in 0..=30 {
        let now = Instant::ZERO + period * turn;
        pmu.observe_counts(CORE, &counts);
        let turn = rotation.turn(now);
        if let Some((set, span)) = turn.read {
            let counters = (0..).zip(&rotation.sets()[set].events);
            let read = |(number, event): (u8, &EventId)| (*event, pmu.read(CORE, CounterId(number)).unwrap());
            let sample =
                Sample { set: set as u16, ..Sample::of_core(CORE, now, span, counters.map(read).collect()) };
            totals.add(&sample);
            seen.push(sample.set);
        }
        for (position, event) in rotation.sets()[turn.count].events.iter().enumerate() {
            pmu.configure(CORE, CounterId(position as u8), *event).unwrap();
        }
        for (number, event) in events.iter().enumerate() {
            counts.add(*event, 10 + number as u64);
        }
    }
    assert_eq!(seen, [0, 1, 2].repeat(10));
    for (number, _) in events.iter().enumerate() {
        let (set, position) = (number / 2, number % 2);
        let each = 10 + number as u64;
        assert_eq!(totals.counted(set, position), Some((10 * each, period * 10)));
        assert_eq!(totals.estimate(set, position), Some(30 * each));
    }
}
