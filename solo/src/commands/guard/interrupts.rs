//! Interrupts that may come to CPUs with budgets, and where they go instead.

use crate::exit::Failure;
use solo_guard::Setting;
use solo_perf::cpus::{cpu_list, online};
use solo_perf::files::Files;

/// The interrupts that may come to one of the CPUs that are `held`, and the others of theirs. One that would have none left goes to
/// all CPUs that are not held.
pub(super) fn elsewhere(files: &dyn Files, held: &[u16]) -> Result<Vec<(Setting, String)>, Failure> {
    if held.is_empty() {
        return Err(Failure::Usage(
            "--no-interrupts keeps interrupts off CPUs with budgets, and no CPU has one: --budget 1=200"
                .to_owned(),
        ));
    }
    let others: Vec<u16> = online(files).into_iter().filter(|cpu| !held.contains(cpu)).collect();
    if others.is_empty() {
        return Err(Failure::Usage(
            "--no-interrupts: every CPU has a budget; interrupts have to come to one".to_owned(),
        ));
    }
    let one = |name: String| {
        let number: u32 = name.parse().ok()?;
        let cpus = cpu_list(&files.text(&format!("/proc/irq/{name}/smp_affinity_list"))?);
        if !cpus.iter().any(|cpu| held.contains(cpu)) {
            return None;
        }
        let left: Vec<u16> = cpus.iter().copied().filter(|cpu| others.contains(cpu)).collect();
        let wanted = if left.is_empty() { &others } else { &left };
        let list = wanted.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        Some((Setting::Interrupt { number }, list))
    };
    let mut changes: Vec<(Setting, String)> = files.list("/proc/irq").into_iter().filter_map(one).collect();
    changes.sort();
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::files::Fake;

    #[test]
    fn who_may_come_to_a_cpu_that_is_held_goes_to_others() {
        let files = Fake::new()
            .with("/sys/devices/system/cpu/online", "0-3\n")
            .with("/proc/irq/default_smp_affinity", "f\n")
            .with("/proc/irq/9/smp_affinity_list", "0-3\n")
            .with("/proc/irq/24/smp_affinity_list", "2\n")
            .with("/proc/irq/25/smp_affinity_list", "0\n");
        let irq = |number, list: &str| (Setting::Interrupt { number }, list.to_owned());
        assert_eq!(elsewhere(&files, &[2]).unwrap(), [irq(9, "0,1,3"), irq(24, "0,1,3")]);
        assert!(elsewhere(&files, &[]).unwrap_err().to_string().contains("no CPU has one"));
        assert!(elsewhere(&files, &[0, 1, 2, 3]).unwrap_err().to_string().contains("every CPU has a budget"));
    }
}
