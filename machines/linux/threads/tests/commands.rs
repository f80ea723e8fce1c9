//! Tasks that are programs of the host's: a process for each job. What is asserted holds however slow or loaded the machine is.

mod common;

use common::{experiment, host, jobs, ms, once, two_cpus, unfinished};
use solo_model::experiment::End;
use solo_model::task::Release;
use solo_model::work::{Step, Work};
use solo_model::{CoreId, Criterion, Duration, Experiment, JobIndex, Record, Task, TaskClass, TaskId};
use solo_threads::{Counted, Host, Options, Priorities, Ran, ThreadsError, ThreadsLack, Under, admit, run};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

fn work(words: &[&str]) -> Work {
    Work { steps: vec![Step::Command(words.iter().map(|word| (*word).to_owned()).collect())] }
}

/// A script for the shell, each time it is released.
fn script(text: &str, class: TaskClass, release: Release) -> Task {
    Task {
        priority: Some(3),
        core: Some(CoreId(0)),
        work: work(&["sh", "-c", text]),
        ..Task::new("program", class, release)
    }
}

fn periodic(text: &str) -> Task {
    script(text, TaskClass::Hard, Release::Periodic { offset: Duration::ZERO, period: ms(60) })
}

fn ran_in(folder: &Path, experiment: &Experiment, host: &Host) -> Result<Ran, ThreadsError> {
    run(experiment, host, Options { folder: Some(folder), ..Options::default() }, &|| false)
}

