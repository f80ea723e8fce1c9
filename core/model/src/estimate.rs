//! Estimation models: what a program would gain on another kind of core, from counters of the one that it runs on (PMCTrack 4.1.2,
//! 4.2.2).
//!
//! A model is trained elsewhere and comes in a file (docs/models.md). For each kind of core it has metrics over events that are
//! counted together, and regression trees whose values are added up: additive regression.

use crate::event::EventSet;
use crate::fixed::Fixed;
use crate::id::KindId;
use alloc::string::String;
use alloc::vec::Vec;

/// What a model estimates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Factor {
    /// Instructions in a second on a big core by those on a small one (PMCTrack 4.1).
    Speedup,
    /// The energy-delay product on a small core by that on a big one (PMCTrack 4.2.2, equation 6).
    Energy,
}

impl Factor {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Speedup, Self::Energy];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Speedup => "speedup-factor",
            Self::Energy => "energy-factor",
        }
    }
}

/// A model of a platform.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Model {
    /// What it estimates.
    pub factor: Factor,
    /// By kind of core, from what; each kind once.
    pub sides: Vec<Side>,
}

/// What a model makes of the counters of one kind of core.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Side {
    /// The kind.
    pub kind: KindId,
    /// What is counted together; where there are several, they take turns.
    pub sets: Vec<EventSet>,
    /// Expressions over the events of one of the sets each.
    pub metrics: Vec<String>,
    /// What the trees are added to.
    pub base: Fixed,
    /// Each says how much is added, by the metrics.
    pub trees: Vec<Tree>,
}

/// A regression tree: which leaf one comes to is what it says.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tree {
    nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Node {
    /// What it says.
    Leaf(Fixed),
    /// Where one goes on.
    Split {
        /// The position of a metric.
        metric: u16,
        /// Up to this, and
        at_most: Fixed,
        /// the node where one goes on then,
        low: u16,
        /// or else.
        high: u16,
    },
}

impl Tree {
    /// The tree of these nodes, from the first on, over so many metrics. `None` where a node is not there, leads back, or asks for a
    /// metric that there is not.
    pub fn new(nodes: Vec<Node>, metrics: usize) -> Option<Self> {
        let ahead = |at: usize, next: u16| usize::from(next) > at && usize::from(next) < nodes.len();
        let sound = |(at, node): (usize, &Node)| match *node {
            Node::Leaf(_) => true,
            Node::Split { metric, low, high, .. } => {
                usize::from(metric) < metrics && ahead(at, low) && ahead(at, high)
            }
        };
        (!nodes.is_empty() && nodes.iter().enumerate().all(sound)).then_some(Self { nodes })
    }

    /// What it says of these metrics; `None` where it asks for one that is not there.
    pub fn value(&self, metrics: &[Fixed]) -> Option<Fixed> {
        let mut at = 0;
        // Each step leads further, so that they end.
        loop {
            match *self.nodes.get(at)? {
                Node::Leaf(value) => return Some(value),
                Node::Split { metric, at_most, low, high } => {
                    let next = if *metrics.get(usize::from(metric))? <= at_most { low } else { high };
                    at = Some(usize::from(next)).filter(|next| *next > at)?;
                }
            }
        }
    }
}

impl Side {
    /// The estimate for these metrics, in their order; `None` where one is missing, or the sum leaves the range of [`Fixed`].
    pub fn estimate(&self, metrics: &[Fixed]) -> Option<Fixed> {
        self.trees.iter().try_fold(self.base, |sum, tree| sum.add(tree.value(metrics)?))
    }
}

/// How a speedup factor is meant: which kinds of cores it is between, and what it is estimated from.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Asymmetry {
    /// The fastest kind.
    pub big: KindId,
    /// The slowest kind.
    pub small: KindId,
    /// The clock of the big kind by that of the small one, in thousandths.
    pub clock_ratio: u32,
    /// What a monitor that estimates has its estimates from.
    pub model: Option<Model>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn fixed(text: &str) -> Fixed {
        Fixed::parse(text).expect("a number")
    }

    #[test]
    fn trees_are_added_up() {
        let split = |metric, at_most, low, high| Node::Split { metric, at_most: fixed(at_most), low, high };
        let leaf = |value| Node::Leaf(fixed(value));
        let first =
            Tree::new(vec![split(0, "0.5", 1, 2), leaf("1"), split(1, "10", 3, 4), leaf("2"), leaf("4")], 2);
        let second = Tree::new(vec![leaf("0.25")], 2);
        let trees = vec![first.expect("sound"), second.expect("sound")];
        let side = Side { kind: KindId(0), sets: vec![], metrics: vec![], base: fixed("0.5"), trees };
        let estimate = |a, b| side.estimate(&[fixed(a), fixed(b)]);
        assert_eq!(estimate("0.5", "0"), Some(fixed("1.75")), "at most means with the bound");
        assert_eq!(estimate("0.500000000001", "10"), Some(fixed("2.75")));
        assert_eq!(estimate("3", "11"), Some(fixed("4.75")));
        assert_eq!(side.estimate(&[fixed("3")]), None, "a metric is missing");
        // Nodes that lead back or nowhere, and metrics that are not there.
        for wrong in [
            vec![],
            vec![split(0, "1", 0, 1), leaf("1")],
            vec![split(0, "1", 1, 2), leaf("1")],
            vec![split(2, "1", 1, 1), leaf("1")],
        ] {
            assert_eq!(Tree::new(wrong, 2), None);
        }
    }
}
