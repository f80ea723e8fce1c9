//! All of it, in one table.

use crate::clock::Clock;
use crate::distribution::{Distribution, Summary};
use crate::paths::{self, Extent, Load, Looking};
use crate::stock::{self, Class, Target};
use crate::{mailbox, queues, sets, steady};
use serde::Serialize;
use solo_kernel::PolicyRefusal;
use solo_model::text::Unnumbered;
use solo_model::{Bytes, Policy};
use std::time::{Duration, Instant};

/// How much to measure.
#[derive(Clone, Debug)]
pub struct MeasurementPlan {
    /// Numbers of threads, ascending.
    pub threads: Vec<u32>,
    /// Cores of the kernel, on virtual time.
    pub cores: u16,
    /// Entries into the kernel that are timed for each policy and number of threads.
    pub entries: u64,
    /// The same with swept caches.
    pub swept_entries: u64,
    /// Stack switches of each number of threads.
    pub switches: u64,
    /// Repetitions of what Linux does.
    pub rounds: u64,
    /// For how long threads of Linux wake up periodically, for each number of threads.
    pub span: Duration,
    /// Whether Linux is measured too.
    pub stock: bool,
    /// The seed of the task sets.
    pub seed: u64,
}

impl MeasurementPlan {
    /// What the figures in the documentation were made with.
    pub fn full() -> Self {
        Self {
            threads: sets::THREADS.to_vec(),
            cores: sets::CORES,
            entries: 200_000,
            swept_entries: 4_000,
            switches: 700_000,
            rounds: 20_000,
            span: Duration::from_millis(1500),
            stock: true,
            seed: 1,
        }
    }

    /// A fiftieth of it: to see that everything works.
    pub fn quick() -> Self {
        Self {
            entries: 4_000,
            swept_entries: 200,
            switches: 7_000,
            rounds: 300,
            span: Duration::from_millis(100),
            ..Self::full()
        }
    }
}

/// Whose cost it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The kernel's, in a process.
    Kernel,
    /// Linux's.
    Linux,
}

/// What was measured, how often, and what came out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Whose cost it is.
    pub side: Side,
    /// What it is.
    pub what: &'static str,
    /// Under which policy, where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// With how many threads, where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// True where caches were swept before each sample.
    pub swept: bool,
    /// What came out.
    #[serde(flatten)]
    pub summary: Summary,
}

impl Row {
    /// A row of the kernel's own cost with so many threads under a policy, as other machines measure it.
    pub fn of_kernel(what: &'static str, policy: &str, threads: u32, summary: Summary) -> Self {
        let (policy, threads) = (Some(policy.to_owned()), Some(threads));
        Self { side: Side::Kernel, what, policy, threads, swept: false, summary }
    }
}

/// Where it was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Environment {
    /// The processor's name for itself.
    pub processor: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// True on a virtual machine.
    pub guest: bool,
    /// The load average of the last minute when it began.
    pub load: String,
    /// Why the rest of the machine could not be kept out, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
    /// The clock.
    pub clock: Clock,
}

/// All that was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measurement {
    /// Where.
    pub environment: Environment,
    /// What.
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub left_out: Vec<String>,
}

/// Measures everything in `plan`; `progress` hears what comes next.
///
/// # Errors
/// If the kernel refuses a task set.
pub fn measure(plan: &MeasurementPlan, progress: &mut dyn FnMut(&str)) -> Result<Measurement, PolicyRefusal> {
    let clock = Clock::calibrate();
    let cpus = steady::cpus();
    let environment = environment(clock, cpus.len());
    let mut sheet = Sheet { clock, cpus, rows: Vec::new(), left_out: Vec::new(), disturbed: None };
    steady::keep_in_memory();
    progress("the kernel's paths");
    kernel_paths(plan, &mut sheet)?;
    progress("queue operations and stack switches");
    pieces(plan, &mut sheet);
    if plan.stock {
        progress("switches of Linux");
        linux_switches(plan, &mut sheet);
        progress("wake-ups of Linux");
        linux_wake_ups(plan, &mut sheet);
        progress("interrupts of Linux");
        linux_interrupts(plan, &mut sheet);
    }
    let environment = Environment { disturbed: sheet.disturbed, ..environment };
    Ok(Measurement { environment, rows: sheet.rows, left_out: sheet.left_out })
}

