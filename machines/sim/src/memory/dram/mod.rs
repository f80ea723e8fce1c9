//! Main memory: channels, ranks, banks, rows and a controller that orders requests.
//!
//! Event-driven: the controller jumps from one command to the next and never counts idle clocks. Commands
//! fall on edges of the bus clock, one a clock and channel.
//!
//! # Where the time of a read goes
//!
//! A read's time, from the moment it leaves the caches to the moment its data are back, is split into three
//! parts that add up exactly:
//!
//! * `unloaded`: the path there and back, the wait for the next clock edge, refreshes that were in the way, and
//!   the service with the row as the core's *own* last access to the bank (since the last refresh) left it: a
//!   row hit takes CL + BL/2 clocks, a closed row tRCD more, another open row tRP + tRCD more. Never more
//!   than the whole time: another core may have opened the very row that is needed.
//! * `queue_others`: while the read waited, the column commands of other cores' requests (write-backs
//!   included) each took the time since the column command before them, or since this read's arrival where
//!   that is later; these times are summed. Where another core's access left the bank in a worse state than
//!   the core's own last access had, the difference in service time comes on top. Bounded by what `unloaded`
//!   leaves of the whole.
//! * `queue_own`: the rest: waiting for the core's own requests.
//!
//! It follows that a core alone on a machine never has `queue_others`, in any pattern.

mod account;
mod alone;
mod arrivals;
mod bank;
mod channel;
mod choose;
#[cfg(test)]
mod clocked;
mod deferral;
mod map;
mod offer;
mod plan;
mod presence;
mod queue;
mod request;
mod timing;

use super::PhysicalAddress;
use super::error::DramError;
use crate::memory::Requester;
use channel::Channel;
use map::AddressMap;
pub use offer::Offer;
use request::Request;
use solo_model::platform::{Dram as Description, PagePolicy, RequestOrder};
use solo_model::{Bytes, Picoseconds};
use timing::Timing;

/// A request's number, unique within its memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// How a request found its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowOutcome {
    /// Open.
    Hit = 0,
    /// Its bank had no row open.
    Closed = 1,
    /// Another row was open and had to be closed first.
    Conflict = 2,
    /// Not needed: the line was still waiting to be written and was answered from the write queue, or a write
    /// was merged with one that waits for the same line.
    Forwarded = 3,
}

/// The data of a read have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The request.
    pub request: RequestId,
    /// Who asked.
    pub requester: Requester,
    /// When the data are back at the core.
    pub at: Picoseconds,
    /// The part of the time that an otherwise idle memory would have taken; see the [module](self).
    pub unloaded: Picoseconds,
    /// The part spent waiting for the core's own requests.
    pub queue_own: Picoseconds,
    /// The part spent waiting for other cores' requests: interference.
    pub queue_others: Picoseconds,
    /// How the row was found.
    pub row: RowOutcome,
}

/// Something the controller decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// A read's data are on their way.
    Read(Completion),
    /// A line is being written.
    Write {
        /// The request.
        request: RequestId,
        /// Whose access evicted the line.
        requester: Requester,
        /// When its data have been transferred.
        at: Picoseconds,
        /// How the row was found.
        row: RowOutcome,
    },
}

/// The channel's queue is full; ask again after its next event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full {
    /// The channel.
    pub channel: usize,
}

/// What the controller counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DramCounts {
    /// Reads that have been answered, those from the write queue included.
    pub reads: u64,
    /// Writes that have been performed, those merged with another included.
    pub writes: u64,
    /// Requests that found their row open.
    pub row_hits: u64,
    /// Requests that found their bank closed.
    pub row_closed: u64,
    /// Requests that found another row open.
    pub row_conflicts: u64,
    /// Requests answered from, or merged in, the write queue.
    pub forwarded: u64,
    /// Refreshes of a rank.
    pub refreshes: u64,
    /// What was asked of the chips.
    pub commands: DramCommands,
}

/// Commands to the chips, as far as they differ in what they cost: those of everybody, or of one who asks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DramCommands {
    /// Rows opened.
    pub activates: u64,
    /// Lines read.
    pub reads: u64,
    /// Lines written.
    pub writes: u64,
}

