//! Aggregate speedup and unfairness of applications, held against what their places say (PMCTrack, equations 1 and 2).

use solo_lab::{Control, Recordings, gains};
use solo_model::Experiment;
use solo_report::gains::{Factors, Gains};
use solo_report::series::{Bin, Series};
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
    let bins: Vec<_> = equal.over_time.bins.iter().filter(|bin| bin.weight > 0).collect();
    assert!(bins.len() > 1 && bins.iter().all(|bin| bin.min >= 2155 && bin.max <= 2159), "{equal:?}");
    let most = equal.most_unfair.expect("both were done");
    assert!((most.unfairness - 2.157).abs() < 0.002 && most.at.get() >= slow.completion.get(), "{equal:?}");
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

/// Two programs of one phase and one of two, under the monitor that measures: what is true is what the phases say (Juno's clocks are as
/// 1100 to 850), and of the one that changes the monitor divides one phase by the other.
#[test]
fn what_the_monitor_believes_is_held_against_what_is_true() {
    let phases = "[[phase]]\nname = \"fast\"\ncycles-per-instruction = { a57 = 0.5, a53 = 1.5 }\n\
                  [[phase]]\nname = \"slow\"\ncycles-per-instruction = { a57 = 1.0, a53 = 1.0 }\n";
    let monitor = "[scheduler.monitor]\nmonitor = \"ipc-sampling\"\nperiod = \"10ms\"\nclasses = [\"best-effort\"]\naction = \"acfs\"\n";
    let fast = "{ execute = 100_000_000, phase = \"fast\" }";
    let slow = "{ execute = 100_000_000, phase = \"slow\" }";
    let all = application("steady", "cores = [0]", &format!("{fast}, {fast}"))
        + &application("changing", "cores = [2]", &format!("{fast}, {slow}"))
        + &application("slow", "cores = [1]", &format!("{slow}, {slow}"));
    let gains = found(&(monitor.to_owned() + phases + &all));
    let [steady, changing, slow] = gains.factors.as_slice() else { panic!("three threads: {gains:?}") };
    let ratio = 1100.0 / 850.0;
    let decimal = |bin: &Bin| bin.mean().map(|mean| mean as f64 / 1e3);
    let values = |of: &Series| of.bins.iter().filter_map(decimal).collect::<Vec<f64>>().into_iter();
    let all_are = |of: &Factors, truth: f64| values(&of.truth).all(|found| (found - truth).abs() < 0.01);
    let both = [values(&steady.truth).collect::<Vec<_>>(), values(&slow.truth).collect()];
    assert!(all_are(steady, 3.0 * ratio) && all_are(slow, ratio), "{both:?}");
    let of_either = |of: &f64| (of - 3.0 * ratio).abs() < 0.01 || (of - ratio).abs() < 0.01;
    let changes: Vec<f64> = values(&changing.truth).filter(|truth| !of_either(truth)).collect();
    // All but the periods in which the phase changes are of one of the two.
    assert!(changes.len() * 5 < values(&changing.truth).count(), "{changes:?}");
    // Until it was five times on both kinds 2.5 is said.
    let off = |of: &Factors| {
        let both = values(&of.believed).zip(values(&of.truth)).skip(40);
        let errors: Vec<f64> = both.map(|(believed, truth)| (believed / truth - 1.0).abs()).collect();
        errors.iter().sum::<f64>() / errors.len() as f64
    };
    let all = [steady, changing, slow];
    assert!(off(steady) < 0.01 && off(slow) < 0.01 && off(changing) > 0.1, "{:?}", all.map(off));
    let told = steady.mean_error_per_cent.expect("it said something");
    assert!(told > 100.0 * off(steady) && steady.samples > 40, "{told}");
}

/// Where nobody records what the monitor says, nothing is held against anything; and RR's records are without it when the file says so.
#[test]
fn without_a_record_of_the_metric_there_are_no_factors() {
    let monitor = "[scheduler.monitor]\nmonitor = \"ipc-sampling\"\nperiod = \"10ms\"\nclasses = [\"best-effort\"]\naction = \"rr\"\n";
    let both = application("one", "cores = [0]", "{ compute = \"20ms\" }")
        + &application("two", "cores = [2]", "{ compute = \"30ms\" }");
    assert_eq!(found(&(monitor.to_owned() + &both)).factors.len(), 2);
    assert!(found(&(monitor.to_owned() + "record = \"nothing\"\n" + &both)).factors.is_empty());
}
