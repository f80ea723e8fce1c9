//! What the kernel's resctrl does, as far as a program sees it: files that come with a group and go with it, CPUs and threads that are in one group,
//! lines of schemata that are set each by itself, words about the last command.

use super::fuse::{Behind, Tree};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// What a new group may do.
const NEW: [(&str, &str); 2] = [("MB", "0=4294967295;1=4294967295"), ("L3", "0=fff;1=fff")];
/// What the root may do: less of the cache than a new group.
const ROOT: [(&str, &str); 2] = [("MB", "0=4294967295;1=4294967295"), ("L3", "0=ff;1=fff")];
/// Bytes that a group has moved when it is made.
const BEGUN: u64 = 1 << 30;

/// A group.
struct Group {
    schemata: BTreeMap<String, String>,
    cpus: BTreeSet<u16>,
    tasks: BTreeSet<u32>,
    moved: u64,
}

/// The whole of it, mounted with `mba_MBps`.
pub(crate) struct Resctrl {
    /// By their names; the root's is empty.
    groups: BTreeMap<String, Group>,
    status: String,
    classes: usize,
    /// All writes that were taken, in order: where, and what.
    pub(crate) writes: Vec<(String, String)>,
}

impl Resctrl {
    pub(crate) fn new(cpus: u16) -> Self {
        let mut groups = BTreeMap::new();
        groups.insert(String::new(), Group::new(&ROOT));
        let mut resctrl = Self { groups, status: "ok".to_owned(), classes: 8, writes: Vec::new() };
        resctrl.group("").cpus = (0..cpus).collect();
        resctrl
    }

    fn group(&mut self, name: &str) -> &mut Group {
        self.groups.get_mut(name).expect("a group")
    }

    /// Groups that begin so have moved so many bytes more.
    pub(crate) fn moves(&mut self, begins: &str, bytes: u64) {
        let named = self.groups.iter_mut().filter(|(name, _)| name.starts_with(begins));
        named.for_each(|(_, group)| group.moved += bytes);
    }

    fn refuse(&mut self, words: &str, errno: Errno) -> Result<(), Errno> {
        words.clone_into(&mut self.status);
        Err(errno)
    }

    fn set_schemata(&mut self, name: &str, text: &str) -> Result<(), Errno> {
        for line in text.lines() {
            let Some((resource, values)) = line.trim().split_once(':') else {
                return self.refuse("Missing ':'", Errno::INVAL);
            };
            if !self.group(name).schemata.contains_key(resource) {
                return self.refuse("Unknown or unsupported resource name", Errno::INVAL);
            }
            self.group(name).schemata.insert(resource.to_owned(), values.to_owned());
        }
        Ok(())
    }

    /// A CPU is in one group: who comes leaves another, who leaves is the root's, and nobody leaves the root for nowhere.
    fn set_cpus(&mut self, name: &str, text: &str) -> Result<(), Errno> {
        let Some(wanted) = list(text.trim()) else { return self.refuse("Bad CPU list/mask", Errno::INVAL) };
        let online: BTreeSet<u16> = self.groups.values().flat_map(|group| group.cpus.clone()).collect();
        if !wanted.is_subset(&online) {
            return self.refuse("Can only assign online CPUs", Errno::INVAL);
        }
        if name.is_empty() && !self.group("").cpus.is_subset(&wanted) {
            return self.refuse("Can't drop CPUs from default group", Errno::INVAL);
        }
        let left: Vec<u16> = self.group(name).cpus.difference(&wanted).copied().collect();
        self.groups.values_mut().for_each(|group| group.cpus.retain(|cpu| !wanted.contains(cpu)));
        self.group(name).cpus = wanted;
        self.group("").cpus.extend(left);
        Ok(())
    }

    fn set_tasks(&mut self, name: &str, text: &str) -> Result<(), Errno> {
        let Ok(task) = text.trim().parse() else {
            return self.refuse("Task list parsing error", Errno::INVAL);
        };
        if !is_there(task) {
            return self.refuse("Could not find task", Errno::SRCH);
        }
        self.groups.values_mut().for_each(|group| group.tasks.retain(|other| *other != task));
        // Who is in no other group is the root's; it lists nobody here, for who that is changes by itself.
        if !name.is_empty() {
            self.group(name).tasks.insert(task);
        }
        Ok(())
    }
}

