//! What a manager of services hears of a program that it started: ready, alive, about to stop.
#![allow(missing_docs)]

mod common;

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A manager that wants to hear from its service ten times a second.
struct Manager {
    socket: UnixDatagram,
    service: Child,
}

impl Manager {
    fn start(folder: &Path, command: &mut Command) -> Self {
        let address = folder.join("notify");
        let socket = UnixDatagram::bind(&address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        command.env("NOTIFY_SOCKET", &address).env("WATCHDOG_USEC", "200000").env_remove("WATCHDOG_PID");
        let service = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { socket, service }
    }

    fn hears(&self) -> String {
        let mut buffer = [0; 256];
        let length = self.socket.recv(&mut buffer).expect("the service says something within a minute");
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    }

    /// From its beginning to its end.
    fn hears_a_whole_life(mut self) {
        assert_eq!(self.hears(), "READY=1");
        for _ in 0..3 {
            assert_eq!(self.hears(), "WATCHDOG=1");
        }
        common::interrupt(&self.service);
        let last = std::iter::repeat_with(|| self.hears()).find(|said| said != "WATCHDOG=1");
        assert_eq!(last.as_deref(), Some("STOPPING=1"));
        self.service.wait().unwrap();
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

#[test]
fn a_server_says_that_it_answers_lives_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let recording = common::recording(folder.path(), "calm", 1000);
    let mut serve = common::solo();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--recording"]).arg(recording);
    Manager::start(folder.path(), &mut serve).hears_a_whole_life();
}

#[test]
fn a_guard_says_that_it_holds_lives_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["guard", "-e", "page-faults", "--budget", "0=1000", "--quiet", "--state"];
    let guard = |more: &[&str]| {
        let mut guard = common::solo();
        guard.args(words).arg(folder.path().join("state")).args(more);
        guard
    };
    let tried = guard(&["--time", "5ms"]).output().unwrap();
    if tried.status.code() == Some(3) {
        println!("skipped: a guard as a service: {}", String::from_utf8_lossy(&tried.stderr).trim());
        return;
    }
    Manager::start(folder.path(), &mut guard(&[])).hears_a_whole_life();
}

/// Who is not a service's manager hears nothing, and a manager that is gone stops nobody.
#[test]
fn a_manager_that_is_gone_is_no_reason_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let recording = common::recording(folder.path(), "calm", 1000);
    let mut serve = common::solo();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--recording"]).arg(recording);
    serve.env("NOTIFY_SOCKET", folder.path().join("nobody")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = serve.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    assert!(line.contains("127.0.0.1"), "{line}");
    common::interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("does not hear this process"), "{said}");
}
