//! A thread's registers: the system call at which it stands, and how it is made to carry out another one.

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use elsewhere::Registers;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::Registers;
