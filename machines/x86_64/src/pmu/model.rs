//! A unit in software, register by register: emulators of x86 have none.
//!
//! What a version lacks, and what its registers reserve, is a general protection fault on real hardware; here it is
//! counted.

use super::describe::{Description, Kind};
use super::registers::{
    AMD_CONTROL, AMD_COUNTER, AMD_SELECT, AMD_SELECT_EXTENDED, AMD_STATUS, AMD_STATUS_CLEAR, FIXED,
    FULL_WIDTH_WRITES, INTEL_CAPABILITIES, INTEL_CONTROL, INTEL_COUNTER, INTEL_COUNTER_FULL, INTEL_FIXED,
    INTEL_FIXED_CONTROL, INTEL_SELECT, INTEL_STATUS, INTEL_STATUS_CLEAR, INTEL_STATUS_SET, Registers,
};
use super::select::Select;
use core::cell::Cell;

/// The most counters of a kind that a model has.
const MOST: usize = 16;

/// A unit in software.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    description: Option<Description>,
    select: [u64; MOST],
    general: [u64; MOST],
    fixed: [u64; MOST],
    fixed_control: u64,
    control: u64,
    status: u64,
    faults: Cell<u32>,
    interrupts: u64,
}

/// What a register is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Register {
    Select(usize),
    /// Written with its sign extended from 32 bits, or in full.
    General(usize, bool),
    Fixed(usize),
    FixedControl,
    Capabilities,
    Status,
    Control,
    StatusClear,
    StatusSet,
}

impl Model {
    /// A unit as described, after reset: everything is zero, but version 2 and later let all general counters run.
    pub fn new(description: Description) -> Self {
        let control = if description.has_status() { (1 << description.general) - 1 } else { 0 };
        Self { description: Some(description), control, ..Self::absent() }
    }

    /// No unit: every register faults.
    pub const fn absent() -> Self {
        Self {
            description: None,
            select: [0; MOST],
            general: [0; MOST],
            fixed: [0; MOST],
            fixed_control: 0,
            control: 0,
            status: 0,
            faults: Cell::new(0),
            interrupts: 0,
        }
    }

    /// Accesses that real hardware would have answered with a general protection fault.
    pub fn faults(&self) -> u32 {
        self.faults.get()
    }

    /// Overflow interrupts that were sent.
    pub const fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// The event of `select` occurs `times` times, in ring 0 or outside of it.
    pub fn count(&mut self, select: Select, times: u64, ring_0: bool) {
        let Some(unit) = self.description else { return };
        let modes = if ring_0 { Select::SYSTEM } else { Select::USER };
        let same = |bits: u64| bits & 0xf_0000_ffff == select.bits() & 0xf_0000_ffff;
        for at in 0..usize::from(unit.general) {
            let bits = self.select[at];
            let runs = !unit.has_status() || self.control >> at & 1 != 0;
            if runs && bits & Select::ENABLE != 0 && bits & modes != 0 && same(bits) {
                let over = advance(&mut self.general[at], times, unit.width);
                self.overflow(at, over, bits & Select::INTERRUPT != 0);
            }
        }
        for at in (0..MOST).filter(|at| unit.fixed >> at & 1 != 0) {
            let control = self.fixed_control >> (4 * at);
            let counts = same(fixed_select(at).bits()) && control & if ring_0 { 1 } else { 2 } != 0;
            if counts && self.control >> (32 + at) & 1 != 0 {
                let over = advance(&mut self.fixed[at], times, unit.fixed_width);
                self.overflow(32 + at, over, control & 8 != 0);
            }
        }
    }

    fn overflow(&mut self, bit: usize, over: bool, interrupt: bool) {
        if over {
            self.status |= 1 << bit;
            self.interrupts += u64::from(interrupt);
        }
    }

    fn fault(&self) {
        self.faults.set(self.faults.get() + 1);
    }

    fn register(&self, number: u32) -> Option<Register> {
        let unit = self.description?;
        let general = |first: u32| {
            number.checked_sub(first).map(|at| at as usize).filter(|&at| at < usize::from(unit.general))
        };
        match unit.kind {
            Kind::Intel(version) => {
                let fixed =
                    number.checked_sub(INTEL_FIXED).filter(|&at| at < 16 && unit.fixed >> at & 1 != 0);
                let plain = general(INTEL_SELECT)
                    .map(Register::Select)
                    .or_else(|| general(INTEL_COUNTER).map(|at| Register::General(at, false)))
                    .or_else(|| {
                        let full = general(INTEL_COUNTER_FULL).filter(|_| unit.full_writes);
                        full.map(|at| Register::General(at, true))
                    })
                    .or_else(|| fixed.map(|at| Register::Fixed(at as usize)));
                plain.or(match (number, version) {
                    (INTEL_CAPABILITIES, 2..) => Some(Register::Capabilities),
                    (INTEL_FIXED_CONTROL, 2..) => Some(Register::FixedControl),
                    (INTEL_STATUS, 2..) => Some(Register::Status),
                    (INTEL_CONTROL, 2..) => Some(Register::Control),
                    (INTEL_STATUS_CLEAR, 2..) => Some(Register::StatusClear),
                    (INTEL_STATUS_SET, 4..) => Some(Register::StatusSet),
                    _ => None,
                })
            }
            Kind::Amd => general(AMD_SELECT)
                .map(Register::Select)
                .or_else(|| general(AMD_COUNTER).map(|at| Register::General(at, true))),
            Kind::AmdExtended | Kind::AmdVersion2 => {
                let pair = number.checked_sub(AMD_SELECT_EXTENDED).map(|at| (at as usize / 2, at % 2));
                let pair = pair.filter(|(at, _)| *at < usize::from(unit.general));
                let counters =
                    pair.map(
                        |(at, part)| {
                            if part == 0 { Register::Select(at) } else { Register::General(at, true) }
                        },
                    );
                counters.or(match (number, unit.kind) {
                    (AMD_STATUS, Kind::AmdVersion2) => Some(Register::Status),
                    (AMD_CONTROL, Kind::AmdVersion2) => Some(Register::Control),
                    (AMD_STATUS_CLEAR, Kind::AmdVersion2) => Some(Register::StatusClear),
                    _ => None,
                })
            }
        }
    }

