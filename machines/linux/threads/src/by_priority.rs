//! Criteria on stock Linux, without a module or eBPF: SCHED_FIFO's priorities, changed whenever the rank of a job does.
//!
//! While a thread waits for its next job it has that job's place among all others already. So nobody has to decide at a release: the timer
//! wakes a thread whose priority is right, and the kernel runs the most urgent ones. Only who ends a job changes the order, and only by its own
//! place: the order of all others never changes meanwhile, not even between two of the system calls that it takes.

use crate::change_log::{Call, Change, ChangeLog, Changed, Room};
use crate::coordinate::ThreadsError;
use crate::host::Host;
use crate::lack::ThreadsLack;
use crate::plane::{Plane, PlaneDomains, Raises};
use crate::sched;
use crate::sync::{self, Wait};
use solo_model::{Experiment, LockId, TaskId};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// So many changes of each order are kept, how long they took.
const KEPT: usize = 1 << 14;

/// Gives a thread of this number, as the kernel knows it, a priority of SCHED_FIFO.
type Give = fn(u32, i32) -> io::Result<()>;

/// A plane of SCHED_FIFO's priorities.
pub struct Priorities {
    groups: Vec<Group>,
    /// The group of each task.
    of_task: Vec<usize>,
}

/// How long it took to change the order, but for the last system call of each change, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// How often.
    pub count: u64,
    /// The middle of the first 16,384 of each order.
    pub p50: u64,
    /// What 99 % of them did not exceed.
    pub p99: u64,
    /// The longest of them.
    pub max: u64,
}

/// Threads that may meet on a CPU. Those that never do wait for nothing of each other.
struct Group {
    /// Taken before the order is: a thread that is preempted in the middle of a change goes on where a more urgent one of the group wants to
    /// change something, too.
    turn: sync::Mutex,
    order: Mutex<Order>,
    give: Give,
}

/// The threads of a group, the most urgent first, and how long changes took.
#[derive(Debug)]
struct Order {
    places: Vec<Place>,
    /// The priority of the most urgent one.
    highest: i32,
    count: u64,
    took: Vec<u64>,
    /// What was changed, for who decides it again after the run.
    log: ChangeLog,
    /// Of the last change: no memory is asked for while threads run.
    spare: Vec<Given>,
}

/// A thread in an order.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    key: u64,
    task: TaskId,
    thread: u32,
    /// The locks with ceilings that it has taken or is about to, and the lowest key of who else may ask for each.
    raised: Vec<(LockId, u64)>,
}

impl Place {
    /// The lowest comes first. Who holds a lock comes before all of the key to which that raises it; of one key the lowest task comes first.
    fn rank(&self) -> (u64, bool, TaskId) {
        let raised = self.raised.iter().map(|(_, key)| *key).min();
        match raised.filter(|raised| *raised <= self.key) {
            Some(raised) => (raised, false, self.task),
            None => (self.key, true, self.task),
        }
    }
}

/// A thread gets this priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Given {
    thread: u32,
    priority: i32,
}

impl Priorities {
    /// The kernel raises who holds a lock with inheritance, and keeps it raised where its own priority changes meanwhile; a ceiling is a place in the
    /// order.
    pub const RAISES: Raises = Raises { by_inheritance: true, to_ceiling: true };

    /// Nobody has a place yet. The host's highest priority stays free for who ends the run. What is changed is kept, in memory that is taken
    /// here: for as many changes as a run of the experiment makes, as far as that is known, and up to 524,288 of all orders.
    ///
    /// # Errors
    /// [`ThreadsLack::Priorities`] where there are fewer than threads, [`ThreadsError::Refused`] where the system has no such lock.
    pub fn new(experiment: &Experiment, domains: &PlaneDomains, host: &Host) -> Result<Self, ThreadsError> {
        Self::giving(domains, host, sched::fifo_of, |tasks, orders| Room::expected(experiment, tasks, orders))
    }

