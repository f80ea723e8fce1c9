//! Virtio devices whose registers lie in memory (Virtual I/O Device 1.2, section 4.2). They take and give memory through [queues](crate::queue).

use crate::mmio;
use crate::queue::{LENGTH, Queue};
use core::sync::atomic::{Ordering, fence};

/// The first register of all such devices: "virt".
const MAGIC: u32 = 0x7472_6976;
/// The version of the registers as of Virtio 1.0.
const VERSION: u32 = 2;
/// The feature that says so (number 32, the first of the second word).
const VERSION_1: u32 = 1;

/// A network device.
const NETWORK: u32 = 1;

/// What a driver has done so far: it saw the device, can drive it, has agreed on features, is ready.
const ACKNOWLEDGE: u32 = 1;
const DRIVER: u32 = 2;
const FEATURES_OK: u32 = 8;
const DRIVER_OK: u32 = 4;

/// Registers, by their distance from the first.
mod register {
    pub(super) const MAGIC: u64 = 0x000;
    pub(super) const VERSION: u64 = 0x004;
    pub(super) const KIND: u64 = 0x008;
    pub(super) const DRIVER_FEATURES: u64 = 0x020;
    pub(super) const DRIVER_FEATURES_WORD: u64 = 0x024;
    pub(super) const QUEUE: u64 = 0x030;
    pub(super) const QUEUE_MOST: u64 = 0x034;
    pub(super) const QUEUE_LENGTH: u64 = 0x038;
    pub(super) const QUEUE_READY: u64 = 0x044;
    pub(super) const QUEUE_NOTIFY: u64 = 0x050;
    pub(super) const STATUS: u64 = 0x070;
    pub(super) const DESCRIPTORS: u64 = 0x080;
    pub(super) const AVAILABLE: u64 = 0x090;
    pub(super) const USED: u64 = 0x0a0;
    pub(super) const CONFIGURATION: u64 = 0x100;
}

/// The registers of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers(mmio::Registers);

impl Registers {
    /// Those of the network device at `base`, where there is one (section 5.1) with registers of today's version.
    ///
    /// # Safety
    /// At `base` are registers of a virtio device, or of none, mapped as a device's.
    pub(crate) unsafe fn of_network(base: u64) -> Option<Self> {
        // SAFETY: the caller vouches for them. What a device writes by itself lies in the queues that it is told of.
        let found = Self(unsafe { mmio::Registers::at(base) });
        let is = |at, value| found.read(at) == value;
        (is(register::MAGIC, MAGIC) && is(register::VERSION, VERSION) && is(register::KIND, NETWORK))
            .then_some(found)
    }

    fn read(self, at: u64) -> u32 {
        self.0.read(at)
    }

    fn write(self, at: u64, value: u32) {
        self.0.write(at, value);
    }

    fn write_address(self, at: u64, address: u64) {
        self.write(at, address as u32);
        self.write(at + 4, (address >> 32) as u32);
    }

    /// A byte of what the device says of itself.
    pub fn configuration(self, byte: u64) -> u8 {
        self.0.read_byte(register::CONFIGURATION + byte)
    }

    /// Stops the device: it forgets its queues and touches no memory any more.
    pub fn reset(self) {
        self.write(register::STATUS, 0);
        while self.read(register::STATUS) != 0 {
            core::hint::spin_loop();
        }
    }

    /// Begins anew, with one queue, the device's `number`th. False where the device does not take it.
    pub fn begin(self, number: u32, queue: &Queue) -> bool {
        self.reset();
        self.write(register::STATUS, ACKNOWLEDGE | DRIVER);
        for (word, features) in [(0, 0), (1, VERSION_1)] {
            self.write(register::DRIVER_FEATURES_WORD, word);
            self.write(register::DRIVER_FEATURES, features);
        }
        self.write(register::STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        if self.read(register::STATUS) & FEATURES_OK == 0 {
            return false;
        }
        self.write(register::QUEUE, number);
        if self.read(register::QUEUE_MOST) < LENGTH as u32 {
            return false;
        }
        self.write(register::QUEUE_LENGTH, LENGTH as u32);
        let places = [register::DESCRIPTORS, register::AVAILABLE, register::USED];
        places
            .into_iter()
            .zip(queue.places())
            .for_each(|(register, place)| self.write_address(register, place));
        self.write(register::QUEUE_READY, 1);
        self.write(register::STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
        true
    }

    /// Tells the device that its queue `number` has something new.
    pub fn notify(self, number: u32) {
        fence(Ordering::SeqCst);
        self.write(register::QUEUE_NOTIFY, number);
    }
}
