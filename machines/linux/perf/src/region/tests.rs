use super::*;

fn open(events: &str) -> Option<Regions> {
    match Regions::open(events) {
        Ok(regions) => match regions.missing().first() {
            None => Some(regions),
            Some((event, why)) => {
                println!("skipped: regions: {event}: {why}");
                None
            }
        },
        Err(error) => panic!("{error}"),
    }
}

fn count(loops: u64) {
    for i in 0..loops {
        std::hint::black_box(i);
    }
}

#[test]
fn a_region_counts_what_happens_in_it_and_not_beside() {
    let Some(mut regions) = open("page_faults") else { return };
    let outside = vec![1_u8; 1 << 20];
    let mark = regions.start();
    let inside = vec![1_u8; 400 << 10];
    regions.stop("fill", mark);
    std::hint::black_box((&outside, &inside));
    let fill = &regions.totals()["fill"];
    assert_eq!(fill.passes, 1);
    let faults = fill.counts[0].unwrap();
    // 100 pages, some of which the allocator may have had.
    assert!((50..=140).contains(&faults), "{faults}");
}

#[test]
fn instructions_are_counted_by_region_and_add_up_over_threads() {
    let Some(mut regions) = open("instructions") else { return };
    let other = std::thread::spawn(|| {
        let mut regions = open("instructions").unwrap();
        let mark = regions.start();
        count(100_000);
        regions.stop("count", mark);
        regions.totals().clone()
    });
    for _ in 0..10 {
        let mark = regions.start();
        count(100_000);
        regions.stop("count", mark);
    }
    let alone = regions.totals()["count"].counts[0].unwrap();
    assert!(alone >= 1_000_000, "{alone}");
    regions.merge(&other.join().unwrap());
    let both = &regions.totals()["count"];
    assert_eq!(both.passes, 11);
    assert!(both.counts[0].unwrap() >= alone + alone / 20, "{both:?}");
    assert!(regions.cost() < Duration::from_millis(1));
}

#[test]
fn what_can_not_be_counted_is_a_dash_and_has_a_reason() {
    // No processor has this core PMU event; where there is no PMU the kernel refuses every raw code.
    let mut regions = Regions::open("page_faults,major_faults").unwrap();
    regions.names.push("absent".into());
    regions.events.push(Event { place: 2, groups: Err("no counter".into()), page: None });
    let mark = regions.start();
    regions.stop("r", mark);
    assert_eq!(regions.totals()["r"].counts.last(), Some(&None));
    let table = regions.table();
    assert!(table.contains(" -\n") && table.contains("not counted: absent: no counter"), "{table}");
    assert!(Regions::open("frobs").is_err());
    assert!(Regions::open("0x1,0x2,0x3,0x4,0x5,0x6,0x7,0x8,0x9").is_err());
}

/// Touches so many new pages: what is this large the allocator takes from the kernel and gives back.
fn touch(pages: usize) {
    let mut memory: Vec<u8> = Vec::with_capacity(40 << 20);
    memory.resize(pages * 4096, 1);
    std::hint::black_box(&memory);
}

#[test]
fn samples_by_an_event_have_all_counts_and_add_up() {
    let Some(mut regions) = open("page_faults:uk:ebs=10,minor_faults:uk") else { return };
    let mark = regions.start();
    touch(400);
    let inner = regions.start();
    touch(300);
    regions.stop("inner", inner);
    regions.stop("outer", mark);
    for (name, least) in [("outer", 300), ("inner", 200)] {
        let total = &regions.totals()[name];
        let faults = total.counts[0].unwrap();
        assert!(faults >= least, "{name}: {total:?}");
        let taken: u64 = total.samples.iter().map(|sample| sample.counts[0].unwrap()).sum();
        // Each sample has about ten, and what is left over had no sample.
        assert!(
            total.samples.len() as u64 >= least / 20,
            "{name}: {} samples of {faults}",
            total.samples.len()
        );
        assert!(
            taken <= faults && total.samples.iter().all(|sample| sample.counts[1].is_some()),
            "{total:?}"
        );
        assert!(total.samples.windows(2).all(|pair| pair[0].at <= pair[1].at) && total.lost == 0);
    }
    // A sample belongs to the innermost region that was open.
    let inner = regions.totals()["inner"].samples.len();
    let outer = regions.totals()["outer"].samples.len();
    assert!((30..=80).contains(&(inner + outer)), "{inner} and {outer}");
}

