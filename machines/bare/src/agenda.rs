//! What is due on which core, in the order in which the ideal machine would do it.
//!
//! With the settled clock, cores act in one order: by time; at the same instant the run's end first, then cores
//! that begin, then jobs that make progress, then reschedule requests, then timers; each from core 0 up. A core
//! whose next event is not the first of all waits until it is. So the instants at which the kernel decides do
//! not depend on how fast its paths are.

use solo_model::{CoreId, CoreSet, Instant};

/// The most cores of an agenda.
pub const MOST_CORES: usize = 16;

/// What happens, in the order of one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The run ends.
    End,
    /// The core begins.
    Start,
    /// The job on the core has computed enough, or is about to do something else.
    Progress,
    /// A reschedule request arrives.
    Request,
    /// The timer interrupts.
    Timer,
}

/// Something that will happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: Kind,
    /// Where.
    pub core: CoreId,
}

/// What lies ahead of one core.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ahead {
    /// The core has not begun.
    pub start: bool,
    /// When the job on the core will have computed what it is computing; now, while it does something else;
    /// `None` while the core is idle.
    pub progress: Option<Instant>,
    /// When a reschedule request was sent that has not been served.
    pub request: Option<Instant>,
    /// What the timer is programmed to.
    pub timer: Option<Instant>,
}

/// What lies ahead of all cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agenda {
    cores: [Ahead; MOST_CORES],
    count: usize,
    end: Instant,
}

impl Agenda {
    /// `count` cores that have not begun, and a run that ends at `end`, which is core 0's business.
    ///
    /// # Panics
    /// Above [`MOST_CORES`].
    pub fn new(count: usize, end: Instant) -> Self {
        assert!(count <= MOST_CORES, "{count} cores are too many");
        Self { cores: [Ahead { start: true, ..Ahead::default() }; MOST_CORES], count, end }
    }

    /// The same, of which only `own` begin: a part of a machine whose other cores have agendas of their own.
    ///
    /// # Panics
    /// Above [`MOST_CORES`].
    pub fn of(own: CoreSet, count: usize, end: Instant) -> Self {
        let mut agenda = Self::new(count, end);
        let others = (0..count).map(|core| CoreId(core as u16)).filter(|&core| !own.contains(core));
        others.for_each(|core| agenda.ahead(core).start = false);
        agenda
    }

    /// What lies ahead of `core`.
    ///
    /// # Panics
    /// If there is no such core.
    pub fn ahead(&mut self, core: CoreId) -> &mut Ahead {
        &mut self.cores[core.index()]
    }

    /// The end of the run.
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// The first event of `core`; `None` for one that has nothing ahead.
    pub fn next_of(&self, core: CoreId) -> Option<Event> {
        let ahead = &self.cores[core.index()];
        let event = |kind, at| Event { at, kind, core };
        let end = (core == CoreId(0)).then(|| event(Kind::End, self.end));
        let start = ahead.start.then(|| event(Kind::Start, Instant::ZERO));
        let progress = ahead.progress.map(|at| event(Kind::Progress, at));
        let request = ahead.request.map(|at| event(Kind::Request, at));
        let timer = ahead.timer.map(|at| event(Kind::Timer, at));
        [end, start, progress, request, timer].into_iter().flatten().min()
    }

    /// The first event of all.
    pub fn next(&self) -> Option<Event> {
        (0..self.count).filter_map(|core| self.next_of(CoreId(core as u16))).min()
    }

    /// When `core` must be interrupted; `None` where nothing lies ahead of it, or first of all something that its
    /// own job does.
    pub fn interrupt_at(&self, core: CoreId) -> Option<Instant> {
        let next = self.next_of(core)?;
        matches!(next.kind, Kind::End | Kind::Request | Kind::Timer).then_some(next.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: u64) -> Instant {
        Instant::new(ns)
    }

    fn started(count: usize) -> Agenda {
        let mut agenda = Agenda::new(count, at(1000));
        (0..count).for_each(|core| agenda.ahead(CoreId(core as u16)).start = false);
        agenda
    }

    #[test]
    fn cores_begin_from_core_0_up_before_anything_else() {
        let mut agenda = Agenda::new(2, at(1000));
        agenda.ahead(CoreId(0)).start = false;
        agenda.ahead(CoreId(0)).progress = Some(at(0));
        assert_eq!(agenda.next(), Some(Event { at: at(0), kind: Kind::Start, core: CoreId(1) }));
    }

    #[test]
    fn at_one_instant_jobs_come_before_requests_and_requests_before_timers() {
        let mut agenda = started(3);
        agenda.ahead(CoreId(0)).timer = Some(at(5));
        agenda.ahead(CoreId(1)).request = Some(at(5));
        agenda.ahead(CoreId(2)).progress = Some(at(5));
        let next = |agenda: &Agenda| agenda.next().map(|event| (event.kind, event.core.0));
        assert_eq!(next(&agenda), Some((Kind::Progress, 2)));
        agenda.ahead(CoreId(2)).progress = Some(at(6));
        assert_eq!(next(&agenda), Some((Kind::Request, 1)));
        agenda.ahead(CoreId(1)).request = None;
        assert_eq!(next(&agenda), Some((Kind::Timer, 0)));
        assert_eq!(agenda.interrupt_at(CoreId(2)), None);
    }

    #[test]
    fn what_happens_at_the_end_no_longer_counts() {
        let mut agenda = started(2);
        agenda.ahead(CoreId(1)).progress = Some(at(1000));
        assert_eq!(agenda.next(), Some(Event { at: at(1000), kind: Kind::End, core: CoreId(0) }));
        assert_eq!(agenda.interrupt_at(CoreId(0)), Some(at(1000)));
        agenda.ahead(CoreId(1)).progress = Some(at(999));
        agenda.ahead(CoreId(0)).progress = Some(at(998));
        assert_eq!(agenda.interrupt_at(CoreId(0)), None, "its job acts before");
        assert_eq!(agenda.next().map(|event| event.kind), Some(Kind::Progress));
    }

    #[test]
    fn only_the_cores_of_a_part_begin_in_its_agenda() {
        let mut agenda = Agenda::of(CoreSet::from_bits(0b100), 4, at(1000));
        assert_eq!(agenda.next(), Some(Event { at: at(0), kind: Kind::Start, core: CoreId(2) }));
        agenda.ahead(CoreId(2)).start = false;
        assert_eq!(agenda.next().map(|event| event.kind), Some(Kind::End));
    }
}
