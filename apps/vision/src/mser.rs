//! Maximally stable extremal regions (Matas et al. 2002): regions darker, or brighter, than all around them whose area hardly
//! changes over many thresholds. Pixels are sorted by brightness and joined by union-find; the roots form the tree of regions.

use crate::plane::Plane;

/// Columns of the picture.
pub const WIDTH: usize = 128;
/// Rows.
pub const HEIGHT: usize = 96;
/// A region is held against the one that so many thresholds later contains it.
const DELTA: u8 = 10;
/// Regions that grow by more than this share of their area are not stable.
const GROWTH: f32 = 0.25;
/// The smallest region, in pixels, and the largest.
const AREAS: std::ops::RangeInclusive<u32> = 30..=4000;
const NONE: u32 = u32::MAX;

/// A region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Brighter than what is around it, or darker.
    pub bright: bool,
    /// A pixel of it, the last that joined.
    pub pixel: usize,
    /// The brightness up to which its pixels are, counted from the other end for bright ones.
    pub level: u8,
    /// Pixels.
    pub area: u32,
}

/// The regions of a picture of [`WIDTH`] times [`HEIGHT`] bytes, darker ones first.
pub fn regions(picture: &[u8]) -> Vec<Region> {
    let mut found = Vec::new();
    let mut forest = Forest::new();
    forest.stable(picture, false, &mut found);
    let inverted: Vec<u8> = picture.iter().map(|pixel| !pixel).collect();
    forest.stable(&inverted, true, &mut found);
    found
}

/// The tree of regions: each is told by the pixel that joined it last.
struct Forest {
    /// All pixels, the darkest first.
    order: Vec<u32>,
    /// Towards the root of the set of pixels joined so far.
    towards: Vec<u32>,
    /// The region around each region.
    parent: Vec<u32>,
    area: Vec<u32>,
    growth: Vec<f32>,
    /// The least growth of the regions inside.
    inside: Vec<f32>,
    /// The nearest chosen region around each.
    chosen: Vec<u32>,
}

impl Forest {
    fn new() -> Self {
        let numbers = || vec![0; WIDTH * HEIGHT];
        let shares = || vec![0.0; WIDTH * HEIGHT];
        Self {
            order: numbers(),
            towards: numbers(),
            parent: numbers(),
            area: numbers(),
            growth: shares(),
            inside: shares(),
            chosen: numbers(),
        }
    }

    fn stable(&mut self, picture: &[u8], bright: bool, found: &mut Vec<Region>) {
        self.sort(picture);
        self.join(picture);
        self.name(picture);
        self.grow(picture);
        self.choose(picture, bright, found);
    }

    /// Counts brightnesses, and so knows the place of each pixel.
    fn sort(&mut self, picture: &[u8]) {
        let mut begins = [0_u32; 257];
        for &pixel in picture {
            begins[usize::from(pixel) + 1] += 1;
        }
        for level in 0..256 {
            begins[level + 1] += begins[level];
        }
        for (at, &pixel) in picture.iter().enumerate() {
            let place = &mut begins[usize::from(pixel)];
            self.order[*place as usize] = at as u32;
            *place += 1;
        }
    }

    fn join(&mut self, picture: &[u8]) {
        self.towards.fill(NONE);
        for at in 0..picture.len() {
            let pixel = self.order[at];
            self.towards[pixel as usize] = pixel;
            self.parent[pixel as usize] = pixel;
            self.area[pixel as usize] = 1;
            let (x, y) = (pixel as usize % WIDTH, pixel as usize / WIDTH);
            let beside = [
                (x > 0, pixel.wrapping_sub(1)),
                (x + 1 < WIDTH, pixel + 1),
                (y > 0, pixel.wrapping_sub(WIDTH as u32)),
                (y + 1 < HEIGHT, pixel + WIDTH as u32),
            ];
            for (exists, other) in beside {
                if exists && self.towards[other as usize] != NONE {
                    let root = self.root(other);
                    if root != pixel {
                        self.towards[root as usize] = pixel;
                        self.parent[root as usize] = pixel;
                        self.area[pixel as usize] += self.area[root as usize];
                    }
                }
            }
        }
    }

