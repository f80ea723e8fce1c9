//! Does the kernel's type information make it refuse sched_ext schedulers?
//!
//! Kernels from 7.0 on pass a hidden `struct bpf_prog_aux *` to many functions that eBPF programs may call. Older
//! versions of pahole fail to take it out of the public prototypes, and then no scheduler's calls match: "func_proto
//! incompatible with vmlinux". Format: the kernel's Documentation/bpf/btf.rst.

use std::collections::HashMap;

/// Why a file is no BTF.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not BTF: damaged at byte {at}")]
pub struct Malformed {
    /// Where reading stopped.
    pub at: usize,
}

const MAGIC: u16 = 0xeb9f;
const PTR: u32 = 2;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const STRUCT: u32 = 4;
const TYPEDEF: u32 = 8;
const RESTRICT: u32 = 11;
const TYPE_TAG: u32 = 18;
/// More qualifiers than any type has.
const QUALIFIERS: usize = 16;

/// What matters of a type.
enum Type {
    Pointer {
        to: u32,
    },
    /// const, volatile, restrict, a type's other name or its tag.
    Qualifier {
        to: u32,
    },
    Struct {
        name: usize,
    },
    Function {
        name: usize,
        prototype: u32,
    },
    Prototype {
        last: Option<u32>,
    },
}

/// The public sched_ext functions whose prototype ends in the hidden argument.
///
/// # Errors
/// The bytes are no BTF of this machine's byte order.
pub fn malformed_kfuncs(bytes: &[u8]) -> Result<Vec<String>, Malformed> {
    let reader = Reader { bytes };
    if reader.half(0)? != MAGIC {
        return Err(Malformed { at: 0 });
    }
    let header = reader.word(4)? as usize;
    let types = header + reader.word(8)? as usize;
    let types_end = types + reader.word(12)? as usize;
    let strings = header + reader.word(16)? as usize;
    let known = reader.types(types, types_end)?;
    let hidden = |prototype: &u32| -> bool {
        let Some(Type::Prototype { last: Some(last) }) = known.get(prototype) else { return false };
        let Some(Type::Pointer { to }) = bare(&known, *last) else { return false };
        matches!(bare(&known, *to), Some(Type::Struct { name }) if reader.text(strings + name) == "bpf_prog_aux")
    };
    let mut bad: Vec<String> = known
        .values()
        .filter_map(|kind| match kind {
            Type::Function { name, prototype } if hidden(prototype) => {
                Some(reader.text(strings + name).to_owned())
            }
            _ => None,
        })
        // Functions ending in _impl are the hidden halves themselves and are meant to have it.
        .filter(|name| name.starts_with("scx_bpf_") && !name.ends_with("_impl"))
        .collect();
    bad.sort();
    bad.dedup();
    Ok(bad)
}

/// A type without its qualifiers; `None` where they go round in circles.
fn bare(known: &HashMap<u32, Type>, mut id: u32) -> Option<&Type> {
    for _ in 0..QUALIFIERS {
        match known.get(&id)? {
            Type::Qualifier { to } => id = *to,
            other => return Some(other),
        }
    }
    None
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn half(&self, at: usize) -> Result<u16, Malformed> {
        let bytes = self.bytes.get(at..at + 2).ok_or(Malformed { at })?;
        Ok(u16::from_ne_bytes([bytes[0], bytes[1]]))
    }

    fn word(&self, at: usize) -> Result<u32, Malformed> {
        let bytes = at.checked_add(4).and_then(|end| self.bytes.get(at..end)).ok_or(Malformed { at })?;
        Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn text(&self, at: usize) -> &str {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..end]).unwrap_or_default()
    }

    /// Reads all types: three words each, then what their kind adds.
    fn types(&self, mut at: usize, end: usize) -> Result<HashMap<u32, Type>, Malformed> {
        let mut known = HashMap::new();
        let mut id = 0;
        while at < end {
            id += 1;
            let (name, info, to) = (self.word(at)? as usize, self.word(at + 4)?, self.word(at + 8)?);
            let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let body = at + 12;
            let kept = match kind {
                PTR => Some(Type::Pointer { to }),
                // Other names, volatile, const and restrict have numbers in a row.
                TYPEDEF..=RESTRICT | TYPE_TAG => Some(Type::Qualifier { to }),
                STRUCT => Some(Type::Struct { name }),
                FUNC => Some(Type::Function { name, prototype: to }),
                FUNC_PROTO => {
                    let last =
                        members.checked_sub(1).map(|last| self.word(body + 8 * last + 4)).transpose()?;
                    Some(Type::Prototype { last })
                }
                _ => None,
            };
            known.extend(kept.map(|kept| (id, kept)));
            at = body + extra(kind, members).ok_or(Malformed { at })?;
        }
        Ok(known)
    }
}

