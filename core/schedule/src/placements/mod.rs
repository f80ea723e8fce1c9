//! The placements, one file each.
//!
//! A new one is a file here and a line in [`solo_model::placements!`], which is what the list below is made of. A placement
//! outside this crate needs neither: the kernel takes any value that implements [`Placement`](crate::Placement).

use crate::placement::Placed;
use solo_model::listening::Reaction;
use solo_model::{Listening, Platform};

mod alert;
mod asymmetric;
mod crowd;
mod lookahead;
mod sweep;

macro_rules! list {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $file:ident: $facts:expr;)+) => {
        $(mod $file; pub use $file::$name;)+

        /// The policy that an experiment asks for, on the cores of `platform`.
        pub fn of(listening: &Listening, platform: &Platform) -> Placed {
            match listening.reaction {
                $(Reaction::$name => Placed::new($name::new(listening, platform)),)+
            }
        }
    };
}

solo_model::placements!(list);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::TaskParameters;
    use crate::placement::{Action, Hook, KindId, Situation, Whose};
    use alloc::vec::Vec;
    use core::cell::Cell;
    use solo_model::listening::Observed;
    use solo_model::platform::{Contents, CoreKind};
    use solo_model::sample::Why;
    use solo_model::task::Release;
    use solo_model::{
        CoreId, CoreSet, Duration, EventId, Fixed, Instant, MetricId, SplitMix64, Task, TaskClass, TaskId,
        fixtures,
    };

    /// Four cores in two pairs behind a cache each, the second pair slower, with what is counted and who runs drawn.
    struct Drawn {
        counts: [Option<u64>; 4],
        running: [Option<TaskId>; 4],
        factors: [Option<u64>; 8],
    }

    impl Drawn {
        fn new(random: &mut SplitMix64) -> Self {
            let mut some = |most| (random.below(4) > 0).then(|| random.below(most));
            Self {
                counts: core::array::from_fn(|_| some(10)),
                running: core::array::from_fn(|core| {
                    some(2).map(|other| TaskId(core as u32 + 4 * other as u32))
                }),
                factors: core::array::from_fn(|_| some(20)),
            }
        }
    }

    impl Situation for Drawn {
        fn metric(&self, whose: Whose, _: MetricId) -> Option<Fixed> {
            match whose {
                Whose::Core(core) => self.counts[core.index()].map(Fixed::from),
                Whose::Task(task) => self.factors[task.index()].map(Fixed::from),
            }
        }
        fn age(&self, whose: Whose, metric: MetricId) -> Option<Duration> {
            self.metric(whose, metric).map(|_| Duration::ZERO)
        }
        fn running(&self, core: CoreId) -> Option<TaskId> {
            self.running[core.index()]
        }
        fn parameters(&self, _: TaskId) -> Option<TaskParameters> {
            Some(parameters(CoreId(0)))
        }
        fn cores(&self) -> CoreSet {
            CoreSet::first(4)
        }
        fn kind(&self, core: CoreId) -> Option<KindId> {
            Some(KindId((core.0 / 2) as u8))
        }
    }

    fn parameters(core: CoreId) -> TaskParameters {
        let once = Release::Once { offset: Duration::ZERO };
        TaskParameters {
            core: Some(core),
            ..TaskParameters::from(&Task::new("t", TaskClass::BestEffort, once))
        }
    }

    /// Four cores in two pairs behind a cache each, the second pair slower.
    fn pairs() -> Platform {
        let mut platform = fixtures::chip(4);
        for cores in [[0, 1], [2, 3]] {
            let cores = cores.into_iter().map(CoreId).fold(CoreSet::EMPTY, CoreSet::with);
            platform.caches.push(fixtures::cache(2, Contents::Unified, cores, 256, 8, 10));
        }
        platform.kinds.push(CoreKind { instructions_per_kilocycle: 500, ..platform.kinds[0].clone() });
        platform.cores[2..].iter_mut().for_each(|core| core.kind = 1);
        platform
    }

    /// What others conclude from the facts is what the policy does: whoever is said to do nothing does nothing, and only who is
    /// said to move tasks moves them.
    #[test]
    fn every_placement_does_what_its_facts_say() {
        let platform = pairs();
        let mut random = SplitMix64::new(13);
        for reaction in Reaction::ALL {
            let observed = Observed::count_of(EventId::SNOOP_HITM);
            let mut listening = Listening::new(observed, Duration::from_millis(1), reaction);
            listening.threshold = Fixed::from(4_u64);
            let mut placement = of(&listening, &platform);
            let tasks: [TaskParameters; 8] = core::array::from_fn(|task| parameters(CoreId(task as u16 % 4)));
            let (mut acted, mut moved, mut divided, mut slowed) = (false, false, false, false);
            for at in 0..4000_u64 {
                if at % 1000 == 0 {
                    // One that decides once may find everybody where it should be.
                    placement = of(&listening, &platform);
                    placement.prepare(&tasks);
                }
                let now = Instant::ZERO + Duration::from_micros(at * 250);
                let core = CoreId((at % 4) as u16);
                let next = Instant::ZERO + Duration::from_millis(at / 4 + 1);
                let drawn = Drawn::new(&mut random);
                let sample = Hook::Sample { of: Whose::Core(core), core, why: Why::Overflow };
                let came = drawn.running(core).map(|task| Hook::SwitchIn { task, core });
                for hook in came.into_iter().chain([sample, Hook::Tick { core, next }]) {
                    for action in placement.on(now, hook, &drawn).iter() {
                        acted = true;
                        match action {
                            Action::Move { .. } | Action::Kind { .. } => moved = true,
                            Action::Hold { .. } | Action::Weight { .. } => {}
                            Action::Ways { .. } => divided = true,
                            Action::Slow { .. } => slowed = true,
                        }
                    }
                }
            }
            let facts = reaction.facts();
            let says = (facts.acts, facts.moves, facts.divides, facts.slows);
            assert_eq!(says, (acted, moved, divided, slowed), "{}", reaction.name());
        }
    }

    /// So many tasks on four cores, of which anything is known that is drawn; how often anybody asked.
    struct Asked {
        tasks: u32,
        drawn: u64,
        asked: Cell<u64>,
    }

    impl Asked {
        fn draw(&self, of: u64) -> u64 {
            self.asked.set(self.asked.get() + 1);
            SplitMix64::derived(self.drawn, &[of]).next_u64()
        }
    }

    impl Situation for Asked {
        fn metric(&self, whose: Whose, _: MetricId) -> Option<Fixed> {
            let of = match whose {
                Whose::Core(core) => 1000 + u64::from(core.0),
                Whose::Task(task) => u64::from(task.0),
            };
            let number = self.draw(of) % 40;
            (number > 3).then(|| Fixed::from(number))
        }
        fn age(&self, whose: Whose, metric: MetricId) -> Option<Duration> {
            self.metric(whose, metric).map(|_| Duration::ZERO)
        }
        fn running(&self, core: CoreId) -> Option<TaskId> {
            Some(TaskId((self.draw(2000 + u64::from(core.0)) % u64::from(self.tasks)) as u32))
        }
        fn parameters(&self, task: TaskId) -> Option<TaskParameters> {
            (task.0 < self.tasks).then(|| parameters(CoreId((task.0 % 4) as u16)))
        }
        fn is_ready(&self, task: TaskId) -> bool {
            !self.draw(3000 + u64::from(task.0)).is_multiple_of(5)
        }
        fn cores(&self) -> CoreSet {
            CoreSet::first(4)
        }
        fn kind(&self, core: CoreId) -> Option<KindId> {
            Some(KindId(u8::from(core.0 >= 2)))
        }
    }

    /// The most questions that a policy asks about one thing that happens, with so many tasks.
    fn most_asked(reaction: Reaction, tasks: u32) -> u64 {
        let observed = Observed::count_of(EventId::SNOOP_HITM);
        let listening = Listening::new(observed, Duration::from_millis(1), reaction);
        let mut placement = of(&listening, &pairs());
        let all: Vec<TaskParameters> = (0..tasks).map(|task| parameters(CoreId((task % 4) as u16))).collect();
        placement.prepare(&all);
        let mut random = SplitMix64::new(u64::from(tasks));
        let mut most = 0;
        for at in 0..2000_u64 {
            let now = Instant::ZERO + Duration::from_micros(at * 250);
            let (core, task) = (CoreId((at % 4) as u16), TaskId(random.below(tasks.into()) as u32));
            let next = Instant::ZERO + Duration::from_millis(at / 4 + 1);
            let hooks = [
                Hook::SwitchIn { task, core },
                Hook::Sample { of: Whose::Core(core), core, why: Why::Overflow },
                Hook::SwitchOut { task, core },
                Hook::Tick { core, next },
            ];
            for hook in hooks {
                let asked = Asked { tasks, drawn: random.next_u64(), asked: Cell::new(0) };
                let _ = placement.on(now, hook, &asked);
                most = most.max(asked.asked.get());
            }
        }
        most
    }

    /// What a policy asks grows no faster than its tasks; of two policies, than what their loops say.
    #[test]
    fn a_policy_asks_about_each_task_and_core_a_fixed_number_of_times() {
        for reaction in Reaction::ALL {
            for tasks in [1, 4, 16, 64] {
                let (most, of) = (most_asked(reaction, tasks), u64::from(tasks) + 4);
                let bound = match reaction {
                    // Each pair of two caches.
                    Reaction::Spread => of * of,
                    // Each number of eight ways twice for each process, in eight rounds, with three questions.
                    Reaction::Utility => 8 * 9 * 3 * of,
                    _ => 4 * of,
                };
                assert!(most <= bound, "{}: {most} questions with {tasks} tasks", reaction.name());
            }
        }
    }

    #[test]
    fn every_placement_has_the_name_of_the_model_and_settings_within_their_bounds() {
        let platform = fixtures::chip(4);
        for reaction in Reaction::ALL {
            let observed = Observed::count_of(EventId::SNOOP_HITM);
            let listening = Listening::new(observed, Duration::from_millis(1), reaction);
            assert_eq!(of(&listening, &platform).name(), reaction.name());
            for setting in reaction.facts().settings {
                assert!((setting.least..=setting.most).contains(&setting.default), "{}", setting.name);
                assert_eq!(listening.setting(setting.name), setting.default);
            }
        }
    }
}
