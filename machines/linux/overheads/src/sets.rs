//! The task sets of thesis 5.1: periods of 3 to 33 ms, utilisations of 0.001 to 0.1, 5 to 125 tasks.

use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::{CoreId, CoreSet, Criterion, Duration, Policy, Scope, Task, TaskClass};
use solo_schedule::TaskParameters;

/// Cores, as on the thesis's i7-2600: four with two hardware threads each.
pub const CORES: u16 = 8;

/// How many tasks the thesis measured with.
pub const THREADS: [u32; 7] = [5, 15, 25, 50, 75, 100, 125];

/// P-, C- (two cores a cluster) and G-EDF, and P-RM, on so many cores.
pub fn policies(cores: u16) -> Vec<Policy> {
    let pairs = (0..cores).step_by(2).map(|first| {
        let pair = [first, first + 1].into_iter().filter(|core| *core < cores).map(CoreId);
        pair.collect::<CoreSet>()
    });
    vec![
        Policy::new(Scope::Partitioned, Criterion::Edf),
        Policy::new(Scope::Clustered(pairs.collect()), Criterion::Edf),
        Policy::new(Scope::Global, Criterion::Edf),
        Policy::new(Scope::Partitioned, Criterion::Rm),
    ]
}

/// Numbers that look random and are the same everywhere (Knuth's MMIX generator; any would do).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The numbers of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// A number below `limit`, which is at least 1.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// `threads` tasks whose utilisation is really executed; each belongs to the core that had least to do so far.
pub fn draw(threads: u32, cores: u16, seed: u64) -> Vec<TaskParameters> {
    let mut draw = Draw::new(seed);
    let mut load = vec![0_u64; usize::from(cores)];
    let task = |_| {
        let period = Duration::from_micros(3_000 + draw.below(30_000));
        let per_mille = 1 + draw.below(100);
        let wcet = Duration::new(period.get() * per_mille / 1000);
        let lightest = (0..load.len()).min_by_key(|&core| load[core]).unwrap_or(0);
        load[lightest] += per_mille;
        TaskParameters {
            member: None,
            class: TaskClass::Hard,
            release: Release::Periodic { offset: Duration::ZERO, period },
            deadline: Some(period),
            wcet: Some(wcet),
            priority: None,
            core: Some(CoreId(lightest as u16)),
            migrate: None,
        }
    };
    (0..threads).map(task).collect()
}

/// Hard tasks of these periods, each on its core, whose jobs compute for `length`: where that is short, the kernel is all
/// there is to see.
pub fn computing(tasks: impl IntoIterator<Item = (Duration, CoreId)>, length: Duration) -> Vec<Task> {
    let task = |(index, (period, core))| Task {
        core: Some(core),
        work: Work { steps: vec![Step::Compute(Span::exactly(length))] },
        ..Task::new(
            format!("t{index}"),
            TaskClass::Hard,
            Release::Periodic { offset: Duration::ZERO, period },
        )
    };
    tasks.into_iter().enumerate().map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_thesiss_ranges_and_fit_their_cores() {
        for threads in THREADS {
            let tasks = draw(threads, CORES, 1);
            assert_eq!(tasks.len(), threads as usize);
            let mut load = [0.0; CORES as usize];
            for task in &tasks {
                let Release::Periodic { period, .. } = task.release else { panic!("periodic") };
                let share = task.wcet.unwrap().get() as f64 / period.get() as f64;
                assert!((3_000_000..33_000_000).contains(&period.get()) && share <= 0.1, "{task:?}");
                load[task.core.unwrap().index()] += share;
            }
            assert!(load.iter().all(|share| *share <= 1.0), "{threads}: {load:?}");
        }
        assert_eq!(
            policies(CORES).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["P-EDF", "C-EDF", "G-EDF", "P-RM"]
        );
    }
}
