//! The runtime's locks, heaps, page frames and page tables over an instruction set of the host: tables are walked by software,
//! interrupts are a flag.

use solo_bare::heap::Heaps;
use solo_bare::isa::Isa;
use solo_bare::lock::SpinLock;
use solo_bare::memory::{Need, RunMemory};
use solo_bare::module::STACK_RESERVE;
use solo_bare::paging::{Move, PAGE, Paging, WINDOW};
use solo_bare::placement::{MemoryUser, Pages};
use solo_bare::stacks::Stacks;
use solo_bare::window::translate;
use solo_isolate::frames::{Group, GroupId, Order};
use solo_isolate::{Classes, MemoryMap};
use solo_model::isolation::Fallback;
use solo_model::platform::XorBits;
use solo_model::{BufferId, Bytes, Color, TaskId};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;

/// The entries of a page table.
const ENTRIES: usize = 512;

thread_local! {
    static INTERRUPTS: Cell<bool> = const { Cell::new(true) };
    /// The table of gibibytes, in memory that stays.
    static ROOT: *mut u64 = Box::leak(Box::new([0_u64; ENTRIES])).as_mut_ptr();
    /// The entries of the image's pages.
    static IMAGE_ENTRIES: *mut u64 = Box::leak(Box::new([0_u64; 10])).as_mut_ptr();
    /// Where the image was moved to, and from where it came back.
    static IMAGE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static FORGOTTEN: Cell<u32> = const { Cell::new(0) };
}

/// The host as an instruction set.
#[derive(Debug)]
struct HostIsa;

static HEAPS: Heaps<HostIsa> = Heaps::new(BORDER);

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
    fn time_stamp() -> u64 {
        unreachable!("memory needs no clock")
    }
    fn wait_for_interrupt() {
        unreachable!("memory waits for nobody")
    }
    fn stop() -> ! {
        unreachable!("memory stops nobody")
    }
    fn turn(_: u64) {
        unreachable!("memory counts nothing")
    }
}

/// No address of the host lies above.
const BORDER: u64 = 1 << 60;
const IMAGE_AT: u64 = 0x10_0000;

impl Paging for HostIsa {
    const RAM: Range<u64> = 0..BORDER;
    const PAGE_ENTRY: u64 = 0b101;
    const TABLE_ENTRY: u64 = 0b011;

    fn heaps() -> &'static Heaps<Self> {
        &HEAPS
    }
    fn gibibytes() -> *mut u64 {
        ROOT.with(|root| *root)
    }
    fn is_large(entry: u64) -> bool {
        entry & 0b010 == 0
    }
    fn forget_translations() {
        FORGOTTEN.set(FORGOTTEN.get() + 1);
    }
    fn image() -> [Range<u64>; 2] {
        [IMAGE_AT..IMAGE_AT + 3 * PAGE, IMAGE_AT + 8 * PAGE..IMAGE_AT + 10 * PAGE]
    }
    fn entry_of(address: u64) -> *mut u64 {
        // SAFETY: the image has ten pages, with the hole in its midst.
        IMAGE_ENTRIES.with(|entries| unsafe { entries.add(((address - IMAGE_AT) / PAGE) as usize) })
    }
    unsafe fn exchange(moves: &[Move]) {
        for one in moves {
            assert!(Self::image().iter().any(|piece| piece.contains(&one.from)));
            // SAFETY: `entry_of` gave the entry.
            unsafe { *one.entry = one.value };
            let physical = translate::<Self>(one.to).unwrap_or(one.to);
            IMAGE.with_borrow_mut(|image| image.push(physical));
        }
    }
}

/// True where nothing is mapped.
fn nothing_is_mapped() -> bool {
    // SAFETY: the table has so many entries, and stays.
    (0..ENTRIES).all(|at| unsafe { *HostIsa::gibibytes().add(at) } == 0)
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
    assert_eq!(translate::<HostIsa>(first - 1), None);
    assert_eq!(translate::<HostIsa>(second - 1), None);
    let told = told(&memory);
    assert_eq!(told.iter().map(|pages| pages.frames.len()).collect::<Vec<_>>(), [10, 2, 2]);
    let mut seen = BTreeSet::new();
    for pages in &told {
        let tables = pages.place == MemoryUser::Tables;
        for frame in &pages.frames {
            assert!(if tables { frame & 3 == 0 } else { matches!(frame & 3, 1 | 2) }, "{pages:?}");
            assert!(seen.insert(*frame), "frame {frame} twice");
        }
    }
    assert_eq!(told[0].frames[3], translate::<HostIsa>(first + 3 * PAGE).unwrap() / PAGE);
    drop(memory);
    assert!(nothing_is_mapped() && FORGOTTEN.get() > 0, "the window is gone");
}

#[test]
fn a_request_that_cannot_be_met_leaves_nothing() {
    let mut memory = memory();
    assert!(memory.map(MemoryUser::Buffer(BufferId(0)), TASKS, 1000).is_err());
    assert!((0..2000).all(|page| translate::<HostIsa>(WINDOW + page * PAGE).is_none()));
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
    let entry = |page: u64| {
        // SAFETY: the entry of a page of the image.
        unsafe { *HostIsa::entry_of(IMAGE_AT + page * PAGE) }
    };
    assert_eq!(entry(9), moved[4] | HostIsa::PAGE_ENTRY);
    assert_eq!(moved.len(), 5);
    assert!(moved.iter().all(|frame| (frame / PAGE).is_multiple_of(4)));
    let image = told(&memory).into_iter().filter(|pages| pages.place == MemoryUser::Image);
    assert_eq!(image.map(|pages| pages.frames.len()).collect::<Vec<_>>(), [3, 2]);
    drop(memory);
    let before: Vec<u64> =
        HostIsa::image().into_iter().flat_map(|piece| piece.step_by(PAGE as usize)).collect();
    assert_eq!(IMAGE.take(), before, "the frames of before, page after page");
    assert_eq!(entry(9), (IMAGE_AT + 9 * PAGE) | HostIsa::PAGE_ENTRY, "each page is where it was");
}

#[test]
fn stacks_follow_each_other_above_pages_that_are_not_there() {
    let mut memory = memory();
    let stacks = Stacks::new(&mut memory, [TASKS; 3].into_iter(), 2 * PAGE).unwrap();
    for index in 0..3 {
        let (end, limit) = (stacks.end(index), stacks.limit(index));
        assert_eq!((end % 16, end - limit), (0, 2 * PAGE));
        assert!(translate::<HostIsa>(end - 8).is_some() && translate::<HostIsa>(limit).is_some());
        assert_eq!(translate::<HostIsa>(limit - 1), None);
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
    static OWN: Heaps<HostIsa> = Heaps::new(BORDER);
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
