//! A folder that stands for a machine with resctrl, and what its kernel does where a folder does something else: files that come with a
//! group and go with it, CPUs that are in one group, schemata of which each line is set by itself, and refusals in words.
#![allow(dead_code, unreachable_pub, missing_docs)]

use solo_guard::limits::Resctrl;
use solo_guard::{Actuator, JOURNAL, Machine, Seen, Setting};
use solo_store::StoreError;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What a new group may do.
pub const NEW: &str = "    MB:0=4294967295;1=4294967295\n    L3:0=fff;1=fff\n";
/// What the root may do: less of the cache than a new group.
pub const ROOT: &str = "    MB:0=4294967295;1=4294967295\n    L3:0=ff;1=fff\n";
/// How many bytes each group has moved when it is made.
pub const BEGUN: u64 = 1 << 30;

/// What the kernel was asked to write, and how it is to answer.
#[derive(Default)]
pub struct Memory {
    pub writes: Vec<(Setting, String)>,
    /// The journal of the guard at work: each change stands there before it is made.
    pub journal: PathBuf,
    /// Rounds bandwidth up to this, as kernels before 6.13 do.
    pub rounds: Option<u64>,
    /// Refuses MB lines with these words.
    pub refuses: Option<&'static str>,
    /// Classes, the root's among them.
    pub classes: usize,
    /// Everything stops at this write, before or after it was made.
    pub dies: Option<(usize, bool)>,
    /// The process ends there.
    pub aborts: bool,
}

#[derive(Clone)]
pub struct Kernel {
    pub root: PathBuf,
    pub machine: Machine,
    pub memory: Rc<RefCell<Memory>>,
}

fn refused(setting: &Setting, errno: i32) -> StoreError {
    let path = setting.to_string().into();
    StoreError::Io { operation: "set", path, source: io::Error::from_raw_os_error(errno) }
}

impl Kernel {
    pub const MOUNTED: &str =
        "proc /proc proc rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,relatime,mba_MBps 0 0\n";

    /// Four CPUs behind two caches, and nobody's group.
    pub fn below(root: &Path, state: &Path) -> Self {
        for folder in ["proc/sys/kernel/random", "sys/fs/resctrl/info/MB", "sys/fs/resctrl/info/L3"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for cpu in 0..4 {
            fs::create_dir_all(root.join(format!("sys/devices/system/cpu/cpu{cpu}"))).unwrap();
        }
        fs::write(root.join("proc/sys/kernel/random/boot_id"), "one\n").unwrap();
        let kernel = Self::again(root, state);
        for (file, content) in [
            ("info/MB/min_bandwidth", "10\n"),
            ("info/MB/bandwidth_gran", "10\n"),
            ("info/MB/num_closids", "8\n"),
            ("info/MB/thread_throttle_mode", "per-thread\n"),
            ("info/L3/num_closids", "16\n"),
            ("info/last_cmd_status", "ok\n"),
            ("schemata", ROOT),
            ("cpus_list", "0-3\n"),
            ("tasks", "1\n"),
        ] {
            kernel.put(file, content);
        }
        kernel
    }

    /// The same machine for another process.
    pub fn again(root: &Path, state: &Path) -> Self {
        let memory = Memory { journal: state.join(JOURNAL), classes: 8, ..Memory::default() };
        let machine = Machine::below(root).unwrap();
        let kernel = Self { root: root.to_owned(), machine, memory: Rc::new(RefCell::new(memory)) };
        kernel.mounted(Self::MOUNTED);
        kernel
    }

    pub fn mounted(&self, mounts: impl AsRef<[u8]>) {
        let own = self.root.join(format!("proc/{}", std::process::id()));
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("mounts"), mounts).unwrap();
    }

