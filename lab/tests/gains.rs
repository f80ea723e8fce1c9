//! Aggregate speedup and unfairness of applications, held against what their places say (PMCTrack, equations 1 and 2).

use solo_lab::{Control, Gains, Recordings, gains};
use solo_model::Experiment;
use solo_scenario::{Platforms, parse};
use std::path::Path;

fn experiment(rest: &str) -> Experiment {
    let text =
        format!("name = \"gains\"\nplatform = \"juno\"\njobs = 3\n[scheduler]\npolicy = \"P-RR\"\n{rest}");
    parse(&text, Path::new("made.toml"), &Platforms::builtin())
        .unwrap_or_else(|report| panic!("{report}"))
        .base
}

fn application(name: &str, more: &str, work: &str) -> String {
    format!("[[application]]\nname = \"{name}\"\n{more}\nwork = [{work}]\n")
}

fn found(rest: &str) -> Gains {
    gains(&experiment(rest), &Recordings::default(), &Control::silent())
        .expect("it runs")
        .expect("there are applications")
}

/// One on a big core for good, one on a small one: 2.157 - 1 and nothing, and the second is slowed down 2.157 times. With twice the
/// weight that counts twice.
#[test]
fn who_stays_where_it_is_gains_what_the_platform_says() {
    let one = application("one", "cores = [0]", "{ compute = \"20ms\" }");
    let two =
        |weight| application("two", &format!("weight = {weight}\ncores = [2]"), "{ compute = \"30ms\" }");
    let equal = found(&(one.clone() + &two(100)));
    assert!((equal.aggregate_speedup - 1.157).abs() < 0.002, "{equal:?}");
    assert!((equal.unfairness - 2.157).abs() < 0.002, "{equal:?}");
    assert_eq!(equal.applications.iter().map(|gain| gain.runs >= 3).collect::<Vec<_>>(), [true; 2]);
    let weighted = found(&(one + &two(200)));
    assert!((weighted.unfairness - 4.314).abs() < 0.004, "{weighted:?}");
}

/// A serial and a parallel part on three threads: alone on small cores all of it takes 2.157 times as long; with the big ones the
/// serial part is fast, and the parallel one as slow as its slowest thread.
#[test]
fn threads_have_the_big_cores_alone_and_wait_for_the_slowest() {
    let work = "{ serial = [{ compute = \"10ms\" }] }, { parallel = [{ compute = \"10ms\" }] }";
    let gains = found(&application("solver", "threads = 3\ncores = [2, 3, 4]", work));
    let [solver] = gains.applications.as_slice() else { panic!("one application") };
    let ms = |time: solo_model::Duration| time.get() as f64 / 1e6;
    assert!((ms(solver.alone_on_small) - 43.14).abs() < 0.01, "{solver:?}");
    assert!((ms(solver.alone_with_big) - 31.57).abs() < 0.01, "{solver:?}");
    assert!(
        (ms(solver.completion) - 43.14).abs() < 0.01 && gains.aggregate_speedup.abs() < 0.001,
        "{solver:?}"
    );
    // Two of three threads find a big core: less than the 2.157 of one thread.
    assert!((solver.small_by_big() - 43.14 / 31.57).abs() < 0.001, "{solver:?}");
    assert!((gains.unfairness - 1.0).abs() < 1e-9, "{gains:?}");
}

/// Both stay where they are: at each end of a run, from the first of the slow one on, the last runs are as unfair as all are.
#[test]
fn what_was_unfair_lately_is_that_of_the_last_runs() {
    let one = application("one", "cores = [0]", "{ compute = \"20ms\" }");
    let two = application("two", "cores = [2]", "{ compute = \"30ms\" }");
    let equal = found(&(one + &two));
    let [fast, slow] = equal.applications.as_slice() else { panic!("two applications") };
    assert!(
        (fast.small_by_big() - 2.157).abs() < 0.002 && (slow.small_by_big() - 2.157).abs() < 0.002,
        "{equal:?}"
    );
    let first = equal.over_time.first().expect("both were done");
    assert!((first.at.get() as f64 - slow.completion.get() as f64).abs() < 1e6, "{first:?} {slow:?}");
    assert!(equal.over_time.iter().all(|moment| (moment.unfairness - 2.157).abs() < 0.002), "{equal:?}");
    assert!(equal.over_time.windows(2).all(|pair| pair[0].at < pair[1].at), "in order, each once");
}

#[test]
fn without_applications_or_kinds_of_cores_there_is_nothing_to_say() {
    let task = "[[task]]\nname = \"t\"\nclass = \"hard\"\ncore = 0\nperiod = \"10ms\"\nwork = [{ compute = \"1ms\" }]\n";
    let none = |experiment: &Experiment| {
        gains(experiment, &Recordings::default(), &Control::silent()).expect("it runs").is_none()
    };
    assert!(none(&experiment(task)));
    let mut alike = experiment(&application("one", "cores = [0]", "{ compute = \"2ms\" }"));
    alike.platform = Platforms::builtin().load("ideal-8", Path::new("")).expect("it is sound");
    assert!(none(&alike));
}