    /// The root of a set; the way there is shortened.
    fn root(&mut self, pixel: u32) -> u32 {
        let mut at = pixel;
        while self.towards[at as usize] != at {
            let next = self.towards[at as usize];
            self.towards[at as usize] = self.towards[next as usize];
            at = next;
        }
        at
    }

    /// Of the pixels of one brightness in one region only one stands for it: the last.
    fn name(&mut self, picture: &[u8]) {
        for &pixel in self.order.iter().rev() {
            let parent = self.parent[pixel as usize];
            let above = self.parent[parent as usize];
            if picture[above as usize] == picture[parent as usize] {
                self.parent[pixel as usize] = above;
            }
        }
    }

    /// True where a pixel stands for its region.
    fn stands(&self, picture: &[u8], pixel: u32) -> bool {
        let parent = self.parent[pixel as usize];
        parent == pixel || picture[parent as usize] != picture[pixel as usize]
    }

    /// How much each region grows within [`DELTA`] thresholds.
    fn grow(&mut self, picture: &[u8]) {
        self.inside.fill(f32::MAX);
        for at in 0..picture.len() {
            let pixel = self.order[at];
            if !self.stands(picture, pixel) {
                continue;
            }
            let limit = picture[pixel as usize].saturating_add(DELTA);
            let mut around = pixel;
            loop {
                let parent = self.parent[around as usize];
                if parent == around || picture[parent as usize] > limit {
                    break;
                }
                around = parent;
            }
            let (own, later) = (self.area[pixel as usize], self.area[around as usize]);
            self.growth[pixel as usize] = (later - own) as f32 / own as f32;
            let parent = self.parent[pixel as usize] as usize;
            if parent != pixel as usize {
                self.inside[parent] = self.inside[parent].min(self.growth[pixel as usize]);
            }
        }
    }

    /// Regions that grow less than the ones around and inside them, the largest first; of nested ones that are nearly the same
    /// only the outer.
    fn choose(&mut self, picture: &[u8], bright: bool, found: &mut Vec<Region>) {
        self.chosen.fill(NONE);
        for &pixel in self.order.iter().rev() {
            let (at, parent) = (pixel as usize, self.parent[pixel as usize] as usize);
            let around = self.chosen[parent];
            self.chosen[at] = around;
            if !self.stands(picture, pixel) || parent == at {
                continue;
            }
            let (growth, area) = (self.growth[at], self.area[at]);
            let stable = growth <= GROWTH && growth <= self.growth[parent] && growth <= self.inside[at];
            let same = around != NONE && self.area[around as usize] < area + area / 4;
            if stable && AREAS.contains(&area) && !same {
                self.chosen[at] = pixel;
                found.push(Region { bright, pixel: at, level: picture[at], area });
            }
        }
    }
}

/// A slope of gray with discs and squares on it: the picture, and the area of each, dark ones first.
pub fn scene() -> (Vec<u8>, Vec<u32>) {
    let blotches = Plane::blotches(WIDTH, HEIGHT, 3);
    let discs = [(24, 24, 10), (64, 70, 14), (100, 20, 7)];
    let squares = [(20, 56, 22), (90, 60, 26)];
    let mut areas = vec![0; discs.len() + squares.len()];
    let mut picture = Vec::new();
    for y in 0..HEIGHT as i32 {
        for x in 0..WIDTH as i32 {
            let disc = discs.iter().position(|(a, b, r)| (x - a) * (x - a) + (y - b) * (y - b) <= r * r);
            let square =
                squares.iter().position(|(a, b, s)| (*a..a + s).contains(&x) && (*b..b + s).contains(&y));
            let noise = (blotches.get(x as usize, y as usize) / 32.0) as u8;
            let thing = disc.or(square.map(|square| square + discs.len()));
            if let Some(thing) = thing {
                areas[thing] += 1;
            }
            picture.push(
                noise
                    + if disc.is_some() {
                        30
                    } else if square.is_some() {
                        210
                    } else {
                        110 + x as u8 / 8
                    },
            );
        }
    }
    (picture, areas)
}

/// One picture.
pub(crate) fn job() -> String {
    let (picture, areas) = scene();
    let found = regions(&picture);
    format!("{} regions where {} things are", found.len(), areas.len())
}
