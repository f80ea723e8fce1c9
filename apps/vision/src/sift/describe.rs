//! What is around a feature: the direction of most slopes, and slopes by place and direction.

use crate::math::{angle, direction, falling};
use crate::plane::Plane;
use std::f32::consts::PI;

/// Directions that are told apart to find the one of most slopes.
const BINS: usize = 36;
/// Squares across a description.
const SQUARES: usize = 4;
/// Directions of each.
const DIRECTIONS: usize = 8;

/// The slopes of a level: how steep, and which way.
pub(super) struct Slopes {
    steep: Plane,
    way: Plane,
}

impl Slopes {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { steep: Plane::new(width, height), way: Plane::new(width, height) }
    }

    /// Takes the slopes of a picture.
    pub(super) fn take(&mut self, picture: &Plane) {
        for y in 0..picture.height() as isize {
            for x in 0..picture.width() as isize {
                let across = picture.near(x + 1, y) - picture.near(x - 1, y);
                let down = picture.near(x, y + 1) - picture.near(x, y - 1);
                self.steep.set(x as usize, y as usize, (across * across + down * down).sqrt());
                self.way.set(x as usize, y as usize, angle(down, across));
            }
        }
    }

    /// The pixels not farther than `reach` from a place, with their distances across and down.
    fn around(&self, (x, y): (f32, f32), reach: f32) -> impl Iterator<Item = (usize, usize, f32, f32)> {
        let range = |at: f32, size: usize| {
            let first = (at - reach).max(0.0) as usize;
            first..((at + reach) as usize + 1).min(size)
        };
        let columns = range(x, self.steep.width());
        let rows = range(y, self.steep.height());
        rows.flat_map(move |row| {
            columns.clone().map(move |column| (column, row, column as f32 - x, row as f32 - y))
        })
    }

    /// The direction in which most slopes around a place rise.
    pub(super) fn angle(&self, x: f32, y: f32, size: f32) -> f32 {
        let deviation = 1.5 * size;
        let mut bins = [0.0_f32; BINS];
        for (column, row, across, down) in self.around((x, y), 3.0 * deviation) {
            let weight = falling((across * across + down * down) / (2.0 * deviation * deviation));
            let turn = (self.way.get(column, row) + PI) / (2.0 * PI) * BINS as f32;
            bins[turn as usize % BINS] += weight * self.steep.get(column, row);
        }
        for _ in 0..4 {
            let before = bins;
            for at in 0..BINS {
                bins[at] = (before[(at + BINS - 1) % BINS] + before[at] + before[(at + 1) % BINS]) / 3.0;
            }
        }
        let best = (0..BINS).max_by(|&a, &b| bins[a].total_cmp(&bins[b])).unwrap_or(0);
        let off = super::peak(bins[(best + BINS - 1) % BINS], bins[best], bins[(best + 1) % BINS]);
        (best as f32 + 0.5 + off) / BINS as f32 * 2.0 * PI - PI
    }

    /// Slopes by place and direction, both seen from the feature's own direction.
    pub(super) fn description(&self, place: (f32, f32), size: f32, turned: f32) -> Vec<f32> {
        let square = 3.0 * size;
        let reach = square * (SQUARES as f32 + 1.0) / 2.0 * std::f32::consts::SQRT_2;
        let (cosine, sine) = direction(turned);
        let mut found = vec![0.0; SQUARES * SQUARES * DIRECTIONS];
        for (column, row, across, down) in self.around(place, reach) {
            let along = (cosine * across + sine * down) / square;
            let aside = (cosine * down - sine * across) / square;
            let half = SQUARES as f32 / 2.0;
            let (bin_x, bin_y) = (along + half - 0.5, aside + half - 0.5);
            if bin_x <= -1.0 || bin_y <= -1.0 || bin_x >= SQUARES as f32 || bin_y >= SQUARES as f32 {
                continue;
            }
            let weight = falling((along * along + aside * aside) / (2.0 * half * half));
            let turn = (self.way.get(column, row) - turned + 4.0 * PI) / (2.0 * PI) * DIRECTIONS as f32;
            share(&mut found, (bin_x, bin_y, turn), weight * self.steep.get(column, row));
        }
        normalize(&mut found);
        // One strong edge is not all that counts.
        found.iter_mut().for_each(|value| *value = value.min(0.2));
        normalize(&mut found);
        found
    }
}

/// Gives a slope to the eight nearest places and directions, by how near they are.
fn share(found: &mut [f32], (x, y, turn): (f32, f32, f32), steep: f32) {
    let (left, top, first) = (x.floor(), y.floor(), turn.floor());
    for (down, part_y) in [(0, 1.0 - (y - top)), (1, y - top)] {
        for (across, part_x) in [(0, 1.0 - (x - left)), (1, x - left)] {
            let (column, row) = (left as isize + across, top as isize + down);
            let within = |at: isize| (0..SQUARES as isize).contains(&at);
            if !within(column) || !within(row) {
                continue;
            }
            for (more, part) in [(0, 1.0 - (turn - first)), (1, turn - first)] {
                let bin = (first as usize + more) % DIRECTIONS;
                let at = (row as usize * SQUARES + column as usize) * DIRECTIONS + bin;
                found[at] += steep * part_x * part_y * part;
            }
        }
    }
}

fn normalize(list: &mut [f32]) {
    let length = list.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    list.iter_mut().for_each(|value| *value /= length);
}
