//! No gates: the program was built without the scheduler.

use crate::error::{Ejected, ScxError};
use solo_guard::occupier::Gate;
use solo_model::CoreId;
use std::convert::Infallible;
use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_built_says_how_to_build_it() {
        let refused = Gates::attach().unwrap_err().to_string();
        assert!(refused.contains("--features sched-ext"), "{refused}");
    }
}
