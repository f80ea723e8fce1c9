//! Ctrl-C as a flag that long work looks at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static LAST: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// The flag itself, for work that looks at it on its own.
pub(crate) fn flag() -> Arc<AtomicBool> {
    Arc::clone(&REQUESTED)
}

/// Lets Ctrl-C, a termination request and the terminal's end set the flag; a second one ends the program at once.
pub(crate) fn install() {
    let set = || {
        ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::SeqCst) {
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

/// What even a user without patience wants done before the program ends at once.
pub(crate) fn at_last(work: impl Fn() + Send + 'static) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
}

/// True once the user has asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
