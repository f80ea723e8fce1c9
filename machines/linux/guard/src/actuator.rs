//! Looking at settings and setting them.

use crate::setting::Setting;
use serde::{Deserialize, Serialize};
use solo_store::{Dir, StoreError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file a setting is: that of a group which was removed and made anew under the same path is another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub file: u64,
}

impl Identity {
    /// A setting that there is once for each run of the machine, whatever number its file has.
    pub(crate) const ONLY: Self = Self { device: 0, file: 0 };
}

/// What a setting says, and where that stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// What it says, without white space around it.
    pub value: String,
    /// The file.
    pub identity: Identity,
}

/// Looks at settings and sets them.
pub trait Actuator {
    /// What a setting says now.
    ///
    /// # Errors
    /// What the system says; [`StoreError::is_not_found`] where there is no such setting.
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError>;

    /// Sets it.
    ///
    /// # Errors
    /// What the system says; then the setting is as it was.
    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError>;

    /// What tells this run of the machine from earlier ones, as settings do not survive a restart.
    ///
    /// # Errors
    /// What the system says.
    fn boot(&self) -> Result<String, StoreError>;
}

/// What a setting says at most, in bytes.
const VALUE_MAX: u64 = 64 << 10;

/// The settings of this machine, or of a tree of files that stands for one.
#[derive(Clone, Debug)]
pub struct Machine {
    root: Dir,
}

impl Machine {
    /// This machine: `root` is `/`. A test's tree: any folder with `proc` and `sys` in it.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder can't be opened.
    pub fn below(root: &Path) -> Result<Self, StoreError> {
        Ok(Self { root: Dir::open(root)? })
    }

    /// The folder and the file of a setting; links on the way are refused.
    fn place(&self, setting: &Setting) -> Result<(Dir, &'static str), StoreError> {
        let (folders, file) = setting.place();
        let folder = folders.iter().try_fold(self.root.clone(), |dir, folder| dir.below(folder))?;
        Ok((folder, file))
    }
}

impl Actuator for Machine {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        let (folder, name) = self.place(setting)?;
        let failed = |source| StoreError::Io { operation: "read", path: folder.path_of(name), source };
        let identity = match setting {
            Setting::Cgroup { .. } | Setting::Schemata { .. } => {
                let metadata = folder.file(name)?.metadata().map_err(failed)?;
                Identity { device: metadata.dev(), file: metadata.ino() }
            }
            // Files of `/proc/sys` are numbered anew whenever the kernel has forgotten them.
            Setting::Interrupt { .. } | Setting::RealTimeRuntime | Setting::FairServer { .. } => {
                Identity::ONLY
            }
        };
        Ok(Seen { value: folder.text(name, VALUE_MAX)?.trim().to_owned(), identity })
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        let (folder, name) = self.place(setting)?;
        // Nothing at all can't be written; an empty line can.
        folder.set(name, format!("{value}\n").as_bytes())
    }

    fn boot(&self) -> Result<String, StoreError> {
        let folder = ["proc", "sys", "kernel", "random"]
            .iter()
            .try_fold(self.root.clone(), |dir, name| dir.below(name))?;
        Ok(folder.text("boot_id", 100)?.trim().to_owned())
    }
}
