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

    /// What others conclude from the facts is what the policy does: whoever is said to do nothing does nothing, and only who is
    /// said to move tasks moves them.
    #[test]
    fn every_placement_does_what_its_facts_say() {
        let mut platform = fixtures::chip(4);
        for cores in [[0, 1], [2, 3]] {
            let cores = cores.into_iter().map(CoreId).fold(CoreSet::EMPTY, CoreSet::with);
            platform.caches.push(fixtures::cache(2, Contents::Unified, cores, 256, 8, 10));
        }
        platform.kinds.push(CoreKind { instructions_per_kilocycle: 500, ..platform.kinds[0].clone() });
        platform.cores[2..].iter_mut().for_each(|core| core.kind = 1);
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
