//! The events of regions, as they are open.

use super::RegionError;
use super::sampler::Sampler;
use crate::group::{Group, Start, Whom};
use crate::resolve::{Attr, Member, Resolver};
use crate::sys::page::UserPage;
use solo_model::Duration;
use solo_observe::{CountedEvent, EventGroup, Filter};

/// An event of the regions of a thread.
pub(super) struct Event {
    /// Where its count stands.
    pub(super) place: usize,
    /// Why it is not counted, or the groups that count it: one, or one a CPU. None where samples have its counts.
    pub(super) groups: Result<Vec<Group>, String>,
    pub(super) page: Option<UserPage>,
}

impl Event {
    pub(super) fn missing(&self) -> Option<&str> {
        self.groups.as_ref().err().map(String::as_str)
    }

    /// What it has counted so far.
    pub(super) fn read(&mut self) -> u64 {
        if let Some(count) = self.page.as_ref().and_then(UserPage::count) {
            return count;
        }
        let groups = self.groups.iter_mut().flatten();
        groups.filter_map(|group| group.count().ok()).fold(0, u64::wrapping_add)
    }

    pub(super) fn is_fast(&self) -> bool {
        self.page.as_ref().is_some_and(|page| page.count().is_some())
    }

    /// Reads without the kernel where that is possible and faster: a hypervisor may trap `rdpmc`, which then costs
    /// more than a system call. The fastest of some readings decides, whatever else the machine does.
    fn take_the_faster_way(&mut self) {
        let Ok([group]) = self.groups.as_deref_mut() else { return };
        let Some(page) = group.user_page() else { return };
        let fastest = |read: &mut dyn FnMut()| {
            let timed = (0..8).map(|_| {
                let begin = crate::sys::now();
                read();
                crate::sys::now().saturating_sub(begin)
            });
            timed.min()
        };
        let direct = fastest(&mut || {
            std::hint::black_box(page.count());
        });
        let kernel = fastest(&mut || {
            std::hint::black_box(group.count().ok());
        });
        self.page = (direct < kernel).then_some(page);
    }
}

/// Opens a set for these threads or CPUs; with a sampler where samples are wanted, which then counts what can be counted.
pub(super) fn open(
    set: &EventGroup,
    resolver: &Resolver<'_>,
    whom: &[Whom],
    every: Option<Duration>,
    sampled: bool,
) -> Result<(Vec<Event>, Option<Sampler>), RegionError> {
    let mut events = Vec::new();
    let mut attrs = Vec::new();
    for event in &set.events {
        // Alone in its group, so that one that is refused takes no other with it.
        let plain = EventGroup { events: vec![CountedEvent { every: None, ..event.clone() }] };
        let groups = resolver.groups(&plain, Filter::USER)?;
        let opened = match groups.first() {
            Some(members) => open_each(members, whom),
            None => Err("no PMU".to_owned()),
        };
        attrs.push(groups.first().and_then(|members| members.first()).map(|(_, attr)| *attr));
        let mut event = Event { place: 0, groups: opened, page: None };
        if !sampled && matches!(whom, [Whom::Thread(_)]) {
            event.take_the_faster_way();
        }
        events.push(event);
    }
    if !sampled {
        return Ok((events, None));
    }
    let leader = set.sampled();
    let period = leader.and_then(|at| set.events[at].every).map(u64::from);
    let mut members: Vec<Member> = Vec::new();
    if let Some(every) = every {
        members.push((usize::MAX, Attr::clock(every.get())));
    }
    // The one that is sampled leads.
    let order = leader.into_iter().chain((0..events.len()).filter(|at| Some(*at) != leader));
    for at in order {
        let counted = events[at].groups.is_ok();
        if let Some(attr) = attrs[at].filter(|_| counted) {
            let own = if Some(at) == leader { period.unwrap_or(0) } else { 0 };
            members.push((at, Attr { period: own, ..attr }));
        }
    }
    if leader.is_some_and(|at| events[at].groups.is_err()) || members.is_empty() {
        return Ok((events, None));
    }
    let sampler = Sampler::open(&members, whom, events.len())?;
    // The counters are the sampler's from now on.
    for event in events.iter_mut().filter(|event| event.groups.is_ok()) {
        event.groups = Ok(Vec::new());
    }
    Ok((events, Some(sampler)))
}

fn open_each(members: &[Member], whom: &[Whom]) -> Result<Vec<Group>, String> {
    let one = |whom: &Whom| Group::open(members, *whom, Start::Now);
    whom.iter().map(one).collect::<Result<_, _>>().map_err(|refused| refused.source.to_string())
}
