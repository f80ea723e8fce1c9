//! How caches hang together: the path of each core, and who stands behind whom.

use super::HierarchyError;
use super::array::holder_bit;
use solo_model::platform::{Cache, Contents, Inclusion};
use solo_model::{CoreId, CoreSet, Platform};

/// The most cache levels of a machine.
pub(crate) const MAX_LEVELS: usize = 6;

/// The caches that a core's access meets, nearest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    caches: [u16; MAX_LEVELS],
    len: u8,
}

impl Path {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }
    #[inline]
    pub(crate) fn at(&self, depth: usize) -> usize {
        usize::from(self.caches[depth])
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.caches[..self.len()].iter().map(|cache| usize::from(*cache))
    }
}

/// A cache's place in the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) level: u8,
    pub(crate) cores: CoreSet,
    pub(crate) inclusion: Inclusion,
    /// The next cache towards memory.
    pub(crate) parent: Option<usize>,
    /// The next caches towards the cores.
    pub(crate) children: Vec<usize>,
    /// All caches behind it: a list for each [`holder_bit`], lowest first.
    pub(crate) behind: Box<[Box<[usize]>]>,
    /// A line that was not changed leaves this cache without anybody having to know.
    pub(crate) silent: bool,
    /// The position among the parent's children, or among the roots.
    pub(crate) position: usize,
    /// Behind it stand logical processors of one physical core only.
    pub(crate) private: bool,
    /// The core that an invalidation is counted for.
    pub(crate) owner: CoreId,
    /// That core where this is its first-level data cache, whose look-ups for others it counts.
    pub(crate) snooped: CoreSet,
}

/// The tree of caches.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) nodes: Vec<Node>,
    /// The caches next to memory.
    pub(crate) roots: Vec<usize>,
    /// There is one such cache, and it is inclusive: what it does not hold, no cache holds.
    pub(crate) common_root: bool,
    /// By cache, the bit of its position among its parent's children.
    pub(crate) holder_bits: Vec<u64>,
    /// The path of loads and stores, by core.
    pub(crate) data: Vec<Path>,
    /// The path of instruction fetches, by core.
    pub(crate) fetch: Vec<Path>,
    /// The size of a line as a power of two.
    pub(crate) line_shift: u32,
}

impl Topology {
    pub(crate) fn new(platform: &Platform) -> Result<Self, HierarchyError> {
        let count = platform.cores.len();
        if count == 0 || count > CoreSet::CAPACITY {
            return Err(HierarchyError::Cores { cores: count });
        }
        let line = common_line(&platform.caches)?;
        let cores = || (0..count).map(|core| CoreId(core as u16));
        let data = cores().map(|core| path(platform, core, Contents::Data)).collect::<Result<Vec<_>, _>>()?;
        let fetch = cores()
            .map(|core| path(platform, core, Contents::Instructions))
            .collect::<Result<Vec<_>, _>>()?;
        let mut topology = Self {
            nodes: nodes(platform)?,
            roots: Vec::new(),
            common_root: false,
            holder_bits: Vec::new(),
            data,
            fetch,
            line_shift: line.trailing_zeros(),
        };
        topology.link()?;
        if let [root] = *topology.roots {
            topology.common_root = topology.nodes[root].inclusion == Inclusion::Inclusive;
        }
        for number in 0..topology.nodes.len() {
            topology.nodes[number].behind = topology.behind(number);
            topology.nodes[number].silent = topology.is_silent(number);
        }
        topology.holder_bits = topology.nodes.iter().map(|node| holder_bit(node.position)).collect();
        Ok(topology)
    }

    /// The caches behind a cache, by the bit by which it knows the child that they are, or stand behind.
    fn behind(&self, number: usize) -> Box<[Box<[usize]>]> {
        let children = &self.nodes[number].children;
        let mut behind = vec![Vec::new(); children.len()];
        for child in children {
            let bit = holder_bit(self.nodes[*child].position).trailing_zeros();
            behind[bit as usize].extend(core::iter::once(*child).chain(self.subtree(*child)));
        }
        behind.into_iter().map(Vec::into_boxed_slice).collect()
    }

    /// All caches behind a cache.
    fn subtree(&self, number: usize) -> Vec<usize> {
        let behind = |child: &usize| core::iter::once(*child).chain(self.subtree(*child));
        self.nodes[number].children.iter().flat_map(behind).collect()
    }

