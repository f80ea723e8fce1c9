//! Groups of resctrl on a made-up machine: a folder in which mkdir, rmdir and `tasks` do what the kernel's documentation says.

use solo_guard::{Actuator, Group, Guard, Machine, Seen, Setting, restore};
use solo_store::StoreError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A folder that stands for a machine, and what its kernel does after each write.
#[derive(Clone)]
struct Made {
    root: PathBuf,
    machine: Machine,
}

const FULL: &str = "    L3:0=7ff;1=7ff\n";

impl Made {
    fn below(root: &Path) -> Self {
        fs::create_dir_all(root.join("proc/sys/kernel/random")).unwrap();
        fs::write(root.join("proc/sys/kernel/random/boot_id"), "one\n").unwrap();
        fs::create_dir_all(root.join("sys/fs/resctrl/info/L3")).unwrap();
        let made = Self { root: root.to_owned(), machine: Machine::below(root).unwrap() };
        fs::write(made.file("", "tasks"), "").unwrap();
        fs::write(made.file("", "schemata"), FULL).unwrap();
        made
    }

    fn file(&self, group: &str, name: &str) -> PathBuf {
        self.root.join("sys/fs/resctrl").join(group).join(name)
    }

    fn group(&self, name: &str) {
        fs::create_dir_all(self.file("", name)).unwrap();
        fs::write(self.file(name, "tasks"), "").unwrap();
        fs::write(self.file(name, "schemata"), FULL).unwrap();
    }

    /// The groups that there are, and the threads in each.
    fn tasks(&self, group: &str) -> Vec<u32> {
        let text = fs::read_to_string(self.file(group, "tasks")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    fn groups(&self) -> Vec<String> {
        let entries = fs::read_dir(self.file("", "")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut groups: Vec<String> = names.filter(|name| self.file(name, "tasks").exists()).collect();
        groups.sort();
        groups
    }

    /// A thread is in one group.
    fn put(&self, thread: u32, group: &str) {
        let all: Vec<String> = [vec![String::new()], self.groups()].concat();
        for other in all {
            let mut threads = self.tasks(&other);
            threads.retain(|known| *known != thread);
            if other == group {
                threads.push(thread);
            }
            let lines: String = threads.iter().map(|thread| format!("{thread}\n")).collect();
            fs::write(self.file(&other, "tasks"), lines).unwrap();
        }
    }

    /// A thread that this machine knows.
    fn knows(&self, child: &Child) {
        let place = self.root.join(format!("proc/{}", child.id()));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("stat"), fs::read(format!("/proc/{}/stat", child.id())).unwrap()).unwrap();
    }
}

impl Actuator for Made {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        self.machine.look(setting)
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        let before: Vec<(String, Vec<u32>)> =
            self.groups().into_iter().map(|group| (group.clone(), self.tasks(&group))).collect();
        if let (Setting::CacheFolder { group }, Setting::ABSENT) = (setting, value) {
            let name = String::from(group.clone());
            self.tasks(&name).into_iter().for_each(|thread| self.put(thread, ""));
            fs::remove_file(self.file(&name, "tasks")).unwrap();
            fs::remove_file(self.file(&name, "schemata")).unwrap();
        }
        let root = self.tasks("");
        self.machine.set(setting, value)?;
        match setting {
            Setting::CacheFolder { group } if value == Setting::THERE => {
                self.group(&String::from(group.clone()))
            }
            Setting::CacheMember { thread, .. } => {
                // The file was overwritten: the kernel keeps a list instead.
                for (group, threads) in before.iter().chain([&(String::new(), root)]) {
                    let lines: String = threads.iter().map(|thread| format!("{thread}\n")).collect();
                    fs::write(self.file(group, "tasks"), lines).unwrap();
                }
                self.put(*thread, if value == "/" { "" } else { value });
            }
            _ => {}
        }
        Ok(())
    }

    fn boot(&self) -> Result<String, StoreError> {
        self.machine.boot()
    }

    fn heirs(&self, setting: &Setting) -> Vec<Setting> {
        self.machine.heirs(setting)
    }
}

fn sleeper() -> Child {
    Command::new("sleep").arg("60").spawn().unwrap()
}

/// Two threads, one of which was in somebody's group; a third one comes out of that one later.
fn work(guard: &mut Guard<Made>, made: &Made, threads: [u32; 3]) {
    let group = Group::new("solo-1").unwrap();
    let [first, second, later] = threads;
    guard.change(&Setting::CacheFolder { group: group.clone() }, Setting::THERE).unwrap();
    for thread in [first, second] {
        guard.change(&Setting::CacheMember { thread, group: group.clone() }, "solo-1").unwrap();
    }
    guard.change(&Setting::Schemata { group }, "L3:1=f").unwrap();
    assert_eq!(made.tasks("solo-1"), [first, second]);
    made.put(later, "solo-1");
}

#[test]
fn threads_go_back_to_the_groups_that_they_were_in_and_groups_go() {
    for killed in [false, true] {
        let (place, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let made = Made::below(place.path());
        made.group("theirs");
        let mut children = [sleeper(), sleeper(), sleeper()];
        children.iter().for_each(|child| made.knows(child));
        let threads = [children[0].id(), children[1].id(), children[2].id()];
        made.put(threads[0], "theirs");
        made.put(threads[1], "");
        let (mut guard, _) = Guard::start(state.path(), made.clone()).unwrap();
        work(&mut guard, &made, threads);
        let restored = if killed {
            // Nothing of it ran any more: another one puts back what its journal says.
            let journal = fs::read(state.path().join(solo_guard::JOURNAL)).unwrap();
            std::mem::forget(guard);
            let next = tempfile::tempdir().unwrap();
            fs::write(next.path().join(solo_guard::JOURNAL), journal).unwrap();
            restore(next.path(), made.clone()).unwrap()
        } else {
            guard.undo()
        };
        assert!(restored.is_whole(), "{restored:?}");
        assert_eq!(made.groups(), ["theirs"]);
        assert!(made.tasks("theirs").contains(&threads[0]), "who was in a group is there again");
        assert!(made.tasks("").contains(&threads[1]));
        let all = [made.tasks(""), made.tasks("theirs")].concat();
        assert!(all.contains(&threads[2]), "who came later is not lost");
        children.iter_mut().for_each(|child| drop(child.kill()));
        children.iter_mut().for_each(|child| drop(child.wait()));
    }
}

#[test]
fn what_a_guard_may_not_reach_has_no_name() {
    let place = tempfile::tempdir().unwrap();
    let mut made = Made::below(place.path());
    let mut child = sleeper();
    made.knows(&child);
    let group = Group::new("g").unwrap();
    let member = Setting::CacheMember { thread: child.id(), group };
    assert_eq!(made.look(&member).unwrap().value, "/");
    for hostile in ["../../../tmp", "a/../b", "\0", "/etc"] {
        assert!(made.machine.set(&member, hostile).is_err(), "{hostile:?}");
    }
    let _ = child.kill();
    let _ = child.wait();
    fs::remove_dir_all(place.path().join(format!("proc/{}", child.id()))).unwrap();
    assert!(made.look(&member).is_err(), "who has ended is in no group");
    let restored = made.look(&Setting::CacheFolder { group: Group::new("none").unwrap() }).unwrap();
    assert_eq!(restored.value, Setting::ABSENT);
}
