//! Whose lines of the last level count together.

use solo_model::Experiment;
use solo_scenario::{Platforms, parse};
use std::path::Path;

fn read(processes: &str) -> Experiment {
    let text = format!(
        "name = \"processes\"\nplatform = \"xeon-e5-2695v3\"\njobs = 1\n[scheduler]\npolicy = \"P-RR\"\n\
         [scheduler.monitor]\nmonitor = \"occupancy\"\nthreshold = 0\naction = \"report\"\nperiod = \"10ms\"\nclasses = [\"best-effort\"]\n\
         {processes}\n\
         [[application]]\nname = \"solver\"\nthreads = 3\ncores = [0, 2, 3]\nwork = [{{ parallel = [{{ compute = \"1ms\" }}] }}]\n\
         [[application]]\nname = \"editor\"\ncores = [1]\nwork = [{{ compute = \"1ms\" }}]\n"
    );
    let found = parse(&text, Path::new("processes.toml"), &Platforms::builtin());
    found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json())).base
}

/// The threads of an application are one process, as those of a program are; `processes` may part them.
#[test]
fn an_application_is_one_process_unless_it_is_parted() {
    let cases: [(&str, [usize; 4]); 3] = [
        ("", [0, 0, 0, 1]),
        ("processes = [[\"solver-0\", \"editor\"]]", [0, 1, 2, 0]),
        ("processes = [[\"solver-2\"]]", [1, 2, 0, 3]),
    ];
    for (processes, expected) in cases {
        let experiment = read(processes);
        let listening = experiment.listening.as_ref().expect("it listens");
        let names: Vec<_> = experiment.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["solver-0", "solver-1", "solver-2", "editor"]);
        assert_eq!(listening.process_of(4), expected, "{processes}");
    }
}
