//! `solo study` as a user runs it: killed, gone on with, in shards.

mod common;

use common::{root, solo};
use std::path::Path;
use std::process::{Command, Stdio};

fn study(out: &Path, more: &[&str]) -> Command {
    let mut command = solo();
    command.args(["study", "studies/thesis-fig-64.toml", "--caps-every", "12", "--out"]).arg(out).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn parquet(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("sets.parquet")).expect("the study is whole")
}

#[test]
fn a_killed_study_goes_on_and_loses_nothing() {
    let (killed, once) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let size = ["--sets", "40", "--quiet"];
    let mut child = study(killed.path(), &size).spawn().unwrap();
    let journal = killed.path().join("journal.jsonl");
    // As soon as something is kept, the process is gone.
    while std::fs::metadata(&journal).map_or(0, |file| file.len()) < 3000
        && child.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
    drop(child.kill());
    child.wait().unwrap();
    let output = study(killed.path(), &size).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("1440 sets in") && text.contains("had been judged before"), "{text}");
    assert_eq!(study(once.path(), &size).output().unwrap().status.code(), Some(0));
    assert!(parquet(killed.path()) == parquet(once.path()));
    for file in ["summary.json", "report.html", "figure-1.svg"] {
        assert!(once.path().join(file).exists(), "{file}");
    }
}

#[test]
fn shards_are_merged_and_missing_ones_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let size = ["--sets", "3", "--quiet"];
    let shard = |name: &str, shard: &str| {
        let output = study(&at(name), &[&size[..], &["--shard", shard]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let merge = || {
        let mut command = solo();
        command.args(["study", "merge", "studies/thesis-fig-64.toml", "--caps-every", "12", "--out"]);
        command.arg(at("merged")).args(size).arg(at("a")).arg(at("b")).output().unwrap()
    };
    shard("a", "1/2");
    std::fs::create_dir(at("b")).unwrap();
    let output = merge();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("shard 2/2"), "{output:?}");
    assert!(!at("merged").join("sets.parquet").exists());
    shard("b", "2/2");
    assert_eq!(merge().status.code(), Some(0));
    assert_eq!(study(&at("once"), &size).output().unwrap().status.code(), Some(0));
    assert!(parquet(&at("merged")) == parquet(&at("once")));
}

#[test]
fn what_is_wrong_gives_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    let text = std::fs::read_to_string(root().join("studies/thesis-fig-64.toml")).unwrap();
    std::fs::write(&file, text.replace("cores = 8", "cores = 7")).unwrap();
    let output = solo().arg("study").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cluster"), "{output:?}");
    for wrong in [&["study"][..], &["study", "nowhere.toml"], &["study", "x.toml", "--shard", "5/4"]] {
        assert_eq!(solo().args(wrong).output().unwrap().status.code(), Some(2), "{wrong:?}");
    }
}