impl DramCommands {
    /// Those after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            activates: self.activates.wrapping_sub(earlier.activates),
            reads: self.reads.wrapping_sub(earlier.reads),
            writes: self.writes.wrapping_sub(earlier.writes),
        }
    }

    /// A request was served. A row that had to be opened twice for it counts once here.
    pub(super) fn serve(&mut self, row: RowOutcome, write: bool) {
        if row == RowOutcome::Forwarded {
            return;
        }
        *if write { &mut self.writes } else { &mut self.reads } += 1;
        self.activates += u64::from(row != RowOutcome::Hit);
    }
}

impl DramCounts {
    fn serve(&mut self, row: RowOutcome, write: bool) {
        *if write { &mut self.writes } else { &mut self.reads } += 1;
        if row != RowOutcome::Forwarded {
            *if write { &mut self.commands.writes } else { &mut self.commands.reads } += 1;
        }
        *match row {
            RowOutcome::Hit => &mut self.row_hits,
            RowOutcome::Closed => &mut self.row_closed,
            RowOutcome::Conflict => &mut self.row_conflicts,
            RowOutcome::Forwarded => &mut self.forwarded,
        } += 1;
    }
}

/// What all channels have in common.
#[derive(Clone, Debug)]
struct Rules {
    timing: Timing,
    order: RequestOrder,
    page: PagePolicy,
    /// Places in the queue of reads, and in the queue of writes; at most [`queue::PLACES`].
    queue: usize,
    /// A batch of writes begins when this many wait,
    writes_high: usize,
    /// and ends when no more than this many are left.
    writes_low: usize,
    /// Clocks before the column command can be issued, by [`RowOutcome`].
    preparation: [u64; 4],
    /// The period of the bus clock in picoseconds.
    clock: u64,
    /// From the core to the controller, in picoseconds.
    path_out: u64,
    /// From the controller to the core, in picoseconds.
    path_back: u64,
}

impl Rules {
    /// True where a clock begins before a moment in picoseconds.
    fn lies_before(&self, clock: u64, moment: u64) -> bool {
        clock.checked_mul(self.clock).is_some_and(|at| at < moment)
    }

    /// From a column command to its data, in clocks.
    #[inline(always)]
    fn to_data(&self, write: bool) -> u64 {
        if write { self.timing.cwl } else { self.timing.cl }
    }
}

/// Main memory with its controller.
#[derive(Clone, Debug)]
pub struct Dram {
    rules: Rules,
    map: AddressMap,
    channels: Vec<Channel>,
    /// The channel that decides next, and its clock; `u64::MAX` where none does.
    first: usize,
    next: u64,
    /// The first moment at which not everything is decided yet, in picoseconds.
    reached: u64,
    next_id: u64,
}

impl Dram {
    /// A memory after a reset: all banks closed, no request, time zero. `cores` may ask it.
    ///
    /// # Errors
    /// If the description contradicts itself, or a burst does not carry exactly one `line`.
    pub fn new(description: &Description, line: Bytes, cores: usize) -> Result<Self, DramError> {
        let timing = Timing::new(description, line)?;
        if usize::from(description.queue) > queue::PLACES {
            let (count, most) = (description.queue.into(), queue::PLACES as u64);
            return Err(DramError::TooMany { name: "places in the queue", count, most });
        }
        let map = AddressMap::new(description, line)?;
        let path = description.path.picoseconds().get();
        let preparation = [0, timing.rcd, timing.rp + timing.rcd, 0];
        let rules = Rules {
            timing,
            preparation,
            order: description.order,
            page: description.page_policy,
            queue: usize::from(description.queue),
            writes_high: (usize::from(description.queue) * 3 / 4).max(1),
            writes_low: usize::from(description.queue) / 4,
            clock: description.clock.get(),
            path_out: path / 2,
            path_back: path - path / 2,
        };
        let channel = Channel::new(&rules, map.ranks(), map.bank_bits(), cores);
        Ok(Self {
            channels: vec![channel; map.channels()],
            rules,
            map,
            first: 0,
            next: u64::MAX,
            reached: 0,
            next_id: 0,
        })
    }

