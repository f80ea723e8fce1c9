//! Threads of this machine: CPUs changed and put back, with all that came out of them.

use solo_guard::{Actuator, Fate, Group, Guard, Machine, Setting};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn machine() -> Machine {
    Machine::below(Path::new("/")).unwrap()
}

fn setting(thread: u32, group: &Group) -> Setting {
    Setting::Affinity { thread, group: group.clone() }
}

fn says(thread: u32) -> String {
    machine().look(&setting(thread, &Group::default())).unwrap().value
}

/// A shell that starts a child when it reads a line, and says so; and another at the next line.
fn shell() -> Child {
    let script = "read a; sleep 100 & echo $!; read b; (sleep 100 & echo $!); read c";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Lets the shell go on and reads whom it started.
fn next(shell: &mut Child) -> u32 {
    use std::io::{Read, Write};
    shell.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while shell.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte != [b'\n'] {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap().trim().parse().unwrap()
}

fn end(shell: &mut Child, children: &[u32]) {
    let mut kill = Command::new("/bin/sh");
    let _ = kill.args(["-c", "kill \"$@\"", "kill"]).args(children.iter().map(u32::to_string)).status();
    let _ = shell.kill();
    let _ = shell.wait();
}

#[test]
fn a_thread_and_what_came_out_of_it_get_their_cpus_back() {
    let before = says(std::process::id());
    let place = tempfile::tempdir().unwrap();
    let (mut guard, _) = Guard::start(place.path(), machine()).unwrap();
    let mut shell = shell();
    let own = setting(shell.id(), &Group::default());
    let first = before.split(['-', ',']).next().unwrap().to_owned();
    guard.change(&own, &first).unwrap();
    let child = next(&mut shell);
    assert_eq!((says(shell.id()), says(child)), (first.clone(), first.clone()), "a child inherits");
    let restored = guard.undo();
    assert_eq!(restored.settings, [(own, Fate::PutBack)]);
    assert_eq!((says(shell.id()), says(child)), (before.clone(), before));
    end(&mut shell, &[child]);
}

#[test]
fn a_group_holds_orphans_and_is_taken_away_without_them() {
    let place = tempfile::tempdir().unwrap();
    let (mut guard, _) = Guard::start(place.path(), machine()).unwrap();
    let mut shell = shell();
    let Some(above) = machine().group_of(shell.id()) else {
        println!("skipped: groups: there are no cgroups of version 2");
        return end(&mut shell, &[]);
    };
    let group = above.below(&format!("solo-test-{}", std::process::id())).unwrap();
    let folder = Setting::Folder { group: group.clone() };
    if let Err(error) = guard.change(&folder, Setting::THERE) {
        println!("skipped: groups: {error}");
        return end(&mut shell, &[]);
    }
    machine().enter(&group, shell.id()).unwrap();
    let before = says(shell.id());
    let own = setting(shell.id(), &group);
    let first = before.split(['-', ',']).next().unwrap().to_owned();
    guard.change(&own, &first).unwrap();
    guard.change(&Setting::Cgroup { group: group.clone(), knob: solo_guard::Knob::Freeze }, "0").unwrap();
    let child = next(&mut shell);
    // Its parent, a shell in between, has ended: nobody's child finds it but the group.
    let orphan = next(&mut shell);
    assert_eq!((says(child), says(orphan)), (first.clone(), first));
    assert_eq!(machine().group_of(orphan), Some(group.clone()));
    // The shell itself ends before everything is put back.
    let _ = shell.kill();
    let _ = shell.wait();
    let restored = guard.undo();
    assert!(restored.is_whole(), "{restored:?}");
    assert_eq!((says(child), says(orphan)), (before.clone(), before));
    assert_eq!(machine().group_of(orphan), Some(above));
    assert_eq!(machine().look(&folder).unwrap().value, Setting::ABSENT);
    end(&mut shell, &[child, orphan]);
}
