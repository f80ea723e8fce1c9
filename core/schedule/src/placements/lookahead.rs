//! Who gets how many ways: the lookahead algorithm of utility-based cache partitioning.

use super::crowd::MOST;

/// Divides `ways` among `count` processes, each of which gets one at least (Qureshi and Patt, MICRO 2006, algorithm 1).
///
/// `misses(process, ways)` are what a process would miss; the *marginal utility* of some more ways are the misses that each of
/// them spares. Again and again the process with the greatest one, over all numbers of ways that are left, gets as many as that
/// takes. When no more misses can be spared the rest goes one by one to whoever has fewest. With fewer ways than
/// processes nobody is confined: all is zero.
pub(super) fn lookahead(count: usize, ways: u32, misses: impl Fn(usize, u32) -> i128) -> [u32; MOST] {
    let mut given = [0; MOST];
    let count = count.min(MOST);
    if count == 0 || (ways as usize) < count {
        return given;
    }
    given[..count].fill(1);
    let mut left = ways - count as u32;
    while left > 0 {
        // The spared misses, the ways that takes, the process.
        let mut best: Option<(i128, u32, usize)> = None;
        for (process, &has) in given[..count].iter().enumerate() {
            for more in 1..=left {
                let spared = misses(process, has) - misses(process, has + more);
                let better = |(other, ways, _): (i128, u32, usize)| {
                    spared * i128::from(ways) > other * i128::from(more)
                };
                if spared > 0 && best.is_none_or(better) {
                    best = Some((spared, more, process));
                }
            }
        }
        let fewest = || (0..count).min_by_key(|&process| given[process]).unwrap_or(0);
        let (more, process) = best.map_or_else(|| (1, fewest()), |(_, more, process)| (more, process));
        given[process] += more;
        left -= more;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use solo_model::SplitMix64;

    /// The least sum of misses over all divisions, each tried.
    fn optimum(curves: &[Vec<i128>], ways: usize) -> i128 {
        let [first, rest @ ..] = curves else { return 0 };
        if rest.is_empty() {
            return first[ways];
        }
        (1..=ways - rest.len()).map(|own| first[own] + optimum(rest, ways - own)).min().unwrap_or(i128::MAX)
    }

    /// A curve that never rises, from zero ways to all; where it is `convex`, each way spares no more than the one before.
    fn curve(random: &mut SplitMix64, ways: usize, convex: bool) -> Vec<i128> {
        let mut spared: Vec<i128> = (0..ways)
            .map(|_| if random.below(3) == 0 { i128::from(random.below(1000)) } else { 0 })
            .collect();
        if convex {
            spared = (0..ways).map(|_| i128::from(random.below(1000))).collect();
            spared.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut misses = spared.iter().sum::<i128>() + 5;
        let mut curve = Vec::from([misses]);
        for spared in spared {
            misses -= spared;
            curve.push(misses);
        }
        curve
    }

    #[test]
    fn it_is_never_better_than_the_optimum_and_as_good_on_convex_curves() {
        let mut random = SplitMix64::new(3);
        let (mut worse, mut total) = (0, 0);
        for round in 0..4000 {
            let convex = round % 2 == 0;
            let count = 1 + random.below(4) as usize;
            let ways = count + random.below(9) as usize;
            let curves: Vec<Vec<i128>> = (0..count).map(|_| curve(&mut random, ways, convex)).collect();
            let given = lookahead(count, ways as u32, |process, ways| curves[process][ways as usize]);
            assert_eq!(given.iter().sum::<u32>(), ways as u32, "all ways are given");
            assert!(given[..count].iter().all(|own| *own > 0) && given[count..].iter().all(|own| *own == 0));
            let got: i128 = curves.iter().zip(given).map(|(curve, own)| curve[own as usize]).sum();
            let best = optimum(&curves, ways);
            assert!(got >= best, "better than every division");
            assert!(!convex || got == best, "{curves:?} {given:?}");
            total += usize::from(!convex);
            worse += usize::from(got > best);
        }
        // It is a heuristic: where curves have steps it is not always the optimum, and mostly is.
        assert!(worse > 0 && worse * 4 < total, "{worse} of {total}");
    }

    /// The case for which the algorithm was made: with one way more nothing is spared, with three everything.
    /// As long as ways are left, each round gives one at least, and asks twice about each process and each number of ways.
    #[test]
    fn misses_are_asked_for_as_often_as_the_square_of_the_ways_for_each_process() {
        for (count, ways) in [(1, 1), (1, 64), (2, 20), (16, 32), (32, 64), (64, 64)] {
            // One way after the other spares as much, or none spares anything: one is given each time.
            for spares in [0, 1] {
                let asked = core::cell::Cell::new(0_u64);
                let given = lookahead(count, ways, |_, ways| {
                    asked.set(asked.get() + 1);
                    1000 - spares * i128::from(ways)
                });
                assert_eq!(given.iter().sum::<u32>(), ways);
                let left = u64::from(ways) - count as u64;
                let most = count as u64 * left * (left + 1);
                assert!(asked.get() <= most, "{} of {most} for {count} processes, {ways} ways", asked.get());
            }
        }
    }

    #[test]
    fn a_step_that_a_greedy_choice_would_not_see_is_seen() {
        let steps: [[i128; 6]; 2] = [[900, 900, 900, 900, 0, 0], [500, 400, 350, 340, 335, 334]];
        let given = lookahead(2, 5, |process, ways| steps[process][ways as usize]);
        assert_eq!(given[..2], [4, 1]);
    }

    #[test]
    fn without_a_way_for_each_nobody_is_confined_and_without_use_all_get_as_many() {
        assert_eq!(lookahead(3, 2, |_, _| 1), [0; MOST]);
        assert_eq!(lookahead(3, 8, |_, _| 1)[..4], [3, 3, 2, 0]);
    }
}
