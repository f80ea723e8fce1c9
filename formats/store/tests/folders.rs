//! Folders as an adversary, a second process and a full disk would have them.

use solo_store::{Dir, Folder, Kind, NotAFile, Output, Replace, StoreError};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A run with two files, left behind.
fn filled(path: &Path) {
    let folder = Folder::claim(path, Kind::Run, Replace::Never).unwrap();
    folder.write("manifest.json", b"{}").unwrap();
    folder.write("records.solo", b"...").unwrap();
}

#[test]
fn a_folder_is_filled_once_and_replaced_when_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs/a");
    filled(&path);
    assert!(matches!(Folder::claim(&path, Kind::Run, Replace::Never), Err(StoreError::Occupied { .. })));
    assert_eq!(names(&path), [".solo", "manifest.json", "records.solo"]);
    let folder = Folder::claim(&path, Kind::Run, Replace::Ours).unwrap();
    assert_eq!(names(&path), [".solo"]);
    folder.write("manifest.json", b"new").unwrap();
    assert_eq!(fs::read(path.join("manifest.json")).unwrap(), b"new");
}

#[test]
fn what_is_foreign_is_never_removed() {
    let home = tempfile::tempdir().unwrap();
    // A web application's folder, a project of the user's, one with a list that was made up.
    let cases = [
        ("web", "manifest.json", "{\"manifest_version\":3}"),
        ("project", "thesis.tex", "x"),
        (
            "forged",
            ".solo",
            "{\"solo\":\"folder\",\"schema\":1,\"kind\":\"run\"}\n{\"file\":\"../thesis.tex\"}\n",
        ),
        ("other", ".solo", "alone"),
    ];
    fs::write(home.path().join("thesis.tex"), "mine").unwrap();
    for (name, file, content) in cases {
        let path = home.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(file), content).unwrap();
        for replace in [Replace::Never, Replace::Ours] {
            let error = Folder::claim(&path, Kind::Run, replace).unwrap_err();
            assert!(
                matches!(error, StoreError::Foreign { .. } | StoreError::Occupied { .. }),
                "{name}: {error}"
            );
        }
        assert!(Folder::remove(&path).is_err());
        assert_eq!(fs::read_to_string(path.join(file)).unwrap(), content);
        assert_eq!(names(&path), [file], "nothing was left there either");
    }
    assert_eq!(fs::read_to_string(home.path().join("thesis.tex")).unwrap(), "mine");
}

#[test]
fn a_foreign_file_beside_ours_keeps_both() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a");
    filled(&path);
    fs::write(path.join("notes.txt"), "mine").unwrap();
    match Folder::claim(&path, Kind::Run, Replace::Ours) {
        Err(StoreError::Foreign { found, .. }) => assert_eq!(found, "notes.txt"),
        other => panic!("{other:?}"),
    }
    assert_eq!(names(&path), [".solo", "manifest.json", "notes.txt", "records.solo"]);
}

#[test]
fn a_listed_name_that_became_something_else_is_foreign() {
    let home = tempfile::tempdir().unwrap();
    let (path, mine) = (home.path().join("a"), home.path().join("mine"));
    filled(&path);
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("file"), "mine").unwrap();
    fs::remove_file(path.join("records.solo")).unwrap();
    fs::create_dir(path.join("records.solo")).unwrap();
    fs::write(path.join("records.solo/file"), "mine").unwrap();
    assert!(matches!(Folder::claim(&path, Kind::Run, Replace::Ours), Err(StoreError::Foreign { .. })));
    // A link is removed as a link.
    fs::remove_dir_all(path.join("records.solo")).unwrap();
    symlink(mine.join("file"), path.join("records.solo")).unwrap();
    drop(Folder::claim(&path, Kind::Run, Replace::Ours).unwrap());
    assert_eq!(fs::read_to_string(mine.join("file")).unwrap(), "mine");
}

