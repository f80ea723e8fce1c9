//! The runtime's locks, heaps and page frames over an instruction set of the host: page tables are a map, interrupts a flag.

use solo_bare::heap::Heaps;
use solo_bare::isa::Isa;
use solo_bare::lock::SpinLock;
use solo_bare::memory::{Need, RunMemory};
use solo_bare::module::STACK_RESERVE;
use solo_bare::paging::{PAGE, Paging};
use solo_bare::placement::{MemoryUser, Pages};
use solo_bare::stacks::Stacks;
use solo_isolate::frames::{Group, GroupId, Order};
use solo_isolate::{Classes, MemoryMap};
use solo_model::isolation::Fallback;
use solo_model::platform::XorBits;
use solo_model::{BufferId, Bytes, Color, TaskId};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

thread_local! {
    static INTERRUPTS: Cell<bool> = const { Cell::new(true) };
    static TABLE: RefCell<BTreeMap<u64, u64>> = const { RefCell::new(BTreeMap::new()) };
    /// Pieces of 512 pages that have a table.
    static TABLES: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    /// Where the image was moved to, and from where it came back.
    static IMAGE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The host as an instruction set.
#[derive(Debug)]
struct HostIsa;

static HEAPS: Heaps<HostIsa> = Heaps::new(HostIsa::WINDOW);

impl Isa for HostIsa {
    fn interrupts_enabled() -> bool {
        INTERRUPTS.get()
    }
    fn enable_interrupts() {
        INTERRUPTS.set(true);
    }
    fn disable_interrupts() {
        INTERRUPTS.set(false);
    }
    fn pause() {
        std::thread::yield_now();
    }
}

const IMAGE_AT: u64 = 0x10_0000;

impl Paging for HostIsa {
    const WINDOW: u64 = 1 << 60;

    fn heaps() -> &'static Heaps<Self> {
        &HEAPS
    }
    fn most_tables(pages: u64) -> u64 {
        pages.div_ceil(512) + 1
    }
    unsafe fn map<E>(
        address: u64,
        physical: u64,
        mut frame: impl FnMut() -> Result<u64, E>,
    ) -> Result<(), E> {
        let piece = address / PAGE / 512;
        if !TABLES.with_borrow(|tables| tables.contains(&piece)) {
            frame()?;
            TABLES.with_borrow_mut(|tables| tables.insert(piece));
        }
        let before = TABLE.with_borrow_mut(|table| table.insert(address, physical));
        assert_eq!(before, None, "mapped twice");
        Ok(())
    }
    unsafe fn unmap(address: u64) {
        assert!(TABLE.with_borrow_mut(|table| table.remove(&address)).is_some(), "not mapped");
    }
    unsafe fn clear(window: Range<u64>) {
        TABLE.with_borrow_mut(|table| table.retain(|address, _| !window.contains(address)));
        TABLES.with_borrow_mut(BTreeSet::clear);
    }
    fn translate(address: u64) -> Option<u64> {
        let page = TABLE.with_borrow(|table| table.get(&(address / PAGE * PAGE)).copied())?;
        Some(page + address % PAGE)
    }
    fn image() -> [Range<u64>; 2] {
        [IMAGE_AT..IMAGE_AT + 3 * PAGE, IMAGE_AT + 8 * PAGE..IMAGE_AT + 10 * PAGE]
    }
    unsafe fn move_image(frames: &[u64]) {
        IMAGE.with_borrow_mut(|image| image.extend(frames));
    }
    unsafe fn return_image(attic: u64) {
        let of_before = (0..5).map(|page| Self::translate(attic + page * PAGE).expect("the attic is mapped"));
        IMAGE.with_borrow_mut(|image| image.extend(of_before));
    }
}

/// Four colors in bits 12 and 13.
fn colors() -> MemoryMap {
    let bits = [XorBits(1 << 12), XorBits(1 << 13)];
    MemoryMap::new(Bytes::new(PAGE), Classes::new(&bits), Classes::new(&[]), None).unwrap()
}

