use super::*;
use std::collections::BTreeSet;

fn haswell() -> Model {
    Model::find("haswell").unwrap()
}

/// The pair of the paper (3.2.2), both ways.
#[test]
fn the_papers_pair_is_translated_both_ways() {
    let raw = "pmc0,pmc3=0x2e,umask3=0x41";
    assert_eq!(to_raw("instr,llc_misses", &haswell()), Ok(Vec::from([raw.to_string()])));
    assert_eq!(to_mnemonics(raw, &haswell()), Ok("instr,llc_misses".to_string()));
    assert_eq!(Model::find("x86_intel-core.haswell"), Some(haswell()));
    assert!(is_raw(raw) && !is_raw("instr,llc_misses") && !is_raw("0x2e:umask=0x41"));
}

/// The lengths of PMCTrack 4.0's tables.
#[test]
fn every_table_has_the_rows_of_its_original() {
    let rows = |name| Model::find(name).unwrap().mnemonics().count();
    let counts = [
        ("core2", 23),
        ("atom", 23),
        ("nehalem", 14),
        ("ivybridge", 14),
        ("haswell", 14),
        ("haswell-ep", 18),
        ("broadwell", 19),
        ("broadwell-ep", 17),
        ("skylake", 21),
        ("alderlake", 22),
        ("raptorlake", 22),
        ("opteron", 10),
        ("epyc", 28),
        ("cortex_a7", 33),
        ("cortex_a15", 34),
        ("cortex_a53", 36),
        ("cortex_a57", 35),
        ("cortex_a73", 34),
    ];
    assert_eq!(counts.len(), MODELS.len());
    for (name, count) in counts {
        assert_eq!(rows(name), count, "{name}");
    }
}

#[test]
fn every_mnemonic_of_every_model_comes_back() {
    for model in MODELS {
        let names: BTreeSet<&str> = model.mnemonics().map(|mnemonic| mnemonic.name).collect();
        for name in names {
            let raw = to_raw(name, model).unwrap_or_else(|error| panic!("{} {name}: {error}", model.name));
            assert_eq!(raw.len(), 1);
            let back = to_mnemonics(&raw[0], model)
                .unwrap_or_else(|error| panic!("{} {raw:?}: {error}", model.name));
            assert_eq!(to_raw(&back, model), Ok(raw.clone()), "{} {name} {back}", model.name);
        }
    }
}

#[test]
fn canonical_events_that_pmctrack_has_no_name_for_are_known_by_their_codes() {
    let raw = to_raw("snoop_hitm", &haswell()).unwrap();
    assert_eq!(raw, ["pmc3=0xd2,umask3=0x4"]);
    assert_eq!(to_mnemonics(&raw[0], &haswell()), Ok("snoop_hitm".to_string()));
    let a57 = Model::find("cortex_a57").unwrap();
    assert_eq!(to_raw("branches", &a57).unwrap(), ["pmc1=0x21"]);
}

#[test]
fn counters_are_given_out_in_turn_and_flags_kept() {
    let raw = |text| to_raw(text, &haswell()).unwrap();
    let five = "llc_misses,llc_references,branch_instr_retired,branch_misses_retired,instr_retired,instr";
    assert_eq!(
        raw(five),
        ["pmc3=0x2e,umask3=0x41,pmc4=0x2e,umask4=0x4f,pmc5=0xc4,pmc6=0xc5,pmc0", "pmc3=0xc0"],
        "the fifth programmable event waits for its turn; fixed ones don't"
    );
    assert_eq!(raw("instr,instr"), ["pmc0", "pmc0"], "a fixed counter counts one event");
    assert_eq!(
        raw("0x2e:umask=0x41:ebs=1000:os,llc_references:pmc=3"),
        ["pmc4=0x2e,umask4=0x41,ebs4=1000,os4,pmc3=0x2e,umask3=0x4f"]
    );
    assert_eq!(raw("llc_misses.prefetch,coretype=1"), ["pmc3=0x2e,umask3=0x71,coretype=1"]);
    assert_eq!(
        raw("llc_misses:umask=0x71"),
        ["pmc3=0x2e,umask3=0x71"],
        "what is said replaces what the table has"
    );
    let back = |text| to_mnemonics(text, &haswell()).unwrap();
    assert_eq!(back("pmc5=0x2e,umask5=0x41,ebs5=50"), "llc_misses:ebs=50:pmc=5");
    assert_eq!(back("pmc3=0xab,umask3=0xcd,edge3"), "0xab:umask=0xcd:edge");
    assert_eq!(back("pmc1,coretype=0"), "cycles,coretype=0");
    assert_eq!(back("pmc3=2e,umask3=41"), "llc_misses", "codes are hexadecimal with or without 0x");
}

#[test]
fn what_a_model_lacks_is_refused_with_the_item() {
    for (text, part) in [
        ("", "item 1: expected an event"),
        ("instr,,cycles", "item 2: expected an event"),
        ("instr,frobs", "item 2: haswell has no event `frobs`"),
        ("llc_mises", "did you mean `llc_misses`?"),
        ("llc_misses:pmc=9", "counter 9 is none of the programmable counters 3 to 6 of haswell"),
        ("llc_misses:pmc=2", "counter 2 is none"),
        ("llc_misses:frob=1", "`frob=1` is no flag"),
        ("llc_misses:umask=x", "expected a number, found `x`"),
        ("coretype=x", "found `x`"),
    ] {
        let error = to_raw(text, &haswell()).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (text, part) in [
        ("pmc7=0x2e", "counter 7 is none"),
        ("pmc3", "counter 3 is none"),
        ("pmc0=0x2e", "counter 0 is none"),
        ("pmc3=zz", "found `zz`"),
        ("pmc3=0x2e,umask4=0x41", "item 2: counter 4 has a flag but no event"),
        ("pmc3=0x2e,pmc3=0x2f", "item 2: counter 3 has an event already"),
        ("frob", "`frob` is no flag"),
        ("pmc300=0x1", "counter 300 is none"),
    ] {
        let error = to_mnemonics(text, &haswell()).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]
    /// Any set of mnemonics goes there and back, and no text at all makes the translator panic.
    #[test]
    fn sets_go_there_and_back(picks in proptest::collection::vec(0..200_usize, 1..4), at in 0..18_usize, text in "[a-z0-9=:,._x]{0,40}") {
        let model = &MODELS[at];
        let all: Vec<&Mnemonic> = model.mnemonics().collect();
        let names: Vec<&str> = picks.iter().map(|pick| all[pick % all.len()].name).collect();
        let raw = to_raw(&names.join(","), model).unwrap();
        for set in &raw {
            let back = to_mnemonics(set, model).unwrap();
            proptest::prop_assert_eq!(to_raw(&back, model).unwrap(), Vec::from([set.clone()]), "{}", back);
        }
        let _ = to_raw(&text, model);
        let _ = to_mnemonics(&text, model);
    }
}
