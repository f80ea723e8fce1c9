//! Programs in chosen frames: each looks its own frames up, independently of who placed them, and checks its data.
#![allow(missing_docs, unsafe_code)]

use solo_color::{ColorError, Ended, Outcome, Painted, Pool, Program, Wish, run};
use solo_isolate::map::{Classes, MemoryMap};
use solo_model::platform::XorBits;
use solo_model::{Bytes, Color};
use std::ffi::OsString;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

const PAGE: usize = 4096;

/// Two of eight colors, made of address bits 12 to 14: frames whose last three bits say 1 or 6.
fn wish() -> Wish {
    let bits: Vec<_> = (12..15).map(|bit| XorBits(1 << bit)).collect();
    let map = MemoryMap::new(Bytes::new(PAGE as u64), Classes::new(&bits), Classes::new(&[]), None).unwrap();
    Wish::new(map, [Color(1), Color(6)].into(), [].into()).unwrap()
}

/// The same, told without the map.
fn is_right(frame: u64) -> bool {
    matches!(frame % 8, 1 | 6)
}

fn colored(command: &[OsString]) -> Option<Outcome> {
    match run(command, wish(), &|| ControlFlow::Continue(())) {
        Ok(outcome) => Some(outcome),
        Err(error @ (ColorError::FramesHidden | ColorError::Refused { .. } | ColorError::Architecture)) => {
            println!(
                "skipped: page frames of chosen colors: {error}: {:?}",
                std::error::Error::source(&error)
            );
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// This program again, as the victim `name`.
fn victim(name: &str) -> Vec<OsString> {
    let itself = std::env::current_exe().unwrap();
    let variable = format!("SOLO_COLOR_VICTIM={name}");
    let words = ["/usr/bin/env", &variable];
    let arguments = ["--exact", "the_victim", "--nocapture", "--test-threads=1"];
    let words = words.into_iter().map(OsString::from).chain([itself.into_os_string()]);
    words.chain(arguments.into_iter().map(OsString::from)).collect()
}

fn victim_is_right(name: &str) {
    let Some(mut outcome) = colored(&victim(name)) else { return };
    // What an interrupt misplaces in the last moment is counted and told, and no longer mended.
    for _ in 0..3 {
        assert_eq!(outcome.ended, Ended::Exited(0), "{name}: {outcome:?}");
        let wrong_but_told = |program: &Program| program.pages.wrong <= program.misplaced;
        assert!(outcome.programs.iter().all(wrong_but_told), "{name}: {outcome:?}");
        if outcome.is_right() {
            break;
        }
        outcome = colored(&victim(name)).unwrap();
    }
    assert!(outcome.is_right(), "{name}: {outcome:?}");
    assert!(outcome.programs.iter().all(|program| program.pages.right > 50), "{name}: {outcome:?}");
    assert_eq!(outcome.without_frame, 0);
}

#[test]
fn heap() {
    victim_is_right("heap");
}

#[test]
fn threads() {
    victim_is_right("threads");
}

#[test]
fn forked_parent_and_child() {
    victim_is_right("fork");
}

#[test]
fn forked_while_other_threads_write() {
    victim_is_right("fork-and-threads");
}

#[test]
fn deep_stack() {
    victim_is_right("stack");
}

#[test]
fn mapped_files() {
    victim_is_right("file");
}

#[test]
fn brought_in_at_once() {
    victim_is_right("populate");
}

#[test]
fn grown_and_moved() {
    victim_is_right("remap");
}

#[test]
fn interrupted_all_the_time() {
    victim_is_right("signals");
}

#[test]
fn statuses_and_signals_are_passed_on() {
    let shell = |script: &str| ["sh", "-c", script].map(OsString::from);
    let Some(outcome) = colored(&shell("exit 7")) else { return };
    assert_eq!(outcome.ended, Ended::Exited(7));
    assert_eq!(colored(&shell("kill -9 $$")).unwrap().ended, Ended::Signalled(9));
    let piped =
        colored(&shell("for i in 1 2 3 4 5; do echo $i | cat | grep -q $i || exit 9; done; exec true"))
            .unwrap();
    assert_eq!(piped.ended, Ended::Exited(0));
    assert!(piped.programs.iter().all(|program| program.pages.wrong <= program.misplaced), "{piped:?}");
    // The shell, its children before they become another program or end, and those programs.
    assert!(piped.programs.len() > 10, "{piped:?}");
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let refused = run(&["/nowhere/at/all".into()], wish(), &|| ControlFlow::Continue(()));
    match refused {
        Err(ColorError::NoProgram { source }) => assert_eq!(source.raw_os_error(), Some(libc::ENOENT)),
        Err(error) => println!("skipped: page frames of chosen colors: {error}"),
        Ok(outcome) => panic!("{outcome:?}"),
    }
}

#[test]
fn a_caller_that_has_enough_ends_the_program() {
    let begun = std::time::Instant::now();
    let enough =
        || if begun.elapsed().as_millis() > 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    match run(&["sleep", "1000"].map(OsString::from), wish(), &enough) {
        Ok(outcome) => assert_eq!(outcome.ended, Ended::Signalled(libc::SIGTERM)),
        Err(error) => println!("skipped: page frames of chosen colors: {error}"),
    }
}

#[test]
fn memory_of_this_process() {
    let mut pool = Pool::new(wish()).unwrap();
    let mut painted = match Painted::new(&mut pool, 300 * PAGE - 5) {
        Ok(painted) => painted,
        Err(error) => {
            println!("skipped: page frames of chosen colors: {error}");
            return;
        }
    };
    assert_eq!(painted.as_slice().len(), 300 * PAGE);
    assert!(painted.as_slice().iter().all(|byte| *byte == 0));
    painted.as_mut_slice().fill(7);
    let base = painted.as_slice().as_ptr() as usize;
    assert!(frames(base, 300 * PAGE).into_iter().all(is_right));
    assert_eq!(painted.wrong_pages().unwrap(), 0);
}

/// What the tests above run, when they say so.
#[test]
fn the_victim() {
    match std::env::var("SOLO_COLOR_VICTIM").as_deref() {
        Ok("heap") => heap_victim(),
        Ok("threads") => threads_victim(),
        Ok("fork") => fork_victim(false),
        Ok("fork-and-threads") => fork_victim(true),
        Ok("stack") => assert_eq!(stack_victim(0), 200),
        Ok("file") => file_victim(),
        Ok("populate") => populate_victim(),
        Ok("remap") => remap_victim(),
        Ok("signals") => signals_victim(),
        Ok(other) => panic!("no victim is called {other}"),
        Err(_) => {}
    }
}

/// The frames of what is there of a range of this process.
fn frames(from: usize, bytes: usize) -> Vec<u64> {
    let pagemap = File::open("/proc/self/pagemap").unwrap();
    let first = from / PAGE;
    let last = (from + bytes).div_ceil(PAGE);
    let mut all = Vec::new();
    for page in first..last {
        let mut entry = [0; 8];
        pagemap.read_exact_at(&mut entry, page as u64 * 8).unwrap();
        let entry = u64::from_ne_bytes(entry);
        if entry >> 63 == 1 {
            all.push(entry & ((1 << 55) - 1));
        }
    }
    all
}

/// Every page of this data is in a right frame; one that somebody else's interrupt has misplaced is mended soon.
#[track_caller]
fn all_right(data: &[u8]) {
    for patience in (0..100).rev() {
        let frames = frames(data.as_ptr() as usize, data.len());
        assert!(frames.len() >= data.len() / PAGE, "{} of {} bytes", frames.len() * PAGE, data.len());
        let wrong = frames.iter().filter(|frame| !is_right(**frame)).count();
        if wrong == 0 {
            return;
        }
        assert!(patience > 0, "{wrong} of {}", frames.len());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn pattern(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 64 * 31 + at + seed) as u8).collect()
}

fn heap_victim() {
    let mut kept = Vec::new();
    for size in [100, 5_000, 70_000, 900_000, 5_000_000] {
        for round in 0..4 {
            let data = pattern(size + round, size);
            if round % 2 == 0 {
                kept.push((size + round, data));
            }
        }
    }
    for (seed, data) in &kept {
        assert_eq!(*data, pattern(*seed, data.len()));
        if data.len() > 2 * PAGE {
            all_right(data);
        }
    }
}

fn threads_victim() {
    std::thread::scope(|scope| {
        for seed in 0..6 {
            scope.spawn(move || {
                for round in 0..5 {
                    let data = pattern(seed * 10 + round, 300_000);
                    all_right(&data);
                    assert_eq!(data, pattern(seed * 10 + round, 300_000));
                }
            });
        }
    });
}

fn fork_victim(with_threads: bool) {
    let mut data = pattern(1, 500_000);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut own = pattern(9, 400_000);
            let mut rounds = 0_usize;
            while with_threads && !stop.load(std::sync::atomic::Ordering::Relaxed) {
                rounds += 1;
                own.iter_mut().step_by(PAGE).for_each(|byte| *byte = rounds as u8);
                // Nothing that was written is lost while pages change their frames.
                assert!(own.iter().step_by(PAGE).all(|byte| *byte == rounds as u8));
            }
        });
        for round in 0..5 {
            // SAFETY: the child only computes, looks at files and exits.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let own = std::panic::catch_unwind(|| {
                    let mut mine = pattern(1, 500_000);
                    mine.fill(3);
                    all_right(&mine);
                });
                let sees = data.get(7).is_some_and(|byte| *byte == pattern(1, 8)[7].wrapping_add(round));
                // SAFETY: no pointers.
                unsafe { libc::_exit(if own.is_ok() && sees { 0 } else { 1 }) };
            }
            assert!(child > 0);
            data.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            let mut status = -1;
            // SAFETY: the status is valid for the call.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0);
            all_right(&data);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writer.join().unwrap();
    });
    assert!(data.iter().zip(pattern(1, 500_000)).all(|(byte, was)| *byte == was.wrapping_add(5)));
}

