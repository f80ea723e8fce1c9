//! A core: executing operations one after the other, waiting for memory, counting.

use crate::account::{JobAccount, proportion};
use crate::agenda::Agent;
use crate::burst::{Burst, Retired};
use crate::memory::{Answer, Completion, RequestId};
use solo_model::platform::{Platform, Ports};
use solo_model::{
    CoreId, CoreSet, Cycles, Frequency, Picoseconds, RelativeSpeed, Signal, SignalCounts, ThreadId,
};
use solo_workload::Access;

/// Work on a line that takes longer than this can be interrupted; shorter work is done in one piece.
const ATOMIC: Picoseconds = Picoseconds::new(1_000_000);

/// Picoseconds in a second.
const PER_SECOND: u128 = 1_000_000_000_000;

/// What a core is doing.
///
/// ```text
///   Idle ◀──kernel──▶ Fetching ──compute──▶ Computing ──done or interrupted──▶ Fetching / kernel
///                      │   ▲
///                 miss │   │ data back
///                      ▼   │
///                    Waiting (for one request, for a free miss register, or for all)
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// No thread, or a thread that is not going to do anything until the kernel says so.
    Idle,
    /// About to perform the thread's next operation.
    Fetching,
    /// Computing; `left` is what remains at full speed.
    Computing { left: Picoseconds },
    /// Nothing can be done before this request's data is back.
    WaitingFor { request: RequestId },
    /// All miss registers are taken.
    WaitingForAny,
    /// The job's last accesses must be back before it is over.
    WaitingForAll,
}

/// A request that the core has not waited for yet.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    request: RequestId,
    arrival: Option<Arrival>,
}

/// What a core needs to know of a [`Completion`].
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Picoseconds,
    /// From the request to the data, and how much of that was spent waiting for whom.
    total: Picoseconds,
    queue_others: Picoseconds,
    queue_own: Picoseconds,
}

impl Arrival {
    #[inline]
    fn of(completion: &Completion) -> Self {
        let Completion { at, unloaded, queue_own, queue_others, .. } = *completion;
        Self { at, total: unloaded + queue_own + queue_others, queue_others, queue_own }
    }
}

/// A core of the simulated machine.
pub(crate) struct SimCore {
    pub(crate) id: CoreId,
    /// Everything before this time has been simulated.
    pub(crate) time: Picoseconds,
    pub(crate) activity: Activity,
    pub(crate) running: Option<ThreadId>,
    pub(crate) siblings: CoreSet,
    pub(crate) sibling_busy: bool,
    /// The counts that jobs have been credited with.
    pub(crate) credited: SignalCounts,
    /// How long what a program computes takes here.
    pub(crate) speed: RelativeSpeed,
    clock: Frequency,
    instructions_per_kilocycle: u64,
    ports: Option<Ports>,
    /// Speed in thousandths while a sibling is busy.
    smt_speed: u64,
    registers: usize,
    /// Its first level is the last: what misses there misses the last level.
    one_level: bool,
    outstanding: Vec<Outstanding>,
    /// Time with a thread or in the kernel.
    busy: Picoseconds,
    /// Time in which it waited for memory.
    pub(crate) waited: Picoseconds,
    /// Of that, behind other cores.
    pub(crate) behind_others: Picoseconds,
    /// Computation at full speed, from which its instructions follow.
    computed: Picoseconds,
    /// The instructions of a phase that it computes now, and what all before them came to.
    burst: Option<Burst>,
    retired: Retired,
    /// The instructions of a phase that follow the access under way.
    thought: Option<Burst>,
    /// Instructions of memory operations.
    instructions: u64,
    /// Accesses of a group after the first, which hit the first-level cache.
    repeated_hits: u64,
    /// What the program does with the data that the core waits for.
    after_wait: LineWork,
    /// The last number of instructions issued, and the time that takes: mostly the next is the same.
    issued: (u64, Picoseconds),
    /// A counter of this core is going to interrupt; at which counts of what passes while it computes.
    pub(crate) watch: Watch,
}

/// What a core has to stop at because a counter then overflows.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Watch {
    pub(crate) armed: bool,
    pub(crate) cycles: Option<u64>,
    pub(crate) instructions: Option<u64>,
}

/// The program's own work on a line: instructions, whose issue takes time, and thinking.
#[derive(Clone, Copy, Default, Debug)]
struct LineWork {
    issue: Picoseconds,
    think: Picoseconds,
}

