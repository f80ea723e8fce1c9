//! Budgets of cgroups on this Linux: held on all CPUs together, and nobody stays frozen.

mod hog;

use solo_guard::groups::{GroupBudgets, GroupError, GroupTally, GroupsHeld, hold};
use solo_guard::occupier::Budgets;
use solo_guard::{Group, Guard, Machine, Setting};
use solo_model::isolation::{Budget, CoreBudget, Counted, Reclaim, Regulation, Sharing};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events};
use solo_perf::resolve::Attr;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_PAGE_FAULTS`.
const PAGE_FAULTS: Attr =
    Attr { kind: 1, config: [2, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
const PERIOD: Duration = Duration::from_millis(10);
const PERIODS: u64 = 80;

static ALONE: Mutex<()> = Mutex::new(());

/// Groups that are there while this is.
struct Made {
    guard: Guard<Machine>,
    groups: Vec<Group>,
    _state: tempfile::TempDir,
}

fn machine() -> Machine {
    Machine::below(Path::new("/")).unwrap()
}

/// So many groups in ours; nothing where this machine makes none.
fn made(count: usize) -> Option<Made> {
    let skipped = |why: String| println!("skipped: groups: {why}");
    let state = tempfile::tempdir().unwrap();
    let (mut guard, _) = Guard::start(state.path(), machine()).unwrap();
    let Some(above) = machine().group_of(std::process::id()) else {
        skipped("there are no cgroups of version 2".to_owned());
        return None;
    };
    let name = |number| format!("solo-groups-{}-{number}", std::process::id());
    let groups: Vec<Group> = (0..count).map(|number| above.below(&name(number)).unwrap()).collect();
    for group in &groups {
        let folder = Setting::Folder { group: group.clone() };
        if let Err(error) = guard.change(&folder, Setting::THERE) {
            skipped(error.to_string());
            return None;
        }
    }
    Some(Made { guard, groups, _state: state })
}

fn budgets(made: &Made, events: &[u64], change: impl Fn(&mut Regulation)) -> GroupBudgets {
    let budget = |(core, events): (u16, &u64)| CoreBudget {
        core: CoreId(core),
        budget: Budget::Events(Events::new(*events)),
        writes: None,
    };
    let cores = (0..).zip(events).map(budget).collect();
    let counted = Counted::One(EventId::LLC_MISSES);
    let mut regulation = Regulation::new(PERIOD, counted, cores, Bandwidth::ZERO);
    change(&mut regulation);
    let budgets = Budgets { regulation, line: Bytes::new(64), event: PAGE_FAULTS };
    GroupBudgets { budgets, groups: made.groups.iter().take(events.len()).cloned().collect() }
}

fn held(made: &mut Made, budgets: &GroupBudgets, periods: u64) -> Option<GroupsHeld> {
    let held = hold(budgets, &mut made.guard, &|| {}, &mut |live| match live.since >= PERIOD * periods {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    let held = match held {
        Ok(held) => held,
        Err(error @ (GroupError::Fifo(_) | GroupError::Event { .. } | GroupError::Nowhere { .. })) => {
            println!("skipped: budgets of groups: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(held.replayed.disagreements, 0);
    assert!(held.replayed.compared >= periods, "{:?}", held.replayed);
    for group in &held.groups {
        assert!(group.tally.failure.is_none(), "{:?}", group.tally.failure);
        assert_eq!(frozen(&group.group), "0", "nobody stays frozen");
    }
    Some(held)
}

fn frozen(group: &Group) -> String {
    let setting = Setting::Cgroup { group: group.clone(), knob: solo_guard::Knob::Freeze };
    use solo_guard::Actuator;
    machine().look(&setting).unwrap().value
}

/// A program that touches new pages on a CPU, in a group.
fn hog_in(group: &Group, cpu: usize) -> hog::Hog {
    let hog = hog::on(CoreId(cpu as u16));
    machine().enter(group, hog.id()).unwrap();
    hog
}

fn per_period(tally: &GroupTally) -> u64 {
    tally.tally.events / tally.tally.periods.max(1)
}

/// What the first group causes in a period while nobody holds it; nothing where this machine can't tell.
fn alone(made: &mut Made) -> Option<u64> {
    let wide = budgets(made, &[u64::MAX >> 8], |_| {});
    let free = held(made, &wide, 30)?;
    assert_eq!(free.groups[0].tally.throttled, 0);
    Some(per_period(&free.groups[0]))
}

/// That a group was held to its budget, which is a small part of what it causes `alone`. Its programs cause some more while the kernel
/// stops them: how many is the machine's, and `bench_groups` measures it.
fn assert_is_held(group: &GroupTally, budget: u64, alone: u64) {
    let tally = &group.tally;
    let used = per_period(group);
    println!("{used} of {budget} in a period, {alone} alone, beyond p50 {:?}", tally.beyond.quantile(500));
    assert!(tally.failure.is_none(), "{:?}", tally.failure);
    assert!(budget * 3 < alone, "{budget} of {alone}");
    // Where others want the CPU, too, some periods have room.
    assert!(tally.throttled * 2 >= tally.periods, "{} of {}", tally.throttled, tally.periods);
    // Delivered, not only not exceeded.
    assert!(used * 10 >= budget * 7, "{used} of {budget}");
    assert!(used * 3 < budget + alone * 2, "{used} of {budget}, {alone} alone");
}

#[test]
fn a_group_has_its_budget_on_all_cpus_together() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(2) else { return };
    let cpus = solo_threads::sched::cpus();
    let group = made.groups[0].clone();
    let _hogs: Vec<_> = cpus.iter().take(2).map(|cpu| hog_in(&group, *cpu)).collect();
    let Some(alone) = alone(&mut made) else { return };
    for budget in [40, alone / 4] {
        let wanted = budgets(&made, &[budget], |_| {});
        let Some(held) = held(&mut made, &wanted, PERIODS) else { return };
        let tally = &held.groups[0].tally;
        println!(
            "{budget} in {PERIOD} of {alone}: {} a period, beyond at most {:?}, p99 {:?}; ring to frozen p50 {:?} ns, p99 {:?}; {} leaked",
            per_period(&held.groups[0]),
            tally.beyond.max(),
            tally.beyond.quantile(990),
            tally.latency.quantile(500),
            tally.latency.quantile(990),
            tally.leaked
        );
        assert_is_held(&held.groups[0], budget, alone);
        // Who is frozen causes nothing; on a busy machine a task takes more than 5 ms until it is.
        assert!(tally.leaked * 50 <= tally.events, "{} of {} while frozen", tally.leaked, tally.events);
    }
}

#[test]
fn groups_share_and_reclaim_as_cpus_do() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(2) else { return };
    let cpus = solo_threads::sched::cpus();
    let _hog = hog_in(&made.groups[0].clone(), cpus[0]);
    let Some(alone) = alone(&mut made) else { return };
    let wanted = budgets(&made, &[40, 200], |_| {});
    let Some(plain) = held(&mut made, &wanted, PERIODS) else { return };
    let reclaimed = budgets(&made, &[40, 200], |regulation| {
        regulation.reclaim = Reclaim::Pool;
        regulation.quantum = Events::new(4);
    });
    let Some(reclaimed) = held(&mut made, &reclaimed, PERIODS) else { return };
    let shared = budgets(&made, &[40], |regulation| regulation.sharing = Sharing::Spare);
    let Some(shared) = held(&mut made, &shared, PERIODS) else { return };
    assert_is_held(&plain.groups[0], 40, alone);
    let [plain, reclaimed, shared] = [&plain, &reclaimed, &shared].map(|held| per_period(&held.groups[0]));
    println!("{plain} by itself, {reclaimed} with what the idle group leaves, {shared} where all share");
    assert!(reclaimed > plain + 40, "{reclaimed}");
    assert!(shared > plain + 40, "{shared}");
}

#[test]
fn a_storm_of_forks_stays_in_the_budget() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(1) else { return };
    let group = made.groups[0].clone();
    // Each child of this shell is a process of its own, and so is each one's page faults.
    let mut storm = Command::new("sh").args(["-c", "while :; do (:) & (:) & wait; done"]).spawn().unwrap();
    machine().enter(&group, storm.id()).unwrap();
    let alone = alone(&mut made);
    let budget = alone.unwrap_or_default() / 4;
    let wanted = budgets(&made, &[budget.max(1)], |_| {});
    let both = alone.zip(held(&mut made, &wanted, PERIODS));
    end(&mut storm);
    let Some((alone, held)) = both else { return };
    assert_is_held(&held.groups[0], budget, alone);
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn what_can_not_or_must_not_be_frozen_is_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(1) else { return };
    let [group] = made.groups.clone().try_into().unwrap();
    let own = machine().group_of(std::process::id()).unwrap();
    let none = own.below("solo-nobody-is-here").unwrap();
    let mut refused = |groups: Vec<Group>, events: u64, period: Duration| {
        let mut wanted = budgets(&made, &[events], |regulation| regulation.period = period);
        wanted.groups = groups;
        hold(&wanted, &mut made.guard, &|| {}, &mut |_| ControlFlow::Break(())).unwrap_err().to_string()
    };
    for (groups, events, period, part) in [
        (vec![Group::default()], 5, PERIOD, "the root of all groups can't be frozen"),
        (vec![none], 5, PERIOD, "solo-nobody-is-here"),
        (vec![group.clone()], 0, PERIOD, "has a budget of 0 events: it would be frozen for good"),
        (
            vec![group.clone(); 65],
            5,
            PERIOD,
            "budgets of 65 groups are more than one guard holds: 64 at most",
        ),
        (vec![group.clone()], 5, Duration::new(7), "out of range"),
        (Vec::new(), 5, PERIOD, "no group has a budget"),
    ] {
        let error = refused(groups, events, period);
        assert!(error.contains(part), "{part}: {error}");
    }
    if !own.is_root() {
        assert!(refused(vec![own], 5, PERIOD).contains("the guard itself is in it"));
    }
    use solo_guard::Actuator;
    let freeze = Setting::Cgroup { group: group.clone(), knob: solo_guard::Knob::Freeze };
    machine().set(&freeze, "1").unwrap();
    let error = refused(vec![group.clone()], 5, PERIOD);
    machine().set(&freeze, "0").unwrap();
    assert!(error.contains("is frozen already"), "{error}");
    // Another guard, of another folder, has it.
    let theirs = std::fs::File::open(machine().folder(&group).unwrap().path()).unwrap();
    rustix::fs::flock(&theirs, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = refused(vec![group], 5, PERIOD);
    assert!(error.contains("another guard holds a budget of it"), "{error}");
}

/// What nobody counts here is not the group's fault, and is told so.
#[test]
fn an_event_that_this_machine_lacks_is_told_apart_from_groups_without_counters() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(1) else { return };
    let mut strange = budgets(&made, &[5], |_| {});
    // PERF_TYPE_HARDWARE knows no event of this number.
    strange.budgets.event = Attr { kind: 0, config: [200, 0, 0], ..PAGE_FAULTS };
    let error = hold(&strange, &mut made.guard, &|| {}, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, GroupError::Nowhere { .. }), "{error}");
}

#[test]
fn a_group_that_is_taken_away_is_told_and_the_others_are_held() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(2) else { return };
    let cpus = solo_threads::sched::cpus();
    let _hog = hog_in(&made.groups[1].clone(), cpus[0]);
    let gone = made.groups[0].clone();
    made.groups.swap(0, 1);
    let Some(alone) = alone(&mut made) else { return };
    made.groups.swap(0, 1);
    let wanted = budgets(&made, &[50, 50], |_| {});
    let mut taken = false;
    let held = hold(&wanted, &mut made.guard, &|| {}, &mut |live| {
        if live.since >= PERIOD * 20 && !std::mem::replace(&mut taken, true) {
            use solo_guard::Actuator;
            machine().set(&Setting::Folder { group: gone.clone() }, Setting::ABSENT).unwrap();
        }
        match live.since >= PERIOD * PERIODS {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let Ok(held) = held else { return println!("skipped: budgets of groups: {:?}", held.err()) };
    assert!(held.groups[0].tally.failure.is_some(), "nobody is held there any more: that is told");
    let tally = &held.groups[1].tally;
    // Held to the end: it was taken away after a quarter of them.
    assert!(tally.periods * 4 > PERIODS * 3, "{} periods", tally.periods);
    assert_is_held(&held.groups[1], 50, alone);
    assert_eq!(held.replayed.disagreements, 0);
}

/// `SOLO_HOTPLUG=1`: a CPU goes offline and comes back while a group is held there. Nothing else may want that CPU meanwhile.
#[test]
fn a_cpu_that_goes_and_comes_back_is_held_again() {
    if std::env::var_os("SOLO_HOTPLUG").is_none() {
        return println!(
            "skipped: a CPU that goes offline: SOLO_HOTPLUG is not set, for it is this machine's"
        );
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut made) = made(1) else { return };
    let last = *solo_threads::sched::cpus().last().unwrap();
    let switch = format!("/sys/devices/system/cpu/cpu{last}/online");
    let set = |value: &str| std::fs::write(&switch, value);
    if last == 0 || set("1").is_err() {
        return println!("skipped: a CPU that goes offline: {switch} can't be written");
    }
    let group = made.groups[0].clone();
    let _hogs: Vec<_> = [0, last].map(|cpu| hog_in(&group, cpu)).into_iter().collect();
    let wanted = budgets(&made, &[60], |_| {});
    let mut step = 0;
    let mut counts = Vec::new();
    let held = hold(&wanted, &mut made.guard, &|| {}, &mut |live| {
        // Offline after a second, back after two, until four.
        let due = [100, 200, 400][step.min(2)];
        if live.since >= PERIOD * due {
            counts.push(live.progress()[0]);
            step += 1;
            match step {
                1 => set("0").unwrap(),
                2 => set("1").unwrap(),
                _ => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(())
    });
    let _ = set("1");
    let held = held.unwrap();
    let tally = &held.groups[0].tally;
    assert!(tally.failure.is_none(), "{:?}", tally.failure);
    for pair in counts.windows(2) {
        let (periods, events) = (pair[1].periods - pair[0].periods, pair[1].events - pair[0].events);
        println!("{events} in {periods} periods");
        assert!((50..90).contains(&(events / periods)), "{events} in {periods}");
    }
    assert_eq!(held.replayed.disagreements, 0);
}
