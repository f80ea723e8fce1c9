//! The package, and the Python wheel, in a minimal Debian without these sources, used as a stranger would.

use crate::debian::Debian;
use crate::python;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// From nothing to the guide's first page, with what pip installs by itself.
const FIRST_PAGE: Duration = Duration::from_secs(60);

/// Asks a server with and without its token, by the shell alone.
const SERVE: &str = r#"
solo serve --listen 127.0.0.1:8399 --token-file token >serve.log 2>&1 & served=$!
ask() { exec 3<>/dev/tcp/127.0.0.1/8399 && printf 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:8399\r\n%sConnection: close\r\n\r\n' "$1" >&3 && cat <&3; }
for try in 1 2 3 4 5 6 7 8 9 10; do [ -s token ] && (ask '' >/dev/null 2>&1) && break; sleep 0.5; done
ask '' | head -1
ask "Authorization: Bearer $(cat token)"$'\r\n' > metrics; head -1 metrics; grep -c '^solo' metrics
kill -INT $served; wait $served
ask '' 2>/dev/null && exit 1
grep -q ' 200 ' metrics && grep -q '^solo' metrics
"#;

/// What is done, by whom, and the exit code that it must have.
const STEPS: [(&str, &str, &str, i32); 9] = [
    ("which build it is", "alice", "solo --version", 0),
    (
        "the main job: deadlines are missed beside a neighbor, and the report says so",
        "alice",
        "solo compare /usr/share/doc/solocore/examples/video-and-screen.toml --jobs 40 --out run && test -s run/report.html",
        1,
    ),
    ("a proof", "alice", "solo check /usr/share/doc/solocore/examples/first-steps.toml", 0),
    (
        "bare metal, x86-64",
        "alice",
        "solo run /usr/share/doc/solocore/examples/first-steps.toml --on rtos",
        0,
    ),
    (
        "bare metal, 64-bit Arm",
        "alice",
        "solo run /usr/share/doc/solocore/examples/first-steps.toml --on rtos-arm64",
        0,
    ),
    (
        "real threads",
        "root",
        "solo run /usr/share/doc/solocore/examples/video-and-screen.toml --on linux --jobs 10; test $? -lt 2",
        0,
    ),
    ("the manual page", "alice", "MANPAGER=cat man solo-run | grep -q 'Run a scenario'", 0),
    ("what the unit of the guard does when it ends", "root", "solo guard --restore", 0),
    (
        "completions",
        "alice",
        "bash -c '. /usr/share/bash-completion/completions/solo && complete -p solo'",
        0,
    ),
];

/// Tries it; the code to exit with.
pub(super) fn run(package: &Path) -> Result<i32> {
    if let Some(reason) = Debian::impossible() {
        println!("skipped: the package in a Debian of its own: {reason}");
        return Ok(0);
    }
    let wheel = python::build_wheel()?;
    let debian = Debian::unpacked("trial")?;
    let mut failed = 0;
    let mut step = |what: &str, user: &str, words: &str, code: i32| -> Result<()> {
        failed += u32::from(!debian.inside(user, words)?.held(what, code));
        Ok(())
    };
    carry(&debian, package, "solocore.deb")?;
    let quiet = "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq --no-install-recommends";
    step(
        "what the trial itself needs",
        "root",
        &format!("{quiet} man-db python3-venv 2>&1 | sed -n '$p'"),
        0,
    )?;
    let list = "find / -xdev \\( -path /var -o -path /tmp -o -path /root -o -path /home -o -path /run \\) -prune -o -print | sort";
    let emulators = "qemu-system-x86 qemu-system-arm";
    step("emulators", "root", &format!("{quiet} {emulators} 2>&1 | sed -n '$p'; {list} > /tmp/before"), 0)?;
    step("installing", "root", &format!("{quiet} /tmp/solocore.deb"), 0)?;
    for (what, user, words, code) in STEPS {
        step(what, user, words, code)?;
    }
    fs::write(debian.folder().join("tmp/serve.sh"), SERVE)?;
    step("the server, which wants its token", "alice", "timeout 60 bash /tmp/serve.sh", 0)?;
    step(
        "removing leaves nothing",
        "root",
        &format!("apt-get purge -y -qq solocore && {list} | diff /tmp/before -"),
        0,
    )?;
    failed += first_page(&debian, &wheel)?;
    println!("{}", if failed == 0 { "the package holds" } else { "the package does not hold: see above" });
    Ok(i32::from(failed > 0))
}

/// The wheel, installed and used for the first page of the guide, within its time.
fn first_page(debian: &Debian, wheel: &Path) -> Result<u32> {
    let name = wheel.file_name().context("a wheel has a name")?.to_string_lossy().into_owned();
    carry(debian, wheel, &name)?;
    let scenarios = debian.folder().join("home/alice/scenarios");
    fs::create_dir_all(&scenarios)?;
    fs::copy(crate::root().join("scenarios/first-steps.toml"), scenarios.join("first-steps.toml"))?;
    let words = format!(
        "python3 -m venv ~/env && ~/env/bin/pip install --quiet /tmp/{name} && ~/env/bin/python -c \"{}\"",
        python::TRY
    );
    let took = debian.inside("alice", &words)?;
    let in_time = took.wall <= FIRST_PAGE;
    if !in_time {
        println!("the guide's first page took longer than {} s", FIRST_PAGE.as_secs());
    }
    Ok(u32::from(!took.held("the wheel and the guide's first page", 0)) + u32::from(!in_time))
}

fn carry(debian: &Debian, file: &Path, name: &str) -> Result<()> {
    let there = debian.folder().join("tmp").join(name);
    fs::copy(file, &there).with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(())
}
