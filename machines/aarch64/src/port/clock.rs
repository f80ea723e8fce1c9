//! The generic timer: a counter that all cores share, and a comparison on each of them.

use crate::port::arch::{Arm64, registers};
use crate::{read_register, write_register};
use alloc::string::String;
use solo_bare::rtos::clock::{self, Clock};
use solo_model::Frequency;

impl Clock for Arm64 {
    /// The rate of the counter stands in its register. A promised instruction clock is tried.
    fn measure_clocks(instructions: bool) -> Result<(), String> {
        let rate = Frequency::new(read_register!("cntfrq_el0"));
        if rate.is_zero() {
            return Err(String::from("firmware has not said how fast the generic timer runs"));
        }
        if instructions {
            clock::try_promise::<Self>(rate)?;
        }
        clock::begin::<Self>(rate);
        Ok(())
    }

    #[inline(always)]
    fn interrupt_at(tick: u64) {
        // SAFETY: the timer makes interrupts, which are served.
        unsafe {
            write_register!("cntv_cval_el0", tick);
            write_register!("cntv_ctl_el0", 1);
        }
        registers::synchronize();
    }

    #[inline(always)]
    fn stop_timer() {
        // SAFETY: no interrupt comes any more.
        unsafe { write_register!("cntv_ctl_el0", 0) };
        registers::synchronize();
    }
}
