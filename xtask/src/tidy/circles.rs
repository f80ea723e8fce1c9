//! Files of a crate that know one another in a circle: what cannot be read one after the other.
//!
//! A file knows another where it names a path into it (`crate::a::b`, `super::c`). A module and the modules below it are one
//! thing that is told in several files, so that arrows from a module to its children don't count; nor does the root.

use super::Finding;
use super::code::words;
use super::tree::{Package, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// A module: its path below the crate's root.
type Module = Vec<String>;

/// Arrows by module.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.packages.iter().flat_map(|package| circles_of(tree, package)).collect()
}

fn circles_of(tree: &Tree, package: &Package) -> Vec<Finding> {
    let source = format!("{}src/", package.folder);
    let in_crate = |name: &str| {
        let path = name.strip_prefix(&source)?.strip_suffix(".rs")?;
        let mut path: Module = path.split('/').map(str::to_owned).collect();
        match path.last().map(String::as_str) {
            Some("mod") => _ = path.pop(),
            Some("lib" | "main") if path.len() == 1 => path.clear(),
            _ => {}
        }
        Some(path)
    };
    let files = tree.files.iter().filter(|file| file.is_product());
    let modules: BTreeMap<Module, &str> =
        files.filter_map(|file| Some((in_crate(&file.name)?, file.product()))).collect();
    let arrows: Arrows = modules
        .iter()
        .filter(|(module, _)| !module.is_empty())
        .map(|(module, code)| (module.clone(), known(module, code, &modules)))
        .collect();
    let name = |module: &Module| module.join("::");
    let rings = rings(&arrows);
    let findings = rings.iter().map(|ring| {
        let names: Vec<String> = ring.iter().map(name).collect();
        Finding {
            file: source.clone(),
            line: 0,
            rule: "circles",
            what: names.join(" "),
            text: format!("{} files know one another in a circle: {}", ring.len(), told(ring, &arrows)),
        }
    });
    findings.collect()
}

/// The arrows within a ring, as `a knows b c`.
fn told(ring: &[Module], arrows: &Arrows) -> String {
    let known = |module: &Module| {
        let inside = arrows.get(module).into_iter().flatten().filter(|other| ring.contains(other));
        let names: Vec<String> = inside.map(|other| other.join("::")).collect();
        format!("{} knows {}", module.join("::"), names.join(" "))
    };
    ring.iter().map(known).collect::<Vec<_>>().join(", ")
}

/// The modules that `code` names, without its own, those below it and the root.
fn known(module: &Module, code: &str, modules: &BTreeMap<Module, &str>) -> BTreeSet<Module> {
    let mut known = BTreeSet::new();
    for path in paths(code) {
        let mut base = match path[0].as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            _ => module[..module.len() - 1].to_vec(),
        };
        let mut rest = &path[1..];
        while rest.first().is_some_and(|part| part == "super") {
            base.pop();
            rest = &rest[1..];
        }
        base.extend_from_slice(rest);
        while !base.is_empty() && !modules.contains_key(&base) {
            base.pop();
        }
        if !base.is_empty() && !base.starts_with(module) {
            known.insert(base);
        }
    }
    known
}

/// Every path of `code` that begins with `crate`, `self` or `super`; each name of a group makes one.
fn paths(code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[at..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
            let path: Module = words(&rest[..end]).map(str::to_owned).collect();
            if rest[end..].starts_with('{') {
                let group = rest[end..].split(';').next().unwrap_or_default();
                let each = words(group).map(|word| [path.as_slice(), &[word.to_owned()]].concat());
                paths.extend(each);
            }
            paths.push(path);
        }
    }
    paths
}

/// The sets of modules that reach one another, each sorted.
fn rings(arrows: &Arrows) -> Vec<Vec<Module>> {
    let reached = |from: &Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for next in arrows.get(module).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&Module, BTreeSet<&Module>> = arrows.keys().map(|from| (from, reached(from))).collect();
    let mut rings = BTreeSet::new();
    for (from, reach) in &all {
        if reach.contains(from) {
            let back = |to: &&&Module| all.get(**to).is_some_and(|reach| reach.contains(from));
            rings.insert(reach.iter().filter(back).map(|module| (*module).clone()).collect::<Vec<_>>());
        }
    }
    rings.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let manifest = ("a/Cargo.toml", "[package]\nname = \"solo-a\"\n");
        let tree = Tree::of(&[&[manifest], files].concat());
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_circle_of_three_is_found_and_not_what_only_leads_to_it() {
        let files = [
            ("a/src/one.rs", "use crate::two::{self, X};\n"),
            ("a/src/two.rs", "fn f() { super::deep::three::g() }\n"),
            ("a/src/deep/three.rs", "use crate::{one, other};\n"),
            ("a/src/outside.rs", "use crate::one::Y;\n"),
            ("a/src/other.rs", "// crate::outside\nconst T: &str = \"crate::one\";\n"),
        ];
        assert_eq!(found(&files), ["deep::three one two"]);
        assert_eq!(found(&files[1..]), Vec::<String>::new());
    }

    #[test]
    fn a_module_and_its_children_are_one_thing() {
        let files = [("a/src/m/mod.rs", "use self::child::X;\n"), ("a/src/m/child.rs", "use super::Y;\n")];
        assert_eq!(found(&files), Vec::<String>::new());
        let tests = [
            ("a/src/b.rs", "#[cfg(test)]\nmod tests {\n use crate::c::X;\n}\n"),
            ("a/src/c.rs", "use crate::b::Y;\n"),
        ];
        assert_eq!(found(&tests), Vec::<String>::new());
    }
}
