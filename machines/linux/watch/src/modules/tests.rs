use super::*;
use crate::Modules;
use solo_model::sample::Sample;
use solo_model::{CoreId, Duration, EventId, EventTable, Fixed, Instant, MetricId};
use solo_observe::{Subject, monitor};
use solo_perf::files::Fake;

fn found(name: &str, files: &Fake) -> Option<Box<dyn MonitoringModule>> {
    let entry = entries().find(|entry| entry.name == name).unwrap();
    (entry.find)(files)
}

fn sample(modules: &mut Modules, at: u64, files: &Fake) -> Vec<Option<i64>> {
    modules.sample(Instant::new(at), files, &|_| None)
}

#[test]
fn energy_survives_the_wrap_of_its_zone() {
    let zone = "/sys/class/powercap/intel-rapl:0";
    let mut files = Fake::new()
        .with(&format!("{zone}/name"), "package-0\n")
        .with(&format!("{zone}/energy_uj"), "990\n")
        .with(&format!("{zone}/max_energy_range_uj"), "1000\n")
        .with("/sys/class/powercap/intel-rapl/enabled", "1\n");
    let mut modules = Modules::none();
    modules.add(found("rapl", &files).unwrap());
    assert_eq!(modules.columns(), ["energy_package_0_0_uj"]);
    assert_eq!(sample(&mut modules, 0, &files), [None]);
    files.set(&format!("{zone}/energy_uj"), Some("15\n"));
    assert_eq!(sample(&mut modules, 10, &files), [Some(25)]);
    files.set(&format!("{zone}/energy_uj"), None);
    assert_eq!(sample(&mut modules, 20, &files), [None]);
}

