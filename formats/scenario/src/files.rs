//! The files that scenarios name: platforms, overhead tables, recordings.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::fields::{At, Problems};
use crate::foreign::{foreign, may_be_shown};
use crate::model;
use crate::nearest::nearest;
use crate::overheads;
use crate::platform::{PlatformProblem, Platforms};
use crate::source::Source;
use crate::tree::LARGEST_FILE;
use solo_model::estimate::Model;
use solo_model::text::Printable;
use solo_model::work::TraceSource;
use solo_model::{Bytes, OverheadTable, Platform};
use solo_plan::Recording;
use solo_store::StoreError;
use solo_trace::TraceError;
use solo_workload::TraceImage;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recorded program.
struct Recorded {
    recording: Recording,
    image: Arc<TraceImage>,
}

/// The files that scenarios name, each read once.
pub(crate) struct Files<'p> {
    folder: PathBuf,
    platforms: &'p Platforms,
    known_platforms: HashMap<String, Platform>,
    /// By name and platform.
    known_overheads: HashMap<(String, String), OverheadTable>,
    known_traces: HashMap<String, Recorded>,
    broken: HashSet<String>,
    /// The traces of the experiment at hand.
    pub(crate) traces: Vec<TraceSource>,
}

impl<'p> Files<'p> {
    pub(crate) fn new(folder: &Path, platforms: &'p Platforms) -> Self {
        Self {
            folder: folder.to_owned(),
            platforms,
            known_platforms: HashMap::new(),
            known_overheads: HashMap::new(),
            known_traces: HashMap::new(),
            broken: HashSet::new(),
            traces: Vec::new(),
        }
    }

    pub(crate) fn platform(&mut self, problems: &Problems, name: &At<&str>) -> Option<Platform> {
        if let Some(platform) = self.known_platforms.get(name.value) {
            return Some(platform.clone());
        }
        match self.platforms.find(name.value, &self.folder) {
            Ok(platform) => {
                self.known_platforms.insert(name.value.to_owned(), platform.clone());
                Some(platform)
            }
            Err(problem) => {
                if let PlatformProblem::Wrong(report) = &problem {
                    problems.extend(report.problems().iter().cloned());
                }
                problems.push(problem.diagnose(name.value, &problems.source, name.span.clone()));
                None
            }
        }
    }

