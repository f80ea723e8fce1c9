//! What devices moved, and whether the table of their slots held.

use crate::text::{self, counted};
use serde::{Deserialize, Serialize};
use solo_model::record::{Admitted, InterruptRecord, TransferRecord};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, Experiment, Instant, TaskNames};

/// A device that moved data by itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeviceReport {
    /// The name in the scenario.
    pub name: String,
    /// The task whose data it moved.
    pub owner: String,
    /// The core that started it, where one did.
    pub core: Option<CoreId>,
    /// What was reserved for it, to which its wait states held it.
    #[serde(rename = "reserved_bytes_per_s")]
    pub reserved: Option<Bandwidth>,
    /// How long a slot is.
    #[serde(rename = "slot_ns")]
    pub slot: Duration,
    /// Slots that were over.
    pub slots: u64,
    /// From the begin of a slot to the end of its transfer, at most.
    #[serde(rename = "longest_ns")]
    pub longest: Duration,
    /// What it moved.
    #[serde(rename = "moved_bytes")]
    pub moved: Bytes,
    /// Lines that memory read for it, on machines that can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Lines that were written to memory for it, on machines that can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Slots that ended before all was moved.
    pub cut: u64,
    /// What was not moved for that.
    #[serde(rename = "left_bytes")]
    pub left: Bytes,
    /// Slots that began before that of another device of the same core was over.
    pub overlaps: u64,
    /// The first of them: when, and with which device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_overlap: Option<Overlap>,
    /// Of a device that releases a sporadic task, its interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Interrupts>,
}

/// What became of the interrupts of a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Interrupts {
    /// The sporadic task that they release.
    pub task: String,
    /// Its least time between two releases.
    #[serde(rename = "distance_ns")]
    pub distance: Duration,
    /// How many the kernel took.
    pub taken: u64,
    /// Those that came sooner than the least distance allows: their jobs were released when it had passed.
    pub held: u64,
    /// Those that came while one was held back: the two released one job.
    pub merged: u64,
    /// From the interrupt to the kernel's handling it, at most.
    #[serde(rename = "longest_ns")]
    pub longest: Duration,
}

/// Two devices of one core in their slots at the same time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Overlap {
    /// When the second slot began.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// Whose slot was not over.
    pub with: String,
}

pub(crate) const HEADER: [&str; 9] =
    ["device", "of", "slots", "moved", "reads", "writes", "longest", "of a slot", "reserved"];

impl DeviceReport {
    pub(crate) fn all(experiment: &Experiment) -> Vec<Self> {
        let regulation = experiment.isolation.bandwidth.as_ref();
        let report = |device: &solo_model::Device| Self {
            name: device.name.clone(),
            owner: experiment.task_name(device.owner).unwrap_or_default().to_owned(),
            core: device.core,
            reserved: regulation.and_then(|regulation| regulation.reserved_for(&device.name)),
            slot: device.slot,
            slots: 0,
            longest: Duration::ZERO,
            moved: Bytes::ZERO,
            reads: Some(0),
            writes: Some(0),
            cut: 0,
            left: Bytes::ZERO,
            overlaps: 0,
            first_overlap: None,
            interrupts: device.releases.and_then(|task| {
                let task = experiment.tasks.get(task.index())?;
                let (name, distance) = (task.name.clone(), task.release.period().unwrap_or_default());
                Some(Interrupts {
                    task: name,
                    distance,
                    taken: 0,
                    held: 0,
                    merged: 0,
                    longest: Duration::ZERO,
                })
            }),
        };
        experiment.devices.iter().map(report).collect()
    }

    /// Takes in a slot that is over; `with` names the device whose slot was not.
    pub(crate) fn add(&mut self, transfer: &TransferRecord, with: Option<String>) {
        self.slots += 1;
        self.longest = self.longest.max(transfer.at.since(transfer.since));
        self.moved = self.moved.saturating_add(transfer.moved);
        // Data that move without a line were moved where nobody counts lines.
        let told = transfer.moved.is_zero() || transfer.reads > 0 || transfer.writes > 0;
        let and = |lines: Option<u64>, more| lines.filter(|_| told).map(|lines| lines.saturating_add(more));
        self.reads = and(self.reads, transfer.reads);
        self.writes = and(self.writes, transfer.writes);
        self.cut += u64::from(!transfer.left.is_zero());
        self.left = self.left.saturating_add(transfer.left);
        if let Some(with) = with {
            self.overlaps += 1;
            self.first_overlap.get_or_insert(Overlap { at: transfer.since, with });
        }
    }

    /// Takes in an interrupt; of a device that releases nobody, none comes.
    pub(crate) fn interrupted(&mut self, interrupt: &InterruptRecord) {
        let Some(interrupts) = &mut self.interrupts else { return };
        interrupts.taken += 1;
        match interrupt.admitted {
            Admitted::Released => {}
            Admitted::Held => interrupts.held += 1,
            Admitted::Merged => interrupts.merged += 1,
        }
        interrupts.longest = interrupts.longest.max(interrupt.at.since(interrupt.raised));
    }

    /// What became of its interrupts, in a sentence.
    pub(crate) fn interrupts(&self) -> Option<String> {
        let Interrupts { task, distance, taken, held, merged, longest } = self.interrupts.as_ref()?;
        let early = match (held, merged) {
            (0, 0) => format!("none sooner than {} after the one before", text::time(*distance)),
            _ => format!(
                "{} held back until {} had passed since the last release, {} merged with one held back",
                text::count(*held),
                text::time(*distance),
                text::count(*merged),
            ),
        };
        let delay = match longest.is_zero() {
            true => String::new(),
            false => format!("; taken {} later at most", text::time(*longest)),
        };
        Some(format!("{} of device {} for {task}: {early}{delay}.", counted(*taken, "interrupt"), self.name))
    }

    /// True where the table of slots did not hold.
    pub(crate) fn is_broken(&self) -> bool {
        self.cut > 0 || self.overlaps > 0
    }

    /// What did not hold, in a sentence.
    pub(crate) fn broken(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.cut > 0 {
            let verb = if self.cut == 1 { "was" } else { "were" };
            lines.push(format!(
                "{} of device {} {verb} over before all was moved: {} not moved. A longer `slot` is needed, or less in its way.",
                counted(self.cut, "slot"),
                self.name,
                counted(self.left.get(), "byte"),
            ));
        }
        if let Some(Overlap { at, with }) = &self.first_overlap {
            let verb = if self.overlaps == 1 { "overlaps" } else { "overlap" };
            lines.push(format!(
                "{} of device {} {verb} with those of another of the same core, first at {} with {with}.",
                counted(self.overlaps, "slot"),
                self.name,
                text::time(at.since(Instant::ZERO)),
            ));
        }
        lines
    }

    /// A row of the table.
    pub(crate) fn row(&self) -> Vec<String> {
        let lines = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), text::count);
        vec![
            self.name.clone(),
            self.owner.clone(),
            self.slots.to_string(),
            self.moved.to_string(),
            lines(self.reads),
            lines(self.writes),
            text::time(self.longest),
            text::time(self.slot),
            self.reserved.map_or_else(|| "-".to_owned(), text::asked_rate),
        ]
    }
}
