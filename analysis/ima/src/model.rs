//! Partitions, what they transfer, and the check that makes a problem of them.

use crate::piece::{Piece, gcd};
use solo_model::CoreId;
use solo_model::units::Duration;

/// A device that partitions read from or write to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Device(pub u16);

/// One side of what a partition has to do with the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Which device.
    pub device: Device,
    /// How long the device is busy with the world: a camera with taking its picture. Zero where nothing is to be waited for.
    pub physical: Duration,
    /// How long the I/O core is busy with moving what the device holds. Above zero.
    pub transfer: Duration,
}

/// What runs once a period at a constant offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The core that it computes on; the I/O core is none of these.
    pub core: CoreId,
    /// From one begin to the next.
    pub period: Duration,
    /// How long it has its core, without interruption.
    pub processing: Duration,
    /// What it reads before.
    pub input: Option<Transfer>,
    /// What it writes after.
    pub output: Option<Transfer>,
    /// From the begin of its first piece to the end of its last one, at most. [`Partition::new`] sets the period.
    pub latency: Duration,
    /// When steps have to begin, counted from the begin of the table, modulo the period: below it. In the order of
    /// [`Step::ALL`]; `None` for those that a solver may place.
    pub fixed: [Option<Duration>; 5],
}

impl Partition {
    /// A partition that reads and writes nothing, and has its period to do it.
    pub const fn new(core: CoreId, period: Duration, processing: Duration) -> Self {
        Self { core, period, processing, input: None, output: None, latency: period, fixed: [None; 5] }
    }

    /// How long its pieces are together.
    pub fn busy(&self) -> u128 {
        Step::ALL.iter().map(|&step| u128::from(self.duration(step).get())).sum()
    }

    /// How long one step takes; zero where there is none.
    pub fn duration(&self, step: Step) -> Duration {
        let none = Duration::new(0);
        match step {
            Step::PhysicalInput => self.input.map_or(none, |input| input.physical),
            Step::DeviceInput => self.input.map_or(none, |input| input.transfer),
            Step::Processing => self.processing,
            Step::DeviceOutput => self.output.map_or(none, |output| output.transfer),
            Step::PhysicalOutput => self.output.map_or(none, |output| output.physical),
        }
    }
}

/// The five steps of an instance, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// The device takes from the world.
    PhysicalInput,
    /// The I/O core moves it to memory.
    DeviceInput,
    /// The partition computes.
    Processing,
    /// The I/O core moves the answer to a device.
    DeviceOutput,
    /// The device gives it to the world.
    PhysicalOutput,
}

impl Step {
    /// All, in their order.
    pub const ALL: [Self; 5] =
        [Self::PhysicalInput, Self::DeviceInput, Self::Processing, Self::DeviceOutput, Self::PhysicalOutput];
}

/// A step of a partition: what occupies a resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leg {
    /// Place of the partition in the problem.
    pub partition: usize,
    /// Which of its steps.
    pub step: Step,
}

/// Why partitions are no problem that can be solved or not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A duration that has to be above zero is not.
    #[error("partition {partition}: its {what} is zero")]
    Zero {
        /// Place of the partition.
        partition: usize,
        /// `period`, `processing`, `input.transfer` or `output.transfer`.
        what: &'static str,
    },
    /// A step is to begin later than a period after the begin of the table.
    #[error("partition {partition}: {step:?} at {begin} is not below the period of {period}")]
    Beyond {
        /// Place of the partition.
        partition: usize,
        /// Which step.
        step: Step,
        /// When it is to begin.
        begin: Duration,
        /// The partition's period.
        period: Duration,
    },
    /// A duration, counted in the greatest unit that all durations are multiples of, is above [`UNITS_MAX`].
    #[error("partition {partition}: {units} units of {unit} are too many, at most {UNITS_MAX}")]
    TooFine {
        /// Place of the partition.
        partition: usize,
        /// Its period or latency in units.
        units: u64,
        /// The greatest common divisor of all durations.
        unit: Duration,
    },
}

/// The longest period or latency, in units that all durations are multiples of: 2^40, eighteen minutes in nanoseconds.
pub const UNITS_MAX: u64 = 1 << 40;

/// Partitions whose numbers were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    partitions: Vec<Partition>,
    /// What all durations are multiples of.
    unit: u64,
    /// Processing never reaches beyond the end of its period's table.
    unbroken: bool,
}

