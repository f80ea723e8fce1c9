//! Rights that are not needed are given up.

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Gives up every capability of this thread and of those that it starts from now on. Watches are processes of their own,
/// which get theirs when they are executed (root's, or the program file's).
pub(crate) fn give_up() {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    if let Err(error) = set_capabilities(None, sets) {
        eprintln!("note: this process keeps its capabilities: {error}");
    }
}
