//! `solo record`: a real program's memory accesses, for use as a task's work.

use crate::cli::Record;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output;
use indicatif::ProgressBar;
use solo_model::text::{Printable, counted};
use solo_trace::{RecordOptions, RecordSummary};

/// Runs the program under valgrind and stores what it does to memory.
pub(crate) fn run(options: &Record) -> Result<Exit, Failure> {
    let spinner = if options.show.quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    let settings = RecordOptions {
        output: options.output.clone(),
        instructions: options.instructions,
        skip: options.skip,
        limit: options.limit,
        stdout: options.stdout.clone(),
        cancel: interrupt::flag(),
    };
    let summary = solo_trace::record(&options.command, &settings, &mut |progress| {
        spinner.set_message(format!(
            "{}, {}",
            counted(progress.references, "access"),
            counted(progress.instructions, "instruction")
        ));
        spinner.tick();
    });
    spinner.finish_and_clear();
    if interrupt::requested() {
        return Err(Failure::Interrupted);
    }
    let summary = summary?;
    if options.show.json {
        output::json(Document::Recorded, &summary)?;
    } else {
        output::text(&describe(&summary))?;
    }
    Ok(Exit::Held)
}

fn describe(summary: &RecordSummary) -> String {
    let header = &summary.header;
    let mut text = format!(
        "{}: {} accesses to {} pages, {} instructions, {} bytes\n",
        Printable(summary.output.display()),
        header.records,
        header.pages,
        header.instructions,
        summary.bytes
    );
    match summary.exit_code {
        None => text.push_str("stopped at the limit\n"),
        Some(0) => {}
        Some(code) => text.push_str(&format!("the program ended with exit code {code}\n")),
    }
    if summary.replaced {
        text.push_str("note: the program ran another one in its place, which is not in the recording\n");
    }
    text
}
