//! Changing settings, and putting them back.

use crate::actuator::Actuator;
use crate::error::GuardError;
use crate::journal::{Change, Journal, Line, Past, is_value};
use crate::restored::{Fate, Restored};
use crate::seen::Identity;
use crate::setting::Setting;
use std::path::Path;

/// A setting that a guard has changed or is about to change.
#[derive(Debug)]
struct Held {
    setting: Setting,
    identity: Identity,
    /// What it said before the guard.
    found: String,
    /// What the guard has written, or was about to.
    ours: Vec<String>,
}

/// Changes settings and puts them back: at [`Guard::undo`], when it is dropped, or where another one starts on its journal.
#[derive(Debug)]
pub struct Guard<A: Actuator> {
    actuator: A,
    journal: Journal,
    held: Vec<Held>,
    /// Nothing is left to put back.
    done: bool,
}

impl<A: Actuator> Guard<A> {
    /// Takes the journal in `folder`, which is made where there is none and which nobody but its owner may write into; what
    /// an earlier guard has left there is put back first.
    ///
    /// # Errors
    /// [`GuardError::Busy`], [`GuardError::Journal`]; [`GuardError::Damaged`] and [`GuardError::NotRestored`], which leave
    /// the journal as it is.
    pub fn start(folder: &Path, mut actuator: A) -> Result<(Self, Restored), GuardError> {
        let (mut journal, past) = Journal::open(folder)?;
        let boot = actuator.boot().map_err(GuardError::Journal)?;
        let restored = put_back_past(&mut actuator, &journal, past, &boot)?;
        journal.begin(&boot)?;
        Ok((Self { actuator, journal, held: Vec::new(), done: false }, restored))
    }

    /// Sets `setting` to `value`. Where this guard has not yet written this value there, it is in the journal, on disk,
    /// before.
    ///
    /// # Errors
    /// [`GuardError::Contested`] where somebody else has changed it since; [`GuardError::Refused`], [`GuardError::Journal`],
    /// [`GuardError::Full`], [`GuardError::Value`]. After each of them the setting is as it was.
    pub fn change(&mut self, setting: &Setting, value: &str) -> Result<(), GuardError> {
        let refused = |source| GuardError::Refused { setting: setting.clone(), source };
        if !is_value(value) {
            return Err(GuardError::Value { setting: setting.clone() });
        }
        let seen = self.actuator.look(setting).map_err(refused)?;
        if !is_value(&seen.value) {
            return Err(GuardError::Value { setting: setting.clone() });
        }
        let held = self.held.iter().find(|held| held.setting == *setting && held.identity == seen.identity);
        if held.is_some_and(|held| !held.is_ours(&seen.value) && !setting.says(&seen.value, &held.found)) {
            return Err(GuardError::Contested { setting: setting.clone(), found: seen.value });
        }
        if setting.says(&seen.value, value) {
            return Ok(());
        }
        if !held.is_some_and(|held| held.ours.iter().any(|ours| ours == value)) {
            let found = held.map_or(&seen.value, |held| &held.found).clone();
            self.note(Change {
                setting: setting.clone(),
                identity: seen.identity,
                found,
                wanted: value.to_owned(),
            })?;
        }
        self.actuator.set(setting, value).map_err(refused)?;
        self.note_answer(setting, value, &seen.value)
    }

    /// Writes into the journal, on disk, that `setting` will say each of these values now and then. Whoever has promised that sets it
    /// without asking again: it is put back like what was [changed](Self::change).
    ///
    /// # Errors
    /// As [`Self::change`]; then nothing may be set.
    pub fn promise(&mut self, setting: &Setting, values: &[&str]) -> Result<(), GuardError> {
        let refused = |source| GuardError::Refused { setting: setting.clone(), source };
        let seen = self.actuator.look(setting).map_err(refused)?;
        if !values.iter().copied().chain([seen.value.as_str()]).all(is_value) {
            return Err(GuardError::Value { setting: setting.clone() });
        }
        for value in values {
            let (setting, wanted) = (setting.clone(), (*value).to_owned());
            self.note(Change { setting, identity: seen.identity, found: seen.value.clone(), wanted })?;
        }
        Ok(())
    }