/// What grows while measuring.
struct Sheet {
    clock: Clock,
    cpus: Vec<usize>,
    rows: Vec<Row>,
    left_out: Vec<String>,
    disturbed: Option<String>,
}

impl Sheet {
    /// Measures on the first CPU with the rest of the machine kept out, then gives it back for a while: Linux takes
    /// a twentieth of each second from whoever holds a CPU under SCHED_FIFO for longer.
    fn steadily<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let (result, kept) = steady::steadily(self.cpus.first().copied().unwrap_or(0), what);
        if let Err(error) = kept {
            self.disturbed = Some(format!("SCHED_FIFO is refused: {}", Unnumbered(error)));
        }
        std::thread::sleep((begin.elapsed() / 2).min(Duration::from_millis(100)));
        result
    }

    /// A row, unless there are no samples. `each` things were timed together.
    fn add(&mut self, row: Labels<'_>, found: &Distribution, each: u64) {
        self.add_net(row, found, self.clock.empty_ticks, each);
    }

    fn add_net(&mut self, row: Labels<'_>, found: &Distribution, taken_off: u64, each: u64) {
        if let Some(summary) = found.summary(&self.clock, taken_off, each) {
            let policy = row.policy.map(ToString::to_string);
            let Labels { side, what, threads, swept, .. } = row;
            self.rows.push(Row { side, what, policy, threads, swept, summary });
        }
    }

    /// A row of nanoseconds instead of ticks.
    fn add_ns(&mut self, row: Labels<'_>, found: &Distribution) {
        let nanoseconds = Clock { ticks_per_us: 1000.0, ..self.clock };
        let clock = std::mem::replace(&mut self.clock, nanoseconds);
        self.add_net(row, found, 0, 1);
        self.clock = clock;
    }
}

#[derive(Clone, Copy)]
struct Labels<'p> {
    side: Side,
    what: &'static str,
    policy: Option<&'p Policy>,
    threads: Option<u32>,
    swept: bool,
}

