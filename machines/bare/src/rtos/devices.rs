//! The table of an I/O core: it starts each transfer when its slot begins, and looks whether it is done.
//!
//! ```text
//!   slot begins ──▶ frames, as many as the device's own side and its reservation allow ──▶ look ──▶ look: all moved
//!        │           a look each 20 us, with the core's timer; nothing interrupts          slot over: the rest is not moved
//!        │                                                                    all moved: the core of the task that it releases is asked
//!        └─ a device of the same core is still in its slot: told
//! ```
//!
//! The simulated machine does the same line by line (`solo-sim`, devices). Here a device is a wire of its own between two network devices
//! ([`crate::wire`]).

use super::cores::Signal;
use super::port::Port;
use crate::paging::PAGE;
use crate::queue::Piece;
use crate::window::translate;
use crate::wire::{self, PIECES, Wire};
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};
use solo_kernel::Arrival;
use solo_model::device::Pace;
use solo_model::record::TransferRecord;
use solo_model::{Bytes, CoreId, CoreSet, Device, DeviceId, Duration, Experiment, Instant, TaskId};

/// From one look at a transfer to the next.
const LOOK: Duration = Duration::from_micros(20);

/// Interrupts that wait for their cores, in all.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// As many wait at most for each device; the line of a device that interrupts more often stays as it is.
const MOST_WAITING: usize = 16;

/// The device at the end of a wire, and where it is in its slots.
#[derive(Debug)]
pub struct Engine {
    id: DeviceId,
    core: CoreId,
    wire: Wire,
    pace: Pace,
    /// The pages of its memory, as devices find them.
    pages: Vec<u64>,
    moves: u64,
    period: Duration,
    slot: Duration,
    releases: Option<(CoreId, TaskId)>,
    /// When its next slot begins, and when its last one is over.
    begins: Instant,
    in_slot_until: Instant,
    transfer: Option<Transfer>,
    /// When somebody has to look at it.
    next: Instant,
}

/// A transfer in its slot.
#[derive(Debug)]
struct Transfer {
    began: Instant,
    sent: u64,
    moved: u64,
    overlaps: Option<DeviceId>,
}

/// What an interrupt is for.
pub type Interrupted = (CoreId, Arrival);

/// The engines of the devices that cores of `own` start. `buffers`: where each buffer begins; `released`: the core of a task's timers.
///
/// # Errors
/// What the machine lacks, in words.
#[inline(never)] // once, not for each criterion
pub fn engines<P: Port>(
    experiment: &Experiment,
    own: CoreSet,
    buffers: &[u64],
    released: &dyn Fn(TaskId) -> Option<CoreId>,
) -> Result<Vec<Engine>, String> {
    let mut engines = Vec::new();
    // SAFETY: the port's.
    let wires = unsafe { wire::find(&P::virtio()) };
    for (at, device) in experiment.devices.iter().enumerate() {
        let Some(core) = device.core.filter(|core| own.contains(*core)) else { continue };
        let lacks = |what: &str| alloc::format!("device {}: {what}", device.name);
        let ends = wires.get(at).ok_or_else(|| {
            lacks(&alloc::format!(
                "it is number {}, and the machine has network devices for {}",
                at + 1,
                wires.len()
            ))
        })?;
        let base = buffers.get(device.buffer.index()).copied().unwrap_or_default();
        let wire = Wire::new(*ends, device.writes(), translate::<P>);
        let pages = (0..device.moves.get().div_ceil(PAGE)).map(|page| translate::<P>(base + page * PAGE));
        let pages: Option<Vec<u64>> = pages.collect();
        let release = |task| released(task).map(|core| (core, task));
        engines.push(Engine {
            id: DeviceId(at as u16),
            core,
            wire: wire.ok_or_else(|| lacks("its network devices refuse to work"))?,
            pace: experiment.pace(device),
            pages: pages.filter(|_| base != 0).ok_or_else(|| lacks("no memory for its buffer"))?,
            moves: device.moves.get(),
            period: device.period,
            slot: device.slot,
            releases: device.releases.and_then(release),
            begins: Instant::ZERO + device.offset,
            in_slot_until: Instant::ZERO,
            transfer: None,
            next: Instant::ZERO + device.offset,
        });
    }
    Ok(engines)
}

/// When `core` has to look at any of `engines` next; the end of time where it starts none.
pub fn next(engines: &[Engine], core: CoreId) -> Instant {
    let own = engines.iter().filter(|engine| engine.core == core);
    own.map(|engine| engine.next).min().unwrap_or(Instant::MAX)
}

/// Lets each device of `core` whose time has come at `now` go on; tells of slots that are over, with the interrupt where all was moved.
#[inline(never)] // once, not for each criterion
pub fn serve(
    engines: &mut [Engine],
    core: CoreId,
    now: Instant,
    mut tell: impl FnMut(TransferRecord, Option<Interrupted>),
) {
    for at in 0..engines.len() {
        if engines[at].core != core || engines[at].next > now {
            continue;
        }
        let overlaps = still_in_slot(engines, at, now);
        let engine = &mut engines[at];
        if engine.transfer.is_none() {
            engine.begin(now, overlaps);
        }
        if let Some(record) = engine.go_on(now) {
            let all = engine.releases.filter(|_| record.left.is_zero());
            let arrival = |task| Arrival { device: record.device, task, raised: record.at };
            tell(record, all.map(|(core, task)| (core, arrival(task))));
        }
    }
}

