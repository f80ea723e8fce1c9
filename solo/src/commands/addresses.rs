//! Addresses and functions of address bits as people and other tools write them.

use crate::cli::MapForm;
use crate::exit::Failure;
use solo_model::platform::XorBits;
use solo_scenario::address_map;

/// A number as people write addresses: hexadecimal behind `0x`, decimal otherwise.
pub(crate) fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Functions in a form that other tools read.
pub(crate) fn written(functions: &[XorBits], form: MapForm) -> Result<String, Failure> {
    match form {
        MapForm::Table | MapForm::Functions => Ok(address_map::print_map(functions)),
        MapForm::Palloc => address_map::print_palloc(functions).ok_or_else(|| {
            Failure::Usage(
                "PALLOC's mask needs a bit of its own for each function, in their order, and these share them; \
                 --as functions writes any"
                    .to_owned(),
            )
        }),
    }
}
