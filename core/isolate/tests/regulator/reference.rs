//! The published algorithms as simple models, written from what is known of them and nothing else: ours grants
//! what the module of 2013 grants, and the fault of the module of 2022 shows in its model, not in ours.

use crate::bench::{Bench, config};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use solo_isolate::regulator::{Direction, Throttle};
use solo_model::isolation::{Donation, Reclaim, WrongDonation};
use solo_model::{CoreId, Events};

/// A core under the module of 2013, with a real-time, normal or batch task.
#[derive(Clone, Copy)]
struct Core {
    budget: u64,
    class: Donation,
    used: u64,
    armed: u64,
    average: u64,
    begun: bool,
    stopped: bool,
    /// It gave away what it needed: not stopped, and no longer counted in this period.
    exempt: bool,
}

struct Of2013 {
    cores: Vec<Core>,
    pool: u64,
    quantum: u64,
}

impl Of2013 {
    fn new(budgets: &[u64], classes: &[Donation], quantum: u64) -> Self {
        let core = |(&budget, &class)| Core {
            budget,
            class,
            used: 0,
            armed: budget,
            average: 0,
            begun: false,
            stopped: false,
            exempt: false,
        };
        Self { cores: budgets.iter().zip(classes).map(core).collect(), pool: 0, quantum }
    }

    fn next_period(&mut self) {
        self.pool = 0;
        for core in &mut self.cores {
            core.average = (core.average + core.used) >> 1;
            let missing = core.budget.saturating_sub(core.used);
            let expected = if core.exempt && missing > 0 { core.budget + missing } else { core.average };
            let gift = match core.class {
                Donation::Nothing => 0,
                Donation::Surplus => core.budget.saturating_sub(expected),
                Donation::Everything => core.budget,
            };
            let gift = gift.min(core.budget - 1);
            self.pool += gift;
            *core = Core { used: 0, armed: core.budget - gift, stopped: false, exempt: false, ..*core };
            core.begun = true;
        }
    }

    /// The core has `more` to read; how much it gets to.
    fn read(&mut self, at: usize, more: u64) -> u64 {
        let core = &mut self.cores[at];
        let mut done = 0;
        while done < more && !core.stopped && !core.exempt {
            let step = (core.armed - core.used).min(more - done);
            core.used += step;
            done += step;
            if core.used < core.armed {
                break;
            }
            let own = core.class != Donation::Everything && core.used < core.budget;
            let asked = if own { core.budget - core.used } else { self.quantum };
            let granted = asked.min(self.pool);
            self.pool -= granted;
            core.armed += granted;
            if granted == 0 {
                core.exempt = core.used < core.budget;
                core.stopped = !core.exempt;
            }
        }
        done
    }
}

const BUDGETS: [u64; 4] = [1500, 700, 300, 900];

fn classes() -> impl Strategy<Value = [Donation; 4]> {
    let class = || prop_oneof![Just(Donation::Nothing), Just(Donation::Surplus), Just(Donation::Everything)];
    [class(), class(), class(), class()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Event by event, up to the point where a core needs what it gave away: there the published code lets it go
    /// on without limit for the rest of the period, and ours up to its reservation.
    #[test]
    fn grants_are_those_of_2013(
        classes in classes(),
        reads in proptest::collection::vec(prop_oneof![9 => (0_usize..4, 1_u64..900).prop_map(Some), 2 => Just(None)], 1..120),
    ) {
        let mut wanted = config(&BUDGETS);
        (wanted.reclaim, wanted.quantum, wanted.wrong_donation) =
            (Reclaim::Pool, Events::new(100), WrongDonation::Overdraw);
        for (task, class) in wanted.tasks.iter_mut().zip(classes) {
            task.donates = class;
        }
        let mut ours = Bench::new(wanted);
        let mut theirs = Of2013::new(&BUDGETS, &classes, 100);
        for read in reads {
            match read {
                None => {
                    theirs.next_period();
                    ours.next_period();
                    // The first period has nothing to predict from in either.
                }
                Some((core, events)) => {
                    let (their, our) = (theirs.read(core, events), ours.read(core, events));
                    if theirs.cores[core].exempt {
                        let wrong = ours.regulator.account(CoreId(core as u16)).unwrap().wrong_donations;
                        prop_assert!(wrong > 0, "ours has seen it too");
                        return Ok(());
                    }
                    prop_assert_eq!(their, our);
                }
            }
            for core in 0..BUDGETS.len() {
                prop_assert_eq!(theirs.cores[core].armed, ours.limit(core), "core {}", core);
                prop_assert_eq!(theirs.cores[core].stopped, ours.throttle(core) == Throttle::Core);
            }
            prop_assert_eq!(theirs.pool, ours.regulator.unclaimed(Direction::Reads).get());
        }
    }
}

/// A core under the module of 2022: a gift is what its current budget is below its budget.
struct Core2022 {
    budget: u64,
    current: u64,
    used: u64,
    interrupts_at: u64,
}

/// Reads until the core is stopped; what it read.
fn read_2022(cores: &mut [Core2022], at: usize, quantum: u64) -> u64 {
    loop {
        cores[at].used = cores[at].interrupts_at;
        if cores[at].used < cores[at].current {
            // Somebody has set its budget back while taking the gift: the handler takes this interrupt for
            // stale, and the counter has started again with the whole budget.
            cores[at].interrupts_at = cores[at].used + cores[at].budget;
            cores[at].current = cores[at].interrupts_at;
            continue;
        }
        let mut more = cores[at].budget.saturating_sub(cores[at].current);
        for (_, donor) in cores.iter_mut().enumerate().filter(|(donor, _)| *donor != at) {
            if more > quantum {
                break;
            }
            more += donor.budget.saturating_sub(donor.current);
            donor.current = donor.current.max(donor.budget);
        }
        if more == 0 {
            return cores[at].used;
        }
        cores[at].current += more;
        cores[at].interrupts_at = cores[at].current;
    }
}

/// The donor kept 500 of 4000, core 1 takes the gift, then the donor wants everything: the published code lets
/// both use 12,000 of 8000 together, ours 8000.
#[test]
fn the_double_spending_of_2022_is_its_own() {
    let mut published = [
        Core2022 { budget: 4000, current: 500, used: 0, interrupts_at: 500 },
        Core2022 { budget: 4000, current: 4000, used: 0, interrupts_at: 4000 },
    ];
    let taken = read_2022(&mut published, 1, 4000);
    assert_eq!(taken, 7500);
    assert_eq!(taken + read_2022(&mut published, 0, 4000), 7500 + 500 + 4000);

    let mut wanted = config(&[4000, 4000]);
    (wanted.reclaim, wanted.quantum, wanted.wrong_donation) =
        (Reclaim::Peers, Events::new(4000), WrongDonation::Throttle);
    wanted.tasks[1].donates = Donation::Nothing;
    let mut ours = Bench::new(wanted);
    ours.read(0, 1000);
    ours.read(1, 4000);
    ours.next_period();
    assert_eq!((ours.limit(0), ours.limit(1)), (500, 4000), "the same start");
    assert_eq!((ours.read(1, 100_000), ours.read(0, 100_000)), (7500, 500));
}
