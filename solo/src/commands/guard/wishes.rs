//! What is to be held: from a scenario, or from words of the command line.

use super::super::run::chosen;
use super::super::watch::event_set;
use super::machine;
use super::who::{Member, Who};
use crate::cli::{HoldArgs, Instead, ReclaimFrom, Share};
use crate::exit::{Exit, Failure};
use solo_guard::groups::{GroupBudgets, GroupError};
use solo_guard::occupier::Budgets;
use solo_guard::{Group, Machine};
use solo_model::isolation::{Budget, CoreBudget, Counted, Reclaim, Regulation, Sharing};
use solo_model::text::Printable;
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events, Experiment};
use solo_observe::Filter;
use solo_perf::files::Host;
use solo_perf::resolve::{Attr, Resolver};
use solo_scenario::units::TIME;
use std::path::Path;

/// The regulation period where none is named: MemGuard's.
const PERIOD: Duration = Duration::from_millis(1);

/// What is to be held.
pub(super) struct Wishes {
    /// The budgets of CPUs; no core has one where none is held.
    pub(super) budgets: Budgets,
    /// The budgets of groups, the program's among them.
    pub(super) groups: Option<GroupWishes>,
    /// What is counted, in the user's words.
    pub(super) event: String,
    /// How long.
    pub(super) time: Option<Duration>,
}

impl Wishes {
    /// Reads them.
    pub(super) fn understand(options: &HoldArgs) -> Result<Self, Failure> {
        let time = options.time.as_deref().map(|text| duration("--time", text)).transpose()?;
        match &options.scenario {
            Some(path) => {
                let (regulation, line, event) = of_scenario(options, path)?;
                let budgets = Budgets { regulation, line, event: attr(&event)? };
                Ok(Self { budgets, groups: None, event, time })
            }
            None => of_words(options, time),
        }
    }

    /// Nothing where all of it can be held on this machine, as far as that is known beforehand.
    pub(super) fn validate(&self) -> Result<(), Failure> {
        if self.holds_cpus() {
            self.budgets.validate().map_err(|refusal| Failure::Usage(refusal.to_string()))?;
        }
        let groups = self.groups.as_ref().map(|groups| groups.of(&Group::default()).validate());
        groups.transpose().map(drop).map_err(not_held)
    }

    /// Whether CPUs have budgets.
    pub(super) fn holds_cpus(&self) -> bool {
        !self.budgets.regulation.cores.is_empty()
    }

    /// Whether the program has one.
    pub(super) fn holds_program(&self) -> bool {
        self.members().contains(&Member::Program)
    }

    /// The groups that have one.
    pub(super) fn members(&self) -> &[Member] {
        self.groups.as_ref().map_or(&[], |groups| &groups.members)
    }

    /// A name for the files of each: of CPUs, ascending, then of groups.
    pub(super) fn names(&self) -> Vec<String> {
        let cpus = self.budgets.cores().into_iter().map(|core| format!("cpu{}", core.0));
        let group = |(number, member): (usize, &Member)| match member {
            Member::Program => member.to_string(),
            Member::Path(_) => {
                let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
                format!("group{number}{}", member.to_string().chars().map(plain).take(60).collect::<String>())
            }
        };
        cpus.chain(self.members().iter().enumerate().map(group)).collect()
    }

    /// Who is held, for people.
    pub(super) fn whom(&self) -> String {
        let cores = self.budgets.cores();
        let listed = cores.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(", ");
        let cpus = match cores.len() {
            0 => None,
            1 => Some(format!("CPU {listed}")),
            _ => Some(format!("CPUs {listed}")),
        };
        let groups = self.members().iter().map(|member| Printable(member).to_string());
        let all: Vec<String> = cpus.into_iter().chain(groups).collect();
        let several = cores.len() + self.members().len() > 1;
        format!("{} {}", all.join(", "), if several { "are" } else { "is" })
    }
}

/// Budgets of groups.
pub(super) struct GroupWishes {
    /// The groups.
    pub(super) members: Vec<Member>,
    /// Core N stands for member N.
    pub(super) held: Budgets,
}

