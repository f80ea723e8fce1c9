//! The performance monitoring unit: limited counters, width, exact overflow.

use proptest::prelude::*;
use solo_hal::{CounterId, Modes, Pmu, PmuError};
use solo_model::{CoreId, Event, EventCounts};
use solo_sim::memory::fixtures::bare;
use solo_sim::pmu::SimPmu;

const CORE: CoreId = CoreId(0);
const FIRST: CounterId = CounterId(0);

fn unit() -> SimPmu {
    SimPmu::new(&bare(2))
}

fn counted(event: Event, count: u64) -> EventCounts {
    let mut counts = EventCounts::ZERO;
    counts.add(event, count);
    counts
}

#[test]
fn a_counter_counts_from_its_configuration_on() {
    let mut pmu = unit();
    pmu.observe(CORE, &counted(Event::LlcMiss, 100));
    pmu.configure(CORE, FIRST, Event::LlcMiss).unwrap();
    assert_eq!(pmu.read(CORE, FIRST), Ok(0));
    pmu.observe(CORE, &counted(Event::LlcMiss, 130));
    assert_eq!(pmu.read(CORE, FIRST), Ok(30));
    pmu.stop(CORE, FIRST).unwrap();
    pmu.observe(CORE, &counted(Event::LlcMiss, 150));
    assert_eq!(pmu.read(CORE, FIRST), Ok(30));
    pmu.start(CORE, FIRST).unwrap();
    pmu.observe(CORE, &counted(Event::LlcMiss, 151));
    assert_eq!(pmu.read(CORE, FIRST), Ok(31));
    assert_eq!(pmu.read(CoreId(1), FIRST), Ok(0));
}

#[test]
fn a_write_sets_the_value_and_never_the_event() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, Event::DramRead).unwrap();
    // The published mirror wrote the value into the event-select register.
    pmu.write(CORE, FIRST, Event::Cycles as u64).unwrap();
    assert_eq!(pmu.event(CORE, FIRST), Ok(Event::DramRead));
    pmu.observe(CORE, &counted(Event::DramRead, 5));
    assert_eq!(pmu.read(CORE, FIRST), Ok(Event::Cycles as u64 + 5));
    let mut cycles = counted(Event::DramRead, 5);
    cycles.add(Event::Cycles, 1_000);
    pmu.observe(CORE, &cycles);
    assert_eq!(pmu.read(CORE, FIRST), Ok(Event::Cycles as u64 + 5));
}

#[test]
fn counters_wrap_at_their_width() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, Event::L1Hit).unwrap();
    pmu.write(CORE, FIRST, (1 << 48) - 2).unwrap();
    pmu.observe(CORE, &counted(Event::L1Hit, 5));
    assert_eq!(pmu.read(CORE, FIRST), Ok(3));
    pmu.write(CORE, FIRST, u64::MAX).unwrap();
    assert_eq!(pmu.read(CORE, FIRST), Ok((1 << 48) - 1));
}

#[test]
fn counters_are_few_and_fixed_ones_fixed() {
    let mut pmu = unit();
    let instructions = CounterId(4);
    assert_eq!(pmu.configure(CORE, instructions, Event::Instructions), Ok(()));
    assert_eq!(
        pmu.configure(CORE, instructions, Event::LlcMiss),
        Err(PmuError::NotCountable { counter: instructions, event: Event::LlcMiss })
    );
    assert_eq!(pmu.event(CORE, instructions), Ok(Event::Instructions));
    let none = Err(PmuError::NoSuchCounter { counter: CounterId(7), counters: 7 });
    assert_eq!(pmu.configure(CORE, CounterId(7), Event::LlcMiss), none);
    assert_eq!(pmu.start(CoreId(9), FIRST), Err(PmuError::NoSuchCounter { counter: FIRST, counters: 0 }));
}

