//! What others' crates may be: their licenses, where they come from, and whether a fault of theirs is known.
//!
//! cargo-deny judges them by `deny.toml`. The list of known faults lies in a repository of its own: where that can't be reached, the
//! other checks are made all the same.

use crate::{beat, cargo};
use anyhow::Result;
use std::process::Stdio;

/// How to get what judges.
pub(crate) const INSTALL: &str = "cargo install --locked cargo-deny --no-default-features";

/// Judges them; the code to exit with.
pub(crate) fn run() -> Result<i32> {
    let held = judge(&mut |reason| println!("skipped: {reason}"))?;
    if held {
        println!("dependencies: every check that was made held");
    }
    Ok(i32::from(!held))
}

/// Whether every check that can be made here held; `skip` hears which can't, and why.
pub(crate) fn judge(skip: &mut dyn FnMut(String)) -> Result<bool> {
    if !says_well(&["deny", "--version"]) {
        skip(format!("licenses, sources and known faults of dependencies: no cargo-deny (`{INSTALL}`)"));
        return Ok(true);
    }
    let mut held = passes(&["licenses", "bans", "sources"]);
    if says_well(&["deny", "fetch", "db"]) {
        held &= passes(&["--disable-fetch", "advisories"]);
    } else {
        skip("known faults of dependencies: the list at github.com/rustsec can't be reached".to_owned());
    }
    Ok(held)
}

/// Makes checks of cargo-deny, which says what it complains about.
fn passes(checks: &[&str]) -> bool {
    let mut deny = cargo(&["deny", "--log-level", "error", "check"]);
    beat::run("judging dependencies", deny.args(checks)).inspect_err(|error| eprintln!("{error:#}")).is_ok()
}

/// Whether cargo takes these words and succeeds; what it says is not for this screen.
fn says_well(words: &[&str]) -> bool {
    let mut command = cargo(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    /// Such licenses reach from a crate to what is linked with it.
    #[test]
    fn no_license_that_asks_for_the_programs_sources_is_allowed() {
        let rules = std::fs::read_to_string(crate::root().join("deny.toml")).expect("deny.toml");
        let allowed = rules.lines().find(|line| line.starts_with("allow = ")).expect("what is allowed");
        assert!(allowed.contains("\"MIT\""), "{allowed}");
        for asking in ["GPL", "MPL", "EUPL", "CDDL", "EPL"] {
            assert!(!allowed.contains(asking), "{asking} is allowed: {allowed}");
        }
    }
}
