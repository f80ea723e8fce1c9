//! Files of rt-app: what is read means what it meant, what has no counterpart is refused at its place, and what is written is read
//! back as the same tasks.

use proptest::prelude::*;
use solo_model::experiment::End;
use solo_model::policy::Scope;
use solo_model::task::{Release, TaskClass};
use solo_model::work::{LockProtocol, Step};
use solo_model::{Duration, Experiment};
use solo_scenario::{Code, Platforms, Severity, export_rt_app, import_rt_app, parse, parse_rt_app};
use std::path::Path;

fn imported(text: &str) -> Result<(Experiment, Vec<String>), solo_scenario::Diagnostics> {
    let imported = parse_rt_app(text, Path::new("made.json"), "ideal-8", &Platforms::builtin())?;
    let notes = imported.notes.iter().map(|note| {
        assert_eq!((note.code(), note.severity()), (Code::Differs, Severity::Warning));
        note.headline().to_owned()
    });
    let notes = notes.collect();
    let scenario = parse(&imported.scenario, Path::new("made.toml"), &Platforms::builtin());
    Ok((scenario.unwrap_or_else(|report| panic!("{report}\n{}", imported.scenario)).base, notes))
}

fn sound(text: &str) -> (Experiment, Vec<String>) {
    imported(text).unwrap_or_else(|report| panic!("{report}"))
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// The tutorial's forms: a flat thread, phases, instances, comments and a comma too many.
#[test]
fn threads_become_tasks() {
    let (read, notes) = sound(
        r#"{ /* two threads */ "tasks" : {
            "worker" : { "instance" : 3, "delay" : 500, "policy" : "SCHED_FIFO", "priority" : 90, "cpus" : [2],
                "run" : 1000, "lock" : "m", "run" : 20, "unlock" : "m",
                "timer" : { "ref" : "unique", "period" : 10000, "mode" : "absolute" } },
            "stages" : { "policy" : "SCHED_FIFO", "cpus" : [0], "phases" : {
                "light" : { "loop" : 4, "run" : 100, "sleep" : 50, },
                "heavy" : { "run0" : 700, "timer" : { "ref" : "own", "period" : 20000, "mode" : "absolute" } } } },
        }, "global" : { "duration" : 2, "default_policy" : "SCHED_OTHER", "pi_enabled" : true, "ftrace" : "none" } }"#,
    );
    assert_eq!(notes, [""; 0]);
    assert_eq!((read.name.as_str(), read.end), ("made", End::At(Duration::from_secs(2))));
    assert_eq!((&read.policy.scope, read.policy.criterion.name()), (&Scope::Partitioned, "FP"));
    let names: Vec<&str> = read.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["worker-0", "worker-1", "worker-2", "stages"]);
    assert_eq!(read.tasks[1].release, Release::Periodic { offset: us(500), period: us(10_000) });
    assert_eq!((read.tasks[1].priority, read.tasks[3].priority), (Some(9), Some(89)));
    assert_eq!(read.tasks[1].class, TaskClass::Soft);
    assert_eq!(read.locks[0].protocol, LockProtocol::Inheritance);
    let [Step::Repeat { times: 4, steps }, Step::Compute(heavy)] = read.tasks[3].work.steps.as_slice() else {
        panic!("{:?}", read.tasks[3].work)
    };
    assert_eq!((steps.len(), heavy.most), (2, us(700)));
}

