//! What breaks a rule for now, since when and why. An entry that excuses nothing any more is a finding.

use super::Finding;

/// An excuse for all findings of one rule about certain things in one file.
pub(super) struct Exemption {
    pub(super) rule: &'static str,
    pub(super) file: &'static str,
    /// [`Finding::what`], several with a space between them.
    pub(super) what: &'static str,
    /// The day on which it was written, as `YYYY-MM-DD`.
    pub(super) since: &'static str,
    pub(super) why: &'static str,
}

const fn excuse_for(
    rule: &'static str,
    file: &'static str,
    what: &'static str,
    why: &'static str,
) -> Exemption {
    Exemption { rule, file, what, since: "2026-11-22", why }
}

/// All excuses.
pub(super) const LIST: &[Exemption] = &[
    excuse_for(
        "matter",
        "scenarios/recordings/gzip.trace",
        "size",
        "an input of the shipped scenario; `./x recordings` makes it anew",
    ),
    excuse_for(
        "matter",
        "scenarios/recordings/sort.trace",
        "size",
        "an input of the shipped scenario; `./x recordings` makes it anew",
    ),
];

/// The findings that are not excused, and the excuses that nothing needs.
pub(super) fn excuse(found: Vec<Finding>, list: &[Exemption]) -> Vec<Finding> {
    let covers = |exemption: &Exemption, what: &str, finding: &Finding| {
        exemption.rule == finding.rule && exemption.file == finding.file && what == finding.what
    };
    let each =
        || list.iter().flat_map(|exemption| exemption.what.split(' ').map(move |what| (exemption, what)));
    let stale =
        each().filter(|(exemption, what)| !found.iter().any(|finding| covers(exemption, what, finding)));
    let mut left: Vec<Finding> = stale
        .map(|(exemption, what)| Finding {
            file: exemption.file.to_owned(),
            line: 0,
            rule: "stale-exemption",
            what: format!("{}: {what}", exemption.rule),
            text: format!(
                "the exemption of {} ({}) excuses nothing any more: take it out of xtask/src/tidy/exemptions.rs",
                exemption.since, exemption.why
            ),
        })
        .collect();
    let excused = |finding: &Finding| each().any(|(exemption, what)| covers(exemption, what, finding));
    left.extend(found.into_iter().filter(|finding| !excused(finding)));
    left.sort();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(file: &str, what: &str) -> Finding {
        Finding { file: file.into(), line: 3, rule: "words", what: what.into(), text: String::new() }
    }

    #[test]
    fn an_exemption_excuses_its_thing_only_and_goes_stale() {
        let list = [excuse_for("words", "a.rs", "colour licence", "renamed next week")];
        let both = || vec![finding("a.rs", "colour"), finding("a.rs", "licence")];
        assert_eq!(excuse(both(), &list), []);
        let left = excuse([both(), vec![finding("b.rs", "colour")]].concat(), &list);
        assert_eq!(left, [finding("b.rs", "colour")]);
        let left = excuse(vec![finding("a.rs", "licence")], &list);
        assert_eq!(
            (left.len(), left[0].rule, left[0].what.as_str()),
            (1, "stale-exemption", "words: colour")
        );
        assert!(left[0].text.contains("2026-11-22"), "{}", left[0]);
    }
}
