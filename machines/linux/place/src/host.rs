//! Cores and caches of this machine as a platform: what policies ask of a chip. The rest of the platform stands for nothing.

use crate::division;
use solo_model::platform::{Cache, Contents, Core, CoreKind};
use solo_model::{Bytes, CoreId, CoreSet, Frequency, Platform, fixtures};
use solo_perf::cpus::{cpu_list, online};
use solo_perf::files::Files;
use solo_perf::resolve::Resolver;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const CPUS: &str = "/sys/devices/system/cpu";

/// This machine: core N is CPU N, up to the last one that is online and below 64.
pub fn platform(files: &dyn Files) -> Platform {
    let online = online(files).into_iter().filter(|cpu| usize::from(*cpu) < CoreSet::CAPACITY);
    let online: CoreSet = online.map(CoreId).collect();
    let cores = online.iter().map(|core| core.index() + 1).max().unwrap_or(1);
    let mut platform = fixtures::chip(cores);
    platform.name = "this machine".to_owned();
    platform.caches = caches(files, online);
    if let Some(level) = platform.last_level().map(|cache| cache.level)
        && let Some(ways) = division::ways(files, level)
    {
        // What is given away counts: a chip may give several ways at a time.
        platform.caches.iter_mut().filter(|cache| cache.level == level).for_each(|cache| cache.ways = ways);
    }
    kinds(files, &mut platform);
    platform
}

/// The caches that hold data, each once.
fn caches(files: &dyn Files, online: CoreSet) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for core in online.iter() {
        let folder = format!("{CPUS}/cpu{}/cache", core.0);
        for index in files.list(&folder).into_iter().filter(|name| name.starts_with("index")) {
            let Some(cache) = cache(files, &format!("{folder}/{index}"), online) else { continue };
            let same = |known: &Cache| {
                (known.level, known.contents, known.cores) == (cache.level, cache.contents, cache.cores)
            };
            if !caches.iter().any(same) {
                caches.push(cache);
            }
        }
    }
    caches.sort_by_key(|cache| (cache.level, cache.cores.lowest()));
    caches
}

fn cache(files: &dyn Files, folder: &str, online: CoreSet) -> Option<Cache> {
    let number = |name: &str| files.number(&format!("{folder}/{name}"));
    let contents = match files.text(&format!("{folder}/type"))?.trim() {
        "Data" => Contents::Data,
        "Unified" => Contents::Unified,
        _ => return None,
    };
    let level = u8::try_from(number("level")?).ok()?;
    let shared = cpu_list(&files.text(&format!("{folder}/shared_cpu_list"))?);
    let cores: CoreSet =
        shared.into_iter().filter(|cpu| usize::from(*cpu) < CoreSet::CAPACITY).map(CoreId).collect();
    let kib = files.text(&format!("{folder}/size"))?.trim().trim_end_matches('K').parse().ok()?;
    let ways = number("ways_of_associativity").and_then(|ways| u16::try_from(ways).ok()).unwrap_or(1);
    let line = number("coherency_line_size").and_then(|line| u64::try_from(line).ok()).unwrap_or(64);
    let cache = fixtures::cache(level, contents, cores.and(online), kib, ways.max(1), 1);
    Some(Cache { line: Bytes::new(line), ..cache })
}

/// Kinds of cores: by the PMU that each core type has and that says where it is (x86), else by the capacity that Linux knows of each CPU
/// (64-bit Arm). Their speeds are those capacities, or their highest clocks.
fn kinds(files: &dyn Files, platform: &mut Platform) {
    let groups = by_pmu(files).or_else(|| by_capacity(files, platform.cores.len())).unwrap_or_default();
    if groups.len() < 2 {
        return;
    }
    let first = platform.kinds[0].clone();
    platform.kinds.clear();
    for (at, (name, cpus)) in groups.iter().enumerate() {
        let clock = cpus.first().and_then(|cpu| highest_clock(files, *cpu)).unwrap_or(first.clock);
        let capacity = cpus.first().and_then(|cpu| capacity(files, *cpu));
        // A kind is as fast as its clock and its instructions per cycle make it.
        let per_kilocycle = capacity.map_or(first.instructions_per_kilocycle, |capacity| {
            let whole = u64::from(capacity) * first.clock.get() / clock.get().max(1);
            u32::try_from(whole.max(1)).unwrap_or(u32::MAX)
        });
        let (name, instructions_per_kilocycle) = (name.clone(), per_kilocycle);
        platform.kinds.push(CoreKind { name, clock, instructions_per_kilocycle, ..first.clone() });
        for cpu in cpus {
            if let Some(core) = platform.cores.get_mut(usize::from(*cpu)) {
                *core = Core { kind: u8::try_from(at).unwrap_or(0), ..*core };
            }
        }
    }
}

/// The name and the CPUs of each core type.
fn by_pmu(files: &dyn Files) -> Option<Vec<(String, Vec<u16>)>> {
    let resolver = Resolver::new(files);
    let cpus = |name: &str| files.text(&format!("/sys/bus/event_source/devices/{name}/cpus"));
    let list = |name: &str| cpu_list(&cpus(name).unwrap_or_default());
    let found: Vec<_> = resolver.core_pmus().iter().map(|pmu| (pmu.name.clone(), list(&pmu.name))).collect();
    (found.len() > 1).then_some(found)
}

