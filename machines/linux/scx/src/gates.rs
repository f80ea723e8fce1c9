//! The scheduler with gates, attached.

use crate::error::{Ejected, ScxError};
use crate::loaded::{Loaded, told};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use solo_guard::occupier::Gate;
use solo_model::CoreId;
use std::io;

/// `bpf/gate.bpf.c`, compiled.
static SCHEDULER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.bpf.o"));

/// A scheduler with a gate before each CPU, all open at first; it schedules everybody but real-time threads until this value is
/// dropped.
#[derive(Debug)]
pub struct Gates {
    loaded: Loaded,
    closed: MapHandle,
}

impl Gates {
    /// Loads the scheduler and lets it schedule this machine.
    ///
    /// # Errors
    /// See [`ScxError`]; then the machine is scheduled as before.
    pub fn attach() -> Result<Self, ScxError> {
        let loaded = Loaded::attach(("gate", SCHEDULER), |_| Ok(()))?;
        Ok(Self { closed: loaded.map("closed")?, loaded })
    }

    /// Why the kernel has put its own scheduler back; `None` while it has not.
    pub fn ejected(&self) -> Option<Ejected> {
        self.loaded.ejected()
    }

    fn set(&self, core: CoreId, closed: u32) -> io::Result<()> {
        let key = u32::from(core.0).to_ne_bytes();
        self.closed.update(&key, &closed.to_ne_bytes(), MapFlags::ANY).map_err(|error| told(&error))
    }
}

impl Gate for Gates {
    fn close(&self, core: CoreId) -> io::Result<()> {
        self.set(core, 1)
    }

    fn open(&self, core: CoreId) -> io::Result<()> {
        self.set(core, 0)
    }
}
