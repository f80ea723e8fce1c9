//! A stream of requests, made as fast as the controller takes them.

use super::super::PhysicalAddress;
use super::{Dram, DramCounts, Served};
use crate::memory::Requester;
use solo_model::Picoseconds;

/// Offers requests one after the other: each as soon as the one before it has been taken.
#[derive(Clone, Debug)]
pub struct Offer {
    dram: Dram,
    now: Picoseconds,
    end: Picoseconds,
}

impl Offer {
    /// A stream into `dram`, of which core 0 is the only user.
    pub fn new(dram: Dram) -> Self {
        Self { dram, now: Picoseconds::ZERO, end: Picoseconds::ZERO }
    }

    /// Makes the next request, waiting for a place in the queue where there is none.
    pub fn request(&mut self, address: PhysicalAddress, write: bool) {
        while self.dram.enqueue(self.now, Requester(0), address, write).is_err() {
            if !self.decide() {
                return;
            }
        }
    }

    /// Waits until everything is done: when the last data have moved, and what was counted.
    pub fn finish(mut self) -> (Picoseconds, DramCounts) {
        self.dram.flush();
        while self.decide() {
            self.dram.flush();
        }
        (self.end, self.dram.counts())
    }

    /// Lets the controller decide what comes next. False where there is nothing.
    fn decide(&mut self) -> bool {
        let Some(next) = self.dram.next_event() else { return false };
        self.now = self.now.max(next);
        let end = &mut self.end;
        self.dram.advance(next, |served| {
            *end = (*end).max(match served {
                Served::Read(completion) => completion.at,
                Served::Write { at, .. } => *at,
            });
        });
        true
    }
}
