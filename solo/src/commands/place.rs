//! `solo place`: a policy that listens, over programs of this Linux.

mod answer;
mod programs;
mod wishes;

use super::guard::minder::{Minder, Silence};
use super::guard::{HELD, cannot, fates, machine, state_folder, while_held};
use crate::cli::PlaceArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::{interrupt, output};
use answer::Answer;
use solo_guard::{Fate, Guard, restore};
use solo_model::text::{Printable, counted};
use solo_observe::Filter;
use solo_perf::files::Host;
use solo_perf::pfm::{Pfm, PfmNames};
use solo_perf::resolve::SysfsNames;
use solo_place::record::{self, Replayed, Writer};
use solo_place::{Options, PlaceError, Placement, Told, place};
use solo_store::Dir;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use wishes::Wishes;

/// Runs `solo place`: 0 where every decision was the policy's and everything was put back, 1 where not, 2 bad input, 3 this machine
/// cannot; the status of a program that failed.
pub(crate) fn run(args: &PlaceArgs) -> Result<Exit, Failure> {
    if args.restore {
        let folder = state_folder(args.state.as_deref(), "solo-place")?;
        let machine = machine()?;
        let left = while_held(HELD, || restore(&folder, machine.clone())).map_err(|error| cannot(&error))?;
        output::text(&fates(&left))?;
        return Ok(if left.is_whole() { Exit::Held } else { Exit::NotHeld });
    }
    match &args.replay {
        Some(file) => replay(file, args.show.json),
        None => placed(args),
    }
}

/// `solo place --replay`.
fn replay(path: &Path, json: bool) -> Result<Exit, Failure> {
    let wrong = |why: String| Failure::Usage(format!("{} {why}", Printable(path.display())));
    let file = solo_store::read::open(path)?;
    let replayed =
        record::replay(BufReader::new(file)).map_err(|error| wrong(Printable(error).to_string()))?;
    if json {
        output::json(Document::PlaceReplay, &answer::Again::of(&replayed))?;
    } else {
        output::text(&told_again(&replayed))?;
    }
    Ok(if replayed.otherwise.is_empty() { Exit::Held } else { Exit::NotHeld })
}

fn told_again(replayed: &Replayed) -> String {
    let Replayed { policy, told, decisions, otherwise, cut_off } = replayed;
    let mut text = format!(
        "{policy}: {} told again, {} in them; {} answered otherwise\n",
        counted(*told, "observation"),
        counted(*decisions, "decision"),
        otherwise.len()
    );
    if let Some(first) = otherwise.first() {
        text += &format!("the first one is on line {first}\n");
    }
    if *cut_off {
        text += "doubt: the last line is cut off: whoever wrote it was ended\n";
    }
    text
}

fn failed(error: &PlaceError) -> Failure {
    let exit = match error {
        PlaceError::Monitor(_)
        | PlaceError::Event { .. }
        | PlaceError::NoProcess(_)
        | PlaceError::Twice { .. }
        | PlaceError::NoCore { .. }
        | PlaceError::Execute { .. }
        | PlaceError::Record(_) => Exit::BadInput,
        _ => Exit::Cannot,
    };
    Failure::Guard { exit, message: Printable(error).to_string() }
}

/// `solo place [SCENARIO] --program ...`.
fn placed(args: &PlaceArgs) -> Result<Exit, Failure> {
    let host = Host::new();
    let wishes = Wishes::understand(args, &host)?;
    if args.dry_run {
        output::text(&wishes.dry(&machine()?, &host))?;
        return Ok(Exit::Held);
    }
    let folder = state_folder(args.state.as_deref(), "solo-place")?;
    let machine = machine()?;
    let started = while_held(HELD, || Guard::start(&folder, machine.clone()));
    let (guard, left) = started.map_err(|error| cannot(&error))?;
    if !left.settings.is_empty() && !args.show.quiet {
        eprint!("{}", fates(&left));
    }
    let mut record = args.record.as_deref().map(|path| begin(path, &wishes)).transpose()?;
    let names = PfmNames { first: SysfsNames(&host), pfm: Pfm::get().ok(), files: &host };
    let placement = Placement {
        placing: &wishes.placing,
        subjects: wishes.subjects.clone(),
        names: &names,
        files: &host,
    };
    let mut told = |told: Told<'_>| match told {
        Told::Placed if args.show.quiet => Ok(()),
        Told::Placed => {
            eprintln!("{} placed: {}", counted(wishes.placing.tasks.len(), "task"), wishes.about());
            Ok(())
        }
        Told::Decided(seen, decided) => record.as_mut().map_or(Ok(()), |record| record.add(seen, decided)),
    };
    let filter = if args.user { Filter::USER } else { Filter::ALL };
    let options = Options { time: wishes.time, filter, stop: &interrupt::flag(), told: &mut told };
    // Before anything is moved or held: a program that is frozen can't help itself.
    let minder = Minder::start(&folder, Silence::Waited)?;
    let ended = place(placement, guard, options);
    minder.end();
    let ended = ended.map_err(|error| failed(&error))?;
    let answer = Answer::of(&wishes, &ended);
    if args.show.json {
        output::json(Document::Place, &answer)?;
    } else {
        let mut text = answer.text(output::style());
        if ended
            .restored
            .settings
            .iter()
            .any(|(_, fate)| matches!(fate, Fate::Theirs { .. } | Fate::Failed { .. }))
        {
            text += &fates(&ended.restored);
        }
        output::text(&text)?;
    }
    Ok(match ended.statuses.iter().flatten().find(|status| **status != 0) {
        Some(status) => Exit::of_program(*status),
        None if interrupt::requested() => Exit::Interrupted,
        None if answer.held => Exit::Held,
        None => Exit::NotHeld,
    })
}

/// A record grows line by line, so that what is there after a crash is whole but for its last line.
fn begin(path: &Path, wishes: &Wishes) -> Result<Writer<File>, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |source| Failure::File { action: "write", path: path.to_owned(), source };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = Dir::open(folder)?.grow(&name)?;
    if file.metadata().map_err(failed)?.len() > 0 {
        return Err(Failure::Usage(format!(
            "--record: {} already holds something; choose another file",
            Printable(path.display())
        )));
    }
    Writer::begin(file, &wishes.placing).map_err(failed)
}
