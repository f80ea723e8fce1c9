//! Where the operations of a thread come from: the steps of its task, or code that runs elsewhere.

use solo_model::{Duration, Instant, LockId, Phase, TaskId};
use solo_workload::Program;

/// What a body asks for. Times above [`LONGEST`](solo_model::check::LONGEST) are taken for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// It computes for so long on a core of the reference's speed.
    Compute(Duration),
    /// It wants a lock.
    Acquire(LockId),
    /// It gives a lock back.
    Release(LockId),
    /// It leaves its core for so long.
    Sleep(Duration),
    /// It wants a job of a sporadic task, after so long.
    Trigger(TaskId, Duration),
    /// Its job is done.
    WaitNext,
    /// Its thread ends, and the job at hand with it.
    Exit,
    /// The run can't go on: it ends as one that its observer stopped.
    Abandon,
}

/// The code of a thread.
pub trait RemoteBody {
    /// What it asks for next, having come to `now`: at the beginning of its first job, and after each request as soon as that is done.
    fn next(&mut self, now: Instant) -> Request;
}

/// Where the operations of a thread come from.
pub(crate) enum Source<'b> {
    /// From the steps of its task.
    Steps(Program),
    /// From code elsewhere.
    Body {
        /// The code.
        body: Box<dyn RemoteBody + 'b>,
        /// It has finished its job, and the core is not through with that.
        ends_job: bool,
    },
}

impl Source<'_> {
    /// The phase of that number, of steps that have phases.
    pub(crate) fn phase(&self, number: u16) -> Option<&Phase> {
        match self {
            Self::Steps(program) => program.phase(number),
            Self::Body { .. } => None,
        }
    }
}
