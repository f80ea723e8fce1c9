//! Comparing the tags of a set with a line's, several at once.

use wide::{CmpEq, i32x8};

/// Tags are compared so many at once.
pub(super) const CHUNK: usize = 8;

/// The ways, by bit, whose tag is `tag`.
#[inline]
pub(super) fn equal(tags: &[i32; CHUNK], tag: i32) -> u32 {
    i32x8::new(*tags).cmp_eq(i32x8::splat(tag)).move_mask() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_are_told_apart() {
        for wanted in 0..1 << CHUNK {
            let tags = core::array::from_fn(|way| if wanted >> way & 1 == 1 { i32::MIN + 1 } else { 0x8001 });
            assert_eq!(equal(&tags, i32::MIN + 1), wanted);
            assert_eq!(equal(&tags, -1), 0);
        }
    }
}
