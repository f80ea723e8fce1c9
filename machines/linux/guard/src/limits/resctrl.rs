//! What resctrl says: how it is mounted, what it limits, which groups there are, and what was counted.

use super::error::LimitError;
use crate::cache::{self, has_cpu};
use crate::folder::{at, numbers};
use crate::setting::{Group, RESCTRL};
use solo_model::CoreId;
use solo_store::{Dir, StoreError};
use std::path::Path;

/// What the list of mounts says at most, in bytes.
const MOUNTS_MAX: u64 = 16 << 20;
/// What a file of resctrl says at most, in bytes: a value of a setting is no longer.
const FILE_MAX: u64 = 4096;
/// What is shown of a file that says something else than it should, in characters.
const SHOWN: usize = 80;
/// The mount option that makes the unit of limits MiB/s.
const IN_MIB: &str = "mba_MBps";

/// The resource that is bandwidth.
const BANDWIDTH: &str = "MB";

/// Resctrl of this machine, or of a tree of files that stands for one. It is only read here.
#[derive(Clone, Debug)]
pub struct Resctrl {
    root: Dir,
}

/// What a group's counter says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    /// Bytes since some beginning.
    Bytes(u64),
    /// Something else: `Unavailable`, `Error`, why it can't be read.
    Said(String),
}

impl Resctrl {
    /// That of this machine: `root` is `/`.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder can't be opened.
    pub fn below(root: &Path) -> Result<Self, StoreError> {
        Ok(Self { root: Dir::open(root)? })
    }

    /// The folder of the machine.
    pub(crate) fn root(&self) -> &Dir {
        &self.root
    }

