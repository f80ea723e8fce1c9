//! What pointers from C point to. The header says where each comes from and how long it lives; nobody can check more of it here than
//! that it is not null.

use core::ffi::{CStr, c_char};

/// A string that lives as long as the program; what is not UTF-8, or is null, is told as `?`.
pub(crate) fn literal(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "?";
    }
    // SAFETY: the header asks for a string that ends and lives as long as the program.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("?")
}

/// What is behind a pointer that the library gave out, or that C set aside; `None` for null.
pub(crate) fn behind<'p, T>(pointer: *mut T) -> Option<&'p mut T> {
    // SAFETY: the header says which function it must come from, and that it is in use by its caller alone.
    unsafe { pointer.as_mut() }
}

/// The same for what is only read.
pub(crate) fn value<T: Copy>(pointer: *const T) -> Option<T> {
    // SAFETY: the header says which function it must come from; what is given out so is never given back.
    unsafe { pointer.as_ref() }.copied()
}