fn group(colors: &[u16]) -> Group {
    let colors = colors.iter().copied().map(Color).collect();
    Group { colors, banks: Vec::new(), fallback: Fallback::Fail }
}

const KERNEL: GroupId = GroupId(0);
const TASKS: GroupId = GroupId(1);

/// 64 pages and what their tables take; the kernel has color 0, tasks have colors 1 and 2.
fn memory() -> RunMemory<HostIsa> {
    let need = Need::Pages { pages: 61, pieces: 1 };
    RunMemory::new(colors(), &[group(&[0]), group(&[1, 2])], KERNEL, Order::Ascending, need).unwrap()
}

fn told(memory: &RunMemory<HostIsa>) -> Vec<Pages> {
    let mut all = Vec::new();
    memory.tell(|pages| all.push(pages));
    all
}

#[test]
fn pages_have_the_colors_of_their_group_and_tables_those_of_the_kernel() {
    let mut memory = memory();
    let first = memory.map(MemoryUser::Buffer(BufferId(0)), TASKS, 10).unwrap();
    let second = memory.map(MemoryUser::Stack(TaskId(0)), TASKS, 2).unwrap();
    assert_eq!(second, first + 11 * PAGE, "a hole between them");
    assert_eq!(HostIsa::translate(first - 1), None);
    assert_eq!(HostIsa::translate(second - 1), None);
    let told = told(&memory);
    assert_eq!(told.iter().map(|pages| pages.frames.len()).collect::<Vec<_>>(), [10, 2, 1]);
    let mut seen = BTreeSet::new();
    for pages in &told {
        let tables = pages.place == MemoryUser::Tables;
        for frame in &pages.frames {
            assert!(if tables { frame & 3 == 0 } else { matches!(frame & 3, 1 | 2) }, "{pages:?}");
            assert!(seen.insert(*frame), "frame {frame} twice");
        }
    }
    assert_eq!(told[0].frames[3], HostIsa::translate(first + 3 * PAGE).unwrap() / PAGE);
    drop(memory);
    assert!(TABLE.with_borrow(BTreeMap::is_empty), "the window is gone");
}

#[test]
fn a_request_that_cannot_be_met_leaves_nothing() {
    let mut memory = memory();
    assert!(memory.map(MemoryUser::Buffer(BufferId(0)), TASKS, 1000).is_err());
    assert!(TABLE.with_borrow(BTreeMap::is_empty));
    // All of the two colors are still there: half of the pages, give or take the ends of the piece.
    assert!(memory.map(MemoryUser::Buffer(BufferId(0)), TASKS, 30).is_ok());
    assert!(memory.map(MemoryUser::Buffer(BufferId(1)), TASKS, 30).is_err());
    assert_eq!(told(&memory).len(), 2);
}

#[test]
fn the_image_moves_to_pages_of_the_kernel_and_comes_back() {
    let mut memory = memory();
    memory.move_image().unwrap();
    let moved = IMAGE.take();
    assert_eq!(moved.len(), 5);
    assert!(moved.iter().all(|frame| (frame / PAGE).is_multiple_of(4)));
    let image = told(&memory).into_iter().filter(|pages| pages.place == MemoryUser::Image);
    assert_eq!(image.map(|pages| pages.frames.len()).collect::<Vec<_>>(), [3, 2]);
    drop(memory);
    let before: Vec<u64> =
        HostIsa::image().into_iter().flat_map(|piece| piece.step_by(PAGE as usize)).collect();
    assert_eq!(IMAGE.take(), before, "the frames of before, page after page");
}

