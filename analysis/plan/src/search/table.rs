//! Windows of partitions and slots of devices, found together by hierarchically ordered scheduling (HOS; SCE 2.4 and 3.1, step 4).
//!
//! ```text
//!   physical input ─▶ slot of the input ─▶ window of the partition ─▶ slot of the output ─▶ physical output
//!      hardware          I/O core               its core                   I/O core           hardware
//! ```
//!
//! All of it is strictly periodic with the devices' period, each after the one before it and within a period from the first to the last.
//! Jobs are released with the window and end in it, so that an output moves what the input before it has led to.

use super::choices::{DeviceChoice, Division, IoTable, WindowRule};
use super::io::{Exchange, Io, Side};
use super::lack::{IoLack, NoPlan};
use super::windows::{Dividing, Need, rules};
use alloc::string::String;
use alloc::vec::Vec;
use solo_ima::{Device, Offsets, Partition, Problem, Step, Transfer, hos};
use solo_model::{CoreId, Duration};

/// How often the search begins anew, and how much it compares.
const EFFORT: hos::Effort = hos::Effort { restarts: 500, work: 20_000_000 };

/// The slots of devices, and what is released with the windows between them.
#[derive(Default)]
pub(super) struct Slots {
    pub(super) devices: Vec<(usize, DeviceChoice)>,
    /// By task, when its first job is released.
    pub(super) releases: Vec<(usize, Duration)>,
    pub(super) table: Option<IoTable>,
}

/// Divides cores whose partitions exchange data with devices.
///
/// # Errors
/// What stood in the way of the nearest attempt.
pub(super) fn divide_together(io: &Io, cores: &[Dividing<'_>]) -> Result<(Vec<Division>, Slots), NoPlan> {
    let mut tried: Vec<(WindowRule, NoPlan)> = Vec::new();
    let mut seen: Vec<Vec<Vec<(usize, u64)>>> = Vec::new();
    for rule in rules() {
        let wanted: Vec<_> = cores.iter().map(|core| core.wanted(rule)).collect();
        if seen.contains(&wanted) {
            continue;
        }
        match (Together { io, cores }).with_periods(&wanted, rule) {
            Ok((divisions, mut slots)) => {
                slots.table = slots.table.map(|table| IoTable { tried, ..table });
                return Ok((divisions, slots));
            }
            Err(lack) => tried.push((rule, lack)),
        }
        seen.push(wanted);
    }
    let nearest = tried.into_iter().map(|(_, lack)| lack).min_by_key(NoPlan::distance);
    Err(nearest.unwrap_or(NoPlan::Rounds))
}

struct Together<'a> {
    io: &'a Io,
    cores: &'a [Dividing<'a>],
}

