//! How long a task of one core waits for less urgent ones: for a lock whose ceiling is at least its own urgency, or for
//! the end of an access to memory, within which a core takes no interrupt.

use super::one_core::{Analysis, Delay};
use super::{Member, Open};
use solo_model::TaskClass;
use solo_model::units::Duration;
use solo_model::work::LockProtocol;

/// A section of a task of this core.
struct Held<'a> {
    /// The position of its task in the order of urgency.
    rank: usize,
    locks: &'a [usize],
    length: u64,
}

impl Analysis<'_> {
    /// What no theorem covers of the locks used on this core.
    fn refused(&self) -> Option<Open> {
        let named = |lock: usize, why| Open::Lock { name: self.system.locks[lock].name.clone(), why };
        self.order.iter().find_map(|&task| {
            let member = &self.system.tasks[task];
            let sleeping = member.sections.iter().find(|section| section.sleeps);
            let semaphore = member.semaphores.first().map(|&lock| named(lock, "semaphores are not analysed"));
            semaphore
                .or_else(|| Some(named(*member.kept.first()?, "a job ends while it holds it")))
                .or_else(|| Some(named(*sleeping?.locks.first()?, "a job sleeps while it holds it")))
                .or_else(|| self.unprotected(task))
        })
    }

    fn unprotected(&self, task: usize) -> Option<Open> {
        let system = self.system;
        let home = system.tasks[task].domain;
        system.tasks[task].sections.iter().flat_map(|section| &section.locks).find_map(|&lock| {
            let uses = |member: &&Member| {
                member.kept.contains(&lock)
                    || member.sections.iter().any(|section| section.locks.contains(&lock))
            };
            let shared = system.tasks.iter().filter(uses).count() > 1;
            let abroad = system.tasks.iter().filter(uses).any(|member| member.domain != home);
            let why = match system.locks[lock].protocol {
                _ if abroad => "it is shared across cores",
                LockProtocol::Ceiling => return None,
                // Alone, nobody waits for it.
                LockProtocol::Plain | LockProtocol::Inheritance if !shared => return None,
                LockProtocol::Plain => "without a protocol blocking has no bound",
                LockProtocol::Inheritance => "blocking under priority inheritance is not analysed",
                LockProtocol::Semaphore { .. } => "semaphores are not analysed",
            };
            Some(Open::Lock { name: system.locks[lock].name.clone(), why })
        })
    }

    fn sections(&self) -> Result<Vec<Held<'_>>, Open> {
        if let Some(open) = self.refused() {
            return Err(open);
        }
        let mut found = Vec::new();
        for (rank, &task) in self.order.iter().enumerate() {
            for section in &self.system.tasks[task].sections {
                // It lasts as long as its computation, or as the whole job where that isn't known.
                let paths = self.costs.of_a_section(section.operations);
                let known = section.length.map(|length| length.saturating_add(paths));
                let length = match (known, (self.counted)(task)) {
                    (Some(known), Some(whole)) => known.min(whole),
                    (known, whole) => known.or(whole).ok_or(Open::NoWcet(task))?,
                };
                found.push(Held { rank, locks: &section.locks, length });
            }
        }
        Ok(found)
    }

    /// How long each task, by rank, can be delayed by a less urgent one each time that it becomes ready, under fixed
    /// priorities: by the longest section of a lock whose ceiling is at least its own key (Sha, Rajkumar & Lehoczky
    /// 1990). Tasks of equal keys are ordered by position, but a ceiling comes before all of its key.
    pub(super) fn ceilings(&self) -> Result<Vec<u64>, Open> {
        let level = |task: usize| (self.system.tasks[task].class, self.system.fixed_key(task));
        let sections = self.sections()?;
        let ceiling = |lock: usize| {
            let users = sections.iter().filter(|held| held.locks.contains(&lock));
            users.map(|held| level(self.order[held.rank])).min()
        };
        let ceilings: Vec<_> = (0..self.system.locks.len()).map(ceiling).collect();
        let delay = |(rank, &task): (usize, &usize)| {
            let reaches = |lock: &usize| ceilings[*lock].is_some_and(|ceiling| ceiling <= level(task));
            let delaying = sections.iter().filter(|held| held.rank > rank && held.locks.iter().any(reaches));
            delaying.map(|held| held.length).max().unwrap_or(0)
        };
        Ok(self.order.iter().enumerate().map(delay).collect())
    }

    /// By rank, the longest access of a task less urgent than that; or the task whose accesses have no bound.
    pub(super) fn accesses(&self) -> Vec<Result<u64, usize>> {
        let mut found = Vec::with_capacity(self.order.len());
        let mut longest = Ok(0);
        for &task in self.order.iter().rev() {
            found.push(longest);
            let step = self.system.tasks[task].step.map(Duration::get).ok_or(task);
            longest = longest.and_then(|longest| Ok(step?.max(longest)));
        }
        found.reverse();
        found
    }

    /// The deadline of a task as a window of jobs of `class`: a class above is due at once, one below never.
    pub(super) fn window(&self, task: usize, class: TaskClass) -> u64 {
        let member = &self.system.tasks[task];
        match member.class.cmp(&class) {
            core::cmp::Ordering::Less => 0,
            core::cmp::Ordering::Greater => u64::MAX,
            core::cmp::Ordering::Equal => {
                member.deadline.map_or(u64::MAX, Duration::get).saturating_sub(member.jitter.get())
            }
        }
    }

    /// The stretches that may delay tasks of `class` under EDF, each with the deadlines between which it does.
    pub(super) fn floors(&self, class: TaskClass) -> Result<Vec<Delay>, Open> {
        let sections = self.sections()?;
        // A user that slept before it locks is due earlier than one that is released now, and so is a ceiling; and a
        // little earlier one whose release waits for the end of an access or a kernel path.
        let longest = self.order.iter().filter_map(|&task| self.system.tasks[task].step).max();
        let late = longest.map_or(0, Duration::get).saturating_add(self.costs.under_way());
        let of_user = |user: usize| match self.system.tasks[user].sleeps {
            0 => self.window(user, class).saturating_sub(late),
            _ => 0,
        };
        let mut floors = vec![u64::MAX; self.system.locks.len()];
        for held in &sections {
            for &lock in held.locks {
                floors[lock] = floors[lock].min(of_user(self.order[held.rank]));
            }
        }
        let of_section = |held: &Held<'_>| Delay {
            later: self.window(self.order[held.rank], class),
            floor: held.locks.iter().map(|&lock| floors[lock]).min().unwrap_or(u64::MAX),
            length: held.length,
        };
        let mut found: Vec<Delay> = sections.iter().map(of_section).collect();
        for &task in &self.order {
            let length = self.system.tasks[task].step.map_or(0, Duration::get);
            if length > 0 {
                found.push(Delay { later: self.window(task, class), floor: 0, length });
            }
        }
        Ok(found)
    }
}
