//! The processor, and what is bolted to it.

#[cfg_attr(solo_board = "raspberry-pi-4", path = "../raspberry_pi_4/firmware.rs")]
pub mod firmware;
#[cfg_attr(solo_board = "raspberry-pi-4", path = "../raspberry_pi_4/gic.rs")]
pub mod gic;
pub mod registers;
pub mod semihosting;
pub mod trap;

use solo_bare::rtos::Signal;

/// The interrupts between cores: those that software makes are the first ones.
pub const RESCHEDULE: u32 = Signal::Reschedule as u32;
pub const COUNTER: u32 = Signal::Counter as u32;
pub const REST: u32 = Signal::Rest as u32;
pub const STOP: u32 = Signal::Stop as u32;

/// This instruction set.
#[derive(Debug)]
pub struct Arm64;
