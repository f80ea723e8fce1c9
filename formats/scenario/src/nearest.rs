//! The word that was probably meant.

/// The candidate nearest to `word`, where one is near enough to be a slip of the fingers: at most a third of
/// the letters differ, or one contains the other.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = word.to_lowercase();
    if wanted.is_empty() || wanted.len() > 64 {
        return None;
    }
    let distance = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let contained = wanted.len().min(candidate.len()) >= 3
            && (candidate.contains(wanted.as_str()) || wanted.contains(candidate.as_str()));
        if contained { 1 } else { edits(&wanted, &candidate) }
    };
    let close_enough = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 64)
        .map(|candidate| (distance(candidate), candidate))
        .filter(|&(edits, _)| edits <= close_enough)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// The fewest insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    // Rows of the table of distances between beginnings of both words; what lies outside of it is far away.
    let at = |row: &[usize], index: Option<usize>| {
        index.and_then(|index| row.get(index)).copied().unwrap_or(usize::MAX)
    };
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut row = vec![i.saturating_add(1)];
        for (j, &b) in to.iter().enumerate() {
            let substituted = at(&last, Some(j)).saturating_add(usize::from(a != b));
            let deleted = at(&last, j.checked_add(1)).saturating_add(1);
            let inserted = at(&row, Some(j)).saturating_add(1);
            let before = |word: &[char], index: usize| word.get(index.checked_sub(1)?).copied();
            let swapped = match before(&to, j) == Some(a) && before(&from, i) == Some(b) {
                true => at(&before_last, j.checked_sub(1)).saturating_add(1),
                false => usize::MAX,
            };
            row.push(substituted.min(deleted).min(inserted).min(swapped));
        }
        before_last = last;
        last = row;
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word() {
        let keys = ["period", "deadline", "priority", "core"];
        assert_eq!(nearest("perido", keys), Some("period"));
        assert_eq!(nearest("Period", keys), Some("period"));
        assert_eq!(nearest("cores", keys), Some("core"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn edits_count_a_swap_once() {
        assert_eq!(edits("ab", "ba"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
    }
}
