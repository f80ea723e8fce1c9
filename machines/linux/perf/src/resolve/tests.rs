use super::*;
use crate::files::Fake;
use solo_observe::parse_set;

fn intel() -> Fake {
    Fake::new()
        .with("/sys/bus/event_source/devices/cpu/type", "4\n")
        .with("/sys/bus/event_source/devices/cpu/format/event", "config:0-7\n")
        .with("/sys/bus/event_source/devices/cpu/format/umask", "config:8-15\n")
        .with("/sys/bus/event_source/devices/cpu/format/edge", "config:18\n")
        .with("/sys/bus/event_source/devices/cpu/format/ldlat", "config1:0-15\n")
        .with("/sys/bus/event_source/devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n")
        .with("/sys/bus/event_source/devices/power/type", "9\n")
        .with("/sys/bus/event_source/devices/power/format/event", "config:0-7\n")
        .with("/sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n")
        .with("/sys/kernel/tracing/events/sched/sched_switch/id", "314\n")
}

fn hybrid() -> Fake {
    Fake::new()
        .with("/sys/bus/event_source/devices/cpu_atom/type", "10\n")
        .with("/sys/bus/event_source/devices/cpu_atom/format/umask", "config:8-15\n")
        .with("/sys/bus/event_source/devices/cpu_core/type", "4\n")
        .with("/sys/bus/event_source/devices/cpu_core/format/umask", "config:8-15\n")
}

fn groups(files: &Fake, text: &str) -> Result<Vec<Vec<Member>>, ResolveError> {
    let resolver = Resolver::new(files);
    let set = parse_set(text, &SysfsNames(files), resolver.layout()).unwrap();
    resolver.groups(&set, Filter::ALL)
}

#[test]
fn named_events_and_terms_fill_the_words_that_the_format_says() {
    let groups = groups(&intel(), "cpu/event=0x2e,umask=0x41,edge/,mem-loads:u").unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0][0].1.config, [0x4_412e, 0, 0]);
    assert_eq!(groups[0][1].1.config, [0x1cd, 3, 0]);
    assert!(groups[0][1].1.exclude_kernel && !groups[0][1].1.exclude_user);
}

#[test]
fn what_the_kernel_counts_joins_the_first_group_and_other_pmus_have_their_own() {
    let groups = groups(&intel(), "page-faults,instructions,power/energy-pkg/,sched:sched_switch").unwrap();
    let members: Vec<Vec<usize>> =
        groups.iter().map(|group| group.iter().map(|(event, _)| *event).collect()).collect();
    assert_eq!(members, [vec![1, 0, 3], vec![2]]);
    assert_eq!(groups[0][2].1.config[0], 314);
}

#[test]
fn the_sampled_event_leads() {
    let groups = groups(&intel(), "instructions,page-faults:ebs=5").unwrap();
    assert_eq!(groups[0][0].0, 1);
    assert_eq!(groups[0][0].1.period, 5);
}

#[test]
fn each_core_type_has_a_group_of_its_own() {
    let both = groups(&hybrid(), "instructions,0x2e:umask=0x41").unwrap();
    assert_eq!(both.len(), 2);
    assert_eq!(both[0][0].1.config[0], 1 | 4 << 32);
    assert_eq!(both[1][0].1.config[0], 1 | 10 << 32);
    assert_eq!((both[0][1].1.kind, both[1][1].1.kind), (4, 10));
    let one = groups(&hybrid(), "coretype=1,instructions").unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!(one[0][0].1.config[0], 1 | 10 << 32);
    let none = groups(&hybrid(), "coretype=2,instructions").unwrap_err();
    assert_eq!(none, ResolveError::NoCoreType { asked: 2, there: 2 });
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let error = groups(&intel(), "uncore/x/").unwrap_err().to_string();
    assert!(error.contains("there are cpu, power"), "{error}");
    let error = groups(&intel(), "cpu/frob=1/").unwrap_err().to_string();
    assert!(error.contains("it has mem-loads, edge, event"), "{error}");
    let error = groups(&intel(), "cpu/umask=0x1ff/").unwrap_err().to_string();
    assert!(error.contains("config:8-15"), "{error}");
    let error = groups(&hybrid(), "sched:sched_switch").unwrap_err().to_string();
    assert!(error.contains("mount -t tracefs"), "{error}");
}

#[test]
fn a_format_may_be_scattered() {
    let mut config = [0; 3];
    place("config:0-7,32-35", 0xabc, &mut config).unwrap();
    assert_eq!(config[0], 0xa_0000_00bc);
    assert_eq!(place("config:0-7,32-35", 0x1000, &mut config), None);
    assert_eq!(place("config:9-3", 0, &mut config), None);
    assert_eq!(place("config:0-64", 0, &mut config), None);
}
