//! One watch from beginning to end.

use crate::attached;
use crate::follow::{self, Change, Failure, Program};
use crate::machine::Modules;
use crate::options::{Per, WatchOptions};
use crate::outcome::{Reason, Sink, WatchError, WatchOutcome};
use crate::recorder::{Recorder, unknown_names};
use crate::rights;
use crate::row::{Columns, RowKind};
use crate::subject::{Sets, Watched};
use crate::target::Target;
use solo_model::text::{Unnumbered, counted};
use solo_model::{CoreId, Instant};
use solo_observe::rotation::Turns;
use solo_observe::{Filter, Subject};
use solo_perf::cpus;
use solo_perf::files::Files;
use solo_perf::group::{Refused, RingRecord, Start, Whom};
use solo_perf::resolve::{ResolveError, Resolver};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long at most nothing is looked at: rings fill, and the user may have asked to stop.
const NAP: u64 = 10_000_000;
/// The same where virtual counters belong to samples: they are read when a sample is found.
const SHORT_NAP: u64 = 1_000_000;
/// The same where no samples can fill a ring.
const LONG_NAP: u64 = 50_000_000;
/// How long a program may take to end once it is asked to.
const GRACE: u64 = 2_000_000_000;

pub(super) struct Session<'a> {
    options: &'a WatchOptions,
    files: &'a dyn Files,
    modules: Modules,
    recorder: Recorder<'a>,
    sets: Sets,
    filter: Filter,
    sampled: bool,
    subjects: BTreeMap<Subject, Watched>,
    /// Samples of each thread, where the program ends with so many.
    samples: BTreeMap<Subject, u64>,
    /// Some thread has given as many samples as were asked for.
    enough: bool,
    /// Threads of the machine that could not be opened; each is a doubt once.
    missed: BTreeSet<Subject>,
    /// Whose turn it is.
    turns: Turns,
    /// The clock's reading at the beginning.
    origin: u64,
    last_tick: Instant,
    next_tick: Option<Instant>,
    notes: Vec<String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        options: &'a WatchOptions,
        modules: Modules,
        files: &'a dyn Files,
        sink: &'a mut dyn Sink,
    ) -> Result<Self, WatchError> {
        let mut columns = Columns::of(&options.sets);
        columns.virtuals = modules.columns();
        columns.metrics = options.metrics.iter().map(|metric| metric.name.clone()).collect();
        for metric in &options.metrics {
            if let Some(name) = unknown_names(metric, &columns).first() {
                let known = [columns.counts.as_slice(), &columns.virtuals, &["seconds".to_owned()]].concat();
                return Err(WatchError::Options(format!(
                    "metric `{}`: no column is called `{name}`; there are {}",
                    metric.name,
                    known.join(", ")
                )));
            }
        }
        let filter = options.filter;
        Ok(Self {
            sets: resolve(options, files, filter)?,
            sampled: options.sets.iter().any(|set| set.sampled().is_some()),
            recorder: Recorder::new(columns, &options.metrics, sink),
            options,
            files,
            modules,
            filter,
            subjects: BTreeMap::new(),
            samples: BTreeMap::new(),
            enough: false,
            missed: BTreeSet::new(),
            turns: Turns::new(options.sets.len()),
            origin: 0,
            last_tick: Instant::ZERO,
            next_tick: None,
            notes: Vec::new(),
        })
    }

    pub(super) fn run(mut self, target: &Target, stop: &Arc<AtomicBool>) -> Result<WatchOutcome, WatchError> {
        let mut program = self.prepare(target)?;
        self.recorder.begin();
        self.reduce_rights(target);
        self.origin = solo_perf::now();
        let _ = self.turns.turn(Instant::ZERO);
        if !self.modules.is_empty() {
            // The first sample is what later ones are compared with.
            self.modules.sample(Instant::ZERO, self.files, &|_| None);
            self.modules.begin(Subject::Machine, self.files);
        }
        self.next_tick = self.options.every.map(|every| Instant::ZERO + every);
        if let Some(program) = &mut program {
            let released = program.release();
            released.map_err(|source| WatchError::System { what: "start the program", source })?;
        }
        let reason = self.observe(target, program.as_mut(), stop)?;
        let elapsed = self.now().since(Instant::ZERO);
        self.finish(reason);
        if self.sets.len() > 1 {
            self.notes
                .push("event sets took turns: each total covers the time that its set was in force".into());
        }
        let mut outcome = WatchOutcome {
            columns: self.recorder.columns,
            totals: self.recorder.totals,
            doubts: self.recorder.doubts,
            elapsed,
            reason,
            program: None,
            used: None,
            stops: 0,
            notes: self.notes,
            output_error: self.recorder.output_error,
        };
        if let Some(mut program) = program {
            let runs_on = match reason {
                Reason::Ended => true,
                // Whatever happens to the rows, the program runs on to its end, unless the user has enough of it.
                Reason::Output => program.wait_for_end(stop),
                _ => false,
            };
            if !runs_on {
                let left = program.terminate(GRACE);
                if left > 0 {
                    outcome
                        .notes
                        .push(format!("{} of the program could not be ended", counted(left, "process")));
                }
            }
            match program.failure() {
                Some(Failure::Execute(source)) => {
                    return Err(WatchError::Execute { program: name_of(target), source });
                }
                Some(Failure::Cpus(source)) => {
                    return Err(WatchError::System { what: "keep the program on these CPUs", source });
                }
                None => {}
            }
            outcome.stops = program.stops();
            outcome.program = program.ended();
            outcome.used = outcome.program.map(|_| follow::used());
        }
        Ok(outcome)
    }

    /// Everything is open, and the program, if one was started, has its own rights.
    fn reduce_rights(&mut self, target: &Target) {
        let needed = rights::needed(target, self.sampled, !self.modules.is_empty(), self.files);
        if let Err(error) = rights::reduce(self.options.rights, needed) {
            self.notes.push(format!("the watch kept all its rights: {}", Unnumbered(error)));
        }
    }

    fn now(&self) -> Instant {
        Instant::new(solo_perf::now().saturating_sub(self.origin))
    }

    /// Starts or finds whom to watch and opens everything, before anything counts.
    fn prepare(&mut self, target: &Target) -> Result<Option<Program>, WatchError> {
        let mut program = match target {
            Target::Command(command) => {
                let follow = self.options.per == Per::Thread;
                let started =
                    Program::start(command, follow, self.options.adopt, self.options.cpus.as_deref());
                Some(started.map_err(|source| WatchError::Execute { program: name_of(target), source })?)
            }
            _ => None,
        };
        let opened = self.open_first(target, program.as_ref());
        let opened = match opened {
            Err((_, refused)) if no_right(&refused.source) && self.filter.kernel => {
                self.filter = Filter::USER;
                self.sets = resolve(self.options, self.files, self.filter)?;
                self.subjects.clear();
                self.notes.push("user mode only: counting in the kernel takes CAP_PERFMON or kernel.perf_event_paranoid below 2".into());
                self.open_first(target, program.as_ref())
            }
            other => other,
        };
        match opened {
            Ok(()) => Ok(program),
            Err((set, refused)) => {
                drop(program.take());
                Err(self.refusal(target, set, refused))
            }
        }
    }

    fn open_first(&mut self, target: &Target, program: Option<&Program>) -> Result<(), (usize, Refused)> {
        match (target, self.options.per) {
            (_, Per::Core) => {
                for core in cpus::online(self.files) {
                    self.open(Subject::Core(CoreId(core)), Whom::Core(CoreId(core)), Start::Now)?;
                }
                Ok(())
            }
            (Target::Process(process), per) => self.attach(*process, per),
            (Target::Machine, _) => self.attach_all(),
            (_, per) => {
                let root = program.map_or(0, Program::root);
                let (subject, whom) = match per {
                    Per::Process => (Subject::Tree { process: root }, Whom::Tree(root)),
                    _ => (Subject::Thread { process: root, thread: root }, Whom::Thread(root)),
                };
                self.open(subject, whom, Start::OnExec)
            }
        }
    }

    /// Every thread that there is. What they start later is counted with them, so nothing is lost.
    fn attach(&mut self, process: u32, per: Per) -> Result<(), (usize, Refused)> {
        let refused = |source| (0, Refused { event: 0, members: 1, source });
        let mut opened = 0;
        for thread in attached::threads(process).map_err(refused)? {
            let subject = match per {
                Per::Process => Subject::Tree { process },
                _ => Subject::Thread { process, thread },
            };
            let whom = if self.sampled { Whom::Thread(thread) } else { Whom::Tree(thread) };
            match self.open(subject, whom, Start::Now) {
                // It ended while we looked.
                Err((_, gone)) if gone.source.raw_os_error() == Some(libc::ESRCH) => {
                    self.subjects.remove(&subject);
                }
                other => {
                    other?;
                    opened += 1;
                }
            }
        }
        if opened == 0 {
            return Err(refused(io::Error::from_raw_os_error(libc::ESRCH)));
        }
        self.notes.push(if self.sampled {
            "threads that the process starts from now on are not observed: the kernel keeps no samples of inherited events".into()
        } else {
            "threads that the process starts from now on are counted with the thread that started them".into()
        });
        Ok(())
    }

    /// Every thread of the machine that may be observed.
    fn attach_all(&mut self) -> Result<(), (usize, Refused)> {
        let mut first = None;
        for (process, thread) in attached::all_threads() {
            let subject = Subject::Thread { process, thread };
            if let Err(refused) = self.open(subject, Whom::Thread(thread), Start::Now) {
                self.subjects.remove(&subject);
                self.missed.insert(subject);
                first.get_or_insert(refused);
            }
        }
        self.recorder.doubts.threads_missed = self.missed.len() as u64;
        match first {
            Some(refused) if self.subjects.is_empty() => {
                self.missed.clear();
                self.recorder.doubts.threads_missed = 0;
                Err(refused)
            }
            _ => {
                self.notes.push(
                    "threads that began and ended between two ticks were not seen; rows per core count them"
                        .into(),
                );
                Ok(())
            }
        }
    }

    fn open(&mut self, subject: Subject, whom: Whom, start: Start) -> Result<(), (usize, Refused)> {
        let since = if self.origin == 0 { Instant::ZERO } else { self.now() };
        let watched = self.subjects.entry(subject).or_insert_with(|| {
            self.modules.begin(subject, self.files);
            Watched::new(self.sets.len(), since)
        });
        watched.open(&self.sets, whom, self.turns.active(), start)?;
        self.recorder.doubts.threads += u64::from(!matches!(whom, Whom::Core(_)));
        Ok(())
    }

    fn observe(
        &mut self,
        target: &Target,
        mut program: Option<&mut Program>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Reason, WatchError> {
        let mut more = false;
        loop {
            if !more {
                Program::sleep(self.patience())
                    .map_err(|source| WatchError::System { what: "wait", source })?;
            }
            if let Some(program) = program.as_deref_mut() {
                let attended = program.attend(&mut |change| self.change(change));
                more =
                    attended.map_err(|source| WatchError::System { what: "follow the program", source })?;
            }
            if self.sampled {
                self.drain_all();
            }
            self.tick_if_due(target);
            if let Some(reason) = self.over(target, program.as_deref(), stop) {
                return Ok(reason);
            }
        }
    }

    /// How long nothing needs to be looked at.
    fn patience(&self) -> u64 {
        let nap = match (self.sampled, self.modules.is_empty()) {
            (true, true) => NAP,
            (true, false) => SHORT_NAP,
            (false, _) => LONG_NAP,
        };
        let now = self.now();
        let until = |at: Instant| at.since(now).get();
        let end = self.options.time_max.map_or(nap, |time| until(Instant::ZERO + time));
        nap.min(self.next_tick.map_or(nap, until)).min(end)
    }

    fn over(&self, target: &Target, program: Option<&Program>, stop: &Arc<AtomicBool>) -> Option<Reason> {
        let ended = match (target, program) {
            (_, Some(program)) => program.ended().is_some(),
            (Target::Process(process), _) => !attached::alive(*process),
            _ => false,
        };
        if ended {
            return Some(Reason::Ended);
        }
        // A reader that asked for the end and is gone meanwhile has asked for the end.
        if stop.load(Ordering::SeqCst) {
            return Some(Reason::Interrupted);
        }
        if self.recorder.output_error.is_some() {
            return Some(Reason::Output);
        }
        if self.options.rows_max.is_some_and(|max| self.recorder.doubts.rows >= max) {
            return Some(Reason::Rows);
        }
        if self.enough {
            return Some(Reason::Samples);
        }
        let time_over = self.options.time_max.is_some_and(|max| self.now() >= Instant::ZERO + max);
        time_over.then_some(Reason::Time)
    }

    fn change(&mut self, change: Change) {
        if self.options.per != Per::Thread {
            return;
        }
        match change {
            Change::Started { process, thread } => {
                let subject = Subject::Thread { process, thread };
                if self.open(subject, Whom::Thread(thread), Start::Now).is_err() {
                    self.subjects.remove(&subject);
                    self.recorder.doubts.threads_missed += 1;
                }
            }
            Change::Ended { thread } => {
                if let Some(subject) = self.subject_of(thread) {
                    self.close(subject, RowKind::Exit);
                }
            }
            Change::Executed { former, thread } => {
                if let Some(old) = self.subject_of(former)
                    && let Some(watched) = self.subjects.remove(&old)
                {
                    let new = Subject::Thread { process: thread, thread };
                    self.modules.rename(old, new);
                    self.subjects.insert(new, watched);
                }
            }
        }
    }

    fn subject_of(&self, wanted: u32) -> Option<Subject> {
        // Most threads are looked up once, when they end.
        self.subjects
            .keys()
            .copied()
            .find(|subject| matches!(subject, Subject::Thread { thread, .. } if *thread == wanted))
    }

    /// The last row of a subject; everything of it is closed.
    fn close(&mut self, subject: Subject, kind: RowKind) {
        self.drain(subject);
        self.look_at_modules();
        self.row(subject, kind, true);
        self.modules.end(subject);
        if let Some(mut watched) = self.subjects.remove(&subject) {
            self.recorder.doubts.migrations += watched.migrations();
        }
    }

    /// Gives a row with what the subject has counted since its last one; none where it did not run, unless
    /// `always`.
    fn row(&mut self, subject: Subject, kind: RowKind, always: bool) {
        let at = self.now();
        let set = self.turns.active();
        let Some(watched) = self.subjects.get_mut(&subject) else { return };
        let mut counts = self.recorder.counts(set);
        let read = watched.advance(set, |events, growth| self.recorder.take(&mut counts, events, growth));
        if read.is_err() {
            // A CPU that went offline: its events can't be read any more.
            self.recorder.doubts.cores_gone += 1;
            self.subjects.remove(&subject);
            return;
        }
        if counts.ran || always {
            let from = std::mem::replace(&mut watched.since, at);
            let columns = &self.recorder.columns;
            let count = |name: &str| counts.of(columns, name);
            let virtuals = self.modules.row(subject, at.since(from), true, self.files, &count);
            self.recorder.emit(subject, kind, from, at, counts, virtuals);
        }
    }

    fn drain_all(&mut self) {
        let subjects: Vec<Subject> = self.subjects.keys().copied().collect();
        for subject in subjects {
            self.drain(subject);
        }
    }

    /// A row for each sample that the kernel left for a subject.
    fn drain(&mut self, subject: Subject) {
        let set = self.turns.active();
        let Some(watched) = self.subjects.get_mut(&subject) else { return };
        if !self.sampled || watched.groups(set) == 0 {
            return;
        }
        let mut samples = Vec::new();
        watched.drain(set, |group, record| match record {
            RingRecord::Sample { time, words, .. } => samples.push((time, group, words)),
            RingRecord::Lost(count) => self.recorder.doubts.lost += count,
            RingRecord::Throttled => self.recorder.doubts.throttled += 1,
            // No group asks for them.
            RingRecord::Switch(_) => {}
        });
        if !samples.is_empty() {
            self.look_at_modules();
        }
        let left = samples.len();
        for (at, (time, group, words)) in samples.into_iter().enumerate() {
            if !self.sample(subject, set, time, group, &words, at + 1 == left) {
                return;
            }
        }
    }

    /// A row of a sample; false where the subject has given as many as were asked for.
    fn sample(
        &mut self,
        subject: Subject,
        set: usize,
        time: u64,
        group: usize,
        words: &[u64],
        last: bool,
    ) -> bool {
        let most = self.options.samples_max.unwrap_or(u64::MAX);
        let given = self.samples.entry(subject).or_insert(0);
        if *given >= most {
            return false;
        }
        let Some(watched) = self.subjects.get_mut(&subject) else { return false };
        let Some((events, growth)) = watched.advance_to(set, group, words) else { return true };
        *given += 1;
        self.enough |= *given >= most;
        let mut counts = self.recorder.counts(set);
        self.recorder.take(&mut counts, &events, &growth);
        let at = Instant::new(time.saturating_sub(self.origin)).max(watched.since);
        let from = std::mem::replace(&mut watched.since, at);
        let columns = &self.recorder.columns;
        let count = |name: &str| counts.of(columns, name);
        let virtuals = self.modules.row(subject, at.since(from), last, self.files, &count);
        self.recorder.emit(subject, RowKind::Overflow, from, at, counts, virtuals);
        true
    }

    /// Reads what modules tell of the machine, for the rows that follow.
    fn look_at_modules(&mut self) {
        if !self.modules.is_empty() {
            let now = self.now();
            self.modules.sample(now, self.files, &|_| None);
        }
    }

    fn tick_if_due(&mut self, target: &Target) {
        let (Some(every), Some(due)) = (self.options.every, self.next_tick) else { return };
        let now = self.now();
        if now < due {
            return;
        }
        let late = now.since(due);
        let doubts = &mut self.recorder.doubts;
        doubts.latest_tick = doubts.latest_tick.max(late);
        let skipped = late / every;
        doubts.late_ticks += skipped;
        self.next_tick = Some(due + every * (skipped + 1));
        self.tick(target);
    }

    fn tick(&mut self, target: &Target) {
        let before = self.turns.active();
        // Every subject's set is read before the next one's turn begins.
        let next = self.turns.next();
        let rotate = next != before;
        self.look_for_cores();
        self.look_for_threads(target);
        let subjects: Vec<Subject> = self.subjects.keys().copied().collect();
        self.look_at_modules();
        for subject in subjects {
            if rotate {
                // Errors show in the next reading, which says that nothing was counted.
                let _ = self.subjects.get(&subject).map(|watched| watched.stop(before));
            }
            self.row(subject, RowKind::Tick, false);
            if rotate {
                let _ = self.subjects.get(&subject).map(|watched| watched.go(next));
            }
        }
        let now = self.now();
        self.machine_row(now);
        self.last_tick = now;
        let _ = self.turns.turn(now);
        self.recorder.end_tick();
    }

    fn machine_row(&mut self, now: Instant) {
        if self.modules.is_empty() {
            return;
        }
        let recorder = &mut self.recorder;
        let count = |name: &str| {
            let column = recorder.columns.counts.iter().position(|column| column == name)?;
            recorder.tick.get(column).copied().flatten()
        };
        let span = now.since(self.last_tick);
        let virtuals = self.modules.row(Subject::Machine, span, true, self.files, &count);
        recorder.emit_machine(self.turns.active(), self.last_tick, now, virtuals);
    }

    /// CPUs may go and come back (hot-plug); what is watched per CPU goes along.
    fn look_for_cores(&mut self) {
        if self.options.per != Per::Core {
            return;
        }
        let online = cpus::online(self.files);
        let gone = |subject: &Subject| matches!(subject, Subject::Core(core) if !online.contains(&core.0));
        let gone: Vec<Subject> = self.subjects.keys().copied().filter(gone).collect();
        for subject in gone {
            self.close(subject, RowKind::Exit);
            self.recorder.doubts.cores_gone += 1;
        }
        for core in online {
            let subject = Subject::Core(CoreId(core));
            if !self.subjects.contains_key(&subject)
                && self.open(subject, Whom::Core(CoreId(core)), Start::Now).is_err()
            {
                self.subjects.remove(&subject);
            }
        }
    }

    /// Threads of the machine come and go; a last row for those that are gone.
    fn look_for_threads(&mut self, target: &Target) {
        if *target != Target::Machine || self.options.per != Per::Thread {
            return;
        }
        let subject = |(process, thread)| Subject::Thread { process, thread };
        let there: BTreeSet<Subject> = attached::all_threads().into_iter().map(subject).collect();
        let gone: Vec<Subject> = self.subjects.keys().copied().filter(|s| !there.contains(s)).collect();
        for subject in gone {
            self.close(subject, RowKind::Exit);
        }
        self.missed.retain(|subject| there.contains(subject));
        for subject in there {
            let Subject::Thread { thread, .. } = subject else { continue };
            if self.subjects.contains_key(&subject) || self.missed.contains(&subject) {
                continue;
            }
            if self.open(subject, Whom::Thread(thread), Start::Now).is_err() {
                self.subjects.remove(&subject);
                self.missed.insert(subject);
                self.recorder.doubts.threads_missed += 1;
            }
        }
    }

    /// Last rows of all that is still there.
    fn finish(&mut self, reason: Reason) {
        if self.sampled {
            self.drain_all();
        }
        let subjects: Vec<Subject> = self.subjects.keys().copied().collect();
        for subject in subjects {
            self.close(subject, RowKind::End);
        }
        if reason != Reason::Output {
            let now = self.now();
            if now > self.last_tick && !self.modules.is_empty() {
                self.machine_row(now);
            }
            self.recorder.end_tick();
        }
    }

    /// What the kernel's refusal means and what mends it.
    fn refusal(&self, target: &Target, set: usize, refused: Refused) -> WatchError {
        let event = self.options.sets.get(set).and_then(|set| set.events.get(refused.event));
        let name = event.map_or_else(String::new, |event| event.name.clone());
        let why = refused.why("give some to a second set with another -e");
        let source = refused.source;
        if let (Target::Process(process), Some(libc::ESRCH)) = (target, source.raw_os_error()) {
            return WatchError::Process { process: *process, source };
        }
        if let (Target::Process(process), io::ErrorKind::NotFound) = (target, source.kind())
            && !attached::alive(*process)
        {
            return WatchError::Process { process: *process, source };
        }
        WatchError::Refused { event: name, why, source }
    }
}

fn no_right(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

fn name_of(target: &Target) -> String {
    match target {
        Target::Command(command) => {
            command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn resolve(options: &WatchOptions, files: &dyn Files, filter: Filter) -> Result<Sets, WatchError> {
    let resolver = Resolver::new(files);
    let groups = |set: &solo_observe::EventGroup| {
        resolver.groups(set, filter).map_err(|source: ResolveError| {
            let blamed = set.events.iter().find(|event| {
                let alone = solo_observe::EventGroup { events: vec![(*event).clone()] };
                resolver.groups(&alone, filter).is_err()
            });
            WatchError::Resolve { event: blamed.map_or_else(String::new, |event| event.name.clone()), source }
        })
    };
    options.sets.iter().map(groups).collect()
}