    /// Nothing where it is mounted so that limits in MiB/s can be written.
    ///
    /// # Errors
    /// [`LimitError::NotMounted`], [`LimitError::OtherUnit`], [`LimitError::System`].
    pub fn is_mounted(&self) -> Result<(), LimitError> {
        // The list of mounts is a link to that of whoever asks; links are not followed here.
        let own = at(&self.root, &format!("proc/{}", std::process::id()))?;
        let bytes = own.bytes("mounts", MOUNTS_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        let mounts = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (place, kind, options) = (words.next()?, words.next()?, words.next()?);
            (kind == "resctrl").then_some((place, options))
        });
        // The last one is on top.
        let (mut options, mut elsewhere) = (None, None);
        for (place, said) in mounts {
            let wanted = place.strip_prefix('/') == Some(RESCTRL);
            if wanted {
                options = Some(said)
            } else {
                elsewhere = Some(place.to_owned())
            };
        }
        let Some(options) = options else { return Err(LimitError::NotMounted { elsewhere }) };
        if options.split(',').any(|option| option == IN_MIB) {
            return Ok(());
        }
        let (least, granularity) = (self.least().ok(), self.granularity().ok());
        Err(LimitError::OtherUnit { options: options.to_owned(), least, granularity })
    }

    /// The smallest limit, in MiB/s.
    pub(crate) fn least(&self) -> Result<u64, LimitError> {
        self.number("min_bandwidth", "/sys/fs/resctrl/info/MB/min_bandwidth")
    }

    /// The step between limits, in MiB/s.
    pub(crate) fn granularity(&self) -> Result<u64, LimitError> {
        let step = self.number("bandwidth_gran", "/sys/fs/resctrl/info/MB/bandwidth_gran")?;
        Ok(step.max(1))
    }

    fn number(&self, name: &str, path: &'static str) -> Result<u64, LimitError> {
        let text = self.info(BANDWIDTH)?.bytes(name, FILE_MAX)?;
        let text = String::from_utf8_lossy(&text);
        text.trim().parse::<u32>().map(u64::from).map_err(|_| LimitError::Garbled {
            path,
            expected: "a number",
            found: shown(&text),
        })
    }

    fn info(&self, name: &str) -> Result<Dir, StoreError> {
        at(&self.root, &format!("{RESCTRL}/info/{name}"))
    }

    /// The caches behind which bandwidth is limited, by the kernel's numbers of them, and the other lines of the root's schemata.
    pub(crate) fn schemata(&self) -> Result<(Vec<u32>, Vec<String>), LimitError> {
        let bytes = at(&self.root, RESCTRL)?.bytes("schemata", FILE_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        let garbled = |line: &str| LimitError::Garbled {
            path: "/sys/fs/resctrl/schemata",
            expected: "lines such as `MB:0=100;1=100`",
            found: shown(line),
        };
        let (mut domains, mut others) = (None, Vec::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (resource, values) = line.split_once(':').ok_or_else(|| garbled(line))?;
            let is_bandwidth = resource == BANDWIDTH;
            let known =
                domains_of(values, if is_bandwidth { 10 } else { 16 }).ok_or_else(|| garbled(line))?;
            if is_bandwidth {
                domains = Some(known)
            } else {
                others.push(line.to_owned())
            };
        }
        domains
            .map(|domains| (domains, others))
            .ok_or_else(|| LimitError::NoBandwidth { found: shown(&text) })
    }

    /// What a group's schemata say.
    pub(crate) fn schemata_of(&self, group: &Group) -> Result<String, StoreError> {
        let bytes = cache::open(&self.root, group)?.bytes("schemata", FILE_MAX)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// How many groups there can be and how many there are, the root among them; `None` where nothing tells.
    pub(crate) fn classes(&self) -> Result<Option<(u64, u64)>, StoreError> {
        let info = at(&self.root, &format!("{RESCTRL}/info"))?;
        let of = |resource: String| {
            let text = info.below(&resource).ok()?.text("num_closids", FILE_MAX).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let used = self.groups()?.len() as u64 + 1;
        Ok(info.names()?.into_iter().filter_map(of).min().map(|known| (known, used)))
    }

    /// The names of all groups but the root. What has no `cpus_list` is none.
    pub(crate) fn groups(&self) -> Result<Vec<String>, StoreError> {
        let all = cache::groups(&self.root)?.into_iter();
        Ok(all.filter(|(_, folder)| folder.has("cpus_list").unwrap_or(false)).map(|(name, _)| name).collect())
    }

    /// Groups with threads, which have that group's limits on every CPU.
    pub(crate) fn with_threads(&self) -> Result<Vec<String>, StoreError> {
        let all = cache::groups(&self.root)?.into_iter();
        Ok(all.filter(|(_, folder)| !numbers(folder, "tasks").is_empty()).map(|(name, _)| name).collect())
    }

    /// Nothing where a CPU is in the root, and nobody counts there what it does by itself.
    pub(crate) fn is_free(&self, core: CoreId) -> Result<(), LimitError> {
        match cache::group_of_cpu(&self.root, core.0) {
            Ok(group) if group == cache::ROOT => {}
            Ok(group) => return Err(LimitError::Taken { core, group: format!("/{group}") }),
            Err(error) if error.is_not_found() => return Err(LimitError::NoCpu(core)),
            Err(error) => return Err(error.into()),
        }
        let Ok(counting) = at(&self.root, &format!("{RESCTRL}/mon_groups")) else { return Ok(()) };
        for name in counting.names()? {
            if let Ok(folder) = counting.below(&name)
                && has_cpu(&folder, core.0)?
            {
                return Err(LimitError::Taken { core, group: format!("/mon_groups/{name}") });
            }
        }
        Ok(())
    }

    /// What it says of the last write; `None` where it says nothing.
    pub(crate) fn status(&self) -> Option<String> {
        let bytes =
            at(&self.root, &format!("{RESCTRL}/info")).ok()?.bytes("last_cmd_status", FILE_MAX).ok()?;
        Some(shown(&String::from_utf8_lossy(&bytes)))
    }

    /// What becomes of the other CPUs of a physical core, where it is told.
    pub(crate) fn throttle_mode(&self) -> Option<String> {
        let text = self.info(BANDWIDTH).ok()?.text("thread_throttle_mode", FILE_MAX).ok()?;
        Some(shown(&text))
    }

    /// What the kernel compares with a group's limit. Kernels that do not say it compare what goes to the memory of the own socket.
    pub(crate) fn compared(&self, group: &Group) -> String {
        let said = cache::open(&self.root, group).and_then(|folder| folder.text("mba_MBps_event", FILE_MAX));
        said.map_or_else(|_| "mbm_local_bytes".to_owned(), |text| shown(&text))
    }

    /// What was counted of a group behind all caches; `None` where nothing counts it.
    pub(crate) fn counted(&self, group: &Group) -> Option<Counted> {
        let data = cache::open(&self.root, group).and_then(|folder| folder.below("mon_data"));
        let data = match data {
            Ok(data) => data,
            Err(error) if error.is_not_found() => return None,
            Err(error) => return Some(Counted::Said(error.reason())),
        };
        let names = match data.names() {
            Ok(names) => names,
            Err(error) => return Some(Counted::Said(error.reason())),
        };
        let mut sum: Option<u64> = None;
        for name in names.iter().filter(|name| name.starts_with("mon_L3_")) {
            match data.below(name).and_then(|folder| folder.bytes("mbm_total_bytes", FILE_MAX)) {
                Err(error) if error.is_not_found() => {}
                Err(error) => return Some(Counted::Said(error.reason())),
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let Ok(bytes) = text.trim().parse::<u64>() else {
                        return Some(Counted::Said(shown(&text)));
                    };
                    sum = Some(sum.unwrap_or(0).saturating_add(bytes));
                }
            }
        }
        sum.map(Counted::Bytes)
    }
}

/// The domains of `0=ff;1=ff`, whose values are numbers to this base; `None` where it is nothing of the kind.
fn domains_of(values: &str, base: u32) -> Option<Vec<u32>> {
    let domain = |part: &str| {
        let (domain, value) = part.split_once('=')?;
        u64::from_str_radix(value.trim(), base).ok()?;
        domain.trim().parse().ok()
    };
    values.split(';').map(domain).collect()
}

/// The beginning of what a file says, in one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
