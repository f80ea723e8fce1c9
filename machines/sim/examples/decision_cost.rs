//! What a decision of a scheduler for big and small cores costs, by threads and cores: nanoseconds at the end of a period.
//!
//! `cargo run --release -p solo-sim --example decision_cost`
#![allow(clippy::print_stdout)]

use solo_model::fixtures::chip;
use solo_model::listening::{Listening, Observed, Reaction};
use solo_model::platform::CoreKind;
use solo_model::task::Release;
use solo_model::{
    CoreId, CoreSet, Duration, EventId, Fixed, Instant, KindId, MetricId, SplitMix64, Task, TaskClass, TaskId,
};
use solo_schedule::{Hook, Placed, Situation, TaskParameters, Whose, placements};
use std::hint::black_box;
use std::time::Instant as Clock;

/// Threads spread over cores, of which one in four is big; their factors change from period to period.
struct Drawn {
    tasks: Vec<TaskParameters>,
    factors: Vec<Fixed>,
    cores: u16,
}

impl Situation for Drawn {
    fn metric(&self, whose: Whose, _: MetricId) -> Option<Fixed> {
        match whose {
            Whose::Task(task) => self.factors.get(task.index()).copied(),
            Whose::Core(_) => None,
        }
    }
    fn age(&self, _: Whose, _: MetricId) -> Option<Duration> {
        Some(Duration::ZERO)
    }
    fn running(&self, core: CoreId) -> Option<TaskId> {
        Some(TaskId(core.0.into()))
    }
    fn parameters(&self, task: TaskId) -> Option<TaskParameters> {
        self.tasks.get(task.index()).copied()
    }
    fn cores(&self) -> CoreSet {
        CoreSet::first(self.cores.into())
    }
    fn kind(&self, core: CoreId) -> Option<KindId> {
        Some(KindId(u8::from(core.0 >= self.cores / 4)))
    }
}

const PERIODS: u64 = 200;

/// The mean time of the ends of a period, over all cores, in nanoseconds.
fn cost(reaction: Reaction, threads: u32, cores: u16) -> f64 {
    let mut platform = chip(cores.into());
    platform.kinds.push(CoreKind { instructions_per_kilocycle: 400, ..platform.kinds[0].clone() });
    platform.cores.iter_mut().skip(usize::from(cores / 4)).for_each(|core| core.kind = 1);
    let listening = Listening::new(Observed::count_of(EventId::CYCLES), Duration::from_millis(200), reaction);
    let mut placed: Placed = placements::of(&listening, &platform);
    let once = Release::Continuous { offset: Duration::ZERO };
    let of = |task: u32| TaskParameters {
        core: Some(CoreId((task % u32::from(cores)) as u16)),
        ..TaskParameters::from(&Task::new("t", TaskClass::BestEffort, once))
    };
    let mut random = SplitMix64::new(7);
    let mut drawn = Drawn { tasks: (0..threads).map(of).collect(), factors: Vec::new(), cores };
    placed.prepare(&drawn.tasks);
    for core in 0..cores {
        let hook = Hook::SwitchIn { task: TaskId(core.into()), core: CoreId(core) };
        let _ = placed.on(Instant::ZERO, hook, &drawn);
    }
    let mut spent = 0;
    for period in 1..=PERIODS {
        drawn.factors = (0..threads)
            .filter_map(|_| Fixed::from(1000 + random.below(3000)).divide(Fixed::from(1000_u64)))
            .collect();
        let now = Instant::ZERO + Duration::from_millis(200 * period);
        let next = now + Duration::from_millis(200);
        let begin = Clock::now();
        for core in 0..cores {
            let _ = black_box(placed.on(now, Hook::Tick { core: CoreId(core), next }, &drawn));
        }
        spent += begin.elapsed().as_nanos();
    }
    spent as f64 / PERIODS as f64
}

fn main() {
    let of_kinds = Reaction::ALL.into_iter().filter(|reaction| reaction.facts().kinds);
    println!("| action | threads | cores | us a period | ns a thread |\n|---|---|---|---|---|");
    for reaction in of_kinds {
        for (threads, cores) in
            [(4, 4), (12, 12), (100, 12), (1_000, 12), (10_000, 12), (64, 64), (10_000, 64)]
        {
            let nanoseconds = cost(reaction, threads, cores);
            let each = nanoseconds / f64::from(threads);
            println!(
                "| `{}` | {threads} | {cores} | {:.2} | {each:.1} |",
                reaction.name(),
                nanoseconds / 1000.0
            );
        }
    }
}