/// True where there is a process of this number that has not ended.
fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// The numbers that a script wrote, one in each line.
fn numbers(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn each_job_is_a_process_with_the_cpu_and_the_priority_of_its_task() {
    let Some((host, _alone)) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Fields 40 and 41 are the real-time priority and the policy; `cat` is a process of the shell's.
    let text =
        "echo $$ >> processes; cat /proc/self/stat >> stat; grep Cpus_allowed_list /proc/self/status >> cpus";
    let mut experiment = experiment(vec![periodic(text), once("steps", 9, Vec::new())]);
    experiment.end = End::Jobs(3);
    let ran = ran_in(folder.path(), &experiment, &host).expect("it runs");
    let processes = numbers(&folder.path().join("processes"));
    let done = jobs(&ran.records, 0);
    assert!(done.len() == 3 && processes.len() >= 3, "{done:?} {processes:?}");
    assert!(processes.windows(2).all(|pair| pair[0] != pair[1]), "{processes:?}");
    let first = host.cpus[0].to_string();
    for line in numbers(&folder.path().join("cpus")) {
        assert_eq!(line.split_whitespace().next_back(), Some(first.as_str()));
    }
    let stats = numbers(&folder.path().join("stat"));
    for stat in &stats {
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split_whitespace().collect();
        let (priority, policy) = (fields[40 - 3].parse::<i32>().unwrap(), fields[41 - 3]);
        assert_eq!(policy, "1", "SCHED_FIFO: {stat}");
        assert!(priority > host.priorities.0 && priority < host.priorities.1, "{stat}");
    }
    assert_eq!(stats.len(), processes.len());
    assert_eq!(ran.failed, []);
    for job in done {
        assert!(job.executed > Duration::ZERO && job.start <= job.finish, "{job:?}");
    }
}

/// What a program used is the processes' own time, and so is what the schedule and the counters say.
#[test]
fn what_processes_do_is_their_tasks() {
    use solo_model::EventId;
    use solo_perf::resolve::Attr;
    let Some((host, _alone)) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The shell counts, and so does a process of its own at the same time: both on one CPU.
    let text = "(i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done) & i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; wait";
    let once = script(text, TaskClass::Hard, Release::Once { offset: ms(5) });
    // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK.
    let clock = Attr { kind: 1, config: [1, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
    let counted = Counted::new(vec![EventId::TASK_CLOCK], vec![vec![(0, clock)]]);
    let counts = match counted.probe() {
        Ok(()) => Some(&counted),
        Err(error) => {
            println!("skipped: counters of processes: {error}");
            None
        }
    };
    let experiment = experiment(vec![Task { deadline: Some(Duration::from_secs(60)), ..once }]);
    let options = Options { counted: counts, folder: Some(folder.path()), under: Under::Fifo };
    let ran = run(&experiment, &host, options, &|| false).expect("it runs");
    let job = jobs(&ran.records, 0)[0];
    let near = |what: &str, found: Duration| {
        let (low, high) = (found.min(job.executed), found.max(job.executed));
        assert!(high.get() - low.get() < high.get() / 5, "{what}: {found}, and it executed {}", job.executed);
    };
    assert!(job.executed > Duration::from_micros(500), "{job:?}");
    assert!(
        job.executed <= job.finish.since(job.start) + Duration::from_micros(200),
        "{job:?}: there is one CPU"
    );
    if let Some(count) = job.counts.get(EventId::TASK_CLOCK) {
        near("counted", Duration::new(count));
    }
    if let Some(why) = &ran.no_switches {
        return println!("skipped: the schedule of processes: {why}");
    }
    let (mut busy, mut since) = (0, None);
    for record in &ran.records {
        let Record::Switch(switch) = record else { continue };
        busy += since.take().map_or(0, |since| switch.at.since(since).get());
        since = switch.to.map(|_| switch.at);
    }
    // The run ends while the thread that saw the end of it is still on its CPU.
    busy += since.map_or(0, |since| ran.end.since(since).get());
    near("in the schedule", Duration::new(busy));
}

#[test]
fn what_a_program_leaves_in_its_group_ends_with_its_job() {
    let Some((host, _alone)) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut experiment = experiment(vec![periodic("sleep 1000 & echo $! >> left")]);
    experiment.end = End::Jobs(4);
    let ran = ran_in(folder.path(), &experiment, &host).expect("it runs");
    assert_eq!(jobs(&ran.records, 0).len(), 4);
    let left = numbers(&folder.path().join("left"));
    assert!(left.len() >= 4 && left.iter().all(|process| !lives(process)), "{left:?}");
}

/// Programs that never end are asked to when the run does, and killed where they do not hear; the run takes no longer than that.
#[test]
fn programs_end_with_the_run() {
    let Some((host, _alone)) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    let asleep = "trap 'echo asked >> heard; exit 7' TERM; echo $$ > one; while :; do sleep 0.01; done";
    let deaf = "trap '' TERM; echo $$ > two; while :; do sleep 0.01; done";
    let never = |text| script(text, TaskClass::BestEffort, Release::Continuous { offset: Duration::ZERO });
    // More urgent than nothing, and it never gives its CPU away.
    let hog = Task {
        core: Some(CoreId(0)),
        ..script("echo $$ > three; while :; do :; done", TaskClass::Hard, Release::Once { offset: ms(150) })
    };
    let hog = Task { deadline: Some(ms(1)), ..hog };
    let mut experiment = experiment(vec![never(asleep), never(deaf), hog]);
    experiment.end = End::At(ms(400));
    let began = Instant::now();
    let ran = ran_in(folder.path(), &experiment, &host).expect("it runs");
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    assert_eq!(ran.end.get(), ms(400).get());
    for task in 0..3 {
        assert!(jobs(&ran.records, task).is_empty(), "{task}");
        assert_eq!(unfinished(&ran.records, task).len(), 1, "{task}");
    }
    let files = ["one", "two", "three"].map(|name| numbers(&folder.path().join(name)));
    assert!(files.iter().all(|file| file.len() == 1), "{files:?}");
    assert!(files.iter().flatten().all(|process| !lives(process)), "{files:?}");
    assert_eq!(numbers(&folder.path().join("heard")), ["asked"]);
    // What was ended has not failed.
    assert_eq!(ran.failed, []);
}

#[test]
fn who_asks_to_stop_is_heard_while_a_program_runs() {
    let Some((host, _alone)) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut experiment = experiment(vec![script(
        "echo $$ > it; exec sleep 1000",
        TaskClass::BestEffort,
        Release::Once { offset: Duration::ZERO },
    )]);
    experiment.end = End::At(Duration::from_secs(3600));
    let it = folder.path().join("it");
    let options = Options { folder: Some(folder.path()), ..Options::default() };
    let stopped = run(&experiment, &host, options, &|| !numbers(&it).is_empty());
    assert!(matches!(stopped, Err(ThreadsError::Interrupted)), "{stopped:?}");
    assert!(!lives(&numbers(&it)[0]));
}

#[test]
fn programs_that_fail_are_told_and_none_is_started_that_is_not_there() {
    let Some((host, _alone)) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = "echo . >> runs; [ $(wc -l < runs) -ne 2 ]; [ $(wc -l < runs) -ne 3 ] || kill -9 $$";
    let mut experiment = experiment(vec![periodic(text), Task { name: "fine".into(), ..periodic("true") }]);
    experiment.end = End::Jobs(4);
    let ran = ran_in(folder.path(), &experiment, &host).expect("it runs");
    let [failed] = ran.failed.as_slice() else { panic!("{:?}", ran.failed) };
    assert_eq!((failed.task, failed.failed, failed.first), (TaskId(0), 1, JobIndex(2)));
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&failed.how), Some(9));
    assert!(failed.ended >= 4, "{failed:?}");

    fs::write(folder.path().join("text"), "no program").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (program, expected) in [
        ("no-such-program-anywhere", ErrorKind::NotFound),
        ("./no-such", ErrorKind::NotFound),
        ("./text", ErrorKind::PermissionDenied),
        ("./folder", ErrorKind::IsADirectory),
        ("/", ErrorKind::IsADirectory),
    ] {
        experiment.tasks[0].work = work(&[program]);
        match ran_in(folder.path(), &experiment, &host) {
            Err(ThreadsError::Lacks(ThreadsLack::NoProgram { program: named, task, why })) => {
                assert_eq!((named.as_str(), task.as_str(), why), (program, "program", expected));
            }
            other => panic!("{program}: {other:?}"),
        }
    }
    // It may be executed, and who is to read it is not there.
    let file = folder.path().join("text");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(&file, "#!/no/such/interpreter\n").unwrap();
    experiment.tasks[0].work = work(&["./text"]);
    let refused = ran_in(folder.path(), &experiment, &host);
    assert!(matches!(refused, Err(ThreadsError::Refused { what: "a program", .. })), "{refused:?}");
}

/// Before anything starts, by name.
#[test]
fn only_priorities_of_sched_fifo_are_a_programs() {
    let host = two_cpus();
    let hard = experiment(vec![periodic("true")]);
    assert_eq!(admit(&hard, &host), Ok(()));
    let edf = |mut experiment: Experiment| {
        experiment.policy.criterion = Criterion::Edf;
        experiment
    };
    let domains =
        solo_threads::plane_domains(&edf(hard.clone()), &host, Priorities::RAISES).expect("it has a domain");
    let plane = Priorities::new(&hard, &domains, &host).expect("there is room");
    let key = |_: TaskId, _: Option<solo_model::Instant>| 0;
    let ranked = Under::Ranked(solo_threads::Ranking { plane: &plane, key: &key });
    let task = || "program".to_owned();
    for (under, expected) in [
        (ranked, ThreadsLack::RankedCommand { task: task() }),
        (Under::Deadline, ThreadsLack::ReservedCommand { task: task() }),
    ] {
        match run(&edf(hard.clone()), &host, Options { under, ..Options::default() }, &|| false) {
            Err(ThreadsError::Lacks(lack)) => assert_eq!(lack, expected),
            other => panic!("{other:?}"),
        }
    }
    let hosted = solo_threads::hosted::run(&edf(hard), &host, None, &|| false);
    let refused = hosted.expect_err("it is refused").to_string();
    assert!(refused.contains("nothing here starts programs"), "{refused}");
}
