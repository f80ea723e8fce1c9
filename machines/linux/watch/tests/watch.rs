//! Watching real programs with software events, which every kernel counts exactly.

mod common;

use common::{Kept, again, allowed, options, run, shell};
use solo_model::Duration;
use solo_observe::{Metric, Subject};
use solo_perf::files::Host;
use solo_watch::follow::Ended;
use solo_watch::{Columns, Row, RowKind};
use solo_watch::{Modules, Per, Reason, Sink, Target, WatchError, watch};
use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Not a test of its own: what other tests start and watch.
#[test]
fn workload() {
    common::work();
}

fn sum(rows: &[Row], column: usize) -> u64 {
    rows.iter().filter_map(|row| row.counts[column]).sum()
}

#[test]
fn totals_agree_with_perf_stat_within_a_hundredth() {
    // Instructions in user mode are as many each time; the kernel's share depends on what else goes on.
    for (event, least) in [("page-faults", 40_000), ("instructions:u", 1_000_000)] {
        if !allowed() {
            return;
        }
        let work = again("touch:20000");
        let Target::Command(words) = &work else { unreachable!("a command") };
        let perf =
            Command::new("perf").args(["stat", "-x,", "-I", "10", "-e", event, "--"]).args(words).output();
        let Ok(perf) = perf else {
            println!("skipped: comparison with perf stat: perf is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&perf.stderr).into_owned();
        if text.contains("<not supported>") {
            println!("skipped: comparison with perf stat: no hardware counter for {event}");
            continue;
        }
        // perf rounds large counts to six digits.
        let count = |line: &str| line.split(',').nth(1)?.parse::<f64>().ok();
        let theirs = text.lines().filter_map(count).sum::<f64>() as u64;
        assert!(theirs > least, "{text}");
        for per in [Per::Thread, Per::Process] {
            let mut kept = Kept::default();
            let options = solo_watch::WatchOptions { per, ..options(&[event]) };
            let outcome = run(&work, &options, &mut kept).unwrap();
            let ours = outcome.totals[0].count.unwrap();
            assert!(
                ours.abs_diff(theirs) * 100 <= theirs,
                "{event} {per:?}: {ours} against {theirs} of perf stat"
            );
            assert_eq!(sum(&kept.rows, 0), ours, "{per:?}: rows and totals are the same counts");
        }
    }
}

/// Ends a busy program once it has been seen to run, and the watch once the program's end has been seen.
struct UntilSeen {
    program: std::process::Child,
    ran: bool,
    ended: bool,
    stop: Arc<AtomicBool>,
}

impl Sink for UntilSeen {
    fn begin(&mut self, _: &Columns) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &Row) -> io::Result<()> {
        match row.subject {
            Subject::Thread { process, .. } if process == self.program.id() => {}
            _ => return Ok(()),
        }
        if row.kind == RowKind::Tick && row.counts[0] > Some(1_000_000) && !self.ran {
            self.ran = true;
            self.program.kill()?;
            self.program.wait()?;
        }
        if row.kind == RowKind::Exit {
            self.ended = true;
            self.stop.store(true, Ordering::SeqCst);
        }
        Ok(())
    }
}

#[test]
fn every_thread_of_the_machine_is_watched_and_says_when_it_ends() {
    if !allowed() {
        return;
    }
    let program = Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut sink = UntilSeen { program, ran: false, ended: false, stop: Arc::clone(&stop) };
    let options = solo_watch::WatchOptions {
        every: Some(Duration::from_millis(50)),
        // Far beyond what a busy machine takes; reached only where the test fails.
        time_max: Some(Duration::from_millis(60_000)),
        ..options(&["task_clock"])
    };
    let outcome = watch(&Target::Machine, &options, Modules::none(), &Host::new(), &stop, &mut sink);
    let _ = sink.program.kill();
    let outcome = outcome.unwrap();
    assert!(sink.ran && sink.ended, "ran: {}, ended: {}; {outcome:?}", sink.ran, sink.ended);
    assert!(outcome.notes.iter().any(|note| note.contains("between two ticks")), "{:?}", outcome.notes);
}

#[test]
fn each_thread_has_rows_of_its_own_and_an_exit() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let outcome = run(&again("touch:5000"), &options(&["page_faults"]), &mut kept).unwrap();
    assert_eq!(outcome.program, Some(Ended::Exited(0)));
    let mut faults: BTreeMap<Subject, u64> = BTreeMap::new();
    for row in &kept.rows {
        *faults.entry(row.subject).or_default() += row.counts[0].unwrap();
    }
    // The two threads that touch memory, and those of the test harness.
    assert_eq!(faults.values().filter(|faults| **faults >= 4800).count(), 2, "{faults:?}");
    let exits = kept.rows.iter().filter(|row| row.kind == RowKind::Exit).count() as u64;
    assert_eq!(exits, outcome.doubts.threads);
}

