//! Devices: each moves its data line by line in its slots, beside the cores.
//!
//! ```text
//!   slot begins ──▶ transactions, as the device and its wait states allow ──▶ all answered: done
//!        │                                                                    slot over: what is left is not moved
//!        │                                                                    all moved: it interrupts, where it releases a task
//!        └─ a device of the same core is still in its slot: told
//! ```

use crate::hardware::instant;
use crate::memory::{Completion, Hierarchy, RequestId, Requester, Transferred};
use crate::space::Spaces;
use solo_kernel::Arrival;
use solo_model::device::Pace;
use solo_model::record::TransferRecord;
use solo_model::{
    BufferId, Bytes, CoreId, Device, DeviceId, Experiment, Picoseconds, Signal, SignalCounts, TaskId,
};

/// All devices of a run.
pub(crate) struct Devices {
    engines: Vec<Engine>,
    /// The first requester that is a device.
    first: usize,
}

/// The engine of a device.
struct Engine {
    id: DeviceId,
    requester: Requester,
    pace: Pace,
    writes: bool,
    buffer: BufferId,
    moves: u64,
    line: u64,
    period: Picoseconds,
    slot: Picoseconds,
    core: Option<CoreId>,
    releases: Option<TaskId>,
    /// When its next slot begins, and when its last one is over.
    begins: Picoseconds,
    in_slot_until: Picoseconds,
    /// Its own side and its wait states allow no transaction before.
    not_before: Picoseconds,
    /// When the transactions since its last wait state began.
    burst_began: Picoseconds,
    transfer: Option<Transfer>,
    /// When it does something next.
    next: Picoseconds,
}

/// A transfer in its slot.
struct Transfer {
    began: Picoseconds,
    /// Transactions that memory was asked for.
    asked: u64,
    /// Those that are under way, and when they are done, where that is known.
    under_way: Vec<(RequestId, Option<Picoseconds>)>,
    /// When the last of the others was done.
    done: Picoseconds,
    before: SignalCounts,
    overlaps: Option<DeviceId>,
}

impl Devices {
    /// Before the first slot.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let (first, line) = (experiment.platform.cores.len(), experiment.platform.line().get());
        let engine = |(at, device): (usize, &Device)| Engine {
            id: DeviceId(at as u16),
            requester: Requester((first + at) as u16),
            pace: experiment.pace(device),
            writes: device.writes(),
            buffer: device.buffer,
            moves: device.moves.get(),
            line,
            period: device.period.picoseconds(),
            slot: device.slot.picoseconds(),
            core: device.core,
            releases: device.releases,
            begins: device.offset.picoseconds(),
            in_slot_until: Picoseconds::ZERO,
            not_before: Picoseconds::ZERO,
            burst_began: Picoseconds::ZERO,
            transfer: None,
            next: device.offset.picoseconds(),
        };
        Self { engines: experiment.devices.iter().enumerate().map(engine).collect(), first }
    }

    /// When any device does something next; the end of time where there is none.
    pub(crate) fn next(&self) -> Picoseconds {
        self.engines.iter().map(|engine| engine.next).min().unwrap_or(Picoseconds::MAX)
    }

    /// The data of a read are on their way to a device.
    pub(crate) fn complete(&mut self, completion: &Completion) {
        let device = completion.requester.index().checked_sub(self.first);
        if let Some(engine) = device.and_then(|device| self.engines.get_mut(device)) {
            engine.complete(completion);
        }
    }

    /// Lets each device whose time has come at `now` do one thing, in their order; tells of slots that are over, with the interrupt
    /// where all was moved.
    pub(crate) fn step(
        &mut self,
        now: Picoseconds,
        memory: &mut Hierarchy,
        spaces: &Spaces,
        mut tell: impl FnMut(TransferRecord, Option<Arrival>),
    ) {
        for at in 0..self.engines.len() {
            if self.engines[at].next > now {
                continue;
            }
            if self.engines[at].transfer.is_none() {
                let overlaps = self.still_in_slot(at, now);
                self.engines[at].begin(now, memory, overlaps);
            }
            if let Some(record) = self.engines[at].go_on(now, memory, spaces) {
                let done = self.engines[at].releases.filter(|_| record.left.is_zero());
                let arrival = |task| Arrival { device: record.device, task, raised: record.at };
                tell(record, done.map(arrival));
            }
        }
    }

    /// Another device of the same core whose slot is not over.
    fn still_in_slot(&self, at: usize, now: Picoseconds) -> Option<DeviceId> {
        let own = &self.engines[at];
        let core = own.core?;
        let others = self.engines.iter().filter(|other| other.id != own.id && other.core == Some(core));
        others.into_iter().find(|other| other.in_slot_until > now).map(|other| other.id)
    }
}

