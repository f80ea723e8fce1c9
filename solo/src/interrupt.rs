//! Ctrl-C as a flag that long work looks at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Nothing would have to be cleaned up.
static AT_ONCE: AtomicBool = AtomicBool::new(false);
static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static LAST: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// The flag itself, for work that looks at it on its own.
pub(crate) fn flag() -> Arc<AtomicBool> {
    Arc::clone(&REQUESTED)
}

/// Lets Ctrl-C, a termination request and the terminal's end set the flag; a second one ends the program at once.
/// After [`end_at_once`] the first one does.
pub(crate) fn install() {
    let set = || {
        ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::SeqCst) || AT_ONCE.load(Ordering::SeqCst) {
                if let Some(last) = LAST.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                    last();
                }
                std::process::exit(130);
            }
        })
    };
    // The thread that waits for Ctrl-C has the rights of the one that asked for it, to the end: none.
    let set_without_rights = || {
        let _ = solo_watch::rights::give_up();
        set()
    };
    let asked = std::thread::scope(|scope| scope.spawn(set_without_rights).join());
    if let Err(error) = asked.unwrap_or_else(|_| set()) {
        eprintln!("note: Ctrl-C will end the program without clean-up: {error}");
    }
}

/// From here on the program may end at any moment: it starts and writes nothing that it would have to clean up. It may wait for a pipe in
/// which nothing comes, and would not look at the flag then.
pub(crate) fn end_at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
}

/// What even a user without patience wants done before the program ends at once.
pub(crate) fn at_last(work: impl Fn() + Send + 'static) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
}

/// True once the user has asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
