//! Evaluations of the thesis at small size: what must hold of them at any, and that they go on where they were stopped.
//! `docs/reproduction.md` has the figures of larger ones.

use solo_lab::evaluation::chapter_6::{self, Repetitions, Scheduler};
use solo_lab::evaluation::{Sharing, Size, chapter_7};
use solo_lab::sweep::Part;
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
