//! `[[phase]]`: what instructions of a program are like while it goes through one of its phases.
//!
//! ```toml
//! [[phase]]
//! name = "stencil"
//! cycles-per-instruction  = { a57 = 0.7, a53 = 1.2 }   # a kind that is left out: as the platform says of it
//! branches-per-1000       = 120
//! mispredicted-per-1000   = 4.5
//! dtlb-misses-per-million = 60
//! accesses-per-1000       = 12                          # to memory: with one of sweep, ring, stream, random, chase
//! random = "8MiB"
//! ```

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, decimal, unknown_key};
use crate::tree::Table;
use solo_model::work::Pattern;
use solo_model::{Bytes, Fixed, PerMille, Phase, Platform};

/// A phase and its name.
pub(crate) struct NamedPhase<'t> {
    pub(crate) name: String,
    pub(crate) phase: Phase,
    pub(crate) accesses: Option<Accesses<'t>>,
}

/// What its instructions do to memory.
pub(crate) struct Accesses<'t> {
    /// How many of a million.
    per_million: u64,
    pub(crate) verb: &'static str,
    pub(crate) pattern: Pattern,
    /// Where size, stride and so on stand.
    pub(crate) table: At<&'t Table>,
}

impl Accesses<'_> {
    /// How many accesses so many instructions make.
    pub(crate) fn of(&self, instructions: u64) -> u64 {
        (u128::from(instructions).saturating_mul(self.per_million.into()) / 1_000_000) as u64
    }
}

/// The ways through memory that a phase can take.
const VERBS: [(&str, Pattern); 5] = [
    ("sweep", Pattern::Sweep),
    ("ring", Pattern::Ring),
    ("stream", Pattern::Stream),
    ("random", Pattern::Random),
    ("chase", Pattern::Chase),
];

/// Reads all phases of a scenario.
pub(crate) fn read<'t>(
    problems: &'t Problems,
    top: &Fields<'t>,
    platform: Option<&Platform>,
) -> Vec<NamedPhase<'t>> {
    let mut phases: Vec<NamedPhase<'t>> = Vec::new();
    let mut places = Vec::new();
    for at in top.tables("phase", "[[phase]]") {
        let fields = Fields::new(problems, at.value, at.span.clone(), "this phase");
        let name = fields.required_string("name", "name = \"stencil\"");
        let phase = one(&fields, platform);
        let accesses = accesses(&fields, &at);
        fields.finish();
        let (Some(name), Some(phase), Ok(accesses)) = (name, phase, accesses) else { continue };
        if let Some(first) = phases.iter().position(|known| known.name == name.value) {
            let headline = format!("two of [[phase]] are named \"{}\"", clip(name.value));
            let first = places.get(first).cloned().unwrap_or_default();
            problems.push(
                problems
                    .error(Code::Duplicate, headline, &name.span)
                    .label("the second")
                    .also(first, "the first"),
            );
            continue;
        }
        phases.push(NamedPhase { name: name.value.to_owned(), phase, accesses });
        places.push(name.span);
    }
    phases
}

/// How often something happens, in millionths of an instruction; `key` says of how many.
fn share(fields: &Fields<'_>, key: &'static str, of: u64) -> Option<u32> {
    let Some(entry) = fields.get(key) else { return Some(0) };
    let found = decimal(fields.problems, &entry.node, key, of)?;
    let millionths = found.value.multiply(Fixed::from(1_000_000_u64.checked_div(of)?))?.whole();
    u32::try_from(millionths).ok()
}

