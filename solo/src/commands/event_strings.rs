//! `solo events --raw`: PMCTrack's event strings with names and raw, one translated into the other for a processor model.

use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_model::text::Printable;
use solo_perf::files::Host;
use solo_perf::mnemonics::{MODELS, MnemonicError, Model, is_raw, to_mnemonics, to_raw};
use solo_perf::resolve::microarchitecture;

/// A string in both forms.
#[derive(Serialize, Debug)]
struct Strings {
    model: &'static str,
    names: String,
    raw: Vec<String>,
}

/// Runs `solo events --raw STRING --model NAME`.
pub(super) fn translate(text: Option<&str>, model: Option<&str>, json: bool) -> Result<Exit, Failure> {
    let known = || MODELS.iter().map(|model| model.name.to_owned()).collect::<Vec<_>>();
    if model == Some("list") {
        output::text(&(known().join("\n") + "\n"))?;
        return Ok(Exit::Held);
    }
    let model = match model {
        Some(name) => Model::find(name).ok_or_else(|| Failure::Unknown {
            what: "processor model",
            found: name.to_owned(),
            known: known(),
        })?,
        None => microarchitecture(&Host::new()).and_then(Model::of).ok_or_else(|| {
            Failure::Usage(format!(
                "PMCTrack has no table for this processor: name one with --model: {}",
                known().join(", ")
            ))
        })?,
    };
    let Some(text) = text else {
        return list(&model);
    };
    let wrong = |error: MnemonicError| Failure::Usage(format!("--raw {}: {error}", Printable(text)));
    let strings = match is_raw(text) {
        true => {
            let names = to_mnemonics(text, &model).map_err(wrong)?;
            Strings { model: model.name, raw: vec![text.to_owned()], names }
        }
        false => {
            let raw = to_raw(text, &model).map_err(wrong)?;
            Strings { model: model.name, raw, names: text.to_owned() }
        }
    };
    if json {
        output::json(Document::EventStrings, &strings)?;
    } else if is_raw(text) {
        output::text(&format!("{}\n", Printable(&strings.names)))?;
    } else {
        output::text(&strings.raw.iter().map(|raw| format!("{}\n", Printable(raw))).collect::<String>())?;
    }
    Ok(Exit::Held)
}

/// The names of a model, each with what it is.
fn list(model: &Model) -> Result<Exit, Failure> {
    let (low, high) = model.range();
    let mut text = format!(
        "{}.{}: {} fixed counters, programmable ones {low} to {high}\n",
        model.family, model.name, model.fixed
    );
    for mnemonic in model.mnemonics() {
        let raw = to_raw(mnemonic.name, model).map_err(|error| Failure::Usage(error.to_string()))?;
        text += &format!("{:<32} {}\n", mnemonic.name, raw.join(" "));
    }
    output::text(&text)?;
    Ok(Exit::Held)
}
