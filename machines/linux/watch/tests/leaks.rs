//! Nothing is left behind: alone in its program, for it counts the program's own files and memory.

mod common;

use common::{Kept, again, allowed, options, run, shell};
use solo_watch::Sink;
use solo_watch::{Columns, Row};
use std::io;

#[test]
fn workload() {
    common::work();
}

/// Forgets rows at once, as a file does.
#[derive(Default)]
struct Forgotten {
    rows: u64,
    resident_early: u64,
    resident_late: u64,
}

impl Sink for Forgotten {
    fn begin(&mut self, _: &Columns) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &Row) -> io::Result<()> {
        self.rows += 1;
        match self.rows {
            2000 => self.resident_early = resident_pages(),
            n if n > 2000 && n % 500 == 0 => self.resident_late = resident_pages(),
            _ => {}
        }
        Ok(())
    }
}

fn resident_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default()).collect()
}

#[test]
fn no_file_no_child_and_no_memory_is_left() {
    if std::env::var_os("SOLO_WORK").is_some() || !allowed() {
        return;
    }
    let before = open_files();
    let options = options(&["page_faults,context_switches"]);
    let mut forgotten = Forgotten::default();
    run(&again("threads:8000"), &options, &mut forgotten).unwrap();
    assert!(forgotten.rows >= 8000);
    let grown = forgotten.resident_late.saturating_sub(forgotten.resident_early);
    assert!(grown < 256, "{grown} pages more after {} rows than after 2000", forgotten.rows);
    for script in ["exit 1", "kill -9 $$", "sleep 5 & exit 0"] {
        run(&shell(script), &options, &mut Kept::default()).unwrap();
    }
    let missing = solo_watch::Target::Command(vec!["/nonexistent".into()]);
    assert!(run(&missing, &options, &mut Kept::default()).is_err());
    assert_eq!(open_files(), before);
    assert_eq!(children(), "", "no zombie, nobody followed any more");
}
