//! The parts of an Arm machine that a port drives, found in its device tree.

use core::ops::Range;
use solo_bare::devicetree::{DeviceTree, word};
use solo_bare::parts::{Parts, PartsError};

/// Where the devices end that are mapped: RAM lies above.
const DEVICES: u64 = 1 << 30;

/// How firmware is called.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Conduit {
    /// As a hypervisor.
    #[default]
    Hvc,
    /// As a secure monitor.
    Smc,
}

/// What a machine has; nothing, until it was [found](Self::find).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Board {
    /// What any machine has. Cores are called by their affinities, as in MPIDR.
    pub parts: Parts,
    /// The distributor of its GICv3.
    pub distributor: u64,
    /// The frames of the redistributors, one behind the other.
    pub redistributors: Range<u64>,
    /// Its PL011.
    pub serial: u64,
    /// How PSCI is called.
    pub firmware: Conduit,
    /// The interrupt of the virtual timer.
    pub timer: u32,
    /// The overflow interrupt of the counters, where there are any.
    pub counters: Option<u32>,
    /// The host answers semihosting calls: `semihosting` is among the arguments.
    pub semihosting: bool,
}

impl Board {
    /// What `tree` tells.
    ///
    /// # Errors
    /// If the tree is damaged, or a part is missing.
    pub fn find(tree: &DeviceTree<'_>) -> Result<Self, PartsError> {
        let mut board = Self::default();
        let mut has_firmware = false;
        board.parts = Parts::find(tree, DEVICES, |node, first| {
            if node.name == b"chosen" {
                let mut arguments = word(node.arguments).split(u8::is_ascii_whitespace);
                board.semihosting = arguments.any(|argument| argument == b"semihosting");
            } else if node.is("arm,gic-v3") {
                board.distributor = first.start;
                board.redistributors = node.ranges().nth(1).unwrap_or_default();
            } else if node.is("arm,pl011") && board.serial == 0 {
                board.serial = first.start;
            } else if node.is("arm,psci-0.2") || node.is("arm,psci-1.0") {
                has_firmware = true;
                board.firmware = if word(node.method) == b"smc" { Conduit::Smc } else { Conduit::Hvc };
            } else if node.is("arm,armv8-timer") {
                board.timer = node.interrupt(2).unwrap_or_default();
            } else if node.is("arm,armv8-pmuv3") {
                board.counters = node.interrupt(0);
            }
        })?;
        Parts::demand(&[
            (!board.redistributors.is_empty(), "GICv3"),
            (board.serial != 0, "PL011"),
            (board.timer != 0, "generic timer"),
            (has_firmware, "PSCI"),
        ])?;
        let end = board.distributor.max(board.redistributors.end).max(board.serial);
        if end > DEVICES { Err(PartsError::Device(end, DEVICES)) } else { Ok(board) }
    }
}