#[test]
fn five_thousand_short_threads_are_all_seen() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let outcome =
        run(&again("threads:5000"), &options(&["page_faults", "context_switches"]), &mut kept).unwrap();
    assert!(outcome.doubts.threads >= 5001, "{}", outcome.doubts.line());
    assert_eq!(outcome.doubts.threads_missed, 0);
    assert_eq!(outcome.doubts.lost, 0);
    let exits = kept.rows.iter().filter(|row| row.kind == RowKind::Exit).count() as u64;
    assert_eq!(exits, outcome.doubts.threads);
}

#[test]
fn programs_that_exit_at_once_are_counted_and_leave_nothing_behind() {
    if !allowed() {
        return;
    }
    for _ in 0..100 {
        let mut kept = Kept::default();
        let outcome = run(&shell("exit 3"), &options(&["page_faults"]), &mut kept).unwrap();
        assert_eq!(outcome.program, Some(Ended::Exited(3)));
        assert!(outcome.totals[0].count.unwrap() > 10);
    }
}

#[test]
fn exec_chains_are_one_thread_and_end_as_the_last_program_does() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let script = "exec sh -c 'exec sh -c \"exec sh -c \\\"exit 5\\\"\"'";
    let outcome = run(&shell(script), &options(&["page_faults"]), &mut kept).unwrap();
    assert_eq!(outcome.program, Some(Ended::Exited(5)));
    assert_eq!(outcome.doubts.threads, 1);
}

#[test]
fn a_thread_that_is_not_the_first_may_execute_another_program() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let outcome = run(&again("exec"), &options(&["page_faults"]), &mut kept).unwrap();
    assert_eq!(outcome.program, Some(Ended::Exited(9)));
    let threads: std::collections::BTreeSet<_> = kept.rows.iter().map(|row| row.subject).collect();
    assert!(threads.len() >= 2, "{threads:?}");
}

#[test]
fn signals_pass_and_a_stopped_program_stays_stopped_until_it_is_continued() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    // Signal 35 is a real-time signal.
    let outcome = run(&shell("kill -35 $$"), &options(&["page_faults"]), &mut kept).unwrap();
    assert_eq!(outcome.program, Some(Ended::Signalled(35)));
    // A child waits until the shell is stopped, and only then continues it. A followed thread's stop is a `t`.
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let mark = mark.display();
    let script = format!(
        "me=$$; (until [ -e {mark} ] && grep -q '^State:.[Tt]' /proc/$me/status; do :; done; kill -CONT $me) & \
         : > {mark}; kill -STOP $$; wait; exit 6"
    );
    let outcome = run(&shell(&script), &options(&["page_faults"]), &mut kept).unwrap();
    assert_eq!(outcome.program, Some(Ended::Exited(6)));
}

#[test]
fn every_nth_event_gives_a_row_and_none_is_lost() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let options =
        solo_watch::WatchOptions { every: None, ..options(&["page_faults:ebs=100,context_switches"]) };
    let outcome = run(&again("touch:10000"), &options, &mut kept).unwrap();
    let samples: Vec<&Row> = kept.rows.iter().filter(|row| row.kind == RowKind::Overflow).collect();
    let total = outcome.totals[0].count.unwrap();
    assert_eq!(outcome.doubts.lost, 0);
    assert_eq!(sum(&kept.rows, 0), total);
    // Each thread's last, incomplete window gives no sample.
    let windows = total / 100;
    assert!(windows - samples.len() as u64 <= outcome.doubts.threads, "{} of {windows}", samples.len());
    assert!(samples.iter().all(|row| (99..=101).contains(&row.counts[0].unwrap())), "{samples:?}");
    assert!(samples.len() > 150);
}

