//! Any text as the name of one file or folder.
//!
//! The names of variants, tasks and figures come from scenario files. As file names they must neither lead elsewhere
//! (`..`, `a/b`, `/etc`), nor be hidden, nor meet another file of the same folder (`manifest.json`), nor two of them
//! be one where capitals do not count.
//!
//! Letters, digits and ` -_.,+=()@` stay as they are, so usual names read as they were written; every other byte
//! becomes `%` and two hexadecimal digits. That can be turned back. A name of more than 255 bytes is cut and ends
//! in a hash of the whole: that alone can't be turned back.

use std::collections::HashSet;
use std::fmt::Write;

/// The most bytes that file systems take as a name.
pub const LONGEST: usize = 255;

/// What temporary names and endings add to a name; [`escape`] leaves room for it.
const ROOM: usize = 48;

/// The name of a text without characters: no escape is `%_`.
const NOTHING: &str = "%_";

/// Files that lie in folders of runs, comparisons, studies and recordings: no part of them may be called so.
const RESERVED: [&str; 22] = [
    "manifest.json",
    "scenario.toml",
    "experiment.json",
    "records.solo",
    "report.json",
    "report.html",
    "comparison.json",
    "curve.json",
    "figures.json",
    "overheads.json",
    "overheads.toml",
    "trace.perfetto",
    "watch.json",
    "rows.jsonl",
    "names.jsonl",
    "journal.jsonl",
    "sets.parquet",
    "summary.json",
    "con",
    "prn",
    "aux",
    "nul",
];

/// The name of a file or folder for any text: never empty, never `.` or `..`, without `/` and control characters, not
/// beginning with a dot, none of the names that Solocore gives its own files, at most 255 bytes with any ending that
/// it adds.
pub fn escape(text: &str) -> String {
    escaped(text, 0)
}

/// Names for several texts in one folder: different texts get different names, also where capitals do not count.
pub fn escape_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut known = HashSet::new();
    let mut names = Vec::new();
    for text in texts {
        // With more of its characters written out, a name differs from any other in the end: the two texts differ.
        let forms = (0..=text.chars().count()).map(|forced| escaped(text, forced));
        let mut forms = forms.skip_while(|name| known.contains(&name.to_lowercase()));
        let name = forms.next().unwrap_or_else(|| escape(text));
        known.insert(name.to_lowercase());
        names.push(name);
    }
    names
}

/// True for a single name that leads nowhere else.
pub fn is_component(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']) && name.len() <= LONGEST
}

fn escaped(text: &str, forced: usize) -> String {
    if text.is_empty() {
        return NOTHING.to_owned();
    }
    let reserved = is_reserved(text);
    let last = text.chars().count().saturating_sub(1);
    let mut name = String::with_capacity(text.len());
    for (at, c) in text.chars().enumerate() {
        let edge = (at == 0 && (c == '.' || c == ' ' || c == '-')) || (at == last && (c == '.' || c == ' '));
        if at < forced || (at == 0 && reserved) || edge || !is_plain(c) {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                // Writing into memory cannot fail.
                let _ = write!(name, "%{byte:02X}");
            }
        } else {
            name.push(c);
        }
    }
    if name.len() > LONGEST - ROOM { cut(&name, text) } else { name }
}

/// Letters and digits of all scripts, and what is harmless to file systems, shells and spreadsheets in between.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | ',' | '+' | '=' | '(' | ')' | '@')
}

fn is_reserved(text: &str) -> bool {
    let lower = text.to_lowercase();
    RESERVED.contains(&lower.as_str())
}

/// As much of the beginning as whole characters fit into `most` bytes.
pub(crate) fn begin(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// The beginning of a long name and a hash of its text.
fn cut(name: &str, text: &str) -> String {
    const KEPT: usize = LONGEST - ROOM - 34;
    let hash = blake3::hash(text.as_bytes()).to_hex();
    // No escape is `%~`: such a name is never taken for one that can be turned back.
    format!("{}%~{}", begin(name, KEPT), begin(&hash, 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text that [`escape`] made a name of; `None` for what it does not make, and for names that were cut.
    fn unescape(name: &str) -> Option<String> {
        if name == NOTHING {
            return Some(String::new());
        }
        let mut bytes = Vec::with_capacity(name.len());
        let mut rest = name;
        while let Some((before, after)) = rest.split_once('%') {
            bytes.extend_from_slice(before.as_bytes());
            let digits = after.get(..2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        }
        bytes.extend_from_slice(rest.as_bytes());
        String::from_utf8(bytes).ok()
    }

    #[test]
    fn usual_names_stay_as_they_are() {
        for name in ["corun", "isolated", "budget 10", "L2 (8 ways)", "größer", "a.b", "x-1_y+z=3"] {
            assert_eq!(escape(name), name);
        }
    }

    #[test]
    fn no_name_leads_elsewhere() {
        for text in ["..", ".", "../x", "/abs", "a/../../b", "\0", "a\0b", "", " ", "...", ".hidden", "-rf"] {
            let name = escape(text);
            assert!(is_component(&name) && !name.starts_with(['.', '-', ' ']), "{text:?} -> {name:?}");
            assert!(!name.contains("/") && !name.ends_with(['.', ' ']), "{text:?} -> {name:?}");
        }
    }

    #[test]
    fn files_of_our_own_are_never_met() {
        for text in ["comparison.json", "report.html", "Scenario.TOML", "manifest.json", "NUL"] {
            assert!(!is_reserved(&escape(text)), "{text}");
            assert_eq!(unescape(&escape(text)).as_deref(), Some(text));
        }
    }

    #[test]
    fn capitals_make_different_names_where_they_do_not_count() {
        let texts = ["solo", "Solo", "SOLO", "%53olo", "sOLO", "soLO"];
        let names = escape_all(texts);
        let lower: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(lower.len(), texts.len(), "{names:?}");
        assert_eq!(names[0], "solo");
        assert!(names.iter().zip(texts).all(|(name, text)| unescape(name).as_deref() == Some(text)));
    }

    #[test]
    fn long_names_fit_and_differ() {
        let (a, b) = ("é/".repeat(300), "é/".repeat(301));
        let (a, b) = (escape(&a), escape(&b));
        assert!(a.len() <= LONGEST - ROOM && b.len() <= LONGEST - ROOM && a != b);
        assert_eq!(unescape(&a), None);
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "\\PC{0,40}|[./%A-Za-z\\x00-\\x1f]{0,12}") {
            let name = escape(&text);
            prop_assert!(is_component(&name) && !is_reserved(&name));
            if !name.contains("%~") {
                prop_assert_eq!(unescape(&name), Some(text));
            }
        }

        #[test]
        fn different_texts_have_different_names(texts in proptest::collection::hash_set("[aAbB.%/0-4]{0,3}", 1..60)) {
            let names = escape_all(texts.iter().map(String::as_str));
            let lower: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
            prop_assert_eq!(lower.len(), texts.len());
        }
    }
}
