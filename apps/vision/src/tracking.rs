//! Feature tracking by Kanade, Lucas and Tomasi (Lucas and Kanade 1981): corners are chosen by the smaller eigenvalue of their gradients' products, and followed
//! from one frame into the next by Gauss-Newton steps, coarse to fine.

use crate::plane::Plane;

/// Columns of the frames.
pub const WIDTH: usize = 136;
/// Rows.
pub const HEIGHT: usize = 104;
/// Corners that are followed at most.
pub const FEATURES: usize = 32;
/// Corners are at least so many pixels apart, and from the border.
const APART: usize = 8;
/// The window reaches so far to each side.
const REACH: isize = 3;
/// Steps at each level.
const STEPS: usize = 6;

/// A frame in two sizes, smoothed, with its slopes.
struct Level {
    picture: Plane,
    across: Plane,
    down: Plane,
}

struct Pyramid([Level; 2]);

impl Pyramid {
    fn new(frame: &[u8]) -> Self {
        let level = |width, height| Level {
            picture: Plane::new(width, height),
            across: Plane::new(width, height),
            down: Plane::new(width, height),
        };
        let mut levels = [level(WIDTH, HEIGHT), level(WIDTH / 2, HEIGHT / 2)];
        let mut other = Plane::new(WIDTH, HEIGHT);
        levels[0].picture.fill(&mut |x, y| f32::from(frame[y * WIDTH + x]));
        levels[0].picture.smooth(&mut other);
        let [whole, half] = &mut levels;
        whole.picture.halve(&mut half.picture);
        for Level { picture, across, down } in &mut levels {
            picture.slopes(across, down);
        }
        Self(levels)
    }
}

/// A corner, and where it went.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Track {
    /// The corner's column.
    pub x: usize,
    /// Its row.
    pub y: usize,
    /// How far it went along rows, in pixels.
    pub across: f32,
    /// How far down.
    pub down: f32,
}

/// Follows corners of one frame into the next; frames are [`WIDTH`] times [`HEIGHT`] bytes.
pub fn follow(first: &[u8], second: &[u8]) -> Vec<Track> {
    let (first, second) = (Pyramid::new(first), Pyramid::new(second));
    let corners = corners(&first.0[0]);
    let follow = |&(x, y): &(usize, usize)| {
        let mut moved = (0.0, 0.0);
        for (level, scale) in [(1, 2.0), (0, 1.0)] {
            let at = (x as f32 / scale, y as f32 / scale);
            let start = (moved.0 / scale, moved.1 / scale);
            let found = refine(&first.0[level], &second.0[level].picture, at, start)?;
            moved = (found.0 * scale, found.1 * scale);
        }
        Some(Track { x, y, across: moved.0, down: moved.1 })
    };
    corners.iter().filter_map(follow).collect()
}

/// The best corners, the best first.
fn corners(level: &Level) -> Vec<(usize, usize)> {
    let product = |one: &Plane, other: &Plane| {
        let mut product = Plane::of(WIDTH, HEIGHT, |x, y| one.get(x, y) * other.get(x, y));
        let mut between = Plane::new(WIDTH, HEIGHT);
        product.smooth(&mut between);
        product
    };
    let Level { across, down, .. } = level;
    let (xx, xy, yy) = (product(across, across), product(across, down), product(down, down));
    let least = Plane::of(WIDTH, HEIGHT, |x, y| {
        let (a, b, c) = (xx.get(x, y), xy.get(x, y), yy.get(x, y));
        (a + c - ((a - c) * (a - c) + 4.0 * b * b).sqrt()) / 2.0
    });
    let mut ranked: Vec<(f32, u32)> = Vec::with_capacity(WIDTH * HEIGHT);
    for y in APART..HEIGHT - APART {
        for x in APART..WIDTH - APART {
            ranked.push((least.get(x, y), (y * WIDTH + x) as u32));
        }
    }
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<(usize, usize)> = Vec::with_capacity(FEATURES);
    for (_, at) in ranked {
        let (x, y) = (at as usize % WIDTH, at as usize / WIDTH);
        if chosen.iter().all(|&(a, b)| x.abs_diff(a).max(y.abs_diff(b)) >= APART) {
            chosen.push((x, y));
        }
        if chosen.len() == FEATURES {
            break;
        }
    }
    chosen
}

/// Moves the window in the second picture until it looks like the one in the first; `None` where it has no corner.
fn refine(first: &Level, second: &Plane, (x, y): (f32, f32), start: (f32, f32)) -> Option<(f32, f32)> {
    let window =
        || (-REACH..=REACH).flat_map(|down| (-REACH..=REACH).map(move |across| (across as f32, down as f32)));
    let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
    for (across, down) in window() {
        let (gx, gy) = (first.across.between(x + across, y + down), first.down.between(x + across, y + down));
        a += gx * gx;
        b += gx * gy;
        c += gy * gy;
    }
    let determinant = a * c - b * b;
    if determinant < 1e-3 {
        return None;
    }
    let (mut u, mut v) = start;
    for _ in 0..STEPS {
        let (mut e, mut f) = (0.0, 0.0);
        for (across, down) in window() {
            let (px, py) = (x + across, y + down);
            let off = first.picture.between(px, py) - second.between(px + u, py + v);
            e += off * first.across.between(px, py);
            f += off * first.down.between(px, py);
        }
        let (step_x, step_y) = ((c * e - b * f) / determinant, (a * f - b * e) / determinant);
        u += step_x;
        v += step_y;
        if step_x * step_x + step_y * step_y < 1e-4 {
            break;
        }
    }
    Some((u, v))
}

/// Two frames; in the second everything has moved by so many pixels.
pub fn frames(seed: u64, across: f32, down: f32) -> [Vec<u8>; 2] {
    let world = Plane::blotches(WIDTH + 32, HEIGHT + 32, seed);
    let seen = |dx: f32, dy: f32| {
        let mut frame = Vec::with_capacity(WIDTH * HEIGHT);
        for y in 0..HEIGHT {
            let at = |x: usize| world.between(x as f32 + 16.0 - dx, y as f32 + 16.0 - dy);
            frame.extend((0..WIDTH).map(|x| at(x).round() as u8));
        }
        frame
    };
    [seen(0.0, 0.0), seen(across, down)]
}

/// Two frames of a camera that moves.
pub(crate) fn job() -> String {
    let [first, second] = frames(5, 2.5, -1.25);
    let tracks = follow(&first, &second);
    let near = |track: &&Track| (track.across - 2.5).abs() < 0.25 && (track.down + 1.25).abs() < 0.25;
    format!("{} of {} corners followed", tracks.iter().filter(near).count(), tracks.len())
}
