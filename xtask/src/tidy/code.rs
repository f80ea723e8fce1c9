//! Rust sources taken apart into code, comments and texts, line by line.

/// A source in two copies of the same lines: each blanks what the other has.
#[derive(Default, Debug)]
pub(super) struct Split {
    /// The code; comments and what is inside quotes are spaces.
    pub(super) code: String,
    /// The comments, without their slashes; everything else is spaces.
    pub(super) comments: String,
}

/// What the reader is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Code,
    LineComment,
    /// So many levels deep: block comments nest.
    BlockComment(usize),
    Text,
    /// A raw text that ends with a quote and so many `#`.
    RawText(usize),
}

impl Split {
    pub(super) fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut split = Self::default();
        let (mut at, mut state) = (0, In::Code);
        while at < chars.len() {
            let (length, next, shown) =
                step(&chars[at..], at.checked_sub(1).map(|before| chars[before]), state);
            for &char in &chars[at..(at + length).min(chars.len())] {
                let blank = if char == '\n' { '\n' } else { ' ' };
                split.code.push(if shown == Shown::Code { char } else { blank });
                split.comments.push(if shown == Shown::Comment { char } else { blank });
            }
            (at, state) = (at + length, next);
        }
        split
    }
}

/// Where characters go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Code,
    Comment,
    Nowhere,
}

/// How many characters belong together, what follows them, and where they are shown.
fn step(rest: &[char], before: Option<char>, state: In) -> (usize, In, Shown) {
    let begins = |text: [char; 2]| rest.starts_with(&text);
    match state {
        In::LineComment if rest[0] == '\n' => (1, In::Code, Shown::Code),
        In::LineComment => (1, In::LineComment, Shown::Comment),
        In::BlockComment(depth) if begins(['*', '/']) => {
            (2, if depth == 1 { In::Code } else { In::BlockComment(depth - 1) }, Shown::Nowhere)
        }
        In::BlockComment(depth) if begins(['/', '*']) => (2, In::BlockComment(depth + 1), Shown::Nowhere),
        In::BlockComment(_) => (1, state, Shown::Comment),
        In::Text if rest[0] == '\\' => (2, In::Text, Shown::Nowhere),
        In::Text if rest[0] == '"' => (1, In::Code, Shown::Code),
        In::Text => (1, In::Text, Shown::Nowhere),
        In::RawText(hashes)
            if rest[0] == '"' && rest[1..].iter().take_while(|&&c| c == '#').count() >= hashes =>
        {
            (1 + hashes, In::Code, Shown::Code)
        }
        In::RawText(_) => (1, state, Shown::Nowhere),
        In::Code if begins(['/', '/']) => (
            2 + usize::from(rest.get(2).is_some_and(|&c| c == '/' || c == '!')),
            In::LineComment,
            Shown::Nowhere,
        ),
        In::Code if begins(['/', '*']) => (2, In::BlockComment(1), Shown::Nowhere),
        In::Code if rest[0] == '"' => (1, In::Text, Shown::Code),
        In::Code if rest[0] == 'r' && !before.is_some_and(|c| c.is_alphanumeric() || c == '_') => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            match rest.get(1 + hashes) {
                Some('"') => (2 + hashes, In::RawText(hashes), Shown::Code),
                _ => (1, In::Code, Shown::Code),
            }
        }
        // A character in quotes; a lifetime has no second one.
        In::Code if rest[0] == '\'' && rest.get(1) == Some(&'\\') => {
            let end = rest.iter().skip(3).position(|&c| c == '\'').map_or(1, |end| end + 4);
            (end, In::Code, Shown::Nowhere)
        }
        In::Code if rest[0] == '\'' && rest.get(2) == Some(&'\'') => (3, In::Code, Shown::Nowhere),
        In::Code => (1, In::Code, Shown::Code),
    }
}

/// The words of a text: letters, digits and `_`.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_texts_are_told_apart() {
        let text = "let a = \"// no {\"; // yes \"x\"\nlet b = r#\"{\"\"#; /* in /* deep */ still */ let c = '{';\nfn f<'a>(x: &'a str) {}\n";
        let split = Split::of(text);
        assert_eq!(split.code.lines().count(), 3);
        assert_eq!(split.code.matches('{').count(), 1, "{}", split.code);
        assert!(split.code.contains("let b") && split.code.contains("let c") && split.code.contains("<'a>"));
        assert!(split.comments.contains("yes \"x\"") && split.comments.contains("deep"));
        assert!(!split.comments.contains("no {") && !split.code.contains("still"));
        assert_eq!(words("a_b c::d9(e)").collect::<Vec<_>>(), ["a_b", "c", "d9", "e"]);
    }

    #[test]
    fn characters_with_a_backslash_end_where_they_end() {
        let split = Split::of("match c { '\\'' => 1, '\\n' => 2, '\\u{7f}' => 3, '\"' => 4 }");
        assert_eq!(
            (split.code.matches('{').count(), split.code.matches('}').count()),
            (1, 1),
            "{}",
            split.code
        );
        assert!(split.code.contains("4"));
    }
}
