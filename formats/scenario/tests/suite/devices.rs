//! `[[device]]`: what is decided where nothing is said, and what is refused.

use solo_model::task::Release;
use solo_model::{BufferId, Bytes, CoreId, Direction, Duration, Experiment, TaskId};
use solo_scenario::{Code, Platforms, Scenario, parse};
use std::path::Path;

const HEAD: &str = r#"
name = "devices"
platform = "p4080"
duration = "10ms"
[scheduler]
policy = "P-RM"
[[task]]
name = "control"
class = "hard"
core = 0
period = "5ms"
work = [{ compute = "1ms" }]
[[task]]
name = "vision"
class = "hard"
core = 1
period = "5ms"
work = [{ sweep = "64KiB", buffer = "frames" }]
[[buffer]]
name = "frames"
size = "64KiB"
"#;

fn read(text: &str) -> Result<Scenario, Vec<Code>> {
    let found = parse(&format!("{HEAD}{text}"), Path::new("devices.toml"), &Platforms::builtin());
    found.map_err(|report| report.problems().iter().map(|problem| problem.code()).collect())
}

fn device(name: &str, owner: &str, more: &str) -> String {
    format!(
        "[[device]]\nname = \"{name}\"\nowner = \"{owner}\"\ndirection = \"input\"\nmoves = \"4KiB\"\nperiod = \"5ms\"\n{more}\n"
    )
}

fn base(text: &str) -> Experiment {
    read(text).unwrap_or_else(|found| panic!("{found:?}\n{text}")).base
}

#[test]
fn what_is_not_said_of_a_device_is_decided() {
    let plain = base(&device("camera", "vision", ""));
    let [camera] = plain.devices.as_slice() else { panic!("{:?}", plain.devices) };
    assert_eq!((camera.owner, camera.direction), (TaskId(1), Direction::Input));
    assert_eq!((camera.offset, camera.slot), (Duration::ZERO, camera.period));
    assert_eq!((camera.core, camera.rate, camera.wait_every), (None, None, Bytes::new(64)));
    // Memory of its own, behind that of all tasks.
    let own = &plain.buffers[camera.buffer.index()];
    assert_eq!((own.name.as_str(), own.size), ("camera (device)", Bytes::from_kib(4)));
    let shared = base(&device("camera", "vision", "buffer = \"frames\"\ncore = 7"));
    assert_eq!((shared.devices[0].buffer, shared.devices[0].core), (BufferId(0), Some(CoreId(7))));
}

#[test]
fn a_partition_owns_devices_as_well() {
    let partition = "[isolation.partitions]\neyes = [\"vision\"]\n";
    let owned = base(&(device("camera", "eyes", "") + partition));
    assert_eq!(owned.devices[0].owner, TaskId(1));
}

#[test]
fn a_device_goes_with_its_owner() {
    let text = device("camera", "vision", "") + "[[variant]]\nname = \"alone\"\nonly = [\"control\"]\n";
    let found = read(&text).expect("it is a scenario");
    assert_eq!((found.base.devices.len(), found.variants[0].devices.len()), (1, 0));
}

#[test]
fn a_device_that_nothing_holds_is_told_where_budgets_are() {
    let told = |bandwidth: &str| {
        let text = device("camera", "vision", "") + bandwidth;
        let found = read(&text).expect("it is a scenario");
        found.warnings.iter().filter(|warning| warning.to_string().contains("camera")).count()
    };
    let head = "[isolation.bandwidth]\ncores = { 0 = \"20%\", 1 = \"20%\" }\n";
    assert_eq!(told(""), 0);
    assert_eq!(told(head), 1);
    assert_eq!(told(&format!("{head}dma = {{ camera = \"10MB/s\" }}\n")), 0);
}

#[test]
fn a_locked_page_is_no_place_for_input() {
    let lock = "[isolation.lockdown]\nvision = 4\n";
    let found = read(&(device("camera", "vision", "buffer = \"frames\"") + lock));
    assert!(matches!(found.as_ref().err().map(Vec::as_slice), Some([Code::Device])), "{found:?}");
    assert!(read(&(device("camera", "vision", "") + lock)).is_ok(), "memory of its own is not locked");
}

