//! The drivers of performance counters on a model of each kind of unit, register by register.
#![cfg(target_arch = "x86_64")]

use proptest::prelude::*;
use solo_hal::{CounterId, PmuError};
use solo_model::EventId;
use solo_x86_64::pmu::model::Model;
use solo_x86_64::pmu::registers::{
    AMD_CONTROL, AMD_SELECT, AMD_SELECT_EXTENDED, FIXED, FULL_WIDTH_WRITES, INTEL_CAPABILITIES,
    INTEL_CONTROL, INTEL_COUNTER, INTEL_COUNTER_FULL, INTEL_FIXED_CONTROL, INTEL_SELECT, INTEL_STATUS,
    INTEL_STATUS_CLEAR, INTEL_STATUS_SET,
};
use solo_x86_64::pmu::{Description, Kind, Microarchitecture, Registers, Select, Unit, events};

fn intel(
    version: u8,
    general: u8,
    width: u8,
    fixed: u32,
    full_writes: bool,
    microarchitecture: Microarchitecture,
) -> Description {
    let fixed_width = if fixed == 0 { 0 } else { width };
    let microarchitecture = Some(microarchitecture);
    let kind = Kind::Intel(version);
    Description { kind, general, width, fixed, fixed_width, absent: 0, full_writes, microarchitecture }
}

fn amd(kind: Kind, general: u8) -> Description {
    let microarchitecture = Some(Microarchitecture::Zen);
    let (fixed, fixed_width, absent, full_writes) = (0, 0, u32::MAX, true);
    Description { kind, general, width: 48, fixed, fixed_width, absent, full_writes, microarchitecture }
}

/// Each kind of unit, as processors of its time have it.
fn units() -> Vec<(&'static str, Description)> {
    use Microarchitecture::{Core, Haswell, Nehalem, SandyBridge, SapphireRapids, Skylake};
    vec![
        ("version 1", intel(1, 2, 40, 0, false, Core)),
        ("version 2", intel(2, 2, 40, 0b111, false, Core)),
        ("version 3", intel(3, 4, 48, 0b111, false, Nehalem)),
        ("version 3, full writes", intel(3, 8, 48, 0b111, true, SandyBridge)),
        ("version 3, Haswell", intel(3, 8, 48, 0b111, true, Haswell)),
        ("version 4", intel(4, 8, 48, 0b111, true, Skylake)),
        ("version 5", intel(5, 8, 48, 0b1111, true, SapphireRapids)),
        ("version 5, with a gap", intel(5, 8, 48, 0b1_0011, true, SapphireRapids)),
        ("AMD", amd(Kind::Amd, 4)),
        ("AMD, extended", amd(Kind::AmdExtended, 6)),
        ("AMD, version 2", amd(Kind::AmdVersion2, 6)),
    ]
}

fn named(wanted: &str) -> Description {
    units().into_iter().find(|(name, _)| *name == wanted).expect("it is in the list").1
}

fn unit(description: Description) -> Unit<Model> {
    Unit::new(Model::new(description), description)
}

fn instructions(description: &Description) -> Select {
    events::select(description, EventId::INSTRUCTIONS).expect("every unit counts instructions")
}

/// The counters that can count instructions, doing so.
fn able(unit: &mut Unit<Model>) -> Vec<CounterId> {
    let all = (0..unit.len()).map(CounterId);
    all.filter(|counter| unit.configure(*counter, EventId::INSTRUCTIONS).is_ok()).collect()
}

#[test]
fn an_interrupt_comes_with_exactly_the_event_that_was_asked_for() {
    for (name, description) in units() {
        for counter in able(&mut unit(description)) {
            for events in [1, 2, 1000, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 33) + 5, 1 << 39] {
                interrupts_exactly(name, description, counter, events);
            }
        }
    }
}