#[test]
fn event_sets_take_turns_and_rows_say_whose_turn_it_was() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let mut options = options(&["page_faults,task_clock", "context_switches,task_clock"]);
    options.metrics = vec![Metric::parse("rate=page_faults/seconds").unwrap()];
    run(&again("spin:200"), &options, &mut kept).unwrap();
    assert_eq!(kept.columns.counts, ["page_faults", "task_clock", "context_switches"]);
    for row in &kept.rows {
        assert_eq!(row.counts[0].is_some(), row.set == 0, "{row:?}");
        assert_eq!(row.counts[2].is_some(), row.set == 1, "{row:?}");
        assert_eq!(row.metrics[0].is_some(), row.set == 0, "{row:?}");
    }
    let ticks: Vec<usize> =
        kept.rows.iter().filter(|row| row.kind == RowKind::Tick).map(|row| row.set).collect();
    assert!(ticks.contains(&0) && ticks.contains(&1), "{ticks:?}");
}

#[test]
fn limits_end_the_program() {
    if !allowed() {
        return;
    }
    let mut kept = Kept::default();
    let options =
        solo_watch::WatchOptions { time_max: Some(Duration::from_millis(50)), ..options(&["task_clock"]) };
    let outcome = run(&shell("while :; do :; done"), &options, &mut kept).unwrap();
    assert_eq!(outcome.reason, Reason::Time);
    assert_eq!(outcome.program, Some(Ended::Signalled(15)));
    let options = solo_watch::WatchOptions { rows_max: Some(3), time_max: None, ..options };
    let outcome = run(&shell("while :; do :; done"), &options, &mut kept).unwrap();
    assert_eq!(outcome.reason, Reason::Rows);
}

/// Takes some rows and then refuses.
struct Full(u64);

impl Sink for Full {
    fn begin(&mut self, _: &Columns) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &Row) -> io::Result<()> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_watch_but_not_the_program() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let script =
        format!("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo yes > {}; exit 4", done.display());
    let outcome = run(&shell(&script), &options(&["task_clock"]), &mut Full(2)).unwrap();
    assert_eq!(outcome.reason, Reason::Output);
    assert_eq!(outcome.output_error.unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!(outcome.doubts.rows, 2);
    assert_eq!(outcome.program, Some(Ended::Exited(4)));
    assert!(done.exists(), "the program ran to its end");
}

#[test]
fn a_running_process_is_watched_with_what_it_starts_later() {
    if !allowed() {
        return;
    }
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read go; i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let process = child.id();
    let go = child.stdin.take();
    let watching = std::thread::spawn(move || {
        let mut kept = Kept::default();
        run(&Target::Process(process), &options(&["page_faults"]), &mut kept)
    });
    // The counters are open once the descriptors are: they show as perf events among this process's own.
    while !has_perf_events() {
        std::thread::yield_now();
    }
    drop(go);
    child.wait().unwrap();
    let outcome = watching.join().unwrap().unwrap();
    assert_eq!(outcome.reason, Reason::Ended);
    // 300 programs with some dozens of faults each.
    assert!(outcome.totals[0].count.unwrap() > 300 * 30, "{:?}", outcome.totals);
}

fn has_perf_events() -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return false };
    entries.flatten().any(|entry| {
        std::fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().contains("perf_event"))
    })
}

#[test]
fn what_can_not_be_is_said_before_anything_starts() {
    let mut kept = Kept::default();
    let refused = |target: &Target, options| match run(target, &options, &mut Kept::default()) {
        Err(error) => error.to_string(),
        Ok(outcome) => panic!("{outcome:?}"),
    };
    let short =
        solo_watch::WatchOptions { every: Some(Duration::from_micros(100)), ..options(&["task_clock"]) };
    assert!(refused(&shell("true"), short).contains("1 ms or more"));
    let inherited = solo_watch::WatchOptions { per: Per::Process, ..options(&["page_faults:ebs=5"]) };
    assert!(refused(&shell("true"), inherited).contains("per thread"));
    let metric = Metric::parse("x=cycles/page_faults").unwrap();
    let unknown = solo_watch::WatchOptions { metrics: vec![metric], ..options(&["page_faults"]) };
    assert!(refused(&shell("true"), unknown).contains("no column is called `cycles`"));
    if !allowed() {
        return;
    }
    let missing = Target::Command(vec!["/nonexistent/program".into()]);
    assert!(matches!(run(&missing, &options(&["page_faults"]), &mut kept), Err(WatchError::Execute { .. })));
    let gone = Target::Process(u32::MAX >> 2);
    assert!(matches!(run(&gone, &options(&["page_faults"]), &mut kept), Err(WatchError::Process { .. })));
}
