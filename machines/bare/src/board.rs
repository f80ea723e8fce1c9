//! The parts of an Arm machine that a port drives, found in its device tree.

use crate::devicetree::{DeviceTree, Place, word};
use crate::parts::{Parts, PartsError};
use core::ops::Range;

/// The machine that an image is for. They differ in where memory and devices lie, and in what hands out interrupts and starts cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoardModel {
    /// QEMU's: GICv3, PSCI.
    Virt,
    /// GICv2, cores that wait in a loop of their firmware's.
    RaspberryPi4,
}

impl BoardModel {
    /// Where RAM is mapped.
    pub const fn ram(self) -> Range<u64> {
        match self {
            Self::Virt => 1 << 30..4 << 30,
            Self::RaspberryPi4 => 0..3 << 30,
        }
    }

    /// Where devices are.
    pub const fn devices(self) -> Range<u64> {
        match self {
            Self::Virt => 0..1 << 30,
            Self::RaspberryPi4 => 3 << 30..4 << 30,
        }
    }
}

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
    /// The distributor of its interrupt controller.
    pub distributor: u64,
    /// The frames of a GICv3's redistributors, one behind the other; of a GICv2, the interface of the core that asks.
    pub interfaces: Range<u64>,
    /// Its PL011.
    pub serial: u64,
    /// How PSCI is called, where there is one.
    pub firmware: Option<Conduit>,
    /// What resets it where there is none.
    pub watchdog: u64,
    /// The interrupt of the virtual timer.
    pub timer: u32,
    /// The overflow interrupts of the counters: none, one of each core's own, or one for each core.
    pub counters: Range<u32>,
    /// The host answers semihosting calls: `semihosting` is among the arguments.
    pub semihosting: bool,
}

impl Board {
    /// What `tree` tells of a machine of this model.
    ///
    /// # Errors
    /// If the tree is damaged, or a part is missing.
    pub fn find(tree: &DeviceTree<'_>, model: BoardModel) -> Result<Self, PartsError> {
        let (mut board, mapped) = (Self::default(), model.devices());
        let (controller, version) = match model {
            BoardModel::Virt => ("arm,gic-v3", "GICv3"),
            BoardModel::RaspberryPi4 => ("arm,gic-400", "GICv2"),
        };
        board.parts = Parts::find(tree, &mapped, |node, first| {
            if node.name == b"chosen" {
                let mut arguments = word(node.arguments).split(u8::is_ascii_whitespace);
                board.semihosting = arguments.any(|argument| argument == b"semihosting");
            } else if node.is(controller) {
                board.distributor = first.start;
                board.interfaces = node.ranges().nth(1).unwrap_or_default();
            } else if node.is("arm,pl011") && board.serial == 0 {
                board.serial = first.start;
            } else if node.is("arm,psci-0.2") || node.is("arm,psci-1.0") {
                board.firmware = Some(if word(node.method) == b"smc" { Conduit::Smc } else { Conduit::Hvc });
            } else if node.is("brcm,bcm2835-pm-wdt") {
                board.watchdog = first.start;
            } else if node.is("arm,armv8-timer") {
                board.timer = node.interrupt(2).unwrap_or_default();
            } else if node.is("arm,armv8-pmuv3") {
                board.counters = in_a_row(node);
            }
        })?;
        let starter = match model {
            BoardModel::Virt => (board.firmware.is_some(), "PSCI"),
            BoardModel::RaspberryPi4 => (board.watchdog != 0, "watchdog"),
        };
        Parts::demand(&[
            (!board.interfaces.is_empty(), version),
            (board.serial != 0, "PL011"),
            (board.timer != 0, "generic timer"),
            starter,
        ])?;
        let driven = [board.distributor, board.interfaces.end - 1, board.serial, board.watchdog];
        match driven.into_iter().find(|&at| at != 0 && !mapped.contains(&at)) {
            Some(at) => Err(PartsError::Device(at, mapped)),
            None => Ok(board),
        }
    }
}

/// The interrupts of a node, as far as their numbers follow each other.
fn in_a_row(node: &Place<'_, '_>) -> Range<u32> {
    let first = node.interrupt(0).unwrap_or_default();
    let follows =
        |index: &u32| node.interrupt(*index as usize).is_some_and(|it| first.checked_add(*index) == Some(it));
    first..first.saturating_add((0..).take_while(follows).count() as u32)
}