impl GroupWishes {
    /// What is held, where the program is in this group.
    pub(super) fn of(&self, program: &Group) -> GroupBudgets {
        let groups = self.members.iter().filter_map(|member| member.group(Some(program)).cloned());
        GroupBudgets { budgets: self.held.clone(), groups: groups.collect() }
    }
}

/// Why groups are not held.
pub(super) fn not_held(error: GroupError) -> Failure {
    match error {
        GroupError::Group { group, source } if source.is_not_found() => {
            let lists = |machine: Machine| {
                format!("; `ls {}` lists those at the top", Printable(machine.place_of_groups().display()))
            };
            let lists = machine().map_or_else(|_| String::new(), lists);
            Failure::Usage(format!("there is no cgroup {}{lists}", Printable(group)))
        }
        GroupError::Group { .. }
        | GroupError::Claimed { .. }
        | GroupError::Frozen { .. }
        | GroupError::Event { .. }
        | GroupError::Nowhere { .. }
        | GroupError::Guard(_)
        | GroupError::Fifo(_)
        | GroupError::System(_) => {
            Failure::Guard { exit: Exit::Cannot, message: Printable(error).to_string() }
        }
        refused => Failure::Usage(Printable(refused).to_string()),
    }
}

/// The experiment of a scenario whose budgets are wanted, and the budgets.
pub(super) fn regulation_of(options: &HoldArgs, path: &Path) -> Result<(Experiment, Regulation), Failure> {
    let instead = Instead { seed: None, jobs: None };
    let (scenario, experiment) = chosen(path, options.variant.as_deref(), &instead, options.show.quiet)?;
    let regulation = experiment.isolation.bandwidth.clone().ok_or_else(|| {
        let others = scenario.variants.iter().filter(|other| other.isolation.bandwidth.is_some());
        let names = others.map(|other| Printable(&other.variant).to_string()).collect::<Vec<_>>().join(", ");
        let mend = match names.as_str() {
            "" => String::new(),
            names => format!("; with --variant it has: {names}"),
        };
        let named = Printable(path.display());
        Failure::Usage(format!("{named} has no [isolation.bandwidth] to hold{mend}"))
    })?;
    Ok((experiment, regulation))
}

/// The budgets of a scenario.
fn of_scenario(options: &HoldArgs, path: &Path) -> Result<(Regulation, Bytes, String), Failure> {
    let (experiment, regulation) = regulation_of(options, path)?;
    let named = || Printable(path.display()).to_string();
    let line = experiment.platform.line();
    if regulation.tasks.iter().any(|task| task.budget.is_some()) {
        return Err(Failure::Usage(format!(
            "{} gives tasks budgets of their own, and an occupier stops CPUs, whoever runs there; give cores budgets",
            named()
        )));
    }
    let Counted::One(counts) = regulation.counted else {
        return Err(Failure::Usage(format!(
            "{} budgets reads and writes apart, and an occupier waits for one counter; count one event",
            named()
        )));
    };
    let own = counts.to_string();
    let event = options.event.clone().unwrap_or_else(|| own.clone());
    let rates = regulation.cores.iter().any(|entry| !matches!(entry.budget, Budget::Events(_)));
    if rates && event != own {
        return Err(Failure::Usage(format!(
            "{} has budgets of bytes, each of which is {line} of `{own}`; to hold budgets of `{}`, give them in events: --budget CPU=EVENTS",
            named(),
            Printable(&event)
        )));
    }
    Ok((regulation, line, event))
}