    /// A built-in overhead table or a file relative to the scenario.
    pub(crate) fn overheads(
        &mut self,
        problems: &Problems,
        name: &At<&str>,
        platform: Option<&Platform>,
    ) -> Option<OverheadTable> {
        let of = platform.map_or(String::new(), |platform| platform.name.clone());
        let known = (name.value.to_owned(), of);
        if let Some(table) = self.known_overheads.get(&known) {
            return Some(table.clone());
        }
        let builtin = overheads::BUILTIN.iter().find(|(known, _)| *known == name.value);
        let read = match builtin {
            Some((name, text)) => {
                overheads::read(&Source::new(format!("platforms/overheads/{name}.toml"), *text), platform)
            }
            None if !name.value.ends_with(".toml") => {
                let names = overheads::BUILTIN.map(|(name, _)| name);
                let label = match nearest(name.value, names) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => String::from("no such table"),
                };
                problems.push(
                    problems
                        .error(
                            Code::Overheads,
                            format!("unknown overheads \"{}\"", clip(name.value)),
                            &name.span,
                        )
                        .label(label)
                        .expected(format!(
                            "one of {}, or the path of a file that ends in .toml",
                            names.join(", ")
                        )),
                );
                return None;
            }
            None => {
                let path = self.folder.join(name.value);
                match solo_store::read::text(&path, LARGEST_FILE as u64) {
                    Ok(text) => overheads::read(&Source::new(path.display().to_string(), text), platform),
                    Err(error) => {
                        problems.push(unreadable(problems, &path, &error, &name.span));
                        return None;
                    }
                }
            }
        };
        match read {
            Ok(table) => {
                self.known_overheads.insert(known, table.clone());
                Some(table)
            }
            Err(report) if may_be_shown(&report, name.value, &self.folder, &overheads::keys()) => {
                problems.extend(report.problems().iter().cloned());
                None
            }
            Err(_) => {
                let path = self.folder.join(name.value);
                let span = name.span.clone();
                problems.push(foreign(Code::Overheads, "overhead file", &path, &problems.source, span));
                None
            }
        }
    }

    /// An estimation model of a platform, in a file relative to the scenario.
    pub(crate) fn model(
        &mut self,
        problems: &Problems,
        name: &At<&str>,
        platform: &Platform,
    ) -> Option<Model> {
        let path = self.folder.join(name.value);
        let text = match solo_store::read::text(&path, LARGEST_FILE as u64) {
            Ok(text) => text,
            Err(error) => {
                problems.push(unreadable(problems, &path, &error, &name.span));
                return None;
            }
        };
        match model::read(&Source::new(path.display().to_string(), text), platform) {
            Ok(model) => Some(model),
            Err(report) if may_be_shown(&report, name.value, &self.folder, &model::KEYS) => {
                problems.extend(report.problems().iter().cloned());
                None
            }
            Err(_) => {
                let span = name.span.clone();
                problems.push(foreign(Code::Model, "model file", &path, &problems.source, span));
                None
            }
        }
    }

    /// The position of a recorded program among the experiment's traces, and the memory it needs.
    pub(crate) fn trace(&mut self, problems: &Problems, file: &At<&str>) -> Option<(u32, Bytes)> {
        if !self.known_traces.contains_key(file.value) {
            let path = self.folder.join(file.value);
            match read_trace(problems, &path, &file.span) {
                Ok(known) => drop(self.known_traces.insert(file.value.to_owned(), known)),
                Err(problem) => {
                    if self.broken.insert(file.value.to_owned()) {
                        problems.push(*problem);
                    }
                    return None;
                }
            }
        }
        let Recorded { recording: Recording { source, .. }, image } = self.known_traces.get(file.value)?;
        let known = self.traces.iter().position(|trace| trace == source);
        let position = known.unwrap_or_else(|| {
            self.traces.push(source.clone());
            self.traces.len().saturating_sub(1)
        });
        Some((position as u32, image.memory()))
    }

    /// The traces of the experiment at hand, and how often each of their pages is accessed.
    pub(crate) fn recordings(&self) -> Vec<Recording> {
        let of = |trace: &TraceSource| {
            let mut known = self.known_traces.values().map(|known| &known.recording);
            known.find(|known| known.source == *trace).cloned()
        };
        self.traces.iter().filter_map(of).collect()
    }

    /// All recordings that were read, in the order of their paths.
    pub(crate) fn into_recordings(self) -> Vec<(TraceSource, Arc<TraceImage>)> {
        let known = self.known_traces.into_values();
        let mut all: Vec<_> = known.map(|known| (known.recording.source, known.image)).collect();
        all.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        all
    }
}

fn unreadable(problems: &Problems, path: &Path, error: &StoreError, span: &Range<usize>) -> Diagnostic {
    problems
        .error(Code::File, format!("cannot read {}: {}", Printable(path.display()), error.reason()), span)
        .label("named here")
}

/// Reads a recording.
fn read_trace(problems: &Problems, path: &Path, span: &Range<usize>) -> Result<Recorded, Box<Diagnostic>> {
    let how = || {
        let path = Printable(path.display());
        format!(
            "a recording is made from a real program, for example:\n  solo record -o {path} -- gzip -6 -c FILE"
        )
    };
    let bytes = solo_store::read::bytes(path, solo_trace::LARGEST_FILE)
        .map_err(|error| Box::new(unreadable(problems, path, &error, span).help(how())))?;
    let broken = |reason: String| {
        let headline = format!("cannot replay {}: {reason}", Printable(path.display()));
        Box::new(problems.error(Code::Trace, headline, span).label("named here").help(how()))
    };
    let (_, image) = solo_trace::decode(&bytes, path).map_err(|error| match error {
        TraceError::NotRecorded { .. } => broken(String::from("it is no recording")),
        error => broken(error.to_string()),
    })?;
    if image.records() == 0 {
        return Err(broken(String::from("it holds no access to memory")));
    }
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let source = TraceSource { path: path.display().to_string(), hash };
    Ok(Recorded { recording: Recording { source, pages: image.accesses_by_page() }, image })
}