impl SimCore {
    pub(crate) fn new(platform: &Platform, id: CoreId) -> Self {
        let kind = platform.kind(id);
        let physical = platform.cores[id.index()].physical;
        let siblings = platform
            .core_set()
            .iter()
            .filter(|&other| other != id && platform.cores[other.index()].physical == physical);
        let registers = usize::from(kind.outstanding_misses).max(1);
        Self {
            id,
            time: Picoseconds::ZERO,
            activity: Activity::Idle,
            running: None,
            siblings: siblings.collect(),
            sibling_busy: false,
            credited: SignalCounts::ZERO,
            speed: platform.speed(id),
            clock: kind.clock,
            instructions_per_kilocycle: u64::from(kind.instructions_per_kilocycle.max(1)),
            ports: kind.ports,
            smt_speed: u64::from(kind.smt_speed.get().max(1)),
            registers,
            one_level: platform.levels() == 1,
            outstanding: Vec::with_capacity(registers),
            busy: Picoseconds::ZERO,
            waited: Picoseconds::ZERO,
            behind_others: Picoseconds::ZERO,
            computed: Picoseconds::ZERO,
            burst: None,
            retired: Retired::default(),
            thought: None,
            instructions: 0,
            repeated_hits: 0,
            after_wait: LineWork::default(),
            issued: (0, Picoseconds::ZERO),
            watch: Watch::default(),
        }
    }

    /// The time that work takes beside a busy sibling; rounded up, so that after it the work is done.
    fn stretched(&self, work: Picoseconds) -> Picoseconds {
        if self.sibling_busy {
            Picoseconds::new(work.get().saturating_mul(1000).div_ceil(self.smt_speed))
        } else {
            work
        }
    }

    /// Time passes on this core in a kernel path or an operation.
    pub(crate) fn spend(&mut self, time: Picoseconds) {
        self.time += time;
        self.busy += time;
    }

    /// How long it has been on, with a thread or in the kernel, until `now`. A thread that is on it stays at least until then; what it
    /// has done after that, in one piece, is later.
    pub(crate) fn on_until(&self, now: Picoseconds) -> Picoseconds {
        if self.time > now {
            return self.busy.saturating_sub(self.time - now);
        }
        let rest = if self.running.is_some() { now - self.time } else { Picoseconds::ZERO };
        self.busy + rest
    }

    /// What it computes in the time that follows, at full speed and as time passes.
    fn computed_in(&self, elapsed: Picoseconds) -> (Picoseconds, Picoseconds) {
        let Activity::Computing { left } = self.activity else {
            return (Picoseconds::ZERO, Picoseconds::ZERO);
        };
        let done =
            if self.sibling_busy { Picoseconds::new(elapsed.get() * self.smt_speed / 1000) } else { elapsed };
        (done.min(left), elapsed)
    }

    /// Brings the core up to `now`; the time that it computed.
    pub(crate) fn settle(&mut self, now: Picoseconds) -> Picoseconds {
        let elapsed = now.saturating_sub(self.time);
        let (done, computed) = self.computed_in(elapsed);
        if let Activity::Computing { left } = &mut self.activity {
            *left -= done;
            match &self.burst {
                None => self.computed += done,
                Some(burst) if left.is_zero() => {
                    self.retired.add(burst, burst.instructions);
                    self.burst = None;
                }
                Some(_) => {}
            }
            if left.is_zero() {
                self.activity = Activity::Fetching;
            }
        }
        if self.running.is_some() {
            self.busy += elapsed;
        }
        self.time += elapsed;
        computed
    }

    /// Computes instructions of a phase, which take this long here.
    pub(crate) fn begin(&mut self, burst: Burst) {
        if burst.whole.is_zero() {
            self.retired.add(&burst, burst.instructions);
        } else {
            self.activity = Activity::Computing { left: burst.whole };
            self.burst = Some(burst);
        }
    }

    /// Stops computing instructions of a phase: those that are left, and of which phase. One that has begun counts as done.
    pub(crate) fn interrupt(&mut self) -> Option<(u64, u16)> {
        let burst = self.burst.take()?;
        let Activity::Computing { left } = self.activity else { return None };
        let done = burst.done(left);
        self.retired.add(&burst, done);
        Some((burst.instructions - done, burst.phase))
    }

