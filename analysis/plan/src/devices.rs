//! Devices that move data by themselves: whose they are, where in memory, and that slots of one core do not overlap.

use crate::objection::Astray;
use crate::place::TextRange;
use crate::request::{DeviceWish, IsolationWish, Mechanisms};
use crate::{Doubtful, Draft, Fault};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::isolation::{Lockdown, Regulation};
use solo_model::policy::Scope;
use solo_model::work::Buffer;
use solo_model::{BufferId, Bytes, CoreId, Device, Duration, TaskId};

/// After how many bytes a device waits where nobody says: a line of most caches.
const WAIT_EVERY: Bytes = Bytes::new(64);

impl Draft<'_> {
    /// The devices that are wished; those whose owner a variant leaves out are left out with it.
    pub(crate) fn devices(&mut self) {
        let request = self.request;
        let mut kept: Vec<(&DeviceWish, Device)> = Vec::new();
        for wish in &request.devices {
            let Some(owner) = self.owner_of_device(wish) else { continue };
            if let Some(device) = self.device(wish, owner) {
                kept.push((wish, device));
            }
        }
        for at in 0..kept.len() {
            let (later, earlier) = (&kept[at], &kept[..at]);
            if let Some((_, first)) = earlier.iter().find(|(_, first)| overlap(first, &later.1)) {
                let astray = Astray::Overlap { first: first.clone(), second: later.1.clone() };
                self.astray(later.0.offset_at, astray);
            }
        }
        self.devices = kept.into_iter().map(|(_, device)| device).collect();
    }

    /// The task that owns a device: the first of a partition or of a pattern.
    fn owner_of_device(&mut self, wish: &DeviceWish) -> Option<TaskId> {
        let name = &wish.owner.value;
        let task = self.tasks.iter().position(|task| task.name == *name).map(|at| at as u32);
        let pattern = || self.owners.iter().find(|owner| owner.wish.name.value == *name);
        let task = task.or_else(|| pattern().map(|owner| owner.tasks.start));
        let partitions = match &self.request.isolation {
            IsolationWish::By(wished) => wished.partitions.as_slice(),
            IsolationWish::Off => &[],
        };
        let partition = partitions.iter().find(|partition| partition.name.value == *name);
        let of_partition = || {
            let first = &partition?.tasks.first()?.value;
            let exact = self.tasks.iter().position(|task| task.name == *first).map(|at| at as u32);
            let owner = || self.owners.iter().find(|owner| owner.wish.name.value == *first);
            exact.or_else(|| owner().map(|owner| owner.tasks.start))
        };
        let found = task.or_else(of_partition);
        if found.is_none() && self.is_whole() {
            let mut known: Vec<String> = self.owners.iter().map(|o| o.wish.name.value.clone()).collect();
            known.extend(partitions.iter().map(|partition| partition.name.value.clone()));
            let astray = Astray::NoOwner { device: wish.name.value.clone(), owner: name.clone(), known };
            self.astray(wish.owner.at, astray);
        }
        found.map(TaskId)
    }

    fn device(&mut self, wish: &DeviceWish, owner: TaskId) -> Option<Device> {
        let (period, name) = (wish.period.value, wish.name.value.clone());
        let slot = wish.slot.map_or(period, |slot| slot.value);
        if slot > period {
            self.astray(wish.slot.map_or(wish.at, |slot| slot.at), Astray::LongSlot { slot, period });
            return None;
        }
        if let Some(core) = wish.core {
            self.keeps_free(core.value, core.at);
        }
        let buffer = match wish.buffer {
            Some(said) => {
                let size = self.buffers.get(said.value.index()).map_or(Bytes::ZERO, |buffer| buffer.size);
                if size < wish.moves.value {
                    self.astray(wish.moves.at, Astray::SmallBuffer { moves: wish.moves.value, size });
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
            direction: wish.direction,
            moves: wish.moves.value,
            buffer,
            offset: wish.offset,
            period,
            slot,
            core: wish.core.map(|core| core.value),
            rate: wish.rate,
            wait_every: wish.wait_every.map_or(WAIT_EVERY, |every| every.value),
        })
    }

    /// The core that starts devices does nothing else.
    fn keeps_free(&mut self, core: CoreId, at: TextRange) {
        let Some(policy) = &self.policy else { return };
        let bound = policy.scope == Scope::Partitioned || policy.criterion.facts().bound;
        let task = self.tasks.iter().find(|task| !bound || task.core == Some(core));
        if let Some(task) = task {
            let task = task.name.clone();
            self.astray(at, Astray::BusyCore { core, task, shared: !bound });
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
                self.astray(master.at, Astray::NoDevice { name: master.value.name.clone(), known });
            }
        }
        for device in &request.devices {
            let reserved = regulation.dma.iter().any(|master| master.name == device.name.value);
            if !reserved && self.is_whole() {
                let name = device.name.value.clone();
                self.doubt(device.at, Doubtful::Uncontrolled { device: name });
            }
        }
    }

    /// What can't be moved in a slot even if memory takes no time is not begun.
    pub(crate) fn fits_into_slots(&mut self, regulation: Option<&Regulation>) {
        let request = self.request;
        let Some(platform) = request.platform.value() else { return };
        for device in self.devices.clone() {
            let reserved = regulation.iter().flat_map(|regulation| &regulation.dma);
            let limit = reserved.into_iter().find(|master| master.name == device.name);
            let least = device.pace(platform.line(), limit.map(|master| master.rate)).least();
            let wish = request.devices.iter().find(|wish| wish.name.value == device.name);
            if let Some(wish) = wish.filter(|_| least > device.slot.picoseconds()) {
                let needs = Duration::new(least.get().div_ceil(1000));
                let at = wish.slot.map_or(wish.moves.at, |slot| slot.at);
                self.astray(at, Astray::ShortSlot { needs, slot: device.slot });
            }
        }
    }

    /// What a device writes leaves the caches: pages of it can't be kept there.
    pub(crate) fn writes_to_no_locked_page(&mut self, lockdown: Option<&Lockdown>) {
        let request = self.request;
        let locked = |device: &&Device| {
            let mut pages = lockdown.iter().flat_map(|lockdown| &lockdown.pages);
            device.writes() && pages.any(|page| page.buffer == device.buffer)
        };
        let found: Vec<String> =
            self.devices.iter().filter(locked).map(|device| device.name.clone()).collect();
        for wish in request.devices.iter().filter(|wish| found.contains(&wish.name.value)) {
            self.astray(wish.buffer.map_or(wish.at, |buffer| buffer.at), Astray::LockedBuffer);
        }
    }

    fn astray(&mut self, at: TextRange, why: Astray) {
        self.object(at, Fault::Device(why));
    }
}

/// Whether slots of the same core ever overlap: strictly periodic intervals meet unless they are apart modulo what their periods
/// have in common (SCE 2.4).
fn overlap(one: &Device, other: &Device) -> bool {
    if one.core.is_none() || one.core != other.core {
        return false;
    }
    let common = common_period(one.period, other.period);
    let (from, to) = (one.offset.get() % common, other.offset.get() % common);
    let behind = (to + common - from) % common;
    behind < one.slot.get() || behind.saturating_add(other.slot.get()) > common
}

/// The greatest length of which both are multiples, in nanoseconds; above zero.
pub fn common_period(one: Duration, other: Duration) -> u64 {
    let (mut one, mut other) = (one.get(), other.get());
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}
