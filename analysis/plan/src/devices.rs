//! Devices that move data by themselves: whose they are, where in memory, and that slots of one core do not overlap.

use crate::objection::{DeviceFault, ReleaseFault};
use crate::place::TextRange;
use crate::request::{DeviceWish, IsolationWish, Mechanisms};
use crate::{Doubtful, Draft, Fault};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use solo_ima::Piece;
use solo_model::isolation::Regulation;
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::Buffer;
use solo_model::{BufferId, Bytes, CoreId, Device, Direction, Duration, TaskId};

/// After how many bytes a device waits where nobody says: a line of most caches.
const WAIT_EVERY: Bytes = Bytes::new(64);

impl Draft<'_> {
    /// The devices that are wished; those whose owner a variant leaves out are left out with it.
    pub(crate) fn devices(&mut self) {
        let request = self.request;
        let mut kept: Vec<(&DeviceWish, Device)> = Vec::new();
        let (mut released, mut astray) = (Vec::new(), false);
        for wish in &request.devices {
            let releases = self.released_by(wish);
            astray |= wish.releases.is_some() && releases.is_none();
            let owner = self.owner_of_device(wish);
            // Of what is wrong with a device its task is not told as well.
            released.extend(releases.filter(|_| owner.is_some() || self.is_whole()));
            if let Some(device) = owner.and_then(|owner| self.device(wish, owner)) {
                kept.push((wish, Device { releases, ..device }));
            }
        }
        self.released_by_nobody(&released, astray);
        for at in 0..kept.len() {
            let (later, earlier) = (&kept[at], &kept[..at]);
            if let Some((_, first)) = earlier.iter().find(|(_, first)| overlap(first, &later.1)) {
                let fault = DeviceFault::Overlap { first: first.clone(), second: later.1.clone() };
                self.refuse_device(later.0.offset.map_or(later.0.at, |offset| offset.at), fault);
            }
        }
        self.physical_steps(&kept);
        self.devices = kept.into_iter().map(|(_, device)| device).collect();
    }

    /// The task that owns a device: the first of a partition or of a pattern.
    fn owner_of_device(&mut self, wish: &DeviceWish) -> Option<TaskId> {
        let name = &wish.owner.value;
        let partitions = match &self.request.isolation {
            IsolationWish::By(wished) => wished.partitions.as_slice(),
            IsolationWish::Off => &[],
        };
        let partition = || partitions.iter().find(|partition| partition.name.value == *name);
        let of_partition = || self.tasks_named(&partition()?.tasks.first()?.value);
        let found = self.tasks_named(name).or_else(of_partition).map(|tasks| tasks.start);
        if found.is_none() && self.is_whole() {
            let mut known: Vec<String> = self.owners.iter().map(|o| o.wish.name.value.clone()).collect();
            known.extend(partitions.iter().map(|partition| partition.name.value.clone()));
            let fault = DeviceFault::NoOwner { device: wish.name.value.clone(), owner: name.clone(), known };
            self.refuse_device(wish.owner.at, fault);
        }
        found.map(TaskId)
    }

    /// The sporadic task that a device releases.
    fn released_by(&mut self, wish: &DeviceWish) -> Option<TaskId> {
        let wished = wish.releases.as_ref()?;
        let (device, task, at) = (wish.name.value.clone(), wished.value.clone(), wished.at);
        let Some(found) = self.tasks_named(&task) else {
            if self.is_whole() {
                let known = self.owners.iter().map(|owner| owner.wish.name.value.clone()).collect();
                self.refuse_device(at, DeviceFault::Release(ReleaseFault::NoTask { device, task, known }));
            }
            return None;
        };
        let copies = u64::from(found.end.saturating_sub(found.start));
        let first = self.tasks.get(found.start as usize)?;
        if !matches!(first.release, Release::Sporadic { .. }) {
            let task_at = self.wish_of(found.start).map_or(at, |wish| wish.at);
            self.refuse_device(at, DeviceFault::Release(ReleaseFault::NotSporadic { device, task, task_at }));
            return None;
        }
        if copies > 1 {
            self.refuse_device(at, DeviceFault::Release(ReleaseFault::Copies { device, task, copies }));
            return None;
        }
        Some(TaskId(found.start))
    }

    /// Sporadic tasks that are not among `released`: a scenario has none, and where a variant leaves their devices out, they are
    /// released as often as they may be. Nothing is said of them where a device releases a task that is none: that may be meant.
    fn released_by_nobody(&mut self, released: &[TaskId], astray: bool) {
        for at in 0..self.tasks.len() as u32 {
            let task = &mut self.tasks[at as usize];
            let Release::Sporadic { distance } = task.release else { continue };
            if released.contains(&TaskId(at)) {
                continue;
            }
            task.release = Release::Periodic { offset: Duration::ZERO, period: distance };
            let (task, place) = (task.name.clone(), self.wish_of(at).map(|wish| wish.at));
            if let (true, Some(place)) = (self.is_whole() && !astray, place) {
                self.refuse_device(place, DeviceFault::Release(ReleaseFault::Nobody { task }));
            }
        }
    }

    fn device(&mut self, wish: &DeviceWish, owner: TaskId) -> Option<Device> {
        let (period, name) = (wish.period.value, wish.name.value.clone());
        let slot = wish.slot.map_or(period, |slot| slot.value);
        if slot > period {
            self.refuse_device(
                wish.slot.map_or(wish.at, |slot| slot.at),
                DeviceFault::LongSlot { slot, period },
            );
            return None;
        }
        if let Some(core) = wish.core {
            self.keeps_free(core.value, core.at);
        }
        let buffer = match wish.buffer {
            Some(said) => {
                let size = self.buffers.get(said.value.index()).map_or(Bytes::ZERO, |buffer| buffer.size);
                if size < wish.moves.value {
                    self.refuse_device(
                        wish.moves.at,
                        DeviceFault::SmallBuffer { moves: wish.moves.value, size },
                    );
                    return None;
                }
                said.value
            }
            None => {
                let id = BufferId(self.buffers.len() as u32);
                self.buffers.push(Buffer { name: format!("{name} (device)"), size: wish.moves.value });
                id
            }
        };
        Some(Device {
            name,
            owner,
            releases: None,
            direction: wish.direction,
            moves: wish.moves.value,
            buffer,
            offset: wish.offset.map_or(Duration::ZERO, |offset| offset.value),
            period,
            slot,
            core: wish.core.map(|core| core.value),
            rate: wish.rate,
            wait_every: wish.wait_every.map_or(WAIT_EVERY, |every| every.value),
        })
    }

    /// What devices do with the world comes before an input and after an output, and a piece of hardware does one such thing at a time
    /// (SCE 2.4, Fig. 8).
    fn physical_steps(&mut self, kept: &[(&DeviceWish, Device)]) {
        let mut seen: Vec<(&DeviceWish, Piece)> = Vec::new();
        for (wish, device) in kept {
            let (Some(physical), Some(begin)) = (wish.physical, wish.physical_offset) else { continue };
            let (at, begin) = (begin.at, begin.value);
            let ends = begin.saturating_add(physical.value);
            if device.direction == Direction::Input && ends > device.offset && wish.offset.is_some() {
                self.refuse_device(at, DeviceFault::InputBefore { ends, slot: device.offset });
            }
            let slot = device.offset.saturating_add(device.slot);
            if device.direction == Direction::Output && begin < slot && wish.offset.is_some() {
                self.refuse_device(at, DeviceFault::OutputBefore { begins: begin, slot });
            }
            if physical.value > device.period {
                let (slot, period) = (physical.value, device.period);
                self.refuse_device(physical.at, DeviceFault::LongSlot { slot, period });
                continue;
            }
            let piece = piece(begin, physical.value, device.period);
            let same = |(other, known): &&(&DeviceWish, Piece)| {
                hardware(other) == hardware(wish) && known.meets(&piece)
            };
            if let Some((first, _)) = seen.iter().find(same) {
                let (first, second) = (first.name.value.clone(), wish.name.value.clone());
                let hardware = hardware(wish).into();
                self.refuse_device(at, DeviceFault::Busy { hardware, first, second });
            }
            seen.push((wish, piece));
        }
    }

    /// The core that starts devices does nothing else.
    fn keeps_free(&mut self, core: CoreId, at: TextRange) {
        let Some(policy) = &self.policy else { return };
        let bound = policy.scope == Scope::Partitioned || policy.criterion.facts().bound;
        let task = self.tasks.iter().find(|task| !bound || task.core == Some(core));
        if let Some(task) = task {
            let task = task.name.clone();
            self.refuse_device(at, DeviceFault::BusyCore { core, task, shared: !bound });
        }
    }

    /// What is reserved in the name of a device is reserved for one that is there.
    pub(crate) fn reserved_for_devices(&mut self, wished: &Mechanisms, regulation: &Regulation) {
        let request = self.request;
        let Some(wish) = wished.bandwidth.value() else { return };
        for master in &wish.dma {
            if !request.devices_in_part
                && !request.devices.iter().any(|device| device.name.value == master.value.name)
            {
                let known = request.devices.iter().map(|device| device.name.value.clone()).collect();
                self.refuse_device(
                    master.at,
                    DeviceFault::NoDevice { name: master.value.name.clone(), known },
                );
            }
        }
        for device in &request.devices {
            let reserved = regulation.reserved_for(&device.name.value).is_some();
            if !reserved && self.is_whole() {
                let name = device.name.value.clone();
                self.doubt(device.at, Doubtful::Uncontrolled { device: name });
            }
        }
    }

    /// What depends on isolation: that transfers fit into their slots, and into the caches' pages they write nothing.
    pub(crate) fn check_devices(&mut self) {
        let request = self.request;
        let Some(platform) = request.platform.value() else { return };
        let regulation = self.isolation.bandwidth.as_ref();
        let locked = self.isolation.lockdown.iter().flat_map(|lockdown| &lockdown.pages);
        let locked: Vec<BufferId> = locked.map(|page| page.buffer).collect();
        let mut found = Vec::new();
        for device in &self.devices {
            let wish = request.devices.iter().find(|wish| wish.name.value == device.name);
            let Some(wish) = wish else { continue };
            // What can't be moved in a slot even if memory takes no time is not begun.
            let limit = regulation.and_then(|regulation| regulation.reserved_for(&device.name));
            let least = device.pace(platform.line(), limit).least();
            if least > device.slot.picoseconds() {
                let needs = Duration::new(least.get().div_ceil(1000));
                let at = wish.slot.map_or(wish.moves.at, |slot| slot.at);
                found.push((at, DeviceFault::ShortSlot { needs, slot: device.slot }));
            }
            // What a device writes leaves the caches: pages of it can't be kept there.
            if device.writes() && locked.contains(&device.buffer) {
                found.push((wish.buffer.map_or(wish.at, |buffer| buffer.at), DeviceFault::LockedBuffer));
            }
        }
        found.into_iter().for_each(|(at, why)| self.refuse_device(at, why));
    }

    fn refuse_device(&mut self, at: TextRange, why: DeviceFault) {
        self.object(at, Fault::Device(why));
    }
}

/// Whether slots of the same core ever overlap (SCE 2.4).
fn overlap(one: &Device, other: &Device) -> bool {
    one.core.is_some() && one.core == other.core && slots(one).meets(&slots(other))
}

/// The slots of a device, in nanoseconds.
fn slots(device: &Device) -> Piece {
    piece(device.offset, device.slot, device.period)
}

fn piece(offset: Duration, length: Duration, period: Duration) -> Piece {
    let [offset, length, period] = [offset, length, period].map(|time| time.get().cast_signed());
    Piece { offset, length, period }
}

/// The piece of hardware that a device is.
pub(crate) fn hardware(wish: &DeviceWish) -> &str {
    wish.hardware.as_ref().map_or(&wish.name.value, |hardware| &hardware.value)
}
