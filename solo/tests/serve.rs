//! `solo serve` as a browser meets it, and its end.

mod common;

use common::{recording, solo};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that is ended when the test is over.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(words: &[&str]) -> Self {
        let mut child = solo()
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    fn token(&self) -> &str {
        self.url.split("token=").nth(1).unwrap()
    }

    /// Status and body.
    fn get(&self, path: &str, token: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
            self.address()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn interrupt(&self) {
        common::interrupt(&self.child);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn chromium() -> Option<&'static str> {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let there = |name: &&&str| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    let found = known.iter().find(there).copied();
    if found.is_none() {
        println!("skipped: the page of solo serve in a browser: no chromium");
    }
    found
}

/// What a browser makes of the page, seen after some seconds of its own time.
fn browse(browser: &str, url: &str, profile: &Path, task: &str) -> Vec<u8> {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1240,900"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=3000", task, url])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success());
    output.stdout
}

#[test]
fn a_browser_draws_two_recordings_side_by_side() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["calm", "busy"].map(|name| recording(folder.path(), name, name.len() as u64 * 1000));
    let serving = Serving::start(&["--recording", &a.to_string_lossy(), "--recording", &b.to_string_lossy()]);
    let profile = folder.path().join("profile");
    let page = String::from_utf8(browse(browser, &serving.url, &profile, "--dump-dom")).unwrap();
    assert!(page.contains("all watches have ended"), "{page}");
    // Three charts: two counts and the recordings' metric; a line for each recording in each.
    for metric in ["instructions", "cycles", "ipc"] {
        assert!(page.contains(&format!("<h2>{metric}</h2>")), "{metric}: {page}");
    }
    for color in ["s0", "s1"] {
        assert!(page.matches(&format!("<path class=\"{color}\" d=\"M")).count() >= 3, "{page}");
    }
    assert!(page.contains("calm: doubts: 40 rows") && page.contains("busy: doubts: 40 rows"), "{page}");
    let picture = folder.path().join("page.png");
    browse(browser, &serving.url, &profile, &format!("--screenshot={}", picture.display()));
    let bytes = std::fs::read(&picture).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{} bytes", bytes.len());
}

#[test]
fn a_wrong_token_learns_nothing_and_ctrl_c_ends_what_was_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("pid");
    let allowed = solo().args(["watch", "-e", "page-faults", "--", "true"]).output().unwrap();
    if allowed.status.code() != Some(0) {
        println!("skipped: solo serve: {}", String::from_utf8_lossy(&allowed.stderr).trim());
        return;
    }
    let script = format!("echo $$ > {}; while :; do :; done", mark.display());
    let token = folder.path().join("token");
    let words = ["-e", "page-faults,task-clock", "--every", "10ms", "--program", &script, "--token-file"];
    let mut serving = Serving::start(&[&words[..], &[&token.to_string_lossy()]].concat());
    assert_eq!(std::fs::read_to_string(&token).unwrap().trim(), serving.token());
    assert_eq!(serving.get("/frames", "").0, 401);
    assert_eq!(serving.get("/", &"0".repeat(64)).0, 401);
    let frames = |serving: &Serving| {
        let (status, body) = serving.get("/frames?after=0", serving.token());
        assert_eq!(status, 200);
        let news: serde_json::Value = serde_json::from_str(&body).unwrap();
        news["sources"][0]["next"].as_u64().unwrap()
    };
    // Each question takes its time; the watch has its second frame after half a second.
    while frames(&serving) < 2 {
        std::thread::yield_now();
    }
    let (status, metrics) = serving.get("/metrics", serving.token());
    let counts =
        |line: &&str| line.starts_with("solo_events_total{") && line.contains("event=\"task_clock\"");
    let spent = metrics.lines().find(counts).and_then(|line| line.rsplit_once(' ')).unwrap().1;
    assert!(status == 200 && spent.parse::<u64>().unwrap() > 0, "{metrics}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.child.id())).unwrap();
    assert!(status.contains("CapEff:\t0000000000000000"), "whoever answers has no capability: {status}");
    serving.interrupt();
    assert_eq!(serving.child.wait().unwrap().code(), Some(130));
    let program = std::fs::read_to_string(&mark).unwrap();
    let program = Path::new("/proc").join(program.trim());
    assert!(!program.exists(), "the program that was started has ended with the watch");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = solo().args(["serve", "--listen", &address, "--", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&address) && said.contains("--listen"), "{said}");
}

#[test]
fn top_without_a_terminal_says_what_to_use_instead() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), "calm", 1);
    let recording = recording.to_string_lossy();
    for (words, part) in [
        (&["top"][..], "solo watch --all"),
        (&["top", "--", "true"], "solo watch"),
        (&["top", "--recording", &recording], "rows.jsonl"),
    ] {
        let output = solo().args(words).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("terminal") && said.contains(part), "{said}");
    }
    let output = solo().args(["top", "--recording", "/nonexistent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
