//! Partitions that exchange data with devices: what of them is open, and what no choice of cores mends (SCE 2.4).
//!
//! A `[[device]]` that a partition owns, with a `slot` and without an `offset`, is planned: its slots, and the windows of the partition
//! between its input and its output. All such devices are started by one core, on which no task runs.

use super::home::Home;
use super::lack::IoLack;
use crate::devices::hardware;
use crate::request::{DeviceWish, ReleaseWish, Request};
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::{CoreId, Direction, Duration, Experiment, TaskClass};

/// A partition and its devices.
pub(super) struct Exchange {
    /// Which of the partitions of the request.
    pub(super) home: usize,
    pub(super) period: Duration,
    pub(super) input: Option<Side>,
    pub(super) output: Option<Side>,
}

/// One device of a partition.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Which of the request.
    pub(super) device: usize,
    /// Which of [`Io::hardware`].
    pub(super) hardware: usize,
    pub(super) physical: Duration,
    pub(super) slot: Duration,
    /// What is written of the slots,
    pub(super) offset: Option<Duration>,
    /// and of the physical step.
    pub(super) physical_offset: Option<Duration>,
}

/// Slots that are written, of devices of nobody's windows.
pub(super) struct Written {
    pub(super) offset: Duration,
    pub(super) slot: Duration,
    pub(super) period: Duration,
}

/// All that is open of I/O.
pub(super) struct Io {
    /// The core that starts devices.
    pub(super) core: CoreId,
    pub(super) hardware: Vec<String>,
    /// The names of all devices of the request.
    pub(super) devices: Vec<String>,
    pub(super) exchanges: Vec<Exchange>,
    pub(super) written: Vec<Written>,
}

impl Io {
    pub(super) fn of_home(&self, home: usize) -> Option<&Exchange> {
        self.exchanges.iter().find(|exchange| exchange.home == home)
    }
}

/// True for a device whose slots are to be found, if a partition owns it.
fn is_open(device: &DeviceWish) -> bool {
    device.slot.is_some() && device.offset.is_none()
}

/// The partition that owns a device, itself or by one of its tasks.
fn owner(device: &DeviceWish, request: &Request, homes: &[Home], wish_of: &[usize]) -> Option<usize> {
    let name = &device.owner.value;
    let owns = |home: &Home| {
        home.name == *name || home.tasks.iter().any(|&task| request.tasks[wish_of[task]].name.value == *name)
    };
    homes.iter().position(owns)
}

/// Takes the cores of devices whose slots are open out of the request: where they begin and who starts them is decided together.
pub(super) fn open_cores(request: &mut Request, homes: &[Home], wish_of: &[usize]) -> Vec<Option<CoreId>> {
    let open: Vec<bool> = request
        .devices
        .iter()
        .map(|device| is_open(device) && owner(device, request, homes, wish_of).is_some())
        .collect();
    let take = |(device, open): (&mut DeviceWish, bool)| {
        if open { device.core.take().map(|core| core.value) } else { None }
    };
    request.devices.iter_mut().zip(open).map(take).collect()
}

