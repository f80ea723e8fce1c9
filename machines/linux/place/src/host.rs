//! Cores and caches of this machine as a platform: what policies ask of a chip. The rest of the platform stands for nothing.

use solo_model::platform::{Cache, Contents, Core, CoreKind};
use solo_model::{Bytes, CoreId, CoreSet, Platform, fixtures};
use solo_perf::cpus::{cpu_list, online};
use solo_perf::files::Files;
use solo_perf::resolve::Resolver;

const CPUS: &str = "/sys/devices/system/cpu";

/// This machine: core N is CPU N, up to the last one that is online and below 64.
pub fn platform(files: &dyn Files) -> Platform {
    let online = online(files).into_iter().filter(|cpu| usize::from(*cpu) < CoreSet::CAPACITY);
    let online: CoreSet = online.map(CoreId).collect();
    let cores = online.iter().map(|core| core.index() + 1).max().unwrap_or(1);
    let mut platform = fixtures::chip(cores);
    platform.name = "this machine".to_owned();
    platform.caches = caches(files, online);
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

/// Core types have a PMU each, which says where they are.
fn kinds(files: &dyn Files, platform: &mut Platform) {
    let resolver = Resolver::new(files);
    if resolver.core_pmus().len() < 2 {
        return;
    }
    let first = platform.kinds[0].clone();
    platform.kinds.clear();
    for (kind, pmu) in resolver.core_pmus().iter().enumerate() {
        platform.kinds.push(CoreKind { name: pmu.name.clone(), ..first.clone() });
        let list =
            files.text(&format!("/sys/bus/event_source/devices/{}/cpus", pmu.name)).unwrap_or_default();
        for cpu in cpu_list(&list) {
            if let Some(core) = platform.cores.get_mut(usize::from(cpu)) {
                *core = Core { kind: u8::try_from(kind).unwrap_or(0), ..*core };
            }
        }
    }
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

    #[test]
    fn a_machine_that_says_nothing_has_one_core() {
        let platform = platform(&Fake::new());
        assert_eq!((platform.cores.len(), platform.caches.len()), (1, 0));
    }
}
