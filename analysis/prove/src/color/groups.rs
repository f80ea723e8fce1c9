//! Which tasks hang together by their colors.

use crate::color::ColoredTask;
use crate::pack::{Items, Share};

/// The tasks in groups: two are in one if they share a color, or each shares one with a third, and so on
/// (thesis Definition 7.1.3, Algorithms 2 to 4). Groups in the order of their first task, tasks ascending.
pub fn groups(tasks: &[ColoredTask]) -> Vec<Vec<usize>> {
    let mut group_of: Vec<Option<usize>> = vec![None; tasks.len()];
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for first in 0..tasks.len() {
        if group_of[first].is_some() {
            continue;
        }
        let (group, mut open) = (groups.len(), vec![first]);
        group_of[first] = Some(group);
        let mut members = Vec::new();
        while let Some(task) = open.pop() {
            members.push(task);
            for other in 0..tasks.len() {
                if group_of[other].is_none() && tasks[task].shares_with(&tasks[other]) {
                    group_of[other] = Some(group);
                    open.push(other);
                }
            }
        }
        members.sort_unstable();
        groups.push(members);
    }
    groups
}

/// The utilisations of groups, one after the other, and how many each has.
pub(crate) struct Shares {
    parts: Vec<Share>,
    counts: Vec<usize>,
}

impl Shares {
    pub(crate) fn of(tasks: &[ColoredTask], groups: &[Vec<usize>]) -> Self {
        let parts = groups.iter().flatten().map(|&task| tasks[task].share()).collect();
        Self { parts, counts: groups.iter().map(Vec::len).collect() }
    }
    pub(crate) fn items(&self) -> Items<'_> {
        Items::grouped(&self.parts, &self.counts)
    }
}