#[inline(never)]
fn stack_victim(depth: usize) -> usize {
    let frame = std::hint::black_box([depth as u8; PAGE]);
    let deepest = if depth < 200 { stack_victim(depth + 1) } else { depth };
    all_right(&frame[..1]);
    assert!(frame.iter().all(|byte| *byte == depth as u8));
    deepest
}

fn mapped(bytes: usize, flags: i32, file: i32, offset: i64) -> &'static mut [u8] {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice, never unmapped by this function.
    unsafe {
        let base = libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, offset);
        assert_ne!(base, libc::MAP_FAILED);
        std::slice::from_raw_parts_mut(base.cast(), bytes)
    }
}

/// Where part of a file was, memory without one may be later: it holds zeros.
fn file_is_forgotten(file: &File) {
    let seen = mapped(8 * PAGE, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
    assert_ne!(seen[4 * PAGE], 0);
    let (kept, dropped) = seen.split_at_mut(PAGE);
    // SAFETY: nothing refers to the pages behind the first any more.
    unsafe { libc::munmap(dropped.as_mut_ptr().cast(), dropped.len()) };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: over the page that is left, then behind it, where nothing is.
    let grown = unsafe {
        assert_ne!(libc::mmap(kept.as_mut_ptr().cast(), PAGE, protection, flags, -1, 0), libc::MAP_FAILED);
        let base = libc::mremap(kept.as_mut_ptr().cast(), PAGE, 8 * PAGE, 0);
        assert_ne!(base, libc::MAP_FAILED);
        std::slice::from_raw_parts(base.cast::<u8>(), 8 * PAGE)
    };
    assert!(grown.iter().all(|byte| *byte == 0));
    all_right(grown);
}

/// Where a file was mapped behind the heap for a while, the heap grows into zeros.
fn file_is_forgotten_by_the_heap(file: &File) {
    // SAFETY: the end of the heap is looked at, used for a mapping that is gone again, and moved up for good.
    unsafe {
        let end = libc::sbrk(0) as usize;
        let page = end.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
        let at = libc::mmap(page as *mut libc::c_void, PAGE, libc::PROT_READ, flags, file.as_raw_fd(), 0);
        assert_eq!(at as usize, page);
        assert_eq!(libc::munmap(at, PAGE), 0);
        assert_eq!(libc::sbrk((page - end + PAGE) as isize) as usize, end);
        let heap = std::slice::from_raw_parts(page as *const u8, PAGE);
        assert!(heap.iter().all(|byte| *byte == 0));
        all_right(heap);
    }
}

fn file_victim() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let content = pattern(5, 9 * PAGE + 100);
    std::fs::write(&path, &content).unwrap();
    let file = File::open(&path).unwrap();
    // From the second page to beyond the end of the file, within its last page.
    file_is_forgotten(&file);
    file_is_forgotten_by_the_heap(&file);
    let seen = mapped(9 * PAGE, libc::MAP_PRIVATE, file.as_raw_fd(), PAGE as i64);
    drop(file);
    assert_eq!(seen[..8 * PAGE + 100], content[PAGE..]);
    assert!(seen[8 * PAGE + 100..].iter().all(|byte| *byte == 0));
    all_right(seen);
    seen[3 * PAGE..4 * PAGE].fill(9);
    assert_eq!(std::fs::read(&path).unwrap(), content);
    // SAFETY: what is dropped is read again from the file.
    assert_eq!(unsafe { libc::madvise(seen.as_mut_ptr().cast(), 6 * PAGE, libc::MADV_DONTNEED) }, 0);
    assert_eq!(seen[..8 * PAGE + 100], content[PAGE..]);
    all_right(seen);
    // Anonymous memory in its place holds zeros, and what is left of the file still is the file.
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: over pages of this mapping.
    let over =
        unsafe { libc::mmap(seen[2 * PAGE..].as_mut_ptr().cast(), 2 * PAGE, protection, flags, -1, 0) };
    assert_ne!(over, libc::MAP_FAILED);
    assert!(seen[2 * PAGE..4 * PAGE].iter().all(|byte| *byte == 0));
    assert_eq!(seen[4 * PAGE..8 * PAGE], content[5 * PAGE..9 * PAGE]);
    all_right(seen);
}