fn one(fields: &Fields<'_>, platform: Option<&Platform>) -> Option<Phase> {
    let millicycles = match fields.table("cycles-per-instruction", "cycles-per-instruction = { big = 0.7 }") {
        Some(table) => cycles(fields, &table, platform),
        None => (!fields.has("cycles-per-instruction")).then(Vec::new),
    };
    let (branches, branch_misses) =
        (share(fields, "branches-per-1000", 1000), share(fields, "mispredicted-per-1000", 1000));
    let [dtlb_misses, itlb_misses] =
        ["dtlb-misses-per-million", "itlb-misses-per-million"].map(|key| share(fields, key, 1_000_000));
    let (branches, branch_misses) = (branches?, branch_misses?);
    if branch_misses > branches {
        fields.problems.push(
            fields
                .problems
                .error(
                    Code::Phase,
                    "more branches are mispredicted than there are",
                    &fields.span_of("mispredicted-per-1000"),
                )
                .label("more than all")
                .expected("at most `branches-per-1000`"),
        );
        return None;
    }
    let (dtlb_misses, itlb_misses) = (dtlb_misses?, itlb_misses?);
    Some(Phase { millicycles: millicycles?, branches, branch_misses, dtlb_misses, itlb_misses })
}

/// Thousandths of a cycle by kind of core.
fn cycles(fields: &Fields<'_>, table: &At<&Table>, platform: Option<&Platform>) -> Option<Vec<u32>> {
    let problems = fields.problems;
    let kinds = &platform?.kinds;
    let mut millicycles = vec![0; kinds.len()];
    let mut whole = true;
    for entry in &table.value.entries {
        let Some(place) = kinds.iter().position(|kind| kind.name == entry.key) else {
            let known: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
            unknown_key(problems, entry, "cycles-per-instruction", &known);
            whole = false;
            continue;
        };
        let most = u64::from(Phase::MILLICYCLES_MAX / 1000);
        let found = decimal(problems, &entry.node, &entry.key, most);
        let thousandths =
            found.and_then(|found| found.value.multiply(Fixed::from(1000_u64))).map(Fixed::whole);
        match (thousandths.and_then(|found| u32::try_from(found).ok()), millicycles.get_mut(place)) {
            (Some(0), _) => {
                problems.push(
                    problems
                        .error(Code::Zero, "an instruction that takes no cycle", &entry.node.span)
                        .label("below a thousandth")
                        .expected(format!("a number from 0.001 to {most}")),
                );
                whole = false;
            }
            (Some(found), Some(place)) => *place = found,
            _ => whole = false,
        }
    }
    whole.then_some(millicycles)
}

/// The accesses of a phase, where it makes some.
fn accesses<'t>(fields: &Fields<'t>, at: &At<&'t Table>) -> Result<Option<Accesses<'t>>, ()> {
    let problems = fields.problems;
    let mut verbs = VERBS.iter().filter(|(verb, _)| fields.has(verb));
    let (verb, second) = (verbs.next(), verbs.next());
    // Read here, so that they count as known and what is wrong with them is said once.
    for (verb, _) in VERBS {
        if fields.has(verb) && fields.positive::<Bytes>(verb).is_none() {
            return Err(());
        }
    }
    let sound = (!fields.has("stride") || fields.positive::<Bytes>("stride").is_some())
        && (!fields.has("writes") || fields.quantity::<PerMille>("writes").is_some())
        && (!fields.has("buffer") || fields.string("buffer").is_some());
    let share = share(fields, "accesses-per-1000", 1000).ok_or(())?;
    let complain = |headline: String, key: &str, help: &str| {
        problems.push(
            problems.error(Code::Phase, headline, &fields.span_of(key)).label("of this phase").help(help),
        );
        Err(())
    };
    match (verb, second, share) {
        _ if !sound => Err(()),
        (Some((first, _)), Some((second, _)), _) => complain(
            format!("a phase that does both `{first}` and `{second}`"),
            second,
            "make two phases of it",
        ),
        (Some((verb, _)), None, 0) => complain(
            format!("`{verb}` without accesses"),
            verb,
            "add a line such as `accesses-per-1000 = 12`",
        ),
        (None, _, 1..) => complain(
            String::from("accesses to no memory"),
            "accesses-per-1000",
            "add one of sweep, ring, stream, random and chase, with a size: `random = \"8MiB\"`",
        ),
        (None, _, 0) => Ok(None),
        (Some(&(verb, pattern)), None, _) => {
            let table = At { value: at.value, span: at.span.clone() };
            Ok(Some(Accesses { per_million: share.into(), verb, pattern, table }))
        }
    }
}
