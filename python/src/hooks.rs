//! What a placement written in Python hears and answers.

use crate::convert::number;
use crate::view::TaskView;
use pyo3::prelude::*;
use solo_model::{CoreId, Instant, MetricId, TaskId};
use solo_schedule::{Hook as Told, KindId, Whose};

/// What a placement hears (PMCTrack 3). `kind` is `enable`, `fork`, `exec`, `switch-in`, `switch-out`, `migrate`, `tick`, `sample` or
/// `exit`; what it says nothing about is `None`.
#[pyclass(frozen, get_all, module = "solocore")]
#[derive(Default)]
pub(crate) struct Hook {
    /// What happened.
    kind: &'static str,
    /// The task that it happened to.
    task: Option<u32>,
    /// The core where it happened.
    core: Option<u16>,
    /// The core where the task ran before, of `migrate`.
    from_core: Option<u16>,
    /// The end of the next sampling period, of `tick`: nanoseconds since the start.
    next_ns: Option<u64>,
    /// Why there is a sample: `tick`, `ebs` (a counter overflowed), `exit`, ...
    why: Option<&'static str>,
    /// The sample is of the core, and not of a task.
    of_core: bool,
}

impl From<Told> for Hook {
    fn from(told: Told) -> Self {
        let of = |kind, task: TaskId| Self { kind, task: Some(task.0), ..Self::default() };
        match told {
            Told::Enable => Self { kind: "enable", ..Self::default() },
            Told::Fork(task) => of("fork", task),
            Told::Exec(task) => of("exec", task),
            Told::Exit(task) => of("exit", task),
            Told::SwitchIn { task, core } => Self { core: Some(core.0), ..of("switch-in", task) },
            Told::SwitchOut { task, core } => Self { core: Some(core.0), ..of("switch-out", task) },
            Told::Migrate { task, from, to } => {
                Self { from_core: from.map(|core| core.0), core: Some(to.0), ..of("migrate", task) }
            }
            Told::Tick { core, next } => {
                Self { kind: "tick", core: Some(core.0), next_ns: Some(next.get()), ..Self::default() }
            }
            Told::Sample { of, core, why } => {
                let task = match of {
                    Whose::Task(task) => Some(task.0),
                    Whose::Core(_) => None,
                };
                let (core, why) = (Some(core.0), Some(why.name()));
                Self { kind: "sample", task, core, why, of_core: task.is_none(), ..Self::default() }
            }
        }
    }
}

impl Hook {
    pub(crate) const fn kind(&self) -> &'static str {
        self.kind
    }
}

/// What is to be done about a task: made by `move`, `hold`, `weight` and `to_kind`.
#[pyclass(frozen, eq, from_py_object, module = "solocore")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Action(pub(crate) solo_schedule::Action);

#[pymethods]
impl Action {
    /// The task runs on this core from its next boundary on, or on a core that shares its queue.
    #[staticmethod]
    fn r#move(task: u32, core: u16) -> Self {
        Self(solo_schedule::Action::Move { task: TaskId(task), core: CoreId(core) })
    }

    /// The task gives its core away and is not ready before this time, in nanoseconds since the start (thesis 8.2.3, yield).
    #[staticmethod]
    fn hold(task: u32, until_ns: u64) -> Self {
        Self(solo_schedule::Action::Hold { task: TaskId(task), until: Instant::new(until_ns) })
    }

    /// The task's time slices are so many thousandths of the quantum.
    #[staticmethod]
    fn weight(task: u32, per_mille: u32) -> Self {
        Self(solo_schedule::Action::Weight { task: TaskId(task), per_mille })
    }

    /// The task runs on cores of this kind from its next boundary on.
    #[staticmethod]
    fn to_kind(task: u32, kind: u8) -> Self {
        Self(solo_schedule::Action::Kind { task: TaskId(task), kind: KindId(kind) })
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A metric: its value, and how long ago it was made in nanoseconds.
type Metric = Option<(f64, u64)>;

/// What a placement may ask while it decides: how things stood when it was asked.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Situation {
    cores: Vec<(u16, u8, Option<u32>, Metric)>,
    tasks: Vec<(TaskView, Metric)>,
}

impl Situation {
    /// What can be asked, asked at once: what Python keeps does not end with the call.
    pub(crate) fn of(asked: &dyn solo_schedule::Situation) -> Self {
        let metric = |whose| {
            let id = MetricId(0);
            let value = asked.metric(whose, id)?;
            Some((number(value), asked.age(whose, id).map_or(0, |age| age.get())))
        };
        let core = |core: CoreId| {
            let kind = asked.kind(core).map_or(0, |kind| kind.0);
            (core.0, kind, asked.running(core).map(|task| task.0), metric(Whose::Core(core)))
        };
        let task = |number: u32| {
            let parameters = asked.parameters(TaskId(number))?;
            Some((TaskView::from(&parameters), metric(Whose::Task(TaskId(number)))))
        };
        Self { cores: asked.cores().iter().map(core).collect(), tasks: (0..).map_while(task).collect() }
    }

    fn core(&self, core: u16) -> Option<&(u16, u8, Option<u32>, Metric)> {
        self.cores.iter().find(|(known, ..)| *known == core)
    }

    fn asked(&self, core: Option<u16>, task: Option<u32>) -> PyResult<Metric> {
        match (core, task) {
            (Some(core), None) => Ok(self.core(core).and_then(|(.., metric)| *metric)),
            (None, Some(task)) => Ok(self.tasks.get(task as usize).and_then(|(_, metric)| *metric)),
            _ => Err(pyo3::exceptions::PyTypeError::new_err("expected either core=... or task=...")),
        }
    }
}

#[pymethods]
impl Situation {
    /// The last value of the metric of a core or a task; `None` where nothing is known, which is not zero.
    #[pyo3(signature = (*, core=None, task=None))]
    fn metric(&self, core: Option<u16>, task: Option<u32>) -> PyResult<Option<f64>> {
        Ok(self.asked(core, task)?.map(|(value, _)| value))
    }

    /// How long ago the value was made, in nanoseconds; `None` where nothing is known.
    #[pyo3(signature = (*, core=None, task=None))]
    fn age_ns(&self, core: Option<u16>, task: Option<u32>) -> PyResult<Option<u64>> {
        Ok(self.asked(core, task)?.map(|(_, age)| age))
    }

    /// The cores that tasks can be placed on.
    #[getter]
    fn cores(&self) -> Vec<u16> {
        self.cores.iter().map(|(core, ..)| *core).collect()
    }

    /// The number of the task on a core; `None` where it is idle or is not there.
    fn running(&self, core: u16) -> Option<u32> {
        self.core(core).and_then(|(_, _, task, _)| *task)
    }

    /// The kind of a core, by its position in the platform's list; `None` where there is no such core.
    fn kind(&self, core: u16) -> Option<u8> {
        self.core(core).map(|(_, kind, ..)| *kind)
    }

    /// What is known of a task; `None` where there is no such task.
    fn task(&self, task: u32) -> Option<TaskView> {
        self.tasks.get(task as usize).map(|(task, _)| task.clone())
    }
}
