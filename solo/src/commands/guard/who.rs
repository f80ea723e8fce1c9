//! Whose budget it is: a CPU's, a cgroup's, or that of the program that the guard starts.

use crate::exit::Failure;
use solo_guard::Group;
use solo_model::CoreId;
use solo_model::text::Printable;
use std::fmt;

/// The word for the program that is started.
const PROGRAM: &str = "program";

/// Whoever has a budget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Who {
    /// A CPU, whoever runs there.
    Cpu(CoreId),
    /// A group of tasks, wherever they run.
    Group(Member),
}

/// A group of tasks that has a budget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Member {
    /// A cgroup that is there.
    Path(Group),
    /// The program behind `--`, in a cgroup that is made for it.
    Program,
}

impl Member {
    /// Its cgroup, where the program is in `program`.
    pub(super) fn group<'g>(&'g self, program: Option<&'g Group>) -> Option<&'g Group> {
        match self {
            Self::Path(group) => Some(group),
            Self::Program => program,
        }
    }
}

impl Who {
    /// `1`, `/system.slice/camera.service` or `program`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            PROGRAM => Some(Self::Group(Member::Program)),
            text => match text.strip_prefix('/') {
                Some(path) => Group::new(path).ok().map(|group| Self::Group(Member::Path(group))),
                None => text.parse().ok().map(|cpu| Self::Cpu(CoreId(cpu))),
            },
        }
    }

    /// As people are told of it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Cpu(core) => core.to_string(),
            Self::Group(member) => Printable(member).to_string(),
        }
    }

    /// `1=200`, `/batch=50`, `program=1000`.
    pub(super) fn with_budget(text: &str) -> Result<(Self, u64), Failure> {
        // A group's name may hold `=`.
        let parsed = text
            .rsplit_once('=')
            .and_then(|(who, events)| Some((Self::parse(who.trim())?, events.trim().parse::<u64>().ok()?)));
        parsed.ok_or_else(|| {
            Failure::Usage(format!(
                "expected WHO=EVENTS, with a CPU (1=200), a cgroup (/batch.slice=200) or program=200; found `{}`",
                Printable(text)
            ))
        })
    }
}

impl fmt::Display for Who {
    /// As it is written on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(core) => write!(f, "{}", core.0),
            Self::Group(member) => member.fmt(f),
        }
    }
}

impl fmt::Display for Member {
    /// As it is written on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(group) => write!(f, "/{}", String::from(group.clone())),
            Self::Program => f.write_str(PROGRAM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_and_written_alike() {
        for text in ["0", "63", "/a", "/a/b c/d=e.service", "program"] {
            let (who, events) = Who::with_budget(&format!("{text}=7")).unwrap();
            assert_eq!((who.to_string().as_str(), events), (text, 7));
        }
        for text in
            ["", "=", "1", "1=", "x=1", "-1=1", "70000=1", "1=-1", "/../a=1", "/a/=1", "/a\0=1", "Program=1"]
        {
            assert!(Who::with_budget(text).is_err(), "{text}");
        }
    }
}