    /// The kernel may say what was written in its own words: they are ours, too. What cannot be noted does not stay.
    fn note_answer(&mut self, setting: &Setting, value: &str, before: &str) -> Result<(), GuardError> {
        let noted = match self.actuator.look(setting) {
            Ok(seen) => self.note_words(setting, value, seen.value),
            // It went the moment it was set: there is nothing to put back.
            Err(error) if is_gone(&error) => return Ok(()),
            Err(source) => Err(GuardError::Refused { setting: setting.clone(), source }),
        };
        noted.inspect_err(|_| {
            // Where even this fails, the journal still names what was written.
            let _ = self.actuator.set(setting, before);
        })
    }

    fn note_words(&mut self, setting: &Setting, value: &str, said: String) -> Result<(), GuardError> {
        let Some(held) = self.held.iter().find(|held| held.setting == *setting) else { return Ok(()) };
        if setting.says(&said, value) || held.is_ours(&said) {
            return Ok(());
        }
        let (identity, found) = (held.identity, held.found.clone());
        self.note(Change { setting: setting.clone(), identity, found, wanted: said })
    }

    /// Lets what came out of a setting since go along: heirs that say another value of this guard, or what was found, say `value`
    /// then. They need no line in the journal, for they are put back with the setting. Returns how many say something else.
    pub fn lead(&mut self, setting: &Setting, value: &str) -> usize {
        let Some(held) = self.held.iter().find(|held| held.setting == *setting) else { return 0 };
        let mut others = 0;
        for heir in self.actuator.heirs(setting) {
            let Ok(seen) = self.actuator.look(&heir) else { continue };
            let known = self.held.iter().any(|held| held.setting == heir);
            if known || setting.says(&seen.value, value) {
                continue;
            }
            let ours = held.is_ours(&seen.value) || setting.says(&seen.value, &held.found);
            others += usize::from(!ours || self.actuator.set(&heir, value).is_err());
        }
        others
    }

    /// The machine that is changed.
    pub fn machine(&self) -> &A {
        &self.actuator
    }

    /// Writes a change into the journal, and remembers it.
    fn note(&mut self, change: Change) -> Result<(), GuardError> {
        let line = Line::Change(change);
        self.journal.write(&line)?;
        if let Line::Change(change) = line {
            hold(&mut self.held, change);
        }
        Ok(())
    }

    /// Puts back everything.
    pub fn undo(mut self) -> Restored {
        self.put_back()
    }

    fn put_back(&mut self) -> Restored {
        self.done = true;
        let restored = put_back(&mut self.actuator, &self.held);
        if restored.is_whole() {
            // A journal that can't be emptied is read again at the next start, which finds everything as it was.
            let _ = self.journal.clear();
        }
        restored
    }
}

impl<A: Actuator> Drop for Guard<A> {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.put_back();
        }
    }
}

/// Puts back what an earlier guard has left, and does nothing else.
///
/// # Errors
/// As [`Guard::start`].
pub fn restore<A: Actuator>(folder: &Path, actuator: A) -> Result<Restored, GuardError> {
    restore_and(folder, actuator, || {})
}

/// The same, and first, while no other guard can be at work in this folder, `also`: what a guard leaves beside its settings.
///
/// # Errors
/// As [`Guard::start`]. Where the journal can't be opened or is held, `also` is not done.
pub fn restore_and<A: Actuator>(
    folder: &Path,
    mut actuator: A,
    also: impl FnOnce(),
) -> Result<Restored, GuardError> {
    let (mut journal, past) = Journal::open(folder)?;
    also();
    let boot = actuator.boot().map_err(GuardError::Journal)?;
    let restored = put_back_past(&mut actuator, &journal, past, &boot)?;
    journal.clear()?;
    Ok(restored)
}

fn put_back_past<A: Actuator>(
    actuator: &mut A,
    journal: &Journal,
    past: Past,
    boot: &str,
) -> Result<Restored, GuardError> {
    if past.boot.as_deref().is_some_and(|past| past != boot) {
        return Ok(Restored { earlier_boot: true, ..Restored::default() });
    }
    let mut held = Vec::new();
    past.changes.into_iter().for_each(|change| hold(&mut held, change));
    let restored = put_back(actuator, &held);
    match past.damaged {
        Some(line) => Err(GuardError::Damaged { path: journal.path().to_owned(), line, restored }),
        None if restored.is_whole() => Ok(restored),
        None => Err(GuardError::NotRestored(restored)),
    }
}

