//! Whether the memory of a run lies where its experiment wants it, told from the page frames that the image found in its page
//! tables.

pub use crate::error::Misplaced;
use crate::report::BootReport;
use solo_bare::placement::{ColorSource, MemoryUser};
use solo_isolate::admission::{group_of, groups, kernel_group, owner_of};
use solo_isolate::frames::GroupId;
use solo_isolate::{Classes, MemoryMap};
use solo_model::{Bank, Bytes, Color, Experiment};
use std::collections::{BTreeMap, BTreeSet};

/// Where a piece of memory lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Which piece.
    pub place: MemoryUser,
    /// Its pages in each color.
    pub colors: BTreeMap<Color, u64>,
    /// Its pages in colors or banks that are not its owner's.
    pub elsewhere: u64,
}

/// Where each piece of memory lies, in the order of the report.
///
/// # Errors
/// If a frame holds two pages, or pages lie where they should not.
pub fn check(
    experiment: &Experiment,
    source: ColorSource,
    report: &BootReport,
) -> Result<Vec<Piece>, Misplaced> {
    let (Some(coloring), Some(memory)) = (&experiment.isolation.memory, &report.memory) else {
        return Err(Misplaced::Nothing);
    };
    let map = match (source, &memory.last_level) {
        (ColorSource::Platform, _) => MemoryMap::of(&experiment.platform),
        (ColorSource::Processor, Some(cache)) => cache.map(experiment.platform.page),
        (ColorSource::Processor, None) => {
            MemoryMap::new(experiment.platform.page, Classes::new(&[]), Classes::new(&[]), None)
        }
    };
    let map = map.map_err(Misplaced::Map)?.grouped(coloring.groups);
    let groups = groups(coloring, &map);
    let group_of = |place| match place {
        MemoryUser::Buffer(buffer) => group_of(coloring, owner_of(&experiment.tasks, buffer)),
        MemoryUser::Stack(task) => group_of(coloring, Some(task)),
        MemoryUser::Heap(group) => GroupId(group),
        // Of no group: of one color.
        MemoryUser::HeapOfColor(_) => GroupId(0),
        MemoryUser::Kernel | MemoryUser::Tables | MemoryUser::Image => kernel_group(coloring),
    };
    let (mut taken, mut pieces) = (BTreeSet::new(), Vec::<Piece>::new());
    for pages in &report.pages {
        let place = pages.place;
        let group = groups.get(usize::from(group_of(place).0)).ok_or(Misplaced::Nothing)?;
        // What jobs have taken from heaps lies in them, and where depends on the run.
        let from_heap = |buffer| experiment.tasks.iter().any(|task| task.work.allocates(buffer));
        let within = matches!(place, MemoryUser::Buffer(buffer) if from_heap(buffer));
        let wants = |color: Color, bank: Bank| {
            if let MemoryUser::HeapOfColor(own) = place {
                return color == own;
            }
            if within {
                return true;
            }
            let color = group.colors.is_empty() || group.colors.contains(&color);
            color && (group.banks.is_empty() || group.banks.contains(&bank))
        };
        if pieces.last().is_none_or(|piece| piece.place != place) {
            pieces.push(Piece { place, colors: BTreeMap::new(), elsewhere: 0 });
        }
        let Some(piece) = pieces.last_mut() else { continue };
        for &frame in &pages.frames {
            if !within && !taken.insert(frame) {
                return Err(Misplaced::Twice { frame, place });
            }
            let (color, bank) = (map.color(frame), map.bank(frame));
            *piece.colors.entry(color).or_default() += 1;
            piece.elsewhere += u64::from(!wants(color, bank));
        }
    }
    if pieces.is_empty() {
        return Err(Misplaced::Nothing);
    }
    let (pages, borrowed) = (pieces.iter().map(|piece| piece.elsewhere).sum(), memory.borrowed);
    if pages == borrowed { Ok(pieces) } else { Err(Misplaced::Elsewhere { pages, borrowed }) }
}

impl Piece {
    /// Its pages.
    pub fn pages(&self) -> u64 {
        self.colors.values().sum()
    }

    /// Its size.
    pub fn size(&self, page: Bytes) -> Bytes {
        Bytes::new(self.pages() * page.get())
    }
}
