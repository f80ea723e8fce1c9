//! `solo schema`: the JSON Schema of what this program writes.

use crate::cli::Schema;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_report::table;

/// A document as `--json` lists it.
#[derive(Serialize)]
struct Line {
    name: &'static str,
    version: u32,
    written_by: &'static str,
}

/// Prints the schema of a document, or lists the documents.
pub(crate) fn run(options: &Schema) -> Result<Exit, Failure> {
    let line = |of: &Document| Line { name: of.name(), version: of.version(), written_by: of.meaning() };
    let lines: Vec<Line> = Document::ALL.iter().map(line).collect();
    match &options.document {
        Some(name) => {
            let document = Document::ALL.iter().find(|document| document.name() == name);
            let unknown = || Failure::Unknown {
                what: "document",
                found: name.clone(),
                known: lines.iter().map(|line| line.name.to_owned()).collect(),
            };
            output::text(document.ok_or_else(unknown)?.schema())?;
        }
        None if options.json => output::list(Document::Schemas, "documents", &lines)?,
        None => {
            let row = |line: &Line| vec![line.name.into(), line.version.to_string(), line.written_by.into()];
            let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
            let table = table::plain(&["document", "version", "written by"], 3, &rows, output::style());
            output::text(&format!("{table}\nsolo schema DOCUMENT prints its JSON Schema.\n"))?;
        }
    }
    Ok(Exit::Held)
}
