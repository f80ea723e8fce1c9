//! What is left of a budget, divided among the counters of several CPUs.

/// After how many events the counter of each CPU is to ring, so that at least one does before more than `left` and one for each CPU have
/// happened in all. Who has counted more lately gets more: a group that is on one CPU rings there a few times only.
pub(super) fn shares(left: u64, lately: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let sum: u128 = lately.iter().map(|count| u128::from(*count) + 1).sum();
    let share = move |count: &u64| {
        let share = u128::from(left) * (u128::from(*count) + 1) / sum.max(1);
        u64::try_from(share).unwrap_or(u64::MAX).max(1)
    };
    lately.iter().map(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::SplitMix64;

    /// Random events on random CPUs: returns what was counted when it was noticed, and how often a counter rang.
    fn played(random: &mut SplitMix64, budget: u64, cpus: usize) -> (u64, u64) {
        let favorite = random.below(cpus as u64) as usize;
        let stray = 1 + random.below(40);
        let (mut lately, mut counts) = (vec![0; cpus], vec![0; cpus]);
        let mut armed: Vec<u64> = shares(budget, &lately).collect();
        let (mut total, mut rings) = (0, 0);
        loop {
            let cpu = if random.below(stray) == 0 { random.below(cpus as u64) as usize } else { favorite };
            total += 1;
            counts[cpu] += 1;
            armed[cpu] -= 1;
            if armed[cpu] > 0 {
                continue;
            }
            rings += 1;
            if total >= budget {
                return (total, rings);
            }
            lately.clone_from(&counts);
            armed = shares(budget - total, &lately).collect();
        }
    }

    #[test]
    fn a_budget_is_noticed_within_an_event_for_each_cpu_and_by_few_rings() {
        let mut random = SplitMix64::new(7);
        let mut most = 0;
        for round in 0..4_000 {
            let cpus = 1 + random.below(64) as usize;
            let budget = 1 + random.below(if round % 2 == 0 { 100 } else { 50_000 });
            let (total, rings) = played(&mut random, budget, cpus);
            assert!(total >= budget && total < budget + cpus as u64, "{total} of {budget} on {cpus}");
            most = most.max(rings);
            if cpus == 1 {
                assert_eq!((total, rings), (budget, 1));
            }
        }
        assert!(most < 1200, "{most} rings");
        println!("at most {most} rings");
    }

    #[test]
    fn the_largest_budget_is_divided_without_overflow() {
        let shares: Vec<u64> = shares(u64::MAX, &[u64::MAX, 0, 7]).collect();
        assert!(shares.iter().all(|share| *share >= 1) && shares[0] > u64::MAX / 2);
    }
}
