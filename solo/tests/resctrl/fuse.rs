//! A file system in this process, by the kernel's FUSE protocol (`include/uapi/linux/fuse.h`, 7.31): no more of it than files need that are read and
//! written whole, and folders that are made and taken away. Nothing is cached: each call of a program comes here.

use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What there is: folders, and files with what they say. Paths have no slash in front; the root is empty.
pub(crate) type Tree = BTreeMap<String, Option<String>>;

/// What stands behind the files.
pub(crate) trait Behind: Send + 'static {
    /// All folders and files as they are now.
    fn tree(&self) -> Tree;

    /// Writes a file.
    ///
    /// # Errors
    /// What the writer is told.
    fn write(&mut self, path: &str, text: &str) -> Result<(), Errno>;

    /// Makes a folder.
    ///
    /// # Errors
    /// What the maker is told.
    fn make(&mut self, path: &str) -> Result<(), Errno>;

    /// Takes a folder away, with what is in it.
    ///
    /// # Errors
    /// What the caller is told.
    fn remove(&mut self, path: &str) -> Result<(), Errno>;
}

const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const SETATTR: u32 = 4;
const MKDIR: u32 = 9;
const RMDIR: u32 = 11;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const RELEASE: u32 = 18;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const OPENDIR: u32 = 27;
const READDIR: u32 = 28;
const RELEASEDIR: u32 = 29;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;

/// The length of what precedes a request, in bytes.
const HEAD: usize = 40;
/// Reads and writes go past the page cache, whatever the length of the file is said to be.
const DIRECT_IO: u32 = 1;
/// The longest write, in bytes.
const LONGEST: u32 = 64 << 10;

/// Names of the kernel for what there is: a folder that is made anew has a new one.
struct Numbers {
    paths: BTreeMap<u64, String>,
    next: u64,
}

impl Numbers {
    fn of(&mut self, path: &str) -> u64 {
        if let Some((&number, _)) = self.paths.iter().find(|(_, known)| *known == path) {
            return number;
        }
        self.next += 1;
        self.paths.insert(self.next, path.to_owned());
        self.next
    }
}

/// Answers all requests until the file system is unmounted.
pub(crate) fn serve<B: Behind>(mut device: File, behind: &Arc<Mutex<B>>) {
    let mut numbers = Numbers { paths: BTreeMap::from([(1, String::new())]), next: 1 };
    let mut buffer = vec![0; LONGEST as usize + (4 << 10)];
    loop {
        let length = match device.read(&mut buffer) {
            Ok(length) if length >= HEAD => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            _ => return,
        };
        let request = &buffer[..length];
        let (opcode, unique, node) = (u32_at(request, 4), u64_at(request, 8), u64_at(request, 16));
        if [FORGET, BATCH_FORGET, INTERRUPT].contains(&opcode) {
            continue;
        }
        let mut behind = behind.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer(&mut *behind, &mut numbers, (opcode, node), &request[HEAD..]);
        drop(behind);
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(errno) => (-errno.raw_os_error(), Vec::new()),
        };
        let mut reply = Vec::new();
        reply.extend(u32::try_from(16 + body.len()).unwrap().to_ne_bytes());
        reply.extend(error.to_ne_bytes());
        reply.extend(unique.to_ne_bytes());
        reply.extend(body);
        // Who asked may have been killed meanwhile.
        let _ = device.write(&reply);
    }
}

