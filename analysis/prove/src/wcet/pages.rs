//! Whose pages are locked: the least sum of utilisations with the pages that a core's part of the cache holds (SCE 3.1, step 5).

use solo_model::Duration;

/// A task whose execution time falls with locked pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lockable {
    /// The period.
    pub period: Duration,
    /// Pages and the execution time with them, interference included; by pages, from no page on, and never rising.
    pub times: Vec<(u64, Duration)>,
}

/// Pages for each task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// By task.
    pub pages: Vec<u64>,
    /// The sum of utilisations in units of 2^-64, each rounded up.
    pub utilization: u128,
}

/// The utilisation with a point of the curve, in units of 2^-64, rounded up.
fn utilization(task: &Lockable, point: usize) -> u128 {
    let time = u128::from(task.times[point].1.get()) << 64;
    time.div_ceil(u128::from(task.period.get().max(1)))
}

/// The best choice among the points of the curves, at most `capacity` pages together: dynamic programming, `O(points capacity)`. Of
/// equal ones the one with the fewest pages, earlier tasks first. `None` where a task has no point without pages.
pub fn exact(tasks: &[Lockable], capacity: usize) -> Option<Chosen> {
    let mut best: Vec<u128> = vec![0; capacity + 1];
    let mut choices: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
    for task in tasks {
        task.times.first().filter(|(pages, _)| *pages == 0)?;
        let mut chosen = vec![0; capacity + 1];
        let mut next = vec![u128::MAX; capacity + 1];
        for (at, &(pages, _)) in task.times.iter().enumerate() {
            let Some(pages) = usize::try_from(pages).ok().filter(|&pages| pages <= capacity) else {
                continue;
            };
            let own = utilization(task, at);
            for room in pages..=capacity {
                let sum = best[room - pages].saturating_add(own);
                if sum < next[room] {
                    (next[room], chosen[room]) = (sum, at);
                }
            }
        }
        best = next;
        choices.push(chosen);
    }
    let mut room = capacity;
    let mut pages = vec![0; tasks.len()];
    for (at, task) in tasks.iter().enumerate().rev() {
        pages[at] = task.times[choices[at][room]].0;
        room -= pages[at] as usize;
    }
    Some(Chosen { pages, utilization: best[capacity] })
}

/// Steps from point to point, the steepest first as long as pages are left: as good as [`exact`] where every curve is convex and has a
/// point for each number of pages. `None` where a task has no point without pages.
pub fn greedy(tasks: &[Lockable], capacity: usize) -> Option<Chosen> {
    let mut at = vec![0; tasks.len()];
    if tasks.iter().any(|task| task.times.first().is_none_or(|(pages, _)| *pages > 0)) {
        return None;
    }
    let mut left = capacity as u64;
    let step = |at: &[usize], task: usize, left: u64| {
        let [now, next] = [at[task], at[task] + 1];
        let pages = tasks[task].times.get(next)?.0.saturating_sub(tasks[task].times[now].0).max(1);
        let gain = utilization(&tasks[task], now).saturating_sub(utilization(&tasks[task], next));
        (pages <= left && gain > 0).then_some((gain, pages))
    };
    loop {
        let steps = (0..tasks.len()).filter_map(|task| Some((task, step(&at, task, left)?)));
        // The steepest; of equal ones the first.
        let steepest = steps.reduce(|held, other| {
            let ((_, (gain, pages)), (_, (more, of))) = (held, other);
            let steeper = more.saturating_mul(u128::from(pages)) > gain.saturating_mul(u128::from(of));
            if steeper { other } else { held }
        });
        let Some((task, (_, pages))) = steepest else { break };
        at[task] += 1;
        left -= pages;
    }
    let pages = tasks.iter().zip(&at).map(|(task, &at)| task.times[at].0).collect();
    let sum =
        tasks.iter().zip(&at).fold(0_u128, |sum, (task, &at)| sum.saturating_add(utilization(task, at)));
    Some(Chosen { pages, utilization: sum })
}
