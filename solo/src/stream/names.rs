//! Who threads are, as far as the kernel tells.

use super::Name;
use solo_model::{Duration, Instant};
use solo_observe::Subject;
use solo_perf::files::Files;
use solo_watch::{Row, RowKind};
use std::collections::BTreeMap;

/// A program that executes another changes its name: names are read again after this time.
const AGAIN: Duration = Duration::from_millis(1000);

/// Remembers which names were told. Only threads that are still there are kept.
#[derive(Default, Debug)]
pub(crate) struct Names {
    told: BTreeMap<u32, (Instant, Name)>,
}

impl Names {
    /// The name to be told before `row`, where it is new.
    pub(crate) fn before(&mut self, row: &Row, files: &dyn Files) -> Option<Name> {
        let (process, thread) = match row.subject {
            Subject::Thread { process, thread } => (process, thread),
            Subject::Tree { process } => (process, process),
            Subject::Core(_) | Subject::Machine | Subject::Task(_) => return None,
        };
        let known = self.told.get(&thread);
        let fresh = known.is_some_and(|(read, _)| row.at.since(*read) < AGAIN);
        let found = if fresh { None } else { read(process, thread, files) };
        let new = found.filter(|found| known.is_none_or(|(_, known)| known != found));
        match (row.kind, &new) {
            (RowKind::Exit, _) => drop(self.told.remove(&thread)),
            (_, Some(name)) => drop(self.told.insert(thread, (row.at, name.clone()))),
            (_, None) => {
                if let Some((read, _)) = self.told.get_mut(&thread)
                    && !fresh
                {
                    *read = row.at;
                }
            }
        }
        new
    }
}

fn read(process: u32, thread: u32, files: &dyn Files) -> Option<Name> {
    let base = format!("/proc/{process}/task/{thread}");
    let name = files.text(&format!("{base}/comm"))?;
    let cgroups = files.text(&format!("{base}/cgroup")).unwrap_or_default();
    let process_name = files.text(&format!("/proc/{process}/comm")).unwrap_or_else(|| name.clone());
    Some(Name { process, thread, name, process_name, cgroup: cgroup(&cgroups) })
}

/// The path in the unified hierarchy, or else in the first one that is not the root.
fn cgroup(text: &str) -> String {
    let mut paths = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?, parts.nth(1)?))
    });
    let unified = paths.clone().find(|(id, path)| *id == "0" && *path != "/");
    let (_, path) = unified.or_else(|| paths.find(|(_, path)| *path != "/")).unwrap_or(("", "/"));
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::Fake;

    fn row(at_ms: u64, kind: RowKind) -> Row {
        Row {
            number: 1,
            at: Instant::ZERO + Duration::from_millis(at_ms),
            span: Duration::ZERO,
            subject: Subject::Thread { process: 7, thread: 8 },
            kind,
            set: 0,
            counts: vec![],
            virtuals: vec![],
            metrics: vec![],
        }
    }

    #[test]
    fn a_name_is_told_once_and_again_when_it_changes() {
        let mut files = Fake::new()
            .with("/proc/7/task/8/comm", "sh\n")
            .with("/proc/7/task/8/cgroup", "5:cpu:/\n0::/user.slice\n");
        let mut names = Names::default();
        let told = names.before(&row(0, RowKind::Tick), &files).unwrap();
        assert_eq!((told.name.as_str(), told.cgroup.as_str()), ("sh", "/user.slice"));
        files.set("/proc/7/task/8/comm", Some("gcc\n"));
        assert_eq!(names.before(&row(10, RowKind::Tick), &files), None, "read a moment ago");
        assert_eq!(names.before(&row(1500, RowKind::Tick), &files).unwrap().name, "gcc");
        assert_eq!(names.before(&row(3000, RowKind::Tick), &files), None);
        names.before(&row(3001, RowKind::Exit), &files);
        assert!(names.told.is_empty(), "the dead are forgotten");
    }

    #[test]
    fn the_unified_cgroup_comes_first() {
        assert_eq!(cgroup("0::/a/b"), "/a/b");
        assert_eq!(cgroup("3:cpu,cpuacct:/x\n0::/"), "/x");
        assert_eq!(cgroup(""), "/");
        assert_eq!(cgroup("nonsense"), "/");
    }
}