    /// No cache behind this one must give up what it evicts, and no exclusive cache collects it.
    fn is_silent(&self, number: usize) -> bool {
        let node = &self.nodes[number];
        let collects = |parent: usize| self.nodes[parent].inclusion == Inclusion::Exclusive;
        (node.inclusion != Inclusion::Inclusive || node.children.is_empty())
            && !node.parent.is_some_and(collects)
    }

    /// Ties each cache to the next on its cores' paths.
    fn link(&mut self) -> Result<(), HierarchyError> {
        let mut linked = vec![false; self.nodes.len()];
        for path in self.data.iter().chain(&self.fetch) {
            for depth in 0..path.len() {
                let inner = path.at(depth);
                let parent = (depth + 1 < path.len()).then(|| path.at(depth + 1));
                let node = &mut self.nodes[inner];
                let not_a_tree = HierarchyError::NotATree { level: node.level, cores: node.cores };
                if linked[inner] {
                    if node.parent != parent {
                        return Err(not_a_tree);
                    }
                    continue;
                }
                linked[inner] = true;
                node.parent = parent;
                match parent {
                    Some(outer) => {
                        if self.nodes[inner].cores.and(self.nodes[outer].cores) != self.nodes[inner].cores {
                            return Err(not_a_tree);
                        }
                        self.nodes[inner].position = self.nodes[outer].children.len();
                        self.nodes[outer].children.push(inner);
                    }
                    None => {
                        self.nodes[inner].position = self.roots.len();
                        self.roots.push(inner);
                    }
                }
            }
        }
        let first = |number: usize| self.data.iter().chain(&self.fetch).any(|path| path.at(0) == number);
        for (number, node) in self.nodes.iter().enumerate() {
            if node.inclusion == Inclusion::Exclusive && (node.children.is_empty() || first(number)) {
                let reason = "no cache stands between it and the core";
                return Err(HierarchyError::Exclusive { level: node.level, reason });
            }
        }
        Ok(())
    }
}

fn common_line(caches: &[Cache]) -> Result<u64, HierarchyError> {
    let Some(first) = caches.first() else {
        return Err(HierarchyError::NoCache { core: CoreId(0) });
    };
    match caches.iter().find(|cache| cache.line != first.line) {
        Some(other) => Err(HierarchyError::LineSizes { first: first.line, second: other.line }),
        None => Ok(first.line.get().max(1)),
    }
}

fn path(platform: &Platform, core: CoreId, contents: Contents) -> Result<Path, HierarchyError> {
    let mut found: Vec<(u8, u16)> = Vec::new();
    for (position, cache) in platform.caches.iter().enumerate() {
        if cache.cores.contains(core) && (cache.contents == Contents::Unified || cache.contents == contents) {
            if found.iter().any(|(level, _)| *level == cache.level) {
                return Err(HierarchyError::Overlap { core, level: cache.level });
            }
            found.push((cache.level, position as u16));
        }
    }
    found.sort_unstable();
    let exclusive =
        |(_, first): &(u8, u16)| platform.caches[usize::from(*first)].inclusion == Inclusion::Exclusive;
    if contents == Contents::Instructions && found.first().is_none_or(exclusive) {
        // A machine without caches for instructions fetches through its data caches; so does one whose first cache
        // for them holds only what others have evicted.
        return path(platform, core, Contents::Data);
    }
    if found.is_empty() || found.len() > MAX_LEVELS {
        return Err(HierarchyError::NoCache { core });
    }
    let mut caches = [0; MAX_LEVELS];
    found.iter().zip(&mut caches).for_each(|((_, position), cache)| *cache = *position);
    Ok(Path { caches, len: found.len() as u8 })
}

fn nodes(platform: &Platform) -> Result<Vec<Node>, HierarchyError> {
    let node = |cache: &Cache| {
        let Some(owner) = cache.cores.and(platform.core_set()).lowest() else {
            return Err(HierarchyError::NotATree { level: cache.level, cores: cache.cores });
        };
        let physical = |core: CoreId| platform.cores.get(core.index()).map(|core| core.physical);
        let private = cache.cores.iter().all(|core| physical(core) == physical(owner));
        let first = cache.level == 1 && cache.contents != Contents::Instructions;
        Ok(Node {
            level: cache.level,
            cores: cache.cores,
            inclusion: cache.inclusion,
            parent: None,
            children: Vec::new(),
            behind: Box::default(),
            silent: false,
            position: 0,
            private,
            owner,
            snooped: if private && first { CoreSet::only(owner) } else { CoreSet::EMPTY },
        })
    };
    platform.caches.iter().map(node).collect()
}