    /// What instructions of phases came to, those that it computes now included.
    fn in_phases(&self) -> Retired {
        self.in_phases_but(Picoseconds::ZERO)
    }

    /// The same when it will have computed for this long.
    fn in_phases_but(&self, done: Picoseconds) -> Retired {
        let mut all = self.retired;
        if let (Some(burst), Activity::Computing { left }) = (&self.burst, self.activity) {
            all.add(burst, burst.done(left.saturating_sub(done)));
        }
        all
    }

    /// The time that instructions take when nothing misses.
    pub(crate) fn issue(&mut self, instructions: u64) -> Picoseconds {
        if instructions != self.issued.0 {
            let cycles = Cycles::new(instructions.saturating_mul(1000));
            self.issued = (instructions, cycles.at(self.clock) / self.instructions_per_kilocycle);
        }
        self.issued.1
    }

    /// The time that accesses take which don't wait for each other: as long as the busiest port takes for its share.
    fn issue_independent(&mut self, access: &Access) -> Picoseconds {
        let Some(ports) = self.ports else { return self.issue(u64::from(access.instructions)) };
        let share = |number: u32, port: u8| (u64::from(number) * 1000).div_ceil(u64::from(port.max(1)));
        let millicycles = share(access.instructions, ports.instructions)
            .max(share(access.count.saturating_sub(access.writes), ports.loads))
            .max(share(access.writes, ports.stores));
        Cycles::new(millicycles).at(self.clock) / 1000
    }

    /// Data has come back from DRAM.
    pub(crate) fn complete(&mut self, completion: &Completion, account: Option<&mut JobAccount>) {
        if self.activity == (Activity::WaitingFor { request: completion.request }) {
            self.resume(&Arrival::of(completion), account);
            return;
        }
        let waited = self.outstanding.iter_mut().find(|entry| entry.request == completion.request);
        if let Some(entry) = waited {
            entry.arrival = Some(Arrival::of(completion));
        }
        match self.activity {
            Activity::WaitingForAny => {
                self.outstanding.retain(|entry| entry.request != completion.request);
                self.resume(&Arrival::of(completion), account);
            }
            Activity::WaitingForAll if self.outstanding.iter().all(|entry| entry.arrival.is_some()) => {
                let last = self
                    .outstanding
                    .iter()
                    .filter_map(|entry| entry.arrival)
                    .max_by_key(|arrival| arrival.at);
                self.outstanding.clear();
                self.resume(&last.unwrap_or(Arrival::of(completion)), account);
            }
            _ => {}
        }
    }

    /// The core goes on when the data are there; the time until then is charged to its causes.
    fn resume(&mut self, arrival: &Arrival, mut account: Option<&mut JobAccount>) {
        let waited = arrival.at.saturating_sub(self.time);
        let others = proportion(waited, arrival.queue_others, arrival.total);
        self.behind_others += others;
        if let Some(account) = account.as_deref_mut() {
            let own = proportion(waited, arrival.queue_own, arrival.total);
            account.stalls.dram_queue_own += own;
            account.stalls.dram_queue_others += others;
            account.stalls.dram += waited - own - others;
        }
        self.waited += waited;
        self.spend(waited);
        self.activity = Activity::Fetching;
        let work = core::mem::take(&mut self.after_wait);
        let spent = self.work_on_line(work);
        if let Some(account) = account {
            account.stalls.compute += spent;
        }
    }

    /// Does the program's own work on a line: at once where it is short, else as computation that can be
    /// interrupted. The time spent at once.
    fn work_on_line(&mut self, work: LineWork) -> Picoseconds {
        let issue = self.stretched(work.issue);
        self.spend(issue);
        if work.think > ATOMIC {
            self.activity = Activity::Computing { left: work.think };
            self.burst = self.thought.take();
            return issue;
        }
        let think = self.stretched(work.think);
        match self.thought.take() {
            None => self.computed += work.think,
            Some(burst) => self.retired.add(&burst, burst.instructions),
        }
        self.spend(think);
        issue + think
    }