#[test]
fn stacks_follow_each_other_above_pages_that_are_not_there() {
    let mut memory = memory();
    let stacks = Stacks::new(&mut memory, [TASKS; 3].into_iter(), 2 * PAGE).unwrap();
    for index in 0..3 {
        let (end, limit) = (stacks.end(index), stacks.limit(index));
        assert_eq!((end % 16, end - limit), (0, 2 * PAGE));
        assert!(HostIsa::translate(end - 8).is_some() && HostIsa::translate(limit).is_some());
        assert_eq!(HostIsa::translate(limit - 1), None);
        assert_eq!((stacks.guards(limit - 1), stacks.guards(limit)), (Some(index), None));
        assert!(stacks.own(index).contains(&(limit + STACK_RESERVE)));
        assert!(!stacks.own(index).contains(&(limit + STACK_RESERVE - 1)));
    }
    assert_eq!((stacks.guards(0), stacks.guards(stacks.end(2))), (None, None));
    let (task, _) = Stacks::new(&mut memory, [TASKS; 3].into_iter(), 12 * PAGE).unwrap_err();
    assert_eq!(task, TaskId(2), "the third has no pages");
}

/// Memory for a heap, which lasts as long as the test program.
fn leaked(bytes: usize) -> Range<u64> {
    let start =
        Box::leak(vec![0_u128; bytes / 16].into_boxed_slice()).as_mut_ptr().expose_provenance() as u64;
    start..start + bytes as u64
}

#[test]
fn heaps_hand_out_disjoint_blocks_and_count_what_the_system_heap_lacks() {
    static OWN: Heaps<HostIsa> = Heaps::new(HostIsa::WINDOW);
    let (general, system) = (leaked(1 << 16), leaked(1 << 13));
    // SAFETY: the memory is nobody else's.
    unsafe { OWN.give(general.clone()) };
    let layout = Layout::from_size_align(1000, 16).unwrap();
    let take = || OWN.allocate(layout) as u64;
    let blocks: Vec<u64> = std::iter::repeat_with(take).take_while(|&block| block != 0).collect();
    assert!(blocks.len() > 50, "{}", blocks.len());
    let sorted: BTreeSet<u64> = blocks.iter().copied().collect();
    assert!(sorted.iter().zip(sorted.iter().skip(1)).all(|(one, next)| next - one >= 1000));
    assert!(sorted.iter().all(|block| general.contains(block) && block % 16 == 0));
    assert_eq!(OWN.requests(), blocks.len() as u64 + 1);
    for &block in &blocks {
        // SAFETY: it was handed out with this layout.
        unsafe { OWN.release(std::ptr::with_exposed_provenance_mut(block as usize), layout) };
    }
    // SAFETY: as above. What it hands out is not given back before it is dropped.
    unsafe { OWN.open_system(system.clone()) };
    assert_eq!((OWN.system_bytes(), OWN.general_bytes()), (Some(1 << 13), 1 << 16));
    let blocks: Vec<u64> = std::iter::repeat_with(take).take(10).collect();
    let inside = blocks.iter().filter(|block| system.contains(block)).count() as u64;
    assert!((5..10).contains(&inside), "{inside}");
    assert_eq!(OWN.close_system(), (10 - inside) * 1000);
    assert_eq!(OWN.close_system(), 0, "closed already");
    assert!(general.contains(&take()));
    OWN.drop_system();
    assert_eq!(OWN.system_bytes(), None);
}

#[test]
fn a_lock_keeps_interrupts_out_and_leaves_them_as_they_were() {
    let lock = SpinLock::<HostIsa, _>::new(1);
    for interrupts in [true, false] {
        INTERRUPTS.set(interrupts);
        {
            let mut guard = lock.lock();
            *guard += 1;
            assert!(!INTERRUPTS.get());
        }
        assert_eq!(INTERRUPTS.get(), interrupts);
        assert_eq!(lock.lock().forget(), interrupts);
        assert!(!INTERRUPTS.get(), "whoever forgets the guard lets them in");
        // SAFETY: the guard was forgotten.
        unsafe { lock.release_forgotten() };
    }
    assert_eq!(*lock.lock(), 3);
}

#[test]
fn cores_add_up_under_a_lock() {
    let lock = SpinLock::<HostIsa, _>::new(0_u64);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let mut guard = lock.lock();
                    let before = *guard;
                    *guard = before + 1;
                }
            });
        }
    });
    assert_eq!(*lock.lock(), 8000);
}
