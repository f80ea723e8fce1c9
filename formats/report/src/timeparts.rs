//! Where the time of jobs went, from release to finish, without gap or overlap.

use serde::{Deserialize, Serialize};
use solo_model::record::Stalls;
use solo_model::{Duration, JobRecord};

macro_rules! parts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $short:literal, $phrase:literal;)*) => {
        /// A part of a job's response time.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum TimePart {
            $($(#[$doc])* $variant,)*
        }

        impl TimePart {
            /// All parts, in the order in which reports stack them.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant,)*];
            /// How many parts there are.
            pub const COUNT: usize = [$($name,)*].len();

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
            /// The name in charts and tables.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $short,)* }
            }
            /// The name in a sentence.
            pub(crate) const fn phrase(self) -> &'static str {
                match self { $(Self::$variant => $phrase,)* }
            }
        }
    };
}

parts! {
    /// Computing, and hits in the first-level cache.
    Compute = "compute", "compute", "computing";
    /// Waiting for the private caches beyond the first level.
    PrivateCache = "private_cache", "private caches", "waiting for private caches";
    /// Waiting for the shared last-level cache.
    SharedCache = "shared_cache", "shared cache", "waiting for the shared cache";
    /// Waiting for DRAM as an idle machine would answer.
    Dram = "dram", "DRAM itself", "fetching from DRAM what the caches did not hold";
    /// Waiting for DRAM behind the core's own requests.
    DramQueueOwn = "dram_queue_own", "DRAM behind itself", "waiting for DRAM behind its own requests";
    /// Waiting for DRAM behind other cores' requests.
    DramQueueOthers = "dram_queue_others", "DRAM behind others", "waiting for DRAM behind other cores";
    /// Waiting for other cores' caches to hand over or give up a line.
    Coherence = "coherence", "coherence", "waiting for lines that other cores' caches held";
    /// Kernel paths on the job's core while it ran.
    Kernel = "kernel", "kernel", "kernel paths that interrupted it";
    /// On a core, on a machine that cannot tell what for.
    Running = "running", "running", "time on its core that the machine does not explain";
    /// Released, while an earlier job of its own task had not finished.
    Backlog = "backlog", "own backlog", "waiting for its own late predecessors";
    /// Ready, while the used-up bandwidth budget of its core let nobody run there.
    Throttled = "throttled", "core's budget", "waiting for its core's budget to be refilled";
    /// Ready, while its core ran something else.
    Ready = "ready", "ready, not running", "waiting for its core";
    /// Stopped because a bandwidth budget of the task's own was used up, or kept off its core by a scheduler that listens.
    Held = "own_budget", "kept off", "waiting for its own budget";
    /// Waiting for a lock.
    Blocked = "blocked", "waiting for a lock", "waiting for a lock";
    /// Asleep: waiting for a timer or a device.
    Asleep = "asleep", "asleep", "sleeping";
}

/// What a job waited for, apart from its core being taken: none of these overlap.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waits {
    /// An earlier job of its own task to finish.
    pub backlog: Duration,
    /// Locks.
    pub blocked: Duration,
    /// A timer or a device.
    pub asleep: Duration,
    /// A budget of its own.
    pub held: Duration,
    /// The budget of its core.
    pub throttled: Duration,
}

/// Sums over jobs of each part of their response times.
///
/// The parts of a job add up to its response time: what its stalls leave of the time on a core is
/// [`TimePart::Running`], what is known of its waits leaves of the rest [`TimePart::Ready`].
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct TimeSplit {
    /// The number of jobs in the sums.
    pub jobs: u64,
    /// The number of those whose machine told where their time went.
    pub jobs_with_stalls: u64,
    #[serde(with = "named")]
    parts_ns: [Duration; TimePart::COUNT],
}

/// Parts as an object from their names to nanoseconds. A reader takes those that it knows, in any order.
mod named {
    use super::TimePart;
    use serde::{Deserialize, Deserializer, Serializer};
    use solo_model::Duration;
    use std::collections::BTreeMap;

