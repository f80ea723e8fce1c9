//! The register of diagnostic codes: whatever is said about a file has one, and `solo explain CODE` tells what it means.
//!
//! Codes are a closed list, so that a message with an unknown one can't be written. Adding a code: one entry in
//! `register.rs`, and a wrong file in `tests/wrong` that shows it (a test asks for it).

mod register;

pub use register::Code;

use crate::nearest::nearest;
use std::fmt;

/// What stands in the register about a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What is wrong, in one line without a capital and a full stop.
    pub meaning: &'static str,
    /// Why it is wrong, and what to know about it.
    pub explanation: &'static str,
    /// A line or two of a file that are wrong in this way.
    pub wrong: &'static str,
    /// The same, mended.
    pub right: &'static str,
}

/// What all codes begin with.
const PREFIX: &str = "solo::";

impl Code {
    /// True where the file is well written and what it asks for can't be had: such a variant is refused by itself, the
    /// others can run.
    pub(crate) fn refuses(self) -> bool {
        matches!(
            self,
            Self::Isolation
                | Self::Ways
                | Self::Windows
                | Self::Device
                | Self::PolicyNeeds
                | Self::Partition
                | Self::Memory
                | Self::NoPrefetcher
                | Self::Wcet
                | Self::Clusters
                | Self::NoSuchCore
        )
    }

    /// The code of a name such as `unknown_key`, with or without `solo::` before it, in any case and with hyphens instead of
    /// underscores; `None` where there is none.
    pub fn named(name: &str) -> Option<Self> {
        let name = simplified(name);
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The code whose name comes closest to `name`; `None` where none is close.
    pub fn nearest(name: &str) -> Option<Self> {
        let name = simplified(name);
        nearest(&name, Self::ALL.iter().map(|code| code.name())).and_then(Self::named)
    }
}

fn simplified(name: &str) -> String {
    let name = name.trim().to_lowercase().replace('-', "_");
    name.strip_prefix(PREFIX).unwrap_or(&name).to_owned()
}

/// The code as messages show it, for example `solo::unknown_key`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.name())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_code_is_found_by_what_people_type() {
        for typed in ["unknown_key", "solo::unknown_key", " Solo::Unknown-Key "] {
            assert_eq!(Code::named(typed), Some(Code::UnknownKey), "{typed}");
        }
        assert_eq!(
            (Code::named("unknwon_key"), Code::nearest("unknwon_key")),
            (None, Some(Code::UnknownKey))
        );
        assert_eq!(Code::nearest("something else altogether"), None);
    }

    #[test]
    fn every_entry_says_something_of_its_own() {
        let mut seen = HashSet::new();
        for code in Code::ALL {
            let Entry { meaning, explanation, wrong, right } = *code.entry();
            assert_eq!(Code::named(code.name()), Some(code));
            assert!(seen.insert(meaning) && seen.insert(explanation), "{code}: the text of another code");
            assert!(!meaning.ends_with('.') && meaning.len() <= 90, "{code}: {meaning}");
            assert!(explanation.ends_with('.') && explanation.len() > meaning.len(), "{code}: {explanation}");
            assert!(!wrong.is_empty() && !right.is_empty() && wrong != right, "{code}");
        }
    }
}
