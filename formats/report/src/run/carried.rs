//! What became of decisions that were taken outside of the kernel that had to carry them out.

use serde::{Deserialize, Serialize};
use solo_model::Duration;
use solo_model::text::counted;
use std::fmt;

/// What Linux made of decisions that a process took (tier B).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum CarriedOut {
    /// By changes of threads' priorities, which follow an order.
    Priorities {
        /// How often the order was changed.
        changes: u64,
        /// From the decision until the change was made: the middle.
        p50_ns: u64,
        /// What 99 % of them did not exceed.
        p99_ns: u64,
        /// The longest.
        max_ns: u64,
    },
    /// By waking and stopping threads.
    Threads {
        /// How often a thread was chosen.
        chosen: u64,
        /// How often it had lost its core again before Linux ran it.
        taken_back: u64,
        /// From the decision until the thread was on a CPU: the middle.
        p50_ns: u64,
        /// What 99 % of them did not exceed.
        p99_ns: u64,
        /// The longest.
        max_ns: u64,
        /// For how long threads were chosen, all of them together.
        granted_ns: u64,
        /// Of this, for how long they were on no CPU.
        missing_ns: u64,
        /// For how long threads were on CPUs while they were not chosen.
        unchosen_ns: u64,
        /// Switches of which Linux did not tell: then figures are too low or too high.
        lost: u64,
    },
}

impl fmt::Display for CarriedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |ns: u64| crate::table::time(Duration::new(ns));
        match *self {
            Self::Priorities { changes, p50_ns, p99_ns, max_ns } => {
                let [p50, p99, max] = [p50_ns, p99_ns, max_ns].map(time);
                let changes = counted(changes, "change");
                write!(f, "{changes} of their order, which took {p50} (p50), {p99} (p99), {max} at most")
            }
            Self::Threads {
                chosen,
                taken_back,
                p50_ns,
                p99_ns,
                max_ns,
                granted_ns,
                missing_ns,
                unchosen_ns,
                lost,
            } => {
                let [p50, p99, max] = [p50_ns, p99_ns, max_ns].map(time);
                let [granted, missing, unchosen] = [granted_ns, missing_ns, unchosen_ns].map(time);
                write!(
                    f,
                    "hard and soft threads were chosen {}, and on their CPUs {p50} later (p50), {p99} (p99), {max} at most; \
                     {taken_back} had lost their cores again before; {missing} of the {granted} for which they were chosen they \
                     were on no CPU, and {unchosen} on one without having been chosen",
                    counted(chosen, "time"),
                )?;
                if lost > 0 {
                    write!(f, "; {} lost", counted(lost, "record"))?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_carried_out_is_told_and_kept() {
        let changes = CarriedOut::Priorities { changes: 1, p50_ns: 2_000, p99_ns: 30_000, max_ns: 41_000 };
        assert_eq!(
            changes.to_string(),
            "1 change of their order, which took 2.00 us (p50), 30.0 us (p99), 41.0 us at most"
        );
        let threads = CarriedOut::Threads {
            chosen: 40,
            taken_back: 2,
            p50_ns: 9_000,
            p99_ns: 90_000,
            max_ns: 120_000,
            granted_ns: 80_000_000,
            missing_ns: 400_000,
            unchosen_ns: 50_000,
            lost: 3,
        };
        let told = threads.to_string();
        assert!(told.contains("chosen 40 times") && told.ends_with("; 3 records lost"), "{told}");
        for what in [changes, threads] {
            let text = serde_json::to_string(&what).unwrap();
            assert_eq!(serde_json::from_str::<CarriedOut>(&text).unwrap(), what, "{text}");
        }
    }
}
