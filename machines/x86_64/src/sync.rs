//! Exclusion between cores of this instruction set.

use crate::arch::X86;

/// See [`solo_bare::lock::SpinLock`].
pub type SpinLock<T> = solo_bare::lock::SpinLock<X86, T>;
/// See [`solo_bare::lock::Guard`].
pub type Guard<'l, T> = solo_bare::lock::Guard<'l, X86, T>;
