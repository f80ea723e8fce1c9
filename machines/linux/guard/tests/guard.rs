//! A guard leaves nothing as it set it, at whatever moment it ends and whoever else is at work.

mod common;

use common::{Fake, freeze, knob, values};
use solo_guard::{Actuator, Fate, Guard, GuardError, JOURNAL, Knob, Setting, restore};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// What a guard does here: several values, one of them twice, and back.
fn work(guard: &mut Guard<Fake>) {
    for (setting, value) in [
        (freeze("a"), "1"),
        (knob("b", Knob::Cpus), "0-1"),
        (freeze("a"), "0"),
        (Setting::RealTimeRuntime, "-1"),
        (freeze("a"), "1"),
        (knob("b", Knob::Cpus), "2"),
    ] {
        guard.change(&setting, value).expect("a change");
    }
}

#[test]
fn a_guard_that_is_killed_at_any_moment_leaves_nothing() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    work(&mut guard);
    assert_ne!(machine.values(), values());
    guard.undo();
    let moments = machine.0.borrow().moments.clone();
    assert!(moments.iter().filter(|moment| moment.values != values()).count() > 15, "it did something");
    let mut tried = 0;
    for pair in moments.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        // Killed here, or while the next line was being written: nothing but the journal changes then.
        let cuts = if after.values == before.values && after.journal.starts_with(&before.journal) {
            before.journal.len()..after.journal.len().max(before.journal.len() + 1)
        } else {
            before.journal.len()..before.journal.len() + 1
        };
        // Every cut is tried where lines are read; here every seventh.
        for cut in cuts.step_by(7) {
            let journal =
                after.journal.get(..cut).filter(|_| cut > before.journal.len()).unwrap_or(&before.journal);
            let place = folder();
            fs::write(place.path().join(JOURNAL), journal).unwrap();
            let machine = Fake::new(place.path(), &before.values);
            let restored = restore(place.path(), machine.clone()).unwrap();
            assert_eq!(machine.values(), values(), "{restored:?} at {cut}");
            assert_eq!(fs::read(place.path().join(JOURNAL)).unwrap(), b"");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} moments");
}

#[test]
fn every_value_is_on_disk_before_it_is_set() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    work(&mut guard);
    for moment in &machine.0.borrow().moments {
        let journal = String::from_utf8(moment.journal.clone()).unwrap();
        for (setting, (value, _)) in
            moment.values.iter().filter(|(setting, value)| values()[setting] != **value)
        {
            let name = serde_json::to_string(setting).unwrap();
            let line = journal
                .lines()
                .find(|line| line.contains(&name) && line.contains(&format!("\"wanted\":\"{value}\"")));
            assert!(line.is_some(), "{setting} {value} in {journal}");
        }
    }
    // A value that was written before needs no line: a task that is frozen a thousand times a second fills no disk.
    let size = || fs::metadata(place.path().join(JOURNAL)).unwrap().len();
    let before = size();
    for _ in 0..1000 {
        guard.change(&freeze("a"), "0").unwrap();
        guard.change(&freeze("a"), "1").unwrap();
    }
    assert_eq!(size(), before);
}

#[test]
fn what_somebody_else_has_set_is_theirs() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    work(&mut guard);
    machine.put(&knob("b", Knob::Cpus), "3");
    let refused = guard.change(&knob("b", Knob::Cpus), "0-1");
    assert!(matches!(refused, Err(GuardError::Contested { ref found, .. }) if found == "3"), "{refused:?}");
    // Set back by somebody else: nobody's any more, and the guard may go on.
    machine.put(&freeze("a"), "0");
    guard.change(&freeze("a"), "1").unwrap();
    machine.put(&Setting::RealTimeRuntime, "950000");
    let restored = guard.undo();
    let theirs = Fate::Theirs { found: "3".into(), before: "0-3".into() };
    assert_eq!(
        restored.settings,
        [
            (freeze("a"), Fate::PutBack),
            (knob("b", Knob::Cpus), theirs),
            (Setting::RealTimeRuntime, Fate::AsFound)
        ]
    );
    assert_eq!(machine.value(&knob("b", Knob::Cpus)), "3");
    // It is theirs for good.
    let (_, restored) = Guard::start(place.path(), machine.clone()).unwrap();
    assert_eq!(restored.settings, []);
}

