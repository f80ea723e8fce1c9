//! All ways to partition by color behind one name each.

use crate::color::cap::cap;
use crate::color::cap_gs::{Settings, SoftCores, cap_gs};
use crate::color::lwfg::lwfg;
use crate::color::{ColorError, ColoredTask, Memory, Partition};
use crate::pack::{Fit, Share};

/// A way to partition with regard to colors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Whole groups, the largest first (thesis 7.2).
    Cap(Fit),
    /// Hard tasks first, then groups, which may be split (thesis 8.2.1).
    CapGs,
    /// The largest working set first (Lindsay 2012, as far as the thesis tells).
    Lwfg,
}

/// What a core may be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// What fits onto a core: the utilisation bound of the scheduling policy.
    pub capacity: Share,
    /// At most so much utilisation of hard tasks over all cores; CAP-GS asks for it.
    pub hard_limit: Option<Share>,
}

impl Method {
    /// All methods with their names in files and options.
    pub const ALL: [(&'static str, Self); 6] = [
        ("cap-ffd", Self::Cap(Fit::First)),
        ("cap-bfd", Self::Cap(Fit::Best)),
        ("cap-wfd", Self::Cap(Fit::Worst)),
        ("cap-nfd", Self::Cap(Fit::Next)),
        ("cap-gs", Self::CapGs),
        ("lwfg", Self::Lwfg),
    ];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("cap-ffd", |(name, _)| name)
    }
}

/// Gives tasks to `cores` cores by a method. Equations 1, 2 and 4 of chapter 7 are checked for each of them.
///
/// # Errors
/// The equation that does not hold, a hard task that shares colors (CAP-GS), or the tasks that find no core.
pub fn partition(
    method: Method,
    tasks: &[ColoredTask],
    memory: &Memory,
    cores: usize,
    rules: Rules,
) -> Result<Partition, ColorError> {
    let Rules { capacity, hard_limit } = rules;
    match method {
        Method::Cap(fit) => cap(tasks, memory, cores, capacity, fit),
        Method::CapGs => {
            let settings = Settings { capacity, hard_limit, soft_cores: SoftCores::AvoidHard };
            cap_gs(tasks, memory, cores, &settings)
        }
        Method::Lwfg => {
            memory.check(tasks)?;
            lwfg(tasks, cores, capacity)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_liu_and_layland_is_met_from_below() {
        assert_eq!(Share::liu_layland(1), Share { num: 1_000_000_000, den: 1_000_000_000 });
        assert_eq!(Share::liu_layland(2).num, 828_427_124);
        assert_eq!(Share::liu_layland(3).num, 779_763_149);
        for n in 1..200 {
            assert!(Share::liu_layland(n + 1).num <= Share::liu_layland(n).num, "{n}");
            let exact = n as f64 * (2f64.powf(1.0 / n as f64) - 1.0);
            let found = Share::liu_layland(n).approximate();
            assert!(found <= exact + 1e-12 && exact - found < if n > 100 { 3e-3 } else { 2e-9 }, "{n}");
        }
    }
}
