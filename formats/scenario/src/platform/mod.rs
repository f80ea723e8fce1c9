//! Platform files: a chip as data, with the source of every value.

mod caches;
mod check;
mod derived;
mod device;
mod dram;
mod events;
mod power;
mod read;
mod sourced;

pub use derived::{derived, has_guesses};
pub use device::{DEVICES, load_device};
pub use sourced::SourcedValue;

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::foreign::{foreign, may_be_shown};
use crate::nearest::nearest;
use crate::source::Source;
use crate::tree::{LARGEST_FILE, too_large};
use solo_model::Platform;
use solo_model::text::Printable;
use solo_store::StoreError;
use std::path::{Path, PathBuf};

/// Keys that only platform files have.
const TABLES: [&str; 6] = ["cores", "cache", "coherence", "dram", "pmu", "page"];

/// The platform files that come with the program: name and text.
const BUILTIN: &[(&str, &str)] = &[
    ("xeon-w3530", include_str!("../../../../platforms/xeon-w3530.toml")),
    ("i7-2600", include_str!("../../../../platforms/i7-2600.toml")),
    ("p4080", include_str!("../../../../platforms/p4080.toml")),
    ("core2-q9550", include_str!("../../../../platforms/core2-q9550.toml")),
    ("quickia", include_str!("../../../../platforms/quickia.toml")),
    ("juno", include_str!("../../../../platforms/juno.toml")),
    ("tc2", include_str!("../../../../platforms/tc2.toml")),
    ("opteron-2425", include_str!("../../../../platforms/opteron-2425.toml")),
    ("xeon-e5-2695v3", include_str!("../../../../platforms/xeon-e5-2695v3.toml")),
    ("ideal-8", include_str!("../../../../platforms/ideal-8.toml")),
];

/// The platforms that scenarios can name.
#[derive(Clone, Debug)]
pub struct Platforms {
    known: Vec<(String, Source)>,
}

/// Why a platform can't be had.
pub(crate) enum PlatformProblem {
    /// The file is none, and not one that messages may quote.
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// There is none of that name.
    Unknown {
        /// The name that was probably meant.
        near: Option<String>,
        /// All names.
        names: Vec<String>,
    },
    /// The file can't be read.
    Unreadable { path: PathBuf, reason: String },
    /// The file was read and is wrong.
    Wrong(Diagnostics),
}

impl Platforms {
    /// The platforms that come with the program.
    pub fn builtin() -> Self {
        let known = BUILTIN
            .iter()
            .map(|&(name, text)| (name.to_owned(), Source::new(format!("platforms/{name}.toml"), text)))
            .collect();
        Self { known }
    }

    /// The names that need no path.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|(name, _)| name.as_str())
    }

    /// A platform by its name, or by the path of its file (with a `/` or ending in `.toml`) relative to a
    /// folder.
    ///
    /// # Errors
    /// If there is no such platform, or the file can't be read or is wrong.
    pub fn load(&self, name_or_path: &str, relative_to: &Path) -> Result<Platform, Diagnostics> {
        self.find(name_or_path, relative_to).map_err(|problem| problem.into_report(name_or_path))
    }

    /// Every value of a platform as it stands in its file, in the order of reading; the platform is named as for
    /// [`load`](Self::load).
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn values(&self, name_or_path: &str, relative_to: &Path) -> Result<Vec<SourcedValue>, Diagnostics> {
        let found = self.find_with_values(name_or_path, relative_to);
        found.map(|(_, values)| values).map_err(|problem| problem.into_report(name_or_path))
    }

    /// The platform that a scenario in this folder names. Of a file that is none, and lies elsewhere, nothing is shown.
    pub(crate) fn find(&self, name_or_path: &str, folder: &Path) -> Result<Platform, PlatformProblem> {
        let found = self.find_with_values(name_or_path, folder).map(|(platform, _)| platform);
        found.map_err(|problem| match problem {
            PlatformProblem::Wrong(report) if !may_be_shown(&report, name_or_path, folder, &TABLES) => {
                PlatformProblem::Foreign { path: folder.join(name_or_path) }
            }
            other => other,
        })
    }

    fn find_with_values(
        &self,
        name_or_path: &str,
        relative_to: &Path,
    ) -> Result<(Platform, Vec<SourcedValue>), PlatformProblem> {
        let is_path = name_or_path.contains(['/', '\\']) || name_or_path.ends_with(".toml");
        if is_path {
            let path = relative_to.join(name_or_path);
            let source = read_source(&path)?;
            return read::with_values(&source).map_err(PlatformProblem::Wrong);
        }
        match self.known.iter().find(|(name, _)| name == name_or_path) {
            Some((_, source)) => read::with_values(source).map_err(PlatformProblem::Wrong),
            None => Err(PlatformProblem::Unknown {
                near: nearest(name_or_path, self.names()).map(str::to_owned),
                names: self.names().map(str::to_owned).collect(),
            }),
        }
    }
}

impl PlatformProblem {
    /// The problem where a word of the command line names the file.
    fn into_report(self, name: &str) -> Diagnostics {
        if let Self::Wrong(report) = self {
            return report;
        }
        let source = Source::new("(name)", name);
        self.diagnose(name, &source, 0..name.len()).into()
    }

    /// The problem as seen from the place that names the platform.
    pub(crate) fn diagnose(self, name: &str, source: &Source, span: std::ops::Range<usize>) -> Diagnostic {
        match self {
            Self::Unknown { .. } if name == "host" => Diagnostic::error(
                Code::HostPlatform,
                "the platform `host` is this machine itself, which the simulated machine cannot be",
                source,
                span,
            )
            .label("runs on real hardware only")
            .help("a scenario on `host` needs the Linux or bare-metal machine, which this version does not have; name a platform for the simulated machine, for example xeon-w3530; `solo platforms` lists them"),
            Self::Unknown { near, names } => {
                let label = near.map_or(String::from("no such platform"), |near| format!("did you mean \"{near}\"?"));
                Diagnostic::error(Code::UnknownPlatform, format!("unknown platform \"{name}\""), source, span)
                    .label(label)
                    .expected(format!("one of {}, or the path of a platform file", names.join(", ")))
            }
            Self::Unreadable { path, reason } => Diagnostic::error(
                Code::File,
                format!("cannot read the platform file {}: {reason}", Printable(path.display())),
                source,
                span,
            )
            .label("named here"),
            Self::Foreign { path } => foreign(Code::Platform, "platform file", &path, source, span),
            Self::Wrong(_) => {
                let headline = format!("the platform \"{name}\" cannot be used");
                Diagnostic::error(Code::Platform, headline, source, span)
                    .label("named here")
                    .help("what is wrong with the platform file is said with it")
            }
        }
    }
}

/// Reads a platform from a text, under the file name that messages show.
///
/// # Errors
/// If the text is not a platform file.
pub fn parse_platform(text: &str, name: &str) -> Result<Platform, Diagnostics> {
    read::platform(&Source::new(name, text))
}

fn read_source(path: &Path) -> Result<Source, PlatformProblem> {
    let name = path.display().to_string();
    match solo_store::read::text(path, LARGEST_FILE as u64) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(StoreError::TooLarge { .. }) => {
            let size = std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
            Err(PlatformProblem::Wrong(too_large(&Source::new(name, ""), size, LARGEST_FILE as u64)))
        }
        Err(error) => Err(PlatformProblem::Unreadable { path: path.to_owned(), reason: error.reason() }),
    }
}