fn interrupts_exactly(name: &str, description: Description, counter: CounterId, events: u64) {
    let select = instructions(&description);
    let what = format!("{name}, {counter:?}, {events} events");
    let mut unit = unit(description);
    unit.configure(counter, EventId::INSTRUCTIONS).unwrap();
    unit.registers().count(select, 12, true);
    unit.interrupt_after(counter, events).unwrap();
    let mut left = events - 1;
    while left > 0 {
        let before = unit.registers().interrupts();
        let some = left.min(1 << 30);
        unit.registers().count(select, some, true);
        left -= some;
        if unit.registers().interrupts() > before {
            assert_eq!(unit.overflowed(), 0, "{what}: a lap is no interrupt");
        }
    }
    let before = unit.registers().interrupts();
    assert_eq!(unit.overflowed(), 0, "{what}: too early");
    unit.registers().count(select, 1, true);
    assert_eq!(unit.registers().interrupts(), before + 1, "{what}");
    assert_eq!(unit.overflowed(), 1 << counter.0, "{what}");
    let range = u64::MAX >> (64 - description.width);
    assert_eq!(unit.read(counter), Ok((12 + events) & range), "{what}: the value knows no laps");
    // One interrupt was asked for.
    unit.registers().count(select, 1 << 20, true);
    assert_eq!((unit.overflowed(), unit.registers().interrupts()), (0, before + 1), "{what}");
    assert_eq!(unit.registers().faults(), 0, "{what}: a register that this version has not");
}

#[test]
fn only_the_counter_that_overflowed_is_named() {
    for (name, description) in units() {
        let select = instructions(&description);
        let mut unit = unit(description);
        let counters = able(&mut unit);
        let [first, second, ..] = counters[..] else { panic!("{name}") };
        unit.interrupt_after(first, 10).unwrap();
        unit.interrupt_after(second, 5).unwrap();
        unit.registers().count(select, 5, false);
        assert_eq!(unit.overflowed(), 1 << second.0, "{name}");
        unit.registers().count(select, 5, false);
        assert_eq!(unit.overflowed(), 1 << first.0, "{name}");
        unit.interrupt_after(first, 5).unwrap();
        unit.interrupt_after(second, 5).unwrap();
        unit.interrupt_after(second, u64::MAX).unwrap();
        let before = unit.registers().interrupts();
        unit.registers().count(select, 5, true);
        assert_eq!((unit.overflowed(), unit.registers().interrupts()), (1 << first.0, before + 1), "{name}");
    }
}

#[test]
fn a_write_changes_the_value_and_nothing_else() {
    for (name, description) in units() {
        let select = instructions(&description);
        let mut unit = unit(description);
        let counter = able(&mut unit)[0];
        unit.interrupt_after(counter, 100).unwrap();
        unit.write(counter, 7).unwrap();
        unit.registers().count(select, 60, true);
        assert_eq!(unit.read(counter), Ok(67), "{name}");
        unit.run(counter, false).unwrap();
        unit.registers().count(select, 1000, true);
        assert_eq!((unit.read(counter), unit.overflowed()), (Ok(67), 0), "{name}: held");
        unit.run(counter, true).unwrap();
        unit.registers().count(select, 40, true);
        assert_eq!((unit.read(counter), unit.overflowed()), (Ok(107), 1 << counter.0), "{name}");
        // Modulo its width, and of its own event only.
        let range = u64::MAX >> (64 - description.width);
        unit.write(counter, range).unwrap();
        unit.registers().count(select, 3, true);
        unit.registers().count(Select::new(0x2e, 0x41), 50, true);
        assert_eq!(unit.read(counter), Ok(2), "{name}");
        assert_eq!(unit.registers().faults(), 0, "{name}");
    }
}

