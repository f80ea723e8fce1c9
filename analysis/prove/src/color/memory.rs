//! The memory that colors divide, and the equations that tasks must respect in it.

use crate::color::{ColorError, ColoredTask};
use crate::exact::{Ratio, ceiling, sum_cmp};
use core::cmp::Ordering;
use solo_model::units::Bytes;

/// Memory divided by page colors into partitions of equal size `S_p = M_total / N_c` (thesis 7.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// All of it, `M_total`.
    pub total: Bytes,
    /// The number of colors `N_c`, at least 1.
    pub colors: u16,
}

impl Memory {
    /// Checks each task's colors (equation 2: only colors that there are), the memory needed (equation 1) and
    /// the use of each partition (equation 4), exactly.
    ///
    /// # Errors
    /// The first equation that does not hold.
    pub fn check(&self, tasks: &[ColoredTask]) -> Result<(), ColorError> {
        for (index, task) in tasks.iter().enumerate() {
            let distinct =
                |(at, color): (usize, &u16)| *color < self.colors && !task.colors[..at].contains(color);
            let none = task.colors.is_empty() && !task.memory.is_zero();
            if none || !task.colors.iter().enumerate().all(distinct) {
                return Err(ColorError::BadColors { task: index, colors: self.colors });
            }
        }
        let needed: u128 = tasks.iter().map(|task| u128::from(task.memory.get())).sum();
        if needed > u128::from(self.total.get()) {
            return Err(ColorError::Memory { needed, available: self.total });
        }
        match (0..self.colors).find(|&color| self.overfull(tasks, color)) {
            Some(color) => {
                let (needed, size) = (self.needed(tasks, color), self.total.get() / u64::from(self.colors));
                Err(ColorError::Partition { color, needed, size })
            }
            None => Ok(()),
        }
    }

    /// What the tasks need of one color, `sum M_i / |NC_i|`, in bytes, rounded up.
    fn needed(&self, tasks: &[ColoredTask], color: u16) -> u64 {
        let users = tasks.iter().filter(|task| task.colors.contains(&color));
        ceiling(users.map(|task| Ratio::new(task.memory.get(), task.colors.len() as u64)))
    }

    /// Equation 4 for one color, multiplied by `N_c`: `sum M_i N_c / |NC_i| > M_total`.
    fn overfull(&self, tasks: &[ColoredTask], color: u16) -> bool {
        let users = tasks.iter().filter(|task| task.colors.contains(&color));
        let uses = users.map(|task| Ratio {
            num: u128::from(task.memory.get()) * u128::from(self.colors),
            den: task.colors.len() as u64,
        });
        sum_cmp(uses, u128::from(self.total.get())) == Ordering::Greater
    }
}
