//! Memory by color and bank.

use crate::Draft;
use crate::place::{TextRange, Wish};
use crate::rationale::{Decided, Of};
use crate::request::{IsolationWish, Mechanisms, Named};
use alloc::vec::Vec;
use core::ops::Range;
use solo_isolate::admission::{IsolationRefusal, coloring_fits};
use solo_isolate::diagnose::{self, Warning};
use solo_isolate::stock::{Owners, pages_fit};
use solo_isolate::{MemoryMap, lockdown};
use solo_model::isolation::{ColorOwner, Coloring, Heaps, KernelData};
use solo_model::{Bank, Bytes, Color, Platform, TaskId};

/// Numbers by the tasks that they are for.
type ByTask = [(Range<u32>, Wish<Vec<u16>>)];

/// The pages that most systems have, for a remedy to name.
const SMALL_PAGE: Bytes = Bytes::from_kib(4);

impl Draft<'_> {
    /// Who takes pages from where; `None` where nobody cares, or where it can't be had.
    pub(crate) fn coloring(&mut self, wished: &Mechanisms, platform: &Platform) -> Option<Coloring> {
        let objections = self.objections.len();
        let wish = &wished.coloring;
        let (colors, banks) = (self.by_task(&wish.colors), self.by_task(&wish.banks));
        let memory = &wish.memory;
        let mut coloring = Coloring {
            groups: memory.groups.map_or(0, |said| said.value),
            kernel: memory.kernel.map(|said| Color(said.value)),
            shared: memory.shared.is_some_and(|said| said.value),
            kernel_data: memory.kernel_touches.filter(|said| said.value).map(|_| KernelData {
                walked: memory.kernel_walks.map_or(Bytes::ZERO, |said| said.value),
                packed: memory.kernel_packed.is_some_and(|said| said.value),
            }),
            ..Coloring::default()
        };
        let heaps = Heaps::default();
        coloring.heaps = Heaps {
            allocation: memory.allocation.map_or(heaps.allocation, |said| said.value),
            size: memory.heap.map_or(heaps.size, |said| said.value),
        };
        let last = self.owners_of_colors(&mut coloring, &colors, &banks).unwrap_or(wished.at);
        let takes_memory = self.tasks.iter().any(|task| task.work.allocations().next().is_some());
        let wanted = !coloring.owners.is_empty()
            || coloring.kernel.is_some()
            || coloring.kernel_data.is_some()
            || takes_memory;
        if !wanted || wish.in_part || self.objections.len() > objections {
            return None;
        }
        coloring.fallback = match memory.fallback {
            Some(said) => said.value,
            None => self.decide(Of::Memory, self.strategy.fallback(), Decided::Fallback),
        };
        if let Err(refusal) = coloring_fits(&coloring, platform, &self.tasks) {
            // Where no colors are given to tasks, it is a step that names one.
            let place = match &refusal {
                IsolationRefusal::Memory { task, .. } | IsolationRefusal::KernelColor { task, .. }
                    if coloring.owners.is_empty() =>
                {
                    self.wish_of(task.0).map(|own| own.name.at)
                }
                _ => None,
            };
            self.refuse(place.unwrap_or(last), refusal);
            return None;
        }
        if self.is_whole() {
            self.doubt_coloring(&coloring, platform, last);
        }
        Some(coloring)
    }

    /// Whether the pages are there that tasks ask for, in their colors and banks.
    pub(crate) fn check_pages(&mut self) {
        let (Some(platform), IsolationWish::By(wished)) =
            (self.request.platform.value(), &self.request.isolation)
        else {
            return;
        };
        let locked = self.isolation.lockdown.as_ref().map_or(&[][..], |lockdown| &lockdown.pages);
        let owners = Owners { tasks: &self.tasks, devices: &self.devices, buffers: &self.buffers };
        let Err(refusal) = pages_fit(self.isolation.memory.as_ref(), locked, platform, owners) else {
            return;
        };
        let IsolationRefusal::NoPages { task, .. } = &refusal else { return };
        let place = task.and_then(|task| self.place_of_memory(wished, task));
        self.refuse(place.unwrap_or(wished.at), refusal);
    }

    /// Where the colors of a task are written, or its banks.
    fn place_of_memory(&self, wished: &Mechanisms, task: TaskId) -> Option<TextRange> {
        let own = self.wish_of(task.0)?;
        let named = |all: &[Named<Vec<u16>>]| {
            let name = own.name.value.as_str();
            all.iter().find(|named| named.name.value == name).map(|named| named.wish.at)
        };
        let own = || own.colors.as_ref().or(own.banks.as_ref()).map(|said| said.at);
        named(&wished.coloring.colors).or_else(|| named(&wished.coloring.banks)).or_else(own)
    }

    /// Fills in who is confined to what, and says where the last of it is written.
    fn owners_of_colors(
        &self,
        coloring: &mut Coloring,
        colors: &ByTask,
        banks: &ByTask,
    ) -> Option<TextRange> {
        let wish = |named: &ByTask, at: u32, own: Option<&Wish<Vec<u16>>>| {
            let named = named.iter().find(|(tasks, _)| tasks.contains(&at)).map(|(_, list)| list.clone());
            named.or(own.cloned())
        };
        let mut last = None;
        for at in 0..self.tasks.len() as u32 {
            let own = self.wish_of(at);
            let colors = wish(colors, at, own.and_then(|own| own.colors.as_ref()));
            let banks = wish(banks, at, own.and_then(|own| own.banks.as_ref()));
            let Some(place) = colors.as_ref().or(banks.as_ref()).map(|list| list.at) else { continue };
            last = Some(place);
            coloring.owners.push(ColorOwner {
                task: TaskId(at),
                colors: colors.map_or(Vec::new(), |list| list.value.into_iter().map(Color).collect()),
                banks: banks.map_or(Vec::new(), |list| list.value.into_iter().map(Bank).collect()),
            });
        }
        last
    }

    /// What the chip or the neighbors make of the colors and banks that were asked for.
    fn doubt_coloring(&mut self, coloring: &Coloring, platform: &Platform, place: TextRange) {
        let Ok(map) = MemoryMap::of(platform) else { return };
        let hash = platform.last_level().map_or(&[][..], |cache| &cache.slice_hash);
        let banks_too = coloring.owners.iter().any(|owner| !owner.banks.is_empty());
        let colors_too = coloring.owners.iter().any(|owner| !owner.colors.is_empty());
        let concerns = |warning: &Warning| match warning {
            Warning::PageCoversColors { .. } | Warning::HashOverColors { .. } => {
                colors_too || coloring.kernel.is_some()
            }
            _ => true,
        };
        let touches = |task: TaskId| {
            let work = &self.tasks[task.index()].work;
            !lockdown::ranks(task, work, &self.buffers, platform.page, &[]).is_empty()
        };
        let neighbors = diagnose::open_neighbors(coloring, &self.tasks, touches);
        let of_chip = diagnose::coloring(&map, SMALL_PAGE, hash, banks_too).into_iter().filter(concerns);
        for warning in of_chip.chain(neighbors).collect::<Vec<_>>() {
            self.warn(place, warning);
        }
    }
}
