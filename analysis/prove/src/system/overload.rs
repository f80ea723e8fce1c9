//! Tasks that ask for more time than there is.

use super::System;

/// A domain whose tasks with deadlines ask for more time than its cores have: some of their jobs fall behind for ever,
/// whatever the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overload {
    /// The position of the domain in the order of lowest cores.
    pub domain: usize,
    /// Its cores.
    pub cores: usize,
    /// What the tasks ask for in thousandths of one core: the sum of execution times over periods, rounded up.
    pub asked_per_mille: u64,
}

impl System {
    /// The domains that are overloaded by execution times alone, without the time of kernel paths.
    ///
    /// None is told where tasks go from core to core: what they ask for is no single domain's.
    pub fn overloads(&self) -> Vec<Overload> {
        if self.migrates.is_some() {
            return Vec::new();
        }
        let overload = |(domain, of): (usize, &super::Domain)| {
            let asked_per_mille = self.asked(domain);
            (asked_per_mille > of.cores as u64 * 1000).then_some(Overload {
                domain,
                cores: of.cores,
                asked_per_mille,
            })
        };
        self.domains.iter().enumerate().filter_map(overload).collect()
    }

    /// What the tasks of a domain ask for, in thousandths of a core. Sums in millionths of a thousandth, each rounded down
    /// and the sum up: an overload is told only where there is one.
    fn asked(&self, domain: usize) -> u64 {
        const FINER: u128 = 1_000_000;
        let asked = self.tasks.iter().filter(|task| task.domain == domain && task.deadline.is_some());
        let shares = asked.filter_map(|task| {
            let (wcet, period) = (task.wcet?.time().get(), task.period?.get().max(1));
            Some(u128::from(wcet) * 1000 * FINER / u128::from(period))
        });
        u64::try_from(shares.sum::<u128>().div_ceil(FINER)).unwrap_or(u64::MAX)
    }
}
