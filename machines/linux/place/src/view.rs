//! What a policy may ask while it decides, as far as an agent knows it.

use solo_model::{CoreId, CoreSet, Duration, Fixed, Instant, MetricId, TaskId};
use solo_observe::Board;
use solo_schedule::{KindId, Situation, TaskParameters, Whose};

/// A core as the agent knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Post {
    /// The task on it.
    pub(crate) running: Option<TaskId>,
    /// The task on it as the policy was told.
    pub(crate) told: Option<TaskId>,
    /// It is there.
    pub(crate) online: bool,
    /// Since when what was made of its counts is known: the end of the last period but one, as in the kernel.
    pub(crate) known_since: Instant,
    /// When its last period ended.
    pub(crate) began: Instant,
    /// Its kind.
    pub(crate) kind: KindId,
}

/// What a policy may look at.
pub(crate) struct View<'a> {
    pub(crate) now: Instant,
    pub(crate) board: &'a Board,
    pub(crate) posts: &'a [Post],
    /// The tasks, `None` for those that have ended.
    pub(crate) tasks: &'a [Option<TaskParameters>],
}

impl View<'_> {
    /// The last value of a metric and when it was made, unless it is of a core and too old.
    fn last(&self, whose: Whose, metric: MetricId) -> Option<(Fixed, Instant)> {
        let (row, known_since) = match whose {
            Whose::Task(task) => (self.tasks.get(task.index()).map(|_| task.index())?, None),
            Whose::Core(core) => {
                let post = self.posts.get(core.index())?;
                (self.tasks.len() + core.index(), Some(post.known_since))
            }
        };
        let (value, at) = self.board.last(row, metric)?;
        known_since.is_none_or(|since| at > since).then_some((value, at))
    }

    fn post(&self, core: CoreId) -> Option<&Post> {
        self.posts.get(core.index()).filter(|post| post.online)
    }
}

impl Situation for View<'_> {
    fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed> {
        self.last(whose, metric).map(|(value, _)| value)
    }

    fn age(&self, whose: Whose, metric: MetricId) -> Option<Duration> {
        self.last(whose, metric).map(|(_, at)| self.now.since(at))
    }

    fn running(&self, core: CoreId) -> Option<TaskId> {
        self.post(core)?.running
    }

    fn parameters(&self, task: TaskId) -> Option<TaskParameters> {
        self.tasks.get(task.index()).copied().flatten()
    }

    fn cores(&self) -> CoreSet {
        let online = (0..).map(CoreId).zip(self.posts).filter(|(_, post)| post.online);
        online.map(|(core, _)| core).collect()
    }

    fn kind(&self, core: CoreId) -> Option<KindId> {
        self.post(core).map(|post| post.kind)
    }
}
