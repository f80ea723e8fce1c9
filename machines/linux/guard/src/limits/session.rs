//! Setting limits.

use super::error::{LimitDoubt, LimitError};
use super::meter::Watch;
use super::plan::{Limit, Plan};
use super::resctrl::Resctrl;
use crate::actuator::Actuator;
use crate::cache;
use crate::claim;
use crate::error::GuardError;
use crate::folder::at;
use crate::guard::Guard;
use crate::setting::Setting;
use rustix::io::Errno;
use solo_model::{CoreId, Duration};
use solo_store::{Dir, StoreError};

/// Sets all limits of a plan, and begins to watch over them; `now` is the time since any moment.
///
/// # Errors
/// See [`LimitError`]. What was changed before is the guard's: it has to put it back.
pub fn set<'p, A: Actuator>(
    plan: &'p Plan,
    resctrl: &'p Resctrl,
    guard: &mut Guard<A>,
    now: Duration,
) -> Result<Watch<'p>, LimitError> {
    let claims: Vec<Dir> = plan
        .limits()
        .iter()
        .filter_map(|limit| claim(resctrl, limit.core).transpose())
        .collect::<Result<_, _>>()?;
    let changes = plan.changes();
    for (setting, value) in &changes {
        guard.change(setting, value).map_err(|error| refused(error, value, plan, resctrl))?;
    }
    let mut said = Vec::new();
    let mut doubts = plan.doubts().to_vec();
    for limit in plan.limits() {
        let wanted = changes.iter().find(|(setting, _)| *setting == limit.schemata());
        let wanted = wanted.map_or("", |(_, wanted)| wanted.as_str());
        let (found, more) = answer(limit, wanted, resctrl)?;
        said.push(found);
        doubts.extend(more);
    }
    Ok(Watch::begin(plan, resctrl, (claims, said, doubts), now))
}

/// Says to other guards that a CPU is taken; nothing where this machine does not show its CPUs.
fn claim(resctrl: &Resctrl, core: CoreId) -> Result<Option<Dir>, LimitError> {
    let Ok(folder) = at(resctrl.root(), &format!("sys/devices/system/cpu/cpu{}", core.0)) else {
        return Ok(None);
    };
    match claim::take(&folder) {
        Ok(true) => Ok(Some(folder)),
        Ok(false) => Err(LimitError::Claimed(core)),
        Err(_) => Ok(None),
    }
}

/// What the kernel made of a limit, and what there is to say of it.
fn answer(limit: &Limit, wanted: &str, resctrl: &Resctrl) -> Result<(String, Vec<LimitDoubt>), LimitError> {
    let core = limit.core;
    let found = resctrl.schemata_of(&limit.group)?;
    let status = resctrl.status();
    let mut doubts = Vec::new();
    if !limit.schemata().says(&found, wanted) || status.as_deref().is_some_and(|status| status != "ok") {
        let (wanted, found) = (wanted.to_owned(), found.clone());
        doubts.push(LimitDoubt::Otherwise { core, wanted, found, status });
    }
    let group = cache::group_of_cpu(resctrl.root(), core.0)?;
    if !limit.group.is_called(&group) {
        doubts.push(LimitDoubt::Changed { core, setting: limit.cpu(), found: group });
    }
    Ok((found, doubts))
}

/// Why a setting is not as it was to be.
fn refused(error: GuardError, value: &str, plan: &Plan, resctrl: &Resctrl) -> LimitError {
    let GuardError::Refused { setting, source } = error else { return error.into() };
    let status = resctrl.status();
    let is_full = matches!(&source, StoreError::Io { source, .. } if source.raw_os_error() == Some(Errno::NOSPC.raw_os_error()));
    if is_full && matches!(setting, Setting::CacheFolder { .. }) {
        let there = resctrl.groups().unwrap_or_default();
        let is_ours = |name: &String| plan.limits().iter().any(|limit| limit.group.is_called(name));
        let used = there.iter().filter(|name| !is_ours(name)).count() as u64 + 1;
        let classes = resctrl.classes().ok().flatten().map(|(classes, _)| classes);
        return LimitError::NoClass { classes, used, wanted: plan.limits().len() as u64, status };
    }
    LimitError::Refused { setting, wanted: value.to_owned(), reason: source.reason(), status }
}
