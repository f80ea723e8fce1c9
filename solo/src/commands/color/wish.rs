//! Which frames are wanted: the words of the command line, understood.

use crate::cli::ColorArgs;
use crate::commands::platforms::map;
use crate::exit::{Exit, Failure};
use solo_color::{LastLevel, Wish};
use solo_isolate::{Classes, MemoryMap};
use solo_model::text::Printable;
use solo_model::{Bank, Bytes, Color};
use solo_scenario::Platforms;
use std::collections::BTreeSet;
use std::path::Path;

/// What is wanted, and what is to be held against it.
pub(super) struct Chosen {
    pub(super) wish: Wish,
    /// Where the map is from.
    pub(super) source: String,
    pub(super) doubts: Vec<String>,
}

impl Chosen {
    pub(super) fn understand(args: &ColorArgs) -> Result<Self, Failure> {
        let here = LastLevel::of_this_machine(Path::new("/"));
        let mut doubts = Vec::new();
        let (map, source) = match (&args.platform, &args.map) {
            (Some(name), _) => {
                let platform = Platforms::builtin()
                    .load(name, Path::new("."))
                    .map_err(|report| Failure::Scenario(Box::new(report)))?;
                let map = MemoryMap::of(&platform).map_err(|error| wrong(&error))?;
                (map, format!("the platform {}", Printable(&platform.name)))
            }
            (None, Some(path)) => {
                let functions = map::read(path)?;
                (flat(&Classes::new(&functions))?, format!("{}", Printable(path.display())))
            }
            (None, None) => {
                let last = here.ok_or_else(|| Failure::Guard {
                    exit: Exit::Cannot,
                    message: "this machine does not say what caches it has: name its --platform, or a --map"
                        .to_owned(),
                })?;
                doubts.push(
                    "the colors are the bits of the set index above the page; a chip whose cache has slices chosen by a hash \
                     splits them further, evenly or not: --platform or --map say more"
                        .to_owned(),
                );
                let bits = last.color_bits(page());
                (flat(&Classes::new(&bits))?, format!("this machine's level {} of {}", last.level, last.size))
            }
        };
        if here.is_some_and(|last| last.is_a_guest) {
            doubts.push(
                "this is a virtual machine: the frames are its own, and the host may have put them anywhere; where it backs them with \
                 huge pages, the bits below 2 MiB are the chip's"
                    .to_owned(),
            );
        }
        let colors = list(args.colors.as_deref(), "--colors", Color)?;
        let banks = list(args.banks.as_deref(), "--banks", Bank)?;
        let wish = Wish::new(map, colors, banks).map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Self { wish, source, doubts })
    }
}

fn page() -> Bytes {
    Bytes::new(rustix::param::page_size() as u64)
}

fn flat(colors: &Classes) -> Result<MemoryMap, Failure> {
    MemoryMap::new(page(), colors.clone(), Classes::new(&[]), None).map_err(|error| wrong(&error))
}

fn wrong(error: &solo_isolate::map::MapError) -> Failure {
    Failure::Usage(error.to_string())
}

/// Numbers as people list them: `0-3,8`.
fn list<T: Ord>(text: Option<&str>, option: &str, kind: fn(u16) -> T) -> Result<BTreeSet<T>, Failure> {
    let Some(text) = text else { return Ok(BTreeSet::new()) };
    let expected = || {
        let found = Printable(text);
        Failure::Usage(format!("{option}: expected numbers and ranges such as 0-3,8, found `{found}`"))
    };
    let mut all = BTreeSet::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| word.trim().parse::<u16>().map_err(|_| expected());
        let (low, high) = (number(low)?, number(high)?);
        if low > high {
            return Err(expected());
        }
        all.extend((low..=high).map(kind));
    }
    Ok(all)
}