#[test]
fn one_of_two_wins_with_force_and_without() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a");
    let first = Folder::claim(&path, Kind::Run, Replace::Never).unwrap();
    first.write("manifest.json", b"first").unwrap();
    for replace in [Replace::Never, Replace::Ours] {
        assert!(matches!(Folder::claim(&path, Kind::Run, replace), Err(StoreError::Busy { .. })));
    }
    assert!(matches!(Folder::remove(&path), Err(StoreError::Busy { .. })));
    assert_eq!(fs::read(path.join("manifest.json")).unwrap(), b"first");
    drop(first);
    drop(Folder::claim(&path, Kind::Run, Replace::Ours).unwrap());
}

#[test]
fn of_many_at_once_exactly_one_wins() {
    let home = tempfile::tempdir().unwrap();
    for round in 0..50 {
        let path = home.path().join(format!("{round}"));
        let barrier = std::sync::Barrier::new(4);
        let won = std::thread::scope(|scope| {
            let one = || {
                barrier.wait();
                let claimed = Folder::claim(&path, Kind::Run, Replace::Ours);
                // Nobody gives it back before all have tried.
                barrier.wait();
                claimed.is_ok()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|&won| won).count()
        });
        assert_eq!(won, 1);
    }
}

#[test]
fn parts_of_a_comparison_are_locked_and_removed_with_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a");
    let whole = Folder::claim(&path, Kind::Comparison, Replace::Never).unwrap();
    let part = whole.below("corun", Kind::Run).unwrap();
    part.write("manifest.json", b"{}").unwrap();
    assert!(whole.below("corun", Kind::Run).is_err(), "two variants never share a folder");
    assert!(whole.below("..", Kind::Run).is_err());
    drop(whole);
    assert!(matches!(Folder::claim(&path, Kind::Run, Replace::Ours), Err(StoreError::Busy { .. })));
    drop(part);
    fs::write(path.join("corun/mine.txt"), "mine").unwrap();
    assert!(matches!(Folder::claim(&path, Kind::Run, Replace::Ours), Err(StoreError::Foreign { .. })));
    assert!(path.join("corun/manifest.json").exists(), "where one thing is foreign, nothing is removed");
    fs::remove_file(path.join("corun/mine.txt")).unwrap();
    Folder::remove(&path).unwrap();
    assert!(!path.exists());
}

#[test]
fn what_a_killed_command_left_is_ours() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a");
    filled(&path);
    // An unfinished file, and a line of the list that was cut.
    fs::write(path.join(".records.solo.part-1234-0"), "half").unwrap();
    let list = fs::read_to_string(path.join(".solo")).unwrap();
    fs::write(path.join(".solo"), format!("{list}{{\"fil")).unwrap();
    fs::create_dir(path.join("x")).unwrap();
    assert!(matches!(Folder::claim(&path, Kind::Run, Replace::Ours), Err(StoreError::Foreign { .. })));
    fs::remove_dir(path.join("x")).unwrap();
    drop(Folder::claim(&path, Kind::Run, Replace::Ours).unwrap());
    assert!(names(&path).is_empty());
}

#[test]
fn planted_links_are_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let (path, mine) = (home.path().join("a"), home.path().join("mine"));
    fs::write(&mine, "mine").unwrap();
    let folder = Folder::claim(&path, Kind::Run, Replace::Never).unwrap();
    for name in ["report.new", "report.html", ".report.html.part-1-1"] {
        symlink(&mine, path.join(name)).unwrap();
    }
    folder.write("report.html", b"page").unwrap();
    assert!(matches!(folder.grow("report.new"), Err(StoreError::NotAFile { what: NotAFile::Link, .. })));
    assert!(matches!(
        folder.dir().bytes("report.new", 9),
        Err(StoreError::NotAFile { what: NotAFile::Link, .. })
    ));
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(fs::read_to_string(path.join("report.html")).unwrap(), "page");
    // A link in place of a folder of ours, or of the list.
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    symlink(&other, path.join("corun")).unwrap();
    assert!(folder.below("corun", Kind::Run).is_err());
    symlink(&mine, other.join(".solo")).unwrap();
    assert!(Folder::claim(&other, Kind::Run, Replace::Ours).is_err());
    assert_eq!((fs::read_to_string(&mine).unwrap(), names(&other)), ("mine".into(), vec![".solo".into()]));
}

