//! Processors of threads as the scope of a policy.

use crate::code::Code;
use crate::fields::Problems;
use crate::rt_app::thread::{Thread, refuse};
use solo_model::Platform;

/// How threads are spread over cores.
pub(super) enum Placed {
    /// All over all.
    Global,
    /// Each on one.
    Partitioned,
    /// On these sets, which cover the chip.
    Clustered(Vec<Vec<u64>>),
}

pub(super) fn read(problems: &Problems, threads: &[Thread], chip: &Platform) -> Option<Placed> {
    let cores = chip.cores.len() as u64;
    let mut sets: Vec<&[u64]> = Vec::new();
    let Some(first) = threads.iter().find_map(|thread| thread.cpus.as_ref()) else {
        return Some(Placed::Global);
    };
    for thread in threads {
        let Some(cpus) = &thread.cpus else {
            let help = "say of all threads on which processors they may run, or of none";
            refuse(
                problems,
                &thread.name.span,
                "a thread on all processors beside others that are bound",
                help,
            );
            return None;
        };
        if let Some(none) = cpus.value.iter().find(|&&cpu| cpu >= cores) {
            let headline =
                format!("processor {none}: {} has cores 0 to {}", chip.name, cores.saturating_sub(1));
            problems.push(problems.error(Code::NoSuchCore, headline, &cpus.span));
            return None;
        }
        let own = cpus.value.as_slice();
        let overlaps = |set: &&&[u64]| **set != own && set.iter().any(|cpu| own.contains(cpu));
        if sets.iter().any(|set| overlaps(&set)) {
            let help = "bind threads to the same processors, or to others altogether";
            refuse(problems, &cpus.span, "processors that others have in part: queues do not overlap", help);
            return None;
        }
        if !sets.contains(&own) {
            sets.push(own);
        }
    }
    if sets.iter().all(|set| set.len() == 1) {
        return Some(Placed::Partitioned);
    }
    if first.value.len() as u64 == cores {
        return Some(Placed::Global);
    }
    let rest: Vec<u64> = (0..cores).filter(|core| !sets.iter().any(|set| set.contains(core))).collect();
    let mut clusters: Vec<Vec<u64>> = sets.into_iter().map(<[u64]>::to_vec).collect();
    clusters.extend(rest.into_iter().map(|core| vec![core]));
    clusters.sort();
    Some(Placed::Clustered(clusters))
}
