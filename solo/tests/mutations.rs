//! Files of every format, broken by a seeded generator and given to the program: an answer or a refusal in words, in bounded
//! memory and processor time, never a panic. Some rounds in CI; with `SOLO_ATTACK=1` a thousand of each format.

mod common;

use common::{CALM, root, rounds, scenario, solo};
use solo_model::SplitMix64;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What means something somewhere, put where it means something else.
const PIECES: [&[u8]; 24] = [
    b"0",
    b"-1",
    b"1e400",
    b"NaN",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"340282366920938463463374607431768211456",
    b"\"",
    b"'''",
    b"[[[[[[[[[[[[[[[[",
    b"{{{{{{{{{{{{{{{{",
    b"]",
    b"}",
    b"\\u0000",
    b"\x00",
    b"\x1b[2J",
    b"\xff\xfe",
    "\u{202e}".as_bytes(),
    "\u{feff}".as_bytes(),
    b"null",
    b"../../../../etc/passwd",
    b"%s%n",
    b"\r",
];

/// One to four changes: bytes cut out, doubled, replaced, swapped, or pieces put in.
fn broken(sound: &[u8], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for _ in 0..=random.below(4) {
        let mut at = |length: usize| random.below(length as u64 + 1) as usize;
        let (from, to) = (at(bytes.len()), at(bytes.len()));
        let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 200));
        match at(6) {
            0 => drop(bytes.drain(from..to)),
            1 => {
                let part = bytes[from..to].to_vec();
                bytes.splice(from..from, part);
            }
            2 => bytes.truncate(to),
            3 if from < bytes.len() => bytes[from] ^= 1 << at(7),
            4 => {
                // A number becomes another.
                let digits = bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
                let digits: Vec<usize> = digits.map(|(at, _)| at).collect();
                if let Some(&digit) = digits.get(at(digits.len())) {
                    bytes.splice(digit..=digit, PIECES[at(7)].iter().copied());
                }
            }
            _ => drop(bytes.splice(from..from, PIECES[at(PIECES.len() - 1)].iter().copied())),
        }
    }
    bytes
}

/// The program within 1.5 GiB of address space and thirty seconds of a processor.
fn bounded(words: &[&str], input: Option<&Path>) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1500000; ulimit -t 30; exec \"$@\"", "sh"]);
    command.arg(solo().get_program()).args(words).current_dir(root()).env("NO_COLOR", "1");
    match input {
        Some(file) => command.stdin(fs::File::open(file).unwrap()),
        None => command.stdin(Stdio::null()),
    };
    command.output().unwrap()
}

/// Breaks `sound` again and again as the file `name` of a folder, and has `try_it` run on it.
fn attack(name: &str, sound: &[u8], try_it: impl Fn(&Path) -> Output) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(name);
    let mut answered = [0_usize; 4];
    for round in 0..rounds(40, 1000) {
        let mut random = SplitMix64::new(round as u64 ^ 0xB40C);
        fs::write(&file, broken(sound, &mut random)).unwrap();
        let output = try_it(&file);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        let calm = matches!(code, Some(0..=3)) && !said.contains("panicked");
        if !calm {
            let kept = std::env::temp_dir().join(format!("solo-mutation-{round}-{name}"));
            let _ = fs::copy(&file, &kept);
            panic!("{name}, round {round}: {:?}, kept as {}\n{said}", output.status, kept.display());
        }
        let hidden = |c: char| c != '\n' && c != '\t' && solo_model::text::is_hidden(c);
        assert!(!said.contains(hidden), "{name}, round {round} prints what a terminal acts on: {said:?}");
        answered[code.unwrap_or(0) as usize] += 1;
    }
    fs::write(&file, sound).unwrap();
    let whole = try_it(&file).status.code();
    assert!(name == "figures.toml" || matches!(whole, Some(0 | 3)), "{name} is sound: {whole:?}");
    println!("{name}: exit codes 0 to 3: {answered:?}");
    // Breaking that breaks nothing would try nothing.
    assert!(answered[2] > 0, "{name}: nothing was refused: {answered:?}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

fn shipped(file: &str) -> Vec<u8> {
    fs::read(root().join(file)).unwrap()
}

#[test]
fn broken_scenarios() {
    let text = CALM.replace("[scheduler]", "[[lock]]\nname = \"bus\"\nprotocol = \"ceiling\"\n[scheduler]").replace(
        "{ compute = \"1ms\" }",
        "{ lock = \"bus\" }, { repeat = 3, steps = [{ compute = [\"1us\", \"1ms\"] }] }, { unlock = \"bus\" }",
    ) + "wcet = \"4ms\"\ncolors = \"0-3\"\n[isolation.bandwidth]\ncores = { 0 = \"25%\" }\n[[variant]]\nname = \"v\"\nseed = 3\n";
    attack("scenario.toml", text.as_bytes(), |file| bounded(&["check", path(file)], None));
}

#[test]
fn broken_files_of_rt_app() {
    let thread = |policy: &str, name: &str| {
        format!(
            "\"{name}\" : {{ \"instance\" : 2, \"delay\" : 50, {policy} \"cpus\" : [0, 1], \"phases\" : {{ \"a\" : {{ \"loop\" : 3, \
             \"run\" : 100, \"lock\" : \"m\", \"sleep\" : 5, \"unlock\" : \"m\" }}, /* then */ \"b\" : {{ \"sem_post\" : \"s\", \
             \"timer\" : {{ \"ref\" : \"unique\", \"period\" : 9000, \"mode\" : \"absolute\" }} }}, }} }}"
        )
    };
    let fifo = thread("\"policy\" : \"SCHED_FIFO\", \"priority\" : 7,", "x");
    let global = "\"global\" : { \"duration\" : 2, \"pi_enabled\" : true }";
    let text = format!("{{ \"tasks\" : {{ {fifo}, {} }},\n{global} }}", thread("", "y"));
    attack("threads.json", text.as_bytes(), |file| bounded(&["import", "rt-app", path(file)], None));
}

/// As large as a file may be, of few and of many different parts: answered within the time and memory of a broken one.
#[test]
fn large_files_of_rt_app() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("large.json");
    let many = |of: &dyn Fn(usize) -> String, times: usize| (0..times).map(of).collect::<Vec<_>>().join(",");
    let thread = |events: String| format!("{{\"tasks\":{{\"t\":{{{events}}}}}}}");
    let threads = |times| many(&|n| format!("\"t{n}\":{{\"run\":1,\"sleep\":1}}"), times);
    for (what, text, code) in [
        ("threads", format!("{{\"tasks\":{{{}}}}}", threads(100_000)), 2),
        ("as many threads as may be", format!("{{\"tasks\":{{{}}}}}", threads(10_000)), 0),
        ("events", thread(many(&|_| "\"run\":1".to_owned(), 300_000)), 0),
        ("locks that are held", thread(many(&|n| format!("\"lock\":\"{n}\""), 200_000)), 2),
        ("keys", thread(many(&|n| format!("\"key{n}\":1"), 200_000)), 2),
        ("keys twice", thread(many(&|_| "\"delay\":1".to_owned(), 300_000)), 2),
        ("brackets", "[".repeat(4_000_000), 2),
        ("comments", "/*".repeat(2_000_000), 2),
    ] {
        fs::write(&file, text).unwrap();
        let output = bounded(&["import", "rt-app", "--quiet", path(&file)], None);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{what}: {said}");
        assert!(said.len() < 10_000, "{what} says {} bytes", said.len());
    }
}

