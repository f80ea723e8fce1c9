//! Whether a command had the machine for itself.

use std::fs;

/// The least number of cores that a limit of time is stated for.
const LEAST_CORES: u64 = 2;

/// What processors have done so far, in clock ticks of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cores {
    /// How many there are.
    cores: u64,
    /// By anybody, other guests of the host included.
    busy: u64,
    /// Doing nothing.
    idle: u64,
    /// By processes that this one has started and waited for, and theirs.
    ours: u64,
}

impl Cores {
    /// Reads them; nothing where the kernel does not tell.
    pub(crate) fn look() -> Option<Self> {
        Self::of(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/self/stat").ok()?)
    }

    fn of(all: &str, own: &str) -> Option<Self> {
        let line = all.lines().find(|line| line.starts_with("cpu "))?;
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in user already.
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        let idle = ticks.get(3)? + ticks.get(4)?;
        // After the name, which may hold anything, cutime and cstime are the 14th and 15th.
        let waited_for = own.rsplit_once(')')?.1.split_whitespace().skip(13).take(2);
        Some(Self {
            cores: all.lines().filter(is_core).count() as u64,
            busy: ticks.iter().sum::<u64>() - idle,
            idle,
            ours: waited_for.map(|word| word.parse::<u64>().ok()).sum::<Option<_>>()?,
        })
    }
}

/// Why the machine was not ours alone between two looks; nothing where others took at most a tenth of it.
pub(crate) fn shared(before: Option<Cores>, after: Option<Cores>) -> Option<String> {
    let Some((before, after)) = before.zip(after) else {
        return Some("the kernel does not tell who used the processors".to_owned());
    };
    if after.cores < LEAST_CORES {
        return Some(format!("the limit is for {LEAST_CORES} cores, and there is one"));
    }
    let ours = after.ours.saturating_sub(before.ours);
    let busy = after.busy.saturating_sub(before.busy);
    let all = busy + after.idle.saturating_sub(before.idle);
    let others = busy.saturating_sub(ours);
    (others > all / 10).then(|| {
        format!("others used {} % of the processors meanwhile", others.saturating_mul(100) / all.max(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_others_is_told_from_our_own() {
        let look = |busy, idle, ours| {
            let all = format!("cpu  {busy} 0 0 {idle} 0 0 0 0 7 7\ncpu0 1\ncpu1 1\nintr 5\n");
            let own = format!("1 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 {ours} 0 20\n");
            Cores::of(&all, &own)
        };
        let before = look(100, 100, 50);
        assert_eq!(before, Some(Cores { cores: 2, busy: 100, idle: 100, ours: 50 }));
        assert_eq!(shared(before, look(300, 200, 230)), None);
        assert_eq!(
            shared(before, look(300, 200, 50)).unwrap(),
            "others used 66 % of the processors meanwhile"
        );
        assert!(shared(before, None).is_some());
        assert_eq!(Cores::of("cpu 1 2", "1 (x) S"), None);
        // This very machine tells.
        assert!(Cores::look().is_some() || !std::path::Path::new("/proc/stat").exists());
    }
}