#[test]
fn any_number_of_modules_work_together_and_keep_their_columns_apart() {
    let mut files = Fake::new()
        .with("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2600000\n")
        .with("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1200000\n")
        .with("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n")
        .with("/sys/class/thermal/thermal_zone0/temp", "48000\n")
        .with("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n")
        .with("/proc/vmstat", "pgfault 50\npgmajfault 2\n")
        .with("/proc/stat", "cpu 1 2 3\nctxt 700\n")
        .with("/sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "4096\n")
        .with("/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "Unavailable\n")
        .with("/sys/class/hwmon/hwmon2/name", "ina2xx\n")
        .with("/sys/class/hwmon/hwmon2/power1_input", "2500000\n");
    let mut modules = Modules::none();
    for name in ["frequency", "temperature", "psi", "faults", "resctrl", "hwmon"] {
        modules.add(found(name, &files).unwrap_or_else(|| panic!("{name} has something to tell")));
    }
    assert_eq!(
        modules.columns(),
        [
            "frequency_cpu0_khz",
            "frequency_cpu1_khz",
            "temperature_x86_pkg_temp_0_mdeg",
            "psi_cpu_us",
            "machine_page_faults",
            "machine_major_faults",
            "machine_context_switches",
            "llc_occupancy_0_bytes",
            "memory_traffic_0_bytes",
            "ina2xx_2_power1_uw",
        ]
    );
    sample(&mut modules, 0, &files);
    files.set("/proc/pressure/cpu", Some("some avg10=0.00 avg60=0.00 avg300=0.00 total=1250\n"));
    files.set("/proc/vmstat", Some("pgfault 80\npgmajfault 2\n"));
    files.set("/proc/stat", Some("ctxt 710\n"));
    assert_eq!(
        sample(&mut modules, 10, &files),
        [
            Some(2_600_000),
            Some(1_200_000),
            Some(48_000),
            Some(250),
            Some(30),
            Some(0),
            Some(10),
            Some(4096),
            None,
            Some(2_500_000),
        ]
    );
}

#[test]
fn a_machine_with_nothing_to_tell_has_no_modules() {
    for entry in FILES {
        assert!((entry.find)(&Fake::new()).is_none(), "{}", entry.name);
    }
}

#[test]
fn a_users_description_is_a_module() {
    let text = "name = \"disk\"\n[[counter]]\nname = \"disk_temp_mdeg\"\nfile = \"/sys/t\"\nkind = \"level\"\n\
                [[counter]]\nname = \"written_bytes\"\nfile = \"/sys/w\"\nkind = \"sum\"\nfactor = 512\n";
    let mut files = Fake::new().with("/sys/t", "31000\n").with("/sys/w", "10\n");
    let mut modules = Modules::none();
    modules.add(described::parse(text).unwrap());
    assert_eq!(sample(&mut modules, 0, &files), [Some(31_000), None]);
    files.set("/sys/w", Some("12\n"));
    assert_eq!(sample(&mut modules, 1, &files), [Some(31_000), Some(1024)]);
}

#[test]
fn wrong_descriptions_say_what_was_expected() {
    for (text, part) in [
        ("name = 1", "string"),
        ("name = \"x\"\ncounter = []", "at least one"),
        ("name = \"x\"\n[[counter]]\nname = \"A b\"\nfile = \"/x\"\nkind = \"level\"", "letters, digits"),
        ("name = \"x\"\n[[counter]]\nname = \"a\"\nfile = \"x\"\nkind = \"level\"", "absolute path"),
        ("name = \"x\"\n[[counter]]\nname = \"a\"\nfile = \"/x\"\nkind = \"often\"", "often"),
        ("name = \"x\"\n[[counter]]\nname = \"a\"\nfile = \"/x\"\nkind = \"sum\"\nunit = \"s\"", "unit"),
    ] {
        let error = described::parse(text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}

/// A monitor says of what Linux has counted what it says in the kernel, and nothing where nothing was counted.
#[test]
fn a_monitor_of_schedulers_is_a_module() {
    let files = Fake::new();
    let mut modules = Modules::none();
    modules.add(found("ipc", &files).unwrap());
    modules.add(found("hitm-rate", &files).unwrap());
    assert_eq!(modules.columns(), ["ipc_per_mille", "hitm_rate_per_mille"]);
    let mut told = |ms: u64, counts: &[(&str, u64)]| {
        let count = |name: &str| counts.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        modules.sample(Instant::new(ms * 1_000_000), &files, &count)
    };
    assert_eq!(told(0, &[]), [None, None]);
    let all = [("instructions", 3000), ("cycles", 2000), ("snoop_hitm", 4)];
    assert_eq!(told(2, &all), [Some(1500), Some(2_000_000)], "4 in two milliseconds");
    assert_eq!(told(4, &all[..1]), [None, None]);
    assert!(
        entries().all(|entry| !["count", "rate"].contains(&entry.name)),
        "these have to be told what to count"
    );
}

/// What a scheduler listens to says of what Linux has counted what it says in the kernel, of each subject by itself; what takes more than
/// counts is refused.
#[test]
fn what_a_scheduler_listens_to_is_a_module() {
    let (files, table) = (Fake::new(), EventTable::default());
    let rate = "1000 * llc_misses / instructions";
    let observed = monitor::observed(MonitorKind::Rate, None, rate, &[], &table).unwrap();
    let (module, maker) = listened(&observed, &table).unwrap();
    assert_eq!(module.counters()[0].meaning, "1000 * llc_misses / instructions, in thousandths");
    let mut modules = Modules::none();
    modules.add_made(module, Some(maker));
    assert_eq!(modules.columns(), ["rate_per_mille"]);
    let count = |counts: [(&'static str, u64); 2]| {
        move |name: &str| counts.iter().find(|(known, _)| *known == name).map(|(_, count)| *count)
    };
    let (first, second) = (Subject::Tree { process: 1 }, Subject::Tree { process: 2 });
    modules.begin(first, &files);
    modules.begin(second, &files);
    let span = Duration::from_millis(1);
    let mut told = |subject, misses| {
        modules.row(subject, span, true, &files, &count([("llc_misses", misses), ("instructions", 4000)]))
    };
    assert_eq!((told(first, 10), told(second, 50)), (vec![Some(2500)], vec![Some(12_500)]));
    let mut kernels = monitor::of(MetricId(0), &observed, &table).unwrap();
    let counts =
        observed.events.iter().map(|&event| (event, if event == EventId::INSTRUCTIONS { 4000 } else { 10 }));
    let sample = Sample::of_core(CoreId(0), Instant::ZERO, span, counts.collect());
    assert_eq!(kernels.0.sample(&sample).get(MetricId(0)), Fixed::parse("2.5"));

    let turns = monitor::observed(
        MonitorKind::Multiplexed,
        None,
        rate,
        &[observed.events.iter().copied().collect()],
        &table,
    );
    assert_eq!(listened(&turns.unwrap(), &table).err(), Some(Unwatched::InTurns("multiplexed")));
    let held = monitor::observed(MonitorKind::Occupancy, None, "", &[], &table).unwrap();
    assert_eq!(listened(&held, &table).err(), Some(Unwatched::More("occupancy")));
}
