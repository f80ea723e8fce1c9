//! `[clocks]`: which of its steps each kind of core runs at.
//!
//! ```toml
//! [clocks]
//! a57 = "450MHz"
//! ```

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields};
use solo_model::{Frequency, KindId, Platform};

/// The platform with these clocks; `None` where one can't be had.
pub(crate) fn with_clocks(top: &Fields<'_>, platform: Option<At<Platform>>) -> Option<At<Platform>> {
    let Some(table) = top.table("clocks", "[clocks]") else {
        return platform.filter(|_| !top.has("clocks"));
    };
    let fields = Fields::new(top.problems, table.value, table.span, "clocks");
    let mut platform = platform?;
    let mut whole = true;
    for entry in fields.entries() {
        let kinds = &platform.value.kinds;
        let Some(kind) = kinds.iter().position(|kind| kind.name == entry.key) else {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
            let headline = format!("a clock for `{}`, and no such core", clip(&entry.key));
            let error = top.problems.error(Code::UnknownName, headline, &entry.key_span);
            let label = error.label("no core is of this kind");
            top.problems.push(label.help(format!("kinds of {}: {}", platform.value.name, names.join(", "))));
            whole = false;
            continue;
        };
        let Some(clock) = fields.positive::<Frequency>(&entry.key) else {
            whole = false;
            continue;
        };
        whole &= set(top, &mut platform.value, kind, &clock);
    }
    whole.then_some(platform)
}

fn set(top: &Fields<'_>, platform: &mut Platform, kind: usize, clock: &At<Frequency>) -> bool {
    if platform.set_clock(KindId(kind as u8), clock.value) {
        return true;
    }
    let Some(of) = platform.kinds.get(kind) else { return false };
    let headline = format!("{} of {} has no step of {}", of.name, platform.name, clock.value);
    let error = top.problems.error(Code::NoClock, headline, &clock.span);
    let steps: Vec<String> = of.steps.iter().map(|step| step.clock.to_string()).collect();
    let help = match steps.is_empty() {
        true => "a platform file says which clocks a kind can have, and their voltages, in [[cores.step]]"
            .to_owned(),
        false => format!("its steps: {}", steps.join(", ")),
    };
    top.problems.push(error.label("not among its clocks").help(help));
    false
}
