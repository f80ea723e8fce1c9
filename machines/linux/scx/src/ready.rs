//! Whether a kernel takes the scheduler.

use crate::error::{PLACE, ScxError};
use solo_perf::files::Files;

/// Nothing if this kernel can take a scheduler now.
///
/// # Errors
/// [`ScxError::Absent`], [`ScxError::Taken`], [`ScxError::Prototypes`].
pub fn ready(files: &dyn Files) -> Result<(), ScxError> {
    let kernel =
        || files.text("/proc/sys/kernel/osrelease").unwrap_or_else(|| "of an unknown release".to_owned());
    if !files.exists(PLACE) {
        return Err(ScxError::Absent { kernel: kernel() });
    }
    if files.text(&format!("{PLACE}/state")).is_some_and(|state| state != "disabled") {
        let name = files.text(&format!("{PLACE}/root/ops")).filter(|name| !name.is_empty());
        return Err(ScxError::Taken {
            name: name.unwrap_or_else(|| "which does not say its name".to_owned()),
        });
    }
    // What can't be read or understood may be all right; the kernel says so where it is not.
    let described = files.bytes("/sys/kernel/btf/vmlinux").ok();
    let wrong = described.and_then(|bytes| solo_doctor::malformed_kfuncs(&bytes).ok()).unwrap_or_default();
    match wrong.first() {
        Some(first) => {
            Err(ScxError::Prototypes { kernel: kernel(), first: first.clone(), count: wrong.len() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::files::Fake;

    fn kernel() -> Fake {
        Fake::default()
            .with("/proc/sys/kernel/osrelease", "6.18.15\n")
            .with("/sys/kernel/sched_ext/state", "disabled\n")
    }

    #[test]
    fn a_kernel_that_has_it_is_ready() {
        assert!(ready(&kernel()).is_ok());
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let none = Fake::default().with("/proc/sys/kernel/osrelease", "6.1.0\n");
        assert!(matches!(ready(&none), Err(ScxError::Absent { kernel }) if kernel == "6.1.0"));
        let enabled = kernel().with("/sys/kernel/sched_ext/state", "enabled\n");
        assert!(matches!(ready(&enabled), Err(ScxError::Taken { .. })));
        let named = enabled.with("/sys/kernel/sched_ext/root/ops", "rusty_1.0\n");
        assert!(matches!(ready(&named), Err(ScxError::Taken { name }) if name == "rusty_1.0"));
        // What comes and goes at this moment is somebody's, too.
        let leaving = kernel().with("/sys/kernel/sched_ext/state", "disabling\n");
        assert!(matches!(ready(&leaving), Err(ScxError::Taken { .. })));
    }

    #[test]
    fn types_that_make_no_sense_are_left_to_the_kernel() {
        assert!(ready(&kernel().with("/sys/kernel/btf/vmlinux", "no types at all")).is_ok());
    }
}
