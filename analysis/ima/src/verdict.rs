//! What offsets are worth, and what no offsets can give.

use crate::model::{Device, Leg, Partition, Problem, Step};
use crate::piece::{Piece, gcd};
use solo_model::CoreId;
use solo_model::units::Duration;
use std::collections::BTreeMap;

/// What can serve one piece at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Resource {
    /// A core that partitions compute on.
    Core(CoreId),
    /// The one core that makes all transfers.
    IoCore,
    /// A device.
    Device(Device),
}

/// When the steps of a partition's first instance begin, counted from the begin of the table; the others follow a
/// period later each. A step that the partition does not have begins where the one before it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offsets {
    begins: [Duration; 5],
}

impl Offsets {
    /// From the begins of the five steps, in their order.
    pub const fn new(begins: [Duration; 5]) -> Self {
        Self { begins }
    }

    /// When a step begins.
    pub const fn begin(&self, step: Step) -> Duration {
        self.begins[step as usize]
    }
}

/// What is wrong with offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// There are not as many offsets as partitions.
    Count {
        /// Partitions of the problem.
        partitions: usize,
        /// Offsets that were given.
        offsets: usize,
    },
    /// A step begins before the one before it has ended.
    Order {
        /// The step.
        leg: Leg,
        /// When it begins.
        begins: Duration,
        /// When the step before it ends.
        earliest: Duration,
    },
    /// From the begin of the first step to the end of the last one takes longer than it may.
    Late {
        /// Place of the partition.
        partition: usize,
        /// How long it takes.
        takes: Duration,
        /// How long it may take.
        latency: Duration,
    },
    /// Processing goes on beyond a multiple of its period, where none is to ([`Problem::unbroken`]).
    Broken {
        /// Place of the partition.
        partition: usize,
        /// When it begins in its period.
        begins: Duration,
        /// How much of it is left when the period ends.
        left: Duration,
    },
    /// Two steps meet on a resource.
    Meet {
        /// Where.
        resource: Resource,
        /// The one that was given first.
        first: Leg,
        /// The other one.
        second: Leg,
        /// How much earlier the first begins than the second, modulo `modulus`.
        distance: Duration,
        /// The greatest common divisor of the two periods. They do not meet where
        /// `length of the first <= distance <= modulus - length of the second`.
        modulus: Duration,
    },
}

/// What no offsets can give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Impossible {
    /// The steps of a partition, one after the other, take longer than the partition may.
    TooLong {
        /// Place of the partition.
        partition: usize,
        /// All steps together.
        takes: Duration,
        /// What it may take.
        latency: Duration,
    },
    /// Steps that have to begin at certain times, one after the other, take longer than the partition may: one of them waits for the
    /// time at which it begins.
    Waits {
        /// The step that waits longest.
        leg: Leg,
        /// How long it waits for its begin.
        waits: Duration,
        /// From the begin of the first step to the end of the last, at least.
        takes: Duration,
        /// What it may take.
        latency: Duration,
    },
    /// A resource is wanted for more than all of its time.
    Overload {
        /// Which.
        resource: Resource,
        /// The sum of length by period, in millionths, rounded down.
        utilization_ppm: u64,
    },
    /// Two steps meet where they have to begin.
    Fixed {
        /// Where.
        resource: Resource,
        /// One.
        first: Leg,
        /// The other.
        second: Leg,
        /// How much earlier the first begins than the second, modulo `modulus`.
        distance: Duration,
        /// From here on the second may follow the first: the first one's length.
        least: Duration,
        /// Up to here: `modulus` less the second one's length.
        most: Duration,
        /// The greatest common divisor of their periods.
        modulus: Duration,
    },
    /// Two steps meet wherever they lie: together they are longer than the greatest common divisor of their periods.
    Pair {
        /// Where.
        resource: Resource,
        /// One.
        first: Leg,
        /// The other.
        second: Leg,
        /// Both lengths.
        together: Duration,
        /// The greatest common divisor of their periods.
        modulus: Duration,
    },
}