/// The CPUs of each capacity, the greatest first.
fn by_capacity(files: &dyn Files, cores: usize) -> Option<Vec<(String, Vec<u16>)>> {
    let mut found: BTreeMap<Reverse<u32>, Vec<u16>> = BTreeMap::new();
    for cpu in (0..cores).filter_map(|cpu| u16::try_from(cpu).ok()) {
        if let Some(capacity) = capacity(files, cpu) {
            found.entry(Reverse(capacity)).or_default().push(cpu);
        }
    }
    (found.len() > 1).then(|| {
        found.into_iter().map(|(capacity, cpus)| (format!("capacity-{}", capacity.0), cpus)).collect()
    })
}

/// What a CPU gets done beside the fastest, which has 1024.
fn capacity(files: &dyn Files, cpu: u16) -> Option<u32> {
    let number = files.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity"))?;
    u32::try_from(number).ok().filter(|capacity| *capacity > 0)
}

/// The highest clock of a CPU, which Linux tells in kHz.
fn highest_clock(files: &dyn Files, cpu: u16) -> Option<Frequency> {
    let kilohertz = files.number(&format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"))?;
    u64::try_from(kilohertz)
        .ok()
        .filter(|clock| *clock > 0)
        .map(|clock| Frequency::new(clock.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::Fake;

    /// Two dies of two cores with a second level each, as sysfs tells of them.
    fn two_dies() -> Fake {
        let mut files = Fake::new().with("/sys/devices/system/cpu/online", "0-3\n");
        for cpu in 0..4 {
            let die = if cpu < 2 { "0-1" } else { "2-3" };
            let own = cpu.to_string();
            for (index, level, kind, shared, size) in [
                (0, "1", "Data", own.as_str(), "32K"),
                (1, "1", "Instruction", &own, "32K"),
                (2, "2", "Unified", die, "6144K"),
            ] {
                let at = |name: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}");
                files.set(&at("level"), Some(level));
                files.set(&at("type"), Some(kind));
                files.set(&at("shared_cpu_list"), Some(shared));
                files.set(&at("size"), Some(size));
                files.set(&at("ways_of_associativity"), Some("24"));
                files.set(&at("coherency_line_size"), Some("64"));
            }
        }
        files
    }

    #[test]
    fn caches_and_who_shares_them_are_found() {
        let platform = platform(&two_dies());
        let pair = |low| CoreSet::only(CoreId(low)).with(CoreId(low + 1));
        assert_eq!((platform.cores.len(), platform.caches.len(), platform.levels()), (4, 6, 2));
        assert_eq!(platform.neighborhoods(), [pair(0), pair(2)]);
        assert_eq!(platform.caches[4].size, Bytes::from_kib(6144));
    }

    #[test]
    fn core_types_are_kinds() {
        let devices = "/sys/bus/event_source/devices";
        let mut files = two_dies();
        for (pmu, number, cpus) in [("cpu_core", "4", "0-1"), ("cpu_atom", "10", "2-3")] {
            files.set(&format!("{devices}/{pmu}/type"), Some(number));
            files.set(&format!("{devices}/{pmu}/cpus"), Some(cpus));
            files.set(&format!("{devices}/{pmu}/format/event"), Some("config:0-7"));
        }
        let platform = platform(&files);
        let named = |core: usize| platform.kinds[platform.cores[core].kind as usize].name.as_str();
        assert_eq!([0, 1, 2, 3].map(named), ["cpu_core", "cpu_core", "cpu_atom", "cpu_atom"]);
    }

    /// As an Arm chip of two clusters tells of itself: CPUs 2 and 3 get more done, at a higher clock.
    #[test]
    fn capacities_are_kinds() {
        let mut files = two_dies();
        for (cpu, capacity, clock) in
            [(0, "446", "850000"), (1, "446", "850000"), (2, "1024", "1100000"), (3, "1024", "1100000")]
        {
            files.set(&format!("{CPUS}/cpu{cpu}/cpu_capacity"), Some(capacity));
            files.set(&format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"), Some(clock));
        }
        let platform = platform(&files);
        let named = |core: usize| platform.kinds[platform.cores[core].kind as usize].name.as_str();
        assert_eq!(
            [0, 1, 2, 3].map(named),
            ["capacity-446", "capacity-446", "capacity-1024", "capacity-1024"]
        );
        let asymmetry = platform.asymmetry(None).expect("two kinds");
        let named = |kind: solo_model::KindId| platform.kinds[kind.index()].name.as_str();
        assert_eq!((named(asymmetry.big), named(asymmetry.small)), ("capacity-1024", "capacity-446"));
        assert_eq!(asymmetry.clock_ratio, 1294);
        // All alike: one kind, which nobody can tell apart.
        files.set(&format!("{CPUS}/cpu0/cpu_capacity"), Some("1024"));
        files.set(&format!("{CPUS}/cpu1/cpu_capacity"), Some("1024"));
        assert_eq!(super::platform(&files).asymmetry(None), None);
    }

    #[test]
    fn a_machine_that_says_nothing_has_one_core() {
        let platform = platform(&Fake::new());
        assert_eq!((platform.cores.len(), platform.caches.len()), (1, 0));
    }
}
