//! When the run ends, and whether its memory fits.

use crate::request::EndWish;
use crate::{Draft, Fault};
use solo_model::check::LONGEST;
use solo_model::experiment::End;
use solo_model::work::Buffer;
use solo_model::{Bytes, Task};

impl Draft<'_> {
    /// When the run ends.
    pub(crate) fn end(&mut self) {
        let Some(wish) = self.request.end.wish() else { return };
        let jobs = match wish.value {
            EndWish::At(time) => {
                self.end = Some(End::At(time));
                return;
            }
            EndWish::Jobs(jobs) => jobs,
        };
        let periodic = || self.tasks.iter().filter(|task| task.release.is_periodic());
        let Some(period) = periodic().filter_map(|task| task.release.period()).max() else {
            // Applications begin anew until each has run so often.
            if !self.request.applications.is_empty() {
                self.end = Some(End::Jobs(jobs));
            } else if !self.tasks.is_empty() && !self.request.tasks_in_part {
                self.object(wish.at, Fault::JobsOfNone);
            }
            return;
        };
        let end = End::Jobs(jobs);
        if end.goal(&self.tasks).latest.is_some_and(|latest| latest > LONGEST) {
            // The run may take twice as long as the releases do.
            let room = |task: &Task| {
                let room = (LONGEST.get() / 2).saturating_sub(task.release.offset().get());
                Some(room / task.release.period()?.get().max(1))
            };
            let most = periodic().filter_map(room).min().unwrap_or(0);
            self.object(wish.at, Fault::RunTooLong { jobs, period, most });
            return;
        }
        self.end = Some(end);
    }

    /// Whether the memory of all tasks fits into the platform's; true where there is no platform to hold it against.
    pub(crate) fn fits_into_memory(&mut self) -> bool {
        let Some(wish) = self.request.platform.wish() else { return true };
        let (platform, at) = (&wish.value, wish.at);
        let pages = |buffer: &Buffer| u128::from(buffer.size.in_pieces_of(platform.page));
        let needed: u128 = self.buffers.iter().map(pages).sum::<u128>() * u128::from(platform.page.get());
        if needed <= u128::from(platform.dram.size.get()) {
            return true;
        }
        let largest = self.buffers.iter().max_by_key(|buffer| buffer.size);
        let fault = Fault::Memory {
            needed: Bytes::new(u64::try_from(needed).unwrap_or(u64::MAX)),
            available: platform.dram.size,
            platform: platform.name.clone(),
            largest: largest.map(|buffer| (buffer.name.clone(), buffer.size)),
        };
        self.object(at, fault);
        false
    }
}
