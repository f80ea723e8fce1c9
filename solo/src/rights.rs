//! Rights that are not needed are given up.

/// Gives up every capability of this thread and of those that it starts from now on. Watches are processes of their own,
/// which get theirs when they are executed (root's, or the program file's).
pub(crate) fn give_up() {
    if let Err(error) = solo_watch::rights::give_up() {
        eprintln!("note: this process keeps its capabilities: {}", solo_store::system_reason(&error));
    }
}
