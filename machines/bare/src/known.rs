//! The criteria that an image knows: all of them, or those that were named when it was built. The kernel's code is in an image once for each.

use solo_model::Criterion;

/// `SOLO_CRITERIA` when it was built: names of criteria with commas between. The empty text is all, as nothing is.
const NAMED: Option<&str> = option_env!("SOLO_CRITERIA");

/// Who mistypes a name gets no image.
const _: () = assert!(are_criteria(NAMED), "SOLO_CRITERIA names something else than criteria: RM,EDF");

/// True where the image runs under the criterion of that name.
#[cfg(not(test))] // its user is not there either
pub(crate) const fn knows(name: &str) -> bool {
    is_among(name, NAMED)
}

/// What this image knows, for messages; nothing where that is all.
#[cfg(not(test))]
pub(crate) const fn named() -> Option<&'static str> {
    NAMED
}

const fn is_among(name: &str, named: Option<&str>) -> bool {
    match named {
        None => true,
        Some(named) => {
            let (mut at, mut found) = (0, named.is_empty());
            while at <= named.len() {
                let end = word_end(named, at);
                found |= is_equal(named, (at, end), name);
                at = end + 1;
            }
            found
        }
    }
}

const fn are_criteria(named: Option<&str>) -> bool {
    let Some(named) = named else { return true };
    let (mut at, mut all) = (0, true);
    while at <= named.len() && !named.is_empty() {
        let end = word_end(named, at);
        let (mut index, mut found) = (0, false);
        while index < Criterion::ALL.len() {
            found |= is_equal(named, (at, end), Criterion::ALL[index].name());
            index += 1;
        }
        all &= found;
        at = end + 1;
    }
    all
}

/// Where the word ends that begins at a byte.
const fn word_end(text: &str, mut at: usize) -> usize {
    let text = text.as_bytes();
    while at < text.len() && text[at] != b',' {
        at += 1;
    }
    at
}

const fn is_equal(text: &str, (begin, end): (usize, usize), word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let mut equal = end - begin == word.len();
    let mut at = 0;
    while equal && at < word.len() {
        equal = text[begin + at] == word[at];
        at += 1;
    }
    equal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_known_and_nothing_else() {
        for named in [None, Some("")] {
            assert!(Criterion::ALL.iter().all(|criterion| is_among(criterion.name(), named)));
            assert!(are_criteria(named));
        }
        assert!(is_among("EDF", Some("EDF")) && !is_among("RM", Some("EDF")));
        assert!(is_among("RM", Some("EDF,RM,FP")) && is_among("FP", Some("EDF,RM,FP")));
        assert!(!is_among("E", Some("EDF,RM")) && !is_among("DF", Some("EDF")) && !is_among("", Some("EDF")));
        assert!(!is_among("EDF,RM", Some("EDF,RM")));
    }

    #[test]
    fn names_that_no_criterion_has_are_found() {
        let all: alloc::vec::Vec<&str> = Criterion::ALL.iter().map(|criterion| criterion.name()).collect();
        assert!(are_criteria(Some(&all.join(","))) && are_criteria(Some("LLF")));
        for wrong in ["edf", "EDF,", ",EDF", "EDF RM", "EDF,,RM", "XYZ", ",", " "] {
            assert!(!are_criteria(Some(wrong)), "{wrong:?}");
        }
    }
}
