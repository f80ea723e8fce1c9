//! Programs that stand for a class: how much they gain on a big core, and how parallel they are.

use solo_model::{Platform, SplitMix64};
use std::fmt::Write;

/// How much a program gains on a big core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    High,
    Medium,
    Low,
}

/// How parallel it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// One thread.
    Single,
    /// Highly parallel: a twentieth of its time on one core is serial.
    Parallel,
    /// Partly serial: a serial part of over a quarter of its time on all its threads.
    PartlySerial,
}

/// A program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) kind: Kind,
    pub(crate) threads: u64,
}

/// One phase of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Thousandths of a cycle on a big and on a small core.
    pub(crate) cycles: [u32; 2],
    /// Branches among 1,000 instructions: how the model tells phases apart.
    pub(crate) branches: u32,
}

impl Program {
    fn random(&self, of: &str) -> SplitMix64 {
        let seed = self
            .name
            .bytes()
            .chain(of.bytes())
            .fold(7_u64, |seed, byte| seed.wrapping_mul(131) + u64::from(byte));
        SplitMix64::new(seed)
    }

    /// The speedup factors of its class, in thousandths. Ours: the paper prints them as points of a figure.
    fn range(&self, platform: &Platform) -> (u64, u64) {
        match (self.class, platform.name.as_str()) {
            (Class::High, "quickia") => (3_200, 4_600),
            (Class::Medium, "quickia") => (2_300, 2_900),
            (Class::Low, "quickia") => (1_500, 2_000),
            (Class::High, _) => (2_200, 2_600),
            (Class::Medium, _) => (1_700, 2_000),
            (Class::Low, _) => (1_200, 1_500),
        }
    }

    /// Its two phases.
    pub(crate) fn phases(&self, platform: &Platform) -> [Stretch; 2] {
        let clock = |kind: usize| platform.kinds[kind].clock.get();
        let (least, most) = self.range(platform);
        [0, 1].map(|phase| {
            let mut random = self.random(if phase == 0 { "a" } else { "b" });
            let big = 500 + random.below(700);
            let factor = least + random.below(most - least);
            let small = big * factor / 1000 * clock(1) / clock(0);
            Stretch {
                cycles: [big as u32, small.max(1) as u32],
                branches: 10 + random.below(300) as u32 * 2 + phase,
            }
        })
    }

    /// A run as steps: so many rounds of both phases, each of a length between 0.4 and 2.4 s on a big core.
    fn rounds(&self, platform: &Platform, part: &str, rounds: u64, share: u64) -> String {
        let mut random = self.random(part);
        let clock = platform.kinds[0].clock.get();
        let mut steps = String::new();
        for (number, phase) in self.phases(platform).into_iter().enumerate() {
            let ms = (400 + random.below(2_000)) * share / 100;
            let instructions = ms.max(1) * (clock / 1000) / u64::from(phase.cycles[0]) * 1000;
            let _ = write!(steps, "{{ execute = {instructions}, phase = \"{}-{number}\" }}, ", self.name);
        }
        format!("{{ repeat = {rounds}, steps = [{steps}] }}")
    }

    /// Its phases and itself in a scenario, its threads on cores from `first` on.
    pub(crate) fn written(&self, platform: &Platform, first: u64) -> String {
        let mut text = String::new();
        let names: Vec<&str> = platform.kinds.iter().map(|kind| kind.name.as_str()).collect();
        for (number, phase) in self.phases(platform).into_iter().enumerate() {
            let cycles = phase.cycles.map(|cycles| format!("{}.{:03}", cycles / 1000, cycles % 1000));
            let _ = writeln!(
                text,
                "[[phase]]\nname = \"{}-{number}\"\ncycles-per-instruction = {{ {} = {}, {} = {} }}\nbranches-per-1000 = {}",
                self.name, names[0], cycles[0], names[1], cycles[1], phase.branches
            );
        }
        let rounds = 10 + self.random("rounds").below(8);
        let work = match self.kind {
            Kind::Single => self.rounds(platform, "whole", rounds, 100),
            Kind::Parallel => format!(
                "{{ serial = [{}] }}, {{ parallel = [{}] }}",
                self.rounds(platform, "serial", 1, 5),
                self.rounds(platform, "parallel", rounds, 50)
            ),
            // As long as the parallel part or nearly so: a third to a half of its time.
            Kind::PartlySerial => format!(
                "{{ serial = [{}] }}, {{ parallel = [{}] }}, {{ serial = [{}] }}, {{ parallel = [{}] }}",
                self.rounds(platform, "first", rounds / 3, 60),
                self.rounds(platform, "second", rounds / 2, 50),
                self.rounds(platform, "third", rounds / 4, 60),
                self.rounds(platform, "fourth", rounds / 3, 50)
            ),
        };
        let cores: Vec<String> = (first..first + self.threads).map(|core| core.to_string()).collect();
        let _ = writeln!(
            text,
            "[[application]]\nname = \"{}\"\nthreads = {}\ncores = [{}]\nwork = [{work}]",
            self.name,
            self.threads,
            cores.join(", ")
        );
        text
    }
}
