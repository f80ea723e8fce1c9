//! Those of processors on which no program is colored: nobody gets as far as to ask for them ([`crate::follow`]).

use crate::tracee::{Call, Tracee};
use std::convert::Infallible;
use std::io;

/// Registers that nobody has.
#[derive(Clone, Copy)]
pub(crate) struct Registers(Infallible);

impl Registers {
    pub(crate) fn read(_: Tracee) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "programs are colored on x86-64 only"))
    }

    pub(crate) fn write(self, _: Tracee) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn call(&self) -> Call {
        match self.0 {}
    }

    pub(crate) fn value(&self) -> i64 {
        match self.0 {}
    }

    pub(crate) fn is_sixty_four(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn at_call(self, _: u64, _: &Call) -> Self {
        match self.0 {}
    }

    pub(crate) fn interrupted(self) -> Self {
        match self.0 {}
    }
}