#[test]
fn what_a_unit_has_not_is_refused() {
    for (name, description) in units() {
        let mut unit = unit(description);
        let counters = unit.len();
        let beyond = CounterId(counters);
        let refused = PmuError::NoSuchCounter { counter: beyond, counters };
        assert_eq!(unit.configure(beyond, EventId::CYCLES), Err(refused), "{name}");
        assert_eq!(unit.read(beyond), Err(refused), "{name}");
        let event = EventId::DRAM_ROW_CONFLICTS;
        let refused = PmuError::NotCountable { counter: CounterId(0), event };
        assert_eq!(unit.configure(CounterId(0), event), Err(refused), "{name}");
        if description.fixed != 0 {
            // Fixed counter 0 counts instructions, 1 cycles, and nothing else.
            let fixed = CounterId(description.general);
            assert_eq!(unit.configure(fixed, EventId::INSTRUCTIONS), Ok(()), "{name}");
            assert!(unit.configure(fixed, EventId::CYCLES).is_err(), "{name}");
            assert_eq!(unit.configure(CounterId(fixed.0 + 1), EventId::CYCLES), Ok(()), "{name}");
        }
        assert_eq!(unit.registers().faults(), 0, "{name}");
    }
    let absent = Description { absent: 0b10, ..named("version 4") };
    assert_eq!(events::select(&absent, EventId::INSTRUCTIONS), None, "CPUID says that it is absent");
}

/// What a write of `value` to `register` does: the value read back, or `None` for a fault.
fn written(description: Description, register: u32, value: u64) -> Option<u64> {
    let mut model = Model::new(description);
    model.write(register, value);
    (model.faults() == 0).then(|| model.read(register))
}

#[test]
fn the_model_keeps_the_versions_apart() {
    let [one, two, three, four, five] =
        ["version 1", "version 2", "version 3", "version 4", "version 5"].map(named);
    for register in [INTEL_STATUS, INTEL_CONTROL, INTEL_STATUS_CLEAR, INTEL_FIXED_CONTROL] {
        let model = Model::new(one);
        model.read(register);
        assert_eq!(model.faults(), 1, "version 1 has no {register:#x}");
    }
    assert_eq!(written(two, INTEL_CONTROL, 0b111 << 32 | 0b11), Some(0b111 << 32 | 0b11));
    assert_eq!(written(two, INTEL_CONTROL, 0b100), None, "a third counter");
    assert_eq!(written(three, INTEL_STATUS_SET, 1), None, "version 4 brought it");
    let mut model = Model::new(four);
    model.write(INTEL_STATUS_SET, 0b10);
    assert_eq!((model.read(INTEL_STATUS), model.faults()), (0b10, 0));
    model.write(INTEL_STATUS_CLEAR, 0b10);
    assert_eq!(model.read(INTEL_STATUS), 0);
    // Any thread: with version 3, no longer with version 5.
    assert!(written(two, INTEL_SELECT, 1 << 21).is_none());
    assert!(written(three, INTEL_SELECT, 1 << 21).is_some());
    assert!(written(five, INTEL_SELECT, 1 << 21).is_none());
    assert!(written(five, INTEL_FIXED_CONTROL, 0b100).is_none());
    // 32 bits and their sign, or all of it.
    assert_eq!(written(two, INTEL_COUNTER, 0x8000_0000), Some(0xff_8000_0000));
    assert_eq!(written(two, INTEL_COUNTER, 1 << 33), Some(0));
    assert_eq!(written(two, INTEL_COUNTER_FULL, 1), None);
    assert_eq!(written(four, INTEL_COUNTER_FULL, 1 << 47), Some(1 << 47));
    assert_eq!(written(four, INTEL_COUNTER_FULL, 1 << 48), None, "wider than the counter");
    assert_eq!(Model::new(four).read(INTEL_CAPABILITIES), FULL_WIDTH_WRITES);
    assert_eq!(written(named("AMD, extended"), AMD_CONTROL, 1), None);
    assert_eq!(written(named("AMD, version 2"), AMD_CONTROL, 0b11_1111), Some(0b11_1111));
    let gap = Model::new(named("version 5, with a gap"));
    gap.counter(FIXED | 2);
    assert_eq!(gap.faults(), 1, "there is no fixed counter 2");
}