#[test]
fn broken_platforms() {
    for name in ["core2-q9550", "juno"] {
        let sound = shipped(&format!("platforms/{name}.toml"));
        attack(&format!("{name}.toml"), &sound, |file| bounded(&["platforms", path(file)], None));
    }
}

#[test]
fn broken_overheads() {
    attack("costs.toml", &shipped("platforms/overheads/epos-thesis.toml"), |file| {
        let folder = file.parent().unwrap();
        let text = CALM.replace("policy = \"P-RM\"", "policy = \"P-RM\"\noverheads = \"costs.toml\"");
        let scenario = scenario(folder, &text.replace(", { sweep = \"64KiB\" }", ""));
        bounded(&["check", path(&scenario)], None)
    });
}

#[test]
fn broken_task_sets() {
    let line =
        "{\"m\":8,\"cluster\":2,\"tasks\":[{\"c\":1000,\"t\":10000,\"d\":10000},{\"c\":2500,\"t\":20000}]}\n";
    attack("sets.jsonl", line.repeat(3).as_bytes(), |file| {
        bounded(&["prove", "--jsonl", "--explain"], Some(file))
    });
}

#[test]
fn broken_figures() {
    let text = "scenario = \"none.toml\"\nacross = \"size\"\ntasks = [\"a\"]\n[[figure]]\ntitle = \"t\"\nup = \"u\"\n\
                scale = \"logarithmic\"\nvalues = [{ value = \"100 * seconds / (l1_hits + l1_misses)\" }]\n";
    // The scenario is not there: a sound file is refused, too, but after it was read.
    attack("figures.toml", text.as_bytes(), |file| bounded(&["plot", path(file)], None));
}

#[test]
fn broken_studies() {
    // Its files of costs lie beside it; the built-in ones do not.
    let costs = [
        "overheads/epos.json",
        "overheads/litmus-p.json",
        "overheads/litmus-c.json",
        "overheads/litmus-g.json",
    ];
    let sound = String::from_utf8(shipped("studies/thesis-fig-64.toml")).unwrap();
    let sound = costs.iter().fold(sound, |text, file| text.replace(file, "epos"));
    attack("study.toml", sound.as_bytes(), |file| {
        let out = file.with_extension("out");
        let _ = fs::remove_dir_all(&out);
        bounded(&["study", path(file), "--sets", "1", "--caps-every", "1000000", "--out", path(&out)], None)
    });
}

#[test]
fn broken_traces() {
    let text: String = (0..200_u64).map(|at| format!("{} {:#x}\n", at % 3, at * 4096 % 77_777)).collect();
    attack("program.din", text.as_bytes(), |file| bounded(&["trace", "profile", path(file)], None));
}

#[test]
fn broken_maps() {
    let text: String = (0..400_u64)
        .map(|at| format!("{:#x} {:#x} {}\n", at * 4096, at * 8192 + 64, if at % 4 == 0 { 300 } else { 200 }))
        .collect();
    attack("timings.txt", text.as_bytes(), |file| {
        bounded(&["measure", "map", "--timings", path(file)], None)
    });
}

/// Each file of a finished run; its hashes tell of most of it.
#[test]
fn broken_runs() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("run");
    let file = scenario(home.path(), &CALM.replace("jobs = 20", "jobs = 3"));
    let output = solo().args(["run", path(&file), "--out", path(&out), "--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    for name in ["manifest.json", "experiment.json", "records.solo", "scenario.toml"] {
        let sound = fs::read(out.join(name)).unwrap();
        attack(name, &sound, |broken| {
            fs::copy(broken, out.join(name)).unwrap();
            let output = bounded(&["report", path(&out), "--format", "json"], None);
            fs::write(out.join(name), &sound).unwrap();
            output
        });
    }
}
