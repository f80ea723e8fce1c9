//! Steps that empty caches: line by line, with interrupts between two lines.

use crate::again::{Again, Flushing, Lines};
use crate::engine::Engine;
use crate::memory::Flushed;
use solo_model::work::Flush;
use solo_model::{CoreId, Picoseconds, ThreadId};
use solo_schedule::Criterion;

impl<C: Criterion> Engine<'_, C> {
    /// Begins to empty caches; the lines follow one by one. Always true: the kernel is not called.
    #[inline(never)]
    pub(crate) fn begin_flush(&mut self, index: usize, thread: ThreadId, flush: Flush) -> bool {
        let core = CoreId(index as u16);
        let caches = self.memory.emptied_by(core, flush != Flush::All);
        let lines = match flush {
            Flush::All => Lines::Held(self.memory.lines_in(&caches)),
            Flush::Buffer(buffer) => Lines::Of(buffer, self.experiment.buffers[buffer.index()].size),
        };
        let context = &mut self.threads[thread.index()];
        context.moved = true;
        context.flushing = Some(Flushing { caches, lines, done: 0 });
        context.again = Some(Again::Flush);
        // The instruction itself, whatever caches hold.
        let account = &mut self.hardware.accounts[thread.index()];
        self.cores[index].flush_instruction(account);
        true
    }

    /// Empties caches of the next line. Interrupts come between two.
    #[inline(never)]
    pub(crate) fn go_on_with_flush(&mut self, index: usize, thread: ThreadId) {
        self.threads[thread.index()].again = Some(Again::Flush);
        // What was asked for before comes before.
        let account = &mut self.hardware.accounts[thread.index()];
        if self.cores[index].awaits_last(account) || self.comes_first(index, thread) {
            return;
        }
        let context = &mut self.threads[thread.index()];
        let Some(flushing) = &mut context.flushing else {
            context.again = None;
            return;
        };
        let address = flushing.next(&self.spaces, self.experiment.platform.line());
        let Some(address) = address else {
            (context.flushing, context.again) = (None, None);
            return;
        };
        let core = &mut self.cores[index];
        let account = &mut self.hardware.accounts[thread.index()];
        match self.memory.flush_line(core.id, core.time, address, &flushing.caches) {
            Flushed::Done { stalls, written } => {
                account.stalls.charge(&stalls, 1);
                core.spend(stalls.lookup);
                core.wait(written, account);
                core.flush_instruction(account);
                flushing.done += 1;
            }
            Flushed::Full => {
                // After the controller has decided something.
                let event = self.memory.next_event().unwrap_or(core.time).max(core.time);
                core.wait(event - core.time + Picoseconds::new(1), account);
            }
        }
    }
}
