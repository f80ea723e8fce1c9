//! What decides inside the kernel (bpf/ranks.h), compiled as a program and driven by a kernel of random numbers: the policy decides
//! everything again and agrees; where a line of it is wrong, it does not.

use solo_model::policy::Criterion as Kind;
use solo_model::task::Release;
use solo_model::{CoreId, CoreSet, Duration, TaskClass};
use solo_schedule::{Criterion, TaskParameters, Visitor, dispatch};
use solo_scx::{Replay, Replayed, Told};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, with some text of the scheduler replaced.
fn compiled(place: &Path, change: Option<(&str, &str)>) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(here.join("bpf/ranks.h")).unwrap();
    if let Some((from, to)) = change {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    std::fs::write(place.join("ranks.h"), text).unwrap();
    let program = place.join("plane");
    let mut compile = Command::new("cc");
    // Wrong lines may look wrong to a compiler, too.
    let warnings = if change.is_some() { "-w" } else { "-Werror" };
    compile.args(["-O1", "-Wall", "-Wno-unused-function", warnings, "-I"]).arg(place).arg("-o").arg(&program);
    let status = compile.arg(here.join("tests/plane.c")).status().expect("Rust links with a C compiler");
    assert!(status.success());
    program
}

#[derive(Clone, Copy)]
struct Case {
    seed: u64,
    threads: usize,
    cpus: usize,
    domains: usize,
    events: u64,
}

struct Run<'p>(&'p Path, Case);

impl Visitor for Run<'_> {
    type Output = Replayed;

    fn visit<C: Criterion>(self) -> Replayed {
        let Self(program, Case { seed, threads, cpus, domains, events }) = self;
        let words = [seed, threads as u64, cpus as u64, domains as u64, events].map(|word| word.to_string());
        let output = Command::new(program).args(words).output().unwrap();
        assert!(output.status.success());
        let parameters = TaskParameters {
            class: TaskClass::Hard,
            release: Release::Periodic { period: Duration::new(1), offset: Duration::ZERO },
            deadline: Some(Duration::new(1)),
            wcet: None,
            priority: None,
            core: None,
            member: None,
            migrate: None,
        };
        let of_domain = |domain| {
            let own = (0..cpus).filter(|cpu| cpu % domains == domain).map(|cpu| CoreId(cpu as u16));
            own.fold(CoreSet::EMPTY, CoreSet::with)
        };
        let sets: Vec<CoreSet> = (0..domains).map(of_domain).collect();
        let of_task = (0..threads).map(|task| task % domains).collect();
        let mut replay = Replay::<C>::new(vec![parameters; threads], of_task, &sets);
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let words: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let longs = [words[0], words[5]].map(u64::to_ne_bytes).concat();
            let rest =
                [words[1], words[2], words[3], words[4]].map(|word| (word as u32).to_ne_bytes()).concat();
            replay.take(Told::read(&[longs, rest].concat()).expect("it is whole"));
        }
        replay.finish()
    }
}

fn edf() -> Kind {
    Kind::ALL.into_iter().find(|kind| kind.name() == "EDF").expect("it is registered")
}

const CASES: [Case; 6] = [
    Case { seed: 1, threads: 12, cpus: 4, domains: 1, events: 400_000 },
    Case { seed: 2, threads: 9, cpus: 4, domains: 4, events: 200_000 },
    Case { seed: 3, threads: 24, cpus: 6, domains: 2, events: 200_000 },
    Case { seed: 4, threads: 64, cpus: 64, domains: 1, events: 100_000 },
    Case { seed: 5, threads: 3, cpus: 8, domains: 1, events: 100_000 },
    Case { seed: 6, threads: 40, cpus: 2, domains: 1, events: 100_000 },
];

#[test]
fn the_policy_agrees_with_everything_that_is_decided() {
    let place = tempfile::tempdir().unwrap();
    let program = compiled(place.path(), None);
    let mut decisions = 0;
    for case in CASES {
        let found = dispatch(edf(), Run(&program, case));
        assert_eq!((found.disagreements, found.lost, found.first), (0, 0, None), "seed {}", case.seed);
        assert!(found.decisions * 2 > case.events && found.placed > 0, "{found:?}");
        decisions += found.decisions;
    }
    println!("{decisions} decisions");
    assert!(decisions > 500_000);
}

/// Each wrong line is one that somebody could write.
#[test]
fn where_a_line_is_wrong_it_does_not_agree() {
    let wrong = [
        (
            "all that were asked count",
            "!is_less_urgent(p->running, p->best_rank, post->running, rank_on(p, post))",
            "1",
        ),
        ("of equals the last", "seat->rank < p->best_rank))", "seat->rank <= p->best_rank))"),
        ("the running one can't stay", "(seat->state == RUNNING && seat->cpu == cpu)", "0"),
        ("of equals the first is less urgent", "one > other);", "one < other);"),
        (
            "an empty CPU is forgotten",
            "\t\tpost->running = NOBODY;\n\t\tpost->asked = 1;",
            "\t\tpost->running = NOBODY;",
        ),
        ("one that was asked is asked again", "post->taken || post->asked)", "post->taken)"),
        (
            "who waits for a CPU that is taken waits on",
            "return ask(p, post_at(p, cpu)->domain, what);\n}\n\n/* It chooses now. */",
            "return NOBODY;\n}\n\n/* It chooses now. */",
        ),
        (
            "the first CPU is asked, not the least urgent",
            "if (p->best == NOBODY ||\n\t\t    is_less_urgent(",
            "if (p->best == NOBODY || 0 && is_less_urgent(",
        ),
        ("other domains' threads", "here && seat->domain == domain &&", "here &&"),
    ];
    for (what, from, to) in wrong {
        let place = tempfile::tempdir().unwrap();
        let program = compiled(place.path(), Some((from, to)));
        let caught = CASES.into_iter().take(3).any(|mut case| {
            case.events = 20_000;
            dispatch(edf(), Run(&program, case)).disagreements > 0
        });
        assert!(caught, "{what}");
    }
}
