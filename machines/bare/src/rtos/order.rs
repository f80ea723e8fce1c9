//! The settled clock: cores act in the order of the ideal machine.

use super::mediators;
use super::port::Port;
use super::{Call, Entry, Rtos, State};
use crate::agenda::{Event, Kind};
use crate::lock::Guard;
use solo_kernel::Criterion;
use solo_model::{CoreId, Duration, Instant, ThreadId};

impl<P: Port, C: Criterion> Rtos<P, C> {
    /// After a decision at `now`: the thread that leaves keeps what it has still to compute, the clock goes on
    /// from `now`, and the core's next interrupt is programmed.
    pub(super) fn settle(
        &self,
        state: &mut State<P, C>,
        core: CoreId,
        now: Instant,
        old: Option<ThreadId>,
        new: Option<ThreadId>,
    ) {
        if old != new {
            let ahead = state.machine.agenda.ahead(core);
            if let (Some(old), Some(progress)) = (old, ahead.progress) {
                state.left[old.index()] = progress.since(now);
            }
            ahead.progress = new.map(|new| now + state.left[new.index()]);
            if let (Some(new), Some(progress)) = (new, ahead.progress) {
                self.common.threads.set_finish(new, progress);
            }
        }
        state.latest = state.latest.max(mediators::now::<P>().since(now));
        mediators::set_now::<P>(now);
        state.machine.program(core);
    }

    /// An interrupt: serves what is due on this core once it is the first of all. What the core's own job has to
    /// do before is left to it.
    pub(super) fn interrupt_in_order(&self) {
        loop {
            let (guard, core) = self.enter_kernel();
            let agenda = &guard.machine.agenda;
            let own = agenda.next_of(core).filter(is_served_by_interrupt);
            let Some(event) =
                own.filter(|event| event.at <= mediators::now::<P>() || event.kind == Kind::Request)
            else {
                guard.machine.program(core);
                return self.exit_kernel(guard, core);
            };
            if agenda.next() == Some(event) {
                return self.serve(guard, event);
            }
            self.exit_kernel(guard, core);
            P::pause();
        }
    }

    fn serve(&self, mut guard: Guard<'_, P, State<P, C>>, Event { at, kind, core }: Event) {
        match kind {
            Kind::Request => {
                guard.machine.agenda.ahead(core).request = None;
                guard.machine.arrived(core, at);
                self.act(guard, core, at, Entry::Request);
            }
            Kind::Timer => {
                guard.machine.agenda.ahead(core).timer = None;
                self.act(guard, core, at, Entry::Timer);
            }
            Kind::End => self.finish(guard, at),
            Kind::Start | Kind::Progress => self.exit_kernel(guard, core),
        }
    }

    /// The thread on this core asks something of the kernel, at the instant at which it has come this far.
    pub(super) fn call_in_order(&self, call: Call) {
        loop {
            let (guard, core) = self.enter_kernel();
            let own = guard.machine.agenda.next_of(core);
            match own.filter(|_| guard.machine.agenda.next() == own) {
                Some(Event { kind: Kind::Progress, at, .. }) => {
                    return self.act(guard, core, at, Entry::Call(call));
                }
                Some(event) => self.serve(guard, event),
                None => {
                    self.exit_kernel(guard, core);
                    P::pause();
                }
            }
        }
    }

    /// The thread on this core is to compute for `span`: from now on it is known when it will have done so.
    pub(super) fn promise(&self, thread: ThreadId, span: Duration) {
        let (mut guard, core) = self.enter_kernel();
        if let Some(progress) = &mut guard.machine.agenda.ahead(core).progress {
            *progress += span;
            self.common.threads.set_finish(thread, *progress);
        }
        guard.machine.program(core);
        self.exit_kernel(guard, core);
    }
}

fn is_served_by_interrupt(event: &Event) -> bool {
    matches!(event.kind, Kind::End | Kind::Request | Kind::Timer)
}
