//! `partition = "cap-..."` in scenario files: the cores, and that they are those that somebody would write by hand.

use solo_model::Experiment;
use solo_scenario::Platforms;
use std::path::Path;

/// Four tasks; where `cores` are given each names its own.
fn scenario(partition: &str, cores: Option<[u16; 4]>) -> String {
    let rows = [
        ("a", "soft", 40, "0-1"),
        ("b", "soft", 30, "1-2"),
        ("c", "soft", 60, "4"),
        ("d", "best-effort", 0, "2"),
    ];
    let mut text = format!(
        "name = \"groups\"\nplatform = \"i7-2600\"\njobs = 1\n[scheduler]\npolicy = \"P-EDF\"\n{partition}\n"
    );
    for (at, (name, class, wcet, colors)) in rows.into_iter().enumerate() {
        let core = cores.map_or(String::new(), |cores| format!("core = {}\n", cores[at]));
        let times =
            if wcet > 0 { format!("period = \"100ms\"\nwcet = \"{wcet}ms\"\n") } else { String::new() };
        text += &format!(
            "[[task]]\nname = \"{name}\"\nclass = \"{class}\"\n{times}{core}colors = \"{colors}\"\nwork = [{{ sweep = \"64KiB\" }}]\n"
        );
    }
    text + "[isolation]\n"
}

fn experiment(text: &str) -> Experiment {
    let found = solo_scenario::parse(text, Path::new("groups.toml"), &Platforms::builtin());
    found.unwrap_or_else(|report| panic!("{report:?}\n{text}")).base
}

fn cores(experiment: &Experiment) -> Vec<u16> {
    experiment.tasks.iter().map(|task| task.core.expect("assigned").0).collect()
}

#[test]
fn groups_stay_together_and_the_rest_is_as_if_written_by_hand() {
    for (method, expected) in [
        ("cap-ffd", [0, 0, 1, 0]),
        ("cap-bfd", [0, 0, 1, 0]),
        ("cap-wfd", [0, 0, 1, 0]),
        ("cap-nfd", [0, 0, 1, 0]),
        ("cap-gs", [0, 0, 1, 0]),
    ] {
        let planned = experiment(&scenario(&format!("partition = \"{method}\""), None));
        assert_eq!(cores(&planned), expected, "{method}");
        assert_eq!(planned, experiment(&scenario("", Some(expected))), "{method}");
    }
}

#[test]
fn without_regard_to_colors_the_group_is_torn_apart() {
    let worst = experiment(
        &scenario("partition = \"wfd\"", None)
            .replace("class = \"best-effort\"", "class = \"best-effort\"\ncore = 7"),
    );
    let cores = cores(&worst);
    assert_ne!(cores[0], cores[1]);
}

#[test]
fn a_group_that_fits_nowhere_is_split_by_cap_gs_and_refused_by_cap() {
    let with = |method: &str| scenario(&format!("partition = \"{method}\"\ncapacity = \"65%\""), None);
    let refused = solo_scenario::parse(&with("cap-wfd"), Path::new("groups.toml"), &Platforms::builtin());
    let told = format!("{:?}", refused.map(|_| ()).expect_err("the group needs 70 %"));
    assert!(told.contains("equation 3"), "{told}");
    let split = cores(&experiment(&with("cap-gs")));
    assert_ne!(split[0], split[1], "{split:?}");
}

#[test]
fn work_that_touches_memory_without_colors_shares_with_everybody() {
    let text = scenario("partition = \"cap-wfd\"", None).replace("colors = \"4\"\n", "");
    let refused = solo_scenario::parse(&text, Path::new("groups.toml"), &Platforms::builtin());
    assert!(format!("{:?}", refused.map(|_| ()).expect_err("one group of 1.3 cores")).contains("equation 3"));
    // What only computes shares with nobody.
    let computes = text.replacen(
        "wcet = \"60ms\"\nwork = [{ sweep = \"64KiB\" }]",
        "work = [{ compute = \"60ms\" }]",
        1,
    );
    assert_ne!(computes, text);
    assert_eq!(cores(&experiment(&computes)), [0, 0, 1, 0]);
}