impl Problem {
    /// What a step occupies.
    pub fn resource(&self, leg: Leg) -> Option<Resource> {
        let partition = self.partitions().get(leg.partition)?;
        match leg.step {
            Step::Processing => Some(Resource::Core(partition.core)),
            Step::DeviceInput => partition.input.map(|_| Resource::IoCore),
            Step::DeviceOutput => partition.output.map(|_| Resource::IoCore),
            Step::PhysicalInput => partition.input.map(|input| Resource::Device(input.device)),
            Step::PhysicalOutput => partition.output.map(|output| Resource::Device(output.device)),
        }
    }

    /// All steps that take time, by what they occupy.
    fn by_resource(&self) -> BTreeMap<Resource, Vec<Leg>> {
        let mut legs: BTreeMap<_, Vec<Leg>> = BTreeMap::new();
        for leg in self.legs() {
            if let Some(resource) = self.resource(leg) {
                legs.entry(resource).or_default().push(leg);
            }
        }
        legs
    }

    fn partition(&self, leg: Leg) -> Option<&Partition> {
        self.partitions().get(leg.partition)
    }

    /// A step as a piece that begins at `offset`, in units.
    pub(crate) fn piece(&self, leg: Leg, offset: i64) -> Piece {
        let period = self.partition(leg).map_or(1, |partition| self.units(partition.period));
        Piece { offset, length: self.length(leg), period }
    }

    /// What is wrong with `offsets`, one for each partition; empty where nothing is. Written to be evident, not fast.
    pub fn violations(&self, offsets: &[Offsets]) -> Vec<Violation> {
        let count = Violation::Count { partitions: self.partitions().len(), offsets: offsets.len() };
        if self.partitions().len() != offsets.len() {
            return vec![count];
        }
        let mut found = Vec::new();
        for (at, (partition, offsets)) in self.partitions().iter().zip(offsets).enumerate() {
            self.in_order(at, partition, offsets, &mut found);
            found.extend(self.broken(at, partition, offsets));
        }
        for (resource, legs) in self.by_resource() {
            pairs(&legs, |first, second| found.extend(self.meeting(resource, first, second, offsets)));
        }
        found
    }

    fn in_order(&self, at: usize, partition: &Partition, offsets: &Offsets, found: &mut Vec<Violation>) {
        let mut steps = Step::ALL.into_iter().filter(|&step| !partition.duration(step).is_zero()).peekable();
        let Some(&first) = steps.peek() else { return };
        let begin = offsets.begin(first);
        let mut earliest = begin;
        for step in steps {
            let begins = offsets.begin(step);
            if begins < earliest {
                found.push(Violation::Order { leg: Leg { partition: at, step }, begins, earliest });
            }
            earliest = begins.saturating_add(partition.duration(step));
        }
        let takes = earliest.saturating_sub(begin);
        if takes > partition.latency {
            found.push(Violation::Late { partition: at, takes, latency: partition.latency });
        }
    }

    fn broken(&self, at: usize, partition: &Partition, offsets: &Offsets) -> Option<Violation> {
        self.seam(Leg { partition: at, step: Step::Processing })?;
        let begins = offsets.begin(Step::Processing).get() % partition.period.get();
        let left = begins.saturating_add(partition.processing.get()).saturating_sub(partition.period.get());
        let (begins, left) = (Duration::new(begins), Duration::new(left));
        (!left.is_zero()).then_some(Violation::Broken { partition: at, begins, left })
    }

    fn meeting(&self, resource: Resource, first: Leg, second: Leg, offsets: &[Offsets]) -> Option<Violation> {
        // In nanoseconds and wide integers: offsets that are no multiples of the unit are judged, too.
        let wide = |leg: Leg| {
            let (partition, begins) = (self.partition(leg)?, offsets.get(leg.partition)?);
            let (begin, length) = (begins.begin(leg.step), partition.duration(leg.step));
            Some((i128::from(begin.get()), i128::from(length.get()), partition.period.get()))
        };
        let ((a, a_length, a_period), (b, b_length, b_period)) = (wide(first)?, wide(second)?);
        let modulus = i128::from(gcd(a_period, b_period));
        let distance = (b - a).rem_euclid(modulus);
        let duration = |n: i128| Duration::new(n.unsigned_abs() as u64);
        (distance < a_length || distance > modulus - b_length).then(|| Violation::Meet {
            resource,
            first,
            second,
            distance: duration(distance),
            modulus: duration(modulus),
        })
    }

