//! `solo platforms NAME --map`: which pages share cache sets and DRAM banks.

use crate::cli::{MapForm, Platforms as Options};
use crate::commands::addresses::{number, written};
use crate::document::Document;
use crate::exit::Failure;
use crate::output;
use serde::Serialize;
use solo_isolate::map::MapError;
use solo_isolate::{Classes, MemoryMap};
use solo_model::platform::XorBits;
use solo_model::text::Printable;
use solo_model::{Bank, Bytes, Color, Platform};
use solo_scenario::address_map;
use std::fmt::{self, Write};
use std::path::Path;

/// Shows or writes the map of a platform, or that of its caches and the banks of a file.
pub(super) fn show(platform: &Platform, options: &Options) -> Result<(), Failure> {
    let own = MemoryMap::of(platform).map_err(|error| wrong(platform, &error))?;
    let map = match &options.banks {
        None => own.clone(),
        Some(path) => {
            let (banks, split) = Classes::paged(&read(path)?, platform.page);
            MemoryMap::new(platform.page, own.colors().clone(), banks, split)
                .map_err(|error| wrong(platform, &error))?
        }
    };
    if options.form != MapForm::Table {
        let (classes, what) = if options.colors { (map.colors(), "colors") } else { (map.banks(), "banks") };
        if classes.functions().is_empty() {
            let name = &platform.name;
            return Err(Failure::Usage(format!(
                "placement of pages controls no {what} of {name}: nothing to write"
            )));
        }
        return output::text(&written(classes.functions(), options.form)?);
    }
    let mut shown = Shown::new(platform, &map);
    shown.same_banks = options.banks.as_ref().map(|_| own.banks().equivalent(map.banks()));
    for word in &options.address {
        let address = number(word).ok_or_else(|| {
            Failure::Usage(format!(
                "--address {}: expected a number, for example 0x12345000",
                Printable(word)
            ))
        })?;
        let size = platform.dram.size;
        if address >= size.get() {
            return Err(Failure::Usage(format!("--address {word}: {} has {size} of memory", platform.name)));
        }
        shown.places.push(Place::of(&map, address));
    }
    if options.json { output::json(Document::AddressMap, &shown) } else { output::text(&shown.to_string()) }
}

/// A larger file is no map.
const LARGEST_FILE: u64 = 1 << 20;

fn wrong(platform: &Platform, error: &MapError) -> Failure {
    Failure::Usage(format!("{}: {error}", platform.name))
}

/// Functions of address bits from a file.
///
/// # Errors
/// If it can't be read or is no such file.
pub(crate) fn read(path: &Path) -> Result<Vec<XorBits>, Failure> {
    let text = solo_store::read::text(path, LARGEST_FILE)?;
    address_map::parse(&text).map_err(|error| {
        let forms =
            "expected a map.txt (bit numbers, a function a line) or PALLOC's palloc_mask and xor lines";
        Failure::Usage(format!("{}: {error}; {forms}", Printable(path.display())))
    })
}

#[derive(Serialize)]
struct Shown {
    platform: String,
    page_bytes: Bytes,
    colors: u16,
    color_functions: Vec<String>,
    banks: u16,
    bank_functions: Vec<String>,
    /// Functions of bits within a page, which no placement of pages controls.
    within_pages: Vec<String>,
    /// Pairs of color and bank that pages exist of.
    classes: u64,
    /// Where this file's banks are another's: whether both tell the same addresses apart.
    same_banks: Option<bool>,
    /// Banks that the first color has pages in.
    banks_of_color_0: Vec<u16>,
    places: Vec<Place>,
}

#[derive(Serialize)]
struct Place {
    address: String,
    color: u16,
    bank: u16,
}

impl Place {
    fn of(map: &MemoryMap, address: u64) -> Self {
        let frame = address / map.page().get();
        Self { address: format!("{address:#x}"), color: map.color(frame).0, bank: map.bank(frame).0 }
    }
}

fn named(functions: &[XorBits]) -> Vec<String> {
    let bits = |function: &XorBits| {
        let bits = (0..u64::BITS).filter(|bit| function.0 >> bit & 1 == 1);
        bits.map(|bit| bit.to_string()).collect::<Vec<_>>().join("^")
    };
    functions.iter().map(bits).collect()
}

impl Shown {
    fn new(platform: &Platform, map: &MemoryMap) -> Self {
        let of_first = map.banks_of(Color(0));
        Self {
            platform: platform.name.clone(),
            page_bytes: map.page(),
            colors: map.colors().count(),
            color_functions: named(map.colors().functions()),
            banks: map.banks().count(),
            bank_functions: named(map.banks().functions()),
            within_pages: map.split().map(|split| named(&split.functions)).unwrap_or_default(),
            // The functions are linear: every color has pages in equally many banks.
            classes: u64::from(map.colors().count()) * of_first.len() as u64,
            same_banks: None,
            banks_of_color_0: of_first.iter().map(|&Bank(bank)| bank).collect(),
            places: Vec::new(),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |bits: &[String]| if bits.is_empty() { "none".to_owned() } else { bits.join(", ") };
        writeln!(f, "{}, pages of {}\n", self.platform, self.page_bytes)?;
        writeln!(f, "page colors   {:>6}   address bits {}", self.colors, list(&self.color_functions))?;
        writeln!(f, "DRAM banks    {:>6}   address bits {}", self.banks, list(&self.bank_functions))?;
        if !self.within_pages.is_empty() {
            let within = list(&self.within_pages);
            writeln!(
                f,
                "              out of reach of page placement: {within} (every page lies in all of these)"
            )?;
        }
        let all = u64::from(self.colors) * u64::from(self.banks);
        writeln!(f, "both together {:>6}   of {all} pairs of color and bank", self.classes)?;
        if self.classes < all {
            let banks: Vec<String> = self.banks_of_color_0.iter().map(u16::to_string).collect();
            let what = "colors and banks share address bits";
            writeln!(f, "              {what}: color 0 has pages in banks {}", banks.join(", "))?;
        }
        match self.same_banks {
            Some(true) => writeln!(f, "\nthese are the banks of {}'s file", self.platform)?,
            Some(false) => writeln!(f, "\nthese are not the banks of {}'s file", self.platform)?,
            None => {}
        }
        let mut rows = String::new();
        for Place { address, color, bank } in &self.places {
            writeln!(rows, "{address:<18} color {color:>4}, bank {bank:>3}")?;
        }
        if rows.is_empty() { Ok(()) } else { write!(f, "\n{rows}") }
    }
}