    /// With room for so many changes of each order.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_room(domains: &PlaneDomains, host: &Host, changes: usize) -> Result<Self, ThreadsError> {
        let room = |tasks: &[TaskId], orders| Room::new(changes, tasks.len(), orders);
        Self::giving(domains, host, sched::fifo_of, room)
    }

    /// Priorities are given like this, and orders have such room.
    pub(crate) fn giving(
        domains: &PlaneDomains,
        host: &Host,
        give: Give,
        room: impl Fn(&[TaskId], usize) -> Room,
    ) -> Result<Self, ThreadsError> {
        let (lowest, highest) = host.priorities;
        let (needed, available) = (domains.of_task.len(), usize::try_from(highest - lowest).unwrap_or(0));
        if needed > available {
            return Err(ThreadsLack::Priorities { needed, available }.into());
        }
        let of_task = groups_of(domains);
        let tasks = |group: usize| -> Vec<TaskId> {
            let own = (0..).map(TaskId).zip(&of_task).filter(|(_, own)| **own == group);
            own.map(|(task, _)| task).collect()
        };
        // Who meets others is in their order, and leaves one without threads.
        let orders = (0..domains.cpus.len()).filter(|group| of_task.contains(group)).count();
        let group = |number: usize| {
            let turn =
                sync::Mutex::new(true).map_err(|error| ThreadsError::Refused { what: "a lock", error })?;
            let tasks = tasks(number);
            let room = if tasks.is_empty() { Room::new(0, 0, 1) } else { room(&tasks, orders) };
            Ok(Group { turn, order: Mutex::new(Order::new(highest - 1, tasks.len(), room)), give })
        };
        let groups = (0..domains.cpus.len()).map(group).collect::<Result<_, ThreadsError>>()?;
        Ok(Self { groups, of_task })
    }

    /// What was changed, order by order.
    pub fn into_logs(self) -> Vec<ChangeLog> {
        let order = |group: Group| group.order.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.groups.into_iter().map(|group| order(group).log).collect()
    }

    /// How long changes of the order took.
    pub fn changes(&self) -> Changes {
        let (mut count, mut took) = (0, Vec::new());
        for group in &self.groups {
            let order = group.order();
            count += order.count;
            took.extend_from_slice(&order.took);
        }
        took.sort_unstable();
        let at =
            |per_mille: usize| took.get((took.len() * per_mille / 1000).min(took.len().saturating_sub(1)));
        let [p50, p99, max] = [500, 990, 1000].map(|per_mille| at(per_mille).copied().unwrap_or(0));
        Changes { count, p50, p99, max }
    }

    fn group(&self, task: TaskId) -> Option<&Group> {
        self.groups.get(*self.of_task.get(task.index())?)
    }

    /// Changes the place of a task's thread in its order.
    fn change(
        &self,
        task: TaskId,
        what: Change,
        change: impl FnOnce(&mut Order) -> Vec<Given>,
    ) -> io::Result<()> {
        self.group(task).map_or(Ok(()), |group| group.change(task, what, change))
    }
}

impl Plane for Priorities {
    fn enter(&self, task: TaskId, thread: u32, key: u64) -> io::Result<()> {
        // With room for what it takes while it runs.
        let place = Place { key, task, thread, raised: Vec::with_capacity(8) };
        self.change(task, Change::Enter { thread }, |order| order.enter(place))
    }

    fn rank(&self, task: TaskId, key: u64) -> io::Result<()> {
        self.change(task, Change::Rank, |order| order.rank(task, key))
    }

    fn raises(&self) -> Raises {
        Self::RAISES
    }

    fn raise(&self, task: TaskId, lock: LockId, others: &[TaskId]) -> io::Result<()> {
        self.change(task, Change::Raise(lock), |order| order.raise(task, lock, others))
    }

    fn lower(&self, task: TaskId, lock: LockId) -> io::Result<()> {
        self.change(task, Change::Lower(lock), |order| order.lower(task, lock))
    }

    fn look(&self) {}
}

/// The group of each task: domains that have a CPU in common are one, for their threads meet there.
fn groups_of(domains: &PlaneDomains) -> Vec<usize> {
    let mut group: Vec<usize> = (0..domains.cpus.len()).collect();
    for (one, cpus) in domains.cpus.iter().enumerate() {
        for other in 0..one {
            if cpus.iter().any(|cpu| domains.cpus[other].contains(cpu)) {
                let (from, to) = (group[one], group[other]);
                group.iter_mut().filter(|own| **own == from).for_each(|own| *own = to);
            }
        }
    }
    domains.of_task.iter().map(|domain| group[*domain]).collect()
}