    /// What no offsets can give, as far as single partitions, pairs of steps and sums over a resource show it. Empty does
    /// not mean that there is a solution.
    pub fn impossible(&self) -> Vec<Impossible> {
        let mut found = Vec::new();
        for (at, partition) in self.partitions().iter().enumerate() {
            if partition.busy() > u128::from(partition.latency.get()) {
                let takes = Duration::new(u64::try_from(partition.busy()).unwrap_or(u64::MAX));
                found.push(Impossible::TooLong { partition: at, takes, latency: partition.latency });
            } else {
                found.extend(waits(at, partition));
            }
        }
        for (resource, legs) in self.by_resource() {
            let utilization_ppm = self.sum_of_ppm(&legs);
            if utilization_ppm > 1_000_000 {
                found.push(Impossible::Overload { resource, utilization_ppm });
            }
            pairs(&legs, |first, second| found.extend(self.hopeless(resource, first, second)));
        }
        found
    }

    /// What is used of each resource, in millionths, each piece rounded down.
    pub fn utilization(&self) -> impl Iterator<Item = (Resource, u64)> {
        self.by_resource().into_iter().map(|(resource, legs)| (resource, self.sum_of_ppm(&legs)))
    }

    fn sum_of_ppm(&self, legs: &[Leg]) -> u64 {
        legs.iter().map(|&leg| self.ppm(leg)).fold(0, u64::saturating_add)
    }

    fn ppm(&self, leg: Leg) -> u64 {
        let piece = self.piece(leg, 0);
        let ppm =
            u128::from(piece.length.unsigned_abs()) * 1_000_000 / u128::from(piece.period.unsigned_abs());
        u64::try_from(ppm).unwrap_or(u64::MAX)
    }

    fn hopeless(&self, resource: Resource, first: Leg, second: Leg) -> Option<Impossible> {
        // The two steps of one instance follow each other and meet those of the next only where it is too long.
        let (a, b) = (self.piece(first, 0), self.piece(second, 0));
        let (together, modulus) = (a.length + b.length, a.common_period(&b));
        if together > modulus {
            let (together, modulus) = (self.duration(together), self.duration(modulus));
            return Some(Impossible::Pair { resource, first, second, together, modulus });
        }
        let (from, to) = (self.fixed(first)?, self.fixed(second)?);
        let (from, to) = (self.piece(first, from), self.piece(second, to));
        from.meets(&to).then(|| Impossible::Fixed {
            resource,
            first,
            second,
            distance: self.duration((to.offset - from.offset).rem_euclid(modulus)),
            least: self.duration(a.length),
            most: self.duration(modulus - b.length),
            modulus: self.duration(modulus),
        })
    }
}

/// Whether the steps of a partition that have to begin at certain times are too far apart: those before the first of them end as it
/// begins, and of the others each begins as soon as the one before it and its own time allow.
fn waits(at: usize, partition: &Partition) -> Option<Impossible> {
    let fixed = |step: Step| partition.fixed[step as usize].map(|begin| i128::from(begin.get()));
    let length = |step: Step| i128::from(partition.duration(step).get());
    let steps = || Step::ALL.into_iter().filter(|&step| length(step) > 0);
    let first = steps().find(|&step| fixed(step).is_some())?;
    let before: i128 = steps().take_while(|&step| step != first).map(length).sum();
    let began = fixed(first)?;
    let (mut end, mut longest) = (began + length(first), (0, first));
    for step in steps().skip_while(|&step| step != first).skip(1) {
        let wait = fixed(step)
            .map_or(0, |begin| (begin - end).rem_euclid(i128::from(partition.period.get().max(1))));
        longest = if wait > longest.0 { (wait, step) } else { longest };
        end += wait + length(step);
    }
    let takes = before + end - began;
    let time = |length: i128| Duration::new(u64::try_from(length).unwrap_or(u64::MAX));
    (takes > i128::from(partition.latency.get())).then(|| Impossible::Waits {
        leg: Leg { partition: at, step: longest.1 },
        waits: time(longest.0),
        takes: time(takes),
        latency: partition.latency,
    })
}

fn pairs(legs: &[Leg], mut each: impl FnMut(Leg, Leg)) {
    for (at, &first) in legs.iter().enumerate() {
        legs.iter().skip(at + 1).for_each(|&second| each(first, second));
    }
}
