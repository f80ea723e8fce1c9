//! The energy meter: a register for the cores of each kind and one for memory, and the energy of each job.
//!
//! ```text
//!   what cores and memory have counted, how long cores were on ──▶ registers, at any instant
//!                     what a core has counted since its last entry into the kernel ──▶ the job that ran there
//! ```
//! Nothing is metered while cores work: all of it follows from what is counted anyway, times costs, when somebody looks.

use crate::memory::{DramCommands, DramCounts};
use solo_model::power::{ClusterPower, DramPower};
use solo_model::{
    Consumer, Energy, EnergyRecord, Experiment, Instant, JobIndex, KindId, Picoseconds, Platform, Power,
    PowerDomain, Signal, SignalCounts, TaskId, ThreadId,
};

/// The meters of a machine.
pub(crate) struct Meter {
    domains: Vec<PowerDomain>,
    /// By kind of core.
    clusters: Vec<Cluster>,
    memory: Option<Memory>,
    /// By domain, what its register stands at: by events, and by time.
    registers: Vec<[Energy; 2]>,
    /// What of that the last records of domains told.
    told: Vec<[Energy; 2]>,
    /// By core, its kind, and what it stood at when it was credited last.
    posts: Vec<Post>,
    /// By thread and kind, what its job has used so far.
    accounts: Vec<Vec<Share>>,
    /// The kernel reads the registers.
    read_by_kernel: bool,
}

/// What the cores of a kind draw.
struct Cluster {
    costs: Vec<(Signal, Energy)>,
    power: ClusterPower,
}

struct Memory {
    power: DramPower,
    /// Ranks, and how often each is refreshed.
    ranks: u64,
    refreshed_every: Picoseconds,
}

#[derive(Clone, Copy)]
struct Post {
    kind: usize,
    on: Picoseconds,
    commands: DramCommands,
}

/// Energy of a job on cores of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Share {
    dynamic: Energy,
    fixed: Energy,
    dram: Energy,
}

/// What a core stands at.
pub(crate) struct Reading {
    /// All that it has counted.
    pub(crate) counts: SignalCounts,
    /// How long it was on.
    pub(crate) on: Picoseconds,
}

impl Meter {
    /// The meters of the experiment's platform, where it has any.
    pub(crate) fn of(experiment: &Experiment) -> Option<Self> {
        let platform = &experiment.platform;
        let model = platform.power.as_ref()?;
        let domains = platform.power_domains();
        let clusters = model.clusters.iter().zip(&platform.kinds);
        let clusters: Vec<Cluster> = clusters
            .map(|(power, kind)| {
                let signal = |event| platform.events.get(event).and_then(|event| event.signal);
                let costs = kind.energy.iter().filter_map(|&(event, cost)| Some((signal(event)?, cost)));
                Cluster { costs: costs.collect(), power: *power }
            })
            .collect();
        let post = |core: &solo_model::platform::Core| Post {
            kind: usize::from(core.kind),
            on: Picoseconds::ZERO,
            commands: DramCommands::default(),
        };
        Some(Self {
            registers: vec![[Energy::ZERO; 2]; domains.len()],
            told: vec![[Energy::ZERO; 2]; domains.len()],
            domains,
            accounts: vec![vec![Share::default(); clusters.len()]; experiment.tasks.len()],
            clusters,
            memory: model.dram.map(|power| Memory::new(power, platform)),
            posts: platform.cores.iter().map(post).collect(),
            read_by_kernel: experiment.listening.is_some(),
        })
    }

    /// True where the kernel may read the registers whenever it is entered.
    pub(crate) fn is_read(&self) -> bool {
        self.read_by_kernel
    }

    /// Gives what a core has used since the last call to the job of the thread that was there; where nobody was, to nobody.
    pub(crate) fn credit(
        &mut self,
        (core, thread): (usize, Option<ThreadId>),
        counted: &SignalCounts,
        on: Picoseconds,
        commands: DramCommands,
    ) {
        let Some(post) = self.posts.get_mut(core) else { return };
        let before = core::mem::replace(post, Post { kind: post.kind, on, commands });
        let (Some(thread), Some(cluster)) = (thread, self.clusters.get(before.kind)) else { return };
        let share = &mut self.accounts[thread.index()][before.kind];
        share.dynamic = share.dynamic.saturating_add(cluster.dynamic(counted));
        share.fixed = share.fixed.saturating_add(cluster.power.on.over(on.saturating_sub(before.on)));
        if let Some(memory) = &self.memory {
            share.dram = share.dram.saturating_add(memory.commands(&commands.since(&before.commands)));
        }
    }

