//! Cores whose time is divided, drawn so that what crosses the border of a window matters: tasks in no partition, which run between the windows
//! of others; accesses of theirs, and of other partitions' tasks, that are under way when a window begins; locks that tasks of two partitions,
//! or of one and none, take. Jobs mostly last for many windows, are mostly released when one of theirs ends, and there is seldom much else, so
//! that bounds are close: a bound that forgets one of these is exceeded.
//!
//! What was shown, of seeds 0 to 8,999 of `no_job_exceeds_its_bound_in_the_windows_of_its_partition`: three faults that stood in the analysis and were
//! found elsewhere were put back one by one. A bound that counts an access of a task in no partition once, and not at each begin of a window
//! (`Divided::under_way`), is exceeded on 9 seeds, 6 of them below 3,000; one beside a lock that lifts such a task above it (`lifted`) on 48, 15 of
//! them; and a job executes for longer than is proved, where accesses of another partition are not counted as foreign (`Between::paths`), on 27, 7 of
//! them. All of these are seeds of this file.

use crate::draw::Dice;
use std::fmt::Write;

/// A core's cycle while it is drawn; times in microseconds.
struct Cycle {
    core: u64,
    length: u64,
    /// Partition, begin, length.
    windows: Vec<(usize, u64, u64)>,
    partitions: usize,
}

impl Cycle {
    fn of(dice: &mut Dice, core: u64, accesses: bool) -> Self {
        // Many windows where there are accesses, for what is under way when one begins is short.
        let grain = dice.pick(if accesses { &[10, 10, 30] } else { &[30, 100, 250] });
        let partitions = dice.pick(if accesses { &[1, 2, 2, 3] } else { &[1, 2, 3] });
        let count = if dice.once_in(3) { dice.between(partitions, 4) } else { partitions };
        let partitions = partitions as usize;
        let (mut begin, mut windows) = (dice.pick(&[0, 0, 1]), Vec::new());
        for at in 0..count as usize {
            // Each has one at least; some have several.
            let partition = if at < partitions { at } else { dice.below(partitions as u64) as usize };
            let length = dice.between(1, 4);
            windows.push((partition, begin * grain, length * grain));
            // Mostly one follows the other at once; whoever is in no partition has the time between two.
            begin += length + dice.pick(if accesses { &[0, 0, 0, 1, 2] } else { &[0, 0, 1, 3] });
        }
        let length = (begin + dice.pick(&[0, 0, 2, 5])) * grain;
        Self { core, length, windows, partitions }
    }

    /// When a job of this partition is released: mostly as one of its windows ends, which is the worst, or as the window before it begins.
    fn offset(&self, dice: &mut Dice, partition: usize) -> u64 {
        let own: Vec<_> = self.windows.iter().filter(|window| window.0 == partition).collect();
        let (_, begin, length) = *dice.pick(&own);
        match dice.below(6) {
            0 => dice.below(2 * self.length),
            1 => begin,
            _ => begin + length,
        }
    }

    /// When a task in no partition is released: mostly so that it executes when a window begins.
    fn before_a_window(&self, dice: &mut Dice, executes: u64) -> u64 {
        let (_, begin, _) = dice.pick(&self.windows);
        let early = if dice.once_in(4) { dice.below(self.length) } else { dice.below(executes + 1) };
        (self.length + begin).saturating_sub(early)
    }

    fn own_time(&self, partition: usize) -> u64 {
        self.windows.iter().filter(|window| window.0 == partition).map(|window| window.2).sum()
    }

    fn text(&self) -> String {
        let one = |&(partition, begin, length): &(usize, u64, u64)| {
            let core = self.core;
            format!(
                "{{ partition = \"p{core}_{partition}\", begin = \"{begin}us\", length = \"{length}us\" }}"
            )
        };
        let windows: Vec<String> = self.windows.iter().map(one).collect();
        format!(
            "[[isolation.cycle]]\ncore = {}\nlength = \"{}us\"\nwindows = [{}]\n",
            self.core,
            self.length,
            windows.join(", ")
        )
    }
}

/// What a scenario draws from.
struct Drawing {
    memory: bool,
    /// Who uses memory is mostly in no partition; else in one of its own.
    outside: bool,
    locks: u64,
    /// By partition, as `p0_1 = [...]`.
    homes: String,
    body: String,
}

/// A scenario; `accesses`: with tasks that use memory, which take the simulated machine longer.
pub(crate) fn scenario(seed: u64, accesses: bool) -> String {
    let dice = &mut Dice::new(seed ^ 0x00c2_055e);
    let platform = if accesses { dice.pick(&["xeon-w3530", "p4080", "juno"]) } else { "ideal-8" };
    let policy = dice.pick(&["P-RM", "P-RM", "P-DM", "P-FP", "P-EDF"]);
    let duration = if accesses { 12 } else { 60 };
    let mut text = format!(
        "name = \"crossed\"\nplatform = \"{platform}\"\nduration = \"{duration}ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{policy}\"\n"
    );
    // Beside accesses there is little else: they are short, and other terms of a bound hide one that is not counted.
    if dice.once_in(if accesses { 8 } else { 4 }) {
        text += "overheads = \"epos-thesis\"\n";
    }
    let locks = if dice.once_in(if accesses { 6 } else { 2 }) { dice.between(1, 3) } else { 0 };
    let mut drawing = Drawing {
        memory: accesses,
        outside: dice.once_in(2),
        locks,
        homes: String::new(),
        body: String::new(),
    };
    for lock in 0..locks {
        let _ = write!(drawing.body, "[[lock]]\nname = \"l{lock}\"\nprotocol = \"ceiling\"\n");
    }
    let mut cycles = String::new();
    for core in 0..dice.pick(&[1, 1, 2]) {
        let cycle = Cycle::of(dice, core, accesses);
        drawing.members(dice, &cycle);
        drawing.free(dice, &cycle);
        cycles += &cycle.text();
    }
    format!("{text}[isolation.partitions]\n{}{cycles}{}", drawing.homes, drawing.body)
}

