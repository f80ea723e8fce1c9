//! Scale-invariant features (Lowe 2004): extrema of differences of Gaussians over place and size, each with a direction and with 128
//! numbers that say what its surroundings look like, whichever way the picture is turned.

mod describe;
mod space;

use crate::plane::Plane;
use crate::random::Random;
use describe::Slopes;
use space::{LEVELS, Octave};

/// Columns of the picture.
pub const WIDTH: usize = 128;
/// Rows.
pub const HEIGHT: usize = 96;
/// Sizes of the picture: twice, once, half, a quarter.
const OCTAVES: usize = 4;
/// The strongest so many points are kept.
const MOST: usize = 16;
/// Weaker extrema are noise, in units of the picture's brightness.
const CONTRAST: f32 = 3.0;

/// A point that can be found again.
#[derive(Clone, PartialEq, Debug)]
pub struct Feature {
    /// Its column in the picture.
    pub x: f32,
    /// Its row.
    pub y: f32,
    /// Its size: the deviation of the Gaussian at which it was found, in pixels of the picture.
    pub size: f32,
    /// Where it points: the angle of most slopes around it.
    pub angle: f32,
    /// What is around it: 4 by 4 squares of 8 directions, of length 1.
    pub description: Vec<f32>,
}

impl Feature {
    /// How different two descriptions are: 0 where they are equal, at most 2.
    pub fn unlike(&self, other: &Self) -> f32 {
        let squares = self.description.iter().zip(&other.description).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f32>().sqrt()
    }
}

/// An extremum, in pixels of its octave.
#[derive(Clone, Copy, Debug)]
struct Extremum {
    octave: usize,
    level: usize,
    x: f32,
    y: f32,
    /// Between levels: of the level's size this is the power of two by thirds.
    thirds: f32,
    strength: f32,
}

/// The features of a picture, the strongest first.
pub fn features(picture: &Plane) -> Vec<Feature> {
    let octaves = space::build(picture, OCTAVES);
    let mut extrema: Vec<Extremum> = Vec::new();
    for (number, octave) in octaves.iter().enumerate() {
        collect(octave, number, &mut extrema);
    }
    extrema.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    extrema.truncate(MOST);
    let mut features: Vec<(f32, Feature)> = Vec::new();
    for (number, octave) in octaves.iter().enumerate() {
        let mut slopes = Slopes::new(octave.width(), octave.height());
        for level in 1..=LEVELS {
            let here = extrema.iter().filter(|it| it.octave == number && it.level == level);
            let here: Vec<&Extremum> = here.collect();
            if here.is_empty() {
                continue;
            }
            slopes.take(octave.gaussian(level));
            features.extend(here.iter().map(|it| (it.strength, feature(&slopes, it))));
        }
    }
    features.sort_by(|a, b| b.0.total_cmp(&a.0));
    features.into_iter().map(|(_, feature)| feature).collect()
}

fn feature(slopes: &Slopes, it: &Extremum) -> Feature {
    let size = space::SMALLEST * space::thirds(it.thirds);
    let angle = slopes.angle(it.x, it.y, size);
    let description = slopes.description((it.x, it.y), size, angle);
    // The first octave is twice the picture and begins a quarter of a pixel before it; each next one has every second pixel.
    let scale = (1 << it.octave) as f32 / 2.0;
    let place = |at: f32| at * scale - 0.25;
    Feature { x: place(it.x), y: place(it.y), size: size * scale, angle, description }
}