/// Every shipped chip has the counters of the research note's table (section 3), as wide, and not one more; what its
/// fixed ones are bound to cannot be changed.
#[test]
fn each_chip_has_its_own_counters() {
    use Event::{Cycles, Instructions};
    let chips: [(&str, u8, &[Event], u32); 8] = [
        ("core2-q9550", 2, &[Instructions, Cycles, Cycles], 40),
        ("i7-2600", 4, &[Instructions, Cycles, Cycles], 48),
        ("xeon-w3530", 4, &[Instructions, Cycles, Cycles], 48),
        ("p4080", 4, &[], 32),
        ("quickia", 2, &[Instructions, Cycles, Cycles], 40),
        ("juno", 6, &[Cycles], 32),
        ("opteron-2425", 4, &[], 48),
        ("xeon-e5-2695v3", 4, &[Instructions, Cycles, Cycles], 48),
    ];
    for (name, programmable, fixed, width) in chips {
        let platform = solo_scenario::Platforms::builtin().load(name, std::path::Path::new("")).unwrap();
        let mut pmu = SimPmu::new(&platform);
        for number in 0..programmable {
            for event in Event::ALL {
                assert_eq!(pmu.configure(CORE, CounterId(number), event), Ok(()), "{name}");
            }
        }
        for (number, bound) in (programmable..).zip(fixed) {
            let counter = CounterId(number);
            assert_eq!(pmu.event(CORE, counter), Ok(*bound), "{name}");
            for event in Event::ALL {
                assert_eq!(pmu.configure(CORE, counter, event).is_ok(), event == *bound, "{name}");
            }
        }
        let (counters, beyond) = (programmable + fixed.len() as u8, programmable + fixed.len() as u8);
        let none = Err(PmuError::NoSuchCounter { counter: CounterId(beyond), counters });
        assert_eq!(pmu.configure(CORE, CounterId(beyond), Cycles), none, "{name}");
        pmu.configure(CORE, FIRST, Event::LlcMiss).unwrap();
        pmu.write(CORE, FIRST, (1 << width) - 1).unwrap();
        pmu.observe(CORE, &counted(Event::LlcMiss, 3));
        assert_eq!(pmu.read(CORE, FIRST), Ok(2), "{name} wraps at {width} bits");
    }
}

#[test]
fn without_overflow_there_is_no_interrupt() {
    let mut platform = bare(1);
    platform.pmu.overflow = false;
    let mut pmu = SimPmu::new(&platform);
    pmu.configure(CORE, FIRST, Event::L1Hit).unwrap();
    assert_eq!(pmu.interrupt_after(CORE, FIRST, 10), Err(PmuError::NoOverflow));
}

#[test]
fn a_stopped_counter_keeps_its_distance() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, Event::LlcMiss).unwrap();
    pmu.interrupt_after(CORE, FIRST, 10).unwrap();
    pmu.observe(CORE, &counted(Event::LlcMiss, 4));
    pmu.stop(CORE, FIRST).unwrap();
    assert_eq!(pmu.limit(CORE, Event::LlcMiss), None);
    pmu.observe(CORE, &counted(Event::LlcMiss, 100));
    assert_eq!(pmu.poll(CORE), None);
    pmu.start(CORE, FIRST).unwrap();
    assert_eq!(pmu.limit(CORE, Event::LlcMiss), Some(106));
    assert_eq!(pmu.limit(CORE, Event::LlcHit), None);
}

#[test]
fn an_interrupt_after_nothing_comes_at_once_and_once() {
    let mut pmu = unit();
    pmu.configure(CORE, FIRST, Event::LlcMiss).unwrap();
    pmu.interrupt_after(CORE, FIRST, 0).unwrap();
    assert_eq!(pmu.poll(CORE), Some(FIRST));
    assert_eq!(pmu.poll(CORE), None);
    // Reprogramming takes back an interrupt that was not taken yet.
    pmu.interrupt_after(CORE, FIRST, 0).unwrap();
    pmu.interrupt_after(CORE, FIRST, 5).unwrap();
    assert_eq!(pmu.poll(CORE), None);
}

/// Events of both kinds, so that a counter that should stand still shows it.
fn both(misses: u64, cycles: u64) -> EventCounts {
    let mut counts = counted(Event::LlcMiss, misses);
    counts.add(Event::Cycles, cycles);
    counts
}

