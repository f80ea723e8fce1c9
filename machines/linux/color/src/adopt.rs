//! Memories are taken over: their mappings registered, and the pages that are there brought into right frames.

use crate::maps::{self, Mapping};
use crate::outcome::Program;
use crate::space::{Backing, Shared, Space, SpaceId, is_colored, present};
use crate::sys::{Faults, Pagemap, descriptor_of, page};
use crate::tracee::{Call, Tracee};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

/// What is known of a memory beside what the painter has.
struct Memory {
    process: i32,
    /// An instruction of the process that makes a system call.
    gate: u64,
    pagemap: Pagemap,
    /// `/proc/PID/mem`.
    content: File,
}

/// Takes memories over.
pub(crate) struct Adopter<'s> {
    shared: &'s Shared,
    memories: BTreeMap<SpaceId, Memory>,
    next: u32,
    page: u64,
}

/// A page and what it holds.
type Saved = (u64, Vec<u8>);

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

impl<'s> Adopter<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Self {
        Self { shared, memories: BTreeMap::new(), next: 0, page: page() }
    }

    /// Whether this process's own memory it is: not one that it shares with the process that started it.
    pub(crate) fn is_of(&self, space: SpaceId, process: i32) -> bool {
        self.memories.get(&space).is_some_and(|memory| memory.process == process)
    }

    pub(crate) fn forget(&mut self, space: SpaceId) {
        self.memories.remove(&space);
        self.shared.lock().remove(space);
    }

    fn memory(&self, space: SpaceId) -> io::Result<&Memory> {
        self.memories.get(&space).ok_or_else(gone)
    }

    /// A memory whose faults are told to us from now on; nothing is registered yet.
    fn open(&mut self, thread: Tracee, backings: Vec<Backing>) -> io::Result<SpaceId> {
        let process = thread.0;
        let name = process.to_string();
        let content = File::open(format!("/proc/{process}/mem"))?;
        let gate = gate(process, &content)?;
        let flags = (libc::O_CLOEXEC | libc::O_NONBLOCK) as u64;
        let theirs = thread.make(gate, libc::SYS_userfaultfd, [flags, 0, 0, 0, 0, 0])?;
        let ours = descriptor_of(process, theirs as i32);
        thread.make(gate, libc::SYS_close, [theirs, 0, 0, 0, 0, 0])?;
        let faults = Faults::agreed(ours?)?;
        let space = SpaceId(self.next);
        self.next += 1;
        self.memories.insert(space, Memory { process, gate, pagemap: Pagemap::of(&name)?, content });
        let pagemap = Pagemap::of(&name)?;
        let colored =
            Space { process, faults, pagemap, backings, placed: 0, misplaced: 0, to_mend: Vec::new() };
        self.shared.lock().adopt(space, colored);
        self.shared.ring();
        Ok(space)
    }

    /// A process has become another program.
    pub(crate) fn executed(&mut self, thread: Tracee) -> io::Result<SpaceId> {
        let space = self.open(thread, Vec::new())?;
        for mapping in maps::of(thread.0)?.iter().filter(|mapping| is_colored(mapping)) {
            if mapping.inode == 0 {
                self.register(space, &mapping.range)?;
                let pages = present(&self.memory(space)?.pagemap, mapping, self.page)?;
                self.bring_over(thread, space, &pages)?;
            } else {
                self.of_a_file(thread, space, mapping)?;
            }
        }
        Ok(space)
    }

    /// A mapping of a file, made by `exec`, becomes a copy; pages that the kernel has written to keep their content.
    fn of_a_file(&mut self, thread: Tracee, space: SpaceId, mapping: &Mapping) -> io::Result<()> {
        let Range { start, end } = mapping.range;
        let file = File::open(format!("/proc/{}/map_files/{start:x}-{end:x}", thread.0))?;
        let memory = self.memory(space)?;
        let mut written = Vec::new();
        for address in present(&memory.pagemap, mapping, self.page)? {
            if !memory.pagemap.at(address)?.is_of_a_file() {
                written.push(address);
            }
        }
        let saved = self.save(space, &written)?;
        self.copy(thread, space, mapping.range.clone(), mapping.protection, (file, mapping.offset))?;
        self.put(space, saved)
    }

    /// Puts memory without a file where a file was mapped; its pages are read from the file when they are wanted.
    fn copy(
        &mut self,
        thread: Tracee,
        space: SpaceId,
        range: Range<u64>,
        protection: u64,
        (file, offset): (File, u64),
    ) -> io::Result<()> {
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
        let arguments = [range.start, range.end - range.start, protection, flags, u64::MAX, 0];
        thread.make(self.memory(space)?.gate, libc::SYS_mmap, arguments)?;
        if let Some(colored) = self.shared.lock().space(space) {
            colored.forget(&range);
            colored.backings.push(Backing { range: range.clone(), file: Arc::new(file), offset });
        }
        self.register(space, &range)
    }

    /// A process was forked: its pages are its parent's until one of them writes. It gets its own at once.
    pub(crate) fn forked(&mut self, child: Tracee, parent: SpaceId) -> io::Result<SpaceId> {
        let backings = self.shared.lock().space(parent).map(|space| space.backings.clone());
        let space = self.open(child, backings.unwrap_or_default())?;
        for mapping in maps::of(child.0)?.iter().filter(|mapping| is_colored(mapping)) {
            self.register(space, &mapping.range)?;
            let pages = present(&self.memory(space)?.pagemap, mapping, self.page)?;
            self.bring_over(child, space, &pages)?;
        }
        Ok(space)
    }

    fn register(&self, space: SpaceId, range: &Range<u64>) -> io::Result<()> {
        let mut painter = self.shared.lock();
        let colored = painter.space(space).ok_or_else(gone)?;
        match colored.faults.register(range.start, range.end - range.start) {
            // Memory of a kind that can not be told of (devices, huge pages), or not there any more: it is counted at the end.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOMEM | libc::EPERM)) => {
                Ok(())
            }
            other => other,
        }
    }

    fn save(&self, space: SpaceId, pages: &[u64]) -> io::Result<Vec<Saved>> {
        let memory = self.memory(space)?;
        let mut saved = Vec::new();
        for &address in pages {
            // It may have been unmapped or dropped since it was listed.
            if memory.pagemap.at(address)?.is_present() {
                let mut content = vec![0; self.page as usize];
                memory.content.read_exact_at(&mut content, address)?;
                saved.push((address, content));
            }
        }
        Ok(saved)
    }

    fn put(&self, space: SpaceId, saved: Vec<Saved>) -> io::Result<()> {
        let mut painter = self.shared.lock();
        saved.iter().try_for_each(|(address, content)| painter.place(space, *address, content))
    }

    /// Brings pages into right frames. Nobody runs in this memory.
    pub(crate) fn bring_over(&mut self, thread: Tracee, space: SpaceId, pages: &[u64]) -> io::Result<()> {
        /// `MADV_DONTNEED_LOCKED` (Linux 5.18): also where memory is locked.
        const DROP: u64 = 24;
        /// Pages that are held here at a time: 4 MiB.
        const STEP: usize = 1024;
        let gate = self.memory(space)?.gate;
        for step in pages.chunks(STEP) {
            let saved = self.save(space, step)?;
            for run in saved.chunk_by(|(one, _), (next, _)| one + self.page == *next) {
                let Some(&(from, _)) = run.first() else { continue };
                thread.make(gate, libc::SYS_madvise, [from, run.len() as u64 * self.page, DROP, 0, 0, 0])?;
            }
            self.put(space, saved)?;
        }
        Ok(())
    }

    /// Brings all pages in wrong frames into right ones. Nobody runs in this memory.
    pub(crate) fn bring_wrong_over(&mut self, thread: Tracee, space: SpaceId) -> io::Result<()> {
        let memory = self.memory(space)?;
        let mut wrong = Vec::new();
        for mapping in maps::of(thread.0)?.iter().filter(|mapping| is_colored(mapping)) {
            for address in present(&memory.pagemap, mapping, self.page)? {
                let frame = memory.pagemap.at(address)?.frame();
                if !self.shared.lock().pool().wish().accepts(frame) {
                    wrong.push(address);
                }
            }
        }
        self.bring_over(thread, space, &wrong)
    }

    /// The pages that came into wrong frames since this was asked last.
    pub(crate) fn to_mend(&self, space: SpaceId) -> Vec<u64> {
        self.shared.lock().space(space).map(|space| std::mem::take(&mut space.to_mend)).unwrap_or_default()
    }

    /// A thread has changed its memory.
    pub(crate) fn called(
        &mut self,
        thread: Tracee,
        space: SpaceId,
        call: Call,
        value: u64,
    ) -> io::Result<()> {
        let whole = |bytes: u64| bytes.next_multiple_of(self.page);
        let [first, second, third, fourth, fifth, sixth] = call.arguments;
        match call.number {
            libc::SYS_mmap => {
                let range = value..value.saturating_add(whole(second));
                self.mapped(thread, space, &range, [third, fourth, fifth, sixth])
            }
            libc::SYS_brk => self.covered(thread, space, value.saturating_sub(1), "[heap]"),
            libc::SYS_mremap => {
                let from = first..first.saturating_add(whole(second));
                let to = value..value.saturating_add(whole(third));
                if let Some(colored) = self.shared.lock().space(space) {
                    colored.moved(&from, &to);
                }
                self.covered(thread, space, value, "")
            }
            libc::SYS_munmap => {
                if let Some(colored) = self.shared.lock().space(space) {
                    colored.forget(&(first..first.saturating_add(whole(second))));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The mapping around an address, where it is one that is colored and has this name or any.
    fn covered(&mut self, thread: Tracee, space: SpaceId, address: u64, name: &str) -> io::Result<()> {
        let maps = maps::of(thread.0)?;
        let around = maps.iter().find(|mapping| mapping.range.contains(&address));
        match around.filter(|mapping| is_colored(mapping) && (name.is_empty() || mapping.name == name)) {
            Some(mapping) if mapping.inode == 0 => self.register(space, &mapping.range),
            _ => Ok(()),
        }
    }

    /// Something was mapped.
    fn mapped(
        &mut self,
        thread: Tracee,
        space: SpaceId,
        range: &Range<u64>,
        [protection, flags, descriptor, offset]: [u64; 4],
    ) -> io::Result<()> {
        let has = |flag: i32| flags & flag as u64 != 0;
        if let Some(colored) = self.shared.lock().space(space) {
            colored.forget(range);
        }
        if !has(libc::MAP_PRIVATE) || flags & libc::MAP_SHARED as u64 != 0 || has(libc::MAP_HUGETLB) {
            return Ok(());
        }
        if has(libc::MAP_ANONYMOUS) {
            self.register(space, range)?;
            if has(libc::MAP_POPULATE) || has(libc::MAP_LOCKED) {
                let maps = maps::of(thread.0)?;
                for mapping in maps
                    .iter()
                    .filter(|mapping| mapping.range.start < range.end && range.start < mapping.range.end)
                {
                    let pages = present(&self.memory(space)?.pagemap, mapping, self.page)?;
                    let pages: Vec<u64> = pages.into_iter().filter(|page| range.contains(page)).collect();
                    self.bring_over(thread, space, &pages)?;
                }
            }
            return Ok(());
        }
        // The very file, whatever it is called by now.
        let Ok(file) = descriptor_of(self.memory(space)?.process, descriptor as i32).map(File::from) else {
            return Ok(());
        };
        if !is_plain(&file) {
            return Ok(());
        }
        self.copy(thread, space, range.clone(), protection, (file, offset))
    }

    /// Where the pages of a program are at its end; `last` is its last thread, and ends.
    pub(crate) fn survey(&self, space: SpaceId, process: i32, last: Tracee) -> io::Result<Program> {
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        let mut painter = self.shared.lock();
        let pages = painter.survey(last.0, &self.memory(space)?.pagemap)?;
        let counts = painter.space(space).map(|space| (space.placed, space.misplaced));
        let (placed, misplaced) = counts.unwrap_or_default();
        let process = process.unsigned_abs();
        Ok(Program { process, name: name.trim_end().to_owned(), pages, placed, misplaced })
    }
}

/// Whether a file's pages are what reading it gives: no device, and no file of huge pages.
fn is_plain(file: &File) -> bool {
    /// The smallest block of a file system of huge pages.
    const HUGE: u64 = 2 << 20;
    file.metadata().is_ok_and(|about| about.is_file() && about.blksize() < HUGE && file.as_raw_fd() >= 0)
}

/// An instruction of a process that makes a system call: the kernel's own page of code has some.
fn gate(process: i32, content: &File) -> io::Result<u64> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let maps = maps::of(process)?;
    let missing = || io::Error::new(io::ErrorKind::Unsupported, "no [vdso]");
    let mapping = maps.iter().find(|mapping| mapping.name == "[vdso]").ok_or_else(missing)?;
    let mut code = vec![0; (mapping.range.end - mapping.range.start) as usize];
    content.read_exact_at(&mut code, mapping.range.start)?;
    let at = code.windows(2).position(|bytes| bytes == SYSCALL).ok_or_else(missing)?;
    Ok(mapping.range.start + at as u64)
}