/// The extrema of an octave's differences that are no edges.
fn collect(octave: &Octave, number: usize, into: &mut Vec<Extremum>) {
    const BORDER: usize = 5;
    let (width, height) = (octave.width(), octave.height());
    for level in 1..=LEVELS {
        for y in BORDER..height.saturating_sub(BORDER) {
            for x in BORDER..width.saturating_sub(BORDER) {
                let value = octave.difference(level).get(x, y);
                if value.abs() < CONTRAST
                    || !is_extreme(octave, level, x, y)
                    || is_edge(octave.difference(level), x, y)
                {
                    continue;
                }
                let at = |level: usize, x: usize, y: usize| octave.difference(level).get(x, y);
                let along = peak(at(level, x - 1, y), value, at(level, x + 1, y));
                let down = peak(at(level, x, y - 1), value, at(level, x, y + 1));
                let through = peak(at(level - 1, x, y), value, at(level + 1, x, y));
                into.push(Extremum {
                    octave: number,
                    level,
                    x: x as f32 + along,
                    y: y as f32 + down,
                    thirds: level as f32 + through,
                    strength: value.abs(),
                });
            }
        }
    }
}

/// True where a difference is above all its neighbors in place and size, or below all.
fn is_extreme(octave: &Octave, level: usize, x: usize, y: usize) -> bool {
    let value = octave.difference(level).get(x, y);
    let sign = value.signum();
    for other in level - 1..=level + 1 {
        for below in y - 1..=y + 1 {
            for beside in x - 1..=x + 1 {
                let same = (other, below, beside) == (level, y, x);
                if !same && octave.difference(other).get(beside, below) * sign >= value * sign {
                    return false;
                }
            }
        }
    }
    true
}

/// True where the difference is bent in one direction mostly: places along an edge are all alike.
fn is_edge(plane: &Plane, x: usize, y: usize) -> bool {
    let at = |x: usize, y: usize| plane.get(x, y);
    let bend_x = at(x + 1, y) + at(x - 1, y) - 2.0 * at(x, y);
    let bend_y = at(x, y + 1) + at(x, y - 1) - 2.0 * at(x, y);
    let mixed = (at(x + 1, y + 1) + at(x - 1, y - 1) - at(x + 1, y - 1) - at(x - 1, y + 1)) / 4.0;
    let (sum, product) = (bend_x + bend_y, bend_x * bend_y - mixed * mixed);
    product <= 0.0 || sum * sum * 10.0 >= 121.0 * product
}

/// Where between three equidistant values the extremum of a parabola is, from -0.5 to 0.5.
fn peak(before: f32, here: f32, after: f32) -> f32 {
    let bend = before + after - 2.0 * here;
    if bend == 0.0 { 0.0 } else { ((before - after) / (2.0 * bend)).clamp(-0.5, 0.5) }
}

/// Gray with bright and dark blobs: the picture, and of each blob its column, row and deviation.
pub fn blobs() -> (Plane, Vec<(f32, f32, f32)>) {
    let blobs = vec![(30.0, 30.0, 3.0), (80.0, 24.0, 4.5), (50.0, 66.0, 6.0), (100.0, 70.0, 2.5)];
    let mut picture = Plane::new(WIDTH, HEIGHT);
    picture.fill(&mut |x, y| {
        let of = |(at, &(a, b, size)): (usize, &(f32, f32, f32))| {
            let off = (x as f32 - a) * (x as f32 - a) + (y as f32 - b) * (y as f32 - b);
            let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
            sign * 100.0 * crate::math::falling(off / (2.0 * size * size))
        };
        128.0 + blobs.iter().enumerate().map(of).sum::<f32>()
    });
    (picture, blobs)
}

/// Blotches of several sizes.
pub fn scene(width: usize, height: usize, seed: u64) -> Plane {
    let (fine, coarse) =
        (Plane::blotches(width, height, seed), Plane::blotches(width / 4 + 2, height / 4 + 2, seed ^ 9));
    let mut random = Random::new(seed ^ 77);
    let mut picture = Plane::new(width, height);
    picture.fill(&mut |x, y| {
        let wide = coarse.between(x as f32 / 4.0, y as f32 / 4.0);
        0.4 * fine.get(x, y) + 0.6 * wide + random.unit() as f32
    });
    picture
}

/// One picture.
pub(crate) fn job() -> String {
    let found = features(&scene(WIDTH, HEIGHT, 11));
    let largest = found.iter().map(|feature| feature.size).fold(0.0, f32::max);
    format!("{} features, the largest of {largest:.1} pixels", found.len())
}