#[test]
fn samples_by_time_come_while_the_thread_runs() {
    let settings = Settings { every: Some(Duration::from_millis(1)), ..Settings::of("page_faults:uk") };
    let Ok(mut regions) = Regions::with(&settings) else {
        println!("skipped: samples by time: not allowed here");
        return;
    };
    let mark = regions.start();
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_millis(40) {
        touch(16);
    }
    regions.stop("run", mark);
    let total = &regions.totals()["run"];
    // It may have waited for a CPU most of the time.
    assert!(!total.samples.is_empty() && total.samples.len() <= 60, "{}", total.samples.len());
    let taken: u64 = total.samples.iter().map(|sample| sample.counts[0].unwrap()).sum();
    assert!(taken <= total.counts[0].unwrap());
}

#[test]
fn events_change_between_regions_and_what_was_counted_stays() {
    let Some(mut regions) = open("page_faults") else { return };
    let mark = regions.start();
    touch(50);
    regions.stop("a", mark);
    let open_still = regions.start();
    regions.configure(&Settings::of("context_switches,page_faults")).unwrap();
    regions.stop("changed", open_still);
    let mark = regions.start();
    touch(60);
    regions.stop("b", mark);
    assert_eq!(regions.events(), ["page_faults", "context_switches"]);
    let totals = regions.totals();
    assert!(totals["a"].counts[0].unwrap() >= 25);
    assert_eq!((totals["changed"].passes, totals["changed"].counts.iter().flatten().count()), (1, 0));
    assert!(totals["b"].counts[0].unwrap() >= 30 && totals["b"].counts[1].is_some(), "{totals:?}");
    // What is wrong leaves it as it was.
    assert!(regions.configure(&Settings::of("frobs")).is_err());
    let short = Settings { every: Some(Duration::from_micros(1)), ..Settings::of("page_faults") };
    assert!(matches!(regions.configure(&short), Err(RegionError::Period(_))));
    let twice = Settings { every: Some(Duration::from_millis(1)), ..Settings::of("page_faults:ebs=5") };
    assert!(matches!(regions.configure(&twice), Err(RegionError::TwoSampled(name)) if name == "page_faults"));
    assert_eq!(regions.settings().events, "context_switches,page_faults");
}

#[test]
fn a_thread_opens_what_another_has_opened_and_the_machine_counts_both() {
    let machine = Settings { machine: true, ..Settings::of("page_faults:uk") };
    let Some(mut first) = open("page_faults:uk") else { return };
    let settings = first.settings().clone();
    let mut whole = Regions::with(&machine).ok().filter(|whole| whole.missing().is_empty());
    let outer = whole.as_mut().map(Regions::start);
    let own = first.start();
    let other = std::thread::spawn(move || {
        let mut second = Regions::with(&settings).unwrap();
        let mark = second.start();
        touch(100);
        second.stop("touch", mark);
        second.totals()["touch"].counts[0].unwrap()
    });
    let other = other.join().unwrap();
    first.stop("own", own);
    assert!(other >= 50, "{other}");
    match (&mut whole, outer) {
        (Some(whole), Some(mark)) => {
            whole.stop("all", mark);
            assert!(whole.totals()["all"].counts[0].unwrap() >= other, "{:?}", whole.totals());
        }
        _ => println!("skipped: regions of the whole machine: not allowed here"),
    }
}
