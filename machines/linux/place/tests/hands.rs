//! What the hands do about a machine that changes between a decision and what is done: adversaries on a made-up Linux.

mod common;

use common::{Fake, Script, World, affinity, knob};
use solo_corpus::ideal_platform;
use solo_guard::{Fate, Group, Guard, Knob, Setting, restore};
use solo_model::listening::{Observed, Reaction, ScriptedCount};
use solo_model::{
    CoreId, Duration, EventId, EventSet, Fixed, Instant, Listening, SplitMix64, TaskClass, TaskId,
};
use solo_place::{Agent, Decision, Hands, Outcome, PlacedTask, Placing};
use std::io;

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const PERIOD: Duration = Duration::from_millis(1);

fn group(name: &str) -> Group {
    Group::new(name).unwrap()
}

fn task(name: &str, core: u16) -> PlacedTask {
    PlacedTask { name: name.to_owned(), class: TaskClass::BestEffort, core: CoreId(core) }
}

/// Two tasks: one of two threads in a group, one alone without a group.
fn machine() -> Fake {
    let folder = Setting::Folder { group: group("a") };
    Fake::with(&[
        (folder, Setting::ABSENT),
        (affinity(10, "a"), "0-3"),
        (affinity(11, "a"), "2"),
        (affinity(20, ""), "0-3"),
        (knob("a", Knob::Freeze), "0"),
        (knob("a", Knob::CpuWeight), "100"),
    ])
}

fn hands(fake: &Fake, place: &std::path::Path) -> Hands<Fake> {
    let (guard, _) = Guard::start(place, fake.clone()).unwrap();
    let mut hands = Hands::new(guard, &ideal_platform(4));
    hands.make_group(&group("a")).unwrap();
    hands.take(&task("a", 0), vec![10, 11], group("a")).unwrap();
    hands.take(&task("b", 1), vec![20], Group::default()).unwrap();
    hands
}

fn to(task: TaskId, core: u16) -> Decision {
    Decision::Move { task, core: CoreId(core) }
}

fn hold(task: TaskId) -> Decision {
    Decision::Hold { task, until: Instant::new(5) }
}

#[test]
fn decisions_come_true_and_everything_is_put_back() {
    let (fake, place) = (machine(), tempfile::tempdir().unwrap());
    let before = fake.0.borrow().values.clone();
    let mut hands = hands(&fake, place.path());
    assert_eq!(fake.says(&affinity(11, "a")).as_deref(), Some("0"), "on its core from the beginning");
    for (decision, setting, value) in [
        (to(A, 3), affinity(10, "a"), "3"),
        (to(A, 3), affinity(11, "a"), "3"),
        (hold(A), knob("a", Knob::Freeze), "1"),
        (Decision::Go { task: A }, knob("a", Knob::Freeze), "0"),
        (Decision::Weight { task: A, per_mille: 2500 }, knob("a", Knob::CpuWeight), "250"),
        (Decision::Kind { task: B, kind: 0 }, affinity(20, ""), "0,1,2,3"),
        (to(B, 2), affinity(20, ""), "2"),
    ] {
        assert_eq!(hands.carry_out(decision), Outcome::Done, "{decision:?}");
        assert_eq!(fake.says(&setting).as_deref(), Some(value), "{decision:?}");
    }
    let restored = hands.undo();
    assert!(
        restored.is_whole()
            && restored.settings.iter().all(|(_, fate)| *fate == Fate::PutBack || *fate == Fate::AsFound),
        "{restored:?}"
    );
    assert_eq!(fake.0.borrow().values, before);
}

#[test]
fn who_has_ended_is_gone_and_who_changes_its_own_cpus_is_left_alone() {
    let (fake, place) = (machine(), tempfile::tempdir().unwrap());
    let mut hands = hands(&fake, place.path());
    // One of two threads ends between the decision and the deed: the other moves. Then both.
    fake.put(&affinity(11, "a"), None);
    assert_eq!(hands.carry_out(to(A, 2)), Outcome::Done);
    assert_eq!(fake.says(&affinity(10, "a")).as_deref(), Some("2"));
    fake.put(&affinity(10, "a"), None);
    assert_eq!(hands.carry_out(to(A, 3)), Outcome::Gone);
    fake.put(&knob("a", Knob::Freeze), None);
    assert_eq!(hands.carry_out(hold(A)), Outcome::Gone);
    // The other one changes its own CPUs.
    assert_eq!(hands.look_after(B), None);
    fake.put(&affinity(20, ""), Some("2-3"));
    assert_eq!(hands.look_after(B), Some(CoreId(2)));
    assert_eq!(hands.carry_out(to(B, 0)), Outcome::Theirs);
    assert_eq!(fake.says(&affinity(20, "")).as_deref(), Some("2-3"));
    assert_eq!((hands.strayed(), hands.tallies()[1].theirs), (vec![false, true], 1));
    let restored = hands.undo();
    assert!(restored.is_whole());
    assert_eq!(fake.says(&affinity(20, "")).as_deref(), Some("2-3"), "theirs for good");
}

