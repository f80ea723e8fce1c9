//! A device reads or writes a line: caches are asked, and keep no copy for it.
//!
//! ```text
//!   into memory, a whole line   all copies are given up, and the line is written
//!   into memory, a part of it   the same; what a cache had changed is written first
//!   out of memory               a cache that has changed the line sends it and keeps it as it is, else memory is read
//! ```
//!
//! Where the platform keeps no coherence, caches know nothing of it.

use super::array::LINE_MASK;
use super::bus::Transaction;
use super::hierarchy::Hierarchy;
use super::snoop::Found;
use super::{PhysicalAddress, Requester};
use crate::memory::RequestId;
use solo_model::{Picoseconds, Signal, SignalCounts};

/// What becomes of a device's access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transferred {
    /// A read that DRAM must answer: a [`Completion`](super::Completion) follows.
    Asked(RequestId),
    /// It is done at this time: a cache has sent the line, or the controller has a place for what is to be written.
    Done(Picoseconds),
    /// The controller has no place for another write; nothing has happened.
    Full,
}

impl Hierarchy {
    /// A device reads the line at `address` at `now`.
    pub(crate) fn transfer_out(
        &mut self,
        device: Requester,
        now: Picoseconds,
        address: PhysicalAddress,
    ) -> Transferred {
        let line = address.0 >> self.line_shift & LINE_MASK;
        let (held, changed) = self.look_for(line);
        let transaction = match (held, changed) {
            (_, true) => Transaction::Modified,
            (true, false) => Transaction::Hit,
            (false, false) => Transaction::Clean,
        };
        let mut at = now;
        if let Some(bus) = &mut self.bus {
            let granted = bus.transact(now, device, None, transaction, &mut self.counts);
            at += if changed { granted.answered } else { granted.addressed };
        } else if changed {
            at += self.extra.first().map_or(Picoseconds::ZERO, |extra| extra.modified);
        }
        if changed {
            return Transferred::Done(at);
        }
        self.counts[device.index()].increment(Signal::DramRead);
        Transferred::Asked(self.dram.submit(at, device, PhysicalAddress(line << self.line_shift), false))
    }

    /// A device writes the line at `address` at `now`: all of it, where `whole`.
    pub(crate) fn transfer_in(
        &mut self,
        device: Requester,
        now: Picoseconds,
        address: PhysicalAddress,
        whole: bool,
    ) -> Transferred {
        if !self.dram.takes_write(address) {
            return Transferred::Full;
        }
        let line = address.0 >> self.line_shift & LINE_MASK;
        if self.take_from_all(line).dirty && !whole {
            self.device_writes(device, now, line);
        }
        Transferred::Done(self.device_writes(device, now, line))
    }

    /// All memory events that a device caused.
    pub(crate) fn counts_of(&self, device: Requester) -> &SignalCounts {
        &self.counts[device.index()]
    }

    /// Whether any cache has a line, and whether any has changed it.
    fn look_for(&self, line: u64) -> (bool, bool) {
        if self.rules.is_none() {
            return (false, false);
        }
        let copies = self.caches.arrays.iter().filter_map(|array| Some(array.state(array.find(line)?)));
        copies.fold((false, false), |(_, changed), state| (true, changed || state.is_dirty()))
    }

    /// All caches give a line up.
    fn take_from_all(&mut self, line: u64) -> Found {
        let mut all = Found::default();
        let Some(rules) = self.rules else { return all };
        for at in 0..self.caches.topology.roots.len() {
            let root = self.caches.topology.roots[at];
            let mut found = Found::default();
            self.caches.snoop(root, line, true, &rules, &mut found);
            self.caches.count_losses(root, &found, &mut self.counts);
            all.merge(found);
        }
        all
    }

    /// When the line is on its way into memory.
    fn device_writes(&mut self, device: Requester, now: Picoseconds, line: u64) -> Picoseconds {
        let mut at = now;
        if let Some(bus) = &mut self.bus {
            at += bus.transact(now, device, None, Transaction::WriteBack, &mut self.counts).answered;
        }
        self.counts[device.index()].increment(Signal::DramWrite);
        self.dram.submit(at, device, PhysicalAddress(line << self.line_shift), true);
        at
    }
}
