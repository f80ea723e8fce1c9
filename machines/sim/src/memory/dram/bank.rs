//! What a bank and a rank remember: open rows, and the clocks from which commands are legal again.

use super::timing::Timing;
use crate::memory::Requester;

/// A command for a request; as a number it tells the clocks of [`Bank::ready`] apart. As wide as it is read: a wide
/// load right after a narrow store makes the host wait.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// Reads from, or writes to, the open row.
    Column = 0,
    Activate = 1,
    Precharge = 2,
}

impl Command {
    /// By number; the first once more, so that there are four.
    pub(super) const ALL: [Self; 4] = [Self::Column, Self::Activate, Self::Precharge, Self::Column];
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Bank {
    pub(super) open: Option<u32>,
    /// The core for which the last command was issued.
    pub(super) user: Option<Requester>,
    /// The first clock for each [`Command`] as far as the bank itself is concerned.
    pub(super) ready: [u64; 3],
}

impl Bank {
    /// The next command for a row that is not open.
    #[inline(always)]
    pub(super) fn before_row(&self) -> Command {
        if self.open.is_some() { Command::Precharge } else { Command::Activate }
    }

    #[inline]
    fn not_before(&mut self, command: Command, at: u64) {
        let ready = &mut self.ready[command as usize];
        *ready = at.max(*ready);
    }

    pub(super) fn activated(&mut self, row: u32, at: u64, timing: &Timing) {
        self.open = Some(row);
        self.ready[Command::Column as usize] = at + timing.rcd;
        self.not_before(Command::Precharge, at + timing.ras);
        self.ready[Command::Activate as usize] = at + timing.rc;
    }

    pub(super) fn precharged(&mut self, at: u64, timing: &Timing) {
        self.open = None;
        self.not_before(Command::Activate, at + timing.rp);
    }

    pub(super) fn read(&mut self, at: u64, timing: &Timing) {
        self.not_before(Command::Precharge, at + timing.rtp);
    }

    pub(super) fn written(&mut self, at: u64, timing: &Timing) {
        self.not_before(Command::Precharge, at + timing.cwl + timing.data + timing.wr);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rank {
    /// The last four activations, the oldest at `oldest`; shifted by one so that zero means never.
    activations: [u64; 4],
    oldest: usize,
    /// The first clock for an activation by tRRD and tFAW.
    pub(super) activate: u64,
    /// The first clock for a read after a write.
    pub(super) read: u64,
    /// When the next refresh is due; `u64::MAX` without refresh.
    pub(super) refresh_due: u64,
    /// When the last refresh was due, and when it ended.
    pub(super) refreshed: (u64, u64),
    /// Refreshes so far: rows opened before the last one are closed.
    pub(super) refreshes: u64,
}

impl Rank {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            activations: [0; 4],
            oldest: 0,
            activate: 0,
            read: 0,
            refresh_due: if timing.refi == 0 { u64::MAX } else { timing.refi },
            refreshed: (0, 0),
            refreshes: 0,
        }
    }

    pub(super) fn activated(&mut self, at: u64, timing: &Timing) {
        self.activations[self.oldest] = at + 1;
        self.oldest = (self.oldest + 1) % 4;
        let fourth = self.activations[self.oldest];
        let window = if fourth == 0 { 0 } else { fourth - 1 + timing.faw };
        self.activate = window.max(at + timing.rrd);
    }

    /// Performs the refresh that is due: precharges all banks as soon as they may be, then refreshes.
    pub(super) fn refresh(&mut self, banks: &mut [Bank], timing: &Timing) {
        let due = self.refresh_due;
        let mut ready = due;
        for bank in banks.iter_mut() {
            if bank.open.is_some() {
                let at = bank.ready[Command::Precharge as usize].max(due);
                bank.precharged(at, timing);
            }
            ready = ready.max(bank.ready[Command::Activate as usize]);
        }
        let end = ready + timing.rfc;
        for bank in banks {
            bank.ready[Command::Activate as usize] = end;
            bank.user = None;
        }
        self.refreshed = (due, end);
        self.refreshes += 1;
        self.refresh_due += timing.refi;
    }

    /// Skips refreshes that fell into a time without requests, except for the last that is due at `now`.
    /// Returns how many.
    pub(super) fn skip_idle_refreshes(&mut self, now: u64, timing: &Timing) -> u64 {
        let missed = if self.refresh_due > now { 0 } else { (now - self.refresh_due) / timing.refi };
        self.refresh_due += missed * timing.refi;
        self.refreshes += missed;
        missed
    }
}