#[test]
fn an_overflow_freezes_all_counters_of_its_core_where_it_is_asked_to() {
    let second = CounterId(1);
    for freezes in [false, true] {
        let mut pmu = unit();
        pmu.configure(CORE, FIRST, Event::LlcMiss).unwrap();
        pmu.configure(CORE, second, Event::Cycles).unwrap();
        pmu.configure(CoreId(1), second, Event::Cycles).unwrap();
        pmu.freeze_on_overflow(CORE, freezes).unwrap();
        pmu.interrupt_after(CORE, FIRST, 10).unwrap();
        pmu.observe(CORE, &both(9, 900));
        pmu.observe(CORE, &both(10, 1000));
        // The interrupt is on its way: what happens now is the handler's.
        pmu.observe(CORE, &both(13, 1500));
        pmu.observe(CoreId(1), &both(13, 1500));
        assert_eq!(pmu.poll(CORE), Some(FIRST));
        let expected = if freezes { (10, 1000) } else { (13, 1500) };
        let read = |pmu: &SimPmu| (pmu.read(CORE, FIRST).unwrap(), pmu.read(CORE, second).unwrap());
        assert_eq!(read(&pmu), expected);
        assert_eq!(pmu.read(CoreId(1), second), Ok(1500), "other cores go on");
        pmu.resume(CORE);
        pmu.observe(CORE, &both(14, 1700));
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
        pmu.configure(CORE, counter, Event::Cycles).unwrap();
        pmu.count_in(CORE, counter, modes).unwrap();
    }
    pmu.interrupt_after(CORE, CounterId(1), 150).unwrap();
    let read = |pmu: &SimPmu| counters.map(|(counter, _)| pmu.read(CORE, counter).unwrap());
    pmu.observe(CORE, &counted(Event::Cycles, 100));
    pmu.set_kernel(CORE, true);
    pmu.observe(CORE, &counted(Event::Cycles, 130));
    assert_eq!((read(&pmu), pmu.limit(CORE, Event::Cycles)), ([130, 100, 30], None));
    pmu.set_kernel(CORE, false);
    // Fifty more of the threads' own, whatever the kernel took in between.
    assert_eq!(pmu.limit(CORE, Event::Cycles), Some(180));
    pmu.observe(CORE, &counted(Event::Cycles, 180));
    assert_eq!((read(&pmu), pmu.poll(CORE)), ([180, 150, 30], Some(CounterId(1))));
    // Programmed anew, a counter counts in all modes.
    pmu.configure(CORE, CounterId(2), Event::Cycles).unwrap();
    pmu.observe(CORE, &counted(Event::Cycles, 200));
    assert_eq!(pmu.read(CORE, CounterId(2)), Ok(20));
}

proptest! {
    /// The interrupt comes at exactly the n-th event, whatever the steps and the counter's value.
    #[test]
    fn overflow_is_exact(n in 1_u64..5_000, value in any::<u64>(), steps in prop::collection::vec(1_u64..100, 1..100)) {
        let mut pmu = unit();
        let mut counts = EventCounts::ZERO;
        pmu.configure(CORE, FIRST, Event::LlcMiss).unwrap();
        pmu.write(CORE, FIRST, value).unwrap();
        pmu.interrupt_after(CORE, FIRST, n).unwrap();
        for step in steps {
            let before = counts[Event::LlcMiss];
            let room = pmu.limit(CORE, Event::LlcMiss).map(|at| at - before);
            prop_assert_eq!(room, (before < n).then(|| n - before));
            counts.add(Event::LlcMiss, room.map_or(step, |room| step.min(room)));
            pmu.observe(CORE, &counts);
            let due = before < n && counts[Event::LlcMiss] == n;
            prop_assert_eq!(pmu.poll(CORE), due.then_some(FIRST));
        }
    }
}

/// Six events on the two counters of a Core 2: three sets take turns, every sample names its set, and the estimates
/// are right where events come evenly.
#[test]
fn sets_of_events_take_turns_on_few_counters() {
    use solo_model::{Duration, Instant};
    use solo_observe::rotation::{Rotation, Sample, Totals};
    let mut platform = bare(1);
    platform.pmu.programmable = 2;
    let mut pmu = SimPmu::new(&platform);
    let events =
        [Event::L1Hit, Event::L1Miss, Event::LlcHit, Event::LlcMiss, Event::ExtSnoopHit, Event::ExtSnoopHitm];
    let mut rotation = Rotation::new(&events, platform.pmu.programmable).unwrap();
    let mut totals = Totals::new(&rotation);
    let (mut counts, mut seen) = (EventCounts::ZERO, Vec::new());
    let period = Duration::from_millis(1);
    for turn in 0..=30 {
        let now = Instant::ZERO + period * turn;
        pmu.observe(CORE, &counts);
        let turn = rotation.turn(now);
        if let Some((set, span)) = turn.read {
            let read = |position| pmu.read(CORE, CounterId(position as u8)).unwrap();
            let counts = (0..rotation.sets()[set].events.len()).map(read).collect();
            let sample = Sample { core: CORE, set, at: now, span, counts };
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