    /// Brings all registers up to `now`, by what each core and memory stand at.
    pub(crate) fn read(
        &mut self,
        now: Picoseconds,
        cores: impl Iterator<Item = Reading>,
        counts: &DramCounts,
    ) {
        for (register, cluster) in self.registers.iter_mut().zip(&self.clusters) {
            *register = [Energy::ZERO, drawn(cluster.power.shared, now)];
        }
        for (post, core) in self.posts.iter().zip(cores) {
            let (Some(register), Some(cluster)) =
                (self.registers.get_mut(post.kind), self.clusters.get(post.kind))
            else {
                continue;
            };
            let gated = now.saturating_sub(core.on);
            let fixed = sum(drawn(cluster.power.on, core.on), drawn(cluster.power.gated, gated));
            *register = [sum(register[0], cluster.dynamic(&core.counts)), sum(register[1], fixed)];
        }
        if let (Some(memory), Some(register)) = (&self.memory, self.registers.get_mut(self.clusters.len())) {
            *register = [memory.commands(&counts.commands), memory.fixed(now)];
        }
    }

    /// What the register of `domain` stands at.
    pub(crate) fn stands(&self, domain: PowerDomain) -> Option<Energy> {
        let place = self.domains.iter().position(|known| *known == domain)?;
        let [dynamic, fixed] = self.registers[place];
        Some(sum(dynamic, fixed))
    }

    /// What each domain has used since the last call.
    pub(crate) fn tell(&mut self, at: Instant) -> impl Iterator<Item = EnergyRecord> + '_ {
        let registers = self.registers.iter().zip(&mut self.told).zip(&self.domains);
        registers.map(move |((now, told), domain)| {
            let before = core::mem::replace(told, *now);
            let [dynamic, fixed] = [0, 1].map(|part| now[part].since(before[part]));
            EnergyRecord { at, of: Consumer::Domain(*domain), dynamic, fixed, dram: Energy::ZERO }
        })
    }

    /// What a job has used, by kind of core; the next one begins.
    pub(crate) fn take(
        &mut self,
        (task, job): (TaskId, JobIndex),
        at: Instant,
    ) -> impl Iterator<Item = EnergyRecord> + '_ {
        let shares = self.accounts.get_mut(task.index()).into_iter().flatten().enumerate();
        shares.filter_map(move |(kind, share)| {
            let Share { dynamic, fixed, dram } = core::mem::take(share);
            let of = Consumer::Job { task, job, kind: KindId(kind as u8) };
            let record = EnergyRecord { at, of, dynamic, fixed, dram };
            (!record.total().is_zero()).then_some(record)
        })
    }
}

impl Cluster {
    fn dynamic(&self, counts: &SignalCounts) -> Energy {
        self.costs.iter().fold(Energy::ZERO, |all, &(signal, each)| sum(all, times(each, counts[signal])))
    }
}

/// Registers begin anew when they are full, at 18 kJ.
fn sum(one: Energy, other: Energy) -> Energy {
    Energy::new(one.get().wrapping_add(other.get()))
}

fn times(cost: Energy, count: u64) -> Energy {
    Energy::new(cost.get().wrapping_mul(count))
}

fn drawn(power: Power, time: Picoseconds) -> Energy {
    Energy::new(power.get().wrapping_mul(time.get()))
}

impl Memory {
    fn new(power: DramPower, platform: &Platform) -> Self {
        let dram = &platform.dram;
        let ranks = 1 << (dram.channel_bits.len() + dram.rank_bits.len());
        Self { power, ranks, refreshed_every: dram.clock * u64::from(dram.timing.refi) }
    }

    fn commands(&self, commands: &DramCommands) -> Energy {
        let DramPower { activate, read, write, .. } = self.power;
        let columns = sum(times(read, commands.reads), times(write, commands.writes));
        sum(times(activate, commands.activates), columns)
    }

    /// Refreshes that have been due, and the background.
    fn fixed(&self, now: Picoseconds) -> Energy {
        let each = now.get().checked_div(self.refreshed_every.get()).unwrap_or(0);
        sum(drawn(self.power.background, now), times(self.power.refresh, each.wrapping_mul(self.ranks)))
    }
}