#[test]
fn the_kernels_own_words_are_known_again() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    machine.0.borrow_mut().reword = Some(|value| format!("about {value}"));
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    guard.change(&freeze("a"), "1").unwrap();
    guard.change(&freeze("a"), "2").unwrap();
    assert_eq!(machine.value(&freeze("a")), "about 2");
    machine.0.borrow_mut().reword = None;
    assert_eq!(guard.undo().settings, [(freeze("a"), Fate::PutBack)]);
    assert_eq!(machine.values(), values());
}

#[test]
fn a_group_that_was_removed_or_made_anew_is_left_alone() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    for group in ["a", "b"] {
        guard.change(&freeze(group), "1").unwrap();
    }
    machine.0.borrow_mut().values.remove(&freeze("a"));
    machine.0.borrow_mut().values.insert(freeze("b"), ("1".into(), 99));
    // Made anew, it is changed as any other, and put back to what the new one said.
    assert_eq!(guard.change(&freeze("b"), "0").map_err(|error| error.to_string()), Ok(()));
    let restored = guard.undo();
    assert_eq!(restored.settings, [(freeze("a"), Fate::Gone), (freeze("b"), Fate::PutBack)]);
    assert_eq!(machine.value(&freeze("b")), "1");
}

#[test]
fn what_cannot_be_put_back_stays_in_the_journal_and_stops_the_next_guard() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    work(&mut guard);
    machine.0.borrow_mut().refuses = vec![Setting::RealTimeRuntime];
    let restored = guard.undo();
    assert!(!restored.is_whole());
    assert_eq!(machine.value(&freeze("a")), "0", "the others are put back");
    let stopped = Guard::start(place.path(), machine.clone());
    assert!(matches!(stopped, Err(GuardError::NotRestored(_))), "{:?}", stopped.err());
    machine.0.borrow_mut().refuses.clear();
    assert!(restore(place.path(), machine.clone()).unwrap().is_whole());
    assert_eq!(machine.values(), values());
}

#[test]
fn a_change_that_is_refused_changes_nothing() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    machine.0.borrow_mut().refuses = vec![freeze("a")];
    assert!(matches!(guard.change(&freeze("a"), "1"), Err(GuardError::Refused { .. })));
    assert!(matches!(guard.change(&freeze("nobody"), "1"), Err(GuardError::Refused { .. })));
    for value in ["\u{1b}[2J", "a\0b", &"9".repeat(5000)] {
        assert!(matches!(guard.change(&freeze("b"), value), Err(GuardError::Value { .. })), "{value:?}");
    }
    assert_eq!(machine.values(), values());
    assert_eq!(guard.undo().settings, [(freeze("a"), Fate::AsFound)]);
}

#[test]
fn a_restart_of_the_machine_leaves_nothing_to_put_back() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    work(&mut guard);
    let journal = fs::read(place.path().join(JOURNAL)).unwrap();
    drop(guard);
    fs::write(place.path().join(JOURNAL), journal).unwrap();
    // By now the value that a guard once wrote is the machine's own.
    let mut fresh = values();
    fresh.get_mut(&Setting::RealTimeRuntime).unwrap().0 = "-1".into();
    let machine = Fake::new(place.path(), &fresh);
    machine.0.borrow_mut().boot = "the next one".into();
    let (guard, restored) = Guard::start(place.path(), machine.clone()).unwrap();
    assert!(restored.earlier_boot && restored.settings.is_empty());
    drop(guard);
    assert_eq!(machine.values(), fresh);
}