    /// When a counter of cycles or instructions overflows if the core goes on computing.
    fn overflows_at(&self) -> Picoseconds {
        let clock = u128::from(self.clock.get()).max(1);
        let time_of = |cycles: u128| (cycles * PER_SECOND).div_ceil(clock) as u64;
        let by_cycles = self
            .watch
            .cycles
            .map_or(u64::MAX, |cycles| time_of(cycles.into()).saturating_sub(self.busy.get()));
        let by_instructions = self.watch.instructions.map_or(u64::MAX, |instructions| {
            let left = instructions.saturating_sub(self.instructions + self.in_phases().instructions);
            if let Some(burst) = &self.burst {
                let cycles = self.cycles(self.computed) * u128::from(self.instructions_per_kilocycle) / 1000;
                return self.stretched(burst.time_of(left.saturating_sub(cycles as u64))).get();
            }
            let left = u128::from(instructions.saturating_sub(self.instructions + self.retired.instructions));
            let cycles = (left * 1000).div_ceil(self.instructions_per_kilocycle.into());
            let computed = Picoseconds::new(time_of(cycles)).saturating_sub(self.computed);
            self.stretched(computed).get()
        });
        self.time.saturating_add(Picoseconds::new(by_cycles.min(by_instructions)))
    }

    /// How often `event` has happened on this core, of which the memory system has counted `elsewhere`.
    pub(crate) fn count_of(&self, event: Signal, elsewhere: &SignalCounts) -> u64 {
        match event {
            Signal::Cycles | Signal::Instructions | Signal::L1Hit => self.with_own(event, elsewhere),
            Signal::Branch | Signal::BranchMiss | Signal::DtlbMiss | Signal::ItlbMiss => {
                self.with_own(event, elsewhere)
            }
            Signal::LlcHit | Signal::LlcMiss if self.one_level => self.with_own(event, elsewhere),
            _ => elsewhere[event],
        }
    }

    fn with_own(&self, event: Signal, elsewhere: &SignalCounts) -> u64 {
        let mut all = *elsewhere;
        self.add_own_counts(&mut all);
        all[event]
    }

    /// Whole cycles of its clock.
    fn cycles(&self, time: Picoseconds) -> u128 {
        u128::from(time.get()) * u128::from(self.clock.get()) / PER_SECOND
    }

    /// Adds what the core itself counts to what the memory system counted for it.
    pub(crate) fn add_own_counts(&self, counts: &mut SignalCounts) {
        self.add_counts_at(self.time, counts);
    }

    /// The same at `now`, up to which it computes what it is computing, or does nothing that is counted.
    pub(crate) fn add_counts_at(&self, now: Picoseconds, counts: &mut SignalCounts) {
        let (done, _) = self.computed_in(now.saturating_sub(self.time));
        let plain = if self.burst.is_none() { self.computed + done } else { self.computed };
        let computed = self.cycles(plain) * u128::from(self.instructions_per_kilocycle) / 1000;
        counts.add(Signal::Cycles, self.cycles(self.on_until(now.max(self.time))) as u64);
        counts.add(Signal::Instructions, self.instructions + computed as u64);
        self.in_phases_but(done).count(counts);
        counts.add(Signal::L1Hit, self.repeated_hits);
        if self.one_level {
            counts.add(Signal::LlcHit, counts[Signal::L1Hit]);
            counts.add(Signal::LlcMiss, counts[Signal::L1Miss]);
        }
    }

    /// Waits for memory.
    pub(crate) fn wait(&mut self, time: Picoseconds, account: &mut JobAccount) {
        account.stalls.dram += time;
        self.waited += time;
        self.spend(time);
    }

    /// Issues an instruction that empties caches.
    pub(crate) fn flush_instruction(&mut self, account: &mut JobAccount) {
        let issue = self.issue(1);
        let issue = self.stretched(issue);
        self.instructions += 1;
        account.stalls.compute += issue;
        self.spend(issue);
    }

    /// At the end of a job: true where the core waits for what it has not waited for yet, the last of which may be there
    /// already.
    pub(crate) fn awaits_last(&mut self, account: &mut JobAccount) -> bool {
        let now = self.time;
        self.outstanding.retain(|entry| entry.arrival.is_none_or(|arrival| arrival.at > now));
        let arrivals = self.outstanding.iter().map(|entry| entry.arrival);
        let last = arrivals.max_by_key(|arrival| arrival.map_or(Picoseconds::MAX, |arrival| arrival.at));
        match last {
            None => return false,
            Some(None) => self.activity = Activity::WaitingForAll,
            Some(Some(arrival)) => {
                self.outstanding.clear();
                self.resume(&arrival, Some(account));
            }
        }
        true
    }