impl Together<'_> {
    fn with_periods(
        &self,
        wanted: &[Vec<(usize, u64)>],
        rule: WindowRule,
    ) -> Result<(Vec<Division>, Slots), NoPlan> {
        let needs = self.cores.iter().zip(wanted).map(|(core, wanted)| core.needs(wanted));
        let needs = needs.collect::<Result<Vec<_>, _>>()?;
        let lengths = self.cores.iter().zip(&needs);
        let lengths =
            lengths.map(|(core, needs)| core.cycle_length(needs).ok_or_else(|| core.too_much(needs)));
        let lengths = lengths.collect::<Result<Vec<_>, _>>()?;
        let (offsets, restarts) = self.solved(&needs)?;
        let mut rest = offsets.as_slice();
        let (mut divisions, mut slots) = (Vec::new(), Slots::default());
        for ((core, needs), length) in self.cores.iter().zip(&needs).zip(lengths) {
            let (own, others) = rest.split_at(needs.len().min(rest.len()));
            rest = others;
            let of = |(need, offsets): (&Need, &Offsets)| {
                let (need, begin) = (*need, offsets.begin(Step::Processing).get() % need.period);
                (0..length / need.period).map(move |at| {
                    let begin = begin + at * need.period;
                    (begin, begin + need.length, need.home)
                })
            };
            let windows = needs.iter().zip(own).flat_map(of).collect();
            divisions.push(core.division(needs, windows, length, rule)?);
            for (need, offsets) in needs.iter().zip(own) {
                let Some(exchange) = self.io.of_home(need.home) else { continue };
                self.take(exchange, offsets, &mut slots);
                let begin = offsets.begin(Step::Processing);
                slots.releases.extend(core.released(need.home).map(|task| (task, begin)));
            }
        }
        slots.devices.sort_by_key(|(device, _)| *device);
        slots.table = Some(IoTable { core: self.io.core, restarts, tried: Vec::new() });
        Ok((divisions, slots))
    }

    /// Offsets for all windows, core by core, and how often the search began anew.
    fn solved(&self, needs: &[Vec<Need>]) -> Result<(Vec<Offsets>, u64), NoPlan> {
        let (mut partitions, mut names): (Vec<Partition>, Vec<String>) = (Vec::new(), Vec::new());
        for (core, needs) in self.cores.iter().zip(needs) {
            partitions.extend(needs.iter().map(|need| self.partition(core.core, need)));
            names.extend(needs.iter().map(|need| core.name(need.home)));
        }
        // Slots that are written, each with a core of its own to compute on: they only take the I/O core.
        for (at, written) in self.io.written.iter().enumerate() {
            let transfer =
                Transfer { device: Device(u16::MAX), physical: Duration::ZERO, transfer: written.slot };
            let own = CoreId(u16::MAX - at as u16);
            let mut partition = Partition::new(own, written.period, written.slot);
            partition.latency = written.period.saturating_add(written.period);
            partition.input = Some(transfer);
            partition.fixed[Step::DeviceInput as usize] = Some(modulo(written.offset, written.period));
            partitions.push(partition);
            names.push(String::from("a written slot"));
        }
        let problem = Problem::new(partitions).map_err(|_| NoPlan::Io(IoLack::TooFine))?.unbroken();
        if let Some(&why) = problem.impossible().first() {
            return Err(NoPlan::Io(IoLack::Never {
                why,
                partitions: names,
                hardware: self.io.hardware.clone(),
            }));
        }
        let seed = self.cores.first().map_or(0, Dividing::seed);
        match hos::solve(&problem, seed, EFFORT) {
            hos::HosAnswer::Solved { offsets, restarts, .. } => Ok((offsets, restarts)),
            hos::HosAnswer::GivenUp { stuck, restarts } => {
                let (partition, step, times) = match stuck.first() {
                    Some((leg, times)) => {
                        (names.get(leg.partition).cloned().unwrap_or_default(), leg.step, *times)
                    }
                    None => (String::new(), Step::Processing, 0),
                };
                Err(NoPlan::Io(IoLack::NoPlace { partition, step, times, restarts }))
            }
        }
    }

    /// A window, and what its partition exchanges.
    fn partition(&self, core: CoreId, need: &Need) -> Partition {
        let period = Duration::new(need.period);
        let mut partition = Partition::new(core, period, Duration::new(need.length));
        let Some(exchange) = self.io.of_home(need.home) else { return partition };
        let transfer = |side: Side| Transfer {
            device: Device(side.hardware as u16),
            physical: side.physical,
            transfer: side.slot,
        };
        (partition.input, partition.output) = (exchange.input.map(transfer), exchange.output.map(transfer));
        let sides = [
            (exchange.input, Step::DeviceInput, Step::PhysicalInput),
            (exchange.output, Step::DeviceOutput, Step::PhysicalOutput),
        ];
        for (side, slot, physical) in sides {
            let Some(side) = side else { continue };
            let fixed = |time: Option<Duration>| time.map(|time| modulo(time, period));
            partition.fixed[slot as usize] = fixed(side.offset);
            partition.fixed[physical as usize] = fixed(side.physical_offset);
        }
        partition
    }

    /// The slots of a partition's devices, but for those that are written.
    fn take(&self, exchange: &Exchange, offsets: &Offsets, slots: &mut Slots) {
        let sides = [
            (exchange.input, Step::DeviceInput, Step::PhysicalInput),
            (exchange.output, Step::DeviceOutput, Step::PhysicalOutput),
        ];
        for (side, slot, physical) in sides {
            let Some(side) = side else { continue };
            let choice = DeviceChoice {
                name: self.io.devices[side.device].clone(),
                core: self.io.core,
                offset: side.offset.unwrap_or(offsets.begin(slot)),
                physical_offset: side
                    .physical_offset
                    .or_else(|| (!side.physical.is_zero()).then(|| offsets.begin(physical))),
            };
            slots.devices.push((side.device, choice));
        }
    }
}

fn modulo(time: Duration, period: Duration) -> Duration {
    Duration::new(time.get() % period.get().max(1))
}
