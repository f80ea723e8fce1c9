//! The shortest and the longest times of a scenario.

use crate::code::Code;
use crate::fields::{At, Problems};
use solo_model::Duration;

/// The shortest tick, quantum, period or sample: below it a run would consist of kernel paths.
const SHORTEST: Duration = Duration::from_micros(1);
/// The longest time in a scenario: the simulated machine's clock reaches 213 days.
const LONGEST: Duration = Duration::from_secs(100 * 24 * 3600);

/// A length of time that is not absurdly short.
pub(crate) fn at_least(problems: &Problems, found: Option<At<Duration>>, key: &str) -> Option<At<Duration>> {
    let found = found?;
    if found.value < SHORTEST {
        problems.push(
            problems
                .error(Code::TooShort, format!("`{key}` = {} is too short", found.value), &found.span)
                .label("shorter than a kernel path takes")
                .expected(format!("at least {SHORTEST}")),
        );
        return None;
    }
    Some(found)
}

/// Refuses times that no machine's clock reaches.
pub(crate) fn not_too_long(problems: &Problems, found: At<Duration>, key: &str) -> Option<At<Duration>> {
    if found.value > LONGEST {
        problems.push(
            problems
                .error(Code::TooLong, format!("`{key}` = {} is too long", found.value), &found.span)
                .label("beyond the machine's clock")
                .expected("at most 100 days: \"8640000s\""),
        );
        return None;
    }
    Some(found)
}
