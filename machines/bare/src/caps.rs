//! What bare metal is able to do, from what was found of it.

use crate::agenda::MOST_CORES;
use crate::frame::InstructionSet;
use solo_hal::Able;
use solo_model::{Caps, Duration, EventId, EventSet};

/// The most threads that the image makes room for, idle threads not counted.
pub const MOST_THREADS: usize = 512;

/// Counters that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counting {
    /// Programmable ones of each core.
    pub general: u8,
    /// Those that count one event each.
    pub fixed: u8,
    /// Bits of a counter.
    pub width: u8,
    /// What programmable ones can count, by the experiment's table.
    pub countable: EventSet,
}

/// What was found of a machine when it was booted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Cores that were started.
    pub cores: usize,
    /// The finest that the timers can tell apart.
    pub timer_resolution: Duration,
    /// Its counters, where they count.
    pub counting: Option<Counting>,
    /// Time stands still while jobs run (the settled clock): they can't touch memory, and no budget is ever used up.
    pub settled: bool,
    /// Devices that move data where a core starts them.
    pub devices: bool,
    /// Lines can be taken out of caches one by one.
    pub flushes_lines: bool,
    /// All of them can at once.
    pub flushes_all: bool,
    /// Page colors of the map that places pages.
    pub colors: u16,
    /// DRAM banks of that map.
    pub banks: u16,
}

impl Found {
    /// What the image finds under an emulator, as far as a host can tell before it boots: translators have no cache to divide or to
    /// lock, and counters that count for 64-bit Arm only: instructions, and cycles, which are as many.
    pub const fn emulated(instruction_set: InstructionSet) -> Self {
        Self {
            cores: MOST_CORES,
            timer_resolution: Duration::new(1),
            counting: match instruction_set {
                InstructionSet::X86_64 => None,
                InstructionSet::Arm64 => Some(Counting {
                    general: 3,
                    fixed: 0,
                    width: 48,
                    countable: EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES),
                }),
            },
            settled: false,
            devices: matches!(instruction_set, InstructionSet::Arm64),
            flushes_lines: true,
            flushes_all: matches!(instruction_set, InstructionSet::X86_64),
            colors: u16::MAX,
            banks: u16::MAX,
        }
    }

    /// The most that the image may find where the host's own processor executes it: whether counters are lent, and which, it finds out when
    /// it boots, and refuses what they can't do.
    pub const fn hosted() -> Self {
        let most = Counting { general: 8, fixed: 3, width: 48, countable: EventSet::ALL };
        Self { counting: Some(most), ..Self::emulated(InstructionSet::X86_64) }
    }

    /// The most that the image may find on a Raspberry Pi 4: the counters of a Cortex-A72, which say themselves what they count, and a
    /// timer of 54 MHz.
    pub const fn raspberry_pi_4() -> Self {
        let most = Counting { general: 6, fixed: 0, width: 48, countable: EventSet::ALL };
        let timer_resolution = Duration::new(19);
        let emulated = Self::emulated(InstructionSet::Arm64);
        Self { cores: 4, timer_resolution, counting: Some(most), devices: false, ..emulated }
    }
}

impl Able for Found {
    fn caps(&self) -> Caps {
        let plain = Caps {
            timer_resolution: self.timer_resolution,
            threads_max: MOST_THREADS as u32,
            memory: !self.settled,
            devices: self.devices && !self.settled,
            flushes_buffers: self.flushes_lines && !self.settled,
            flushes_all: self.flushes_all && !self.settled,
            colors: self.colors,
            banks: self.banks,
            ..Caps::plain(self.cores)
        };
        match self.counting {
            None => plain,
            Some(Counting { general, fixed, width, countable }) => Caps {
                counters: general,
                fixed_counters: fixed,
                counter_width: width,
                counter_overflow: !self.settled,
                countable,
                ..plain
            },
        }
    }
}