/// Another device of the same core whose slot is not over.
fn still_in_slot(engines: &[Engine], at: usize, now: Instant) -> Option<DeviceId> {
    let own = &engines[at];
    let others = engines.iter().filter(|other| other.id != own.id && other.core == own.core);
    others.into_iter().find(|other| other.in_slot_until > now).map(|other| other.id)
}

/// Asks the core of a task to take an interrupt of a device.
#[inline(never)] // once, not for each criterion
pub fn raise<P: Port>((core, arrival): Interrupted) {
    let mut arrivals = P::shared().arrivals.lock();
    let same = arrivals.iter().filter(|(_, other)| other.device == arrival.device).count();
    if same < MOST_WAITING {
        arrivals.push((core, arrival));
        WAITING.store(arrivals.len(), Ordering::Release);
    }
    drop(arrivals);
    P::signal(core, Signal::Reschedule);
}

/// The oldest interrupt that waits for `core`. Where another one waits, the core is asked again.
#[inline]
pub fn take<P: Port>(core: CoreId) -> Option<Arrival> {
    if WAITING.load(Ordering::Acquire) == 0 { None } else { take_one::<P>(core) }
}

#[inline(never)]
fn take_one<P: Port>(core: CoreId) -> Option<Arrival> {
    let mut arrivals = P::shared().arrivals.lock();
    let at = arrivals.iter().position(|(to, _)| *to == core)?;
    let (_, arrival) = arrivals.remove(at);
    WAITING.store(arrivals.len(), Ordering::Release);
    if arrivals.iter().any(|(to, _)| *to == core) {
        P::signal(core, Signal::Reschedule);
    }
    Some(arrival)
}

/// Room for the interrupts of `devices`, none of which waits.
#[inline(never)] // once, not for each criterion
pub fn expect<P: Port>(devices: &[Device]) {
    let mut arrivals = P::shared().arrivals.lock();
    arrivals.clear();
    arrivals.reserve(devices.len() * MOST_WAITING);
    WAITING.store(0, Ordering::Release);
}

impl Engine {
    /// It touches no memory any more.
    pub fn quiet(&mut self) {
        self.wire.quiet();
    }

    /// A slot begins.
    fn begin(&mut self, now: Instant, overlaps: Option<DeviceId>) {
        self.in_slot_until = self.begins + self.slot;
        self.begins += self.period;
        self.transfer = Some(Transfer { began: now, sent: 0, moved: 0, overlaps });
    }

    /// A look at the transfer; the record where it is over.
    fn go_on(&mut self, now: Instant) -> Option<TransferRecord> {
        let transfer = self.transfer.as_mut()?;
        transfer.moved += self.wire.arrived();
        if transfer.moved >= self.moves || now >= self.in_slot_until {
            return self.end(now);
        }
        self.send(now);
        self.next = (now + LOOK).min(self.in_slot_until);
        None
    }

    /// Puts on the wire what the device's own side, its wait states and the queues allow by `now`.
    fn send(&mut self, now: Instant) {
        let Some(transfer) = &mut self.transfer else { return };
        let transactions = self.pace.within(now.since(transfer.began));
        let allowed = transactions.map_or(u64::MAX, |count| count.saturating_mul(self.pace.chunk.get()));
        let (allowed, before) = (allowed.min(self.moves), transfer.sent);
        while transfer.sent < allowed && self.wire.has_room() {
            let mut frame = [Piece { physical: 0, length: 0 }; PIECES];
            let (mut sent, mut count) = (transfer.sent, 0);
            while sent < allowed && count < PIECES {
                let within = sent % PAGE;
                let length = (PAGE - within).min(allowed - sent);
                let page = self.pages.get((sent / PAGE) as usize).copied().unwrap_or_default();
                frame[count] = Piece { physical: page + within, length: length as u32 };
                sent += length;
                count += 1;
            }
            if !self.wire.send(&frame[..count]) {
                break;
            }
            transfer.sent = sent;
        }
        if transfer.sent > before {
            self.wire.go();
        }
    }

    /// The transfer is over, done or not.
    fn end(&mut self, now: Instant) -> Option<TransferRecord> {
        let Transfer { began, moved, overlaps, .. } = self.transfer.take()?;
        if self.wire.is_busy() {
            // What is under way would come into the next slot.
            self.wire.begin_anew();
        }
        self.next = self.begins;
        let moved = moved.min(self.moves);
        Some(TransferRecord {
            at: now,
            since: began,
            device: self.id,
            moved: Bytes::new(moved),
            left: Bytes::new(self.moves - moved),
            // Nobody here sees what the devices ask of memory.
            reads: 0,
            writes: 0,
            overlaps,
        })
    }
}