    /// Asks for the line at `address`. Time must not run backwards below what [`advance`](Self::advance) has
    /// reached. Where the queue is full the request waits outside in order, and later ones behind it.
    pub fn submit(
        &mut self,
        now: Picoseconds,
        requester: impl Into<Requester>,
        address: PhysicalAddress,
        write: bool,
    ) -> RequestId {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let place = self.map.place(address.0);
        let at_controller = now.get() + self.rules.path_out;
        let arrival = at_controller.div_ceil(self.rules.clock);
        let submitted = now.get();
        let (rules, reached) = (&self.rules, self.reached);
        let has_come = |clock| rules.lies_before(clock, reached);
        let request = Request::new(id, requester.into(), write, place, submitted, arrival);
        let channel = &mut self.channels[usize::from(place.channel)];
        let before = channel.next();
        channel.arrive(rules, request, has_come);
        if channel.next() != before {
            self.find_first();
        }
        id
    }

    /// Like [`submit`](Self::submit), for a requester that is to be told when the queue is full.
    ///
    /// # Errors
    /// If the channel has no place for another read (or write).
    pub fn enqueue(
        &mut self,
        now: Picoseconds,
        requester: impl Into<Requester>,
        address: PhysicalAddress,
        write: bool,
    ) -> Result<RequestId, Full> {
        let channel = usize::from(self.map.place(address.0).channel);
        if self.channels[channel].held(write) >= self.rules.queue {
            return Err(Full { channel });
        }
        Ok(self.submit(now, requester, address, write))
    }

    /// True where a write to the line at `address` would have a place in its channel's queue.
    pub(crate) fn takes_write(&self, address: PhysicalAddress) -> bool {
        let channel = usize::from(self.map.place(address.0).channel);
        self.channels[channel].held(true) < self.rules.queue
    }

    /// A number for a request that needs no access of its own.
    pub(crate) fn reserve_id(&mut self) -> RequestId {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        id
    }

    /// The next time at which the controller may have something to decide; `None` while it waits for requests.
    #[inline]
    pub fn next_event(&self) -> Option<Picoseconds> {
        (self.next != u64::MAX).then(|| Picoseconds::new(self.next * self.rules.clock))
    }

    #[inline(always)]
    fn find_first(&mut self) {
        if let [channel] = &*self.channels {
            self.next = channel.next();
            return;
        }
        (self.first, self.next) = (0, u64::MAX);
        for (position, channel) in self.channels.iter().enumerate() {
            if channel.next() < self.next {
                (self.first, self.next) = (position, channel.next());
            }
        }
    }

    /// Decides everything up to and including `until`, channels interleaved in the order of time.
    pub fn advance(&mut self, until: Picoseconds, mut served: impl FnMut(&Served)) {
        self.reached = self.reached.max(until.get().saturating_add(1));
        let (clock, until) = (self.rules.clock, until.get());
        if let [channel] = &mut *self.channels {
            while channel.next() != u64::MAX && channel.next() * clock <= until {
                channel.decide(&self.rules, &mut served);
            }
            self.next = channel.next();
            return channel.passed(|command| command * clock <= until);
        }
        while self.next != u64::MAX && self.next * clock <= until {
            self.channels[self.first].decide(&self.rules, &mut served);
            self.find_first();
        }
        self.channels.iter_mut().for_each(|channel| channel.passed(|command| command * clock <= until));
    }

    /// Lets the controller write what it would otherwise hold back until more writes have come: the end of a
    /// trace. Lasts until the writes are done.
    pub fn flush(&mut self) {
        let (rules, reached) = (&self.rules, self.reached);
        let has_come = |clock| rules.lies_before(clock, reached);
        self.channels.iter_mut().for_each(|channel| channel.flush(rules, has_come));
        self.find_first();
    }

    /// What all channels counted.
    pub fn counts(&self) -> DramCounts {
        self.channels.iter().fold(DramCounts::default(), |sum, channel| {
            let counts = channel.counts();
            DramCounts {
                reads: sum.reads + counts.reads,
                writes: sum.writes + counts.writes,
                row_hits: sum.row_hits + counts.row_hits,
                row_closed: sum.row_closed + counts.row_closed,
                row_conflicts: sum.row_conflicts + counts.row_conflicts,
                forwarded: sum.forwarded + counts.forwarded,
                refreshes: sum.refreshes + counts.refreshes,
                commands: DramCommands {
                    activates: sum.commands.activates + counts.commands.activates,
                    reads: sum.commands.reads + counts.commands.reads,
                    writes: sum.commands.writes + counts.commands.writes,
                },
            }
        })
    }

    /// Requests that have not been served.
    pub fn waiting(&self) -> usize {
        self.channels.iter().map(Channel::waiting).sum()
    }
}
