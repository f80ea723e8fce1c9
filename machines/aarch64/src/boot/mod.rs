//! How the image comes to life, and what it finds.

core::arch::global_asm!(include_str!("entry.s"));

use crate::board::{Board, BoardError};
use core::ops::Range;
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::slice;
use solo_bare::devicetree::DeviceTree;
use solo_bare::paging::{PAGE, WINDOW};
use solo_bare::regions::largest_free;

unsafe extern "C" {
    static image_end: u8;
}

/// What the loader's device tree at `address` tells.
///
/// # Errors
/// If there is no tree, or it lacks a part.
///
/// # Safety
/// The loader must have left a tree at `address`, below 4 GiB, if it left any.
pub unsafe fn read(address: u64) -> Result<Board, BoardError> {
    // SAFETY: the caller vouches for the address; the length stands behind the magic number, which is looked at first.
    let bytes = unsafe {
        let start = with_exposed_provenance::<[u8; 8]>(address as usize).read();
        let length = DeviceTree::length(start).map_err(BoardError::Tree)?;
        slice::from_raw_parts(with_exposed_provenance::<u8>(address as usize), length)
    };
    let tree = DeviceTree::new(bytes).map_err(BoardError::Tree)?;
    Board::find(&tree)
}

/// Takes the largest piece of RAM above the image: the boot module, which loaders lay into its midst, is moved to its beginning, and
/// the rest is nobody's. The device tree is no longer needed.
///
/// # Safety
/// Nobody else may use the memory of `board`, and this may be done once.
pub unsafe fn take_memory(board: &Board) -> (Option<&'static [u8]>, Range<u64>) {
    let floor = (&raw const image_end) as u64;
    let free = largest_free(board.memory.iter().copied(), &(floor..WINDOW), &board.taken);
    let Range { start, end } = board.module;
    let length = end.saturating_sub(start);
    if length == 0 || length > free.end - free.start {
        return (None, free);
    }
    let place = with_exposed_provenance_mut::<u8>(free.start as usize);
    // SAFETY: the loader put the module into RAM. What is written is nobody's, but for the module itself and a tree that has been
    // read.
    let module = unsafe {
        core::ptr::copy(with_exposed_provenance(start as usize), place, length as usize);
        slice::from_raw_parts(place, length as usize)
    };
    (Some(module), (free.start + length).next_multiple_of(PAGE)..free.end)
}