fn answer<B: Behind>(
    behind: &mut B,
    numbers: &mut Numbers,
    (opcode, node): (u32, u64),
    body: &[u8],
) -> Result<Vec<u8>, Errno> {
    let path = || numbers.paths.get(&node).cloned().ok_or(Errno::STALE);
    match opcode {
        INIT => Ok(initial()),
        OPEN | OPENDIR => {
            path()?;
            Ok([0_u64.to_ne_bytes().as_slice(), &DIRECT_IO.to_ne_bytes(), &[0; 4]].concat())
        }
        RELEASE | RELEASEDIR | FLUSH => Ok(Vec::new()),
        GETATTR | SETATTR => {
            let tree = behind.tree();
            let is_folder = tree.get(&path()?).ok_or(Errno::NOENT)?.is_none();
            Ok([[0; 16].as_slice(), &attributes(node, is_folder)].concat())
        }
        LOOKUP => entry(&behind.tree(), numbers, &below(&path()?, body)),
        MKDIR => {
            let made = below(&path()?, &body[8..]);
            behind.make(&made)?;
            entry(&behind.tree(), numbers, &made)
        }
        RMDIR => {
            let gone = below(&path()?, body);
            behind.remove(&gone)?;
            let inside = format!("{gone}/");
            numbers.paths.retain(|_, path| *path != gone && !path.starts_with(&inside));
            Ok(Vec::new())
        }
        READ => {
            let tree = behind.tree();
            let text = tree.get(&path()?).ok_or(Errno::NOENT)?.as_ref().ok_or(Errno::ISDIR)?;
            Ok(piece(text.as_bytes(), body))
        }
        WRITE => {
            let length = u32_at(body, 16);
            let text = body.get(40..40 + length as usize).ok_or(Errno::INVAL)?;
            behind.write(&path()?, &String::from_utf8_lossy(text))?;
            Ok([length.to_ne_bytes(), [0; 4]].concat())
        }
        READDIR => Ok(piece_of_entries(&behind.tree(), numbers, &path()?, body)),
        _ => Err(Errno::NOSYS),
    }
}

/// What this file system is: version 7.31, no extensions.
fn initial() -> Vec<u8> {
    let mut out = Vec::new();
    [7, 31, LONGEST, 0].into_iter().for_each(|number: u32| out.extend(number.to_ne_bytes()));
    out.extend([0; 4]);
    [LONGEST, 1].into_iter().for_each(|number: u32| out.extend(number.to_ne_bytes()));
    out.resize(64, 0);
    out
}

fn attributes(node: u64, is_folder: bool) -> Vec<u8> {
    let mut out = node.to_ne_bytes().to_vec();
    // Like the kernel's own files: no length, no blocks, no times.
    out.resize(60, 0);
    let (mode, links): (u32, u32) = if is_folder { (0o040_755, 2) } else { (0o100_644, 1) };
    [mode, links].into_iter().for_each(|number| out.extend(number.to_ne_bytes()));
    out.resize(88, 0);
    out
}

fn entry(tree: &Tree, numbers: &mut Numbers, path: &str) -> Result<Vec<u8>, Errno> {
    let is_folder = tree.get(path).ok_or(Errno::NOENT)?.is_none();
    let node = numbers.of(path);
    let mut out = node.to_ne_bytes().to_vec();
    out.resize(40, 0);
    out.extend(attributes(node, is_folder));
    Ok(out)
}

/// What a read asks for.
fn piece(all: &[u8], body: &[u8]) -> Vec<u8> {
    let (offset, size) = (u64_at(body, 8) as usize, u32_at(body, 16) as usize);
    let rest = all.get(offset..).unwrap_or_default();
    rest[..rest.len().min(size)].to_vec()
}

/// The entries of a folder from an offset on, as many as fit.
fn piece_of_entries(tree: &Tree, numbers: &mut Numbers, folder: &str, body: &[u8]) -> Vec<u8> {
    let (offset, size) = (u64_at(body, 8) as usize, u32_at(body, 16) as usize);
    let inside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let children = tree.iter().filter_map(|(path, content)| {
        let name = path.strip_prefix(&inside).filter(|name| !name.is_empty() && !name.contains('/'))?;
        Some((path, name, content.is_none()))
    });
    let mut out = Vec::new();
    for (position, (path, name, is_folder)) in children.enumerate().skip(offset) {
        let mut one = Vec::new();
        one.extend(numbers.of(path).to_ne_bytes());
        one.extend((position as u64 + 1).to_ne_bytes());
        one.extend((name.len() as u32).to_ne_bytes());
        one.extend(if is_folder { 4_u32 } else { 8 }.to_ne_bytes());
        one.extend(name.as_bytes());
        one.resize(one.len().next_multiple_of(8), 0);
        if out.len() + one.len() > size {
            break;
        }
        out.extend(one);
    }
    out
}

/// The path of a name, which ends with a zero byte.
fn below(folder: &str, name: &[u8]) -> String {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(four.try_into().unwrap()))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |eight| u64::from_ne_bytes(eight.try_into().unwrap()))
}
