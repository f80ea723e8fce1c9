//! A scheduler of this crate, loaded and attached.

use crate::error::{Ejected, ScxError};
use crate::ready::ready;
use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel, set_print,
};
use solo_perf::files::{Files, Host};
use std::io;

/// CPUs that a scheduler has queues for.
const CPUS: usize = 1024;
/// The only entry of a map of one.
pub(crate) const ONLY: [u8; 4] = 0u32.to_ne_bytes();
/// Where in `struct ending` each word begins.
const OVER: usize = 0;
const KIND: usize = 4;
const REASON: usize = 8;
const MESSAGE: usize = REASON + 64;

/// It schedules everybody but real-time threads until this value is dropped.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Detaches when it is dropped; the object's file descriptors come after it.
    _link: Link,
    ending: MapHandle,
    object: Object,
}

impl Loaded {
    /// Loads `scheduler`, whose operations are called `name`, lets `prepare` fill its maps, and attaches it.
    ///
    /// # Errors
    /// See [`ScxError`]; then the machine is scheduled as before.
    pub(crate) fn attach(
        (name, scheduler): (&str, &[u8]),
        prepare: impl FnOnce(&Object) -> libbpf_rs::Result<()>,
    ) -> Result<Self, ScxError> {
        let files = Host::new();
        ready(&files)?;
        let cpus = possible_cpus(&files);
        if cpus > CPUS {
            return Err(ScxError::Cpus { cpus, most: CPUS });
        }
        // What the library has to say goes to standard error, where nobody expects it; its errors are told below.
        set_print(Some((PrintLevel::Warn, |_, _| {})));
        let mut built = ObjectBuilder::default().open_memory(scheduler).map_err(refused("reading it"))?;
        hear_of_all(&mut built, name, &files).map_err(refused("preparing it"))?;
        let mut object = built.load().map_err(refused("loading it"))?;
        let settings = [(cpus as u32).to_ne_bytes(), std::process::id().to_ne_bytes()].concat();
        let prepared = map(&object, "settings").and_then(|map| map.update(&ONLY, &settings, MapFlags::ANY));
        prepared.and_then(|()| prepare(&object)).map_err(refused("preparing it"))?;
        let ending = map(&object, "ending").map_err(refused("preparing it"))?;
        let operations = object.maps_mut().find(|map| map.name() == name).ok_or_else(|| missing(name));
        let link = operations.and_then(|mut map| map.attach_struct_ops()).map_err(refused("attaching it"))?;
        Ok(Self { _link: link, ending, object })
    }

    /// One of its maps.
    ///
    /// # Errors
    /// Where it has none of this name.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, ScxError> {
        map(&self.object, name).map_err(refused("preparing it"))
    }

    /// Why the kernel has put its own scheduler back; `None` while it has not.
    pub(crate) fn ejected(&self) -> Option<Ejected> {
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
}

/// A map of a loaded object.
pub(crate) fn map(object: &Object, name: &str) -> libbpf_rs::Result<MapHandle> {
    let map = object.maps().find(|map| map.name() == name);
    map.ok_or_else(|| missing(name)).and_then(|map| MapHandle::try_from(&map))
}

/// What the library refused, as an error of the system.
pub(crate) fn told(error: &libbpf_rs::Error) -> io::Error {
    io::Error::other(error.to_string())
}

/// Kernels from 6.15 on keep threads whose migration is disabled where they are, unless a scheduler says that it wants to hear of
/// them. Whoever is interrupted is such a thread while the program runs that puts it back into a queue.
fn hear_of_all(built: &mut OpenObject, name: &str, files: &dyn Files) -> libbpf_rs::Result<()> {
    const ALL_TOLD: &[u8] = b"SCX_OPS_ENQ_MIGRATION_DISABLED\0";
    const BIT: u8 = 1 << 4;
    let names = files.bytes("/sys/kernel/btf/vmlinux").unwrap_or_default();
    if names.windows(ALL_TOLD.len()).any(|name| name == ALL_TOLD) {
        let mut operations = built.maps_mut().find(|map| map.name() == name);
        let flags = operations.as_mut().and_then(|map| map.initial_value_mut()?.first_mut());
        *flags.ok_or_else(|| missing(name))? |= BIT;
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

pub(crate) fn refused(step: &'static str) -> impl Fn(libbpf_rs::Error) -> ScxError {
    move |error| ScxError::Refused {
        step,
        said: format!("{error:#}"),
        wants_rights: error.kind() == ErrorKind::PermissionDenied,
    }
}
