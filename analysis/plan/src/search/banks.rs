//! Private DRAM banks for each core that uses memory, where they are asked for (SCE 2.1 and 3.1, step 2).
//!
//! Banks are divided evenly. Rows that one core has open are then closed by no other; the bounds of the analysis hold for any addresses
//! and gain nothing by it. What is written about banks is kept: then none are chosen.

use super::choices::Choices;
use super::cores::Placement;
use super::lack::NoPlan;
use super::subject::Subject;
use alloc::vec::Vec;
use solo_isolate::MemoryMap;
use solo_isolate::banks::{BankError, divide};
use solo_model::{Bytes, CoreId};

impl Subject {
    /// Chooses banks for tasks that use memory.
    ///
    /// # Errors
    /// Fewer banks than cores that use memory, or banks that are too small for what a core's tasks touch.
    pub(super) fn bank(&self, placement: &Placement, choices: &mut Choices) -> Result<(), NoPlan> {
        let Some(wished) = self.mechanisms().filter(|_| self.aims.banks) else { return Ok(()) };
        let written =
            !wished.coloring.banks.is_empty() || self.request.tasks.iter().any(|wish| wish.banks.is_some());
        let users = self.users(placement);
        if written || users.len() < 2 {
            return Ok(());
        }
        let platform = &self.probe.platform;
        let Ok(map) = MemoryMap::of(platform) else {
            return Err(NoPlan::Banks { needed: users.len(), there: 0 });
        };
        let of = |core: CoreId| {
            let tasks = (0..placement.cores.len()).filter(move |&task| placement.cores[task] == core);
            Bytes::new(self.pages(tasks).saturating_mul(platform.page.get()))
        };
        let needs: Vec<Bytes> = users.iter().map(|&core| of(core)).collect();
        let divided = divide(&map, &platform.dram, &needs).map_err(|error| match error {
            BankError::TooFew { cores, banks } => NoPlan::Banks { needed: cores, there: usize::from(banks) },
            BankError::TooSmall { core, needs, holds } => {
                NoPlan::BankMemory { core: users.get(core.index()).copied().unwrap_or(core), needs, holds }
            }
        })?;
        for (core, banks) in users.iter().zip(divided.banks) {
            let banks: Vec<u16> = banks.into_iter().map(|bank| bank.0).collect();
            for (task, &wish) in self.wish_of.iter().enumerate() {
                if placement.cores[task] == *core && self.probe.tasks[task].work.touches_memory() {
                    choices.tasks[wish].banks = Some(banks.clone());
                }
            }
        }
        Ok(())
    }
}