/// What is open of a request's I/O; `None` where nothing is. `cores`: what was written of the cores of open devices; `held`: by task,
/// the core that it has to be on.
///
/// # Errors
/// What no choice mends.
pub(super) fn io(
    (request, homes, wish_of): (&Request, &[Home], &[usize]),
    probe: &Experiment,
    cores: &[Option<CoreId>],
    held: &[Option<CoreId>],
) -> Result<Option<Io>, IoLack> {
    let owners: Vec<Option<usize>> =
        request.devices.iter().map(|device| owner(device, request, homes, wish_of)).collect();
    let open = |home: usize| {
        let own = request.devices.iter().zip(&owners).filter(|(_, owner)| **owner == Some(home));
        own.map(|(device, _)| device).any(is_open)
    };
    let exchanging: Vec<usize> = (0..homes.len()).filter(|&home| open(home)).collect();
    if exchanging.is_empty() {
        return Ok(None);
    }
    let mut hardware_names: Vec<String> = Vec::new();
    let mut exchanges = Vec::new();
    for &home in &exchanging {
        let own: Vec<usize> = (0..owners.len())
            .filter(|&device| owners[device] == Some(home) && request.devices[device].slot.is_some())
            .collect();
        let exchange = exchange(request, home, &homes[home].name, &own, &mut hardware_names)?;
        suits(&exchange, &homes[home], (request, wish_of), probe)?;
        exchanges.push(exchange);
    }
    let said = cores.iter().flatten().copied().next();
    let platform = probe.platform.core_set();
    let free = |core: &CoreId| !held.contains(&Some(*core));
    let core = said.or_else(|| platform.iter().filter(free).last());
    let core = core.ok_or(IoLack::NoCore { cores: probe.platform.cores.len() })?;
    let of_others = request.devices.iter().zip(&owners).filter(|(device, owner)| {
        device.core.is_some_and(|own| own.value == core)
            && owner.is_none_or(|home| !exchanging.contains(&home))
    });
    let written = of_others.map(|(device, _)| Written {
        offset: device.offset.map_or(Duration::ZERO, |offset| offset.value),
        slot: device.slot.map_or(device.period.value, |slot| slot.value),
        period: device.period.value,
    });
    let (written, devices) =
        (written.collect(), request.devices.iter().map(|device| device.name.value.clone()));
    Ok(Some(Io { core, hardware: hardware_names, devices: devices.collect(), exchanges, written }))
}

/// A partition with these devices.
fn exchange(
    request: &Request,
    home: usize,
    name: &str,
    devices: &[usize],
    hardware_names: &mut Vec<String>,
) -> Result<Exchange, IoLack> {
    let mut sides: [Option<Side>; 2] = [None; 2];
    let mut periods = [Duration::ZERO; 2];
    for &device in devices {
        let wish = &request.devices[device];
        let place = usize::from(wish.direction == Direction::Output);
        if sides[place].is_some() {
            return Err(IoLack::TwoSides { partition: name.into(), direction: wish.direction });
        }
        let known = hardware_names.iter().position(|known| known == hardware(wish));
        let hardware = known.unwrap_or_else(|| {
            hardware_names.push(hardware(wish).into());
            hardware_names.len() - 1
        });
        periods[place] = wish.period.value;
        sides[place] = Some(Side {
            device,
            hardware,
            physical: wish.physical.map_or(Duration::ZERO, |physical| physical.value),
            slot: wish.slot.map_or(wish.period.value, |slot| slot.value),
            offset: wish.offset.map(|offset| offset.value),
            physical_offset: wish.physical_offset.map(|offset| offset.value),
        });
    }
    let [input, output] = sides;
    if input.is_some() && output.is_some() && periods[0] != periods[1] {
        return Err(IoLack::Periods { partition: name.into(), input: periods[0], output: periods[1] });
    }
    Ok(Exchange { home, period: periods[usize::from(input.is_none())], input, output })
}

/// Whether the tasks of a partition can be released with its window.
fn suits(
    exchange: &Exchange,
    home: &Home,
    (request, wish_of): (&Request, &[usize]),
    probe: &Experiment,
) -> Result<(), IoLack> {
    let partition = || home.name.clone();
    let asked = |task: &&usize| probe.tasks[**task].class != TaskClass::BestEffort;
    for &task in home.tasks.iter().filter(asked) {
        let (wish, name) = (&request.tasks[wish_of[task]], probe.tasks[task].name.clone());
        let Some(ReleaseWish::Periodic(period)) = wish.release else {
            return Err(IoLack::Released { task: name, partition: partition() });
        };
        if !wish.offset.is_nothing() {
            return Err(IoLack::Released { task: name, partition: partition() });
        }
        let (period, devices) = (period.value, exchange.period);
        if !period.get().is_multiple_of(devices.get().max(1)) {
            return Err(IoLack::TaskPeriod { task: name, partition: partition(), period, devices });
        }
    }
    match home.tasks.iter().any(|task| asked(&task)) {
        true => Ok(()),
        false => Err(IoLack::NoDeadline { partition: partition() }),
    }
}
