//! The scheduler, attached.

use crate::error::{Ejected, ScxError};
use crate::ready::ready;
use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel, set_print,
};
use solo_guard::occupier::Gate;
use solo_model::CoreId;
use solo_perf::files::{Files, Host};
use std::io;

/// `bpf/gate.bpf.c`, compiled.
static SCHEDULER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.bpf.o"));
/// Gates that the scheduler has.
const GATES: usize = 1024;
/// The only entry of a map of one.
const ONLY: [u8; 4] = 0u32.to_ne_bytes();
/// Where in `struct ending` each word begins.
const OVER: usize = 0;
const KIND: usize = 4;
const REASON: usize = 8;
const MESSAGE: usize = REASON + 64;

/// A scheduler with a gate before each CPU, all open at first; it schedules everybody but real-time threads until this value is
/// dropped.
#[derive(Debug)]
pub struct Gates {
    /// Detaches when it is dropped; the object's file descriptors come after it.
    _link: Link,
    closed: MapHandle,
    ending: MapHandle,
    _object: Object,
}

impl Gates {
    /// Loads the scheduler and lets it schedule this machine.
    ///
    /// # Errors
    /// See [`ScxError`]; then the machine is scheduled as before.
    pub fn attach() -> Result<Self, ScxError> {
        let files = Host::new();
        ready(&files)?;
        let cpus = possible_cpus(&files);
        if cpus > GATES {
            return Err(ScxError::Cpus { cpus, most: GATES });
        }
        // What the library has to say goes to standard error, where nobody expects it; its errors are told below.
        set_print(Some((PrintLevel::Warn, |_, _| {})));
        let mut built = ObjectBuilder::default().open_memory(SCHEDULER).map_err(refused("reading it"))?;
        hear_of_all(&mut built, &files).map_err(refused("preparing it"))?;
        let mut object = built.load().map_err(refused("loading it"))?;
        let settings = [(cpus as u32).to_ne_bytes(), std::process::id().to_ne_bytes()].concat();
        let named = |object: &Object, name: &str| {
            let map = object.maps().find(|map| map.name() == name);
            map.ok_or_else(|| missing(name)).and_then(|map| MapHandle::try_from(&map))
        };
        let prepared = named(&object, "settings").and_then(|map| map.update(&ONLY, &settings, MapFlags::ANY));
        prepared.map_err(refused("preparing it"))?;
        let closed = named(&object, "closed").map_err(refused("preparing it"))?;
        let ending = named(&object, "ending").map_err(refused("preparing it"))?;
        let gate = object.maps_mut().find(|map| map.name() == "gate").ok_or_else(|| missing("gate"));
        let link = gate.and_then(|mut gate| gate.attach_struct_ops()).map_err(refused("attaching it"))?;
        Ok(Self { _link: link, closed, ending, _object: object })
    }

    /// Why the kernel has put its own scheduler back; `None` while it has not.
    pub fn ejected(&self) -> Option<Ejected> {
        let bytes = self.ending.lookup(&ONLY, MapFlags::ANY).ok()??;
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        (word(OVER)? != 0).then_some(())?;
        let (reason, message) = (text(bytes.get(REASON..MESSAGE)?), text(bytes.get(MESSAGE..)?));
        Some(Ejected { kind: word(KIND)?, reason, message })
    }

    fn set(&self, core: CoreId, closed: u32) -> io::Result<()> {
        let key = u32::from(core.0).to_ne_bytes();
        self.closed
            .update(&key, &closed.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| io::Error::other(error.to_string()))
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

/// Kernels from 6.15 on keep threads whose migration is disabled where they are, unless a scheduler says that it wants to hear of
/// them. Whoever is interrupted is such a thread while the program runs that puts it back into a queue.
fn hear_of_all(built: &mut OpenObject, files: &dyn Files) -> libbpf_rs::Result<()> {
    const ALL_TOLD: &[u8] = b"SCX_OPS_ENQ_MIGRATION_DISABLED\0";
    const BIT: u8 = 1 << 4;
    let names = files.bytes("/sys/kernel/btf/vmlinux").unwrap_or_default();
    if names.windows(ALL_TOLD.len()).any(|name| name == ALL_TOLD) {
        let mut gate = built.maps_mut().find(|map| map.name() == "gate");
        let flags = gate.as_mut().and_then(|gate| gate.initial_value_mut()?.first_mut());
        *flags.ok_or_else(|| missing("gate"))? |= BIT;
    }
    Ok(())
}

/// One above the highest CPU that there may be.
fn possible_cpus(files: &dyn Files) -> usize {
    let text = files.text("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map_or(1, |last| last + 1)
}

fn missing(name: &str) -> libbpf_rs::Error {
    libbpf_rs::Error::from(io::Error::new(io::ErrorKind::NotFound, format!("it has no `{name}`")))
}

fn refused(step: &'static str) -> impl Fn(libbpf_rs::Error) -> ScxError {
    move |error| ScxError::Refused {
        step,
        said: format!("{error:#}"),
        wants_rights: error.kind() == ErrorKind::PermissionDenied,
    }
}
