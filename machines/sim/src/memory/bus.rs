//! A front-side bus: transactions of several agents, one address phase after the other.
//!
//! ```text
//!   address ──▶ snoop ──▶ answer: nobody has it ──▶ memory sends the line
//!                          HIT#   (clean copies stay) ─▶ memory sends the line
//!                          HITM#  (a changed copy) ─▶ that agent sends the line, and memory takes it too
//! ```
//!
//! An agent is an outermost cache with the cores behind it. Transactions are granted in the order of the calls. Data
//! phases of lines from memory are counted, but take no place: as long as an address phase is no shorter than a
//! data phase, as on the buses of the platforms here, the address lines are what fills up first.

use super::Requester;
use solo_model::platform::FrontSideBus;
use solo_model::{CoreId, Picoseconds, Signal, SignalCounts};
use std::collections::VecDeque;

/// What the other agents answered, and what is moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transaction {
    /// A line that no other agent keeps comes from memory.
    Clean,
    /// A line that others keep unchanged comes from memory.
    Hit,
    /// Another agent sends its changed line.
    Modified,
    /// Others give up their copies; nothing is moved.
    Invalidate,
    /// A changed line goes to memory.
    WriteBack,
}

/// The bus of a machine.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    description: FrontSideBus,
    /// When the address lines and the data lines are free again.
    address_free: Picoseconds,
    data_free: Picoseconds,
    /// When transactions under way end, as far as that is known: those that wait for memory only once it has decided.
    under_way: VecDeque<Picoseconds>,
    /// Lines that memory has yet to decide about.
    with_memory: usize,
}

/// What a transaction costs the one who waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Granted {
    /// Until memory hears of the address.
    pub(super) addressed: Picoseconds,
    /// Until the other agents have answered and, where one of them sends data, these are there.
    pub(super) answered: Picoseconds,
}

impl Bus {
    pub(super) fn new(description: FrontSideBus) -> Self {
        Self {
            description,
            address_free: Picoseconds::ZERO,
            data_free: Picoseconds::ZERO,
            under_way: VecDeque::new(),
            with_memory: 0,
        }
    }

    fn clocks(&self, number: u16) -> Picoseconds {
        self.description.clock * u64::from(number)
    }

    /// A transaction of `requester` that wants the bus at `now`; `owner` is the core that an answering agent counts for.
    /// Times are counted from `now`.
    pub(super) fn transact(
        &mut self,
        now: Picoseconds,
        requester: impl Into<Requester>,
        owner: Option<CoreId>,
        transaction: Transaction,
        counts: &mut [SignalCounts],
    ) -> Granted {
        let requester = requester.into();
        let bus = self.description;
        while self.under_way.front().is_some_and(|end| *end <= now) {
            self.under_way.pop_front();
        }
        let clock = bus.clock.get();
        let mut begin = Picoseconds::new(now.max(self.address_free).get().div_ceil(clock) * clock);
        if self.under_way.len() + self.with_memory >= usize::from(bus.depth) {
            counts[requester.index()].increment(Signal::BusBnrDriven);
            // The bus is released when a transaction ends; where memory has yet to decide, at once.
            if let Some(first) = self.under_way.pop_front() {
                begin = begin.max(first);
            }
        }
        self.address_free = begin + self.clocks(bus.address);
        let answered = self.address_free + self.clocks(bus.snoop);
        let end = match transaction {
            Transaction::Clean | Transaction::Hit | Transaction::Invalidate => answered,
            Transaction::Modified | Transaction::WriteBack => {
                let reply = if transaction == Transaction::Modified { bus.reply } else { 0 };
                let sends = (answered + self.clocks(reply)).max(self.data_free);
                self.data_free = sends + self.clocks(bus.data);
                self.data_free
            }
        };
        match transaction {
            Transaction::Clean | Transaction::Hit => self.with_memory += 1,
            _ => self.remember(end),
        }
        count(&bus, requester, owner, transaction, counts);
        Granted { addressed: self.address_free - now, answered: end - now }
    }

    /// Memory has decided about a line, which is there at `end`.
    pub(super) fn decided(&mut self, end: Picoseconds) {
        self.with_memory = self.with_memory.saturating_sub(1);
        self.remember(end);
    }

    fn remember(&mut self, end: Picoseconds) {
        let later = self.under_way.iter().rev().take_while(|known| **known > end).count();
        self.under_way.insert(self.under_way.len() - later, end);
    }
}

