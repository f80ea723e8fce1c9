//! `solo measure map`: which address bits choose the DRAM bank, from the times of address pairs.

use super::{pairs, platform_of};
use crate::cli::{MapForm, MeasureMap};
use crate::commands::addresses::written;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_isolate::map::Measured;
use solo_lab::campaign::map::{FoundMap, infer, said, time_pairs};
use solo_model::platform::XorBits;
use solo_model::text::{Printable, counted};
use solo_model::{Bytes, Cycles, Platform};
use solo_scenario::units::SIZE;
use solo_sim::pairs::Pairs;
use std::fmt::{self, Write};

/// Measures or reads times, and solves them; exit code 1 where the platform file says something else.
pub(crate) fn run(options: &MeasureMap) -> Result<Exit, Failure> {
    let platform = options.platform.as_deref().map(|name| platform_of(name, None)).transpose()?;
    let granule = granule(&options.granule)?;
    let times = times(options, platform.as_ref(), granule)?;
    let found = infer(&times, options.threshold.map(Cycles::new), granule, options.seed)
        .map_err(|error| Failure::Usage(format!("{error}; {}", advice(options))))?;
    let shown = Shown::new(options, platform.as_ref(), granule, &found);
    if options.json {
        output::json(Document::BankFunctions, &shown)?;
    } else if options.form == MapForm::Table {
        output::text(&shown.to_string())?;
    } else {
        output::text(&written(&found.found.functions, options.form)?)?;
    }
    Ok(if shown.agrees == Some(false) { Exit::NotHeld } else { Exit::Held })
}

fn granule(text: &str) -> Result<Bytes, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--granule {}: {why}", Printable(text)));
    let size = SIZE.parse(text).map_err(|error| wrong(error.to_string()))?;
    if size.is_power_of_two() {
        Ok(Bytes::new(size))
    } else {
        Err(wrong("expected a power of two".to_owned()))
    }
}

fn times(
    options: &MeasureMap,
    platform: Option<&Platform>,
    granule: Bytes,
) -> Result<Vec<Measured>, Failure> {
    match (&options.timings, platform) {
        (None, Some(platform)) => {
            let (count, repeats) = (options.pairs as usize, options.repeats as usize);
            let times = time_pairs(platform, Pairs { count, repeats, granule, seed: options.seed })?;
            if let Some(path) = &options.save {
                pairs::save(path, &times)?;
            }
            Ok(times)
        }
        (Some(path), _) => pairs::load(path),
        (None, None) => Err(Failure::Usage("name a platform to measure, or --timings FILE".to_owned())),
    }
}

/// What may help where pairs could not be told apart.
fn advice(options: &MeasureMap) -> &'static str {
    if options.timings.is_some() {
        "measure more pairs, each several times, or set --threshold between fast and slow ones"
    } else {
        "ask for more with --pairs or --repeats, or set --threshold between fast and slow ones"
    }
}

#[derive(Serialize)]
struct Shown {
    /// Where the times come from.
    times: String,
    granule_bytes: Bytes,
    pairs: u64,
    threshold_cycles: Cycles,
    fast_pairs: u64,
    fast_mean_cycles: Cycles,
    slow_pairs: u64,
    slow_mean_cycles: Cycles,
    /// Slow pairs whose addresses the functions put into different banks.
    false_conflicts: u64,
    /// Fast pairs that the functions put into one bank.
    missing_conflicts: u64,
    noise_per_mille: u64,
    /// Each as the numbers of its address bits.
    functions: Vec<Vec<u32>>,
    /// The same bank for the same addresses as the platform file says.
    agrees: Option<bool>,
    #[serde(skip)]
    platform: Option<(String, Vec<XorBits>)>,
}

impl Shown {
    fn new(options: &MeasureMap, platform: Option<&Platform>, granule: Bytes, measured: &FoundMap) -> Self {
        let FoundMap { timed, found } = measured;
        let times = match (&options.timings, platform) {
            (Some(path), _) => path.display().to_string(),
            (None, platform) => format!(
                "{}, drawn by seed {}, each timed {}",
                platform.map_or("", |platform| &platform.name),
                options.seed,
                counted(options.repeats, "time")
            ),
        };
        let said = platform.map(|platform| (platform.name.clone(), said(platform, granule)));
        Self {
            times,
            granule_bytes: granule,
            pairs: found.pairs,
            threshold_cycles: timed.threshold,
            fast_pairs: timed.fast.pairs,
            fast_mean_cycles: timed.fast.mean,
            slow_pairs: timed.slow.pairs,
            slow_mean_cycles: timed.slow.mean,
            false_conflicts: found.false_conflicts,
            missing_conflicts: found.missing_conflicts,
            noise_per_mille: found.noise_per_mille(),
            functions: found.functions.iter().map(|function| bits(*function)).collect(),
            agrees: platform.map(|platform| measured.agrees(platform, granule)),
            platform: said,
        }
    }
}

/// The numbers of a function's address bits, the lowest first.
fn bits(function: XorBits) -> Vec<u32> {
    (0..u64::BITS).filter(|bit| function.0 >> bit & 1 == 1).collect()
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {}\n", counted(self.pairs, "pair"), self.times)?;
        writeln!(f, "fast   {:>6} pairs, {} cycles on average", self.fast_pairs, self.fast_mean_cycles)?;
        let slow = self.slow_mean_cycles;
        writeln!(
            f,
            "slow   {:>6} pairs, {slow} cycles on average: above {}",
            self.slow_pairs, self.threshold_cycles
        )?;
        let wrong = self.false_conflicts + self.missing_conflicts;
        writeln!(
            f,
            "noise  {wrong:>6} pairs contradict the functions: {} slow ones of different banks, {} fast ones of one",
            self.false_conflicts, self.missing_conflicts
        )?;
        let mut rows = String::new();
        for function in &self.functions {
            let bits: Vec<String> = function.iter().map(u32::to_string).collect();
            writeln!(rows, "  {}", bits.join(" ^ "))?;
        }
        let count = self.functions.len();
        let banks = 1_u64 << count;
        writeln!(
            f,
            "\n{banks} banks of all channels and ranks, told apart by {count} functions of address bits\n{rows}"
        )?;
        match (&self.platform, self.agrees) {
            (Some((name, _)), Some(true)) => writeln!(f, "{name}'s file says the same"),
            (Some((name, said)), _) => {
                let said: Vec<String> = said
                    .iter()
                    .map(|&function| bits(function).iter().map(u32::to_string).collect::<Vec<_>>().join("^"))
                    .collect();
                writeln!(
                    f,
                    "{name}'s file says otherwise: {}. The times are of another chip, or that file is wrong.",
                    said.join(", ")
                )
            }
            (None, _) => Ok(()),
        }
    }
}
