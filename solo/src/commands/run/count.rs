//! `solo run --count`: what this machine's counters count of each job.

use crate::commands::watch::event_set;
use crate::exit::Failure;
use solo_lab::linux::Counted;
use solo_model::text::Printable;
use solo_observe::{CountedEvent, Filter, catalog};
use solo_perf::files::Host;
use solo_perf::resolve::Resolver;

/// The events of `--count`, as far as this machine counts them.
pub(super) fn counted_of_jobs(text: &str, quiet: bool) -> Result<Counted, Failure> {
    let host = Host::new();
    let set = event_set("--count", text, &host).map_err(Failure::watch)?;
    let id = |event: &CountedEvent| {
        catalog::find(&event.name).ok_or_else(|| {
            Failure::Usage(format!(
                "--count {}: jobs are told of events that all machines know, which `solo events` lists first; a watch counts this one: \
                 solo watch -e",
                Printable(&event.name)
            ))
        })
    };
    let ids = set.events.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    if set.sampled().is_some() {
        return Err(Failure::Usage(format!(
            "--count {}: a job's counts are read at its end",
            Printable(text)
        )));
    }
    let resolver = Resolver::new(&host);
    let of = |filter| {
        let groups = resolver.groups(&set, filter);
        let groups = groups.map_err(|error| Failure::NotHere(Printable(error).to_string()))?;
        Ok::<_, Failure>(Counted::new(ids.clone(), groups))
    };
    let (all, cannot) = (of(Filter::ALL)?, |error: std::io::Error| {
        let why = solo_store::system_reason(&error);
        Failure::NotHere(format!("--count {}: this machine does not count it: {why}", Printable(text)))
    });
    match all.probe() {
        Ok(()) => Ok(all),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let user: Counted = of(Filter::USER)?;
            user.probe().map_err(cannot)?;
            if !quiet {
                eprintln!(
                    "note: jobs are counted in user mode only: the kernel takes CAP_PERFMON or perf_event_paranoid below 2"
                );
            }
            Ok(user)
        }
        Err(error) => Err(cannot(error)),
    }
}