#[test]
fn what_linux_refuses_is_counted_once_said_and_changes_nothing_else() {
    let (fake, place) = (machine(), tempfile::tempdir().unwrap());
    let mut hands = hands(&fake, place.path());
    fake.refuse(&knob("a", Knob::Freeze), io::ErrorKind::PermissionDenied);
    // A CPU that was taken offline: the kernel refuses a list without a CPU that is there.
    fake.refuse(&affinity(20, ""), io::ErrorKind::InvalidInput);
    for _ in 0..3 {
        assert!(matches!(hands.carry_out(hold(A)), Outcome::Refused(_)));
        assert!(matches!(hands.carry_out(to(B, 3)), Outcome::Refused(_)));
    }
    // A task without a group can't be held.
    assert!(!matches!(hands.carry_out(hold(B)), Outcome::Done));
    assert_eq!(hands.reasons().len(), 2, "{:?}", hands.reasons());
    assert_eq!(hands.carry_out(to(A, 1)), Outcome::Done);
    fake.0.borrow_mut().refuses.clear();
    assert!(hands.undo().is_whole());
    assert_eq!(fake.says(&affinity(10, "a")).as_deref(), Some("0-3"));
}

#[test]
fn who_is_born_while_its_parent_is_moved_follows_and_is_put_back() {
    let (fake, place) = (machine(), tempfile::tempdir().unwrap());
    let mut hands = hands(&fake, place.path());
    // A child with the mask of its parent, and one that has chosen its own.
    fake.put(&affinity(12, "a"), Some("0"));
    fake.put(&affinity(13, "a"), Some("1-2"));
    fake.0.borrow_mut().heirs.insert(10, vec![11, 12, 13]);
    assert_eq!(hands.carry_out(to(A, 3)), Outcome::Done);
    assert_eq!(fake.says(&affinity(12, "a")).as_deref(), Some("3"), "it follows");
    assert_eq!(fake.says(&affinity(13, "a")).as_deref(), Some("1-2"), "it has its own");
    // One more is born in the middle, and its parent ends; the agent is killed.
    fake.put(&affinity(14, "a"), Some("3"));
    fake.0.borrow_mut().heirs.insert(10, vec![11, 12, 13, 14]);
    fake.put(&affinity(10, "a"), None);
    std::mem::forget(hands);
    // The journal is locked by who is dead in this very process: a copy of it stands for the next start.
    let next = tempfile::tempdir().unwrap();
    std::fs::copy(place.path().join(solo_guard::JOURNAL), next.path().join(solo_guard::JOURNAL)).unwrap();
    let restored = restore(next.path(), fake.clone()).unwrap();
    assert!(restored.is_whole(), "{restored:?}");
    for (thread, cpus) in [(11, "2"), (12, "0-3"), (13, "1-2"), (14, "0-3")] {
        assert_eq!(fake.says(&affinity(thread, "a")).as_deref(), Some(cpus), "{thread}");
    }
    assert_eq!(fake.says(&Setting::Folder { group: group("a") }).as_deref(), Some(Setting::ABSENT));
}

#[test]
fn two_at_once_know_each_other_by_the_journal_or_by_what_they_find() {
    let (fake, place) = (machine(), tempfile::tempdir().unwrap());
    let mut first = hands(&fake, place.path());
    assert!(Guard::start(place.path(), fake.clone()).is_err(), "one journal, one agent");
    // With a journal of its own the second one takes the same task; the first one sees that and lets go of it.
    let other = tempfile::tempdir().unwrap();
    let (guard, _) = Guard::start(other.path(), fake.clone()).unwrap();
    let mut second = Hands::new(guard, &ideal_platform(4));
    second.take(&task("b", 3), vec![20], Group::default()).unwrap();
    assert_eq!(first.look_after(B), Some(CoreId(3)));
    assert_eq!(first.carry_out(to(B, 0)), Outcome::Theirs);
    assert_eq!(fake.says(&affinity(20, "")).as_deref(), Some("3"));
    // Whoever ends last puts back what it found: the second one what the first one had written, which nobody owns any more. So the
    // order is told in the documentation, and the first one's end changes nothing of the second's.
    assert!(first.undo().is_whole());
    assert_eq!(fake.says(&affinity(20, "")).as_deref(), Some("3"));
    assert!(second.undo().is_whole());
}