    /// Memory has answered an access: the core goes on with the line, or waits for it.
    // Once for every access. Left to the compiler it is a call, and a run takes 3 % more instructions.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        access: &Access,
        burst: Option<Burst>,
        answer: Answer,
        account: &mut JobAccount,
    ) {
        self.repeated_hits += u64::from(access.count.saturating_sub(1));
        let work = if let Some(burst) = burst {
            self.thought = Some(burst);
            LineWork { issue: Picoseconds::ZERO, think: burst.whole }
        } else {
            self.instructions += u64::from(access.instructions);
            let issue = if access.pipelined {
                self.issue_independent(access)
            } else {
                self.issue(u64::from(access.instructions))
            };
            LineWork { issue, think: self.speed.time(access.think.picoseconds()) * u64::from(access.count) }
        };
        match answer {
            Answer::Hit { stalls, .. } if access.pipelined && stalls.is_first_level() => {}
            Answer::Hit { latency, stalls, .. } => {
                // Accesses that don't wait for each other overlap their latencies as far as registers reach.
                let overlap = if access.waits { 1 } else { self.registers as u64 };
                account.stalls.charge(&stalls, overlap);
                self.spend(latency / overlap);
            }
            Answer::Miss { request, lookup, stalls } if access.waits => {
                account.stalls.charge(&stalls, 1);
                self.spend(lookup);
                self.activity = Activity::WaitingFor { request };
            }
            Answer::Miss { request, .. } => self.outstanding.push(Outstanding { request, arrival: None }),
        }
        if self.activity == Activity::Fetching {
            account.stalls.compute += self.work_on_line(work);
        } else {
            self.after_wait = work;
        }
    }

    /// True when another miss can be sent; else the core waits for the first register to come free.
    pub(crate) fn frees_register(&mut self, account: &mut JobAccount) -> bool {
        if self.outstanding.len() < self.registers {
            return true;
        }
        let now = self.time;
        self.outstanding.retain(|entry| entry.arrival.is_none_or(|arrival| arrival.at > now));
        if self.outstanding.len() < self.registers {
            return true;
        }
        let answers = self.outstanding.iter().enumerate();
        let soonest = answers
            .filter_map(|(position, entry)| Some((position, entry.arrival?)))
            .min_by_key(|(_, answer)| answer.at);
        match soonest {
            Some((position, answer)) => {
                self.outstanding.remove(position);
                self.resume(&answer, Some(account));
                true
            }
            None => {
                self.activity = Activity::WaitingForAny;
                false
            }
        }
    }
}

impl Agent for SimCore {
    #[inline]
    fn time(&self) -> Picoseconds {
        self.time
    }

    /// When the core does its next thing by itself.
    #[inline]
    fn next_action(&self) -> Picoseconds {
        match self.activity {
            Activity::Fetching => self.time,
            Activity::Computing { left } => {
                let end = self.time.saturating_add(self.stretched(left));
                if self.watch.armed { end.min(self.overflows_at()) } else { end }
            }
            _ => Picoseconds::MAX,
        }
    }

    /// A core that waits for data takes interrupts only when it is back.
    #[inline]
    fn takes_interrupts(&self) -> bool {
        matches!(self.activity, Activity::Idle | Activity::Fetching | Activity::Computing { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixtures::bare;
    use solo_model::BufferId;
    use solo_model::{Bytes, Duration};
    use solo_workload::Spread;

    #[test]
    fn independent_accesses_take_as_long_as_the_busiest_port() {
        let time = |ports, instructions, count, writes| {
            let mut platform = bare(1);
            platform.kinds[0].ports = ports;
            let access = Access {
                buffer: BufferId(0),
                offset: Bytes::ZERO,
                kind: solo_workload::AccessKind::Read,
                count,
                writes,
                stride: Bytes::new(4),
                waits: true,
                pipelined: true,
                think: Duration::ZERO,
                instructions,
                phase: None,
                spread: Spread::NONE,
            };
            SimCore::new(&platform, CoreId(0)).issue_independent(&access).get()
        };
        // At 1 GHz a cycle is 1000 ps; without ports an instruction takes one.
        assert_eq!(time(None, 48, 16, 0), 48_000);
        let ports = Some(Ports { instructions: 4, loads: 1, stores: 2 });
        assert_eq!(time(ports, 48, 16, 0), 16_000, "loads");
        assert_eq!(time(ports, 100, 16, 0), 25_000, "instructions");
        assert_eq!(time(ports, 20, 16, 14), 7_000, "stores");
    }
}
