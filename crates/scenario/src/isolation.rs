//! `[isolation.*]` and the keys of a task that belong to it: budgets, colors, banks, ways.

use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, integer, parse_quantity, quantity, string, word, wrong_type};
use crate::nearest::nearest;
use crate::scheduler::at_least;
use crate::tree::{Entry, Node, Table, Value};
use solo_isolate::admission::{Refusal, coloring_fits, regulation_fits};
use solo_isolate::lockdown::{self, LockRequest, LockableCache, Window};
use solo_isolate::{MemoryMap, banks, diagnose, ways};
use solo_model::isolation::*;
use solo_model::platform::Contents;
use solo_model::work::Buffer;
use solo_model::{
    Bandwidth, Bank, Bytes, Color, CoreId, Duration, Event, Events, Platform, Task, TaskClass, TaskId,
};
use std::ops::Range;

/// What a task's own keys ask for; every task of a pattern with copies asks for the same.
#[derive(Clone, Default, Debug)]
pub(crate) struct Wishes {
    colors: Option<At<Vec<u16>>>,
    banks: Option<At<Vec<u16>>>,
    ways: Option<At<u64>>,
    budget: Option<At<Budget>>,
    donates: Option<At<Donation>>,
}

/// A pattern of tasks: its name, its tasks, and what their own keys ask for.
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) tasks: Range<u32>,
    pub(crate) wishes: Wishes,
}

/// Reads the keys of a task that belong to isolation.
pub(crate) fn wishes(fields: &Fields<'_>) -> Wishes {
    let problems = fields.problems;
    let list = |key| fields.get(key).and_then(|entry| numbers(problems, &entry.node, key));
    let donations = [
        ("nothing", Donation::Nothing),
        ("surplus", Donation::Surplus),
        ("everything", Donation::Everything),
    ];
    Wishes {
        colors: list("colors"),
        banks: list("banks"),
        ways: list("ways").and_then(|ways| mask(problems, ways)),
        budget: fields.get("budget").and_then(|entry| budget(problems, &entry.node, "budget")),
        donates: fields.word("donates", &donations),
    }
}

/// Reads `isolation`; everything off where it says so or is absent.
pub(crate) fn read(
    problems: &Problems,
    entry: Option<&Entry>,
    owners: &[Owner],
    tasks: &[Task],
    buffers: &[Buffer],
    platform: &Platform,
    recorded: &[Vec<Events>],
) -> Isolation {
    let empty = Table::default();
    let (table, span) = match entry.map(|entry| &entry.node) {
        None => (&empty, 0..0),
        Some(Node { value: Value::Table(table), span }) => (table, span.clone()),
        Some(Node { value: Value::String(text), .. }) if text == "off" => return Isolation::default(),
        Some(node) => {
            wrong_type(problems, node, "isolation", "tables or \"off\"", "[isolation.bandwidth]");
            return Isolation::default();
        }
    };
    let fields = Fields::new(problems, table, span, "[isolation]");
    let reader = Reader { problems, owners, tasks, platform, recorded };
    let bandwidth = reader.bandwidth(&fields);
    let memory = reader.memory(&fields, buffers);
    let ways = reader.ways(&fields);
    let lockdown = reader.lockdown(&fields, buffers, memory.as_ref());
    fields.finish();
    Isolation { bandwidth, memory, ways, lockdown }
}

struct Reader<'r> {
    problems: &'r Problems,
    owners: &'r [Owner],
    tasks: &'r [Task],
    platform: &'r Platform,
    /// How often each page of each recorded program is accessed.
    recorded: &'r [Vec<Events>],
}

