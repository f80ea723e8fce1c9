//! The time line and the cores of an image, over a machine of the host: its clock goes on with each look, and while it waits it jumps
//! to what its timer was set to.

use solo_bare::agenda::MOST_CORES;
use solo_bare::isa::Isa;
use solo_bare::rtos::Clock;
use solo_bare::rtos::clock::{self, timebase};
use solo_bare::rtos::cores;
use solo_model::{CoreId, Duration, Frequency, Instant};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1000) };
    /// What the timer was set to, which reaches no further ahead than the machine says; `None` while it is silent.
    static TIMER: Cell<Option<u64>> = const { Cell::new(None) };
    static REACH: Cell<u64> = const { Cell::new(u64::MAX) };
    static INTERRUPTS: Cell<bool> = const { Cell::new(false) };
    /// The ticks of a round of two instructions.
    static TICKS: Cell<u64> = const { Cell::new(2) };
    static WAITS: Cell<u32> = const { Cell::new(0) };
}

struct Host;

impl Isa for Host {
    fn interrupts_enabled() -> bool {
        INTERRUPTS.get()
    }
    fn enable_interrupts() {
        INTERRUPTS.set(true);
    }
    fn disable_interrupts() {
        INTERRUPTS.set(false);
    }
    fn pause() {}
    fn time_stamp() -> u64 {
        NOW.set(NOW.get() + 1);
        NOW.get()
    }
    fn wait_for_interrupt() {
        let at = TIMER.take().expect("it waits for nothing");
        NOW.set(NOW.get().max(at));
        INTERRUPTS.set(true);
        WAITS.set(WAITS.get() + 1);
    }
    fn stop() -> ! {
        panic!("stopped")
    }
    fn turn(rounds: u64) {
        NOW.set(NOW.get() + TICKS.get() * rounds);
    }
}

impl Clock for Host {
    fn measure_clocks(_: bool) -> Result<(), String> {
        clock::begin::<Self>(Frequency::new(2_000_000_000));
        Ok(())
    }
    fn interrupt_at(tick: u64) {
        TIMER.set(Some(tick.min(NOW.get().saturating_add(REACH.get()))));
    }
    fn stop_timer() {
        TIMER.set(None);
    }
}

/// One test, for an image has one time line.
#[test]
fn a_core_waits_as_long_as_it_was_told_to_on_the_time_line_that_was_begun() {
    Host::measure_clocks(false).unwrap();
    let begin = NOW.get();
    assert_eq!(timebase().instant(begin), Instant::ZERO, "time begins where it was begun");
    assert_eq!(
        Host::timer_rate(),
        Frequency::new(2_000_000_000),
        "the timer is the clock's, where nobody says more"
    );
    Host::interrupt_after(Duration::from_micros(3));
    assert_eq!(TIMER.get(), Some(begin + 1 + 6000));
    Host::stop_timer();
    for (reach, waits) in [(u64::MAX, 1), (1500, 2)] {
        REACH.set(reach);
        WAITS.set(0);
        let before = NOW.get();
        clock::wait::<Host>(Duration::from_micros(1));
        let passed = NOW.get() - before;
        assert!((2000..2010).contains(&passed), "{passed} ticks");
        assert_eq!((WAITS.get(), TIMER.get(), Host::interrupts_enabled()), (waits, None, false));
    }
}

#[test]
fn a_promise_holds_where_the_clock_says_so_and_a_loop_takes_as_long() {
    let [promised, other] = [1_000_000_000, 1_000_000_001].map(Frequency::new);
    assert_eq!(clock::try_promise::<Host>(promised), Ok(()));
    assert!(clock::try_promise::<Host>(other).is_err(), "it says another rate");
    TICKS.set(3);
    let error = clock::try_promise::<Host>(promised).unwrap_err();
    assert!(error.contains("200000 of them take 300001 ticks"), "{error}");
}

#[test]
fn cores_follow_the_boot_core_in_the_order_in_which_they_were_told_and_no_more_than_an_image_runs_on() {
    cores::expect(7, [3, 7, 9]);
    assert_eq!([0, 1, 2].map(|core| cores::identity_of(CoreId(core))), [7, 3, 9]);
    assert_eq!((cores::count(), cores::all_came()), (1, false), "nobody was started, nor has come");
    cores::arrived(CoreId(0));
    assert!(cores::all_came());
    cores::expect(0, 0..100);
    let last = CoreId(MOST_CORES as u16 - 1);
    assert_eq!(cores::identity_of(last), u64::from(last.0));
}
