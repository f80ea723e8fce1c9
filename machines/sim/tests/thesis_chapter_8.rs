//! Thesis chapter 8 at small size: two sets, two jobs of each task, periods of 1.25 to 10 ms. `docs/reproduction.md` has the
//! figures of ten sets.

#[path = "../examples/chapter_8/run.rs"]
#[allow(dead_code)]
mod run;

use run::{Memories, Size, evaluate, machine};
use solo_model::{Bytes, PerMille};
use std::path::Path;

/// Figs. 100 and 104: soft tasks miss most under BFD, some under CAP-GS and none where best-effort tasks yield; so it is with
/// tardiness. Nobody's hard tasks miss. What that costs is told: best-effort tasks do less.
#[test]
fn soft_tasks_meet_their_deadlines_where_best_effort_tasks_yield() {
    let (platform, overheads) = machine(Path::new("../.."));
    let memories = Memories { wss: Bytes::from_kib(32), writes: PerMille::new(330).expect("a third") };
    let size = Size { sets: 2, jobs: 2, scale: 20 };
    let rows = evaluate(&platform, &overheads, memories, size);
    println!("{rows:?}");
    let [bfd, cap_gs, dynamic, at_once, quiet] = rows;
    assert!(rows.iter().all(|row| row.jobs[0] > 20 && row.jobs[1] > 50 && row.late[0] == 0));
    assert!(bfd.late[1] > cap_gs.late[1] && cap_gs.late[1] > dynamic.late[1]);
    assert_eq!([dynamic.late[1], at_once.late[1], quiet.late[1]], [0; 3]);
    assert!(bfd.tardiness > cap_gs.tardiness && cap_gs.tardiness > dynamic.tardiness);
    assert!(dynamic.tardiness > at_once.tardiness && at_once.tardiness < 0);
    assert!(dynamic.best_effort < cap_gs.best_effort && dynamic.best_effort > 0);
    // An interrupt at the fifth event lets fewer happen than a look at the end of the period.
    assert!(at_once.heard.counted < dynamic.heard.counted && dynamic.heard.held > 0);
    assert_eq!([bfd, cap_gs, quiet].map(|row| row.heard.samples), [0; 3], "nobody listens there");
}
