//! `/proc/PID/maps`: what a process has mapped.

use std::io;
use std::ops::Range;

/// A mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// `PROT_READ`, `PROT_WRITE`, `PROT_EXEC` as the kernel numbers them.
    pub(crate) protection: u64,
    /// Nobody else sees what is written.
    pub(crate) is_private: bool,
    pub(crate) offset: u64,
    /// 0 without a file.
    pub(crate) inode: u64,
    pub(crate) name: String,
}

impl Mapping {
    /// From a line of the file.
    fn of(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (from, to) = words.next()?.split_once('-')?;
        let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
        let range = hexadecimal(from)?..hexadecimal(to)?;
        let letters = words.next()?;
        let protection = "rwx".chars().enumerate().filter(|&(_, letter)| letters.contains(letter));
        let protection = protection.map(|(bit, _)| 1 << bit).sum();
        let offset = hexadecimal(words.next()?)?;
        let _device = words.next()?;
        let inode = words.next()?.parse().ok()?;
        let name = words.next().unwrap_or_default().trim_start().to_owned();
        Some(Self { range, protection, is_private: letters.ends_with('p'), offset, inode, name })
    }

    /// Whether the kernel made it for its own purposes: the time page, the gate of system calls.
    pub(crate) fn is_the_kernels(&self) -> bool {
        self.name.starts_with("[v")
    }

    /// Its name, for people.
    pub(crate) fn called(&self) -> &str {
        if self.name.is_empty() { "without a name" } else { &self.name }
    }
}

/// What a process has mapped, by address.
pub(crate) fn of(process: i32) -> io::Result<Vec<Mapping>> {
    // Names of files may be anything.
    let bytes = std::fs::read(format!("/proc/{process}/maps"))?;
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(Mapping::of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_understood() {
        let line = "7f13a2628000-7f13a264e000 r-xp 00028000 fe:00 655384                     /usr/lib/a b.so (deleted)";
        let mapping = Mapping::of(line).unwrap();
        assert_eq!(mapping.range, 0x7f13_a262_8000..0x7f13_a264_e000);
        assert_eq!((mapping.protection, mapping.is_private), (5, true));
        assert_eq!((mapping.offset, mapping.inode), (0x28000, 655_384));
        assert_eq!(mapping.name, "/usr/lib/a b.so (deleted)");
    }

    #[test]
    fn memory_without_a_file_has_no_name() {
        let mapping = Mapping::of("7ffd0000-7ffd1000 rw-s 00000000 00:00 0 ").unwrap();
        assert_eq!((mapping.inode, mapping.is_private, mapping.called()), (0, false, "without a name"));
        assert!(Mapping::of("7ffd-7ffe r-xp 0 00:00 0  [vdso]").unwrap().is_the_kernels());
        assert_eq!(Mapping::of("nonsense"), None);
    }

    #[test]
    fn this_process_has_a_stack_and_a_program() {
        let maps = of(std::process::id() as i32).unwrap();
        assert!(maps.iter().any(|mapping| mapping.name == "[stack]" && mapping.inode == 0));
        assert!(maps.iter().any(|mapping| mapping.inode != 0 && mapping.protection & 4 != 0));
    }
}
