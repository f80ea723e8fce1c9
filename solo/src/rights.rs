//! Rights that are not needed are given up.

/// Gives up every capability of this thread and of those that it starts from now on. Watches are processes of their own,
/// which get theirs when they are executed (root's, or the program file's).
pub(crate) fn give_up() {
    told(solo_watch::rights::give_up());
}

/// Gives up every one but that to count, in a thread that may have to open counters anew.
pub(crate) fn keep_counting() {
    told(solo_watch::rights::keep_counting());
}

fn told(done: std::io::Result<()>) {
    if let Err(error) = done {
        eprintln!("note: this process keeps its capabilities: {}", solo_store::system_reason(&error));
    }
}
