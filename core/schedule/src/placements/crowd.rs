//! Who is there: the tasks that a policy about caches deals with, by process, and where each was last.

use crate::placement::{Hook, Situation};
use crate::sort::sort_by_key;
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, Listening, TaskClass, TaskId};

/// Tasks with higher numbers are left alone.
pub(super) const MOST: usize = 64;

/// A process, by a number that orders them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Process(u32);

/// A task that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    pub(super) task: TaskId,
    pub(super) process: Process,
    /// Where it is or was last.
    pub(super) core: CoreId,
}

/// The tasks of some classes that have come onto a core and have not ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Crowd {
    classes: Vec<TaskClass>,
    processes: Vec<Vec<TaskId>>,
    members: [Option<Member>; MOST],
}

impl Crowd {
    /// Nobody yet.
    pub(super) fn new(listening: &Listening) -> Self {
        let (classes, processes) = (listening.classes.clone(), listening.processes.clone());
        Self { classes, processes, members: [None; MOST] }
    }

    /// Takes note of who comes and ends. True where somebody came or ended.
    pub(super) fn hear(&mut self, hook: Hook, situation: &dyn Situation) -> bool {
        match hook {
            Hook::SwitchIn { task, core } => self.comes(task, core, situation),
            Hook::Tick { core, .. } => {
                situation.running(core).is_some_and(|task| self.comes(task, core, situation))
            }
            Hook::Exit(task) => {
                self.members.get_mut(task.index()).is_some_and(|member| member.take().is_some())
            }
            _ => false,
        }
    }

    fn comes(&mut self, task: TaskId, core: CoreId, situation: &dyn Situation) -> bool {
        let class = situation.parameters(task).map(|parameters| parameters.class);
        if !class.is_some_and(|class| self.classes.contains(&class)) {
            return false;
        }
        let several = self.processes.iter().position(|own| own.contains(&task));
        let alone = || self.processes.len() as u32 + task.0;
        let process = Process(several.map_or_else(alone, |place| place as u32));
        let Some(member) = self.members.get_mut(task.index()) else { return false };
        member.replace(Member { task, process, core }).is_none()
    }

    /// Everybody behind `cores`.
    pub(super) fn behind(&self, cores: CoreSet) -> impl Iterator<Item = Member> + '_ {
        self.members.iter().flatten().copied().filter(move |member| cores.contains(member.core))
    }

    /// The task, where it is there.
    pub(super) fn member(&self, task: TaskId) -> Option<Member> {
        self.members.get(task.index()).copied().flatten()
    }

    /// The processes behind `cores`, each once, in their order.
    pub(super) fn processes(&self, cores: CoreSet) -> List {
        let mut list = List { processes: [Process(0); MOST], count: 0 };
        for member in self.behind(cores) {
            if !list.all().contains(&member.process) {
                list.processes[list.count] = member.process;
                list.count += 1;
            }
        }
        sort_by_key(&mut list.processes[..list.count], |&process| process);
        list
    }
}

/// Some processes.
pub(super) struct List {
    processes: [Process; MOST],
    count: usize,
}

impl List {
    pub(super) fn all(&self) -> &[Process] {
        &self.processes[..self.count]
    }

    /// The place of a process among them.
    pub(super) fn place(&self, process: Process) -> Option<usize> {
        self.all().iter().position(|known| *known == process)
    }
}
