//! Devices that move data between themselves and memory, without a core: DMA masters.
//!
//! ```text
//!   offset        begin of a slot                          its end
//!     |-------------|==== transfer: lines, wait states ===|-----|------ period
//! ```
//!
//! A device moves as much in each of its *slots*, over the bus and through the DRAM banks, beside what cores ask for. Where its
//! bandwidth is limited, its engine stops in *wait states* each so many bytes (single-core equivalence, SCE 2.4).

use crate::id::{BufferId, CoreId, TaskId};
use crate::units::{Bandwidth, Bytes, Duration, Picoseconds};
use alloc::string::String;

/// Where the data of a device go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Direction {
    /// Into memory: lines are written.
    Input,
    /// Out of memory: lines are read.
    Output,
}

/// A device with a DMA engine, and when it moves what.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The task whose data it moves.
    pub owner: TaskId,
    /// The sporadic task that its interrupt releases: it interrupts when all of a slot is moved.
    #[cfg_attr(feature = "serde", serde(default))]
    pub releases: Option<TaskId>,
    /// Where they go.
    pub direction: Direction,
    /// What it moves in each slot; above zero.
    pub moves: Bytes,
    /// The memory, from its first byte on.
    pub buffer: BufferId,
    /// When its first slot begins.
    pub offset: Duration,
    /// From the begin of a slot to the begin of the next; above zero.
    pub period: Duration,
    /// How long a slot is; above zero, and no longer than the period. What is not moved by its end is not moved at all.
    pub slot: Duration,
    /// The core that starts it; slots of one core do not overlap. `None` for a device that starts by itself.
    pub core: Option<CoreId>,
    /// How fast its own side takes or delivers bytes; `None` where memory is what limits it.
    pub rate: Option<Bandwidth>,
    /// After how many bytes its engine stops where its bandwidth is limited: a power of two from 1 to 1024.
    pub wait_every: Bytes,
}

/// How a device asks memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Bytes of one transaction, of one line; each moves the whole line on the bus of the memory.
    pub chunk: Bytes,
    /// Transactions of a transfer.
    pub transactions: u64,
    /// The least time from one transaction to the next.
    pub apart: Picoseconds,
    /// Transactions between two wait states, and the least time from the first of them to the first behind the wait state. `None`
    /// without wait states.
    pub burst: Option<(u64, Picoseconds)>,
}

/// Picoseconds in a second.
const SECOND: u128 = 1_000_000_000_000;

impl Device {
    /// The most bytes between two wait states.
    pub const WAIT_EVERY_MAX: Bytes = Bytes::from_kib(1);

    /// Reads that its engine has under way at most. Not of a paper: as many as the queues of the larger DMA engines of embedded chips.
    pub const READS_UNDER_WAY: usize = 16;

    /// Where its data are written into memory.
    pub const fn writes(&self) -> bool {
        matches!(self.direction, Direction::Input)
    }

    /// How it asks memory for lines of so many bytes, if memory is to move `limit` for it at most, each transaction counted as a
    /// line.
    pub fn pace(&self, line: Bytes, limit: Option<Bandwidth>) -> Pace {
        let line = line.get().max(1);
        let every = self.wait_every.get().max(1);
        let chunk = if limit.is_some() { every.min(line) } else { line };
        let time = |bytes: u64, rate: Bandwidth| {
            let time = (u128::from(bytes) * SECOND).div_ceil(u128::from(rate.get().max(1)));
            Picoseconds::new(u64::try_from(time).unwrap_or(u64::MAX))
        };
        let burst = limit.map(|limit| {
            let transactions = (every / line).max(1);
            (transactions, time(transactions.saturating_mul(line), limit))
        });
        Pace {
            chunk: Bytes::new(chunk),
            transactions: self.moves.get().div_ceil(chunk),
            apart: self.rate.map_or(Picoseconds::ZERO, |rate| time(chunk, rate)),
            burst,
        }
    }
}

