//! DRAM devices: a platform's `[dram]` in a file of its own.

use super::sourced::Sourced;
use super::{dram, read, read_source};
use crate::Diagnostic;
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::fields::{Fields, Problems};
use crate::kind::{FileKind, or_other};
use crate::nearest::nearest;
use crate::source::Source;
use crate::tree::{self, Table};
use solo_model::platform::Dram;
use std::path::Path;

/// The devices that come with the program: name and text.
pub const DEVICES: [(&str, &str); 1] =
    [("ddr3-1600k", include_str!("../../../../platforms/dram/ddr3-1600k.toml"))];

/// A device by its name, or by the path of its file (with a `/` or ending in `.toml`).
///
/// # Errors
/// If there is no such device, or the file can't be read or is wrong.
pub fn load_device(name_or_path: &str) -> Result<Dram, Diagnostics> {
    if let Some((name, text)) = DEVICES.iter().find(|(name, _)| *name == name_or_path) {
        return parse_device(text, &format!("platforms/dram/{name}.toml"));
    }
    let named = Source::new("(device name)", name_or_path);
    let all = 0..name_or_path.len();
    if !name_or_path.contains(['/', '\\']) && !name_or_path.ends_with(".toml") {
        let headline = format!("unknown DRAM device \"{name_or_path}\"");
        let names = || DEVICES.iter().map(|(name, _)| *name);
        let label = nearest(name_or_path, names())
            .map_or(String::from("no such device"), |near| format!("did you mean \"{near}\"?"));
        return Err(Diagnostic::error(Code::UnknownDevice, headline, &named, all)
            .label(label)
            .expected(format!(
                "one of {}, or the path of a device file",
                names().collect::<Vec<_>>().join(", ")
            ))
            .into());
    }
    match read_source(Path::new(name_or_path)) {
        Ok(source) => device(&source),
        Err(problem) => Err(problem.into_report(name_or_path)),
    }
}

/// Reads a device from a text, under the file name that messages show.
///
/// # Errors
/// If the text is not a device file.
fn parse_device(text: &str, name: &str) -> Result<Dram, Diagnostics> {
    device(&Source::new(name, text))
}

fn device(source: &Source) -> Result<Dram, Diagnostics> {
    memory(source).map_err(|report| or_other(report, source, &FileKind::Device))
}

fn memory(source: &Source) -> Result<Dram, Diagnostics> {
    let tree = tree::read(source)?;
    let problems = Problems::new(source);
    let top = Fields::new(&problems, &tree, 0..0, "the device");
    let _ = top.required_string("name", "name = \"my-memory\"");
    let none = Table::default();
    let sources = read::section(&top, "sources").map_or(&none, |fields| fields.1);
    let sourced = Sourced::read(&problems, sources);
    let device = read::section(&top, "dram").and_then(|(fields, _)| dram::read(fields, &sourced));
    top.finish();
    let (errors, _) = problems.finish();
    device.filter(|_| errors.is_empty()).ok_or_else(|| Diagnostics::new(errors))
}
