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

/// A stand-in for Python: a script of the shell.
fn python(folder: &Path, script: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("python");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_cluster_needs_a_python_with_what_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let asked = |python: &Path| {
        let mut command = study(&folder.path().join("out"), &["--dask", "tcp://127.0.0.1:1"]);
        let output = command.env("SOLO_PYTHON", python).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = asked(&folder.path().join("nobody"));
    assert!(said.contains("no such file or folder") && said.contains("pip install"), "{said}");
    let said = asked(&python(folder.path(), "echo 'solocore and distributed'; exit 1"));
    assert!(said.contains("no solocore and distributed") && said.contains("SOLO_PYTHON"), "{said}");
    assert!(!folder.path().join("out").exists(), "nothing was begun");
}

#[test]
fn what_a_cluster_has_judged_is_put_together_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    // Who is asked to judge does, by this very program, and is told the study, the folder and the sizes.
    let script = format!(
        "[ \"$1\" = -P ] && exit 0\n[ \"$1 $2 $3 $6 $7\" = '-m solocore study --dask tcp://here:1' ] || exit 9\n\
         file=$4; out=$5; shift 7; exec {} study $file --out $out \"$@\" >/dev/null",
        env!("CARGO_BIN_EXE_solo")
    );
    let python = python(folder.path(), &script);
    let (apart, here) = (folder.path().join("apart"), folder.path().join("here"));
    let size = ["--sets", "5", "--seed", "7", "--quiet"];
    let mut command = study(&apart, &[&size[..], &["--dask", "tcp://here:1"]].concat());
    let output = command.env("SOLO_PYTHON", python).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(study(&here, &size).output().unwrap().status.code(), Some(0));
    assert!(parquet(&apart) == parquet(&here));
}

#[test]
fn a_fit_writes_tables_that_a_study_reads_and_lists_what_does_not_hold() {
    let dir = tempfile::tempdir().unwrap();
    let fit = |words: &[&str]| {
        let mut command = common::solo();
        command.args(["study", "fit"]).args(words).output().unwrap()
    };
    let tables = dir.path().join("tables");
    let answer =
        fit(&["studies/fits/thesis-5-9.toml", "--sets", "1", "-q", "--write", tables.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&answer.stdout);
    assert!(text.starts_with("thesis 5.9: fitted to published curves, not measured; 1 set a cap"), "{text}");
    // So few sets say little: but the working set alone is too much for 0.82, whatever the kernel costs.
    assert!(text.contains("has a weighted schedulability of 0.82\n    before"), "{text}");
    assert_eq!(answer.status.code(), Some(1), "{text}");
    let [held, all] = {
        let line = text.lines().find(|line| line.ends_with("published sentences hold")).unwrap();
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
        [numbers.next().unwrap(), numbers.next().unwrap()]
    };
    assert_eq!(text.matches("does not hold: ").count(), all - held, "{text}");
    for name in ["epos-p", "epos-g", "litmus-p", "litmus-c", "litmus-g"] {
        let table = std::fs::read_to_string(tables.join(format!("{name}.json"))).unwrap();
        let table = solo_prove::overhead::parse_table(&table).unwrap();
        assert!(table.source.contains("not measured"), "{}", table.source);
    }
    for (file, wanted) in [
        ("studies/thesis-fig-64.toml", "this is a study file; expected a file of a fit"),
        ("scenarios/control-and-vision.toml", "this is a scenario; expected a file of a fit"),
        ("studies/fits/none.toml", "no such file"),
    ] {
        let answer = fit(&[file]);
        let text = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(2), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}
