//! Memory of a color, as pointers: what lies before each says to whom it goes back.

use core::ffi::c_void;
use core::ptr::null_mut;
use solo_app::{AllocationError, Block, Color};

/// Pieces are aligned to this.
const ALIGNMENT: usize = 16;
/// What stands before a piece of memory that was not given back.
const HAD: u64 = 0x534f_4c4f_2048_4144;

/// Right before each piece.
#[repr(C, align(16))]
struct Header {
    mark: u64,
    block: Option<Block>,
}

/// What a piece takes beyond what was asked for.
const BEYOND: usize = size_of::<Header>() + ALIGNMENT;
const _: () = assert!(BEYOND <= 80, "the header says how much it is at most");

/// A piece of `block`, which is longer than was asked for by [`BEYOND`].
fn piece(block: Result<Block, AllocationError>) -> *mut c_void {
    let Ok(mut block) = block else { return null_mut() };
    let first = block.as_mut_ptr();
    let piece = first
        .wrapping_add((first as usize + size_of::<Header>()).next_multiple_of(ALIGNMENT) - first as usize);
    let header = piece.wrapping_sub(size_of::<Header>()).cast::<Header>();
    // SAFETY: the header lies within the block, aligned as the piece is, whose bytes nobody else has.
    unsafe { header.write(Header { mark: HAD, block: Some(block) }) };
    piece.cast()
}

/// With its header; `None` where that is more than can be said.
fn whole(bytes: usize) -> Option<usize> {
    bytes.checked_add(BEYOND)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_alloc_in(color: u16, bytes: usize) -> *mut c_void {
    whole(bytes).map_or(null_mut(), |bytes| piece(solo_app::alloc_in(Color(color), bytes)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_alloc(bytes: usize) -> *mut c_void {
    whole(bytes).map_or(null_mut(), |bytes| piece(solo_app::alloc(bytes)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_free(memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    let header = memory.cast::<u8>().wrapping_sub(size_of::<Header>()).cast::<Header>();
    assert!(header.is_aligned(), "it gives back memory that it was not given");
    // SAFETY: the header says that this is a piece of memory that was had. One that was given back still has a header, without
    // the mark, unless it went to somebody else since.
    let header = unsafe { &mut *header };
    assert!(
        header.mark == HAD,
        "it gives back memory that it does not have: twice, or not what it was given"
    );
    header.mark = 0;
    drop(header.block.take());
}
