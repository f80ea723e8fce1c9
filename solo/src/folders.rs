//! Folders that commands write into: the one asked for, or a free one under `runs`.

use crate::cli::Keep;
use crate::exit::Failure;
use solo_store::{Dir, Folder, Kind, Replace, StoreError, name};
use std::io::ErrorKind;
use std::path::Path;

/// Where folders lie that nobody has named.
pub(crate) const RUNS: &str = "runs";

/// Longer names are cut in the names of folders.
const LONGEST: usize = 80;

/// Takes the folder to write into for what is called `name`: the one asked for, if it is free or may be replaced;
/// without one the usual one where it may be replaced, else the next free one.
pub(crate) fn prepare(keep: &Keep, name: &str, kind: Kind) -> Result<Folder, Failure> {
    let replace = if keep.force { Replace::Ours } else { Replace::Never };
    if let Some(dir) = &keep.out {
        return Folder::claim(dir, kind, replace).map_err(Failure::from);
    }
    let (runs, slug) = (Dir::make(Path::new(RUNS))?, slug(name));
    if keep.force {
        return Folder::claim_below(&runs, &slug, kind, replace).map_err(Failure::from);
    }
    let mut number = 1_u64;
    loop {
        let name = if number == 1 { slug.clone() } else { format!("{slug}-{number}") };
        match Folder::claim_below(&runs, &name, kind, replace) {
            Err(error) if is_taken(&error) => number += 1,
            other => return other.map_err(Failure::from),
        }
    }
}

/// True where somebody else has the name: a folder with something in it, one in use, a file, a link.
fn is_taken(error: &StoreError) -> bool {
    match error {
        StoreError::Occupied { .. } | StoreError::Busy { .. } | StoreError::Foreign { .. } => true,
        StoreError::Io { source, .. } => source.kind() == ErrorKind::NotADirectory,
        _ => false,
    }
}

/// A name as a folder's name: lower case, words joined by hyphens.
fn slug(name: &str) -> String {
    let words = name.to_lowercase();
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-");
    slug.truncate(LONGEST);
    if slug.is_empty() { "run".to_owned() } else { name::escape(&slug) }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_scenario_name_becomes_a_folder_name() {
        assert_eq!(slug("video and screen"), "video-and-screen");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("…"), "run");
        assert!(slug(&"long ".repeat(100)).len() <= 100);
    }
}
