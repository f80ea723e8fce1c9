//! What became of the settings that a guard had changed.

use crate::setting::Setting;

/// What became of one setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It says again what it said before.
    PutBack,
    /// It said so already.
    AsFound,
    /// It is gone, and what it changed with it: a group that was removed, a CPU that went offline.
    Gone,
    /// Somebody else has set it since; it was left alone.
    Theirs {
        /// What it says.
        found: String,
        /// What it said before the guard.
        before: String,
    },
    /// The system refused; it is still as the guard left it.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What became of all settings of a journal, the first changed first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Restored {
    /// Each setting with its fate.
    pub settings: Vec<(Setting, Fate)>,
    /// The journal was of an earlier run of the machine, whose settings are gone with it.
    pub earlier_boot: bool,
}

impl Restored {
    /// True where no setting is left as a guard set it.
    pub fn is_whole(&self) -> bool {
        !self.settings.iter().any(|(_, fate)| matches!(fate, Fate::Failed { .. }))
    }

    /// What could not be put back, for people.
    pub(crate) fn failures(&self) -> String {
        let failed = self.settings.iter().filter_map(|(setting, fate)| match fate {
            Fate::Failed { reason } => Some(format!("{setting}: {reason}")),
            _ => None,
        });
        failed.collect::<Vec<_>>().join("; ")
    }
}
