//! What lies behind a verdict: the task, the bound, the terms that dominate, the slack, and the smallest change
//! that would make it hold.

mod mend;
mod terms;

pub use mend::{Mend, mends};
pub use terms::{Detail, Term, Unit, detail};

use crate::catalogue::{Test, find};
use crate::effort::Effort;
use crate::global::any;
use crate::necessary::necessary;
use crate::task::TaskSet;
use crate::verdict::TestAnswer;
use serde_json::{Map, Value, json};

/// So many of the largest terms are told.
const TERMS: usize = 5;

/// Explanations of one set's verdicts as a JSON object:
///
/// * `notes`: for each test that did not accept, the verdict in words;
/// * `gedf_any`: the test that the cascade accepted by;
/// * `infeasible`: the necessary condition that fails, where one does;
/// * `details`: for GFB, RTA and the exact tests of one core, the task, both sides and the largest terms;
/// * `mends`: for a test that did not accept, changes that make it accept, any one of which is enough.
pub fn json(set: &TaskSet, verdicts: &[(&'static Test, TestAnswer)], steps: u64) -> Value {
    let mut explained = Map::new();
    explained.insert("notes".to_owned(), noted(verdicts));
    if verdicts.iter().any(|(test, verdict)| test.id == "gedf_any" && verdict.accepts())
        && let (_, Some(by)) = any::by(set, &mut Effort::steps(steps))
    {
        explained.insert("gedf_any".to_owned(), Value::from(by));
    }
    if let TestAnswer::Infeasible(why) = necessary(set, &mut Effort::steps(steps)) {
        explained.insert("infeasible".to_owned(), Value::from(why.to_string()));
    }
    let mut details = Map::new();
    for (test, _) in verdicts {
        if let Some(detail) = detail(test.id, set, &mut Effort::steps(steps)) {
            details.insert(test.id.to_owned(), detail_json(&detail));
        }
    }
    explained.insert("details".to_owned(), Value::Object(details));
    if let Some((id, found)) = first_mends(set, verdicts, steps) {
        explained.insert("mends".to_owned(), json!({ "test": id, "any_of": found }));
    }
    Value::Object(explained)
}

/// The notes of [`json`] alone: of a set that no arithmetic is made for.
pub(crate) fn notes(verdicts: &[(&'static Test, TestAnswer)]) -> Value {
    json!({ "notes": noted(verdicts) })
}

fn noted(verdicts: &[(&'static Test, TestAnswer)]) -> Value {
    let refused = verdicts.iter().filter(|(_, verdict)| !verdict.accepts());
    let note = |(test, verdict): &(&'static Test, TestAnswer)| {
        (test.id.to_owned(), Value::from(verdict.to_string()))
    };
    Value::Object(refused.map(note).collect())
}

fn detail_json(detail: &Detail) -> Value {
    let terms: Vec<Value> =
        detail.terms.iter().map(|term| json!({ "task": term.task, "amount": term.amount })).collect();
    json!({
        "task": detail.task,
        "unit": detail.unit.name(),
        "needs": detail.needs,
        "has": detail.has,
        "slack": detail.slack(),
        "terms": terms,
    })
}

/// Mends for the cascade where it did not accept. Where it did, its policy needs none, and they are for the
/// first test of another policy that did not accept; without the cascade, for the first test that did not.
fn first_mends(
    set: &TaskSet,
    verdicts: &[(&'static Test, TestAnswer)],
    steps: u64,
) -> Option<(&'static str, Vec<String>)> {
    let failed = |(test, verdict): &&(&'static Test, TestAnswer)| {
        matches!(verdict, TestAnswer::NotProved | TestAnswer::Infeasible(_)) && test.id != "gedf_soft"
    };
    let cascade = verdicts.iter().find(|(test, _)| test.id == "gedf_any");
    let needless = cascade.filter(|(_, verdict)| verdict.accepts()).map(|(test, _)| test.policy);
    let mut rest = verdicts.iter().filter(failed).filter(|(test, _)| Some(test.policy) != needless);
    let (test, _) = cascade.filter(failed).or_else(|| rest.next())?;
    let hint = if test.id == "gedf_any" && set.is_constrained() { "rta" } else { test.id };
    let detail = detail(hint, set, &mut Effort::steps(steps));
    let suspects: Vec<usize> = match &detail {
        Some(detail) => detail.task.into_iter().chain(detail.terms.iter().map(|term| term.task)).collect(),
        None => (0..set.tasks().len().min(TERMS)).collect(),
    };
    let found = mends(find(test.id)?, set, &suspects, &mut Effort::steps(steps));
    Some((test.id, found.iter().map(ToString::to_string).collect()))
}
