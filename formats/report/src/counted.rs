//! Counts that know their names: what a report says of its tasks and cores.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use solo_model::{Counts, EventId, EventTable};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// Sums of counts. As JSON an object from names to numbers; what was not counted does not stand there.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counted {
    counts: Counts,
    /// The names of the events that are not canonical.
    own: Arc<[(EventId, String)]>,
}

impl Counted {
    /// Nothing yet, of the events of `table`.
    pub fn new(table: &EventTable) -> Self {
        let all = table.iter().filter(|(event, _)| event.canonical().is_none());
        let own = all.map(|(event, definition)| (event, definition.name.clone().into_owned()));
        Self { counts: Counts::NONE, own: own.collect() }
    }

    /// Adds what was counted; stops at the maximum, as damaged records may hold anything.
    pub fn merge(&mut self, more: &Counts) {
        self.counts.merge(more);
    }

    /// Each event that was counted, by its name.
    pub fn named(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(event, count)| (self.name(event), count))
    }

    fn name(&self, event: EventId) -> &str {
        let own = || self.own.iter().find(|(known, _)| *known == event).map(|(_, name)| name.as_str());
        event.canonical().map(|definition| &*definition.name).or_else(own).unwrap_or("unknown")
    }
}

impl Deref for Counted {
    type Target = Counts;
    fn deref(&self) -> &Counts {
        &self.counts
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.named())
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let (canonical, mut own) = (EventTable::default(), Vec::new());
        let mut counts = Counts::NONE;
        for (name, count) in stored {
            let event = match canonical.find(&name) {
                Some(event) => event,
                None => {
                    let number = u16::try_from(EventId::FIRST_OWN + own.len()).ok();
                    let event =
                        number.and_then(EventId::new).ok_or_else(|| D::Error::custom("too many events"))?;
                    own.push((event, name));
                    event
                }
            };
            counts.add(event, count);
        }
        Ok(Self { counts, own: own.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::event::{Definition, Unit};

    #[test]
    fn counts_are_written_and_read_by_name() {
        let meaning = "Something.".into();
        let event =
            Definition { name: "my_own".into(), unit: Unit::Times, meaning, signal: None, code: None };
        let table = EventTable::with([event]).unwrap();
        let mut counted = Counted::new(&table);
        let counts = [(table.find("my_own").unwrap(), 7), (EventId::CYCLES, 0)];
        counted.merge(&counts.into_iter().collect());
        let text = serde_json::to_string(&counted).unwrap();
        assert_eq!(text, r#"{"cycles":0,"my_own":7}"#);
        assert_eq!(serde_json::from_str::<Counted>(&text).unwrap(), counted);
    }
}
