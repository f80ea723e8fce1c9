//! The scheduler with ranks, attached.

use crate::error::{Ejected, ScxError};
use crate::loaded::{Loaded, map, refused, told};
use crate::told::Told;
use libbpf_rs::{MapCore, MapFlags, MapHandle, RingBuffer, RingBufferBuilder};
use solo_model::{CoreSet, TaskId};
use solo_threads::Plane;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};

/// `bpf/ranks.bpf.c`, compiled.
static SCHEDULER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ranks.bpf.o"));
/// Threads with ranks, and CPUs of domains, have numbers below these.
const SEATS: usize = 64;
const POSTS: usize = 64;
/// The domain of a CPU that belongs to none.
const NOBODY: u32 = u32::MAX;

/// A scheduler of threads with ranks: of those of a domain the lowest ranks run. Everybody else but real-time threads has what they leave,
/// until this value is dropped.
pub struct Ranks {
    wishes: MapHandle,
    seats: MapHandle,
    /// The domain of each task.
    domains: Vec<u32>,
    ring: Mutex<RingBuffer<'static>>,
    loaded: Loaded,
}

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranks")
            .field("loaded", &self.loaded)
            .field("domains", &self.domains)
            .finish_non_exhaustive()
    }
}

impl Ranks {
    /// Loads the scheduler with these domains of CPUs and the domain of each task, and lets it schedule this machine. What it tells comes
    /// out of the other value, as long as somebody [looks](Plane::look) and until this one is dropped.
    ///
    /// # Errors
    /// See [`ScxError`]; then the machine is scheduled as before.
    pub fn attach(domains: &[CoreSet], of_task: &[usize]) -> Result<(Self, Receiver<Told>), ScxError> {
        let highest =
            domains.iter().flat_map(|cpus| cpus.iter()).map(|cpu| cpu.index() + 1).max().unwrap_or(0);
        if highest > POSTS {
            return Err(ScxError::Cpus { cpus: highest, most: POSTS });
        }
        if of_task.len() > SEATS {
            return Err(ScxError::Threads { threads: of_task.len(), most: SEATS });
        }
        let loaded = Loaded::attach(("ranks", SCHEDULER), |object| {
            let own = map(object, "domains")?;
            for cpu in 0..POSTS as u32 {
                let has = |cpus: &CoreSet| cpus.iter().any(|own| u32::from(own.0) == cpu);
                let domain = domains.iter().position(has).map_or(NOBODY, |domain| domain as u32);
                own.update(&cpu.to_ne_bytes(), &domain.to_ne_bytes(), MapFlags::ANY)?;
            }
            Ok(())
        })?;
        let (send, receive) = channel();
        let ring = loaded.map("told")?;
        let mut builder = RingBufferBuilder::new();
        let hear = move |bytes: &[u8]| {
            // Nobody hears it where the value is gone.
            let _ = Told::read(bytes).map(|told| send.send(told));
            0
        };
        builder.add(&ring, hear).map_err(refused("preparing it"))?;
        let ring = builder.build().map_err(refused("preparing it"))?;
        let own = Self {
            wishes: loaded.map("wishes")?,
            seats: loaded.map("seat_of")?,
            domains: of_task.iter().map(|domain| *domain as u32).collect(),
            ring: Mutex::new(ring),
            loaded,
        };
        Ok((own, receive))
    }

    /// Why the kernel has put its own scheduler back; `None` while it has not.
    pub fn ejected(&self) -> Option<Ejected> {
        self.loaded.ejected()
    }
}

impl Plane for Ranks {
    fn enter(&self, task: TaskId, thread: u32, key: u64) -> io::Result<()> {
        self.rank(task, key)?;
        let number = thread.cast_signed().to_ne_bytes();
        self.seats.update(&number, &task.0.to_ne_bytes(), MapFlags::ANY).map_err(|error| told(&error))
    }

    fn rank(&self, task: TaskId, key: u64) -> io::Result<()> {
        let domain = self.domains.get(task.index()).copied().unwrap_or(NOBODY);
        let wish = [key.to_ne_bytes(), u64::from(domain).to_ne_bytes()].concat();
        self.wishes.update(&task.0.to_ne_bytes(), &wish, MapFlags::ANY).map_err(|error| told(&error))
    }

    fn look(&self) {
        // What can't be read is missed by its number.
        let _ = self.ring.lock().unwrap_or_else(PoisonError::into_inner).consume();
    }
}