#[test]
fn loops_timers_and_policies_say_how_jobs_are_released() {
    let release = |thread: &str| {
        let (read, _) = sound(&format!("{{\"tasks\":{{\"t\":{{{thread}}}}}}}"));
        (read.tasks[0].release, read.tasks[0].class, read.policy.criterion.name())
    };
    let timer = "\"timer\":{\"ref\":\"a\",\"period\":3000}";
    let best = TaskClass::BestEffort;
    let periodic = |offset| Release::Periodic { offset: us(offset), period: us(3000) };
    assert_eq!(release("\"run\":5,\"sleep\":5"), (Release::Continuous { offset: us(0) }, best, "RR"));
    assert_eq!(release("\"loop\":-1,\"run\":5"), (Release::Continuous { offset: us(0) }, best, "RR"));
    assert_eq!(release("\"loop\":3,\"delay\":7,\"run\":5"), (Release::Once { offset: us(7) }, best, "RR"));
    assert_eq!(release(&format!("\"run\":5,{timer}")), (periodic(0), best, "RR"));
    // A loop that begins with its timer releases its first job a period later.
    assert_eq!(release(&format!("\"delay\":7,{timer},\"run\":5")), (periodic(3007), best, "RR"));
    // The only phase of a thread that loops for ever.
    let only = format!("\"phases\":{{\"p\":{{\"loop\":9,\"run\":5,{timer}}}}}");
    assert_eq!(release(&only), (periodic(0), best, "RR"));
    let reserved = format!(
        "\"policy\":\"SCHED_DEADLINE\",\"dl-runtime\":900,\"dl-deadline\":2000,\"dl-period\":3000,\"run\":5,{timer}"
    );
    assert_eq!(release(&reserved), (periodic(0), TaskClass::Hard, "EDF"));
    let old = format!(
        "\"policy\":\"SCHED_DEADLINE\",\"dl-runtime\":900,\"deadline\":2000,\"period\":3000,\"run\":5,{timer}"
    );
    assert_eq!(release(&old), release(&reserved));
    let rounds = |read: &Experiment| match read.tasks[0].work.steps.as_slice() {
        [Step::Repeat { times, steps }] => (*times, steps.len()),
        steps => (1, steps.len()),
    };
    assert_eq!(rounds(&sound(r#"{"tasks":{"t":{"loop":3,"run":5,"sleep":1}}}"#).0), (3, 2));
    assert_eq!(rounds(&sound(r#"{"tasks":{"t":{"loop":3,"phases":{"p":{"loop":2,"run":5}}}}}"#).0), (6, 1));
}

/// A thread that no timer releases makes all of its kind best effort, so that priorities go on to count; misses are counted still.
#[test]
fn priorities_outweigh_how_threads_are_released() {
    let (read, _) = sound(
        r#"{"tasks":{"low":{"policy":"SCHED_FIFO","priority":5,"run":9,"timer":{"ref":"a","period":50}},
            "high":{"policy":"SCHED_RR","priority":50,"run":1,"sleep":9}, "rest":{"run":1,"sleep":9}}}"#,
    );
    assert!(read.tasks.iter().all(|task| task.class == TaskClass::BestEffort));
    assert_eq!(read.tasks.iter().map(|task| task.priority).collect::<Vec<_>>(), [Some(94), Some(49), None]);
    assert_eq!(read.tasks[0].deadline, Some(us(50)));
}

#[test]
fn processors_become_queues() {
    let scope = |cpus: [&str; 3]| {
        let threads = cpus.map(|cpus| format!("{{{cpus}\"run\":5,\"sleep\":5}}"));
        let [a, b, c] = threads;
        let (read, _) = sound(&format!("{{\"tasks\":{{\"a\":{a},\"b\":{b},\"c\":{c}}}}}"));
        (read.policy.scope.letter(), read.policy.domains(8).len())
    };
    assert_eq!(scope(["", "", ""]), ('G', 1));
    assert_eq!(scope(["\"cpus\":[1],", "\"cpus\":[1],", "\"cpus\":[7],"]), ('P', 8));
    assert_eq!(scope(["\"cpus\":[1,0],", "\"cpus\":[0,1],", "\"cpus\":[5],"]), ('C', 7));
    let all = "\"cpus\":[0,1,2,3,4,5,6,7],";
    assert_eq!(scope([all, all, all]), ('G', 1));
}

/// Each with the text that the message points at.
#[test]
fn what_has_no_counterpart_is_refused_at_its_place() {
    let thread = |more: &str| format!("{{\"tasks\":{{\"t\":{{\"run\":5,{more}}}}}}}");
    let event = |name: &str, value: &str| {
        (thread(&format!("\"{name}1\":{value}")), Code::NoCounterpart, format!("\"{name}1\""))
    };
    let mut wrong = vec![
        event("wait", "{\"ref\":\"a\",\"mutex\":\"b\"}"),
        event("signal", "\"a\""),
        event("broad", "\"a\""),
        event("sync", "{}"),
        event("barrier", "\"a\""),
        event("suspend", "\"a\""),
        event("resume", "\"a\""),
        event("yield", "\"\""),
        event("fork", "\"t\""),
        event("mem", "4096"),
        event("memrun", "{}"),
        event("iorun", "4096"),
    ];
    let timer = "\"timer\":{\"ref\":\"unique\",\"period\":100}";
    let mut add = |text: String, code: Code, place: &str| wrong.push((text, code, place.to_owned()));
    for (key, value) in
        [("util_min", "5"), ("util_max", "5"), ("nodes_membind", "[0]"), ("taskgroup", "\"/a\"")]
    {
        add(thread(&format!("\"{key}\":{value}")), Code::NoCounterpart, &format!("\"{key}\""));
    }
    add(thread("\"priority\":-19"), Code::NoCounterpart, "\"priority\"");
    add(thread("\"dl-runtime\":5"), Code::NoCounterpart, "\"dl-runtime\"");
    add(thread(&format!("\"loop\":5,{timer}")), Code::NoCounterpart, "\"timer\"");
    add(thread(&format!("{timer},\"run2\":5")), Code::NoCounterpart, "\"timer\"");
    add(
        thread(&format!("{timer},\"timer2\":{{\"ref\":\"unique\",\"period\":100}}")),
        Code::NoCounterpart,
        "\"timer2\"",
    );
    add(
        thread("\"policy\":\"SCHED_DEADLINE\",\"dl-runtime\":50,\"sleep\":5"),
        Code::NoCounterpart,
        "\"policy\"",
    );
    let reserved = |what: &str| thread(&format!("\"policy\":\"SCHED_DEADLINE\",{what},{timer}"));
    add(reserved("\"dl-runtime\":50,\"dl-period\":99"), Code::NoCounterpart, "\"dl-period\"");
    add(reserved("\"dl-runtime\":4,\"dl-period\":100"), Code::NoCounterpart, "\"dl-runtime\"");
    add(reserved("\"dl-runtime\":9,\"dl-period\":100,\"runtime\":9"), Code::NoCounterpart, "\"runtime\"");
    add(reserved("\"dl-period\":100"), Code::MissingKey, "\"policy\"");
    add(
        reserved("\"dl-runtime\":9,\"dl-deadline\":8,\"dl-period\":100"),
        Code::OutOfRange,
        "\"dl-deadline\"",
    );
    add(thread("\"slep\":5"), Code::UnknownKey, "\"slep\"");
    add(thread("\"sleep\":-5"), Code::OutOfRange, "\"sleep\"");
    add(thread("\"sleep\":5000000000"), Code::OutOfRange, "\"sleep\"");
    add(thread("\"sleep\":1.5"), Code::WrongType, "\"sleep\"");
    add(thread("\"sleep\":\"5\""), Code::WrongType, "\"sleep\"");
    add(thread("\"loop\":0"), Code::OutOfRange, "\"loop\"");
    add(thread("\"delay\":1,\"delay\":2"), Code::Duplicate, "\"delay\"");
    add(thread("\"policy\":\"SCHED_EXT\""), Code::UnknownWord, "\"policy\"");
    add(thread("\"cpus\":[8]"), Code::NoSuchCore, "\"cpus\"");
    add(thread("\"cpus\":[]"), Code::Empty, "\"cpus\"");
    add(thread("\"cpus\":[\"0\"]"), Code::WrongType, "\"cpus\"");
    add(thread("\"lock\":\"m\""), Code::Lock, "\"lock\"");
    add(thread("\"unlock\":\"m\""), Code::Lock, "\"unlock\"");
    add(thread("\"lock\":\"m\",\"lock2\":\"m\""), Code::Lock, "\"lock2\"");
    add(thread("\"lock\":\"m\",\"unlock\":\"m\",\"sem_post\":\"m\""), Code::NoCounterpart, "\"sem_post\"");
    add(thread("\"lock\":\"a\u{202e}\""), Code::HiddenCharacter, "\"lock\"");
    add(thread("\"phases\":{\"p\":{\"run\":1}}"), Code::NoCounterpart, "\"run\"");
    let phases = |inner: &str| format!("{{\"tasks\":{{\"t\":{{\"phases\":{{{inner}}}}}}}}}");
    add(phases("\"p\":{\"loop\":2,\"run\":1}"), Code::Differs, "");
    add(phases("\"p\":{\"policy\":\"SCHED_FIFO\",\"run\":1}"), Code::NoCounterpart, "\"policy\"");
    add(
        phases(&format!("\"p\":{{\"loop\":2,\"run\":1,{timer}}},\"q\":{{\"run\":2}}")),
        Code::NoCounterpart,
        "\"timer\"",
    );
    add(phases("\"p\":{\"loop\":-1,\"run\":1},\"q\":{\"run\":2}"), Code::NoCounterpart, "\"p\"");
    add(phases("\"p\":{\"loop\":2}"), Code::Empty, "\"p\"");
    add(phases(""), Code::Empty, "\"t\"");
    let two = |a: &str, b: &str| format!("{{\"tasks\":{{\"a\":{{\"run\":1,{a}}},\"b\":{{\"run\":1,{b}}}}}}}");
    let fifo = "\"policy\":\"SCHED_FIFO\"";
    let edf = "\"policy\":\"SCHED_DEADLINE\",\"dl-runtime\":9,\"dl-period\":100";
    add(two(&format!("{edf},{timer}"), &format!("{fifo},{timer}")), Code::NoCounterpart, "\"policy\"");
    add(two("\"policy\":\"SCHED_RR\"", fifo), Code::NoCounterpart, "\"policy\"");
    let shared = "\"timer\":{\"ref\":\"tick\",\"period\":100}";
    add(two(shared, shared), Code::NoCounterpart, "\"timer\"");
    add(thread(&format!("\"instance\":2,{shared}")), Code::NoCounterpart, "\"timer\"");
    add(two("\"cpus\":[0,1]", "\"cpus\":[1,2]"), Code::NoCounterpart, "\"cpus\"");
    add(two("\"cpus\":[0]", "\"sleep\":1"), Code::NoCounterpart, "\"b\"");
    add("{\"tasks\":{\"t\":{\"sleep\":0}}}".to_owned(), Code::Zero, "\"t\"");
    add("{\"tasks\":{\"t\":{\"run\":1},\"t\":{\"run\":1}}}".to_owned(), Code::Duplicate, "\"t\"");
    add("{\"tasks\":{}}".to_owned(), Code::NoTasks, "\"tasks\"");
    add("{\"tasks\":[]}".to_owned(), Code::WrongType, "\"tasks\"");
    add("[]".to_owned(), Code::WrongType, "[");
    add("{}".to_owned(), Code::NoTasks, "{");
    add("{\"tasks\":{\"t\":{\"run\":1}}".to_owned(), Code::Syntax, "}");
    add("{\"tasks\":{\"t\":{\"instance\":99999,\"run\":1}}}".to_owned(), Code::OutOfRange, "99999");
    for (text, code, place) in wrong {
        match imported(&text) {
            Ok(_) => assert_eq!(code, Code::Differs, "accepted: {text}"),
            Err(report) => {
                let problem = &report.problems()[0];
                let found = problem.file().slice(problem.span()).to_owned();
                assert_eq!((problem.code(), found.as_str()), (code, place.as_str()), "{text}\n{report}");
            }
        }
    }
}

/// An event that is wrong is told as that, and not also as none.
#[test]
fn a_thread_whose_only_event_is_wrong_is_not_called_empty() {
    for event in ["\"run\":-5", "\"run\":1e3", "\"slep\":5", "\"phases\":{\"p\":{\"run\":99999999999}}"] {
        let text = format!("{{\"tasks\":{{\"t\":{{{event}}}}}}}");
        let report = imported(&text).expect_err(&text);
        let codes: Vec<Code> = report.problems().iter().map(|problem| problem.code()).collect();
        assert!(!codes.is_empty() && !codes.contains(&Code::Empty), "{text}: {codes:?}");
    }
}

#[test]
fn what_means_a_little_else_is_noted_once() {
    let (_, notes) = sound(
        r#"{"tasks":{"a":{"runtime":5,"timer":{"ref":"unique","period":100}},"b":{"runtime":5,"timer":{"ref":"unique","period":90}}}}"#,
    );
    assert_eq!(notes.len(), 4, "{notes:?}");
    for word in ["SCHED_OTHER", "runtime", "relative", "no end"] {
        assert_eq!(notes.iter().filter(|note| note.contains(word)).count(), 1, "{word}: {notes:?}");
    }
}

#[test]
fn only_regular_files_of_a_bounded_size_are_read() {
    let read = |path: &Path| {
        import_rt_app(path, "ideal-8", &Platforms::builtin()).map(drop).map_err(|r| r.problems()[0].code())
    };
    assert_eq!(read(Path::new("/dev/zero")), Err(Code::File));
    let folder = tempfile::tempdir().expect("a folder");
    let large = folder.path().join("large.json");
    std::fs::File::create(&large).and_then(|file| file.set_len((4 << 20) + 1)).expect("a hole");
    assert_eq!(read(&large), Err(Code::FileTooLarge));
    std::fs::write(&large, "{\"tasks\":{\"t\":{\"run\":1,\"sleep\":1}}}").expect("a file");
    assert_eq!(read(&large), Ok(()));
}

/// Names what rt-app cannot say.
#[test]
fn what_rt_app_cannot_say_is_not_written() {
    let scenario = |policy: &str, more: &str, work: &str, rest: &str| {
        let text = format!(
            "name = \"x\"\nplatform = \"ideal-8\"\nduration = \"3s\"\n[scheduler]\npolicy = \"{policy}\"\n[[task]]\nname = \"it\"\ncore = 1\n\
             {more}\nwork = [{work}]\n{rest}"
        );
        let read = parse(&text, Path::new("x.toml"), &Platforms::builtin());
        export_rt_app(&read.unwrap_or_else(|report| panic!("{report}")).base)
            .map_err(|lacking| lacking.to_string())
    };
    let hard = "class = \"hard\"\nperiod = \"10ms\"\nwcet = \"1ms\"\npriority = 3";
    let compute = "{ compute = \"1ms\" }";
    let lock = "{ lock = \"l\" }, { unlock = \"l\" }";
    assert!(scenario("P-RM", hard, compute, "").is_ok());
    let cases = [
        (scenario("P-LLF", hard, compute, ""), "LLF"),
        (scenario("P-RR", hard, compute, ""), "`it`"),
        (scenario("P-RM", hard, "{ sweep = \"1MiB\" }", ""), "memory"),
        (scenario("P-RM", hard, "{ compute = [\"1us\", \"2us\"] }", ""), "range"),
        (scenario("P-RM", hard, "{ compute = \"1500ns\" }", ""), "1.5us"),
        (scenario("P-RM", hard, "{ repeat = 2, steps = [{ repeat = 2, steps = [] }] }", ""), "phases"),
        (scenario("P-RM", hard, lock, "[[lock]]\nname = \"l\"\nprotocol = \"ceiling\""), "`l`"),
        (scenario("P-RM", hard, lock, "[[lock]]\nname = \"l\"\nprotocol = \"semaphore\""), "`l`"),
        (
            scenario("P-EDF", "class = \"hard\"\nrelease = \"once\"\ndeadline = \"5ms\"", compute, ""),
            "SCHED_DEADLINE",
        ),
        (scenario("P-EDF", hard, "{ compute = \"9ms\" }, { compute = \"2ms\" }", ""), "SCHED_DEADLINE"),
        (scenario("P-RM", hard, compute, "colors = \"0\""), "isolat"),
    ];
    for (written, word) in cases {
        let said = written.expect_err(word);
        assert!(said.contains(word), "{word}: {said}");
    }
}

/// A scenario in the form that importing gives.
fn drawn(edf: bool, threads: &[(u64, u64, u64, u8, bool, u32)]) -> String {
    let policy = if edf { "P-EDF" } else { "P-FP" };
    let mut text = format!(
        "name = \"made\"\nplatform = \"ideal-8\"\nduration = \"3s\"\n[scheduler]\npolicy = \"{policy}\"\n[[lock]]\nname = \"l\"\n\
         protocol = \"inheritance\"\n[[lock]]\nname = \"s\"\nprotocol = \"semaphore\"\nunits = 0\n[[task]]\nname = \"locks\"\n\
         class = \"best-effort\"\ncore = 0\nrelease = \"once\"\nwork = [{{ lock = \"l\" }}, {{ unlock = \"l\" }}, {{ lock = \"s\" }}, \
         {{ unlock = \"s\" }}]\n"
    );
    for (index, &(c, slack, offset, form, repeated, core)) in threads.iter().enumerate() {
        let steps = match form % 4 {
            0 => format!("{{ compute = \"{c}us\" }}"),
            1 => format!(
                "{{ lock = \"l\" }}, {{ compute = \"{c}us\" }}, {{ unlock = \"l\" }}, {{ sleep = \"{slack}us\" }}"
            ),
            2 => format!("{{ sleep = \"1us\" }}, {{ compute = \"{c}us\" }}, {{ unlock = \"s\" }}"),
            _ => "{ lock = \"s\" }".to_owned(),
        };
        let steps = if repeated {
            format!(
                "{{ repeat = 1, steps = [] }}, {{ repeat = 3, steps = [{steps}] }}, {{ sleep = \"7us\" }}"
            )
        } else {
            steps
        };
        let steps = steps.replace("{ repeat = 1, steps = [] }, ", "");
        let (period, runtime) = (3 * c + slack + 10, 3 * c + 1);
        let class = if edf {
            format!("class = \"hard\"\ndeadline = \"{}us\"\nwcet = \"{runtime}us\"", period - 1)
        } else {
            format!("class = \"soft\"\npriority = {}", c % 99)
        };
        let offset = if offset > 0 { format!("offset = \"{offset}us\"\n") } else { String::new() };
        text += &format!(
            "[[task]]\nname = \"t{index}\"\n{class}\ncore = {}\nperiod = \"{period}us\"\n{offset}work = [{steps}]\n",
            core % 8
        );
    }
    text
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_the_same_tasks(
        edf: bool,
        threads in prop::collection::vec((1_u64..5000, 1_u64..9000, 0_u64..100, any::<u8>(), any::<bool>(), any::<u32>()), 1..7),
    ) {
        let text = drawn(edf, &threads);
        let before = parse(&text, Path::new("made.toml"), &Platforms::builtin()).unwrap_or_else(|r| panic!("{r}")).base;
        let written = export_rt_app(&before).unwrap_or_else(|lacking| panic!("{lacking}\n{text}"));
        let (after, _) = sound(&written);
        prop_assert_eq!(&after.tasks, &before.tasks, "{}", written);
        prop_assert_eq!((&after.policy, &after.locks, after.end), (&before.policy, &before.locks, before.end));
        // Keys are unique, as rt-app's own reader wants them, and the text is strict JSON.
        let strict: serde_json::Value = serde_json::from_str(&written).expect("strict JSON");
        prop_assert_eq!(strict["tasks"].as_object().map(serde_json::Map::len), Some(before.tasks.len()));
        prop_assert_eq!(export_rt_app(&after).ok(), Some(written));
    }

    #[test]
    fn no_text_is_too_strange(text in "[\\[\\]{}\":,a-z0-9 /*\\\\\n-]{0,200}") {
        let _ = imported(&text);
        let _ = imported(&format!("{{\"tasks\":{{\"t\":{{{text}}}}}}}"));
    }
}