const fn kernel(what: &'static str) -> Labels<'static> {
    Labels { side: Side::Kernel, what, policy: None, threads: None, swept: false }
}

const fn linux(what: &'static str) -> Labels<'static> {
    Labels { side: Side::Linux, ..kernel(what) }
}

/// What is read before each sample of a swept cache: more than a core's own levels hold.
const SWEEP: Bytes = Bytes::from_mib(4);

fn kernel_paths(plan: &MeasurementPlan, sheet: &mut Sheet) -> Result<(), PolicyRefusal> {
    for policy in &sets::policies(plan.cores) {
        for &threads in &plan.threads {
            let tasks = sets::draw(threads, plan.cores, plan.seed);
            let load = Load { policy, tasks: &tasks, cores: plan.cores };
            let warm = Extent { entries: plan.entries, warm_up: plan.entries / 20, sweep: Bytes::ZERO };
            let swept =
                Extent { entries: plan.swept_entries, warm_up: plan.swept_entries / 20, sweep: SWEEP };
            for (extent, swept) in [(warm, false), (swept, true)] {
                let label =
                    |what| Labels { policy: Some(policy), threads: Some(threads), swept, ..kernel(what) };
                let found = sheet.steadily(|| paths::run(&load, Looking::AtPaths, extent))?;
                sheet.add(label("tick"), &found.tick, 1);
                sheet.add(label("release"), &found.release, 1);
                sheet.add(label("scheduling"), &found.scheduling, 1);
                sheet.add(label("asking another core"), &found.ask, 1);
                let found = sheet.steadily(|| paths::run(&load, Looking::AtEntries, extent))?;
                sheet.add(label("timer interrupt, whole"), &found.timer_entry, 1);
                sheet.add(label("end of a job, whole"), &found.job_end, 1);
                sheet.add(label("reschedule request, whole"), &found.request, 1);
                if !swept {
                    let found = sheet.steadily(|| paths::run(&load, Looking::AtBareEntries, extent))?;
                    sheet.add(label("timer interrupt, without records"), &found.timer_entry, 1);
                    sheet.add(label("end of a job, without records"), &found.job_end, 1);
                }
            }
        }
    }
    Ok(())
}

fn pieces(plan: &MeasurementPlan, sheet: &mut Sheet) {
    for &threads in &plan.threads {
        let of = |what| Labels { threads: Some(threads), ..kernel(what) };
        let found = sheet.steadily(|| queues::run(threads, plan.entries));
        sheet.add(of("queue: insert"), &found.insert, 1);
        sheet.add(of("queue: take the first"), &found.take_first, 1);
        sheet.add(of("queue: change a key"), &found.rerank, 1);
        stack_switches(plan, sheet, threads);
    }
    counters(plan, sheet);
    match sheet.cpus[..] {
        [first, second, ..] => {
            let found = mailbox::run(first, second, plan.rounds);
            sheet.add(kernel("request through memory"), &found, 1);
        }
        _ => sheet.left_out.push("requests between cores: this process may use one CPU only".to_owned()),
    }
}

#[cfg(target_arch = "x86_64")]
fn stack_switches(plan: &MeasurementPlan, sheet: &mut Sheet, threads: u32) {
    use crate::stacks;
    let rows = plan.switches / stacks::ROW;
    let found = sheet.steadily(|| stacks::run(threads as usize, plan.switches, rows, Bytes::ZERO));
    let swept = sheet.steadily(|| stacks::run(threads as usize, plan.swept_entries, 0, SWEEP));
    let of = |what| Labels { threads: Some(threads), ..kernel(what) };
    sheet.add(Labels { swept: true, ..of("context switch") }, &swept.single, 1);
    sheet.add(of("context switch"), &found.single, 1);
    sheet.add(of("context switch, in rows of a hundred"), &found.hundreds, stacks::ROW);
}

#[cfg(not(target_arch = "x86_64"))]
fn stack_switches(_: &MeasurementPlan, sheet: &mut Sheet, threads: u32) {
    sheet.left_out.push(format!("stack switches among {threads} threads: written for x86-64"));
}

#[cfg(target_arch = "x86_64")]
fn counters(plan: &MeasurementPlan, sheet: &mut Sheet) {
    let found = sheet.steadily(|| crate::counters::run(plan.rounds));
    sheet.add(kernel("counter: program (model)"), &found.program, 1);
    sheet.add(kernel("counter: read (model)"), &found.read, 1);
    sheet.add(kernel("counter: ask for an interrupt (model)"), &found.ask, 1);
    sheet.add(kernel("counter: acknowledge an overflow (model)"), &found.overflow, 1);
}

#[cfg(not(target_arch = "x86_64"))]
fn counters(_: &MeasurementPlan, sheet: &mut Sheet) {
    sheet.left_out.push("drivers of performance counters: written for x86-64".to_owned());
}

fn linux_switches(plan: &MeasurementPlan, sheet: &mut Sheet) {
    let cpu = sheet.cpus.first().copied().unwrap_or(0);
    let found = sheet.steadily(|| stock::null_call(plan.rounds));
    sheet.add(linux("least system call"), &found, 1);
    let rest = || std::thread::sleep(Duration::from_millis(20));
    for &threads in &plan.threads {
        let of = |what| Labels { threads: Some(threads), ..linux(what) };
        let found = stock::yield_ring(cpu, threads as usize, plan.rounds);
        sheet.add(of("switch by sched_yield"), &found, 1);
        rest();
        let found = stock::futex_ring(cpu, threads as usize, plan.rounds);
        sheet.add(of("making ready by futex"), &found.wake, 1);
        sheet.add(of("sleep and switch by futex"), &found.switch, 1);
        rest();
        let found = stock::pipe_ring(cpu, threads as usize, plan.rounds);
        sheet.add(of("wake, sleep and switch by pipe"), &found, 1);
        rest();
    }
}

fn linux_wake_ups(plan: &MeasurementPlan, sheet: &mut Sheet) {
    for class in [Class::Fifo, Class::Deadline] {
        for &threads in &plan.threads {
            let what = match class {
                Class::Fifo => "wake-up under SCHED_FIFO",
                Class::Deadline => "wake-up under SCHED_DEADLINE",
            };
            match stock::wake_ups(&sheet.cpus, class, threads as usize, plan.span) {
                Ok(found) => sheet.add_ns(Labels { threads: Some(threads), ..linux(what) }, &found),
                Err(error) => {
                    sheet.left_out.push(format!("{threads} threads under {}: {error}", class.name()))
                }
            }
        }
    }
    let rounds = (plan.span.as_millis() as u64).max(10);
    let found = sheet.steadily(|| stock::sleeps(rounds));
    sheet.add_ns(linux("timer release by clock_nanosleep"), &found);
    match sheet.steadily(|| stock::timer_files(rounds)) {
        Some(found) => sheet.add_ns(linux("timer release by timerfd"), &found),
        None => sheet.left_out.push("timerfd: the kernel has none".to_owned()),
    }
}

fn linux_interrupts(plan: &MeasurementPlan, sheet: &mut Sheet) {
    let clock = sheet.clock;
    let span = plan.span.min(Duration::from_millis(500));
    let mut all = Distribution::new();
    for _ in 0..3 {
        all.merge(&sheet.steadily(|| stock::ticks(&clock, span)));
    }
    sheet.add(linux("interruption of a loop, mostly ticks"), &all, 1);
    let [first, second, ..] = sheet.cpus[..] else {
        sheet.left_out.push("wake-ups across CPUs: this process may use one CPU only".to_owned());
        return;
    };
    let rounds = plan.rounds / 10;
    for (what, target) in [("wake-up on an idle CPU", Target::Idle), ("wake-up on a busy CPU", Target::Busy)]
    {
        let found = stock::across(first, second, target, rounds);
        sheet.add(linux(what), &found, 1);
    }
    match stock::broadcast(first, second, plan.rounds) {
        Some(found) => sheet.add(linux("interprocessor interrupt, there and back"), &found, 1),
        None => sheet.left_out.push("interprocessor interrupts: the kernel has no membarrier".to_owned()),
    }
}

fn environment(clock: Clock, cpus: usize) -> Environment {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let release = read("/proc/sys/kernel/osrelease");
    Environment {
        processor: field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        kernel: format!("Linux {}", release.trim()),
        cpus,
        guest: field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        disturbed: None,
        clock,
    }
}

impl Measurement {
    /// The row of that name, policy and number of threads, with warm caches.
    pub fn find(&self, what: &str, policy: Option<&str>, threads: Option<u32>) -> Option<&Row> {
        self.find_with(what, policy, threads, false)
    }

    /// The row of that name, policy and number of threads, with caches swept or warm.
    pub fn find_with(
        &self,
        what: &str,
        policy: Option<&str>,
        threads: Option<u32>,
        swept: bool,
    ) -> Option<&Row> {
        self.rows.iter().find(|row| {
            row.what == what
                && row.policy.as_deref() == policy
                && row.threads == threads
                && row.swept == swept
        })
    }

    /// The policies that were measured, in order.
    pub fn policies(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for policy in self.rows.iter().filter_map(|row| row.policy.as_deref()) {
            if !found.contains(&policy) {
                found.push(policy);
            }
        }
        found
    }

    /// The numbers of threads that were measured, ascending.
    pub fn threads(&self) -> Vec<u32> {
        let mut found: Vec<u32> = self.rows.iter().filter_map(|row| row.threads).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