/// Takes a change into what is held: one entry a setting, with what it said before the first.
fn hold(held: &mut Vec<Held>, change: Change) {
    let Change { setting, identity, found, wanted } = change;
    match held.iter_mut().find(|held| held.setting == setting) {
        Some(held) if held.identity == identity => held.ours.push(wanted),
        // It was made anew since.
        Some(held) => *held = Held { setting, identity, found, ours: vec![wanted] },
        None => held.push(Held { setting, identity, found, ours: vec![wanted] }),
    }
}

/// How often heirs are looked for again: who is put back may have given birth meanwhile.
const GENERATIONS: usize = 8;

/// The last changed first, told with the first changed first.
fn put_back<A: Actuator>(actuator: &mut A, all: &[Held]) -> Restored {
    let one = |held: &Held| {
        let fate = match held.goes_with_its_group(all) {
            true => Fate::Gone,
            false => held.put_back(actuator),
        };
        let heirs = held.put_back_heirs(actuator, all);
        (held.setting.clone(), heirs.unwrap_or(fate))
    };
    let mut settings: Vec<_> = all.iter().rev().map(one).collect();
    settings.reverse();
    Restored { settings, earlier_boot: false }
}

impl Held {
    /// Puts back what inherited from this setting and still says so; says where that failed.
    fn put_back_heirs<A: Actuator>(&self, actuator: &mut A, all: &[Self]) -> Option<Fate> {
        for _ in 0..GENERATIONS {
            let mut heirs = actuator.heirs(&self.setting);
            heirs.retain(|heir| all.iter().all(|held| held.setting != *heir));
            let looked = heirs.into_iter().filter_map(|heir| Some((actuator.look(&heir).ok()?, heir)));
            let ours: Vec<Setting> = looked
                .filter(|(seen, _)| self.is_ours(&seen.value) && !self.setting.says(&seen.value, &self.found))
                .map(|(_, heir)| heir)
                .collect();
            if ours.is_empty() {
                return None;
            }
            for heir in ours {
                match actuator.set(&heir, &self.found) {
                    Err(error) if !is_gone(&error) => {
                        return Some(Fate::Failed { reason: format!("{heir}: {}", error.reason()) });
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// True for the bandwidth of a group of resctrl that was made: it goes with the group. Nothing is written back before, for kernels
    /// before Linux 6.13 round what a new group has (4294967295) up to whole steps, and come to 4.
    fn goes_with_its_group(&self, all: &[Self]) -> bool {
        let Setting::Schemata { group } = &self.setting else { return false };
        let made =
            |held: &Self| matches!(&held.setting, Setting::CacheFolder { group: made } if made == group);
        let is_new = all.iter().any(|held| made(held) && held.found == Setting::ABSENT);
        let mut written = self.ours.iter().flat_map(|ours| ours.lines());
        is_new && written.any(|line| line.trim_start().starts_with("MB:"))
    }

    fn is_ours(&self, value: &str) -> bool {
        self.ours.iter().any(|ours| self.setting.says(value, ours))
    }

    fn put_back<A: Actuator>(&self, actuator: &mut A) -> Fate {
        let failed = |error: solo_store::StoreError| match is_gone(&error) {
            true => Fate::Gone,
            false => Fate::Failed { reason: error.reason() },
        };
        let seen = match actuator.look(&self.setting) {
            Ok(seen) if seen.identity != self.identity => return Fate::Gone,
            Ok(seen) => seen,
            Err(error) => return failed(error),
        };
        if self.setting.says(&seen.value, &self.found) {
            return Fate::AsFound;
        }
        if !self.is_ours(&seen.value) {
            return Fate::Theirs { found: seen.value, before: self.found.clone() };
        }
        if let Err(error) = actuator.set(&self.setting, &self.found) {
            return failed(error);
        }
        match actuator.look(&self.setting) {
            Ok(now) if self.setting.says(&now.value, &self.found) => Fate::PutBack,
            Ok(now) => {
                Fate::Failed { reason: format!("it says `{}` after it was set", now.value.escape_debug()) }
            }
            Err(error) => failed(error),
        }
    }
}

/// True where a setting is gone: its group was removed, before or while its file was open.
fn is_gone(error: &solo_store::StoreError) -> bool {
    let removed =
        |source: &std::io::Error| source.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error());
    error.is_not_found() || matches!(error, solo_store::StoreError::Io { source, .. } if removed(source))
}
