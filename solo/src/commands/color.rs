//! `solo color`: an unmodified program in page frames of chosen colors and banks.

mod answer;
mod wish;

use crate::cli::ColorArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::{interrupt, output};
use answer::Answer;
use solo_color::{ColorError, Pool, run as run_colored};
use std::error::Error;
use std::ops::ControlFlow;
use wish::Chosen;

/// Runs `solo color`: 0 where every page was right, 1 where one was not, 2 bad input, 3 this machine cannot; the status of a
/// program that failed.
pub(crate) fn run(args: &ColorArgs) -> Result<Exit, Failure> {
    let chosen = Chosen::understand(args)?;
    if args.dry_run {
        return free(args, &chosen);
    }
    if args.command.is_empty() {
        return Err(Failure::Usage(
            "expected a program: solo color --colors 0-7 -- ./app; or --dry-run to see the colors".to_owned(),
        ));
    }
    let attend = || if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let outcome =
        run_colored(&args.command, chosen.wish.clone(), &attend).map_err(|error| cannot(&error, args))?;
    let answer = Answer::of(&chosen, &outcome);
    if args.show.json {
        // The program's own output comes first and is none of ours.
        output::json(Document::Color, &answer)?;
    } else if !args.show.quiet || !outcome.is_right() {
        output::message(format_args!("{}", answer.text(output::style())));
    }
    Ok(match outcome.ended.code() {
        _ if interrupt::requested() => Exit::Interrupted,
        0 if outcome.is_right() => Exit::Held,
        0 => Exit::NotHeld,
        code => Exit::of_program(code),
    })
}

/// How many frames of each kind are free, by a sample.
fn free(args: &ColorArgs, chosen: &Chosen) -> Result<Exit, Failure> {
    let mut pool = Pool::new(chosen.wish.clone()).map_err(|error| cannot(&error, args))?;
    pool.reserve(1).map_err(|error| cannot(&error, args))?;
    let free = Answer::searched(chosen, pool.share());
    if args.show.json {
        output::json(Document::Color, &free)?;
    } else {
        output::text(&free.text(output::style()))?;
    }
    Ok(Exit::Held)
}

fn cannot(error: &ColorError, args: &ColorArgs) -> Failure {
    let exit = match error {
        ColorError::NoSuchColor { .. }
        | ColorError::NoSuchBank { .. }
        | ColorError::NoSuchFrames
        | ColorError::PageSize { .. }
        | ColorError::NoProgram { .. } => Exit::BadInput,
        _ => Exit::Cannot,
    };
    let mut message = match (error, args.command.first()) {
        (ColorError::NoProgram { .. }, Some(name)) => {
            format!("{} cannot be executed", solo_model::text::Printable(name.display()))
        }
        _ => error.to_string(),
    };
    if let Some(source) = error.source().and_then(|source| source.downcast_ref::<std::io::Error>()) {
        message += &format!(": {}", solo_store::system_reason(source));
    }
    Failure::Guard { exit, message }
}