    /// A file below the mount point.
    pub fn file(&self, path: &str) -> PathBuf {
        self.root.join("sys/fs/resctrl").join(path)
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(path), content).unwrap();
    }

    pub fn says(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap().trim().to_owned()
    }

    pub fn resctrl(&self) -> Resctrl {
        Resctrl::below(&self.root).unwrap()
    }

    /// Somebody's group, with nobody in it.
    pub fn group(&self, name: &str) {
        fs::create_dir_all(self.file(name)).unwrap();
        for (file, content) in
            [("schemata", NEW), ("cpus_list", "\n"), ("tasks", ""), ("mba_MBps_event", "mbm_local_bytes\n")]
        {
            self.put(&format!("{name}/{file}"), content);
        }
        for cache in ["00", "01"] {
            fs::create_dir_all(self.file(&format!("{name}/mon_data/mon_L3_{cache}"))).unwrap();
            let begun = if cache == "00" { BEGUN } else { 0 };
            self.put(&format!("{name}/mon_data/mon_L3_{cache}/mbm_total_bytes"), format!("{begun}\n"));
        }
    }

    /// What a group has moved.
    pub fn moved(&self, name: &str, says: impl AsRef<[u8]>) {
        self.put(&format!("{name}/mon_data/mon_L3_00/mbm_total_bytes"), says);
    }

    /// The groups that there are, the root not among them.
    pub fn groups(&self) -> Vec<String> {
        let names = fs::read_dir(self.file("")).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.filter_map(|name| name.into_string().ok());
        let mut groups: Vec<String> =
            names.filter(|name| self.file(&format!("{name}/cpus_list")).exists()).collect();
        groups.sort();
        groups
    }

    /// The CPUs of a group; the root's name is empty.
    pub fn cpus(&self, group: &str) -> BTreeSet<u16> {
        let text = fs::read_to_string(self.file(group).join("cpus_list")).unwrap_or_default();
        let ranges = text.trim().split(',').filter(|range| !range.is_empty());
        let range = |range: &str| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            low.parse::<u16>().unwrap()..=high.parse().unwrap()
        };
        ranges.flat_map(range).collect()
    }

    fn set_cpus(&self, group: &str, cpus: &BTreeSet<u16>) {
        let list = cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        fs::write(self.file(group).join("cpus_list"), format!("{list}\n")).unwrap();
    }

    /// A CPU is in one group.
    pub fn move_cpu(&self, cpu: u16, group: &str) {
        for other in [vec![String::new()], self.groups()].concat() {
            let mut cpus = self.cpus(&other);
            let changed = if other == group { cpus.insert(cpu) } else { cpus.remove(&cpu) };
            if changed {
                self.set_cpus(&other, &cpus);
            }
        }
    }

    /// All files but the words about the last command, with what they say.
    pub fn all(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn below(folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() {
                    below(&path, all);
                } else if kind.is_file() {
                    all.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        let mut all = BTreeMap::new();
        below(&self.root, &mut all);
        all.remove(&self.file("info/last_cmd_status"));
        // A list may be said in other words, where it is one.
        let list = all[&self.file("cpus_list")].clone();
        if list.iter().all(|byte| b"0123456789,-\n".contains(byte)) {
            all.insert(self.file("cpus_list"), format!("{:?}", self.cpus("")).into_bytes());
        }
        all
    }

    /// The change stands in the journal.
    fn is_noted(&self, setting: &Setting, value: &str) {
        let journal = fs::read_to_string(&self.memory.borrow().journal).unwrap_or_default();
        let found = journal.lines().filter_map(|line| line.split_once(' ')).any(|(_, text)| {
            let line: serde_json::Value = serde_json::from_str(text).unwrap();
            let change = &line["change"];
            let same =
                serde_json::from_value::<Setting>(change["setting"].clone()).ok().as_ref() == Some(setting);
            same && (change["wanted"] == value || change["found"] == value)
        });
        assert!(found, "{setting} is to be `{value}`, of which the journal knows nothing: {journal}");
    }

    /// Each line of schemata is set by itself.
    fn set_schemata(&self, setting: &Setting, group: &str, value: &str) -> Result<(), StoreError> {
        let memory = self.memory.borrow();
        let path = format!("{group}/schemata");
        let before = self.says(&path);
        let mut lines: Vec<String> = before.lines().map(|line| line.trim().to_owned()).collect();
        for line in value.lines() {
            let (resource, values) = line.split_once(':').unwrap();
            if let (true, Some(words)) = (resource == "MB", memory.refuses) {
                self.put("info/last_cmd_status", format!("{words}\n"));
                return Err(refused(setting, 22));
            }
            let one = |part: &str| match (resource, memory.rounds) {
                ("MB", Some(step)) => {
                    let (domain, value) = part.split_once('=').unwrap();
                    // In 32 bits, as those kernels have it.
                    format!("{domain}={}", value.parse::<u64>().unwrap().next_multiple_of(step) as u32)
                }
                _ => part.to_owned(),
            };
            let values: Vec<String> = values.split(';').map(one).collect();
            let own = lines.iter_mut().find(|line| line.starts_with(&format!("{resource}:")));
            *own.expect("a resource of this machine") = format!("{resource}:{}", values.join(";"));
        }
        let text: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        self.put(&path, text);
        Ok(())
    }

    fn write(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        self.put("info/last_cmd_status", "ok\n");
        match (setting, value) {
            (Setting::CacheFolder { group }, Setting::THERE) => {
                if self.groups().len() + 1 >= self.memory.borrow().classes {
                    self.put("info/last_cmd_status", "Out of CLOSIDs\n");
                    return Err(refused(setting, 28));
                }
                self.machine.set(setting, value)?;
                self.group(&String::from(group.clone()));
            }
            (Setting::CacheFolder { group }, _) => {
                let name = String::from(group.clone());
                self.cpus(&name).into_iter().for_each(|cpu| self.move_cpu(cpu, ""));
                fs::remove_dir_all(self.file(&name).join("mon_data")).unwrap();
                for file in ["schemata", "cpus_list", "tasks", "mba_MBps_event"] {
                    fs::remove_file(self.file(&name).join(file)).unwrap();
                }
                self.machine.set(setting, value)?;
            }
            (Setting::Schemata { group }, value) => {
                self.set_schemata(setting, &String::from(group.clone()), value)?;
            }
            (Setting::CacheCpu { cpu }, value) => {
                self.machine.set(setting, value)?;
                self.move_cpu(*cpu, value.trim_start_matches('/'));
            }
            _ => self.machine.set(setting, value)?,
        }
        Ok(())
    }
}

impl Actuator for Kernel {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        self.machine.look(setting)
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        self.is_noted(setting, value);
        let (at, dies) = (self.memory.borrow().writes.len(), self.memory.borrow().dies);
        let aborts = self.memory.borrow().aborts;
        if dies.is_some_and(|(step, made)| step < at || (step == at && !made)) {
            if aborts {
                std::process::abort();
            }
            return Err(refused(setting, 5));
        }
        self.memory.borrow_mut().writes.push((setting.clone(), value.to_owned()));
        self.write(setting, value)?;
        match dies {
            Some((step, true)) if step == at && aborts => std::process::abort(),
            Some((step, true)) if step == at => Err(refused(setting, 5)),
            _ => Ok(()),
        }
    }

    fn boot(&self) -> Result<String, StoreError> {
        self.machine.boot()
    }
}