/// Tasks that end, CPUs that go and come back, machines that refuse: whatever happens, nobody is frozen or moved in the end who still
/// lives, and the agent and its twin agree.
#[test]
fn drawn_runs_end_as_they_began() {
    // `SOLO_PLACE_RUNS`: so many. Each change is synced to the disk, which is what takes the time.
    let runs = std::env::var("SOLO_PLACE_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let (mut held, mut moved) = (0, 0);
    for seed in 0..runs {
        let mut random = SplitMix64::new(seed);
        let reactions = [Reaction::Yield, Reaction::Serialize, Reaction::Gather];
        let reaction = reactions[random.below(3) as usize];
        let event = EventId::CONTEXT_SWITCHES;
        let mut listening = Listening::new(Observed::count_of(event), PERIOD, reaction);
        listening.threshold = Fixed::from(4_u64);
        let tasks = (0..3).map(|core| task(&format!("t{core}"), core)).collect::<Vec<_>>();
        let placing = Placing { listening, platform: ideal_platform(4), tasks: tasks.clone() };
        let counts = (0..60).map(|at| ScriptedCount {
            core: CoreId(random.below(4) as u16),
            event,
            at: Instant::new(300_000 * at),
            count: random.below(9),
        });
        let mut world =
            World::new(Script { counts: counts.collect(), events: EventSet::EMPTY.with(event) }, 3, 4);
        let groups = [0, 1, 2].map(|number| format!("g{number}"));
        let mut values = Vec::new();
        for (number, name) in (0..).zip(&groups) {
            values.push((affinity(100 + number, name), "0-3"));
            values.push((knob(name, Knob::Freeze), "0"));
        }
        let fake = Fake::with(&values);
        let before = fake.0.borrow().values.clone();
        let place = tempfile::tempdir().unwrap();
        let (guard, _) = Guard::start(place.path(), fake.clone()).unwrap();
        let mut hands = Hands::new(guard, &placing.platform);
        for (number, task) in (0..).zip(&tasks) {
            hands.take(task, vec![100 + number], group(&groups[number as usize])).unwrap();
        }
        let mut agent = Agent::new(&placing).unwrap();
        let mut twin = agent.clone();
        for period in 1..=18 {
            match random.below(12) {
                0 => drop(world.ended.insert(random.below(3) as u32)),
                1 => drop(world.offline.insert(random.below(4) as u16)),
                2 => world.offline.clear(),
                3 => {
                    let setting = knob(&groups[random.below(3) as usize], Knob::Freeze);
                    fake.refuse(&setting, io::ErrorKind::PermissionDenied);
                }
                4 => fake.0.borrow_mut().refuses.clear(),
                _ => {}
            }
            let seen = world.look(Instant::ZERO + PERIOD * period, PERIOD, &agent);
            // Who has ended is gone from the machine, too, before anything is done.
            for ended in &world.ended {
                fake.put(&affinity(100 + ended, &groups[*ended as usize]), None);
                fake.put(&knob(&groups[*ended as usize], Knob::Freeze), None);
            }
            let decided = agent.on(&seen);
            assert_eq!(twin.on(&seen), decided, "{seed}");
            for decision in decided {
                let done = hands.carry_out(decision);
                let late = world.ended.contains(&decision.task().0);
                assert!(!late || done == Outcome::Gone, "{seed}: {decision:?} {done:?}");
                held += u64::from(matches!(decision, Decision::Hold { .. }));
                moved += u64::from(matches!(decision, Decision::Move { .. }));
            }
        }
        assert_eq!(agent, twin);
        fake.0.borrow_mut().refuses.clear();
        assert!(hands.undo().is_whole(), "{seed}");
        for (setting, value) in &fake.0.borrow().values {
            assert_eq!(Some(value), before.get(setting), "{seed}: {setting}");
        }
    }
    assert!(held > runs && moved > runs / 5, "{held} held, {moved} moved");
}
