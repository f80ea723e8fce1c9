//! What a core is given as data changes its times as the words say: clock, base CPI, outstanding misses, kinds beside each
//! other.

mod common;

use common::*;
use solo_model::experiment::{End, Experiment};
use solo_model::platform::CoreKind;
use solo_model::units::*;
use solo_model::work::{Pattern, Step, Touch};

/// One job of a task that does this, alone on a core; its kind is changed first. The time of the second job.
fn time(steps: Vec<Step>, buffer: Bytes, change: impl Fn(&mut CoreKind)) -> u64 {
    let mut experiment = experiment(1, vec![periodic("one", 0, ms(20), steps)], &[buffer], End::Jobs(2));
    change(&mut experiment.platform.kinds[0]);
    // No interrupt, no refresh: nothing but the work takes time.
    experiment.platform.dram.timing.refi = 0;
    response(&experiment, 0)
}

fn response(experiment: &Experiment, task: u32) -> u64 {
    let (records, _) = run(experiment);
    jobs(&records, task)[1].response().get()
}

fn pass(pattern: Pattern, size: Bytes) -> Vec<Step> {
    vec![touch(pattern, 0, size, 0)]
}

const FITS: Bytes = Bytes::from_kib(8);
const BEYOND: Bytes = Bytes::from_mib(1);

fn near(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) * 1000 <= expected, "{found} instead of {expected} ns");
}

#[test]
fn a_clock_of_half_the_rate_doubles_what_the_first_level_answers() {
    let of = |clock| time(pass(Pattern::Sweep, FITS), FITS, |kind| kind.clock = Frequency::new(clock));
    near(of(1_000_000_000), 2 * of(2_000_000_000));
    // Work that is given as a time takes that time on any core.
    let fixed = |clock| time(vec![compute(ms(1))], FITS, |kind| kind.clock = Frequency::new(clock));
    assert_eq!((fixed(1_000_000_000), fixed(2_000_000_000)), (1_000_000, 1_000_000));
    // A wait for memory does not get twice as long.
    let misses =
        |clock| time(pass(Pattern::Chase, BEYOND), BEYOND, |kind| kind.clock = Frequency::new(clock));
    let (slow, fast) = (misses(1_000_000_000), misses(2_000_000_000));
    assert!(slow > fast && slow * 10 < fast * 18, "{slow} and {fast} ns");
}

#[test]
fn twice_the_base_cpi_is_twice_the_time_to_issue() {
    let of = |per_kilocycle| {
        time(pass(Pattern::Sweep, FITS), FITS, |kind| kind.instructions_per_kilocycle = per_kilocycle)
    };
    let [half, whole, twice] = [500, 1000, 2000].map(of);
    // 1024 accesses of four instructions, at 2 GHz: 4096 cycles at one in a cycle. What the cache takes stays.
    near(half - whole, 2048);
    near(whole - twice, 1024);
}

/// A stream has as many misses under way as the core has registers, as far as memory lets it; a chase has one.
#[test]
fn misses_overlap_as_far_as_registers_reach() {
    let lines = |pattern| {
        let Step::Touch(all) = touch(pattern, 0, BEYOND, 0) else { unreachable!("it touches") };
        vec![Step::Touch(Touch { accesses: 16_384, stride: Bytes::new(64), ..all })]
    };
    let of = |pattern, registers| time(lines(pattern), BEYOND, |kind| kind.outstanding_misses = registers);
    let stream = [1, 2, 4, 8, 16].map(|registers| of(Pattern::Stream, registers));
    let chase = [1, 8].map(|registers| of(Pattern::Chase, registers));
    println!("stream with 1, 2, 4, 8, 16 registers: {stream:?} ns; chase with 1, 8: {chase:?} ns");
    assert!(stream.windows(2).all(|pair| pair[1] <= pair[0]), "{stream:?}");
    assert!(stream[1] * 10 < stream[0] * 6 && stream[2] * 10 < stream[1] * 6, "{stream:?}");
    // Never faster than the bus: 16,384 lines of four clocks of 1.5 ns.
    assert!(stream[4] >= 16_384 * 6 && stream[4] < 16_384 * 7, "{stream:?}");
    assert_eq!(chase[0], chase[1]);
}

/// Kinds beside each other: each core has the times of its own.
#[test]
fn each_core_has_the_times_of_its_kind() {
    let tasks = || {
        let both = [0, 1].map(|core| {
            periodic(
                ["large", "small"][usize::from(core)],
                core,
                ms(20),
                vec![touch(Pattern::Sweep, core.into(), FITS, 0)],
            )
        });
        both.to_vec()
    };
    let mut asymmetric = experiment(2, tasks(), &[FITS, FITS], End::Jobs(2));
    asymmetric.platform.dram.timing.refi = 0;
    let mut small = asymmetric.platform.kinds[0].clone();
    small.name = "small".into();
    small.clock = Frequency::new(500_000_000);
    small.instructions_per_kilocycle = 500;
    asymmetric.platform.kinds.push(small.clone());
    asymmetric.platform.cores[1].kind = 1;
    let alone = |change: &dyn Fn(&mut CoreKind)| time(pass(Pattern::Sweep, FITS), FITS, change);
    assert_eq!(response(&asymmetric, 0), alone(&|_| ()));
    assert_eq!(response(&asymmetric, 1), alone(&|kind| *kind = small.clone()));
}