impl Reader<'_> {
    fn line(&self) -> Bytes {
        self.platform.caches.last().map_or(Bytes::new(64), |cache| cache.line)
    }

    /// `[isolation.bandwidth]`.
    fn bandwidth(&self, isolation: &Fields<'_>) -> Option<Regulation> {
        let problems = self.problems;
        let Some(table) = isolation.table("bandwidth", "[isolation.bandwidth]\ncores = { 0 = \"900MiB/s\" }")
        else {
            self.unused_budgets();
            return None;
        };
        let fields = Fields::new(problems, table.value, table.span, "[isolation.bandwidth]");
        let errors = problems.errors();
        let period = at_least(problems, fields.positive::<Duration>("period"), "period");
        let counted = self.counted(&fields);
        let cores = self.core_budgets(&fields);
        let words =
            [("none", Sharing::None), ("spare", Sharing::Spare), ("proportional", Sharing::Proportional)];
        let sharing = fields.word("sharing", &words);
        let words = [("off", Reclaim::Off), ("pool", Reclaim::Pool), ("peers", Reclaim::Peers)];
        let reclaim = fields.word("reclaim", &words);
        let words = [
            ("ewma-1/2", Prediction::EwmaHalf),
            ("ewma-1/4", Prediction::EwmaQuarter),
            ("lms", Prediction::Lms),
        ];
        let names: Vec<(&'static str, usize)> =
            words.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        let prediction = fields.word("predictor", &names).map(|found| words[found.value].1.clone());
        let words = [("overdraw", WrongDonation::Overdraw), ("throttle", WrongDonation::Throttle)];
        let wrong_donation = fields.word("wrong-donation", &words);
        let truth = [("yes", true), ("no", false)];
        let carry_over = fields.word("carry-over", &truth);
        let best_effort = fields.word("best-effort", &truth);
        let quantum = fields.integer("quantum", 1, u64::from(u32::MAX));
        let charge = fields.get("charge").and_then(|entry| percents(problems, &entry.node, "charge"));
        let guaranteed = fields.positive::<Bandwidth>("guaranteed");
        let dma = self.dma(&fields);
        let fields_span = fields.span.clone();
        let cores_span = fields.span_of("cores");
        fields.finish();
        if problems.errors() > errors {
            return None;
        }
        // What was measured of the chip, else what its timing promises.
        let computed = || banks::row_miss_rate(&self.platform.dram, 1, self.line());
        let lowest = self.platform.dram.guaranteed.unwrap_or_else(computed);
        let regulation = Regulation {
            period: period.unwrap_or(Duration::from_millis(1)),
            counted: counted?,
            cores,
            tasks: self.task_budgets(),
            sharing: sharing.map_or(Sharing::None, |found| found.value),
            reclaim: reclaim.map_or(Reclaim::Off, |found| found.value),
            prediction: prediction.unwrap_or_default(),
            quantum: Events::new(quantum.map_or(1000, |quantum| quantum.value)),
            wrong_donation: wrong_donation.map_or(WrongDonation::Overdraw, |found| found.value),
            carry_over: carry_over.is_some_and(|found| found.value),
            charge_per_mille: charge.unwrap_or(0),
            guaranteed: guaranteed.map_or(lowest, |found| found.value),
            best_effort: best_effort.is_some_and(|found| found.value),
            dma,
        };
        if let Err(refusal) = regulation_fits(&regulation, self.platform, self.tasks) {
            self.refuse(&refusal, &cores_span);
            return None;
        }
        self.doubt_budgets(&regulation, &cores_span, &fields_span);
        Some(regulation)
    }

    /// Complains about budgets of tasks that nobody watches.
    fn unused_budgets(&self) {
        for owner in self.owners {
            if let Some(budget) = &owner.wishes.budget
                && self.problems.variant.borrow().is_none()
            {
                self.problems.push(
                    self.problems
                        .error(
                            "solo::unused_key",
                            "`budget` has no effect without [isolation.bandwidth]",
                            &budget.span,
                        )
                        .label("nobody counts")
                        .help("add [isolation.bandwidth]; `cores` may stay empty")
                        .into_warning(),
                );
            }
        }
    }

    fn counted(&self, fields: &Fields<'_>) -> Option<Counted> {
        let mut words: Vec<(&'static str, Counted)> =
            Event::ALL.into_iter().map(|event| (event.name(), Counted::One(event))).collect();
        words.push(("reads-and-writes", Counted::ReadsAndWrites));
        if !fields.has("counts") {
            let _ = fields.get("counts");
            return Some(Counted::One(Event::LlcMiss));
        }
        fields.word("counts", &words).map(|found| found.value)
    }

    /// `cores` and `writes`.
    fn core_budgets(&self, fields: &Fields<'_>) -> Vec<CoreBudget> {
        let mut cores: Vec<CoreBudget> = Vec::new();
        for (key, writes) in [("cores", false), ("writes", true)] {
            let Some(table) = fields.table(key, &format!("{key} = {{ 0 = \"900MiB/s\" }}")) else { continue };
            for entry in &table.value.entries {
                let Some(core) = self.core_of(entry) else { continue };
                let Some(budget) = budget(self.problems, &entry.node, key) else { continue };
                match cores.iter_mut().find(|known| known.core == core) {
                    Some(known) if writes => known.writes = Some(budget.value),
                    None if !writes => cores.push(CoreBudget { core, budget: budget.value, writes: None }),
                    _ => self.problems.push(
                        self.problems
                            .error(
                                "solo::core_budget",
                                format!("`{key}` of {core} has no place"),
                                &entry.key_span,
                            )
                            .label("`writes` adds to a core of `cores`; each core stands once"),
                    ),
                }
            }
        }
        cores.sort_by_key(|entry| entry.core);
        cores
    }

    fn core_of(&self, entry: &Entry) -> Option<CoreId> {
        let count = self.platform.cores.len();
        let core = entry.key.parse::<u16>().ok().filter(|&core| usize::from(core) < count);
        if core.is_none() {
            self.problems.push(
                self.problems
                    .error(
                        "solo::no_such_core",
                        format!("there is no core `{}` on {}", clip(&entry.key), self.platform.name),
                        &entry.key_span,
                    )
                    .label("no such core")
                    .expected(format!("0 to {}", count - 1)),
            );
        }
        core.map(CoreId)
    }

    /// One entry for each task: what it gives away follows from its class where it does not say.
    fn task_budgets(&self) -> Vec<TaskBudget> {
        let by_class = |class| match class {
            TaskClass::Hard => Donation::Nothing,
            TaskClass::Soft | TaskClass::BestEffort => Donation::Surplus,
        };
        let entry = |(at, task): (usize, &Task)| {
            let id = at as u32;
            let owner = self.owners.iter().find(|owner| owner.tasks.contains(&id));
            let wishes = owner.map(|owner| &owner.wishes);
            TaskBudget {
                task: TaskId(id),
                budget: wishes.and_then(|wishes| wishes.budget.as_ref()).map(|budget| budget.value),
                donates: wishes
                    .and_then(|wishes| wishes.donates.as_ref())
                    .map_or(by_class(task.class), |donates| donates.value),
            }
        };
        self.tasks.iter().enumerate().map(entry).collect()
    }

    fn dma(&self, fields: &Fields<'_>) -> Vec<DmaMaster> {
        let Some(table) = fields.table("dma", "dma = { camera = \"100MB/s\" }") else { return Vec::new() };
        let master = |entry: &Entry| {
            let rate = quantity::<Bandwidth>(self.problems, &entry.node, &entry.key)?.value;
            Some(DmaMaster { name: entry.key.clone(), rate })
        };
        table.value.entries.iter().filter_map(master).collect()
    }

    /// Budgets that would silently do nothing.
    fn doubt_budgets(&self, regulation: &Regulation, cores: &Range<usize>, table: &Range<usize>) {
        if self.problems.variant.borrow().is_some() {
            return;
        }
        for entry in &regulation.cores {
            let Budget::Rate(rate) = entry.budget else { continue };
            let reach = diagnose::reach(self.platform, entry.core);
            self.warn(diagnose::budget_in_reach(entry.core, rate, reach), cores);
        }
        let open = self.tasks.iter().filter_map(|task| task.core);
        let mut open: Vec<CoreId> =
            open.filter(|core| regulation.cores.iter().all(|entry| entry.core != *core)).collect();
        open.sort_unstable();
        open.dedup();
        if !regulation.cores.is_empty() {
            for core in open {
                self.warn(Some(diagnose::Warning::Unregulated { core }), table);
            }
        }
    }

    fn warn(&self, warning: Option<diagnose::Warning>, span: &Range<usize>) {
        let Some(warning) = warning else { return };
        let text = self.named(&warning.to_string());
        let (headline, remedy) = text.split_once("; ").unwrap_or((&text, ""));
        let mut problem = self.problems.error("solo::ineffective", headline, span).label("here");
        if !remedy.is_empty() {
            problem = problem.help(remedy);
        }
        self.problems.push(problem.into_warning());
    }

    /// `[isolation.colors]`, `[isolation.banks]`, `[isolation.memory]`.
    fn memory(&self, isolation: &Fields<'_>, buffers: &[Buffer]) -> Option<Coloring> {
        let problems = self.problems;
        let errors = problems.errors();
        let colors = self.by_task(isolation, "colors");
        let banks = self.by_task(isolation, "banks");
        let mut coloring = Coloring::default();
        if let Some(table) = isolation.table("memory", "[isolation.memory]\nkernel = 0") {
            let fields = Fields::new(problems, table.value, table.span, "[isolation.memory]");
            let words = [("fail", Fallback::Fail), ("borrow", Fallback::Borrow)];
            coloring.fallback = fields.word("fallback", &words).map_or(Fallback::Fail, |word| word.value);
            let most = u64::from(u16::MAX);
            coloring.groups = fields.integer("groups", 1, most).map_or(0, |groups| groups.value as u16);
            coloring.kernel = fields.integer("kernel", 0, most).map(|color| Color(color.value as u16));
            let truth = [("yes", true), ("no", false)];
            coloring.shared = fields.word("shared", &truth).is_some_and(|word| word.value);
            coloring.kernel_touches = fields.word("kernel-touches", &truth).is_some_and(|word| word.value);
            fields.finish();
        }
        let mut last = isolation.span.clone();
        for at in 0..self.tasks.len() as u32 {
            let owner = self.owners.iter().find(|owner| owner.tasks.contains(&at));
            let wish = |named: &[(Range<u32>, At<Vec<u16>>)], own: Option<&At<Vec<u16>>>| {
                named
                    .iter()
                    .find(|(tasks, _)| tasks.contains(&at))
                    .map(|(_, list)| list.clone())
                    .or(own.cloned())
            };
            let own_colors = wish(&colors, owner.and_then(|owner| owner.wishes.colors.as_ref()));
            let own_banks = wish(&banks, owner.and_then(|owner| owner.wishes.banks.as_ref()));
            if let Some(place) = own_colors.as_ref().or(own_banks.as_ref()) {
                last = place.span.clone();
                coloring.owners.push(ColorOwner {
                    task: TaskId(at),
                    colors: own_colors.map_or(Vec::new(), |list| list.value.into_iter().map(Color).collect()),
                    banks: own_banks.map_or(Vec::new(), |list| list.value.into_iter().map(Bank).collect()),
                });
            }
        }
        let wanted = !coloring.owners.is_empty() || coloring.kernel.is_some() || coloring.kernel_touches;
        if !wanted || problems.errors() > errors {
            return None;
        }
        if let Err(refusal) = coloring_fits(&coloring, self.platform, self.tasks) {
            self.refuse(&refusal, &last);
            return None;
        }
        if problems.variant.borrow().is_none()
            && let Ok(map) = MemoryMap::of(self.platform)
        {
            let last_level =
                self.platform.caches.iter().filter(|cache| cache.contents != Contents::Instructions);
            let hash = last_level.max_by_key(|cache| cache.level).map_or(&[][..], |cache| &cache.slice_hash);
            let banks_too = coloring.owners.iter().any(|owner| !owner.banks.is_empty());
            let colors_too = coloring.owners.iter().any(|owner| !owner.colors.is_empty());
            let concerns = |warning: &diagnose::Warning| match warning {
                diagnose::Warning::PageCoversColors { .. } | diagnose::Warning::HashOverColors { .. } => {
                    colors_too || coloring.kernel.is_some()
                }
                _ => true,
            };
            let warnings = diagnose::coloring(&map, Bytes::from_kib(4), hash, banks_too);
            for warning in warnings.into_iter().filter(concerns) {
                self.warn(Some(warning), &last);
            }
            let touches = |task: TaskId| {
                let work = &self.tasks[task.index()].work;
                !lockdown::ranks(task, work, buffers, self.platform.page, &[]).is_empty()
            };
            for warning in diagnose::open_neighbors(&coloring, self.tasks, touches) {
                self.warn(Some(warning), &last);
            }
        }
        Some(coloring)
    }

    /// `[isolation.ways]` and the tasks' own keys.
    fn ways(&self, isolation: &Fields<'_>) -> Vec<WayMask> {
        let problems = self.problems;
        let mut masks = Vec::new();
        let named = self.by_task(isolation, "ways");
        let named = named.into_iter().filter_map(|(tasks, list)| Some((tasks, mask(problems, list)?)));
        let own = self.owners.iter();
        let own = own.filter_map(|owner| Some((owner.tasks.clone(), owner.wishes.ways.clone()?)));
        let data = self.platform.caches.iter().filter(|cache| cache.contents != Contents::Instructions);
        let last = data.max_by_key(|cache| cache.level).map_or(0, |cache| cache.ways);
        for (tasks, mask) in named.chain(own) {
            if let Err(error) = ways::check(mask.value, last) {
                problems.push(
                    problems
                        .error("solo::ways", error.to_string(), &mask.span)
                        .label("not a set of ways of the last-level cache")
                        .expected(format!(
                            "neighbouring ways from 0 to {}, for example \"0-3\"",
                            last.max(1) - 1
                        )),
                );
                continue;
            }
            for at in tasks {
                masks.push(WayMask { owner: WayOwner::Task(TaskId(at)), mask: mask.value });
            }
        }
        masks
    }

    /// `[isolation.lockdown]`: how many of its most accessed pages each task keeps in the last level.
    fn lockdown(
        &self,
        isolation: &Fields<'_>,
        buffers: &[Buffer],
        memory: Option<&Coloring>,
    ) -> Option<Lockdown> {
        let problems = self.problems;
        let partitions = self.partitions(isolation);
        let table = isolation.table("lockdown", "[isolation.lockdown]\nframe = 40")?;
        let (mut requests, mut profile) = (Vec::new(), Vec::new());
        let mut when = LockTime::Boot;
        if let Some(entry) = table.value.entries.iter().find(|entry| entry.key == "when") {
            let words = [
                ("boot", LockTime::Boot),
                ("task", LockTime::Task),
                ("job", LockTime::Job),
                ("partition", LockTime::Partition),
            ];
            let said = string(problems, &entry.node, "when");
            let said = said.and_then(|said| word(problems, &said, "when", &words));
            when = said.map_or(when, |said| said.value);
        }
        for entry in table.value.entries.iter().filter(|entry| entry.key != "when") {
            let Some(tasks) = self.tasks_named(entry) else { continue };
            let most = u64::from(u32::MAX);
            let Some(pages) = integer(problems, &entry.node, &entry.key, 0, most) else { continue };
            for at in tasks.filter(|_| pages.value > 0) {
                let (task, work) = (TaskId(at), &self.tasks[at as usize].work);
                let owner = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == task));
                let colors = owner.map_or(Vec::new(), |owner| owner.colors.clone());
                let window = Window::of(when, &partitions, self.tasks, task);
                if when == LockTime::Partition && window.is_none() {
                    self.no_window(task, &entry.key_span);
                    return None;
                }
                requests.push(LockRequest { task, pages: pages.value, colors, window });
                profile.extend(lockdown::ranks(task, work, buffers, self.platform.page, self.recorded));
            }
        }
        let data = self.platform.caches.iter().filter(|cache| cache.contents != Contents::Instructions);
        let last = data.max_by_key(|cache| cache.level)?;
        let groups = memory.map_or(0, |memory| memory.groups);
        let colors = last.colors(self.platform.page);
        let colors = if groups == 0 { colors } else { groups.min(colors) };
        let cache = LockableCache { colors, ways: last.ways };
        // Whether the machine can lock is the machine's to say.
        match lockdown::plan(true, cache, &profile, &requests) {
            Ok(pages) if pages.is_empty() => None,
            Ok(pages) => {
                for request in &requests {
                    self.doubt_cold_pages(request.task, &pages, &profile, &table.span);
                }
                Some(Lockdown { pages, when, partitions })
            }
            Err(error) => {
                let text = self.named(&error.to_string());
                problems.push(
                    problems
                        .error("solo::isolation", text, &table.span)
                        .label("these pages can't be locked")
                        .help(format!("the last level can hold {} pages of all tasks", cache.capacity())),
                );
                None
            }
        }
    }

    /// `[isolation.partitions]`: the tasks of each IMA partition.
    fn partitions(&self, isolation: &Fields<'_>) -> Vec<Vec<TaskId>> {
        let Some(table) = isolation.table("partitions", "[isolation.partitions]\nnavigation = [\"frame\"]")
        else {
            return Vec::new();
        };
        let problems = self.problems;
        let mut partitions: Vec<Vec<TaskId>> = Vec::new();
        for entry in &table.value.entries {
            let Value::Array(names) = &entry.node.value else {
                wrong_type(problems, &entry.node, &entry.key, "a list of tasks", "[\"frame\", \"route\"]");
                continue;
            };
            let mut own: Vec<TaskId> = Vec::new();
            for name in names {
                let Some(name) = string(problems, name, &entry.key) else { continue };
                let Some(tasks) = self.tasks_called(name.value, &name.span) else { continue };
                own.extend(tasks.map(TaskId));
                let core = |task: &TaskId| self.tasks[task.index()].core;
                let first = own.first().and_then(core);
                let apart = own.iter().any(|task| core(task).is_none() || core(task) != first);
                let twice = partitions.iter().flatten().any(|task| own.contains(task));
                let wrong = match (apart, twice) {
                    (true, _) => "a partition is on one core: its tasks need the same `core`",
                    (_, true) => "a task is in one partition",
                    _ => continue,
                };
                let headline = format!("`{}` can't be in partition `{}`", clip(name.value), clip(&entry.key));
                problems.push(problems.error("solo::isolation", headline, &name.span).label(wrong));
            }
            partitions.push(own);
        }
        partitions
    }

    /// A task whose pages are to be locked in a partition's windows is in none.
    fn no_window(&self, task: TaskId, span: &Range<usize>) {
        let problems = self.problems;
        let headline = format!("the task `{}` is in no partition", self.tasks[task.index()].name);
        let problem =
            problems.error("solo::isolation", headline, span).label("locked when its partition begins");
        problems.push(problem.help("name its partition in [isolation.partitions], or say another `when`"));
    }

    /// Warns of locked pages that nothing accesses.
    fn doubt_cold_pages(
        &self,
        task: TaskId,
        pages: &[LockedPage],
        profile: &[lockdown::RankedPage],
        span: &Range<usize>,
    ) {
        let cold = |locked: &&LockedPage| {
            let same = |page: &&lockdown::RankedPage| {
                (page.task, page.buffer, page.page) == (task, locked.buffer, locked.page)
            };
            locked.task == task && profile.iter().find(same).is_some_and(|page| page.accesses == 0)
        };
        let pages = pages.iter().filter(cold).count() as u64;
        if self.problems.variant.borrow().is_none() && pages > 0 {
            self.warn(Some(diagnose::Warning::ColdPages { task, pages }), span);
        }
    }

    /// A table whose keys are tasks and whose values are lists of numbers.
    fn by_task(&self, isolation: &Fields<'_>, key: &'static str) -> Vec<(Range<u32>, At<Vec<u16>>)> {
        let Some(table) = isolation.table(key, &format!("[isolation.{key}]\nframe = \"0-3\"")) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in &table.value.entries {
            let Some(tasks) = self.tasks_named(entry) else { continue };
            if let Some(list) = numbers(self.problems, &entry.node, &entry.key) {
                found.push((tasks, list));
            }
        }
        found
    }

    /// The tasks of a name: one task, or all copies of a pattern.
    fn tasks_named(&self, entry: &Entry) -> Option<Range<u32>> {
        self.tasks_called(&entry.key, &entry.key_span)
    }

    fn tasks_called(&self, name: &str, span: &Range<usize>) -> Option<Range<u32>> {
        let exact = self.tasks.iter().position(|task| task.name == name);
        let exact = exact.map(|at| at as u32..at as u32 + 1);
        let pattern = || self.owners.iter().find(|owner| owner.name == name);
        let found = exact.or_else(|| pattern().map(|owner| owner.tasks.clone()));
        // A variant may leave tasks out that the scenario gives colors.
        if found.is_none() && self.problems.variant.borrow().is_none() {
            let names: Vec<&str> = self.owners.iter().map(|owner| owner.name.as_str()).collect();
            let label = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => String::from("no task of this name"),
            };
            let headline = format!("there is no task `{}` to isolate", clip(name));
            self.problems.push(self.problems.error("solo::unknown_name", headline, span).label(label));
        }
        found
    }

    fn refuse(&self, refusal: &Refusal, span: &Range<usize>) {
        let text = self.named(&refusal.to_string());
        let problem = self.problems.error("solo::isolation", text, span);
        let problem = match refusal {
            Refusal::Overbooked { guaranteed, .. } => {
                problem.label("more than memory guarantees whatever the addresses").help(format!(
                    "lower the budgets to {guaranteed} together, state what was measured as \
                     `guaranteed = \"...\"`, or give the guarantee up with `best-effort = \"yes\"`"
                ))
            }
            Refusal::SharedColor { .. } => problem.label("both evict each other's lines").help(
                "give each colors of its own, or say `shared = \"yes\"` in [isolation.memory] if it is meant",
            ),
            Refusal::KernelColor { .. } => problem.label("leave it out, or give the kernel another"),
            _ => problem.label("this can't be had"),
        };
        self.problems.push(problem);
    }

    /// Messages of policies name tasks by number: by name here.
    fn named(&self, text: &str) -> String {
        let word = |word: &str| {
            let digits = word.strip_prefix("task").unwrap_or("");
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let task = digits[..end].parse::<usize>().ok().and_then(|at| self.tasks.get(at));
            task.map_or(word.to_owned(), |task| format!("task `{}`{}", task.name, &digits[end..]))
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// A rate (`"900MiB/s"`), a share of the guaranteed bandwidth (`"25%"`), a weight (`"weight 3"`), or events in a
/// period (a whole number).
fn budget(problems: &Problems, node: &Node, key: &str) -> Option<At<Budget>> {
    let span = node.span.clone();
    if matches!(node.value, Value::Integer(_)) {
        let events = integer(problems, node, key, 1, 1 << 40)?.value;
        return Some(At { value: Budget::Events(Events::new(events)), span });
    }
    let text = string(problems, node, key)?;
    if let Some(weight) = text.value.strip_prefix("weight ").and_then(|weight| weight.trim().parse().ok()) {
        return Some(At { value: Budget::Weight(weight), span });
    }
    if text.value.trim_end().ends_with('%') {
        return percents(problems, node, key).map(|share| At { value: Budget::Share(share), span });
    }
    let rate = quantity::<Bandwidth>(problems, node, key)?;
    if rate.value.is_zero() {
        problems.push(
            problems
                .error("solo::zero", format!("`{key}` is zero: it could never run"), &span)
                .label("above zero")
                .expected("for example \"300MiB/s\""),
        );
        return None;
    }
    Some(At { value: Budget::Rate(rate.value), span })
}

/// Thousandths, also above one whole.
fn percents(problems: &Problems, node: &Node, key: &str) -> Option<u32> {
    let text = string(problems, node, key)?;
    match crate::units::SHARE.parse(text.value).ok().and_then(|raw| u32::try_from(raw).ok()) {
        Some(share) => Some(share),
        None => {
            let _ = parse_quantity::<solo_model::PerMille>(text.value);
            problems.push(
                problems
                    .error(
                        "solo::not_a_quantity",
                        format!("`{key}` = \"{}\" is no share", clip(text.value)),
                        &text.span,
                    )
                    .label("not a share")
                    .expected("for example \"25%\""),
            );
            None
        }
    }
}

/// `"0-3, 7"` as numbers, ascending and each once.
fn numbers(problems: &Problems, node: &Node, key: &str) -> Option<At<Vec<u16>>> {
    let text = string(problems, node, key)?;
    let wrong = |what: String| {
        problems.push(
            problems
                .error("solo::not_a_list", format!("`{key}` = \"{}\": {what}", clip(text.value)), &text.span)
                .label("not a list of numbers")
                .expected("numbers and ranges, for example \"0-3, 7\""),
        );
    };
    let mut found: Vec<u16> = Vec::new();
    for part in text.value.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.trim().parse::<u16>().ok().zip(last.trim().parse::<u16>().ok());
        match range {
            Some((first, last)) if first <= last => found.extend(first..=last),
            Some((first, last)) => {
                wrong(format!("the range {first}-{last} runs backwards"));
                return None;
            }
            None => {
                wrong(format!("\"{}\" is no number and no range", clip(part)));
                return None;
            }
        }
    }
    found.sort_unstable();
    let before = found.len();
    found.dedup();
    if found.len() < before {
        wrong("a number stands twice".to_owned());
        return None;
    }
    Some(At { value: found, span: text.span })
}

/// A list of ways as a mask.
fn mask(problems: &Problems, ways: At<Vec<u16>>) -> Option<At<u64>> {
    if let Some(far) = ways.value.iter().find(|&&way| way >= 64) {
        problems.push(
            problems.error("solo::ways", format!("there is no way {far}"), &ways.span).label("too high"),
        );
        return None;
    }
    let mask = ways.value.iter().fold(0, |mask, way| mask | 1 << way);
    Some(At { value: mask, span: ways.span })
}