#[test]
fn a_file_of_ones_own_is_nobody_elses_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let dir = solo_store::Dir::private(&home.path().join("state")).unwrap();
    drop(dir.grow_own("journal").unwrap());
    let path = home.path().join("state/journal");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for (mode, is_own) in [(0o644, true), (0o600, true), (0o666, false), (0o620, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        match dir.grow_own("journal") {
            Ok(_) => assert!(is_own, "{mode:o}"),
            Err(error) => assert!(!is_own && matches!(error, StoreError::Shared { .. }), "{mode:o}: {error}"),
        }
    }
}

#[test]
fn a_folder_that_stayed_empty_is_given_back() {
    let home = tempfile::tempdir().unwrap();
    let (new, old) = (home.path().join("new"), home.path().join("old"));
    fs::create_dir(&old).unwrap();
    for path in [&new, &old] {
        drop(Folder::claim(path, Kind::Run, Replace::Never).unwrap());
    }
    assert_eq!(names(home.path()), ["old"]);
    assert!(names(&old).is_empty());
}

#[test]
fn names_lead_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::claim(&home.path().join("a"), Kind::Run, Replace::Never).unwrap();
    for name in ["", ".", "..", "../b", "/tmp/b", "a/b", "a\0b", &"x".repeat(256)] {
        assert!(matches!(folder.write(name, b""), Err(StoreError::Name { .. })), "{name:?}");
        assert!(matches!(folder.dir().bytes(name, 9), Err(StoreError::Name { .. })), "{name:?}");
    }
    assert_eq!(names(home.path()), ["a"]);
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let dir = Dir::open(home.path()).unwrap();
    fs::write(home.path().join("out.csv"), "old").unwrap();
    drop(dir.create("out.csv").unwrap());
    assert_eq!(fs::read_to_string(home.path().join("out.csv")).unwrap(), "old");
    let file = dir.create("out.csv").unwrap();
    std::io::Write::write_all(&mut file.handle().unwrap(), b"new").unwrap();
    assert_eq!(fs::read_to_string(home.path().join("out.csv")).unwrap(), "old");
    file.commit().unwrap();
    assert_eq!(fs::read_to_string(home.path().join("out.csv")).unwrap(), "new");
    assert_eq!(names(home.path()), ["out.csv"]);
}

#[test]
fn single_files_go_where_they_are_wanted() {
    let home = tempfile::tempdir().unwrap();
    let (mine, link) = (home.path().join("mine"), home.path().join("link"));
    Output::write(&mine, b"mine").unwrap();
    symlink(&mine, &link).unwrap();
    let refused = |path: &Path| Output::write(path, b"x").unwrap_err();
    assert!(matches!(refused(&link), StoreError::NotAFile { what: NotAFile::Link, .. }));
    assert!(matches!(refused(home.path()), StoreError::NotAFile { what: NotAFile::Folder, .. }));
    assert!(matches!(refused(&home.path().join("no/such")), StoreError::Io { .. }));
    assert_eq!(refused(Path::new("/dev/full")).reason(), "the disk is full");
    Output::write(Path::new("/dev/null"), b"x").unwrap();
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
}

/// A pipe takes what is written as long as somebody reads; to wait for a reader would be deaf to signals.
#[test]
fn a_pipe_that_nobody_reads_is_refused_and_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, OFlags};
    use std::io::Read;
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let refused = solo_store::Output::create(&pipe).unwrap_err().to_string();
    assert!(refused.contains("nobody reads this pipe"), "{refused}");
    let reader = rustix::fs::openat(CWD, &pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    solo_store::Output::write(&pipe, b"all of it").unwrap();
    let mut said = String::new();
    std::fs::File::from(reader).read_to_string(&mut said).unwrap();
    assert_eq!(said, "all of it");
}
