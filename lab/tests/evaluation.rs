//! Evaluations of the thesis at small size: what must hold of them at any, and that they go on where they were stopped.
//! `docs/reproduction.md` has the figures of larger ones.

use solo_lab::evaluation::chapter_6::{self, Repetitions, Scheduler};
use solo_lab::evaluation::chapter_8::{self, Approach};
use solo_lab::evaluation::{Sharing, Size, chapter_7};
use solo_lab::sweep::{Part, Points};
use solo_lab::{Cancel, Control, JournalFault, LabError};
use std::fs;

const ONE_SET: Size = Size { sets: 1, jobs: 1, scale: 40, seed: 1 };

/// Figs. 72 to 74: the kernel's own data make no difference (S2 = S1); one color for all makes jobs longer and more tasks
/// late under each scheduler; repetitions leave a task alone within its execution time.
#[test]
fn a_color_of_its_own_for_each_task_matters_and_one_for_the_kernel_does_not() {
    let sharing = [Sharing::Color];
    let repetitions = [Repetitions::Fitted];
    let evaluation = chapter_6::Evaluation::new(ONE_SET, &[128], &sharing, &repetitions).unwrap();
    let done: Vec<_> =
        (0..evaluation.len()).map(|point| evaluation.point(point, &Cancel::new()).unwrap()).collect();
    let rows = chapter_6::Row::all(&done);
    assert_eq!(rows.iter().map(|row| row.scheduler).collect::<Vec<_>>(), Scheduler::ALL);
    for row in rows {
        println!("{row:?}");
        assert!(row.tasks >= 4, "{row:?}");
        assert!((850..=1000).contains(&row.filled_per_mille.mean), "{row:?}");
        assert_eq!(row.missed_per_mille[0], 0, "{row:?}");
        // The schedules are not the same to the nanosecond.
        assert!(row.s2_worst_per_mille.mean.abs_diff(1000) <= 50, "{row:?}");
        assert!(row.s3_worst_per_mille.mean > 1200 && row.missed_per_mille[2] > 0, "{row:?}");
        assert!(row.total_ns[2].mean >= row.total_ns[0].mean, "{row:?}");
    }
}

/// Figs. 79 to 82: what CAP places meets its deadlines. Tasks that share a written array and are torn apart take lines from
/// each other and are late; on one core they take none.
#[test]
fn tasks_of_a_color_on_one_core_meet_their_deadlines() {
    let evaluation = chapter_7::Evaluation::new(ONE_SET, &[32], &[Sharing::Array]).unwrap();
    let done: Vec<_> =
        (0..evaluation.len()).map(|point| evaluation.point(point, &Cancel::new()).unwrap()).collect();
    let rows = chapter_7::Row::all(&done);
    assert_eq!(rows.iter().map(|row| row.writes_per_mille).collect::<Vec<_>>(), [330, 200]);
    for row in &rows {
        println!("{row:?}");
        assert!(row.cap.jobs >= 50 && row.cap.late_ppm.most == 0, "{row:?}");
        assert!(row.wfd.late_ppm.least > 0 && row.wfd.mean_ns > row.cap.mean_ns, "{row:?}");
        // What is left under CAP are the kernel's queues.
        assert!(row.wfd.hitm_per_1000_jobs > 1_000_000 && row.cap.hitm_per_1000_jobs < 5_000, "{row:?}");
    }
    assert!(rows[0].wfd.hitm_per_1000_jobs > rows[1].wfd.hitm_per_1000_jobs, "{rows:?}");
}

/// Figs. 100 and 104: soft tasks are late under BFD and not where groups are kept together; so it is with tardiness. The monitor takes lines
/// taken from each other away, and the time of best-effort tasks. Repetitions leave each task within its execution time where
/// there is no best-effort task; beside them hard and soft jobs take longer than that, the most under BFD, but no hard one is late.
#[test]
fn soft_tasks_meet_their_deadlines_where_groups_are_kept_together() {
    let two = Size { sets: 2, jobs: 2, scale: 20, seed: 1 };
    let evaluation = chapter_8::Evaluation::new(two, &[32], &[Sharing::Array], &Approach::ALL, 1000).unwrap();
    let done: Vec<_> =
        (0..evaluation.len()).map(|point| evaluation.point(point, &Cancel::new()).unwrap()).collect();
    let rows = chapter_8::Row::all(&done);
    rows.iter().for_each(|row| println!("{row:?}"));
    assert_eq!(rows.len(), 10);
    for rows in rows.chunks(5) {
        assert_eq!(rows.iter().map(|row| row.approach).collect::<Vec<_>>(), Approach::ALL);
        let [bfd, cap_gs, yields, overflow, quiet] = rows else { panic!("{rows:?}") };
        for row in rows {
            assert!(row.hard.jobs > 20 && row.soft.jobs > 50, "{row:?}");
            assert_eq!(row.hard.late_ppm.most, 0, "{row:?}");
        }
        for jobs in [&quiet.hard, &quiet.soft] {
            assert!(
                (900..=1000).contains(&jobs.longest_per_mille.least) && jobs.longest_per_mille.most <= 1000
            );
        }
        let longest = |row: &chapter_8::Row| row.hard.longest_per_mille.mean;
        assert!(longest(bfd) > longest(cap_gs) && longest(cap_gs) > longest(yields), "{rows:?}");
        assert!(longest(yields) >= longest(overflow) && longest(overflow) > longest(quiet), "{rows:?}");
        assert!(bfd.soft.late_ppm.mean > cap_gs.soft.late_ppm.mean, "{bfd:?} {cap_gs:?}");
        for row in [cap_gs, yields, overflow, quiet] {
            assert_eq!(row.soft.late_ppm.most, 0, "{row:?}");
        }
        assert!(bfd.tardiness_ns > cap_gs.tardiness_ns && cap_gs.tardiness_ns > overflow.tardiness_ns);
        assert!(overflow.tardiness_ns > quiet.tardiness_ns && bfd.tardiness_ns < 0);
        let on_core = |row: &chapter_8::Row| row.best_effort.on_core_per_mille;
        assert!(on_core(overflow) < on_core(yields) && on_core(yields) < on_core(cap_gs), "{rows:?}");
        assert_eq!((quiet.best_effort.jobs, quiet.best_effort.on_core_per_mille), (0, 0));
        // An interrupt at the fifth event lets fewer happen than a look at the end of the period.
        let hitm = |row: &chapter_8::Row| row.all_cores().hitm;
        assert!(hitm(overflow) < hitm(yields) && hitm(yields) < hitm(cap_gs) && hitm(cap_gs) < hitm(bfd));
        assert!(yields.all_cores().held > 0 && yields.all_cores().samples > yields.all_cores().held);
        for row in [bfd, cap_gs, quiet] {
            assert_eq!((row.all_cores().samples, row.all_cores().held), (0, 0), "nobody listens there");
        }
    }
}

