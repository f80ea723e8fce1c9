//! Stereo disparity: for each pixel the shift at which a window of one picture differs least from the other's, by sums of absolute
//! differences (SAD) that a summed table gives in four reads.

use crate::plane::Plane;

/// Columns of the frames.
pub const WIDTH: usize = 128;
/// Rows of the frames.
pub const HEIGHT: usize = 96;
/// Shifts that are tried: 0 to this.
pub const SHIFTS: usize = 8;
/// The window reaches so far to each side.
const REACH: usize = 4;
/// Buffers have room for the largest frame of the camera, CIF.
const MOST: usize = 352 * 288;

/// The frames of a camera's two eyes, a byte a pixel, and the truth.
#[derive(Clone, Debug)]
pub struct Scene {
    left: Vec<u8>,
    right: Vec<u8>,
    truth: Vec<u8>,
}

impl Scene {
    /// A wall at shift 2, and before it a box at shift 7.
    pub fn new(seed: u64) -> Self {
        let wall = Plane::blotches(WIDTH + SHIFTS, HEIGHT, seed);
        let front = Plane::blotches(WIDTH + SHIFTS, HEIGHT, seed ^ 1);
        let boxed = |x: usize, y: usize| (44..92).contains(&x) && (30..70).contains(&y);
        let byte = |value: f32| value as u8;
        let (mut left, mut right, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let within = boxed(x, y);
                truth.push(if within { 7 } else { 2 });
                left.push(byte(if within { front.get(x, y) } else { wall.get(x, y) }));
                // What the right eye sees at x, the left sees a shift further right.
                right.push(byte(if boxed(x + 7, y) { front.get(x + 7, y) } else { wall.get(x + 2, y) }));
            }
        }
        Self { left, right, truth }
    }

    /// The shift of each pixel of the left frame.
    pub fn truth(&self) -> &[u8] {
        &self.truth
    }
}

/// What matching needs.
#[derive(Clone, Debug)]
pub struct Matcher {
    left: Plane,
    right: Plane,
    difference: Plane,
    /// A row and a column more than the frame.
    table: Plane,
    sums: Plane,
    best: [Plane; 2],
    shift: [Plane; 2],
    kept: Plane,
    filled: Plane,
}

impl Default for Matcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Matcher {
    /// Buffers for a frame.
    pub fn new() -> Self {
        let plane = || Plane::with_room(WIDTH, HEIGHT, MOST);
        Self {
            left: plane(),
            right: plane(),
            difference: plane(),
            table: Plane::with_room(WIDTH + 1, HEIGHT + 1, MOST),
            sums: plane(),
            best: [plane(), plane()],
            shift: [plane(), plane()],
            kept: plane(),
            filled: plane(),
        }
    }

    /// The shift of each pixel of the left frame.
    pub fn disparity(&mut self, scene: &Scene) -> Plane {
        let bytes = |from: &[u8], to: &mut Plane| to.fill(&mut |x, y| f32::from(from[y * WIDTH + x]));
        bytes(&scene.left, &mut self.left);
        bytes(&scene.right, &mut self.right);
        self.best.iter_mut().for_each(|best| best.fill(&mut |_, _| f32::MAX));
        for shift in 0..=SHIFTS {
            self.differences(shift);
            self.add_up();
            self.windows();
            self.choose(shift);
        }
        self.agree();
        let mut found = Plane::with_room(WIDTH, HEIGHT, MOST);
        found.fill(&mut |x, y| median(&self.filled, x, y));
        found
    }

    fn differences(&mut self, shift: usize) {
        for y in 0..HEIGHT {
            let (left, right, to) = (self.left.row(y), self.right.row(y), self.difference.row_mut(y));
            for x in 0..WIDTH {
                to[x] = (left[x] - right[x.saturating_sub(shift)]).abs();
            }
        }
    }

    /// The summed table: at (x, y) the sum of all differences left of x and above y.
    fn add_up(&mut self) {
        for y in 0..HEIGHT {
            let mut along = 0.0;
            for x in 0..WIDTH {
                along += self.difference.get(x, y);
                let above = self.table.get(x + 1, y);
                self.table.set(x + 1, y + 1, above + along);
            }
        }
    }

    /// The mean difference of each window.
    fn windows(&mut self) {
        for y in 0..HEIGHT {
            let (top, bottom) = (y.saturating_sub(REACH), (y + REACH + 1).min(HEIGHT));
            for x in 0..WIDTH {
                let (left, right) = (x.saturating_sub(REACH), (x + REACH + 1).min(WIDTH));
                let corner = |x, y| self.table.get(x, y);
                let sum =
                    corner(right, bottom) + corner(left, top) - corner(left, bottom) - corner(right, top);
                self.sums.set(x, y, sum / ((right - left) * (bottom - top)) as f32);
            }
        }
    }

    /// Keeps the shift where it is better than those before, seen from the left frame and from the right one.
    fn choose(&mut self, shift: usize) {
        for y in 0..HEIGHT {
            for x in shift..WIDTH {
                let sum = self.sums.get(x, y);
                for (eye, x) in [(0, x), (1, x - shift)] {
                    if sum < self.best[eye].get(x, y) {
                        self.best[eye].set(x, y, sum);
                        self.shift[eye].set(x, y, shift as f32);
                    }
                }
            }
        }
    }

    /// Where the eyes disagree, a pixel is hidden from one of them: it is as far as what is farther beside it.
    fn agree(&mut self) {
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let shift = self.shift[0].get(x, y);
                let other = self.shift[1].get(x.saturating_sub(shift as usize), y);
                self.kept.set(x, y, if (shift - other).abs() <= 1.0 { shift } else { -1.0 });
            }
            let mut last = None;
            for x in 0..WIDTH {
                let kept = self.kept.get(x, y);
                let next = || (x..WIDTH).map(|x| self.kept.get(x, y)).find(|&kept| kept >= 0.0);
                let filled = match (kept >= 0.0, last) {
                    (true, _) => kept,
                    (false, Some(last)) => next().map_or(last, |next: f32| next.min(last)),
                    (false, None) => next().unwrap_or(0.0),
                };
                last = if kept >= 0.0 { Some(kept) } else { last };
                self.filled.set(x, y, filled);
            }
        }
    }
}

/// The median of nine pixels.
fn median(plane: &Plane, x: usize, y: usize) -> f32 {
    let mut nine = [0.0; 9];
    for (at, value) in nine.iter_mut().enumerate() {
        let (across, down) = (at as isize % 3 - 1, at as isize / 3 - 1);
        *value = plane.near(x as isize + across, y as isize + down);
    }
    nine.sort_unstable_by(f32::total_cmp);
    nine[4]
}

/// One pair of frames.
pub(crate) fn job() -> String {
    let scene = Scene::new(1);
    let found = Matcher::new().disparity(&scene);
    let right =
        found.pixels().iter().zip(scene.truth()).filter(|(found, truth)| **found == f32::from(**truth));
    format!("{} of {} pixels at their shift", right.count(), WIDTH * HEIGHT)
}
