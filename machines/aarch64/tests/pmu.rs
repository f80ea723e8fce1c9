//! The driver of PMUv3 on a model of its registers.

mod model;

use model::Model;
use proptest::prelude::*;
use solo_aarch64::pmu::{Description, SOFTWARE, Unit};
use solo_bare::rtos::Counters;
use solo_hal::{CounterId, PmuError};
use solo_model::EventId;

const INSTRUCTIONS: u16 = 0x08;
const CYCLES: u16 = 0x11;
const DESCRIPTION: Description =
    Description { general: 6, paired: false, common: 1 << INSTRUCTIONS | 1 << CYCLES | 1, told: false };

const PAIRED: Description = Description { general: 3, paired: true, ..DESCRIPTION };

fn unit() -> Unit<Model> {
    Unit::new(Model::default(), DESCRIPTION)
}

#[test]
fn only_events_that_the_processor_announces_have_a_number() {
    assert_eq!(DESCRIPTION.code(EventId::INSTRUCTIONS), Some(INSTRUCTIONS));
    assert_eq!(DESCRIPTION.code(EventId::CYCLES), Some(CYCLES));
    assert_eq!(DESCRIPTION.code(EventId::LLC_MISSES), None, "it announces none");
    let all = Description { common: u64::MAX, ..DESCRIPTION };
    assert_eq!(all.code(EventId::LLC_MISSES), Some(0x2a));
}

#[test]
fn an_interrupt_comes_with_exactly_the_event_that_was_asked_for() {
    let counters = |unit: Description| (0..unit.general).map(move |counter| (unit, CounterId(counter)));
    for (description, counter) in [DESCRIPTION, PAIRED].into_iter().flat_map(counters) {
        for events in [1, 2, 1000, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) + 7, (1 << 33) + 5] {
            let mut unit = Unit::new(Model::default(), description);
            unit.program(counter, INSTRUCTIONS).unwrap();
            unit.registers().count(INSTRUCTIONS, 12);
            unit.interrupt_after(counter, events).unwrap();
            let mut left: u64 = events - 1;
            while left > 0 {
                let before = unit.registers().raised();
                let some = left.min(1 << 30);
                unit.registers().count(INSTRUCTIONS, some as u32);
                left -= some;
                if unit.registers().raised() > before {
                    assert_eq!(unit.overflowed(), 0, "{counter:?}, {events}: a lap is no interrupt");
                    assert!(!unit.registers().is_raised(), "{counter:?}, {events}: the line falls");
                }
            }
            let before = unit.registers().raised();
            assert_eq!(unit.overflowed(), 0, "{counter:?}, {events}: too early");
            unit.registers().count(INSTRUCTIONS, 1);
            assert_eq!(unit.registers().raised(), before + 1, "{counter:?}, {events}");
            assert_eq!(unit.overflowed(), 1 << counter.0);
            assert_eq!(unit.read(counter), Ok(12 + events), "the value knows no laps");
            unit.registers().count(INSTRUCTIONS, 1 << 20);
            assert_eq!((unit.overflowed(), unit.registers().raised()), (0, before + 1), "one was asked for");
        }
    }
}

/// A register has 32 bits: what is read now and then goes on.
#[test]
fn a_counter_that_is_read_goes_on_beyond_its_register() {
    for description in [DESCRIPTION, PAIRED] {
        let (mut unit, counter) = (Unit::new(Model::default(), description), CounterId(1));
        unit.program(counter, INSTRUCTIONS).unwrap();
        for round in 1..=9_u64 {
            unit.registers().count(INSTRUCTIONS, 3 << 30);
            assert_eq!(unit.read(counter), Ok(round * (3 << 30)));
        }
        unit.write(counter, (1 << 48) - 1).unwrap();
        unit.registers().count(INSTRUCTIONS, 3);
        assert_eq!(unit.read(counter), Ok(2), "modulo its width");
    }
}

