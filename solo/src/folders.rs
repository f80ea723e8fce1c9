//! Folders that commands write into: the one asked for, or a free one under `runs`.

use crate::cli::Keep;
use crate::exit::Failure;
use crate::pages;
use std::path::{Path, PathBuf};

/// One of them lies in every folder that a command has written to its end; the first also where it was stopped before.
const MARKS: [&str; 5] = ["manifest.json", pages::COMPARISON, pages::CURVE, pages::FIGURES, pages::OVERHEADS];

/// The folder to write into for what is called `name`: the one asked for, if it is free or may be replaced; without one
/// the usual one where it may be replaced, else the next free one. `parts` are the runs that will lie in it.
pub(crate) fn prepare(keep: &Keep, name: &str, parts: &[&str]) -> Result<PathBuf, Failure> {
    let usual = Path::new("runs").join(slug(name));
    let dir = match &keep.out {
        Some(dir) => dir.clone(),
        None if keep.force => usual,
        None => return Ok(next_free(&usual)),
    };
    if std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()) {
        if !keep.force {
            return Err(Failure::Occupied(dir));
        }
        remove(&dir, parts)?;
    }
    Ok(dir)
}

/// Removes a folder that a command has written: nothing else is ever deleted.
fn remove(dir: &Path, parts: &[&str]) -> Result<(), Failure> {
    let failed = |source| Failure::File { action: "replace", path: dir.to_path_buf(), source };
    let marked = |dir: &Path| MARKS.iter().any(|mark| dir.join(mark).exists());
    // What a stopped comparison leaves: some of its runs, and no mark of its own.
    let part = |entry: std::fs::DirEntry| {
        parts.iter().any(|part| entry.file_name() == *part) && marked(&entry.path())
    };
    let mut entries = std::fs::read_dir(dir).map_err(failed)?;
    if !marked(dir) && !entries.all(|entry| entry.is_ok_and(part)) {
        return Err(Failure::Foreign(dir.to_path_buf()));
    }
    std::fs::remove_dir_all(dir).map_err(failed)
}

/// A name as a folder's name: lower case, words joined by hyphens.
fn slug(name: &str) -> String {
    let words = name.to_lowercase();
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    if slug.is_empty() { "run".to_owned() } else { slug }
}

fn next_free(base: &Path) -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("{}-{n}", base.display())));
    std::iter::once(base.to_path_buf())
        .chain(numbered)
        .find(|dir| !dir.exists())
        .unwrap_or(base.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_scenario_name_becomes_a_folder_name() {
        assert_eq!(slug("video and screen"), "video-and-screen");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("…"), "run");
    }
}
