//! What a Multiboot2 loader leaves behind (Multiboot2 Specification 2.0, section 3.6).
//!
//! ```text
//!  offset  size
//!  0       4     length of all, little endian
//!  4       4     nothing
//!  8       ...   tags, each at a multiple of 8: its kind (4 bytes), its length (4), what it says; the last has kind 0
//! ```

use core::ops::Range;
use solo_bare::regions::Region;

/// What the loader leaves in `eax`.
pub const MAGIC: u32 = 0x36d7_6289;

const MODULE: u32 = 3;
const MEMORY_MAP: u32 = 6;
const ROOT_POINTER: u32 = 14;
const EXTENDED_ROOT_POINTER: u32 = 15;
/// The bytes in front of the tags, and of what a tag says.
const HEADER: usize = 8;

/// The tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Information<'i> {
    tags: &'i [u8],
}

impl<'i> Information<'i> {
    /// How long the information is, by its first four bytes.
    pub fn length(first: [u8; 4]) -> usize {
        u32::from_le_bytes(first) as usize
    }

    /// The information that `bytes` are; `None` where they are too few to be any.
    pub fn new(bytes: &'i [u8]) -> Option<Self> {
        bytes.get(HEADER..).map(|tags| Self { tags })
    }

    /// Kind and content of each tag. A tag that would end beyond the information is not told.
    fn tags(&self) -> impl Iterator<Item = (u32, &'i [u8])> + Clone + use<'i> {
        let mut rest = self.tags;
        core::iter::from_fn(move || {
            let (kind, length) = (word(rest, 0)?, word(rest, 4)? as usize);
            let content = rest.get(HEADER..length)?;
            rest = rest.get(length.checked_next_multiple_of(8)?..).unwrap_or_default();
            (kind != 0).then_some((kind, content))
        })
    }

    fn find(&self, kind: u32) -> Option<&'i [u8]> {
        self.tags().find(|(known, _)| *known == kind).map(|(_, content)| content)
    }

    /// Where the first boot module lies.
    pub fn module(&self) -> Option<Range<u64>> {
        let content = self.find(MODULE)?;
        let (start, end) = (word(content, 0)?, word(content, 4)?);
        (start <= end).then_some(start.into()..end.into())
    }

    /// A copy of ACPI's root system description pointer, that of ACPI 2.0 before that of ACPI 1.0.
    pub fn root_pointer(&self) -> Option<&'i [u8]> {
        self.find(EXTENDED_ROOT_POINTER).or_else(|| self.find(ROOT_POINTER))
    }

    /// The memory that there is; none where the loader does not tell.
    pub fn regions(&self) -> impl Iterator<Item = Region> + Clone + use<'i> {
        let content = self.find(MEMORY_MAP).unwrap_or_default();
        let each = word(content, 0).unwrap_or_default() as usize;
        let entries = content.get(8..).unwrap_or_default();
        entries.chunks_exact(each.max(1)).filter_map(|entry| {
            let number = |at| Some(u64::from(word(entry, at)?) | u64::from(word(entry, at + 4)?) << 32);
            Some(Region { address: number(0)?, size: number(8)?, kind: word(entry, 16)?, reserved: 0 })
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use solo_bare::regions::RAM;

    fn tag(kind: u32, content: &[u8]) -> Vec<u8> {
        let length = (HEADER + content.len()) as u32;
        let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0xaa);
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn information(tags: &[Vec<u8>]) -> Vec<u8> {
        let tags = [tags.concat(), tag(0, &[])].concat();
        [words(&[(tags.len() + HEADER) as u32, 0]), tags].concat()
    }

    #[test]
    fn tags_are_found_among_others_whatever_their_length() {
        let bytes = information(&[
            tag(1, b"a command line of odd length\0"),
            tag(MODULE, &[words(&[0x20_0000, 0x20_0123]), b"module\0".to_vec()].concat()),
            tag(MODULE, &words(&[1, 2])),
            tag(ROOT_POINTER, b"RSD PTR old"),
            tag(EXTENDED_ROOT_POINTER, b"RSD PTR new"),
            tag(MEMORY_MAP, &words(&[24, 0, 0, 0, 0x9_fc00, 0, 1, 0, 0x10_0000, 1, 0x700_0000, 0, 2, 0])),
        ]);
        let found = Information::new(&bytes).unwrap();
        assert_eq!(Information::length(*bytes.first_chunk().unwrap()), bytes.len());
        assert_eq!(found.module(), Some(0x20_0000..0x20_0123));
        assert_eq!(found.root_pointer(), Some(&b"RSD PTR new"[..]));
        let region = |address, size, kind| Region { address, size, kind, reserved: 0 };
        let regions: Vec<_> = found.regions().collect();
        assert_eq!(regions, [region(0, 0x9_fc00, RAM), region(0x1_0010_0000, 0x700_0000, 2)]);
    }

    #[test]
    fn what_is_not_told_is_none() {
        let bytes = information(&[tag(ROOT_POINTER, b"RSD PTR old")]);
        let found = Information::new(&bytes).unwrap();
        assert_eq!((found.module(), found.regions().count()), (None, 0));
        assert_eq!(found.root_pointer(), Some(&b"RSD PTR old"[..]));
        assert_eq!(Information::new(&[0; 7]), None);
    }

    proptest! {
        #[test]
        fn no_input_panics_or_keeps_on(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_u32..16) {
            let bytes = information(&[bytes.clone(), tag(kind, &bytes), bytes]);
            let found = Information::new(&bytes).unwrap();
            prop_assert!(found.tags().count() <= bytes.len());
            prop_assert!(found.regions().count() <= bytes.len());
            let _ = (found.module(), found.root_pointer());
        }
    }
}
