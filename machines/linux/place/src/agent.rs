//! The agent: monitors, what they know, and the policy that asks them. A value: it reads no clock and does nothing.

use crate::observation::{CoreSeen, Life, Observation, Where};
use crate::view::{Post, View};
use serde::{Deserialize, Serialize};
use solo_model::listening::CoreHeard;
use solo_model::sample::{Sample, Subject, Why};
use solo_model::task::Release;
use solo_model::{
    Bytes, CoreId, Counts, Duration, Instant, Listening, MetricId, MissRateCurve, Platform, Task, TaskClass,
    TaskId,
};
use solo_observe::curve::Curve;
use solo_observe::monitor::{self, Followed};
use solo_observe::{Board, Heard, MonitorError};
use solo_schedule::{Action, Hook, KindId, Placed, TaskParameters, Whose, placements};

/// The only metric that registered policies ask for.
const METRIC: MetricId = MetricId(0);

/// A task that is placed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedTask {
    /// Its name.
    pub name: String,
    /// Hard, soft or best effort.
    pub class: TaskClass,
    /// Where it is at first.
    pub core: CoreId,
}

/// All that decides what an agent decides, beside what it sees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placing {
    /// What is listened to and what is done about it.
    pub listening: Listening,
    /// The cores, and which of them share caches: core N is CPU N.
    pub platform: Platform,
    /// The tasks, by their ids.
    pub tasks: Vec<PlacedTask>,
}

/// What is to be done about a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decision {
    /// It runs on this core.
    Move {
        /// The task.
        task: TaskId,
        /// The core.
        core: CoreId,
    },
    /// It does not run until it is told to go on, which is expected then.
    Hold {
        /// The task.
        task: TaskId,
        /// When it goes on.
        #[serde(rename = "until_ns")]
        until: Instant,
    },
    /// It goes on.
    Go {
        /// The task.
        task: TaskId,
    },
    /// Its share of its core, in thousandths of what it has by default.
    Weight {
        /// The task.
        task: TaskId,
        /// Thousandths.
        per_mille: u32,
    },
    /// It runs on cores of this kind.
    Kind {
        /// The task.
        task: TaskId,
        /// The kind, by its position in the platform.
        kind: u8,
    },
    /// It fills only these ways of the last-level cache.
    Ways {
        /// The task.
        task: TaskId,
        /// The core whose last level it is.
        core: CoreId,
        /// A bit for each way.
        mask: u64,
    },
}

impl Decision {
    /// Whom it is about.
    pub const fn task(self) -> TaskId {
        match self {
            Self::Move { task, .. }
            | Self::Hold { task, .. }
            | Self::Go { task }
            | Self::Weight { task, .. }
            | Self::Kind { task, .. }
            | Self::Ways { task, .. } => task,
        }
    }
}

/// A policy at work beside an operating system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    placement: Placed,
    /// Of each task, then of each core.
    monitors: Vec<Heard>,
    board: Board,
    posts: Vec<Post>,
    tasks: Vec<Option<TaskParameters>>,
    homes: Vec<CoreId>,
    /// Where each task was on a core last, as the policy was told.
    last_core: Vec<Option<CoreId>>,
    held: Vec<Option<Instant>>,
    /// How long each task ran before the last observation.
    ran: Vec<Duration>,
    heard: Vec<CoreHeard>,
    refused: u64,
    began: bool,
}

impl Agent {
    /// The policy that `placing` asks for.
    ///
    /// # Errors
    /// If its monitor can't be made of what it says.
    pub fn new(placing: &Placing) -> Result<Self, MonitorError> {
        let placement = placements::of(&placing.listening, &placing.platform);
        Self::with(placing, placement)
    }