impl Pace {
    /// The least time of a transfer, in which memory takes none: from the first transaction to the last.
    pub fn least(&self) -> Picoseconds {
        let gaps = |transactions: u64, apart: Picoseconds| {
            Picoseconds::new(apart.get().saturating_mul(transactions.saturating_sub(1)))
        };
        let own = gaps(self.transactions, self.apart);
        self.burst
            .map_or(own, |(burst, apart)| own.max(gaps(self.transactions.div_ceil(burst.max(1)), apart)))
    }

    /// Transactions that begin within `span`, wherever it begins, at most; `None` where nothing but memory limits them.
    pub fn within(&self, span: Duration) -> Option<u64> {
        let span = span.picoseconds().get();
        let by_burst = self.burst.and_then(|(transactions, apart)| {
            Some((span.checked_div(apart.get())? + 1).saturating_mul(transactions))
        });
        let by_rate = span.checked_div(self.apart.get()).map(|transactions| transactions + 1);
        match (by_burst, by_rate) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(moves: u64, wait_every: u64) -> Device {
        Device {
            name: "camera".into(),
            owner: TaskId(0),
            releases: None,
            direction: Direction::Input,
            moves: Bytes::new(moves),
            buffer: BufferId(0),
            offset: Duration::ZERO,
            period: Duration::from_millis(1),
            slot: Duration::from_millis(1),
            core: None,
            rate: None,
            wait_every: Bytes::new(wait_every),
        }
    }

    /// Byte by byte: a transaction ends at the end of a line and at a wait state.
    fn counted(moves: u64, line: u64, every: Option<u64>) -> u64 {
        let begins =
            |byte: &u64| byte.is_multiple_of(line) || every.is_some_and(|every| byte.is_multiple_of(every));
        (0..moves).filter(begins).count() as u64
    }

    #[test]
    fn transactions_are_what_a_count_of_all_bytes_finds() {
        let limit = Some(Bandwidth::new(64_000_000));
        for line in [16, 32, 64, 128] {
            for power in 0..=10 {
                let every = 1 << power;
                for moves in [1, 2, 63, 64, 65, 1000, 1024, 5000] {
                    let device = device(moves, every);
                    let free = device.pace(Bytes::new(line), None);
                    assert_eq!(free.transactions, counted(moves, line, None), "{moves} {line}");
                    let waits = device.pace(Bytes::new(line), limit);
                    assert_eq!(
                        waits.transactions,
                        counted(moves, line, Some(every)),
                        "{moves} {line} {every}"
                    );
                }
            }
        }
    }

    #[test]
    fn wait_states_hold_what_memory_moves_to_the_limit() {
        let limit = Bandwidth::new(64_000_000);
        // A line takes a microsecond of 64 MB/s, however few of its bytes are moved.
        for (every, transactions, microseconds) in [(1, 1, 1), (64, 1, 1), (128, 2, 2), (1024, 16, 16)] {
            let pace = device(4096, every).pace(Bytes::new(64), Some(limit));
            assert_eq!(pace.burst, Some((transactions, Picoseconds::new(microseconds * 1_000_000))));
            // A burst may begin at both ends of the span.
            assert_eq!(pace.within(Duration::from_micros(160)), Some(160 + transactions));
        }
        let free = device(4096, 64).pace(Bytes::new(64), None);
        assert_eq!((free.within(Duration::from_micros(160)), free.least()), (None, Picoseconds::ZERO));
        // 64 lines in bursts of 16: three times 16 microseconds until the last of them begins.
        let least = |every| device(4096, every).pace(Bytes::new(64), Some(limit)).least();
        assert_eq!([16, 64, 1024].map(|every| least(every).get() / 1_000_000), [255, 63, 48]);
    }

    #[test]
    fn the_device_itself_may_be_slower_than_its_limit() {
        let slow = Device { rate: Some(Bandwidth::new(32_000_000)), ..device(4096, 64) };
        let pace = slow.pace(Bytes::new(64), Some(Bandwidth::new(64_000_000)));
        assert_eq!(pace.apart, Picoseconds::new(2_000_000));
        assert_eq!(pace.within(Duration::from_micros(160)), Some(81));
    }
}
