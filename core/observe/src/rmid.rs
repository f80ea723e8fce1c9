//! Which process has which id of those by which lines of a cache are told apart (PMCTrack 4.3).
//!
//! ```text
//!   a process begins ──take──▶ fifo: the head, lifo: the tail, random: any of the free ids
//!   its last task ends ──put──▶ the tail
//! ```
//! An id that was put back may still be on lines in the cache: they count as those of whoever gets it next.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use solo_model::{Recycling, Rmid, SplitMix64};

/// The ids of a machine and who has them. Takes no memory after its construction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RmidPool {
    free: VecDeque<Rmid>,
    recycling: Recycling,
    random: SplitMix64,
    /// The process of each task.
    process_of: Vec<usize>,
    processes: Vec<Process>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Process {
    rmid: Option<Rmid>,
    /// Its tasks that have not ended.
    tasks: usize,
}

impl RmidPool {
    /// The ids 1 to `rmids` - 1, all free and the lowest first; 0 is nobody's. `process_of` has the process of each task, by the
    /// numbers of processes; `seed` is for ids drawn at random.
    pub fn new(rmids: u16, recycling: Recycling, seed: u64, process_of: Vec<usize>) -> Self {
        let count = process_of.iter().max().map_or(0, |last| last + 1);
        let mut processes = alloc::vec![Process::default(); count];
        process_of.iter().for_each(|&process| processes[process].tasks += 1);
        let free = (1..rmids).map(Rmid).collect();
        Self { free, recycling, random: SplitMix64::derived(seed, &[0x726d_6964]), process_of, processes }
    }

    /// A task comes onto a core: the id of its process, which takes one where it has none. `None` where none is free, and for a
    /// task that is not known.
    pub fn enter(&mut self, task: usize) -> Option<Rmid> {
        let process = *self.process_of.get(task)?;
        if self.processes[process].rmid.is_none() && self.processes[process].tasks > 0 {
            self.processes[process].rmid = self.take();
        }
        self.processes[process].rmid
    }

    /// A task has ended, which is said once: with the last one of its process the id is free again.
    pub fn leave(&mut self, task: usize) {
        let Some(&process) = self.process_of.get(task) else { return };
        let process = &mut self.processes[process];
        process.tasks = process.tasks.saturating_sub(1);
        if process.tasks == 0
            && let Some(rmid) = process.rmid.take()
        {
            self.free.push_back(rmid);
        }
    }

    /// The id of a task's process, while it has one.
    pub fn of(&self, task: usize) -> Option<Rmid> {
        self.processes[*self.process_of.get(task)?].rmid
    }

    fn take(&mut self) -> Option<Rmid> {
        match self.recycling {
            Recycling::Fifo => self.free.pop_front(),
            Recycling::Lifo => self.free.pop_back(),
            Recycling::Random => {
                let at = self.random.below(self.free.len() as u64) as usize;
                self.free.remove(at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written from the definition: who has what, and since when each id is free.
    struct Model {
        freed: Vec<(u64, Rmid)>,
        held: Vec<Option<Rmid>>,
        alive: Vec<Vec<usize>>,
        time: u64,
    }

    impl Model {
        fn new(rmids: u16, process_of: &[usize]) -> Self {
            let processes = process_of.iter().max().map_or(0, |last| last + 1);
            let tasks_of = |process| (0..process_of.len()).filter(move |task| process_of[*task] == process);
            Self {
                freed: (1..rmids).map(|rmid| (u64::from(rmid), Rmid(rmid))).collect(),
                held: alloc::vec![None; processes],
                alive: (0..processes).map(|process| tasks_of(process).collect()).collect(),
                time: 10_000,
            }
        }
    }

    #[test]
    fn the_pool_does_what_its_definition_says_for_ten_thousand_random_comings_and_goings() {
        let mut random = SplitMix64::new(7);
        let mut empty = 0;
        for round in 0..200 {
            let recycling = Recycling::ALL[round % 3];
            let rmids = 2 + random.below(6) as u16;
            let process_of: Vec<usize> = (0..12).map(|_| random.below(8) as usize).collect();
            let mut pool = RmidPool::new(rmids, recycling, 5, process_of.clone());
            let mut model = Model::new(rmids, &process_of);
            for _ in 0..50 {
                model.time += 1;
                let task = random.below(12) as usize;
                let process = process_of[task];
                let alive = model.alive[process].contains(&task);
                if random.below(3) > 0 {
                    let given = pool.enter(task);
                    if model.held[process].is_none() && !model.alive[process].is_empty() {
                        let oldest = model.freed.iter().copied().min();
                        let newest = model.freed.iter().copied().max();
                        let expected = match recycling {
                            Recycling::Fifo => oldest,
                            Recycling::Lifo => newest,
                            Recycling::Random => {
                                model.freed.iter().copied().find(|(_, id)| Some(*id) == given)
                            }
                        };
                        assert_eq!(given, expected.map(|(_, id)| id), "{recycling:?}");
                        model.freed.retain(|(_, id)| Some(*id) != given);
                        model.held[process] = given;
                        empty += usize::from(given.is_none());
                    }
                    assert_eq!(given, model.held[process]);
                } else if alive {
                    pool.leave(task);
                    model.alive[process].retain(|known| *known != task);
                    if model.alive[process].is_empty()
                        && let Some(rmid) = model.held[process].take()
                    {
                        model.freed.push((model.time, rmid));
                    }
                }
                assert_eq!(pool.of(task), model.held[process]);
                let mut ids: Vec<Rmid> = model.held.iter().flatten().copied().collect();
                ids.sort_unstable();
                ids.dedup();
                assert_eq!(ids.len(), model.held.iter().flatten().count(), "an id has one process");
                assert!(!ids.contains(&Rmid::NOBODY));
            }
        }
        assert!(empty > 50, "a pool is empty often enough: {empty}");
    }

    #[test]
    fn random_ids_are_all_given_at_some_time() {
        let mut seen = alloc::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut pool = RmidPool::new(5, Recycling::Random, seed, alloc::vec![0]);
            seen.extend(pool.enter(0));
        }
        assert_eq!(seen, (1..5).map(Rmid).collect());
    }

    /// PMCTrack: 56 ids, of which 0 is nobody's. Who ends gives its id to the one that comes after 54 others.
    #[test]
    fn first_in_first_out_keeps_an_id_unused_while_fifty_five_others_come() {
        let mut pool = RmidPool::new(56, Recycling::Fifo, 0, (0..100).collect());
        let first = pool.enter(0);
        pool.leave(0);
        let mut others = (1..100).map(|task| {
            let given = pool.enter(task);
            pool.leave(task);
            given
        });
        assert_eq!(others.position(|given| given == first), Some(54));
    }
}