#[test]
fn a_damaged_journal_is_used_up_to_the_damage_and_kept() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    work(&mut guard);
    let left = machine.values();
    let journal = fs::read_to_string(place.path().join(JOURNAL)).unwrap();
    drop(guard);
    // Whoever would have the guard write elsewhere can change a line, but not make one: and the others are not trusted either.
    let hostile = journal.replace("\"b\",\"knob\":\"cpus\"", "\"../../etc\",\"knob\":\"cpus\"");
    assert_ne!(hostile, journal);
    fs::write(place.path().join(JOURNAL), &hostile).unwrap();
    let machine = Fake::new(place.path(), &left);
    let error = Guard::start(place.path(), machine.clone()).err().expect("damage");
    let GuardError::Damaged { line, ref restored, .. } = error else { panic!("{error}") };
    assert_eq!((line, restored.settings.as_slice()), (3, &[(freeze("a"), Fate::PutBack)][..]));
    assert!(error.to_string().contains("line 3"), "{error}");
    assert_eq!(machine.value(&knob("b", Knob::Cpus)), "2", "not touched");
    assert_eq!(fs::read_to_string(place.path().join(JOURNAL)).unwrap(), hostile);
}

#[test]
fn journals_that_are_none_are_refused_and_stay() {
    let good = {
        let place = folder();
        let (mut guard, _) = Guard::start(place.path(), Fake::new(place.path(), &values())).unwrap();
        work(&mut guard);
        fs::read(place.path().join(JOURNAL)).unwrap()
    };
    let twice = [good.clone(), good.clone()].concat();
    let huge = vec![b'0'; 2 << 20];
    for bytes in [b"not a journal\n".to_vec(), b"\n".to_vec(), b"\xff\xff\xff\n\n".to_vec(), twice, huge] {
        let place = folder();
        fs::write(place.path().join(JOURNAL), &bytes).unwrap();
        let machine = Fake::new(place.path(), &values());
        let refused = Guard::start(place.path(), machine.clone());
        assert!(matches!(refused, Err(GuardError::Damaged { .. })), "{:?}", refused.err());
        assert_eq!(fs::read(place.path().join(JOURNAL)).unwrap(), bytes);
        assert_eq!(machine.values(), values());
    }
}

#[test]
fn a_journal_that_others_can_write_is_not_trusted() {
    let place = folder();
    let machine = || Fake::new(place.path(), &values());
    let shared = place.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Guard::start(&shared, machine()), Err(GuardError::Journal(_))));
    // A link, a pipe or a folder in the journal's place is refused and not waited for.
    let other = place.path().join("other");
    fs::write(&other, "x").unwrap();
    let linked = place.path().join("linked");
    fs::create_dir(&linked).unwrap();
    symlink(&other, linked.join(JOURNAL)).unwrap();
    assert!(matches!(Guard::start(&linked, machine()), Err(GuardError::Journal(_))));
    assert_eq!(fs::read_to_string(&other).unwrap(), "x");
    let occupied = place.path().join("occupied");
    fs::create_dir_all(occupied.join(JOURNAL)).unwrap();
    assert!(matches!(Guard::start(&occupied, machine()), Err(GuardError::Journal(_))));
}

#[test]
fn there_is_one_guard_at_a_time() {
    let place = folder();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    guard.change(&freeze("a"), "1").unwrap();
    assert!(matches!(Guard::start(place.path(), machine.clone()), Err(GuardError::Busy(_))));
    assert!(matches!(restore(place.path(), machine.clone()), Err(GuardError::Busy(_))));
    assert_eq!(machine.value(&freeze("a")), "1", "a second one does not put back what the first has set");
    drop(guard);
    assert_eq!(machine.values(), values());
    assert!(Guard::start(place.path(), machine).is_ok());
}

#[test]
fn the_trait_is_enough_for_another_machine() {
    fn boots<A: Actuator>(actuator: &A) -> String {
        actuator.boot().unwrap()
    }
    assert_eq!(boots(&Fake::new(folder().path(), &values())), "this one");
}
