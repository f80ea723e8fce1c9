//! What the functions of a program come to: entries into the kernel it is linked with, or into Linux.

#[cfg(all(target_os = "none", target_arch = "aarch64"))]
mod arm;
#[cfg(all(target_os = "none", target_arch = "x86_64"))]
mod intel;
#[cfg(target_os = "none")]
mod metal;
#[cfg(target_os = "none")]
pub use metal::*;

#[cfg(not(target_os = "none"))]
mod process;
#[cfg(not(target_os = "none"))]
pub use process::*;

/// Where events are counted and by what number, on the machine that is compiled for.
#[doc(hidden)]
pub trait Code: core::fmt::Debug {
    /// Each event has a counter of its own.
    const COUNTER: u8;
    /// On x86: event and mask. On Arm and Linux: the event.
    const EVENT: (u16, u8);
}

/// Makes the codes of a machine.
macro_rules! make_codes {
    ($($name:ident = $counter:literal, $event:literal, $mask:literal;)+) => {
        /// The events' codes here.
        pub(crate) mod codes { $(
            /// A code.
            #[derive(Debug)]
            pub struct $name;
            impl super::super::Code for $name {
                const COUNTER: u8 = $counter;
                const EVENT: (u16, u8) = ($event, $mask);
            }
        )+ }
    };
}
use make_codes;
