//! The loops in a function: what its control flow can come back to.

use std::collections::BTreeSet;

/// A loop: the positions of its instructions, those of the loops in it included.
pub(crate) type Loop = BTreeSet<usize>;

/// The loops of a graph that can be reached from its first node, each before those in it.
///
/// A loop is a set of nodes that can all reach each other. Where it is entered, and nowhere else, it begins anew: without the ways back
/// there, what is left of it may have loops of its own.
pub(crate) fn loops(successors: &[Vec<usize>]) -> Vec<Loop> {
    let mut found = Vec::new();
    let reached = reached(successors);
    let inside = |from: usize| successors[from].iter().copied().collect::<BTreeSet<_>>();
    let graph: Vec<BTreeSet<usize>> = (0..successors.len()).map(inside).collect();
    nested(&reached, &graph, &graph, &mut found);
    found
}

fn reached(successors: &[Vec<usize>]) -> BTreeSet<usize> {
    let (mut reached, mut waiting) = (BTreeSet::new(), vec![0]);
    while let Some(next) = waiting.pop() {
        if next < successors.len() && reached.insert(next) {
            waiting.extend(&successors[next]);
        }
    }
    reached
}

/// Adds the loops among `nodes`; `whole` is the graph with all its edges.
fn nested(
    nodes: &BTreeSet<usize>,
    graph: &[BTreeSet<usize>],
    whole: &[BTreeSet<usize>],
    found: &mut Vec<Loop>,
) {
    for component in components(nodes, graph) {
        let entered: BTreeSet<usize> = nodes
            .difference(&component)
            .flat_map(|&from| whole[from].intersection(&component).copied())
            .collect();
        let first = component.first().copied();
        let heads = if entered.is_empty() { first.into_iter().collect() } else { entered };
        let mut without = graph.to_vec();
        for &node in &component {
            without[node].retain(|to| component.contains(to) && !heads.contains(to));
        }
        found.push(component.clone());
        nested(&component, &without, whole, found);
    }
}

/// The sets of nodes that can all reach each other (by Tarjan's search), and single ones that reach themselves.
fn components(nodes: &BTreeSet<usize>, graph: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let mut search = Search {
        graph,
        number: vec![None; graph.len()],
        low: vec![0; graph.len()],
        stack: Vec::new(),
        on_stack: vec![false; graph.len()],
        count: 0,
        found: Vec::new(),
    };
    for &node in nodes {
        if search.number[node].is_none() {
            search.from(node, nodes);
        }
    }
    search.found
}

struct Search<'g> {
    graph: &'g [BTreeSet<usize>],
    number: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    on_stack: Vec<bool>,
    count: usize,
    found: Vec<BTreeSet<usize>>,
}

impl Search<'_> {
    fn enter(&mut self, node: usize, nodes: &BTreeSet<usize>) -> (usize, Vec<usize>) {
        self.number[node] = Some(self.count);
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
        (node, self.graph[node].intersection(nodes).copied().collect())
    }

    /// Searches from a node, without recursion: functions are long.
    fn from(&mut self, node: usize, nodes: &BTreeSet<usize>) {
        let mut path = vec![self.enter(node, nodes)];
        while let Some((node, left)) = path.last_mut() {
            let node = *node;
            if let Some(to) = left.pop() {
                match self.number[to] {
                    None => path.push(self.enter(to, nodes)),
                    Some(number) if self.on_stack[to] => self.low[node] = self.low[node].min(number),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            if let Some((above, _)) = path.last() {
                self.low[*above] = self.low[*above].min(self.low[node]);
            }
            if Some(self.low[node]) == self.number[node] {
                self.close(node);
            }
        }
    }

    fn close(&mut self, root: usize) {
        let mut component = BTreeSet::new();
        while let Some(node) = self.stack.pop() {
            self.on_stack[node] = false;
            component.insert(node);
            if node == root {
                break;
            }
        }
        if component.len() > 1 || self.graph[root].contains(&root) {
            self.found.push(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_in_loops_are_found_with_one_entry_or_two() {
        let set = |nodes: &[usize]| nodes.iter().copied().collect::<Loop>();
        assert_eq!(loops(&[vec![1], vec![2], vec![]]), Vec::<Loop>::new());
        assert_eq!(loops(&[vec![1], vec![1, 2], vec![]]), [set(&[1])]);
        // 1 to 4 with 2 to 3 inside; 6 comes back to itself, but nobody reaches it.
        let nested = [vec![1], vec![2], vec![3], vec![2, 4], vec![1, 5], vec![], vec![6]];
        assert_eq!(loops(&nested), [set(&[1, 2, 3, 4]), set(&[2, 3])]);
        // Two ways into a loop.
        assert_eq!(loops(&[vec![1, 2], vec![2], vec![1, 3], vec![]]), [set(&[1, 2])]);
        // Two ways back to one head are one loop, as `continue` makes them.
        assert_eq!(loops(&[vec![1], vec![2, 3], vec![1], vec![1, 4], vec![]]), [set(&[1, 2, 3])]);
    }
}