impl Engine {
    /// A slot begins.
    fn begin(&mut self, now: Picoseconds, memory: &Hierarchy, overlaps: Option<DeviceId>) {
        self.in_slot_until = now.saturating_add(self.slot);
        self.begins = self.begins.saturating_add(self.period);
        self.transfer = Some(Transfer {
            began: now,
            asked: 0,
            under_way: Vec::new(),
            done: now,
            before: *memory.counts_of(self.requester),
            overlaps,
        });
    }

    fn complete(&mut self, completion: &Completion) {
        let Some(transfer) = &mut self.transfer else { return };
        let mut under_way = transfer.under_way.iter_mut();
        // What a slot has left under way is nobody's any more.
        if let Some(read) = under_way.find(|(request, _)| *request == completion.request) {
            read.1 = Some(completion.at);
            self.plan();
        }
    }

    /// One transaction, or the end of the slot; the record where the transfer is over.
    fn go_on(&mut self, now: Picoseconds, memory: &mut Hierarchy, spaces: &Spaces) -> Option<TransferRecord> {
        let transfer = self.transfer.as_mut()?;
        transfer.arrive(now);
        let asked = transfer.asked == self.pace.transactions;
        let all = asked && transfer.under_way.is_empty() && transfer.done <= now;
        if all || now >= self.in_slot_until {
            return self.end(now, memory);
        }
        if !asked && transfer.under_way.len() < Device::READS_UNDER_WAY && self.not_before <= now {
            self.ask(now, memory, spaces);
        }
        self.plan();
        None
    }

    /// Asks memory for the next transaction.
    fn ask(&mut self, now: Picoseconds, memory: &mut Hierarchy, spaces: &Spaces) {
        let Some(transfer) = &mut self.transfer else { return };
        let chunk = self.pace.chunk.get();
        let offset = transfer.asked * chunk;
        let address = spaces.translate(self.buffer, Bytes::new(offset));
        let found = if self.writes {
            memory.transfer_in(self.requester, now, address, chunk.min(self.moves - offset) == self.line)
        } else {
            memory.transfer_out(self.requester, now, address)
        };
        match found {
            Transferred::Full => {
                // After the controller has decided something.
                let event = memory.next_event().unwrap_or(now).max(now);
                self.not_before = event + Picoseconds::new(1);
                return;
            }
            Transferred::Done(at) => transfer.done = transfer.done.max(at),
            Transferred::Asked(request) => transfer.under_way.push((request, None)),
        }
        self.not_before = now + self.pace.apart;
        if let Some((transactions, apart)) = self.pace.burst {
            if transfer.asked.is_multiple_of(transactions) {
                self.burst_began = now;
            }
            if (transfer.asked + 1).is_multiple_of(transactions)
                || transfer.asked + 1 == self.pace.transactions
            {
                self.not_before = self.not_before.max(self.burst_began + apart);
            }
        }
        transfer.asked += 1;
    }

    /// Finds out when it does something next.
    fn plan(&mut self) {
        let Some(transfer) = &self.transfer else { return };
        let known = || transfer.under_way.iter().filter_map(|(_, at)| *at);
        let next = if transfer.asked == self.pace.transactions {
            let all = transfer.under_way.iter().all(|(_, at)| at.is_some());
            all.then(|| known().fold(transfer.done, Picoseconds::max))
        } else if transfer.under_way.len() < Device::READS_UNDER_WAY {
            Some(self.not_before)
        } else {
            known().min().map(|at| at.max(self.not_before))
        };
        self.next = next.unwrap_or(Picoseconds::MAX).min(self.in_slot_until);
    }

    /// The transfer is over, done or not.
    fn end(&mut self, now: Picoseconds, memory: &Hierarchy) -> Option<TransferRecord> {
        let transfer = self.transfer.take()?;
        self.next = self.begins;
        let done = transfer.asked - transfer.under_way.len() as u64;
        let moved = done.saturating_mul(self.pace.chunk.get()).min(self.moves);
        let counts = memory.counts_of(self.requester).since(&transfer.before);
        Some(TransferRecord {
            at: instant(now),
            since: instant(transfer.began),
            device: self.id,
            moved: Bytes::new(moved),
            left: Bytes::new(self.moves - moved),
            reads: counts[Signal::DramRead],
            writes: counts[Signal::DramWrite],
            overlaps: transfer.overlaps,
        })
    }
}

impl Transfer {
    /// What was under way and has come by `now`.
    fn arrive(&mut self, now: Picoseconds) {
        let done = &mut self.done;
        self.under_way.retain(|(_, at)| match at {
            Some(at) if *at <= now => {
                *done = (*done).max(*at);
                false
            }
            _ => true,
        });
    }
}
