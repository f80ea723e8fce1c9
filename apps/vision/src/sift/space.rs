//! Scale space: a picture in several sizes, each smoothed more and more, and the differences.

use crate::math::falling;
use crate::plane::Plane;

/// Levels of an octave in which extrema are looked for.
pub(super) const LEVELS: usize = 3;
/// The deviation of an octave's first level, in its pixels.
pub(super) const SMALLEST: f32 = 1.6;
/// What a camera's picture is smoothed by already.
const CAMERA: f32 = 0.5;
/// The third root of two.
const THIRD: f32 = 1.259_921;

/// Two to the power of so many thirds, between whole numbers along straight lines.
pub(super) fn thirds(count: f32) -> f32 {
    let whole = count.floor();
    let power = THIRD.powi(whole as i32);
    power * (1.0 + (count - whole) * (THIRD - 1.0))
}

/// The levels of one size.
pub(super) struct Octave {
    gaussians: Vec<Plane>,
    differences: Vec<Plane>,
}

impl Octave {
    /// From its first level.
    fn new(first: Plane) -> Self {
        let (width, height) = (first.width(), first.height());
        let mut between = Plane::new(width, height);
        let mut gaussians = vec![first];
        for level in 1..LEVELS + 3 {
            let (last, next) = (SMALLEST * thirds(level as f32 - 1.0), SMALLEST * thirds(level as f32));
            let mut smoothed = Plane::new(width, height);
            smooth(&gaussians[level - 1], &mut between, &mut smoothed, (next * next - last * last).sqrt());
            gaussians.push(smoothed);
        }
        let less = |pair: &[Plane]| Plane::of(width, height, |x, y| pair[1].get(x, y) - pair[0].get(x, y));
        Self { differences: gaussians.windows(2).map(less).collect(), gaussians }
    }

    pub(super) fn width(&self) -> usize {
        self.gaussians[0].width()
    }

    pub(super) fn height(&self) -> usize {
        self.gaussians[0].height()
    }

    pub(super) fn gaussian(&self, level: usize) -> &Plane {
        &self.gaussians[level]
    }

    /// The level after that one less it.
    pub(super) fn difference(&self, level: usize) -> &Plane {
        &self.differences[level]
    }
}

/// The octaves of a picture; the first is twice its size.
pub(super) fn build(picture: &Plane, octaves: usize) -> Vec<Octave> {
    let (width, height) = (2 * picture.width(), 2 * picture.height());
    let place = |at: usize| (at as f32 + 0.5) / 2.0 - 0.5;
    let twice = Plane::of(width, height, |x, y| picture.between(place(x), place(y)));
    let (mut between, mut first) = (Plane::new(width, height), Plane::new(width, height));
    let already = 2.0 * CAMERA;
    smooth(&twice, &mut between, &mut first, (SMALLEST * SMALLEST - already * already).sqrt());
    let mut all = vec![Octave::new(first)];
    while all.len() < octaves {
        let last = &all[all.len() - 1];
        let mut half = Plane::new(last.width() / 2, last.height() / 2);
        last.gaussian(LEVELS).halve(&mut half);
        all.push(Octave::new(half));
    }
    all
}

/// Smooths by a Gaussian of a deviation, along rows and then along columns.
fn smooth(from: &Plane, between: &mut Plane, to: &mut Plane, deviation: f32) {
    let reach = (2.0 * deviation).ceil() as usize;
    let weight = |at: usize| falling((at * at) as f32 / (2.0 * deviation * deviation));
    let sum = 1.0 + 2.0 * (1..=reach).map(weight).sum::<f32>();
    let weights: Vec<f32> = (0..=reach).map(|at| weight(at) / sum).collect();
    let (width, height) = (from.width(), from.height());
    let mut padded = vec![0.0; width + 2 * reach];
    for y in 0..height {
        let row = from.row(y);
        padded[..reach].fill(row[0]);
        padded[reach..reach + width].copy_from_slice(row);
        padded[reach + width..].fill(row[width - 1]);
        weigh(between.row_mut(y), reach, &weights, |at| &padded[at..at + width]);
    }
    for y in 0..height {
        weigh(to.row_mut(y), reach, &weights, |at| {
            between.row((y + at).saturating_sub(reach).min(height - 1))
        });
    }
}

/// A row as the weighted sum of others, which are at 0 to twice the reach.
fn weigh<'a>(to: &mut [f32], reach: usize, weights: &[f32], row: impl Fn(usize) -> &'a [f32]) {
    to.fill(0.0);
    for at in 0..=2 * reach {
        let weight = weights[at.abs_diff(reach)];
        to.iter_mut().zip(row(at)).for_each(|(to, from)| *to += weight * from);
    }
}
