//! Who had called, when something went wrong.

use super::port::Port;
use crate::window::translate;
use core::ptr::with_exposed_provenance;

const MOST_CALLERS: usize = 24;

/// The word at an aligned address of mapped RAM.
pub fn word_at<P: Port>(address: u64) -> Option<u64> {
    let in_ram = translate::<P>(address).is_some_and(|at| P::RAM.contains(&at));
    let word = with_exposed_provenance::<u64>(address as usize);
    // SAFETY: the word lies in mapped RAM and is aligned; reading changes nothing.
    (in_ram && address.is_multiple_of(8)).then(|| unsafe { word.read_volatile() })
}

/// Tells the return addresses along the frame pointers, from the last caller on: at each a frame pointer and, above it, a return
/// address, as all ports have them.
pub fn callers<P: Port>(mut frame_pointer: u64, mut tell: impl FnMut(u64)) {
    for _ in 0..MOST_CALLERS {
        // A frame pointer outside of mapped RAM is none; neither is one that isn't aligned.
        let in_ram = |address| translate::<P>(address).is_some_and(|at| P::RAM.contains(&at));
        if !in_ram(frame_pointer)
            || !in_ram(frame_pointer.wrapping_add(8))
            || !frame_pointer.is_multiple_of(8)
        {
            return;
        }
        let words = with_exposed_provenance::<u64>(frame_pointer as usize);
        // SAFETY: the two words lie in mapped RAM and are aligned; reading changes nothing. Should the tables lie, the fault would
        // find a report under way and stop.
        let (next, caller) = unsafe { (words.read_volatile(), words.add(1).read_volatile()) };
        if caller == 0 {
            return;
        }
        tell(caller);
        if next <= frame_pointer {
            return;
        }
        frame_pointer = next;
    }
}
