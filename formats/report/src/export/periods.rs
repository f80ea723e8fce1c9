//! Rows of regulation periods. How long a core waited in its part of a period comes in a record of its own behind that part, so that a
//! row waits for it; and with it one knows whether the core got what it has reserved.

use super::columns::{self, Value};
use crate::summary::guarantee::Guarantees;
use solo_model::record::{RegulationRecord, WaitRecord};
use solo_model::{Experiment, Record};

/// The part of a period that is not written yet, and who judges it.
pub(super) struct Periods {
    guarantees: Option<Guarantees>,
    held: Option<RegulationRecord>,
}

impl Periods {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let regulation = experiment.isolation.bandwidth.as_ref();
        Self { guarantees: regulation.map(|regulation| Guarantees::new(experiment, regulation)), held: None }
    }

    /// Fills the row that is complete now that `record` has come; leaves it empty where none is.
    pub(super) fn add(&mut self, record: &Record, row: &mut Vec<Value>) {
        match record {
            Record::Regulation(period) => {
                self.flush(row);
                if let Some(guarantees) = &mut self.guarantees {
                    guarantees.period(period);
                }
                self.held = Some(*period);
            }
            Record::Wait(wait) => self.waited(wait, row),
            _ => {}
        }
    }

    /// Fills the row of the part that is still held, of which nobody says how long its core waited.
    pub(super) fn flush(&mut self, row: &mut Vec<Value>) {
        if let Some(period) = self.held.take() {
            columns::fill_regulation(&period, None, None, row);
        }
    }

    fn waited(&mut self, wait: &WaitRecord, row: &mut Vec<Value>) {
        let ours = |held: &mut RegulationRecord| held.core == wait.core && held.at == wait.at;
        if let Some(period) = self.held.take_if(ours) {
            let lack = self.guarantees.as_mut().and_then(|guarantees| guarantees.judge(wait));
            columns::fill_regulation(&period, Some(wait), lack, row);
        }
    }
}