    /// The same with a policy of the caller's own.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with(placing: &Placing, mut placement: Placed) -> Result<Self, MonitorError> {
        let Placing { listening, platform, tasks } = placing;
        let monitor = monitor::of(METRIC, &listening.observed, &platform.events)?;
        let rows = tasks.len() + platform.cores.len();
        let post = |kind: u8| Post {
            running: None,
            told: None,
            online: false,
            known_since: Instant::ZERO,
            began: Instant::ZERO,
            kind: KindId(kind),
        };
        let parameters = |task: &PlacedTask| {
            let once = Release::Once { offset: Duration::ZERO };
            let whole = Task { core: Some(task.core), ..Task::new(String::new(), task.class, once) };
            TaskParameters::from(&whole)
        };
        let parameters: Vec<TaskParameters> = tasks.iter().map(parameters).collect();
        placement.prepare(&parameters);
        Ok(Self {
            placement,
            board: Board::new(rows, monitor.0.metrics()),
            monitors: vec![monitor; rows],
            posts: platform.cores.iter().map(|core| post(core.kind)).collect(),
            tasks: parameters.into_iter().map(Some).collect(),
            homes: tasks.iter().map(|task| task.core).collect(),
            last_core: vec![None; tasks.len()],
            held: vec![None; tasks.len()],
            ran: vec![Duration::ZERO; tasks.len()],
            heard: vec![CoreHeard::default(); platform.cores.len()],
            refused: 0,
            began: false,
        })
    }

    /// What was heard of each core, and done there.
    pub fn heard(&self) -> &[CoreHeard] {
        &self.heard
    }

    /// Actions of the policy that made no sense: a task that has ended or is held already, a core that is not there.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes in what was seen and says what is to be done, in this order.
    pub fn on(&mut self, seen: &Observation) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let now = seen.at;
        // What changed while nobody looked is told as of the last look: time never runs backwards.
        let began = Instant::new(now.get().saturating_sub(seen.span.get()));
        self.take_in(seen);
        if !std::mem::replace(&mut self.began, true) {
            self.tell(began, Hook::Enable, &mut decisions);
            for task in (0..self.tasks.len() as u32).map(TaskId) {
                self.tell(began, Hook::Fork(task), &mut decisions);
            }
        }
        for task in seen.tasks.iter().filter(|task| task.life == Life::Executed) {
            self.board.forget(task.task.index());
            self.tell(began, Hook::Exec(task.task), &mut decisions);
        }
        // Everybody leaves before anybody comes: two may have changed places.
        let changed: Vec<(CoreId, Option<TaskId>)> =
            seen.cores.iter().filter_map(|core| self.change(core.core)).collect();
        for &(core, before) in &changed {
            if let Some(task) = before {
                self.tell(began, Hook::SwitchOut { task, core }, &mut decisions);
            }
        }
        for &(core, _) in &changed {
            if let Some(task) = self.posts[core.index()].told {
                self.come(began, task, core, &mut decisions);
            }
        }
        for core in &seen.cores {
            self.look(seen, core, &mut decisions);
            self.let_go(now, Some(core.core), &mut decisions);
        }
        for task in seen.tasks.iter().filter(|task| task.life == Life::Ended) {
            self.end(now, task.task, &mut decisions);
        }
        self.let_go(now, None, &mut decisions);
        decisions
    }

    /// Where everybody is.
    fn take_in(&mut self, seen: &Observation) {
        self.ran.fill(Duration::ZERO);
        let known = self.homes.len();
        for task in seen.tasks.iter().filter(|task| task.task.index() < known) {
            self.homes[task.task.index()] = task.core;
            self.ran[task.task.index()] = task.ran;
        }
        for (core, post) in (0..).map(CoreId).zip(&mut self.posts) {
            let there = seen.cores.iter().find(|there| there.core == core);
            post.online = there.is_some();
            let known = |task: &TaskId| self.tasks.get(task.index()).copied().flatten().is_some();
            post.running = there.and_then(|there| there.running).filter(known);
        }
    }

    /// The samples of a core and of the task on it; its period may be over.
    fn look(&mut self, seen: &Observation, core: &CoreSeen, decisions: &mut Vec<Decision>) {
        let now = seen.at;
        if core.core.index() >= self.posts.len() {
            return;
        }
        // Whoever was there in the period, also where it has just been decided that it goes elsewhere: as in the kernel, its sample
        // comes before it leaves.
        let there = core.running.filter(|&task| self.lives(task).is_some());
        let there = there.and_then(|task| seen.tasks.iter().find(|seen| seen.task == task));
        if let Some(task) = there {
            self.note(Whose::Task(task.task), core, seen, &task.counts, task.held);
            let hook = Hook::Sample { of: Whose::Task(task.task), core: core.core, why: Why::Tick };
            self.tell(now, hook, decisions);
        }
        // What a core holds is what the process holds whose task is on it.
        let held = there.and_then(|task| task.held);
        self.note(Whose::Core(core.core), core, seen, &core.counts, held);
        let heard = &mut self.heard[core.core.index()];
        heard.samples += 1;
        heard.counted = heard.counted.saturating_add(core.counts.iter().next().map_or(0, |(_, count)| count));
        self.tell(
            now,
            Hook::Sample { of: Whose::Core(core.core), core: core.core, why: Why::Tick },
            decisions,
        );
        if let Some(next) = seen.next {
            let post = &mut self.posts[core.core.index()];
            (post.known_since, post.began) = (post.began, now);
            let before = decisions.len();
            self.tell(now, Hook::Tick { core: core.core, next }, decisions);
            let heard = &mut self.heard[core.core.index()];
            for decision in &decisions[before..] {
                heard.held += u64::from(matches!(decision, Decision::Hold { .. }));
                heard.moved += u64::from(matches!(decision, Decision::Move { .. } | Decision::Kind { .. }));
            }
        }
    }

    /// Where another task is on a core than the policy was told: the one that was.
    fn change(&mut self, core: CoreId) -> Option<(CoreId, Option<TaskId>)> {
        let post = self.posts.get_mut(core.index())?;
        let before = std::mem::replace(&mut post.told, post.running);
        (before != post.running).then_some((core, before))
    }

    /// Tells that a task has come onto a core, and from where, if it was elsewhere before.
    fn come(&mut self, now: Instant, task: TaskId, core: CoreId, decisions: &mut Vec<Decision>) {
        self.tell(now, Hook::SwitchIn { task, core }, decisions);
        let from = self.last_core[task.index()].replace(core);
        if from != Some(core) {
            self.tell(now, Hook::Migrate { task, from, to: core }, decisions);
        }
    }

    /// Lets the monitor of a task or core look at what was counted on `core`, and writes down what it says.
    fn note(
        &mut self,
        whose: Whose,
        core: &CoreSeen,
        seen: &Observation,
        counts: &Counts,
        held: Option<Bytes>,
    ) {
        let (row, subject, followed) = match whose {
            Whose::Task(task) => (task.index(), Subject::Task(task), Followed::Tasks),
            Whose::Core(core) => (self.tasks.len() + core.index(), Subject::Core(core), Followed::Cores),
        };
        let Some(monitor) = self.monitors.get_mut(row) else { return };
        if monitor.0.turns().is_some_and(|turns| turns.of != followed) {
            return;
        }
        let held = held.and_then(|held| i64::try_from(held.get()).ok());
        let sample = Sample {
            at: seen.at,
            span: seen.span,
            subject,
            why: Why::Tick,
            set: core.set,
            counts: counts.clone(),
            virtuals: vec![held],
        };
        let kind = self.posts.get(core.core.index()).map_or(KindId(0), |post| post.kind);
        let derived = monitor.0.sample_on(kind, &sample);
        self.board.note(row, &derived, seen.at);
        if let Some(points) = monitor.0.curve().and_then(Curve::points) {
            self.board.note_points(row, MissRateCurve::point(0), points, seen.at);
        }
    }

    /// A task has ended.
    fn end(&mut self, now: Instant, task: TaskId, decisions: &mut Vec<Decision>) {
        let known = self.tasks.get(task.index()).copied().flatten();
        if known.is_none() {
            return;
        }
        self.tell(now, Hook::Exit(task), decisions);
        self.tasks[task.index()] = None;
        self.held[task.index()] = None;
        self.board.forget(task.index());
        self.serve(self.homes[task.index()]);
    }

    /// Whoever has been held long enough, on this core or on any, goes on, unless the policy, which is told, holds it again at once.
    fn let_go(&mut self, now: Instant, on: Option<CoreId>, decisions: &mut Vec<Decision>) {
        for task in (0..self.held.len() as u32).map(TaskId) {
            let core = self.homes[task.index()];
            if self.held[task.index()].is_none_or(|until| until > now) || on.is_some_and(|on| on != core) {
                continue;
            }
            self.held[task.index()] = None;
            let Some(post) = self.posts.get_mut(core.index()) else { continue };
            // Who comes to a core that has a task already is told when it is seen there.
            if post.running.is_none() {
                (post.running, post.told) = (Some(task), Some(task));
                self.come(now, task, core, decisions);
            }
            if self.held[task.index()].is_none() {
                decisions.push(Decision::Go { task });
            }
        }
    }

    /// Tells the policy what has happened; what it answers is decided.
    fn tell(&mut self, now: Instant, hook: Hook, decisions: &mut Vec<Decision>) {
        let view = View { now, board: &self.board, posts: &self.posts, tasks: &self.tasks };
        let actions = self.placement.on(now, hook, &view);
        for action in actions.iter() {
            match self.decide(now, action) {
                Some(decision) => decisions.push(decision),
                None => self.refused += 1,
            }
        }
    }

    /// What an action comes to, where it can be carried out; what the policy sees from then on is as if it had been.
    fn decide(&mut self, now: Instant, action: Action) -> Option<Decision> {
        match action {
            Action::Move { task, core } => {
                self.lives(task)?;
                self.posts.get(core.index()).filter(|post| post.online)?;
                self.settle(task, core);
                Some(Decision::Move { task, core })
            }
            Action::Kind { task, kind } => {
                self.lives(task)?;
                let of_kind = |post: &&Post| post.online && post.kind == kind;
                let core = (0..).map(CoreId).zip(&self.posts).find(|(_, post)| of_kind(post))?.0;
                self.settle(task, core);
                Some(Decision::Kind { task, kind: kind.0 })
            }
            Action::Hold { task, until } => {
                self.lives(task).filter(|()| until > now && self.held[task.index()].is_none())?;
                self.held[task.index()] = Some(until);
                self.serve(self.homes[task.index()]);
                Some(Decision::Hold { task, until })
            }
            Action::Weight { task, per_mille } => {
                self.lives(task)?;
                Some(Decision::Weight { task, per_mille })
            }
            Action::Ways { task, mask } => {
                self.lives(task).filter(|()| mask != 0)?;
                Some(Decision::Ways { task, core: self.homes[task.index()], mask })
            }
            // Nobody slows clocks here: the action counts as refused.
            Action::Slow { .. } => None,
        }
    }

    fn lives(&self, task: TaskId) -> Option<()> {
        self.tasks.get(task.index()).copied().flatten().map(|_| ())
    }

    /// A task is on another core from now on. As in the kernel, it runs there after that core has decided anew: it is seen there the
    /// next time.
    fn settle(&mut self, task: TaskId, core: CoreId) {
        let from = std::mem::replace(&mut self.homes[task.index()], core);
        if from != core {
            self.serve(from);
        }
    }

    /// Who is on a core after somebody left it: as sources see it, the one that ran longest, the first of equals.
    fn serve(&mut self, core: CoreId) {
        let there = (0..self.homes.len()).filter(|&task| {
            self.homes[task] == core
                && self.tasks[task].is_some()
                && self.held[task].is_none()
                && !self.ran[task].is_zero()
        });
        let next = there.rev().max_by_key(|&task| self.ran[task]);
        if let Some(post) = self.posts.get_mut(core.index()) {
            post.running = next.map(|task| TaskId(task as u32));
        }
    }
}

impl Where for Agent {
    fn home(&self, task: TaskId) -> Option<CoreId> {
        self.lives(task)?;
        self.homes.get(task.index()).copied()
    }

    fn is_held(&self, task: TaskId) -> bool {
        self.held.get(task.index()).copied().flatten().is_some()
    }

    fn set(&self, core: CoreId) -> u16 {
        let monitor = self.monitors.get(self.tasks.len() + core.index());
        monitor.and_then(|monitor| monitor.0.turns()).map_or(0, |turns| turns.next)
    }
}
