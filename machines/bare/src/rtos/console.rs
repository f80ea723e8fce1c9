//! Text for people, and frames for the host.

use super::port::{self, Port};
use crate::frame::ImageMessage;
use crate::serial;
use core::fmt::{self, Write};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicI64, Ordering};

/// The frame to damage, counted down to it; none where it is below zero.
static DAMAGE: AtomicI64 = AtomicI64::new(-1);

/// The port's line for text.
struct Line<P>(PhantomData<P>);

impl<P: port::Line> Write for Line<P> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(P::put);
        Ok(())
    }
}

/// Prints a line's worth of text, when no other core does.
pub fn print<P: Port>(text: fmt::Arguments<'_>) {
    let _console = P::shared().console.lock();
    print_at_once::<P>(text);
}

/// Prints text, whoever else does.
pub(super) fn print_at_once<P: port::Line>(text: fmt::Arguments<'_>) {
    // The line takes everything; a formatting error of a value is not worth a panic here.
    let _ = Line::<P>(PhantomData).write_fmt(text);
}

/// Lets the frame of this number, from 0, be damaged on its way: for tests of what the host makes of it.
pub(super) fn damage(frame: u64) {
    DAMAGE.store(i64::try_from(frame).unwrap_or(-1), Ordering::Relaxed);
}

/// Sends a frame to the host.
#[inline(never)] // once, not for each criterion
pub(super) fn send<P: Port>(frame: &ImageMessage) {
    let mut buffer = P::shared().frame.lock();
    buffer.clear();
    if let Err(error) = frame.append_to(&mut buffer) {
        print::<P>(format_args!("solo: a frame was not sent: {error}\n"));
        return;
    }
    if DAMAGE.load(Ordering::Relaxed) >= 0
        && DAMAGE.fetch_sub(1, Ordering::Relaxed) == 0
        && let Some(last) = buffer.last_mut()
    {
        *last ^= 1;
    }
    if !P::send(&buffer) {
        let _console = P::shared().console.lock();
        // The line takes everything.
        let _ = serial::write_line(&mut Line::<P>(PhantomData), &buffer);
    }
}

/// Prints a line on the console of a port.
#[macro_export]
macro_rules! say {
    ($port:ty, $($argument:tt)*) => {
        $crate::rtos::console::print::<$port>(format_args!("solo: {}\n", format_args!($($argument)*)))
    };
}