impl Group {
    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the order, gives threads their priorities one after another, and keeps both.
    fn change(
        &self,
        task: TaskId,
        what: Change,
        change: impl FnOnce(&mut Order) -> Vec<Given>,
    ) -> io::Result<()> {
        let began = Instant::now();
        while !self.turn.try_take() && self.turn.wait() == Wait::NotYet {}
        let given = self.order().changed(task, what, change);
        let give = |Given { thread, priority }: Given| {
            let done = (self.give)(thread, priority);
            let number = |error: &io::Error| error.raw_os_error().unwrap_or(libc::EIO);
            let refused = done.as_ref().err().map_or(0, number);
            self.order().log.called(Call { thread, priority, refused });
            // It has ended.
            if refused == libc::ESRCH { Ok(()) } else { done }
        };
        let (last, others) =
            given.split_last().map_or((None, &[][..]), |(last, others)| (Some(*last), others));
        let done = others.iter().copied().try_for_each(give);
        // The last one may be who asks, and then it may lose its CPU with it: that is not what it takes.
        self.order().note(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let done = done.and_then(|()| last.map_or(Ok(()), give));
        self.order().spare = given;
        self.turn.give();
        done
    }
}

impl Order {
    /// For so many threads.
    fn new(highest: i32, threads: usize, room: Room) -> Self {
        Self {
            places: Vec::with_capacity(threads),
            highest,
            count: 0,
            took: Vec::with_capacity(KEPT),
            log: ChangeLog::new(highest, room),
            spare: Vec::with_capacity(threads),
        }
    }

    /// Changes itself, and keeps what it was; the priorities that follow from it.
    fn changed(
        &mut self,
        task: TaskId,
        change: Change,
        apply: impl FnOnce(&mut Self) -> Vec<Given>,
    ) -> Vec<Given> {
        let given = apply(self);
        let place = self.places.iter().position(|place| place.task == task);
        let key = place.map_or(0, |place| self.places[place].key);
        let place = place.and_then(|place| u32::try_from(place).ok()).unwrap_or(u32::MAX);
        let (number, at) = (self.count, solo_perf::now());
        self.log.keep(Changed { number, at, task, change, key, place, calls: 0 }, given.len());
        given
    }

    fn note(&mut self, took: u64) {
        self.count += 1;
        if self.took.len() < KEPT {
            self.took.push(took);
        }
    }

    /// A thread has its first place.
    fn enter(&mut self, own: Place) -> Vec<Given> {
        let place = self.position(&own);
        self.places.insert(place, own);
        // The least urgent first: nobody is more urgent for a moment than who is before it.
        self.given((place..self.places.len()).rev())
    }

    /// A thread has another key.
    fn rank(&mut self, task: TaskId, key: u64) -> Vec<Given> {
        self.moves(task, |place| place.key = key)
    }

    /// A thread comes before those of `others` from now on.
    ///
    /// Each of them has the place of its job, or of its next one where it waits for that; those behind are less urgent.
    fn raise(&mut self, task: TaskId, lock: LockId, others: &[TaskId]) -> Vec<Given> {
        let others = self.places.iter().filter(|place| place.task != task && others.contains(&place.task));
        let Some(key) = others.map(|place| place.key).min() else { return self.given(0..0) };
        self.moves(task, |place| place.raised.push((lock, key)))
    }

    /// It comes before them no longer, for this lock.
    fn lower(&mut self, task: TaskId, lock: LockId) -> Vec<Given> {
        self.moves(task, |place| place.raised.retain(|(raised, _)| *raised != lock))
    }

    /// A thread has another place: those between the old and the new one each move by one, and it comes last.
    fn moves(&mut self, task: TaskId, change: impl FnOnce(&mut Place)) -> Vec<Given> {
        let Some(old) = self.places.iter().position(|place| place.task == task) else {
            return self.given(0..0);
        };
        let mut own = self.places.remove(old);
        change(&mut own);
        let new = self.position(&own);
        self.places.insert(new, own);
        match new.cmp(&old) {
            std::cmp::Ordering::Equal => self.given(0..0),
            std::cmp::Ordering::Greater => self.given(old..=new),
            std::cmp::Ordering::Less => self.given((new..=old).rev()),
        }
    }

    /// Where a thread belongs.
    fn position(&self, own: &Place) -> usize {
        self.places.partition_point(|place| place.rank() < own.rank())
    }

