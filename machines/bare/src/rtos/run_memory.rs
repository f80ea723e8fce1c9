//! The memory of the run that is under way.

use super::port::Port;
use crate::memory::RunMemory;

/// Keeps the memory of a run until [`finish`].
pub(super) fn keep<P: Port>(memory: RunMemory<P>) {
    *P::shared().memory.lock() = Some(memory);
}

/// Looks at the memory of the run that is under way, if it has any.
pub(super) fn with<P: Port, T>(look: impl FnOnce(&mut RunMemory<P>) -> T) -> Option<T> {
    P::shared().memory.lock().as_mut().map(look)
}

/// Takes the memory of the run that is over away. Nothing of it may be in use.
pub(super) fn finish<P: Port>() {
    P::heaps().drop_system();
    drop(P::shared().memory.lock().take());
}
