//! `--remote` with a made-up ssh on the path: it runs the far command here, or fails as ssh does.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with an `ssh` that does this with host `$1` and command `$2`.
fn fake_ssh(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ssh");
    // Called as: ssh -T -- HOST COMMAND
    std::fs::write(&path, format!("#!/bin/sh\nshift 2\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn solo(ssh: &TempDir) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = common::solo();
    command.env("PATH", format!("{}:{path}", ssh.path().display()));
    command
}

fn watch(ssh: &TempDir, program: &str, words: &[&str]) -> Output {
    let fixed = ["watch", "--remote", "ann@box", "--remote-program", program];
    solo(ssh).args(fixed).args(words).output().unwrap()
}

const HERE: &str = env!("CARGO_BIN_EXE_solo");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn allowed() -> bool {
    let output = common::solo().args(["watch", "-e", "page-faults", "--", "true"]).output().unwrap();
    if output.status.code() == Some(0) {
        return true;
    }
    println!("skipped: solo watch --remote: {}", text(&output.stderr).trim());
    false
}

#[test]
fn rows_totals_and_the_exit_status_come_from_the_other_machine() {
    if !allowed() {
        return;
    }
    let ssh = fake_ssh("[ \"$1\" = ann@box ] || exit 99\nexec sh -c \"$2\"");
    let script = "echo 'said it'\\''s'; exit 7";
    let output = watch(&ssh, HERE, &["-e", "page-faults", "--", "sh", "-c", script]);
    let (table, other) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{table}{other}");
    assert!(table.contains("pmc0=page_faults") && table.contains("doubts: "), "{table}");
    assert!(table.contains(" exit "), "{table}");
    assert_eq!(other.trim(), "said it's", "the program's own output, its words unharmed");
}

#[test]
fn a_recording_of_another_machine_is_complete() {
    if !allowed() {
        return;
    }
    let ssh = fake_ssh("exec sh -c \"$2\"");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output =
        watch(&ssh, HERE, &["-e", "page-faults", "--out", &out.to_string_lossy(), "--", "sleep", "0.3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(Path::new(&out).join(name)).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&read("watch.json")).unwrap();
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["machine"], serde_json::Value::Null, "this machine's kernel is not the other's");
    assert!(read("names.jsonl").contains("\"name\":\"sleep\""), "{}", read("names.jsonl"));
}

#[test]
fn what_the_other_machine_refuses_is_refused_here() {
    let ssh = fake_ssh("exec sh -c \"$2\"");
    let output = watch(&ssh, HERE, &["-e", "frobs", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no event is called `frobs`"), "{}", text(&output.stderr));
}

#[test]
fn each_failure_says_what_to_do() {
    for (script, part) in [
        ("exec sh -c \"$2\"", "install solo there"),
        ("echo 'Host key verification failed.' >&2; exit 255", "host key"),
        ("echo 'ann@box: Permission denied (publickey).' >&2; exit 255", "ssh ann@box true"),
        ("echo 'ssh: connect to host box port 22: Connection refused' >&2; exit 255", "can't be reached"),
        ("echo \"error: invalid value 'stream' for '--format <FORMAT>'\" >&2; exit 2", "same version"),
        (
            "echo '{\"begin\":{\"schema\":\"solo-stream/9\",\"version\":\"9.0.0\",\"host\":\"box\",\"per\":\"thread\",\"target\":\"\",\"period_ns\":null,\"counts\":[],\"sets\":[],\"virtuals\":[],\"metrics\":[]}}'",
            "solo-stream/9 of version 9.0.0",
        ),
        ("echo Welcome; exit 0", "found `Welcome`"),
        ("exit 255", "ended"),
    ] {
        let output = watch(&fake_ssh(script), "/nonexistent/solo", &["-e", "page-faults", "--", "true"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{script}: {said}");
        assert!(said.contains(part), "{script}: {said}");
    }
}

#[test]
fn a_machine_without_counters_is_asked_for_what_the_kernel_counts() {
    use std::io::{BufRead, BufReader, Read, Write};
    if !allowed() {
        return;
    }
    let ssh = fake_ssh(
        "case \"$2\" in *instructions*) echo '{\"refused\":{\"exit\":3,\"message\":\"no counter\"}}';; \
         *) exec sh -c \"$2\";; esac",
    );
    let mut serving = solo(&ssh)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--remote",
            "ann@box",
            "--remote-program",
            HERE,
            "--",
            "true",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let (address, token) = url.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET /frames?token={token} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serving.kill().unwrap();
    serving.wait().unwrap();
    let news: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let counts = &news["sources"][0]["begin"]["counts"];
    assert_eq!(counts.to_string(), r#"["task_clock","page_faults","context_switches"]"#, "{news}");
}

/// A far machine may say anything: nothing of it acts on this terminal, and nothing makes this program work for years.
#[test]
fn what_a_far_machine_says_is_shown_and_not_obeyed() {
    let begin = |counts: &str| {
        format!(
            "{{\"begin\":{{\"schema\":\"solo-stream/1\",\"version\":\"0.1.0\",\"host\":\"b\\u001b]0;ox\",\"per\":\"thread\",\"target\":\"\",\"period_ns\":1,\"counts\":[{counts}],\"sets\":[[0]],\"virtuals\":[],\"metrics\":[]}}}}"
        )
    };
    let row = |at: &str| {
        format!(
            "{{\"row\":{{\"row\":1,\"at_ns\":{at},\"span_ns\":1,\"subject\":\"thread\",\"process\":1,\"id\":1,\"event\":\"tick\",\"set\":0,\"counts\":[1],\"virtuals\":[],\"metrics\":[]}}}}"
        )
    };
    let refused =
        "{\"refused\":{\"exit\":3,\"message\":\"no\\u001b]0;PWNED\\u0007 counter\\nerror: all is well\"}}";
    for (says, part) in [
        ("printf '\\033]0;PWNED\\007 lost\\n' >&2; exit 255".to_owned(), "\\u{1b}]0;PWNED\\u{7} lost"),
        (format!("cat <<'X'\n{refused}\nX"), "no\\u{1b}]0;PWNED\\u{7} counter\\nerror"),
        (format!("cat <<'X'\n{}\nX", begin("\"a\\u001b[2J\"")), "counts: expected a name"),
        (format!("cat <<'X'\n{}\nX", begin(&vec!["\"a\""; 2000].join(","))), "counts: expected 1024 entries"),
        (format!("cat <<'X'\n{}\n{}\nX", begin("\"a\""), row("18446744073709551615")), "at_ns: expected"),
        (format!("cat <<'X'\n{}\n{}\nX", begin("\"a\""), begin("\"a\"")), "no such word as `begin`"),
        (format!("cat <<'X'\n{}\nX\nhead -c 40000000 /dev/zero", begin("\"a\"")), "is no message"),
        ("head -c 40000000 /dev/zero >&2; exit 255".to_owned(), "bytes more"),
    ] {
        let output = watch(&fake_ssh(&says), "/nonexistent/solo", &["-e", "page-faults", "--", "true"]);
        let said = text(&output.stdout) + &text(&output.stderr);
        let start: String = says.chars().take(200).collect();
        assert_eq!(output.status.code(), Some(3), "{start}: {}", &said[said.len().saturating_sub(500)..]);
        assert!(said.contains(part), "{start}: {}", &said[said.len().saturating_sub(500)..]);
        assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{start}");
        assert!(said.len() < 100_000, "{start}: {} bytes", said.len());
    }
}
