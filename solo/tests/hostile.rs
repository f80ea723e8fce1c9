//! `solo serve` among strangers: requests that are none, come slowly, come from elsewhere or never end, beside a reader
//! that loses nothing. Some in CI; with `SOLO_ATTACK=1` ten thousand, and five hundred connections that say nothing.

mod common;

use common::{rounds, solo};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

struct Serving {
    child: Child,
    address: String,
    token: String,
}

impl Serving {
    /// With this many descriptors.
    fn start(descriptors: usize, words: &[&str]) -> Self {
        let script = format!("ulimit -n {descriptors} && exec \"$0\" serve --listen 127.0.0.1:0 \"$@\"");
        let program = solo();
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .arg(program.get_program())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (address, token) = url.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream
    }

    /// What is answered to these bytes; nothing where the connection was closed on them.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // A head that is too long is answered before all of it was read.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> (u16, String) {
        let (address, token) = (&self.address, &self.token);
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
        let answer = self.send(request.as_bytes());
        match answer.split_once("\r\n\r\n") {
            Some((head, body)) => (status(head), body.to_owned()),
            None => (0, answer),
        }
    }

    /// The most memory that it ever had, in MiB.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    fn end(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn allowed() -> bool {
    let output = solo().args(["watch", "-e", "page-faults", "--", "true"]).output().unwrap();
    if output.status.code() == Some(0) {
        return true;
    }
    println!("skipped: a live reader of solo serve: {}", String::from_utf8_lossy(&output.stderr).trim());
    false
}

