//! Pages that are counted are those that are handed out.

mod platform;

use platform::{task, xeon};
use proptest::prelude::*;
use solo_isolate::admission::{group_of, groups};
use solo_isolate::frames::Order;
use solo_isolate::stock::{Owners, pages_fit};
use solo_isolate::{ColoredFrames, IsolationRefusal, MemoryMap};
use solo_model::isolation::{ColorOwner, Coloring, Fallback, Heaps, LockedPage};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{Bank, BufferId, Bytes, Color, Duration, PerMille, Platform, Task, TaskId};

/// Tasks that use a buffer each, of so many pages.
fn owners(pages: &[u64]) -> (Vec<Task>, Vec<Buffer>) {
    let touch = |at: usize| Touch {
        pattern: Pattern::Stream,
        buffer: BufferId(at as u32),
        accesses: 1,
        stride: Bytes::new(64),
        writes: PerMille::new(0).expect("a share"),
        think: Duration::ZERO,
    };
    let one = |at: usize| Task {
        work: Work { steps: vec![Step::Touch(touch(at))] },
        ..task(&format!("t{at}"), at as u16)
    };
    let buffer = |&pages: &u64| Buffer { name: "b".to_owned(), size: Bytes::from_kib(4 * pages) };
    ((0..pages.len()).map(one).collect(), pages.iter().map(buffer).collect())
}

/// The buffer that is the first to have no page left, frame by frame.
fn by_handing_out(
    coloring: &Coloring,
    locked: &[LockedPage],
    platform: &Platform,
    pages: &[u64],
) -> Option<usize> {
    let map = MemoryMap::of(platform).unwrap().grouped(coloring.groups);
    let all = groups(coloring, &map);
    let count = platform.dram.size.get() / platform.page.get();
    let mut frames = ColoredFrames::new(map, count, &all, Order::Ascending).unwrap();
    pages.iter().enumerate().position(|(at, &pages)| {
        let group = group_of(coloring, Some(TaskId(at as u32)));
        (0..pages).any(|page| {
            let color = locked.iter().find(|own| own.buffer.index() == at && own.page == page);
            let taken = match color {
                Some(own) => frames.allocate_color(group, own.color),
                None => frames.allocate(group),
            };
            taken.is_err()
        })
    })
}

/// A task that uses so many pages of these colors and banks.
#[derive(Clone, Debug)]
struct Confined {
    colors: Vec<Color>,
    banks: Vec<Bank>,
    pages: u64,
    /// Pages that are locked, and their colors.
    locked: Vec<(u64, u16)>,
}

/// Colors 12 to 18, banks 12, 13, 19, 20: a bank has a quarter of the colors.
fn confined() -> impl Strategy<Value = Confined> {
    let color = proptest::sample::select(vec![0_u16, 4, 8, 1, 5]);
    let colors = proptest::collection::btree_set(color, 0..3);
    let banks = proptest::collection::btree_set(proptest::sample::select(vec![0_u16, 4, 1]), 0..2);
    let locks = proptest::collection::vec((0..40_u64, proptest::sample::select(vec![0_u16, 4, 1])), 0..3);
    (colors, banks, 1..160_u64, locks).prop_map(|(colors, banks, pages, locked)| Confined {
        colors: colors.into_iter().map(Color).collect(),
        banks: banks.into_iter().map(Bank).collect(),
        pages,
        locked,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..Default::default() })]
    #[test]
    fn what_is_counted_is_what_is_handed_out(
        all in proptest::collection::vec(confined(), 1..6),
        groups_of in proptest::sample::select(vec![0_u16, 8]),
        mib in proptest::sample::select(vec![2_u64, 3, 8, 13]),
    ) {
        let mut platform = xeon();
        platform.dram.size = Bytes::from_mib(mib);
        let pages: Vec<u64> = all.iter().map(|one| one.pages).collect();
        let owner = |(at, one): (usize, &Confined)| ColorOwner {
            task: TaskId(at as u32),
            colors: one.colors.clone(),
            banks: one.banks.clone(),
        };
        let coloring = Coloring {
            owners: all.iter().enumerate().map(owner).collect(),
            groups: groups_of,
            fallback: Fallback::Fail,
            shared: true,
            ..Coloring::default()
        };
        let lock = |at: usize, &(page, color): &(u64, u16)| LockedPage {
            task: TaskId(at as u32),
            buffer: BufferId(at as u32),
            page,
            color: Color(color),
        };
        let locked: Vec<LockedPage> = all.iter().enumerate()
            .flat_map(|(at, one)| one.locked.iter().map(move |page| lock(at, page)))
            .collect();
        let (tasks, buffers) = owners(&pages);
        let owners = Owners { tasks: &tasks, devices: &[], buffers: &buffers };
        let counted = pages_fit(Some(&coloring), &locked, &platform, owners);
        match counted {
            Ok(()) => prop_assert_eq!(by_handing_out(&coloring, &locked, &platform, &pages), None),
            Err(IsolationRefusal::NoPages { buffer, asked, free, .. }) => {
                let first = by_handing_out(&coloring, &locked, &platform, &pages);
                prop_assert_eq!(first, Some(buffer.index()));
                prop_assert!(free < asked, "{} {}", free, asked);
            }
            // A color that no bank of the task has.
            Err(other) => prop_assert!(matches!(other, IsolationRefusal::Memory { .. }), "{}", other),
        }
    }
}