/// Counts what a transaction of `requester` puts on the bus.
fn count(
    bus: &FrontSideBus,
    requester: Requester,
    owner: Option<CoreId>,
    transaction: Transaction,
    counts: &mut [SignalCounts],
) {
    let (answer, drives) = match transaction {
        Transaction::Clean => (Some(Signal::ExtSnoopClean), None),
        Transaction::Hit => (Some(Signal::ExtSnoopHit), Some(Signal::BusHitDriven)),
        Transaction::Modified => (Some(Signal::ExtSnoopHitm), Some(Signal::BusHitmDriven)),
        // HIT# says that an agent keeps its copy: who gives it up drives nothing.
        Transaction::Invalidate => (Some(Signal::ExtSnoopClean), None),
        Transaction::WriteBack => (None, None),
    };
    let mine = &mut counts[requester.index()];
    if let Some(answer) = answer {
        mine.increment(answer);
    }
    let data = u64::from(bus.data);
    match transaction {
        Transaction::Clean | Transaction::Hit | Transaction::Modified => {
            mine.add(Signal::BusDataReceived, data)
        }
        Transaction::WriteBack => mine.add(Signal::BusDrdyClocks, data),
        Transaction::Invalidate => {}
    }
    if let Some(owner) = owner {
        let theirs = &mut counts[owner.index()];
        if let Some(drives) = drives {
            theirs.add(drives, u64::from(bus.signal));
        }
        if transaction == Transaction::Modified {
            theirs.add(Signal::BusDrdyClocks, data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bus of 3 ns with two clocks for an address, three for answers, two for a line.
    fn bus(depth: u16) -> Bus {
        Bus::new(FrontSideBus {
            clock: Picoseconds::new(3_000),
            address: 2,
            snoop: 3,
            reply: 1,
            data: 2,
            signal: 1,
            depth,
        })
    }

    fn ns(n: u64) -> Picoseconds {
        Picoseconds::new(n * 1000)
    }

    const MINE: CoreId = CoreId(0);
    const THEIRS: CoreId = CoreId(1);

    #[test]
    fn phases_follow_each_other_and_overlap_with_those_of_the_next() {
        let (mut bus, mut counts) = (bus(8), [SignalCounts::ZERO; 2]);
        let first = bus.transact(ns(1), MINE, None, Transaction::Clean, &mut counts);
        // The next edge is at 3 ns: 6 ns address, 9 ns until the answers.
        assert_eq!(first, Granted { addressed: ns(8), answered: ns(17) });
        let second = bus.transact(ns(2), THEIRS, Some(MINE), Transaction::Modified, &mut counts);
        // Its address phase begins at 9 ns; the line follows a clock after the answers, within 6 ns.
        assert_eq!(second, Granted { addressed: ns(13), answered: ns(31) });
        // The data lines are taken until 33 ns.
        let third = bus.transact(ns(14), MINE, None, Transaction::WriteBack, &mut counts);
        assert_eq!(third, Granted { addressed: ns(7), answered: ns(25) });
    }

    #[test]
    fn each_agent_counts_what_it_asks_and_what_it_answers() {
        let (mut bus, mut counts) = (bus(8), [SignalCounts::ZERO; 2]);
        bus.transact(ns(0), MINE, Some(THEIRS), Transaction::Modified, &mut counts);
        bus.transact(ns(100), MINE, Some(THEIRS), Transaction::Hit, &mut counts);
        bus.transact(ns(200), MINE, None, Transaction::Clean, &mut counts);
        bus.transact(ns(300), MINE, None, Transaction::WriteBack, &mut counts);
        let of = |core: usize, event| counts[core][event];
        assert_eq!(
            [Signal::ExtSnoopHitm, Signal::ExtSnoopHit, Signal::ExtSnoopClean].map(|e| of(0, e)),
            [1, 1, 1]
        );
        assert_eq!((of(0, Signal::BusDataReceived), of(0, Signal::BusDrdyClocks)), (6, 2));
        assert_eq!(
            (of(1, Signal::BusHitmDriven), of(1, Signal::BusHitDriven), of(1, Signal::BusDrdyClocks)),
            (1, 1, 2)
        );
        assert_eq!(
            (of(1, Signal::ExtSnoopHit), of(0, Signal::BusHitDriven), of(0, Signal::BusLockClocks)),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_full_bus_makes_agents_wait() {
        let (mut bus, mut counts) = (bus(2), [SignalCounts::ZERO; 2]);
        for _ in 0..2 {
            bus.transact(ns(0), MINE, None, Transaction::Clean, &mut counts);
        }
        assert_eq!(counts[0][Signal::BusBnrDriven], 0);
        bus.decided(ns(90));
        let late = bus.transact(ns(30), THEIRS, None, Transaction::Clean, &mut counts);
        assert_eq!(counts[1][Signal::BusBnrDriven], 1);
        assert_eq!(late.addressed, ns(90 - 30 + 6));
        // Memory has yet to decide about the two others: the bus is asked to wait, but nobody knows until when.
        let next = bus.transact(ns(300), THEIRS, None, Transaction::WriteBack, &mut counts);
        assert_eq!((next.addressed, counts[1][Signal::BusBnrDriven]), (ns(6), 2));
    }
}