/// The budgets of the command line.
fn of_words(options: &HoldArgs, time: Option<Duration>) -> Result<Wishes, Failure> {
    let wanted = || {
        Failure::Usage(
            "expected a scenario, or an event and a budget: solo guard -e page-faults --budget 1=20 -- make"
                .to_owned(),
        )
    };
    let event = options.event.clone().filter(|_| !options.budgets.is_empty()).ok_or_else(wanted)?;
    let (mut cpus, mut groups): (Vec<CoreBudget>, Vec<CoreBudget>) = (Vec::new(), Vec::new());
    let mut members: Vec<Member> = Vec::new();
    for text in &options.budgets {
        let (who, events) = Who::with_budget(text)?;
        let twice = match &who {
            Who::Cpu(core) => cpus.iter().any(|known| known.core == *core),
            Who::Group(member) => members.contains(member),
        };
        if twice {
            return Err(Failure::Usage(format!("--budget: {} has two budgets", who.name())));
        }
        let budget = Budget::Events(Events::new(events));
        match who {
            Who::Cpu(core) => cpus.push(CoreBudget { core, budget, writes: None }),
            Who::Group(member) => {
                check_member(options, text, &member, events)?;
                let core = CoreId(u16::try_from(members.len()).unwrap_or(u16::MAX));
                groups.push(CoreBudget { core, budget, writes: None });
                members.push(member);
            }
        }
    }
    let period = options.period.as_deref().map_or(Ok(PERIOD), |text| duration("--period", text))?;
    let attr = attr(&event)?;
    let held =
        |cores| Budgets { regulation: regulation(options, period, cores), line: Bytes::new(64), event: attr };
    let groups = (!members.is_empty()).then(|| GroupWishes { members, held: held(groups) });
    Ok(Wishes { budgets: held(cpus), groups, event, time })
}

/// Nothing where a group may have so many events; `text` is how it was asked for.
fn check_member(options: &HoldArgs, text: &str, member: &Member, events: u64) -> Result<(), Failure> {
    if *member == Member::Program && options.command.is_empty() {
        return Err(Failure::Usage(format!(
            "--budget {}: expected the program behind the guard's words: -- COMMAND",
            Printable(text)
        )));
    }
    if events == 0 {
        let who = Printable(member);
        return Err(Failure::Usage(format!("{who} has a budget of 0 events: it would be frozen for good")));
    }
    Ok(())
}

/// Budgets with the words that all of them have in common.
fn regulation(options: &HoldArgs, period: Duration, cores: Vec<CoreBudget>) -> Regulation {
    // Which event it is decides what is counted; the regulator only has to know that it is one.
    let counted = Counted::One(EventId::LLC_MISSES);
    let least = cores.iter().filter_map(|core| match core.budget {
        Budget::Events(events) => Some(events.get()),
        _ => None,
    });
    // A twentieth of the smallest budget is asked for at a time: a core is not called for each event.
    let quantum = Events::new((least.min().unwrap_or(1) / 20).max(1));
    Regulation {
        sharing: match options.share {
            None => Sharing::None,
            Some(Share::Spare) => Sharing::Spare,
            Some(Share::Proportional) => Sharing::Proportional,
        },
        reclaim: match options.reclaim {
            None => Reclaim::Off,
            Some(ReclaimFrom::Pool) => Reclaim::Pool,
            Some(ReclaimFrom::Peers) => Reclaim::Peers,
        },
        quantum,
        ..Regulation::new(period, counted, cores, Bandwidth::ZERO)
    }
}

pub(super) fn duration(option: &str, text: &str) -> Result<Duration, Failure> {
    TIME.parse(text).map(Duration::new).map_err(|_| {
        Failure::Usage(format!(
            "{option}: expected {} such as 10ms, found `{}`; units: {}",
            TIME.name,
            Printable(text),
            TIME.known()
        ))
    })
}

/// The one event of these words, as `perf_event_open` wants it.
fn attr(event: &str) -> Result<Attr, Failure> {
    let host = Host::new();
    let set = event_set("-e", event, &host).map_err(|(exit, message)| Failure::Guard { exit, message })?;
    let cannot = |message: String| Failure::Guard { exit: Exit::Cannot, message };
    let resolver = Resolver::new(&host);
    let groups = resolver.groups(&set, Filter::ALL).map_err(|error| cannot(Printable(error).to_string()))?;
    match groups.concat().as_slice() {
        [(_, attr)] if attr.period == 0 => Ok(*attr),
        [_] => Err(Failure::Usage(format!(
            "`{}`: the guard itself says when the event is to ring",
            Printable(event)
        ))),
        _ => Err(Failure::Usage(format!(
            "expected one event on one kind of core, found `{}`",
            Printable(event)
        ))),
    }
}