/// The bytes that a kind adds to the three words of every type; `None` for unknown kinds.
const fn extra(kind: u32, members: usize) -> Option<usize> {
    match kind {
        // Pointers, forwards, typedefs, qualifiers, functions, floats, type tags.
        2 | 7..=12 | 16 | 18 => Some(0),
        // Integers, variables, declaration tags.
        1 | 14 | 17 => Some(4),
        // Arrays, and structures, unions, sections and 64-bit enumerators by member.
        3 => Some(12),
        4 | 5 | 15 | 19 => Some(12 * members),
        // Enumerators and parameters.
        6 | 13 => Some(8 * members),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF of a function with one argument that points to a structure of this name.
    pub(crate) fn image(function: &str, structure: &str) -> Vec<u8> {
        described(function, structure, &[[0, PTR << 24, 1]])
    }

    /// The same, where these types lead from the argument to the structure: the last one is the argument's.
    fn described(function: &str, structure: &str, between: &[[u32; 3]]) -> Vec<u8> {
        let strings = format!("\0{structure}\0{function}\0");
        let function_at = structure.len() as u32 + 2;
        let words = [
            [1, STRUCT << 24, 8].as_slice(),
            between.as_flattened(),
            &[0, FUNC_PROTO << 24 | 1, 0, 0, between.len() as u32 + 1],
            &[function_at, FUNC << 24, between.len() as u32 + 2],
        ]
        .concat();
        let types = 4 * words.len() as u32;
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types, types, strings.len() as u32].into_iter().chain(words) {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(strings.bytes());
        bytes
    }

    #[test]
    fn a_hidden_argument_of_a_public_function_is_found() {
        let bad = malformed_kfuncs(&image("scx_bpf_kick_cpu", "bpf_prog_aux")).unwrap();
        assert_eq!(bad, ["scx_bpf_kick_cpu"]);
    }

    /// As in Linux 7.2.12 of Debian's trixie-backports.
    #[test]
    fn a_hidden_argument_is_found_behind_qualifiers() {
        const CONST: u32 = 10;
        let constant = [[0, CONST << 24, 1], [0, PTR << 24, 2]];
        let renamed = [[0, CONST << 24, 1], [0, TYPEDEF << 24, 2], [0, PTR << 24, 3], [0, RESTRICT << 24, 4]];
        for between in [&constant[..], &renamed] {
            let bad = malformed_kfuncs(&described("scx_bpf_kick_cpu", "bpf_prog_aux", between));
            assert_eq!(bad, Ok(vec!["scx_bpf_kick_cpu".to_owned()]));
        }
        let circle = [[0, CONST << 24, 3], [0, CONST << 24, 2], [0, PTR << 24, 2]];
        assert_eq!(malformed_kfuncs(&described("scx_bpf_kick_cpu", "bpf_prog_aux", &circle)), Ok(vec![]));
    }

    #[test]
    fn ordinary_functions_are_left_alone() {
        for (function, structure) in [
            ("scx_bpf_kick_cpu", "task_struct"),
            ("scx_bpf_kick_cpu_impl", "bpf_prog_aux"),
            ("bpf_wq_set_callback", "bpf_prog_aux"),
        ] {
            assert_eq!(malformed_kfuncs(&image(function, structure)), Ok(vec![]), "{function}");
        }
    }

    #[test]
    fn every_truncation_is_refused_or_finds_nothing_more() {
        let whole = image("scx_bpf_kick_cpu", "bpf_prog_aux");
        for length in 0..whole.len() {
            if let Ok(bad) = malformed_kfuncs(&whole[..length]) {
                assert!(bad.len() <= 1);
            }
        }
        assert_eq!(malformed_kfuncs(b"ELF"), Err(Malformed { at: 0 }));
    }
}
