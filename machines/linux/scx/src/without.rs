//! No schedulers: the program was built without them.

use crate::error::{Ejected, ScxError};
use crate::told::Told;
use solo_guard::occupier::Gate;
use solo_model::{CoreId, CoreSet, TaskId};
use solo_threads::Plane;
use std::convert::Infallible;
use std::io;
use std::sync::mpsc::Receiver;

/// Gates that nobody has.
#[derive(Debug)]
pub struct Gates(Infallible);

impl Gates {
    /// Refuses.
    ///
    /// # Errors
    /// [`ScxError::NotBuilt`], always.
    pub fn attach() -> Result<Self, ScxError> {
        Err(ScxError::NotBuilt)
    }

    /// Why the kernel has put its own scheduler back.
    pub fn ejected(&self) -> Option<Ejected> {
        match self.0 {}
    }
}

impl Gate for Gates {
    fn close(&self, _: CoreId) -> io::Result<()> {
        match self.0 {}
    }

    fn open(&self, _: CoreId) -> io::Result<()> {
        match self.0 {}
    }
}

/// Ranks that nobody has.
#[derive(Debug)]
pub struct Ranks(Infallible);

impl Ranks {
    /// Refuses.
    ///
    /// # Errors
    /// [`ScxError::NotBuilt`], always.
    pub fn attach(_: &[CoreSet], _: &[usize]) -> Result<(Self, Receiver<Told>), ScxError> {
        Err(ScxError::NotBuilt)
    }

    /// Why the kernel has put its own scheduler back.
    pub fn ejected(&self) -> Option<Ejected> {
        match self.0 {}
    }
}

impl Plane for Ranks {
    fn enter(&self, _: TaskId, _: u32, _: u64) -> io::Result<()> {
        match self.0 {}
    }

    fn rank(&self, _: TaskId, _: u64) -> io::Result<()> {
        match self.0 {}
    }

    fn look(&self) {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_built_says_how_to_build_it() {
        let refused = Gates::attach().unwrap_err().to_string();
        assert!(refused.contains("--features sched-ext"), "{refused}");
        assert!(matches!(Ranks::attach(&[], &[]), Err(ScxError::NotBuilt)));
    }
}
