//! What a stream or a recording may say. It comes from another machine or from a file that anybody may have changed, so
//! nothing that it says makes its reader run for years or take all memory: numbers have their ranges, lists their
//! lengths, and texts are made fit to be shown.

use super::{Begin, Message, Name, RowLine};
use crate::watching::Summary;
use solo_model::text::{Printable, is_hidden};
use solo_watch::RowKind;

/// The longest watch: ten years, in nanoseconds.
pub(crate) const TIME_MAX_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;
/// Counted events, virtual counters or metrics.
const COLUMNS_MAX: usize = 1024;
/// Event sets that take turns.
const SETS_MAX: usize = 256;
/// Bytes of a name; paths of cgroups are the longest.
const TEXT_MAX: usize = 4096;

/// What is wrong with a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// A number out of its range.
    #[error("{field}: expected {least} to {most}, found {found}")]
    Range {
        /// Its field.
        field: &'static str,
        /// The least that makes sense.
        least: u64,
        /// The most that makes sense.
        most: u64,
        /// What there is.
        found: u64,
    },
    /// A list that is too long.
    #[error("{field}: expected {most} entries at most, found {found}")]
    Length {
        /// Its field.
        field: &'static str,
        /// The most that makes sense.
        most: usize,
        /// How many there are.
        found: usize,
    },
    /// A name that would not show as itself.
    #[error("{field}: expected a name of 1 to {TEXT_MAX} visible characters, found `{}`", short(found))]
    Name {
        /// Its field.
        field: &'static str,
        /// The name.
        found: String,
    },
    /// A word that is none of the known ones.
    #[error("{field}: no such word as `{}`", short(found))]
    Word {
        /// Its field.
        field: &'static str,
        /// The word.
        found: String,
    },
}

fn short(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    let more = if start.len() < text.len() { "..." } else { "" };
    format!("{}{more}", Printable(&start))
}

/// A text as it may be shown, and no longer than a name.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = Printable(text).to_string();
    let end = (0..=TEXT_MAX.min(shown.len())).rev().find(|end| shown.is_char_boundary(*end));
    shown.truncate(end.unwrap_or(0));
    shown
}

fn range(field: &'static str, found: u64, least: u64, most: u64) -> Result<(), Fault> {
    if (least..=most).contains(&found) { Ok(()) } else { Err(Fault::Range { field, least, most, found }) }
}

fn length(field: &'static str, found: usize, most: usize) -> Result<(), Fault> {
    if found <= most { Ok(()) } else { Err(Fault::Length { field, most, found }) }
}

fn names(field: &'static str, names: &[String]) -> Result<(), Fault> {
    length(field, names.len(), COLUMNS_MAX)?;
    let good = |name: &String| !name.is_empty() && name.len() <= TEXT_MAX && !name.chars().any(is_hidden);
    match names.iter().find(|name| !good(name)) {
        None => Ok(()),
        Some(name) => Err(Fault::Name { field, found: name.clone() }),
    }
}

/// A time since the watch began, or the length of an interval.
pub(crate) fn time(field: &'static str, found: u64) -> Result<(), Fault> {
    range(field, found, 0, TIME_MAX_NS)
}

/// Event sets: how many there are, and how many events in all.
pub(crate) fn sets(sets: &[Vec<impl Sized>]) -> Result<(), Fault> {
    length("sets", sets.len(), SETS_MAX)?;
    length("events of all sets", sets.iter().map(Vec::len).sum(), COLUMNS_MAX)
}

impl Begin {
    /// Refuses columns that nobody can have; makes texts fit to be shown.
    ///
    /// # Errors
    /// What is out of its range.
    pub(crate) fn checked(mut self) -> Result<Self, Fault> {
        names("counts", &self.counts)?;
        names("virtuals", &self.virtuals)?;
        names("metrics", &self.metrics)?;
        sets(&self.sets)?;
        if let Some(period) = self.period_ns {
            range("period_ns", period, 1, TIME_MAX_NS)?;
        }
        for text in [&mut self.host, &mut self.target, &mut self.per, &mut self.version] {
            *text = shown(text);
        }
        Ok(self)
    }

    /// Refuses a row that does not belong to these columns.
    ///
    /// # Errors
    /// What is out of its range.
    pub(crate) fn check_row(&self, row: &RowLine) -> Result<(), Fault> {
        time("at_ns", row.at_ns)?;
        time("span_ns", row.span_ns)?;
        range("set", row.set as u64, 0, (self.sets.len() as u64).saturating_sub(1))?;
        length("counts", row.counts.len(), self.counts.len())?;
        length("virtuals", row.virtuals.len(), self.virtuals.len())?;
        length("metrics", row.metrics.len(), self.metrics.len())?;
        if !RowKind::ALL.iter().any(|kind| kind.name() == row.event) {
            return Err(Fault::Word { field: "event", found: row.event.clone() });
        }
        match (row.subject.as_str(), row.process, row.id) {
            ("thread", Some(_), Some(_)) | ("process", _, Some(_)) | ("machine", ..) => Ok(()),
            ("core", _, Some(core)) => range("id", u64::from(core), 0, u64::from(u16::MAX)),
            _ => Err(Fault::Word { field: "subject", found: row.subject.clone() }),
        }
    }
}

impl Name {
    /// With texts that can be shown.
    pub(crate) fn checked(mut self) -> Self {
        for text in [&mut self.name, &mut self.process_name, &mut self.cgroup] {
            *text = shown(text);
        }
        self
    }
}

/// A message after the first one of a stream, which was `begin`.
///
/// # Errors
/// What is out of its range.
pub(super) fn message(message: Message, begin: &Begin) -> Result<Message, Fault> {
    Ok(match message {
        // A stream begins once.
        Message::Begin(_) => return Err(Fault::Word { field: "message", found: "begin".into() }),
        Message::Name(name) => Message::Name(name.checked()),
        Message::Row(row) => {
            begin.check_row(&row)?;
            Message::Row(row)
        }
        Message::Tick(tick) => {
            time("at_ns", tick.at_ns)?;
            Message::Tick(tick)
        }
        Message::End(summary) => Message::End(summary_checked(summary)?),
        refused @ Message::Refused(_) => refusal(refused),
    })
}

/// A summary that can be shown.
///
/// # Errors
/// What is out of its range.
pub(super) fn summary_checked(summary: Summary) -> Result<Summary, Fault> {
    time("elapsed_ns", summary.elapsed().get())?;
    length("totals", summary.totals(), COLUMNS_MAX)?;
    length("notes", summary.notes(), COLUMNS_MAX)?;
    Ok(summary.checked(shown))
}

/// A refusal that can be shown.
pub(super) fn refusal(message: Message) -> Message {
    match message {
        Message::Refused(mut refused) => {
            refused.message = shown(&refused.message);
            Message::Refused(refused)
        }
        other => other,
    }
}