    /// The priorities of those at these places.
    fn given(&mut self, places: impl Iterator<Item = usize>) -> Vec<Given> {
        let one = |place: usize| {
            let priority = self.highest - i32::try_from(place).unwrap_or(i32::MAX);
            Given { thread: self.places[place].thread, priority }
        };
        let mut given = std::mem::take(&mut self.spare);
        given.clear();
        given.extend(places.map(one));
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{CoreId, CoreSet, SplitMix64};
    use std::collections::BTreeMap;

    fn domains(cpus: &[&[u16]], of_task: &[usize]) -> PlaneDomains {
        let set = |cpus: &&[u16]| cpus.iter().fold(CoreSet::EMPTY, |set, cpu| set.with(CoreId(*cpu)));
        PlaneDomains { cpus: cpus.iter().map(set).collect(), of_task: of_task.to_vec() }
    }

    /// Priorities given one after another, as the kernel sees them: who is before another is never less urgent, but for the one that moves.
    #[test]
    fn the_order_of_all_others_holds_between_any_two_changes() {
        let mut random = SplitMix64::new(11);
        for _ in 0..400 {
            let tasks = 1 + random.below(20) as u32;
            let mut order = Order::new(97, 20, Room::new(1, 20, 1));
            let mut seen: BTreeMap<u32, i32> = BTreeMap::new();
            for task in 0..tasks {
                let key = random.below(30);
                let place = Place { key, task: TaskId(task), thread: 100 + task, raised: Vec::new() };
                for given in order.enter(place) {
                    seen.insert(given.thread, given.priority);
                }
            }
            for _ in 0..50 {
                let moving = TaskId(random.below(u64::from(tasks)) as u32);
                let lock = LockId(random.below(3) as u16);
                let users: Vec<TaskId> = (0..tasks).filter(|_| random.below(3) == 0).map(TaskId).collect();
                let given = match random.below(4) {
                    0 => order.raise(moving, lock, &users),
                    1 => order.lower(moving, lock),
                    _ => order.rank(moving, random.below(30)),
                };
                let others: Vec<u32> = order
                    .places
                    .iter()
                    .filter(|place| place.task != moving)
                    .map(|place| place.thread)
                    .collect();
                for Given { thread, priority } in given {
                    seen.insert(thread, priority);
                    let in_order: Vec<i32> = others.iter().map(|thread| seen[thread]).collect();
                    assert!(in_order.is_sorted_by(|before, after| before >= after), "{in_order:?}");
                }
                assert!(order.places.is_sorted_by_key(Place::rank), "{order:?}");
                let in_order: Vec<i32> = order.places.iter().map(|place| seen[&place.thread]).collect();
                assert!(in_order.is_sorted_by(|before, after| before > after), "{in_order:?}");
                assert_eq!(in_order[0], 97);
            }
        }
    }

    /// Keys by hand: 10, 20, 30, 40 of tasks 0 to 3, the last two of which share a lock with task 1, and all one with task 0.
    #[test]
    fn who_holds_a_lock_comes_before_all_who_may_ask_for_it_and_nobody_else() {
        let mut order = Order::new(97, 20, Room::new(1, 20, 1));
        for task in 0..4 {
            let key = 10 * u64::from(task + 1);
            order.enter(Place { key, task: TaskId(task), thread: 100 + task, raised: Vec::new() });
        }
        let tasks = |order: &Order| order.places.iter().map(|place| place.task.0).collect::<Vec<_>>();
        let users = [1, 2, 3].map(TaskId);
        let given = order.raise(TaskId(3), LockId(0), &users);
        // The others make room first, the last of them first.
        let expected = [(102, 94), (101, 95), (103, 96)].map(|(thread, priority)| Given { thread, priority });
        assert_eq!(given, expected);
        assert_eq!(tasks(&order), [0, 3, 1, 2]);
        let all = [0, 1, 2, 3].map(TaskId);
        order.raise(TaskId(3), LockId(1), &all);
        assert_eq!(tasks(&order), [3, 0, 1, 2]);
        // In any order, and its own job's key does not matter meanwhile.
        order.lower(TaskId(3), LockId(0));
        order.rank(TaskId(3), 15);
        assert_eq!(tasks(&order), [3, 0, 1, 2]);
        order.lower(TaskId(3), LockId(1));
        assert_eq!(tasks(&order), [0, 3, 1, 2]);
        // Who is the most urgent of all users stays where it is; who is alone is not raised.
        assert_eq!(order.raise(TaskId(0), LockId(1), &all), []);
        assert_eq!(order.raise(TaskId(2), LockId(2), &[TaskId(2)]), []);
        assert_eq!(tasks(&order), [0, 3, 1, 2]);
    }

    #[test]
    fn threads_that_never_meet_have_orders_of_their_own() {
        assert_eq!(groups_of(&domains(&[&[0], &[1, 2], &[3]], &[0, 1, 2, 1])), [0, 1, 2, 1]);
        let met = groups_of(&domains(&[&[0], &[3], &[0, 1], &[1, 3], &[5]], &[0, 1, 2, 3, 4]));
        assert!(met[..4].iter().all(|group| *group == met[0]) && met[4] != met[0], "{met:?}");
    }
}