#[test]
fn rings_are_kept_apart_by_the_model() {
    for (name, description) in units() {
        let mut model = Model::new(description);
        let select = instructions(&description);
        let register = match description.kind {
            Kind::Intel(_) => INTEL_SELECT,
            Kind::Amd => AMD_SELECT,
            Kind::AmdExtended | Kind::AmdVersion2 => AMD_SELECT_EXTENDED,
        };
        model.write(register, select.enabled().bits() & !Select::SYSTEM);
        model.count(select, 5, true);
        model.count(select, 3, false);
        assert_eq!((model.counter(0), model.faults()), (3, 0), "{name}");
    }
}

/// What can be done to counters.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Configure(u8),
    Write(u8, u64),
    After(u8, u64),
    Start(u8),
    Stop(u8),
    Count(u64),
}

/// What a counter is, without registers.
#[derive(Clone, Copy, Default, Debug)]
struct Plain {
    value: u64,
    runs: bool,
    due: Option<u64>,
}

impl Plain {
    /// A counter that was just configured.
    fn fresh() -> Self {
        Self { runs: true, ..Self::default() }
    }

    /// Counts; true where it reaches what was asked for.
    fn count(&mut self, events: u64, range: u64) -> bool {
        if !self.runs {
            return false;
        }
        self.value = self.value.wrapping_add(events) & range;
        let reached = self.due.is_some_and(|due| events >= due);
        self.due = if reached { None } else { self.due.map(|due| due - events) };
        reached
    }
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let counter = 0_u8..4;
    let deed = prop_oneof![
        counter.clone().prop_map(Deed::Configure),
        (counter.clone(), any::<u64>()).prop_map(|(at, value)| Deed::Write(at, value)),
        (counter.clone(), prop_oneof![1_u64..3000, Just(u64::MAX)]).prop_map(|(at, n)| Deed::After(at, n)),
        counter.clone().prop_map(Deed::Start),
        counter.prop_map(Deed::Stop),
        (0_u64..2000).prop_map(Deed::Count),
    ];
    prop::collection::vec(deed, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever is done, values and interrupts are those of counters without any registers.
    #[test]
    fn counters_are_what_they_seem(deeds in deeds(), which in 0..units().len()) {
        let (_, description) = units()[which];
        let select = instructions(&description);
        let range = u64::MAX >> (64 - description.width);
        let mut unit = unit(description);
        let counters = able(&mut unit);
        let mut plain = vec![Plain::fresh(); counters.len()];
        for deed in deeds {
            let at = |wanted: u8| usize::from(wanted) % counters.len();
            match deed {
                Deed::Configure(c) => {
                    unit.configure(counters[at(c)], EventId::INSTRUCTIONS).unwrap();
                    plain[at(c)] = Plain::fresh();
                }
                Deed::Write(c, value) => {
                    unit.write(counters[at(c)], value).unwrap();
                    plain[at(c)].value = value & range;
                }
                Deed::After(c, events) => {
                    unit.interrupt_after(counters[at(c)], events).unwrap();
                    plain[at(c)].due = (events != u64::MAX).then_some(events);
                }
                Deed::Start(c) => {
                    unit.run(counters[at(c)], true).unwrap();
                    plain[at(c)].runs = true;
                }
                Deed::Stop(c) => {
                    unit.run(counters[at(c)], false).unwrap();
                    plain[at(c)].runs = false;
                }
                Deed::Count(events) => {
                    let before = unit.registers().interrupts();
                    unit.registers().count(select, events, true);
                    let mut reached = 0;
                    for (counter, plain) in counters.iter().zip(&mut plain) {
                        reached |= u32::from(plain.count(events, range)) << counter.0;
                    }
                    let sent = unit.registers().interrupts() - before;
                    prop_assert_eq!(sent, u64::from(reached.count_ones()));
                    prop_assert_eq!(unit.overflowed(), reached);
                }
            }
            for (counter, plain) in counters.iter().zip(&plain) {
                prop_assert_eq!(unit.read(*counter), Ok(plain.value));
            }
            prop_assert_eq!(unit.registers().faults(), 0);
        }
    }
}
