//! `[isolation.bandwidth]` and budgets of tasks.

use super::Reader;
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, integer, parse_quantity, quantity, string};
use crate::limits::at_least;
use crate::tree::{Entry, Node, Value};
use solo_isolate::admission::regulation_fits;
use solo_isolate::capacity::written_back;
use solo_isolate::{banks, diagnose};
use solo_model::isolation::*;
use solo_model::{Bandwidth, CoreId, Duration, EventId, Events, Task, TaskClass, TaskId};
use std::ops::Range;

impl Reader<'_> {
    /// `[isolation.bandwidth]`.
    pub(super) fn bandwidth(&self, isolation: &Fields<'_>) -> Option<Regulation> {
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
        let counted = counted?;
        let (guaranteed, guaranteed_with_writes) =
            self.guaranteed(counted, guaranteed.map(|found| found.value));
        let regulation = Regulation {
            period: period.unwrap_or(Duration::from_millis(1)),
            counted,
            cores,
            tasks: self.task_budgets(),
            sharing: sharing.map_or(Sharing::None, |found| found.value),
            reclaim: reclaim.map_or(Reclaim::Off, |found| found.value),
            prediction: prediction.unwrap_or_default(),
            quantum: Events::new(quantum.map_or(1000, |quantum| quantum.value)),
            wrong_donation: wrong_donation.map_or(WrongDonation::Overdraw, |found| found.value),
            carry_over: carry_over.is_some_and(|found| found.value),
            charge_per_mille: charge.unwrap_or(0),
            guaranteed,
            guaranteed_with_writes,
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

    /// What memory guarantees of what is counted, and of reads and writes together: as stated, else what was measured of the chip, else
    /// what its timing promises.
    fn guaranteed(&self, counted: Counted, stated: Option<Bandwidth>) -> (Bandwidth, Option<Bandwidth>) {
        let computed = || banks::row_miss_rate(&self.platform.dram, 1, self.line());
        let written = written_back(self.platform);
        match (stated, counted) {
            (Some(stated), _) => (stated, None),
            (None, Counted::ReadsAndWrites) => (written, Some(written)),
            (None, Counted::One(_)) => {
                (self.platform.dram.guaranteed.unwrap_or_else(computed), Some(written))
            }
        }
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
                            Code::UnusedKey,
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
        let table = &self.platform.events;
        let mut words: Vec<(&str, Counted)> =
            table.simulated().map(|(event, _)| (table.name(event), Counted::One(event))).collect();
        words.push(("reads-and-writes", Counted::ReadsAndWrites));
        if !fields.has("counts") {
            let _ = fields.get("counts");
            return Some(Counted::One(EventId::LLC_MISSES));
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
                                Code::CoreBudget,
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
                        Code::NoSuchCore,
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
}

/// A rate (`"900MiB/s"`), a share of the guaranteed bandwidth (`"25%"`), a weight (`"weight 3"`), or events in a
/// period (a whole number).
pub(super) fn budget(problems: &Problems, node: &Node, key: &str) -> Option<At<Budget>> {
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
                .error(Code::Zero, format!("`{key}` is zero: it could never run"), &span)
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
                        Code::NotAQuantity,
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