/// Every distance of two slots, held against each microsecond of both.
#[test]
fn slots_that_ever_meet_are_refused_and_no_others() {
    let taken =
        |time: u64, period: u64, offset: u64, slot: u64| time >= offset && (time - offset) % period < slot;
    let (mut refused, mut all) = (0, 0);
    for ((period, slot), (other, other_slot)) in [((30, 4), (20, 3)), ((18, 6), (36, 12)), ((8, 3), (12, 1))]
    {
        for offset in 0..period {
            let text = |name: &str, period: u64, offset: u64, slot: u64| {
                device(name, "vision", &format!("offset = \"{offset}us\"\nslot = \"{slot}us\"\ncore = 7"))
                    .replace("\"5ms\"", &format!("\"{period}us\""))
            };
            let both = text("one", period, offset, slot) + &text("other", other, 7, other_slot);
            let meet =
                (0..3_600).any(|time| taken(time, period, offset, slot) && taken(time, other, 7, other_slot));
            let found = read(&both);
            match found {
                Ok(_) => assert!(!meet, "{both}"),
                Err(found) => assert!(meet && matches!(found[..], [Code::Device]), "{found:?}\n{both}"),
            }
            refused += u64::from(meet);
            all += 1;
        }
    }
    assert!(refused > 10 && refused + 3 < all, "{refused} of {all}");
}

const HANDLER: &str = "[[task]]\nname = \"decode\"\nclass = \"hard\"\ncore = 1\nrelease = \"sporadic\"\nperiod = \"2ms\"\n\
                       work = [{ compute = \"10us\" }]\n";

#[test]
fn a_device_releases_a_sporadic_task_whose_period_is_its_least_distance() {
    let plan = base(&(HANDLER.to_owned() + &device("camera", "vision", "releases = \"decode\"")));
    assert_eq!(plan.devices[0].releases, Some(TaskId(2)));
    assert_eq!(plan.tasks[2].release, Release::Sporadic { distance: Duration::from_millis(2) });
    assert_eq!(plan.tasks[2].relative_deadline(), Some(Duration::from_millis(2)));
    // Two devices may release one task: what is too near is held back.
    let both = device("camera", "vision", "releases = \"decode\"")
        + &device("lidar", "control", "releases = \"decode\"");
    assert_eq!(base(&(HANDLER.to_owned() + &both)).devices.len(), 2);
    // One of copies, by its own name.
    let copies = HANDLER.replace("core = 1", "core = 1\ncopies = 2");
    let both = device("camera", "vision", "releases = \"decode-1\"")
        + &device("lidar", "control", "releases = \"decode-0\"");
    let found = base(&(copies + &both));
    assert_eq!([0, 1].map(|at: usize| found.devices[at].releases), [3, 2].map(|task| Some(TaskId(task))));
}

#[test]
fn a_variant_without_the_device_releases_its_task_as_often_as_it_may_be() {
    let text = HANDLER.to_owned()
        + &device("camera", "vision", "releases = \"decode\"")
        + "[[variant]]\nname = \"alone\"\nonly = [\"decode\"]\n[[variant]]\nname = \"none\"\nwithout = [\"decode\"]\n";
    let found = read(&text).expect("it is a scenario");
    let [alone, none] = found.variants.as_slice() else { panic!("{:?}", found.variants.len()) };
    let often = Release::Periodic { offset: Duration::ZERO, period: Duration::from_millis(2) };
    assert_eq!((alone.devices.len(), alone.tasks[0].release), (0, often));
    assert_eq!((none.devices.len(), none.devices[0].releases), (1, None));
}

#[test]
fn interrupts_that_lead_nowhere_are_refused() {
    let camera = |task: &str| device("camera", "vision", &format!("releases = \"{task}\""));
    let cases = [
        // A name that nobody has.
        (HANDLER.to_owned() + &camera("decoed"), vec![Code::Device]),
        // A task that the clock releases.
        (camera("control"), vec![Code::Device]),
        // A task that nobody releases.
        (HANDLER.to_owned() + &device("camera", "vision", ""), vec![Code::Device]),
        (HANDLER.to_owned(), vec![Code::Device]),
        // A pattern, of which an interrupt can't release all.
        (HANDLER.replace("core = 1", "core = 1\ncopies = 2") + &camera("decode"), vec![Code::Device]),
        // No least distance, and an offset beside the device's own: tasks that can't be read, and the device misses them.
        (HANDLER.replace("period = \"2ms\"\n", "") + &camera("decode"), vec![Code::MissingKey, Code::Device]),
        (
            HANDLER.replace("core = 1", "core = 1\noffset = \"1ms\"") + &camera("decode"),
            vec![Code::Both, Code::Device],
        ),
    ];
    for (text, codes) in cases {
        assert_eq!(read(&text).map(|_| ()), Err(codes), "{text}");
    }
}