impl Problem {
    /// Checks `partitions`.
    ///
    /// # Errors
    /// See [`Error`]. That a partition takes longer than it may, or that a resource is wanted too often, is no error but
    /// an answer: [`Problem::impossible`].
    pub fn new(partitions: Vec<Partition>) -> Result<Self, Error> {
        let mut unit = 0_u64;
        for (at, partition) in partitions.iter().enumerate() {
            above_zero(at, partition)?;
            within_period(at, partition)?;
            let steps = Step::ALL.map(|step| partition.duration(step).get());
            let fixed = partition.fixed.into_iter().flatten().map(Duration::get);
            let others = [partition.period.get(), partition.latency.get()];
            unit = steps.into_iter().chain(others).chain(fixed).fold(unit, gcd);
        }
        let unit = unit.max(1);
        for (at, partition) in partitions.iter().enumerate() {
            let steps = Step::ALL.map(|step| partition.duration(step));
            let longest = steps.into_iter().fold(partition.period.max(partition.latency), Duration::max);
            let units = longest.get() / unit;
            if units > UNITS_MAX {
                return Err(Error::TooFine { partition: at, units, unit: Duration::new(unit) });
            }
        }
        Ok(Self { partitions, unit, unbroken: false })
    }

    /// The same where no processing goes on beyond a multiple of its period: then none is cut in two by the end of its core's
    /// table, which is as long as periods have in common.
    #[must_use]
    pub fn unbroken(self) -> Self {
        Self { unbroken: true, ..self }
    }

    /// The partitions, in the order that was given.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// What all durations are multiples of. Offsets between its multiples gain nothing: those of a solution, rounded
    /// down to a multiple, are a solution.
    pub fn unit(&self) -> Duration {
        Duration::new(self.unit)
    }

    /// A duration in units.
    pub(crate) fn units(&self, duration: Duration) -> i64 {
        // At most UNITS_MAX, as `new` has seen.
        (duration.get() / self.unit).cast_signed()
    }

    /// Units as a duration. None is below zero where this is called.
    pub(crate) fn duration(&self, units: i64) -> Duration {
        Duration::new(units.unsigned_abs().saturating_mul(self.unit))
    }

    /// A step's length in units.
    pub(crate) fn length(&self, leg: Leg) -> i64 {
        self.partitions.get(leg.partition).map_or(0, |partition| self.units(partition.duration(leg.step)))
    }

    /// When a step has to begin, modulo its period, in units.
    pub(crate) fn fixed(&self, leg: Leg) -> Option<i64> {
        let fixed = self.partitions.get(leg.partition)?.fixed.get(leg.step as usize)?;
        fixed.map(|begin| self.units(begin))
    }

    /// What a step must not lie across: a moment of no length.
    pub(crate) fn seam(&self, leg: Leg) -> Option<Piece> {
        let period = self.units(self.partitions.get(leg.partition)?.period);
        (self.unbroken && leg.step == Step::Processing).then_some(Piece { offset: 0, length: 0, period })
    }

    /// All steps that take time, partition by partition.
    pub(crate) fn legs(&self) -> impl Iterator<Item = Leg> {
        let legs =
            (0..self.partitions.len()).flat_map(|partition| Step::ALL.map(|step| Leg { partition, step }));
        legs.filter(|&leg| self.length(leg) > 0)
    }
}

fn above_zero(partition: usize, of: &Partition) -> Result<(), Error> {
    let transfers = [(of.input, "input.transfer"), (of.output, "output.transfer")];
    let transfers = transfers.into_iter().filter_map(|(transfer, what)| Some((transfer?.transfer, what)));
    let all = [(of.period, "period"), (of.processing, "processing")].into_iter().chain(transfers);
    for (duration, what) in all {
        if duration.is_zero() {
            return Err(Error::Zero { partition, what });
        }
    }
    Ok(())
}

fn within_period(partition: usize, of: &Partition) -> Result<(), Error> {
    let period = of.period;
    for (step, begin) in Step::ALL.into_iter().zip(of.fixed) {
        if let Some(begin) = begin.filter(|begin| *begin >= period) {
            return Err(Error::Beyond { partition, step, begin, period });
        }
    }
    Ok(())
}