impl Drawing {
    fn head(&mut self, name: &str, class: &str, core: u64, priority: u64) {
        let _ = write!(
            self.body,
            "[[task]]\nname = \"{name}\"\nclass = \"{class}\"\ncore = {core}\npriority = {priority}\n"
        );
    }

    /// Computation, a part of it under a lock now and then; and a sleep seldom.
    fn computes(&mut self, dice: &mut Dice, length: u64) {
        let mut steps = vec![format!("{{ compute = \"{length}us\" }}")];
        if self.locks > 0 && dice.once_in(2) {
            let (lock, before) = (dice.below(self.locks), length * dice.pick(&[0, 0, 25, 60]) / 100);
            let rest = format!("{{ compute = \"{}us\" }}, {{ unlock = \"l{lock}\" }}", length - before);
            steps = vec![format!("{{ compute = \"{before}us\" }}, {{ lock = \"l{lock}\" }}, {rest}")];
            if before == 0 {
                steps = vec![format!("{{ lock = \"l{lock}\" }}, {rest}")];
            }
        } else if dice.once_in(12) {
            steps.push(format!("{{ sleep = \"{}us\" }}, {{ compute = \"1us\" }}", dice.between(5, 200)));
        }
        let _ = writeln!(self.body, "work = [{}]", steps.join(", "));
    }

    /// Accesses without end, or for a part of each cycle.
    fn accesses(&mut self, dice: &mut Dice, cycle: &Cycle) {
        let (pattern, writes) =
            (dice.pick(&["chase", "random", "stream"]), dice.pick(&["0%", "50%", "100%"]));
        if dice.once_in(6) {
            let _ = writeln!(self.body, "period = \"{}us\"\nwcet = \"{}us\"", cycle.length, cycle.length);
        }
        let accesses = dice.between(200, 2000);
        let _ = writeln!(
            self.body,
            "work = [{{ {pattern} = \"8MiB\", stride = \"64B\", writes = \"{writes}\", accesses = {accesses} }}]"
        );
    }

    /// The tasks of each partition: one or two, and now and then one that uses memory below them.
    fn members(&mut self, dice: &mut Dice, cycle: &Cycle) {
        let only_accesses = (self.memory && !self.outside && cycle.partitions > 1)
            .then(|| dice.below(cycle.partitions as u64) as usize);
        for partition in 0..cycle.partitions {
            let home = format!("{}_{partition}", cycle.core);
            let (own, mut names) = (cycle.own_time(partition), Vec::new());
            // One that is there for its accesses only has time for them.
            let hog = only_accesses == Some(partition);
            let count = dice.pick(if self.memory { &[1, 1, 1, 1, 2] } else { &[1, 1, 2] });
            for at in 0..if hog { 0 } else { count } {
                let name = format!("a{home}_{at}");
                self.head(&name, dice.pick(&["hard", "hard", "soft"]), cycle.core, dice.below(6));
                // Jobs of many windows, or of a part of one.
                let span =
                    dice.pick(if self.memory { &[9000, 9000, 5000, 500] } else { &[20_000, 5000, 1000] });
                let cycles = (span / cycle.length).max(1);
                let executes = (own * cycles * dice.between(1, 70) / 100).max(1);
                let offset = cycle.offset(dice, partition);
                let _ = write!(
                    self.body,
                    "period = \"{}us\"\noffset = \"{offset}us\"\n",
                    cycle.length * cycles + dice.pick(&[0, 0, 0, 7])
                );
                self.computes(dice, executes);
                names.push(name);
            }
            if hog || self.memory && dice.once_in(8) {
                let name = format!("hog{home}");
                self.head(&name, "best-effort", cycle.core, 8);
                self.accesses(dice, cycle);
                names.push(name);
            }
            let _ = writeln!(self.homes, "p{home} = {names:?}");
        }
    }

    /// Those in no partition: mostly of a less urgent class than the others, for nothing is proved beside others.
    fn free(&mut self, dice: &mut Dice, cycle: &Cycle) {
        if self.memory && (self.outside || dice.once_in(6)) {
            self.head(&format!("free_hog{}", cycle.core), "best-effort", cycle.core, 9);
            self.accesses(dice, cycle);
        }
        for at in 0..dice.pick(if self.memory { &[0, 0, 0, 1] } else { &[0, 1, 1, 2] }) {
            let class = dice.pick(&["soft", "best-effort", "best-effort", "best-effort"]);
            self.head(&format!("free{}_{at}", cycle.core), class, cycle.core, dice.between(4, 9));
            let executes = (cycle.length * dice.between(1, 5) / 10).max(1);
            let offset = cycle.before_a_window(dice, executes);
            let _ = write!(self.body, "period = \"{}us\"\noffset = \"{offset}us\"\n", cycle.length);
            self.computes(dice, executes);
        }
    }
}
