//! Wishes for tasks become tasks: copies are numbered, and each gets memory of its own.

use crate::place::{Said, TextRange};
use crate::rationale::{Decided, Of};
use crate::request::{ApplicationWish, IsolationWish, Memory, ReleaseWish, Steps, TaskWish};
use crate::{Draft, Fault};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use solo_model::task::Release;
use solo_model::work::{Buffer, Work, update_steps};
use solo_model::{Application, BufferId, Duration, Task, TaskId};
use solo_prove::wcet::Point;

/// The most tasks of a run.
pub const MOST_TASKS: u64 = 10_000;
/// The most steps that all tasks of a run have together.
pub const MOST_STEPS: u64 = 1_000_000;

/// A wish and the tasks that it became.
pub(crate) struct Owner<'r> {
    pub(crate) wish: &'r TaskWish,
    pub(crate) tasks: Range<u32>,
}

/// What became of a wish.
enum Unfolding {
    /// There may be room for the next one.
    Done,
    /// There is no room for it, nor for what follows.
    Full,
}

impl<'r> Draft<'r> {
    /// Makes tasks of all wishes, as far as there is room, and checks that they suit the policy.
    pub(crate) fn unfold(&mut self) {
        let mut names: BTreeMap<String, TextRange> = BTreeMap::new();
        let (mut steps, mut full) = (0_u64, false);
        for wish in &self.request.tasks {
            let Some(task) = self.task(wish) else { continue };
            self.suits(wish, &task);
            // Those behind the last one that fits are only checked.
            if let (Said::This(work), false) = (&wish.work, full) {
                full = matches!(
                    self.unfold_one(wish, &work.value, task, &mut names, &mut steps),
                    Unfolding::Full
                );
            }
        }
    }

    /// A task without its work; none where nothing says when its jobs are released.
    fn task(&mut self, wish: &TaskWish) -> Option<Task> {
        let offset = wish.offset.value().copied().unwrap_or(Duration::ZERO);
        let first = TaskId(self.tasks.len() as u32);
        let release = match wish.release {
            Some(ReleaseWish::Periodic(period)) => Release::Periodic { offset, period: period.value },
            Some(ReleaseWish::Sporadic(distance)) => Release::Sporadic { distance: distance.value },
            Some(ReleaseWish::Once) => Release::Once { offset },
            Some(ReleaseWish::Continuous) => Release::Continuous { offset },
            None => {
                let Some(because) = self.strategy.release(wish.class, offset) else {
                    self.object(wish.at, Fault::NoRelease { task: wish.name.value.clone() });
                    return None;
                };
                let count = wish.copies.unwrap_or(1) as u32;
                self.decide(Of::Tasks { first, count }, because, Decided::Release)
            }
        };
        Some(Task {
            name: wish.name.value.clone(),
            class: wish.class,
            release,
            deadline: wish.deadline.value().copied(),
            wcet: wish
                .wcet
                .value()
                .copied()
                .or(self.on_curve(wish, &wish.name.value).map(|point| point.alone)),
            misses: wish.misses.value().copied(),
            priority: wish.priority.value().copied(),
            core: wish.core.value().copied(),
            migrate: wish.migrate.value().copied().flatten(),
            work: Work::default(),
        })
    }

    /// What a task declares by its curve with the pages that are locked of it.
    fn on_curve(&self, wish: &TaskWish, name: &str) -> Option<Point> {
        let curve = wish.curve.as_ref()?;
        let lockdown = match &self.request.isolation {
            IsolationWish::By(wished) => wished.lockdown.as_ref(),
            IsolationWish::Off => None,
        };
        let pages = lockdown.map_or(&[][..], |lockdown| lockdown.pages.as_slice());
        let of = |name: &str| pages.iter().find(|named| named.name.value == name);
        let pages = of(name).or_else(|| of(&wish.name.value)).map_or(0, |named| named.wish.value);
        Some(curve.value.at(pages))
    }

    fn unfold_one(
        &mut self,
        wish: &'r TaskWish,
        work: &Steps,
        task: Task,
        names: &mut BTreeMap<String, TextRange>,
        steps: &mut u64,
    ) -> Unfolding {
        let copies = wish.copies.unwrap_or(1);
        *steps = steps.saturating_add((work.count as u64).saturating_mul(copies));
        let tasks = (self.tasks.len() as u64).saturating_add(copies);
        if tasks > MOST_TASKS {
            self.object(wish.name.at, Fault::TooManyTasks { tasks, most: MOST_TASKS });
            return Unfolding::Full;
        }
        if *steps > MOST_STEPS {
            self.object(wish.name.at, Fault::TooManySteps { most: MOST_STEPS });
            return Unfolding::Done;
        }
        let first = self.tasks.len() as u32;
        self.owners.push(Owner { wish, tasks: first..tasks as u32 });
        for copy in 0..copies {
            let name = match wish.copies {
                Some(_) => format!("{}-{copy}", wish.name.value),
                None => wish.name.value.clone(),
            };
            if let Some(first) = names.insert(name.clone(), wish.name.at) {
                self.object(wish.name.at, Fault::Duplicate { name, first });
                return Unfolding::Done;
            }
            let work = instantiate(&name, work, &mut self.buffers);
            let mut task = Task { name, work, ..task.clone() };
            if let Some(point) = self.on_curve(wish, &task.name) {
                (task.wcet, task.misses) = (Some(point.alone), Some(point.reads));
            }
            self.tasks.push(task);
        }
        Unfolding::Done
    }

    /// The applications, with their threads as they came out.
    pub(crate) fn applications(&self) -> Vec<Application> {
        let task = |name: &String| self.tasks.iter().position(|task| task.name == *name);
        let application = |wish: &ApplicationWish| Application {
            name: wish.name.value.clone(),
            weight: wish.weight,
            threads: wish.threads.iter().filter_map(task).map(|at| TaskId(at as u32)).collect(),
        };
        let mut made: Vec<Application> = self.request.applications.iter().map(application).collect();
        // Of an application whose tasks could not be made something was said.
        made.retain(|application| !application.threads.is_empty());
        made
    }

    /// The wish that a task comes from, and its copies.
    pub(crate) fn owner_of(&self, task: u32) -> Option<&Owner<'r>> {
        let at = self.owners.partition_point(|owner| owner.tasks.end <= task);
        self.owners.get(at).filter(|owner| owner.tasks.contains(&task))
    }

    /// The wish that a task comes from.
    pub(crate) fn wish_of(&self, task: u32) -> Option<&'r TaskWish> {
        self.owner_of(task).map(|owner| owner.wish)
    }
}

/// The steps with memory of their own.
fn instantiate(task: &str, steps: &Steps, buffers: &mut Vec<Buffer>) -> Work {
    let mut own = |name: &str, size| {
        buffers.push(Buffer { name: format!("{task}: {name}"), size });
        BufferId(buffers.len() as u32 - 1)
    };
    let ids: Vec<BufferId> = steps
        .regions
        .iter()
        .map(|region| match region.memory {
            Memory::Shared(id) => id,
            Memory::Private(size) | Memory::Recorded(_, size) | Memory::Allocated(_, size) => {
                own(&region.name, size)
            }
        })
        .collect();
    let mut work = Work { steps: steps.steps.clone() };
    update_steps(&mut work.steps, |step| {
        if let Some(buffer) = step.buffer_mut() {
            *buffer = ids[buffer.index()];
        }
    });
    work
}
