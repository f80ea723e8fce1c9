//! What this machine says of its last-level cache.

use solo_model::Bytes;
use solo_model::platform::XorBits;
use std::path::Path;

/// A cache, as the kernel describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastLevel {
    /// How far from the core it is.
    pub level: u8,
    /// Its size in bytes.
    pub size: Bytes,
    /// Its sets, over all slices.
    pub sets: u64,
    /// The size of a line in bytes.
    pub line: Bytes,
    /// Whether a hypervisor stands between this kernel's page frames and those of the chip.
    pub is_a_guest: bool,
}

impl LastLevel {
    /// The outermost cache of the first CPU that holds data; `root` is `/`, but in tests. `None` where the kernel tells of none.
    pub fn of_this_machine(root: &Path) -> Option<Self> {
        let cpuinfo = std::fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        let is_a_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
        let caches = std::fs::read_dir(root.join("sys/devices/system/cpu/cpu0/cache")).ok()?;
        let told = caches.filter_map(|entry| Self::read(&entry.ok()?.path(), is_a_guest));
        told.max_by_key(|cache| cache.level)
    }

    fn read(folder: &Path, is_a_guest: bool) -> Option<Self> {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        let holds_data = text("type").is_some_and(|kind| kind.trim() != "Instruction");
        let level = u8::try_from(number("level").filter(|_| holds_data)?).ok()?;
        let size = text("size")?.trim().strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)?;
        let (sets, line) = (number("number_of_sets")?, number("coherency_line_size")?);
        (sets > 0 && line > 0).then_some(Self {
            level,
            size: Bytes::new(size),
            sets,
            line: Bytes::new(line),
            is_a_guest,
        })
    }

    /// The bits of an address that choose a set and lie above the page: the page colors, if the cache is indexed by them alone.
    pub fn color_bits(&self, page: Bytes) -> Vec<XorBits> {
        let bytes = self.sets.saturating_mul(self.line.get());
        // Sets that are no power of two are told apart modulo their largest divisor that is one.
        let (low, high) = (page.get().trailing_zeros(), bytes.trailing_zeros().min(63));
        (low..high).map(|bit| XorBits(1 << bit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_cache_of_data_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let caches = root.path().join("sys/devices/system/cpu/cpu0/cache");
        let write = |index: &str, kind: &str, level: &str, size: &str, sets: &str| {
            let folder = caches.join(index);
            std::fs::create_dir_all(&folder).unwrap();
            let files = [("type", kind), ("level", level), ("size", size), ("number_of_sets", sets)];
            for (name, content) in files.into_iter().chain([("coherency_line_size", "64")]) {
                std::fs::write(folder.join(name), format!("{content}\n")).unwrap();
            }
        };
        write("index0", "Data", "1", "32K", "64");
        write("index1", "Instruction", "4", "32K", "64");
        write("index2", "Unified", "3", "12288K", "12288");
        let last = LastLevel::of_this_machine(root.path()).unwrap();
        assert_eq!((last.level, last.size, last.is_a_guest), (3, Bytes::from_kib(12288), false));
        // 12,288 sets are 3 times 4,096: 256 KiB that tell pages apart.
        let bits: Vec<u64> = last.color_bits(Bytes::from_kib(4)).iter().map(|bits| bits.0).collect();
        assert_eq!(bits, (12..18).map(|bit| 1 << bit).collect::<Vec<_>>());
        assert_eq!(LastLevel::of_this_machine(&root.path().join("nowhere")), None);
    }

    #[test]
    fn a_cache_smaller_than_a_page_has_no_colors() {
        let last = LastLevel {
            level: 1,
            size: Bytes::from_kib(4),
            sets: 16,
            line: Bytes::new(64),
            is_a_guest: false,
        };
        assert!(last.color_bits(Bytes::from_kib(4)).is_empty());
    }
}