    /// The bits that a register can hold.
    fn writable(&self, register: Register) -> u64 {
        let Some(unit) = self.description else { return 0 };
        let below = |bits: u8| u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
        let all = below(unit.general) | u64::from(unit.fixed) << 32;
        match (register, unit.kind) {
            // Bit 21 counts for the other hardware thread too; it came with version 3 and went with version 5.
            (Register::Select(_), Kind::Intel(3 | 4)) => 0xffff_ffff,
            (Register::Select(_), Kind::Intel(_)) => 0xffdf_ffff,
            (Register::Select(_), _) => 0x0300_000f_ffdf_ffff | 0x300_0000_0000,
            (Register::General(_, true), _) => below(unit.width),
            (Register::General(_, false), _) => u64::MAX,
            (Register::Fixed(_), _) => below(unit.fixed_width),
            (Register::FixedControl, kind) => {
                let each = if matches!(kind, Kind::Intel(3 | 4)) { 0xf } else { 0xb };
                (0..16).filter(|at| unit.fixed >> at & 1 != 0).fold(0, |bits, at| bits | each << (4 * at))
            }
            // A written status may name the uncore, the buffers and the trace as well.
            (Register::StatusClear | Register::StatusSet, Kind::Intel(_)) => all | 0xf << 60 | 7 << 55,
            (Register::Control | Register::StatusClear | Register::StatusSet, _) => all,
            (Register::Capabilities | Register::Status, _) => 0,
        }
    }
}

/// Adds to a counter of that width; true where it passed its end.
fn advance(counter: &mut u64, times: u64, width: u8) -> bool {
    let sum = u128::from(*counter) + u128::from(times);
    *counter = (sum & ((1 << width) - 1)) as u64;
    sum >> width != 0
}

/// What a fixed counter counts: instructions, cycles, cycles of the reference clock.
fn fixed_select(at: usize) -> Select {
    match at {
        0 => Select::new(0xc0, 0),
        1 => Select::new(0x3c, 0),
        2 => Select::new(0x3c, 1),
        _ => Select::new(0xa4, 1),
    }
}

impl Registers for Model {
    fn read(&self, register: u32) -> u64 {
        match self.register(register) {
            Some(Register::Select(at)) => self.select[at],
            Some(Register::General(at, _)) => self.general[at],
            Some(Register::Fixed(at)) => self.fixed[at],
            Some(Register::FixedControl) => self.fixed_control,
            Some(Register::Capabilities) => {
                if self.description.is_some_and(|unit| unit.full_writes) {
                    FULL_WIDTH_WRITES
                } else {
                    0
                }
            }
            Some(Register::Status) => self.status,
            Some(Register::Control) => self.control,
            Some(Register::StatusClear | Register::StatusSet) => 0,
            None => {
                self.fault();
                0
            }
        }
    }

    fn write(&mut self, register: u32, value: u64) {
        let found = self.register(register);
        let Some(register) = found.filter(|&register| value & !self.writable(register) == 0) else {
            return self.fault();
        };
        let width = self.description.map_or(64, |unit| unit.width);
        match register {
            Register::Select(at) => self.select[at] = value,
            Register::General(at, true) => self.general[at] = value,
            Register::General(at, false) => {
                self.general[at] = i64::from(value as i32) as u64 & u64::MAX >> (64 - width);
            }
            Register::Fixed(at) => self.fixed[at] = value,
            Register::FixedControl => self.fixed_control = value,
            Register::Control => self.control = value,
            Register::StatusClear => self.status &= !value,
            Register::StatusSet => self.status |= value,
            Register::Capabilities | Register::Status => self.fault(),
        }
    }

    fn counter(&self, number: u32) -> u64 {
        let Some(unit) = self.description else {
            self.fault();
            return 0;
        };
        let at = (number & !FIXED) as usize;
        let there = if number & FIXED == 0 {
            (at < usize::from(unit.general)).then(|| self.general[at])
        } else {
            (at < MOST && unit.fixed >> at & 1 != 0).then(|| self.fixed[at])
        };
        there.unwrap_or_else(|| {
            self.fault();
            0
        })
    }
}