/// The kinds of bad requests. None of them may learn anything.
fn bad(i: usize, address: &str, token: &str) -> Vec<u8> {
    let good = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n");
    let many = |count: usize| "X-A: b\r\n".repeat(count);
    let n = i / 24;
    let text = match i % 24 {
        0 => format!("GET /frames HTTP/1.1\r\nHost: {address}\r\n\r\n"),
        1 => format!("GET /frames?token={}{} HTTP/1.1\r\nHost: {address}\r\n\r\n", &token[1..], n % 10),
        2 => format!("GET /frames?token={token} HTTP/1.1\r\nHost: evil{n}.example\r\n\r\n"),
        3 => format!("GET /frames HTTP/1.1\r\n{good}Origin: http://evil{n}.example\r\n\r\n"),
        4 => format!("GET /frames HTTP/1.1\r\n{good}Origin: null\r\n\r\n"),
        5 => format!("POST /frames HTTP/1.1\r\n{good}Content-Length: 5\r\n\r\nhello"),
        6 => format!("OPTIONS * HTTP/1.1\r\n{good}\r\n"),
        7 => format!("GET /frames?{} HTTP/1.1\r\n{good}\r\n", "x".repeat(20_000 + n)),
        8 => format!("GET /frames HTTP/1.1\r\n{good}X-Long: {}\r\n\r\n", "y".repeat(70_000 + n)),
        9 => format!("GET /frames HTTP/1.1\r\n{good}{}\r\n", many(65 + n % 1000)),
        10 => format!(
            "GET /frames HTTP/1.1\r\nHost: {address}\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        ),
        11 => format!("GET /frames HTTP/3.{n}\r\n{good}\r\n"),
        12 => format!("GET\t/frames\t{n}\r\n\r\n"),
        13 => "\r\n".repeat(1 + n % 5000),
        14 => format!(
            "GET /frames HTTP/1.1\r\n{good}Transfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: x\r\n X: folded\r\n\r\n"
        ),
        15 => format!("GET http://evil{n}.example/frames?token={token} HTTP/1.1\r\n{good}\r\n"),
        16 => format!("GET /..%2f..%2fetc/passwd?token={token} HTTP/1.1\r\n{good}\r\n"),
        17 => format!("GET /expression?text=x%3D1{} HTTP/1.1\r\n{good}\r\n", "%2B1".repeat(101 + n % 1500)),
        18 => format!("GET /expression?text=x%3D{}1 HTTP/1.1\r\n{good}\r\n", "(".repeat(65 + n % 3000)),
        19 => format!("GET /expression?text=x%3D{}1 HTTP/1.1\r\n{good}\r\n", "-".repeat(101 + n % 3000)),
        20 => format!("GET /frames HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {token}\r\n\r\n"),
        21 => {
            format!("GET /frames HTTP/1.1\r\nHost: {address}\u{0}\r\nAuthorization: Bearer {token}\r\n\r\n")
        }
        22 => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        _ => {
            // Bytes that are no text, the same in each run.
            let byte = |at: usize| (at.wrapping_mul(2_654_435_761) ^ n.wrapping_mul(40_503)) >> 7;
            return (0..64 + n % 900).map(|at| byte(at + 1) as u8).chain(*b"\r\n\r\n").collect();
        }
    };
    text.into_bytes()
}

/// Asks for what is new until it is told to stop; gives how many frames there were.
fn read_on(serving: &Serving, stop: &Receiver<()>) -> u64 {
    let mut next = 0;
    loop {
        let (status, body) = serving.get(&format!("/frames?after={next}"));
        assert_eq!(status, 200, "the reader is answered: {body}");
        let news: serde_json::Value = serde_json::from_str(&body).unwrap();
        let source = &news["sources"][0];
        let frames = source["frames"].as_array().unwrap().len() as u64;
        assert_eq!(source["missed"], 0, "the reader loses nothing");
        assert_eq!(source["next"].as_u64().unwrap(), next + frames, "nor hears anything twice");
        next += frames;
        if stop.recv_timeout(Duration::from_millis(20)) != Err(RecvTimeoutError::Timeout) {
            return next;
        }
    }
}

fn attack(descriptors: usize, requests: usize, idle: usize) {
    if !allowed() {
        return;
    }
    let busy = "while :; do :; done";
    let serving = Serving::start(descriptors, &["-e", "task-clock", "--every", "10ms", "--program", busy]);
    let (stop, stopped) = channel();
    std::thread::scope(|scope| {
        let serving = &serving;
        let reader = scope.spawn(move || read_on(serving, &stopped));
        let silent: Vec<TcpStream> = (0..idle)
            .map(|i| {
                let mut stream = serving.connect();
                // Some say nothing, some begin and never end.
                let _ = stream.write_all(&b"GET /frames HTTP/1.1\r\nX: "[..i % 26]);
                stream
            })
            .collect();
        for i in 0..requests {
            let request = bad(i, &serving.address, &serving.token);
            if i % 7 == 0 || i % 24 == 13 {
                // Half of it, and away; of empty lines there may come more for five seconds.
                let _ = serving.connect().write_all(&request[..request.len() / 2]);
                continue;
            }
            let answer = serving.send(&request);
            let shown = String::from_utf8_lossy(&request[..request.len().min(200)]).into_owned();
            let status = status(&answer);
            assert!(status == 0 || status >= 400, "{shown}: {answer}");
            assert!(!answer.contains("task_clock") && !answer.contains(&serving.token), "{shown}: {answer}");
        }
        drop(stop);
        let frames = reader.join().unwrap();
        println!("{requests} bad requests, {} silent connections, a reader of {frames} frames", silent.len());
    });
    assert!(serving.memory() < 200, "{} MiB", serving.memory());
    assert_eq!(serving.get("/frames").0, 200);
    assert_eq!(serving.end(), Some(130));
}

#[test]
fn strangers_do_not_come_between_the_server_and_its_reader() {
    attack(1024, rounds(240, 10_000), rounds(100, 500));
}

/// Fewer descriptors than silent connections: those that wait for the longest make room.
#[test]
fn a_server_without_descriptors_still_answers_who_asks() {
    attack(64, rounds(48, 1000), rounds(100, 500));
}

/// There is room for 32, and 40 come between a reader's connection and its words.
#[test]
fn a_crowd_behind_a_reader_does_not_push_it_out() {
    let folder = tempfile::tempdir().unwrap();
    let recording = common::recording(folder.path(), "calm", 1);
    let serving = Serving::start(64, &["--recording", &recording.to_string_lossy()]);
    let mut reader = serving.connect();
    let crowd: Vec<TcpStream> = (0..40).map(|_| serving.connect()).collect();
    let (address, token) = (&serving.address, &serving.token);
    write!(reader, "GET /frames HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    reader.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), 200, "beside {} that say nothing: {answer}", crowd.len());
}

#[test]
fn what_is_answered_is_closed_and_guarded() {
    let folder = tempfile::tempdir().unwrap();
    let recording = common::recording(folder.path(), "calm", 1);
    let serving = Serving::start(1024, &["--recording", &recording.to_string_lossy()]);
    let head = |method: &str| {
        let (address, token) = (&serving.address, &serving.token);
        let twice = format!("{method} /?token={token} HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(2);
        serving.send(twice.as_bytes())
    };
    let (get, only_head) = (head("GET"), head("HEAD"));
    assert!(get.starts_with("HTTP/1.1 200"), "{get}");
    assert_eq!(get.matches("HTTP/1.1 ").count(), 1, "one answer a connection");
    let (guards, page) = get.split_once("\r\n\r\n").unwrap();
    for guard in [
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "no-store",
        "no-referrer",
        "nosniff",
    ] {
        assert!(guards.contains(guard), "{guard}: {guards}");
    }
    assert!(page.contains("<html"));
    assert!(only_head.starts_with("HTTP/1.1 200") && only_head.ends_with("\r\n\r\n"), "{only_head}");
    let expected = format!("content-length: {}", page.len());
    assert!(only_head.to_lowercase().contains(&expected), "{expected}: {only_head}");
}

/// A line without end on standard error, of the watched program, takes no memory, and the next line is heard.
#[test]
fn a_line_without_end_takes_no_memory() {
    if !allowed() {
        return;
    }
    let bytes = rounds(200, 3000);
    let program = format!("head -c {bytes}000000 /dev/zero; printf '\\nthe \\033[31mnext\\n'; sleep 1000");
    let serving = Serving::start(1024, &["-e", "page-faults", "--program", &program]);
    loop {
        let (status, body) = serving.get("/frames?after=0");
        assert_eq!(status, 200);
        let news: serde_json::Value = serde_json::from_str(&body).unwrap();
        let line = news["sources"][0]["line"].as_str().unwrap_or_default();
        if line.contains("next") {
            assert_eq!(line, "the \\u{1b}[31mnext");
            break;
        }
        assert!(serving.memory() < 200, "{} MiB", serving.memory());
    }
    assert!(serving.memory() < 200, "{} MiB", serving.memory());
    assert_eq!(serving.end(), Some(130));
}

#[test]
fn a_recording_that_was_cut_off_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [open, torn] = ["open", "torn"].map(|name| common::recording(folder.path(), name, 1));
    let manifest = fs::read_to_string(open.join("watch.json")).unwrap();
    let manifest = manifest
        .replace("\"complete\":true", "\"complete\":false")
        .replace("\"target\":\"open\"", "\"target\":\"o\\u001b]0;pen\"");
    fs::write(open.join("watch.json"), manifest).unwrap();
    let rows = fs::read(torn.join("rows.jsonl")).unwrap();
    fs::write(torn.join("rows.jsonl"), &rows[..rows.len() - 20]).unwrap();
    let path = |folder: &Path| folder.to_string_lossy().into_owned();
    let serving = Serving::start(1024, &["--recording", &path(&open), "--recording", &path(&torn)]);
    let (_, body) = serving.get("/frames?after=0,0");
    let news: serde_json::Value = serde_json::from_str(&body).unwrap();
    for source in news["sources"].as_array().unwrap() {
        assert!(source["fault"].as_str().unwrap().contains("was cut off after"), "{source}");
        assert!(source["ended"].is_null() && source["next"].as_u64().unwrap() > 0, "{source}");
    }
    assert_eq!(news["sources"][0]["begin"]["target"], "o\\u{1b}]0;pen");
}