fn populate_victim() {
    for round in 0..3 {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        let data = mapped(200 * PAGE, flags, -1, 0);
        all_right(data);
        data.fill(round);
        assert!(data.iter().all(|byte| *byte == round));
        all_right(data);
    }
}

fn remap_victim() {
    let mut data = mapped(PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
    data[0] = 1;
    for pages in [2, 5, 40, 300, 7] {
        let old = data.len();
        // SAFETY: the old mapping is used no more.
        data = unsafe {
            let base = libc::mremap(data.as_mut_ptr().cast(), old, pages * PAGE, libc::MREMAP_MAYMOVE);
            assert_ne!(base, libc::MAP_FAILED);
            std::slice::from_raw_parts_mut(base.cast(), pages * PAGE)
        };
        assert_eq!(data[0], 1);
        let new = old.min(data.len());
        assert!(data[new..].iter().all(|byte| *byte == 0));
        data[new..].iter_mut().step_by(PAGE).for_each(|byte| *byte = 2);
        all_right(data);
    }
}

static SIGNALS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    SIGNALS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

fn signals_victim() {
    // SAFETY: the structures are whole and valid for the calls; the handler only counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
        let each = libc::timeval { tv_sec: 0, tv_usec: 300 };
        let timer = libc::itimerval { it_interval: each, it_value: each };
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()), 0);
    }
    let mut round = 0;
    while round < 300 || SIGNALS.load(std::sync::atomic::Ordering::Relaxed) < 20 {
        let data = mapped(20 * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0);
        data.fill(round as u8);
        assert!(data.iter().all(|byte| *byte == round as u8));
        all_right(data);
        // SAFETY: used no more.
        unsafe { libc::munmap(data.as_mut_ptr().cast(), data.len()) };
        round += 1;
    }
}
