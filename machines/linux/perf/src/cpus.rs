//! The CPUs of the machine.

use crate::files::Files;

/// The CPUs that are online; the first one where the kernel does not say.
pub fn online(files: &dyn Files) -> Vec<u16> {
    files.text("/sys/devices/system/cpu/online").map_or_else(|| vec![0], |list| cpu_list(&list))
}

/// Reads a list of the form `0-3,8,10-11`; what is no number in it is left out.
pub fn cpu_list(list: &str) -> Vec<u16> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(low), Ok(high)) = (low.trim().parse::<u16>(), high.trim().parse::<u16>()) {
            cpus.extend(low..=high);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Fake;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list(""), [] as [u16; 0]);
        assert_eq!(cpu_list("x,1-"), [] as [u16; 0]);
        assert_eq!(online(&Fake::new()), [0]);
        assert_eq!(online(&Fake::new().with("/sys/devices/system/cpu/online", "0,2-3\n")), [0, 2, 3]);
    }
}
