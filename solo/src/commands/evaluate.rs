//! `solo evaluate`: the thesis's evaluations at any size, its numbers beside ours.

mod chapter_6;
mod chapter_7;
mod chapter_8;

use crate::cli::{Evaluate, EvaluateCommon};
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use serde::Serialize;
use solo_lab::evaluation::Size;
use solo_lab::sweep::Part;
use solo_lab::{Control, LabError};
use solo_model::text::{Printable, counted};
use solo_report::table;
use solo_store::TargetFolder;
use std::path::{Path, PathBuf};

/// Runs the points that are not there yet, and shows what all of them come to.
pub(crate) fn run(options: &Evaluate) -> Result<Exit, Failure> {
    match options {
        Evaluate::Chapter6(options) => chapter_6::run(options),
        Evaluate::Chapter7(options) => chapter_7::run(options),
        Evaluate::Chapter8(options) => chapter_8::run(options),
    }
}

/// Points that go on where they were stopped.
struct Points<'e> {
    common: &'e EvaluateCommon,
    chapter: &'static str,
    hash: String,
    count: u64,
}

impl Points<'_> {
    fn folder(&self) -> PathBuf {
        let name = || Path::new("runs").join(format!("evaluate-{}-{}", self.chapter, &self.hash[..8]));
        self.common.out.clone().unwrap_or_else(name)
    }

    /// All points; nothing where only a shard was wanted, which is then done.
    fn run<D: Send>(
        &self,
        work: impl FnOnce(&Path, Part, &Control<'_>) -> Result<Vec<D>, LabError> + Send,
    ) -> Result<Option<Vec<D>>, Failure> {
        let out = self.folder();
        let part = self.common.shard.map_or(Part::WHOLE, |shard| Part { index: shard.index, of: shard.of });
        let bars = Bars::new(self.common.show.quiet);
        let work = || work(&out, part, &control(&bars));
        let done = match rayon::ThreadPoolBuilder::new().num_threads(self.common.threads).build() {
            Ok(pool) => pool.install(work),
            // Without threads of its own the common ones do.
            Err(_) => work(),
        };
        let done = done.map_err(|error| {
            if matches!(error, LabError::Interrupted) {
                eprintln!(
                    "what was done is in {}; the same command goes on from there",
                    Printable(out.display())
                );
            }
            Failure::from(error)
        })?;
        if part == Part::WHOLE {
            return Ok(Some(done));
        }
        if !self.common.show.quiet {
            eprintln!(
                "{} of {} in {}; without --shard, or with --from, they are put together",
                done.len(),
                counted(self.count, "point"),
                Printable(out.display())
            );
        }
        Ok(None)
    }

    /// Writes the rows and shows them.
    fn show<R: Serialize>(
        &self,
        document: Document,
        rows: &[R],
        table: (&[&str], usize, Vec<Vec<String>>),
        doubts: &str,
    ) -> Result<Exit, Failure> {
        let size = self.common.size();
        let text = document.text(&Shown { size, points: self.count, rows })?;
        let file = TargetFolder::at(&self.folder())?.write("evaluation.json", text.as_bytes())?;
        if self.common.show.json {
            output::text(&text)?;
            return Ok(Exit::Held);
        }
        let (header, words, lines) = table;
        let style = output::style();
        let shown = table::plain(header, words, &lines, style) + &table::sentence(doubts, style);
        output::text(&shown)?;
        if !self.common.show.quiet {
            eprintln!("rows in {}", Printable(file.display()));
        }
        Ok(Exit::Held)
    }

    /// How many sets and jobs the rows stand for, and what divides their times.
    fn doubts(&self) -> String {
        let Size { sets, jobs, scale, seed } = self.common.size();
        format!(
            "doubts: {} in each row, --jobs {jobs}, times divided by {scale}, seed {seed}; the thesis has 10 sets, 200 jobs, \
             50 times",
            counted(sets, "set"),
        )
    }
}

/// An evaluation as JSON.
#[derive(Serialize)]
struct Shown<'s, R> {
    size: Size,
    points: u64,
    rows: &'s [R],
}

/// Thousandths as a factor with two decimals.
fn factor(thousandths: u64) -> String {
    format!("{}.{:02}", thousandths / 1000, thousandths % 1000 / 10)
}