#[test]
fn counters_count_their_own_event_only_and_what_is_stopped_stands() {
    let mut unit = unit();
    let [first, second, third] = [0, 1, 2].map(CounterId);
    unit.program(first, INSTRUCTIONS).unwrap();
    unit.program(second, CYCLES).unwrap();
    unit.program(third, SOFTWARE).unwrap();
    unit.registers().count(INSTRUCTIONS, 5);
    unit.registers().count(CYCLES, 7);
    unit.software_increment();
    assert_eq!([first, second, third].map(|counter| unit.read(counter)), [Ok(5), Ok(7), Ok(1)]);
    unit.run(first, false).unwrap();
    unit.run(third, false).unwrap();
    unit.write(second, 100).unwrap();
    unit.registers().count(INSTRUCTIONS, 5);
    unit.registers().count(CYCLES, 7);
    unit.software_increment();
    assert_eq!([first, second, third].map(|counter| unit.read(counter)), [Ok(5), Ok(107), Ok(1)]);
    unit.run(first, true).unwrap();
    unit.registers().count(INSTRUCTIONS, 1);
    assert_eq!(unit.read(first), Ok(6));
    let missing = PmuError::NoSuchCounter { counter: CounterId(6), counters: 6 };
    assert_eq!(unit.read(CounterId(6)), Err(missing));
    assert_eq!(unit.program(CounterId(6), CYCLES), Err(missing));
}

/// What happens to a unit.
#[derive(Clone, Copy, Debug)]
enum Step {
    Configure(u8, bool),
    Count(bool, u32),
    Write(u8, u32),
    InterruptAfter(u8, u64),
    Run(u8, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3u8, any::<bool>()).prop_map(|(counter, event)| Step::Configure(counter, event)),
        (any::<bool>(), 1..5000u32).prop_map(|(event, times)| Step::Count(event, times)),
        (any::<bool>(), 1..1u32 << 30).prop_map(|(event, times)| Step::Count(event, times)),
        (0..3u8, any::<u32>()).prop_map(|(counter, value)| Step::Write(counter, value)),
        (0..3u8, prop_oneof![1..9000u64, 1..1u64 << 34, Just(u64::MAX)])
            .prop_map(|(counter, events)| Step::InterruptAfter(counter, events)),
        (0..3u8, any::<bool>()).prop_map(|(counter, runs)| Step::Run(counter, runs)),
    ]
}

/// What a counter is by its definition: a number, and how far the interrupt is away that was asked for.
#[derive(Clone, Copy, Default)]
struct Defined {
    event: bool,
    there: bool,
    runs: bool,
    value: u64,
    left: Option<u64>,
}

proptest! {
    /// Three counters beside their definition, with events that come one lap or less at a time.
    #[test]
    fn counters_are_what_they_are_defined_to_be(
        steps in prop::collection::vec(step(), 1..60), paired in any::<bool>()
    ) {
        let mut unit = Unit::new(Model::default(), if paired { PAIRED } else { DESCRIPTION });
        let mut defined = [Defined::default(); 3];
        let number = |event: bool| if event { CYCLES } else { INSTRUCTIONS };
        for step in steps {
            match step {
                Step::Configure(counter, event) => {
                    unit.program(CounterId(counter), number(event)).unwrap();
                    defined[usize::from(counter)] = Defined { event, there: true, runs: true, ..Defined::default() };
                }
                Step::Write(counter, value) => {
                    unit.write(CounterId(counter), value.into()).unwrap();
                    defined[usize::from(counter)].value = value.into();
                }
                Step::InterruptAfter(counter, events) => {
                    unit.interrupt_after(CounterId(counter), events).unwrap();
                    defined[usize::from(counter)].left = (events != u64::MAX).then_some(events);
                }
                Step::Run(counter, runs) => {
                    unit.run(CounterId(counter), runs).unwrap();
                    defined[usize::from(counter)].runs = runs;
                }
                Step::Count(event, times) => {
                    // No further than the nearest interrupt, which is served at once, as a processor would.
                    let counting = |counter: &&Defined| counter.there && counter.runs && counter.event == event;
                    let nearest = defined.iter().filter(counting).filter_map(|counter| counter.left).min();
                    let times = nearest.map_or(times, |left| left.min(times.into()) as u32);
                    unit.registers().count(number(event), times);
                    let mut reached = 0;
                    for (at, counter) in defined.iter_mut().enumerate() {
                        if counter.there && counter.runs && counter.event == event {
                            counter.value += u64::from(times);
                            counter.left = counter.left.map(|left| left - u64::from(times));
                            if counter.left == Some(0) {
                                counter.left = None;
                                reached |= 1 << at;
                            }
                        }
                    }
                    let found = if unit.registers().is_raised() { unit.overflowed() } else { 0 };
                    prop_assert_eq!(found, reached);
                    prop_assert!(!unit.registers().is_raised());
                }
            }
            for (at, counter) in (0..).zip(&defined).filter(|(_, counter)| counter.there) {
                prop_assert_eq!(unit.read(CounterId(at)), Ok(counter.value));
            }
        }
    }
}
