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
    regions.events.push(Event { name: "absent".into(), group: Err("no counter".into()), page: None });
    let mark = regions.start();
    regions.stop("r", mark);
    assert_eq!(regions.totals()["r"].counts.last(), Some(&None));
    let table = regions.table();
    assert!(table.contains(" -\n") && table.contains("not counted: absent: no counter"), "{table}");
    assert!(Regions::open("frobs").is_err());
    assert!(Regions::open("0x1,0x2,0x3,0x4,0x5,0x6,0x7,0x8,0x9").is_err());
}