/// By how much hard tasks would have to be slowed down to be late: what the thesis's BFD does to them and nothing here does.
#[test]
fn hard_tasks_are_late_where_they_take_longer_than_their_execution_times() {
    let of = |hard| {
        let evaluation =
            chapter_8::Evaluation::new(ONE_SET, &[32], &[Sharing::Color], &[Approach::Bfd], hard).unwrap();
        let done: Vec<_> =
            (0..evaluation.len()).map(|point| evaluation.point(point, &Cancel::new()).unwrap()).collect();
        chapter_8::Row::all(&done).into_iter().map(|row| row.hard).collect::<Vec<_>>()
    };
    let (as_drawn, slowed) = (of(1000), of(4000));
    assert!(as_drawn.iter().all(|hard| hard.late_ppm.most == 0), "{as_drawn:?}");
    assert!(slowed.iter().all(|hard| hard.late_ppm.least > 0), "{slowed:?}");
    assert!(slowed.iter().all(|hard| hard.longest_per_mille.least > 2000), "{slowed:?}");
}

/// Spec A, "Experiment": whatever is shared, the same sets in the same places; a best-effort job takes as long as the thesis's.
#[test]
fn a_best_effort_job_takes_as_long_as_in_the_thesis() {
    for sharing in [Sharing::Color, Sharing::Array, Sharing::Line] {
        let size = Size { scale: 4, ..ONE_SET };
        let evaluation =
            chapter_8::Evaluation::new(size, &[64], &[sharing], &[Approach::Overflow], 1000).unwrap();
        let alone = evaluation.best_effort_job(0).unwrap();
        // 46.29 ms a quarter, in whole sweeps of an array.
        assert!(alone.get().abs_diff(46_290_000 / 4) < 1_000_000, "{}: {alone}", sharing.name());
    }
}

/// Parts put together, a run that was cut off, one of fewer sets that goes on: the same as all at once. A journal of
/// another evaluation, and a line that somebody has changed, are refused.
#[test]
fn an_evaluation_goes_on_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let of = |size| chapter_7::Evaluation::new(size, &[4], &[Sharing::Color]).unwrap();
    let two = of(Size { sets: 2, scale: 1000, ..ONE_SET });
    let control = Control::silent();
    let at_once = two.run(&whole, Part::WHOLE, &[], &control).unwrap();
    assert_eq!((at_once.len(), two.len()), (4, 4));

    let one = of(Size { sets: 1, scale: 1000, ..ONE_SET });
    assert_eq!(one.run(&parts, Part { index: 1, of: 2 }, &[], &control).unwrap(), [at_once[0]]);
    let more = two.run(&parts, Part { index: 2, of: 2 }, &[], &control).unwrap();
    assert_eq!(more, [at_once[1], at_once[3]]);
    assert_eq!(two.run(&parts, Part::WHOLE, &[], &control).unwrap(), at_once);
    assert_eq!(one.run(&parts, Part::WHOLE, &[], &control).unwrap(), at_once[..2]);

    // A kill cuts the last line.
    let journal = whole.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    assert_eq!(two.run(&whole, Part::WHOLE, &[], &control).unwrap(), at_once);

    let fault = |error: LabError| match error {
        LabError::Journal { line, fault, .. } => (line, fault),
        other => panic!("{other:?}"),
    };
    let later = of(Size { sets: 2, jobs: 2, scale: 1000, ..ONE_SET });
    let refused = later.run(&whole, Part::WHOLE, &[], &control).unwrap_err();
    assert_eq!(fault(refused), (1, JournalFault::OtherWork));
    fs::write(&journal, text.replacen("\"late\":0", "\"late\":1", 1)).unwrap();
    let refused = two.run(&whole, Part::WHOLE, &[], &control).unwrap_err();
    assert_eq!(fault(refused), (2, JournalFault::Damaged));

    let cancel = Cancel::new();
    cancel.request();
    let stopped = two.run(&folder.path().join("stopped"), Part::WHOLE, &[], &Control { cancel, ..control });
    assert!(matches!(stopped, Err(LabError::Interrupted)), "{stopped:?}");
}