    pub(super) fn serialize<S: Serializer>(
        parts: &[Duration; TimePart::COUNT],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(TimePart::ALL.into_iter().map(TimePart::name).zip(parts))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[Duration; TimePart::COUNT], D::Error> {
        let stored = BTreeMap::<String, Duration>::deserialize(deserializer)?;
        Ok(TimePart::ALL.map(|part| stored.get(part.name()).copied().unwrap_or_default()))
    }
}

impl TimeSplit {
    /// Adds a job that waited as long as `waits` say.
    pub fn add(&mut self, job: &JobRecord, waits: Waits) {
        self.jobs += 1;
        let response = job.response();
        let on_core = job.executed.min(response);
        let mut explained = Duration::ZERO;
        if let Some(stalls) = &job.stalls {
            self.jobs_with_stalls += 1;
            for (part, time) in stall_parts(stalls) {
                let time = time.min(on_core - explained);
                explained += time;
                self.grow(part, time);
            }
        }
        self.grow(TimePart::Running, on_core - explained);
        // What damaged records say of waits is cut where the response time is over.
        let mut left = response - on_core;
        for (part, time) in [
            (TimePart::Backlog, waits.backlog),
            (TimePart::Blocked, waits.blocked),
            (TimePart::Asleep, waits.asleep),
            (TimePart::Held, waits.held),
            (TimePart::Throttled, waits.throttled),
        ] {
            let time = time.min(left);
            left -= time;
            self.grow(part, time);
        }
        self.grow(TimePart::Ready, left);
    }

    fn grow(&mut self, part: TimePart, time: Duration) {
        let sum = &mut self.parts_ns[part as usize];
        *sum = sum.saturating_add(time);
    }

    /// The sum of one part over all jobs.
    pub const fn total(&self, part: TimePart) -> Duration {
        self.parts_ns[part as usize]
    }
    /// One part of the average job; zero without jobs.
    pub fn mean(&self, part: TimePart) -> Duration {
        if self.jobs == 0 { Duration::ZERO } else { self.total(part) / self.jobs }
    }
    /// The response time of the average job, as the sum of its parts.
    pub(crate) fn mean_response(&self) -> Duration {
        TimePart::ALL.into_iter().map(|part| self.mean(part)).fold(Duration::ZERO, Duration::saturating_add)
    }
    /// What is in here and not in `other`, a sum over some of the same jobs.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self {
            jobs: self.jobs.saturating_sub(other.jobs),
            jobs_with_stalls: self.jobs_with_stalls.saturating_sub(other.jobs_with_stalls),
            parts_ns: std::array::from_fn(|i| self.parts_ns[i].saturating_sub(other.parts_ns[i])),
        }
    }
}

pub(crate) fn stall_parts(stalls: &Stalls) -> [(TimePart, Duration); 8] {
    [
        (TimePart::Compute, stalls.compute),
        (TimePart::PrivateCache, stalls.private_cache),
        (TimePart::SharedCache, stalls.shared_cache),
        (TimePart::Dram, stalls.dram),
        (TimePart::DramQueueOwn, stalls.dram_queue_own),
        (TimePart::DramQueueOthers, stalls.dram_queue_others),
        (TimePart::Coherence, stalls.coherence),
        (TimePart::Kernel, stalls.kernel),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{CoreId, Counts, Instant, JobIndex, TaskId};

    #[test]
    fn the_parts_of_a_job_add_up_to_its_response_time() {
        let job = JobRecord {
            task: TaskId(0),
            job: JobIndex(0),
            core: CoreId(0),
            release: Instant::new(100),
            start: Instant::new(120),
            finish: Instant::new(1100),
            deadline: None,
            executed: Duration::new(700),
            preemptions: 1,
            migrations: 0,
            backlog: 0,
            counts: Counts::NONE,
            stalls: Some(Stalls {
                compute: Duration::new(300),
                dram: Duration::new(200),
                dram_queue_others: Duration::new(150),
                ..Stalls::default()
            }),
        };
        let mut split = TimeSplit::default();
        let (backlog, throttled) = (Duration::new(60), Duration::new(50));
        let (blocked, asleep) = (Duration::new(80), Duration::new(20));
        let held = Duration::new(30);
        split.add(&job, Waits { backlog, blocked, asleep, held, throttled });
        let of = |part| split.total(part).get();
        assert_eq!(of(TimePart::Running), 50);
        assert_eq!(of(TimePart::Blocked), 80);
        assert_eq!((of(TimePart::Backlog), of(TimePart::Throttled)), (60, 50));
        assert_eq!((of(TimePart::Asleep), of(TimePart::Held), of(TimePart::Ready)), (20, 30, 60));
        assert_eq!(split.mean_response(), job.response());
        let stored = serde_json::to_value(&split).unwrap();
        for part in TimePart::ALL {
            assert_eq!(stored["parts_ns"][part.name()], of(part), "by name");
        }
        assert_eq!(serde_json::from_value::<TimeSplit>(stored).unwrap(), split);
    }
}
