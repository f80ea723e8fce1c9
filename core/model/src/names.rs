//! What messages call tasks. Policies and machines know a task by its number; people know it by its name.
//!
//! An error that is about tasks carries their [`TaskId`]s and is [`Explain`]ed with the names of the experiment at hand.
//! Nobody looks for numbers in a finished sentence.

use crate::experiment::Experiment;
use crate::id::TaskId;
use crate::task::Task;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Knows what tasks are called.
pub trait TaskNames {
    /// The name of a task; none where it isn't known.
    fn task_name(&self, task: TaskId) -> Option<&str>;
}

/// Knows no names.
impl TaskNames for () {
    fn task_name(&self, _: TaskId) -> Option<&str> {
        None
    }
}

impl TaskNames for Experiment {
    fn task_name(&self, task: TaskId) -> Option<&str> {
        self.tasks.task_name(task)
    }
}

impl TaskNames for Vec<Task> {
    fn task_name(&self, task: TaskId) -> Option<&str> {
        self.get(task.index()).map(|task| task.name.as_str())
    }
}

impl TaskNames for &[Task] {
    fn task_name(&self, task: TaskId) -> Option<&str> {
        self.get(task.index()).map(|task| task.name.as_str())
    }
}

/// Names by number.
impl TaskNames for Vec<String> {
    fn task_name(&self, task: TaskId) -> Option<&str> {
        self.get(task.index()).map(String::as_str)
    }
}

/// What a message calls a task: ``task `brake` ``, or `task7` where no name is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CalledTask<'n> {
    name: Option<&'n str>,
    task: TaskId,
}

/// What messages call `task`.
pub fn called(names: &dyn TaskNames, task: TaskId) -> CalledTask<'_> {
    CalledTask { name: names.task_name(task), task }
}

impl fmt::Display for CalledTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "task `{name}`"),
            None => write!(f, "{}", self.task),
        }
    }
}

/// A message that may be about tasks.
pub trait Explain {
    /// Writes the message; tasks are called by their names where they are known.
    ///
    /// # Errors
    /// As the formatter has them.
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The message with these names.
    fn with<'e>(&'e self, names: &'e dyn TaskNames) -> Explained<'e>
    where
        Self: Sized,
    {
        Explained { message: self, names }
    }
}

/// A message with names; displays as one.
#[derive(Clone, Copy)]
pub struct Explained<'e> {
    message: &'e dyn Explain,
    names: &'e dyn TaskNames,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.explain(self.names, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    struct Late(TaskId, TaskId);

    impl Explain for Late {
        fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} waits for {}", called(names, self.0), called(names, self.1))
        }
    }

    #[test]
    fn names_stand_where_they_are_known_and_numbers_where_not() {
        let late = Late(TaskId(0), TaskId(2));
        // A name may look like another task's number: nothing is read back out of the sentence.
        let names = vec![String::from("task2"), String::from("b")];
        assert_eq!(late.with(&names).to_string(), "task `task2` waits for task2");
        assert_eq!(late.with(&()).to_string(), "task0 waits for task2");
    }
}
