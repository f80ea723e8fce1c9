extern crate std;
use super::*;
use crate::event::{Filter, Generic, Software};
use std::vec;

fn set(text: &str) -> EventGroup {
    parse_set(text, &NoNames, RawLayout::X86).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn config(event: &CountedEvent) -> u64 {
    match event.code {
        Code::Raw { config, .. } => config,
        _ => panic!("{event:?} is not raw"),
    }
}

#[test]
fn names_become_canonical_columns() {
    let set = set("page-faults,cs,instr");
    let names: Vec<_> = set.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["page_faults", "context_switches", "instructions"]);
    assert_eq!(set.events[0].code, Code::Software(Software::PageFaults));
}

#[test]
fn raw_strings_give_the_codes_that_the_manuals_do() {
    // Intel's architectural LLC misses: event 0x2e, unit mask 0x41.
    let set = set("pmc0,pmc3=0x2e,umask3=0x41");
    assert_eq!(set.events[0].code, Code::Generic(Generic::Instructions));
    assert_eq!(config(&set.events[1]), 0x412e);
    assert_eq!(set.events[1].filter, Some(Filter::USER));
    assert_eq!(set.events[1].counter, Some(3));
}

#[test]
fn mnemonics_and_raw_strings_mean_the_same() {
    let raw = set("pmc4=0x2e,umask4=0x41,cmask4=1,inv4,edge4,ebs4=1000,os4");
    let mnemonic = set("0x2e:umask=0x41:cmask=1:inv:edge:pmc=4:ebs=1000:usr:os");
    assert_eq!(config(&raw.events[0]), config(&mnemonic.events[0]));
    assert_eq!(raw.events[0].every, mnemonic.events[0].every);
    assert_eq!(raw.events[0].filter, mnemonic.events[0].filter);
    assert_eq!(raw.events[0].counter, mnemonic.events[0].counter);
}

#[test]
fn twelve_bit_codes_of_amd_are_split() {
    assert_eq!(config(&set("0x1c7:umask=2").events[0]), 0x1_0000_02c7);
}

#[test]
fn core_types_hold_from_where_they_stand() {
    let set = set("instr,coretype=1,instr,llc_misses");
    let types: Vec<_> = set.events.iter().map(|event| event.core_type).collect();
    assert_eq!(types, [None, Some(1), Some(1)]);
}

#[test]
fn pmus_keep_their_commas_and_the_default_window_is_pmctracks() {
    let set = set("cpu/event=0x2e,umask=0x41/:u,cycles:ebs");
    assert_eq!(set.events.len(), 2);
    assert_eq!(set.events[0].filter, Some(Filter::USER));
    assert_eq!(set.events[1].every.map(u64::from), Some(500_000_000));
}

struct Tracepoints;
impl Names for Tracepoints {
    fn find(&self, name: &str) -> Option<Code> {
        let (group, name) = name.split_once(':')?;
        (group == "sched" && name == "sched_switch")
            .then(|| Code::Tracepoint { group: group.into(), name: name.into() })
    }
}

#[test]
fn the_longest_known_name_counts_and_the_rest_are_flags() {
    let set = parse_set("sched:sched_switch:ebs=10", &Tracepoints, RawLayout::X86).unwrap();
    assert_eq!(set.events[0].name, "sched:sched_switch");
    assert_eq!(set.events[0].every.map(u64::from), Some(10));
}

#[test]
fn wrong_strings_say_which_item_and_why() {
    let wrong = vec![
        ("", "item 1: expected an event, found nothing"),
        ("instr,,cycles", "item 2: expected an event, found nothing"),
        ("instructons", "did you mean `instructions`?"),
        ("instr:frob", "item 1: `frob` is no flag of an event"),
        ("pmc3=0x2e,umask4=0x41", "item 2: counter 4 has a flag but no `pmc4`"),
        ("pmc3=zz", "expected an event code, found `zz`"),
        ("pmc3=0x2e,umask3=0x141", "0 to 0xff"),
        ("pmc7", "only counters 0 to 2 are fixed"),
        ("pmc1,pmc1", "`pmc1` is in the set already"),
        ("instr,instructions", "item 2: `instructions` is in the set already"),
        ("instr:ebs,cycles:ebs", "samples on one event at most"),
        ("instr:ebs=0", "above 0"),
        ("cpu/event=1", "closing slash"),
        ("coretype=x", "a core type"),
    ];
    for (text, part) in wrong {
        let error = parse_set(text, &NoNames, RawLayout::X86).expect_err(text);
        let message = std::format!("{error}");
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn processors_without_masks_refuse_masks() {
    let error = parse_set("pmc1=0x11,umask1=0x1", &NoNames, RawLayout::Plain).unwrap_err();
    assert!(std::format!("{error}").contains("on this processor"));
    let set = parse_set("pmc1=0x11,os1,ebs1=50", &NoNames, RawLayout::Plain).unwrap();
    assert_eq!(config(&set.events[0]), 0x11);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 512, failure_persistence: None, ..Default::default()
    })]
    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z0-9=:,/_ x-]{0,60}") {
        let _ = parse_set(&text, &Tracepoints, RawLayout::X86);
        let _ = parse_set(&text, &Tracepoints, RawLayout::Plain);
    }
}
