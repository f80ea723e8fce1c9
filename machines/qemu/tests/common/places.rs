//! Where in the sources instructions come from, by the image's tables of lines.

use crate::code::hexadecimal;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A function that an instruction belongs to: its own, or one that it was inlined into.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Frame {
    /// Its name without types and closures; empty where that is all there is.
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// The frames of instructions by their addresses, the innermost first.
pub(crate) type Frames = BTreeMap<u64, Vec<Frame>>;

/// The frames of all instructions of the functions at these addresses; `None` where `objdump` does not tell.
pub(crate) fn frames(image: &Path, wanted: &BTreeSet<u64>) -> Option<Frames> {
    let mut objdump = Command::new("objdump");
    objdump.args(["-d", "-l", "--inlines", "-C", "--no-show-raw-insn"]).arg(image);
    let mut child = objdump.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut reader = Reader { wanted, inside: None, own: Frame::new("", "", 0), above: Vec::new() };
    let mut frames = Frames::new();
    for line in BufReader::new(child.stdout.take()?).split(b'\n') {
        if let Some((at, chain)) = reader.take(&String::from_utf8_lossy(&line.ok()?)) {
            frames.insert(at, chain);
        }
    }
    child.wait().ok()?.success().then_some(frames)
}

struct Reader<'w> {
    wanted: &'w BTreeSet<u64>,
    /// The name of the function whose instructions come, where it is wanted.
    inside: Option<String>,
    /// The innermost frame: told again only where it changes.
    own: Frame,
    /// The frames above it: told for each instruction.
    above: Vec<Frame>,
}

impl Reader<'_> {
    /// Takes a line in; an instruction with its frames where it is one.
    fn take(&mut self, line: &str) -> Option<(u64, Vec<Frame>)> {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <"))
            && let Some(address) = hexadecimal(address)
        {
            self.inside = self.wanted.contains(&address).then(|| name.to_owned());
            (self.own, self.above) = (Frame::new(name, "", 0), Vec::new());
        }
        let name = self.inside.as_ref()?;
        if let Some((at, _)) = line.split_once(":\t").filter(|_| line.starts_with(' ')) {
            let mut chain = vec![self.own.clone()];
            chain.append(&mut self.above);
            // Outermost is the function itself, which tables of lines may call by another name.
            if let Some(outermost) = chain.last_mut() {
                outermost.function = plain(name);
            }
            return Some((hexadecimal(at)?, chain));
        }
        if let Some(above) = line.strip_prefix("inlined by ") {
            let (place, name) = above.split_once(" (")?;
            let (file, number) = place.rsplit_once(':')?;
            self.above.push(Frame::new(name.trim_end_matches(')'), file, number.parse().unwrap_or(0)));
        } else if let Some((file, number)) = line.rsplit_once(':').filter(|_| line.starts_with('/')) {
            let number = number.split(' ').next().and_then(|number| number.parse().ok());
            (self.own.file, self.own.line) = (file.to_owned(), number.unwrap_or(0));
        } else if let Some(name) = line.strip_suffix("():") {
            self.own.function = plain(name);
        }
        None
    }
}

impl Frame {
    fn new(function: &str, file: &str, line: u32) -> Self {
        Self { function: plain(function), file: file.to_owned(), line }
    }
}

/// The name of a function without types, modules and closures: `Queue<K>::settle` and `settle::{closure#0}` are `settle`.
fn plain(name: &str) -> String {
    let name = rustc_demangle::try_demangle(name).map_or(name.to_owned(), |name| format!("{name:#}"));
    let (mut depth, mut outside) = (0_u32, String::new());
    for character in name.replace("->", "").chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(character),
            _ => {}
        }
    }
    let is_closure = |part: &&str| part.is_empty() || part.contains('{');
    outside.rsplit("::").find(|part| !is_closure(part)).unwrap_or("").to_owned()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_function_is_called_by_its_last_name() {
        assert_eq!(plain("solo_schedule::queue::Queue<K>::settle"), "settle");
        assert_eq!(plain("<a::B<C> as core::iter::Iterator>::next"), "next");
        assert_eq!(plain("solo_schedule::places::Places::suits::{{closure}}"), "suits");
        assert_eq!(plain("{closure#0}<a::B, fn(&C) -> bool>"), "");
        assert_eq!(plain("ask<a::Rm, b::M<c::X86>>"), "ask");
    }
}
