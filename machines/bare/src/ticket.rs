//! Who is served: the tickets of a lock that is taken in the order of arrival.
//!
//! ```text
//!   draw ──▶ serves(ticket)? ──no──▶ wait
//!                  │ yes
//!                  ▼
//!            the section ──▶ serve_next
//! ```
//!
//! What one holder wrote, the next one sees. The holder may change between `draw` and `serve_next`: the kernel's lock is
//! taken in the context of one thread and given back in that of the next one on the same core, once the registers of the
//! first lie on its stack. The tests explore all orders and all values that the memory model of Rust allows.

#[cfg(not(test))]
use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(test)]
use loom::sync::atomic::{AtomicU32, Ordering};

/// The tickets of one lock.
#[derive(Debug)]
pub struct Tickets {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Tickets {
    /// Nobody waits.
    #[cfg(not(test))]
    pub const fn new() -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0) }
    }

    /// Nobody waits.
    #[cfg(test)]
    pub fn new() -> Self {
        Self { next: AtomicU32::new(0), serving: AtomicU32::new(0) }
    }

    /// The next place in line.
    #[inline]
    pub fn draw(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// True when it is the ticket's turn, with everything that the holders before have written.
    #[inline]
    pub fn serves(&self, ticket: u32) -> bool {
        self.serving.load(Ordering::Acquire) == ticket
    }

    /// Ends the turn of the ticket that is served. Only its holder may.
    #[inline]
    pub(crate) fn serve_next(&self) {
        let ticket = self.serving.load(Ordering::Relaxed);
        self.serving.store(ticket.wrapping_add(1), Ordering::Release);
    }
}

impl Default for Tickets {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicU32, Ordering, Tickets};
    use loom::cell::Cell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;
    use loom::thread;

    /// What the kernel's lock protects, in small: a queue of one thread, and the context in which it was left.
    struct Kernel {
        tickets: Tickets,
        /// The thread is ready: no core runs it.
        ready: Cell<bool>,
        /// Its registers as they were saved; odd while they are being written.
        context: Cell<u32>,
        entries: Cell<u32>,
    }

    // loom's cells panic where two threads reach them without an order between them: that is the test.
    fn enter(kernel: &Kernel) -> u32 {
        let ticket = kernel.tickets.draw();
        while !kernel.tickets.serves(ticket) {
            thread::yield_now();
        }
        kernel.entries.set(kernel.entries.get() + 1);
        ticket
    }

    fn kernel(ready: bool) -> Arc<Kernel> {
        let (context, entries) = (Cell::new(0), Cell::new(0));
        Arc::new(Kernel { tickets: Tickets::new(), ready: Cell::new(ready), context, entries })
    }

    #[test]
    fn one_core_at_a_time_and_each_sees_what_the_last_one_did() {
        loom::model(|| {
            let shared = kernel(false);
            let kernel = shared.clone();
            let other = thread::spawn(move || {
                enter(&kernel);
                kernel.tickets.serve_next();
            });
            for _ in 0..2 {
                enter(&shared);
                shared.tickets.serve_next();
            }
            other.join().unwrap();
            assert_eq!(shared.entries.get(), 3);
        });
    }

    /// Whoever draws a ticket waits for those before it and for nobody else: with one ticket a core, for the other cores' sections.
    #[test]
    fn a_core_waits_for_those_that_came_before_it_and_for_no_others() {
        loom::model(|| {
            let shared = kernel(false);
            let kernel = shared.clone();
            let other = thread::spawn(move || {
                for _ in 0..2 {
                    let ticket = enter(&kernel);
                    assert_eq!(kernel.entries.get(), ticket + 1, "served out of turn");
                    kernel.tickets.serve_next();
                }
            });
            for _ in 0..2 {
                let ticket = enter(&shared);
                assert_eq!(shared.entries.get(), ticket + 1, "served out of turn");
                shared.tickets.serve_next();
            }
            other.join().unwrap();
        });
    }

    /// A core that leaves a thread makes it ready first and saves its registers after, all before it gives the lock
    /// back: another core takes the thread over and must find the registers whole.
    #[test]
    fn a_thread_is_taken_over_with_its_registers_saved() {
        loom::model(|| {
            let shared = kernel(false);
            let kernel = shared.clone();
            let leaver = thread::spawn(move || {
                enter(&kernel);
                kernel.ready.set(true);
                kernel.context.set(1);
                kernel.context.set(2);
                kernel.tickets.serve_next();
            });
            enter(&shared);
            if shared.ready.get() {
                shared.ready.set(false);
                assert_eq!(shared.context.get(), 2, "the registers lie on the stack");
            }
            shared.tickets.serve_next();
            leaver.join().unwrap();
        });
    }

    /// The models can fail: where the lock is given back before the registers are saved, they are read half.
    #[test]
    #[should_panic(expected = "registers")]
    fn a_lock_that_is_given_back_too_early_is_found() {
        loom::model(|| {
            let shared = kernel(false);
            let kernel = shared.clone();
            let leaver = thread::spawn(move || {
                enter(&kernel);
                kernel.ready.set(true);
                kernel.tickets.serve_next();
                enter(&kernel);
                kernel.context.set(2);
                kernel.tickets.serve_next();
            });
            enter(&shared);
            if shared.ready.get() {
                assert_eq!(shared.context.get(), 2, "the registers lie on the stack");
            }
            shared.tickets.serve_next();
            leaver.join().unwrap();
        });
    }

    /// Two cores in two parts of the kernel end the run at the same moment: one of them takes the other's part, too, and sees all
    /// that was done there; the other one gives its part back, so that neither waits for ever.
    #[test]
    fn one_core_ends_the_run_and_sees_all_parts() {
        fn end(own: &Kernel, other: &Kernel, over: &AtomicBool, reports: &AtomicU32) {
            enter(own);
            own.context.set(1);
            if !over.swap(true, Ordering::AcqRel) {
                enter(other);
                // The other core has been in its part, or finds the run over when it comes.
                assert!(own.context.get() == 1 && other.entries.get() <= 2);
                assert_eq!(other.context.get(), other.entries.get() - 1);
                reports.fetch_add(1, Ordering::Relaxed);
                other.tickets.serve_next();
            }
            own.tickets.serve_next();
        }
        loom::model(|| {
            let parts = [kernel(false), kernel(false)];
            let (over, reports) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
            let ours = (parts.clone(), over.clone(), reports.clone());
            let other = thread::spawn(move || {
                let ([first, second], over, reports) = ours;
                end(&second, &first, &over, &reports);
            });
            end(&parts[0], &parts[1], &over, &reports);
            other.join().unwrap();
            assert_eq!(reports.load(Ordering::Relaxed), 1);
        });
    }
}