impl Group {
    fn new(schemata: &[(&str, &str)]) -> Self {
        let line = |&(resource, values): &(&str, &str)| (resource.to_owned(), values.to_owned());
        let schemata = schemata.iter().map(line).collect();
        Self { schemata, cpus: BTreeSet::new(), tasks: BTreeSet::new(), moved: BEGUN }
    }
}

impl Behind for Resctrl {
    fn tree(&self) -> Tree {
        let mut tree = Tree::from([(String::new(), None), ("mon_groups".to_owned(), None)]);
        for folder in ["info", "info/MB", "info/L3", "info/L3_MON"] {
            tree.insert(folder.to_owned(), None);
        }
        let classes = self.classes.to_string();
        for (file, text) in [
            ("info/MB/min_bandwidth", "10"),
            ("info/MB/bandwidth_gran", "10"),
            ("info/MB/num_closids", &classes),
            ("info/MB/thread_throttle_mode", "per-thread"),
            ("info/L3/num_closids", &classes),
            ("info/L3/cbm_mask", "fff"),
            ("info/L3/min_cbm_bits", "1"),
            ("info/L3_MON/num_rmids", "32"),
            ("info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes"),
            ("info/last_cmd_status", &self.status),
        ] {
            tree.insert(file.to_owned(), Some(format!("{text}\n")));
        }
        for (name, group) in &self.groups {
            let at = |file: &str| if name.is_empty() { file.to_owned() } else { format!("{name}/{file}") };
            let mut put = |file: &str, text: Option<String>| drop(tree.insert(at(file), text));
            let lines: String = group
                .schemata
                .iter()
                .map(|(resource, values)| format!("    {resource}:{values}\n"))
                .collect();
            let cpus: Vec<String> = group.cpus.iter().map(u16::to_string).collect();
            put("schemata", Some(lines));
            put("cpus_list", Some(format!("{}\n", cpus.join(","))));
            let tasks: Vec<u32> = group.tasks.iter().copied().filter(|task| is_there(*task)).collect();
            put("tasks", Some(tasks.iter().map(|task| format!("{task}\n")).collect()));
            put("mon_data", None);
            for (cache, moved) in [("mon_L3_00", group.moved), ("mon_L3_01", 0)] {
                put(&format!("mon_data/{cache}"), None);
                put(&format!("mon_data/{cache}/mbm_total_bytes"), Some(format!("{moved}\n")));
                put(&format!("mon_data/{cache}/llc_occupancy"), Some(format!("{}\n", tasks.len() * 4096)));
            }
            if !name.is_empty() {
                tree.insert(name.clone(), None);
                tree.insert(format!("{name}/mba_MBps_event"), Some("mbm_total_bytes\n".to_owned()));
            }
        }
        tree
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        "ok".clone_into(&mut self.status);
        let (name, file) = path.rsplit_once('/').unwrap_or(("", path));
        if !self.groups.contains_key(name) {
            return Err(Errno::PERM);
        }
        match file {
            "schemata" => self.set_schemata(name, text),
            "cpus_list" => self.set_cpus(name, text),
            "tasks" => self.set_tasks(name, text),
            _ => Err(Errno::PERM),
        }?;
        self.writes.push((path.to_owned(), text.to_owned()));
        Ok(())
    }

    fn make(&mut self, path: &str) -> Result<(), Errno> {
        "ok".clone_into(&mut self.status);
        match self.tree().contains_key(path) {
            true => return Err(Errno::EXIST),
            false if path.contains('/') => return Err(Errno::PERM),
            false if self.groups.len() >= self.classes => return self.refuse("Out of CLOSIDs", Errno::NOSPC),
            false => {}
        }
        self.groups.insert(path.to_owned(), Group::new(&NEW));
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), Errno> {
        if path.is_empty() || !self.groups.contains_key(path) {
            return Err(Errno::PERM);
        }
        let group = self.groups.remove(path).ok_or(Errno::NOENT)?;
        self.group("").cpus.extend(group.cpus);
        Ok(())
    }
}

/// A thread that has ended is in no group.
fn is_there(task: u32) -> bool {
    std::path::Path::new(&format!("/proc/{task}")).exists()
}

/// `0-3,5`.
fn list(text: &str) -> Option<BTreeSet<u16>> {
    let mut cpus = BTreeSet::new();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(low.parse::<u16>().ok()?..=high.parse().ok()?);
    }
    Some(cpus)
}