/// 4 GiB in 512 pairs of color and bank: 2048 pages each.
#[test]
fn too_few_pages_are_told_with_their_colors_and_banks() {
    let coloring = Coloring {
        owners: vec![ColorOwner { task: TaskId(0), colors: vec![Color(0)], banks: vec![Bank(0), Bank(4)] }],
        fallback: Fallback::Fail,
        ..Coloring::default()
    };
    let fit = |pages, coloring: &Coloring| {
        let (tasks, buffers) = owners(&[pages]);
        let owners = Owners { tasks: &tasks, devices: &[], buffers: &buffers };
        pages_fit(Some(coloring), &[], &xeon(), owners)
    };
    assert_eq!(fit(4096, &coloring), Ok(()));
    let refused = fit(4097, &coloring).unwrap_err().to_string();
    assert_eq!(refused, "task0 needs 4097 pages of color 0 in banks 0, 4, which have 4096 free");
    let any_bank = Coloring {
        owners: vec![ColorOwner { task: TaskId(0), colors: vec![Color(0)], banks: vec![] }],
        fallback: Fallback::Fail,
        ..Coloring::default()
    };
    let refused = fit(1 << 20, &any_bank).unwrap_err().to_string();
    assert!(refused.contains("pages of color 0 in any bank, which have"), "{refused}");
    // Who may borrow gets them elsewhere.
    assert_eq!(fit(4097, &Coloring { fallback: Fallback::Borrow, ..coloring }), Ok(()));
}

/// Of 8,192 pages of a color a buffer takes most: the heap of that color does not fit beside it, that of another does.
#[test]
fn heaps_of_colors_are_counted_behind_all_buffers() {
    let heaps = Heaps { size: Heaps::MOST, ..Heaps::default() };
    let coloring = Coloring {
        owners: vec![ColorOwner { task: TaskId(0), colors: vec![Color(0)], banks: vec![] }],
        fallback: Fallback::Fail,
        heaps,
        ..Coloring::default()
    };
    let fit = |pages, color| {
        let (mut tasks, mut buffers) = owners(&[pages]);
        buffers.push(Buffer { name: "h".to_owned(), size: Bytes::from_kib(4) });
        let taken = Step::Allocate { buffer: BufferId(1), color: Some(Color(color)) };
        tasks.push(Task { work: Work { steps: vec![taken] }, ..task("takes", 1) });
        let owners = Owners { tasks: &tasks, devices: &[], buffers: &buffers };
        pages_fit(Some(&coloring), &[], &xeon(), owners)
    };
    assert_eq!(fit(4096, 0), Ok(()));
    let refused = fit(4097, 0).unwrap_err().to_string();
    assert_eq!(refused, "task1 needs 4096 pages of color 0 in any bank, which have 4095 free");
    assert_eq!(fit(4097, 1), Ok(()));
}
