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
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in to.iter().enumerate() {
            let substituted = last[j] + usize::from(a != b);
            let mut best = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == to[j - 1] && from[i - 1] == b {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = last;
        last = row;
    }
    last[to.len()]
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
