//! Pictures of one channel.

use crate::random::Random;

/// A picture: numbers row by row.
#[derive(Clone, PartialEq, Debug)]
pub struct Plane {
    width: usize,
    height: usize,
    pixels: Vec<f32>,
}

impl Plane {
    /// A picture of zeros.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![0.0; width * height] }
    }

    /// A picture of zeros in memory for one of up to `most` pixels.
    pub fn with_room(width: usize, height: usize, most: usize) -> Self {
        let mut pixels = Vec::with_capacity(most.max(width * height));
        pixels.resize(width * height, 0.0);
        Self { width, height, pixels }
    }

    /// A picture of what `value` says of each column and row.
    pub fn of(width: usize, height: usize, mut value: impl FnMut(usize, usize) -> f32) -> Self {
        let mut plane = Self::new(width, height);
        plane.fill(&mut value);
        plane
    }

    /// Blotches about three pixels wide, from 0 to 255: something to be found again.
    pub fn blotches(width: usize, height: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut plane = Self::of(width, height, |_, _| random.unit() as f32);
        let mut other = Self::new(width, height);
        for _ in 0..2 {
            plane.smooth(&mut other);
        }
        let least = plane.pixels.iter().copied().fold(f32::MAX, f32::min);
        let most = plane.pixels.iter().copied().fold(f32::MIN, f32::max);
        let scale = 255.0 / (most - least).max(f32::EPSILON);
        plane.pixels.iter_mut().for_each(|pixel| *pixel = (*pixel - least) * scale);
        plane
    }

    /// Overwrites each pixel.
    pub fn fill(&mut self, value: &mut impl FnMut(usize, usize) -> f32) {
        for y in 0..self.height {
            for x in 0..self.width {
                self.pixels[y * self.width + x] = value(x, y);
            }
        }
    }

    /// Columns.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub const fn height(&self) -> usize {
        self.height
    }

    /// All pixels, row by row.
    pub fn pixels(&self) -> &[f32] {
        &self.pixels
    }

    /// A row.
    pub fn row(&self, y: usize) -> &[f32] {
        &self.pixels[y * self.width..(y + 1) * self.width]
    }

    /// A row, to be changed.
    pub fn row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.pixels[y * self.width..(y + 1) * self.width]
    }

    /// The pixel of a column and a row.
    pub fn get(&self, x: usize, y: usize) -> f32 {
        self.pixels[y * self.width + x]
    }

    /// Changes a pixel.
    pub fn set(&mut self, x: usize, y: usize, value: f32) {
        self.pixels[y * self.width + x] = value;
    }

    /// The nearest pixel of a place that may lie outside.
    pub fn near(&self, x: isize, y: isize) -> f32 {
        let within = |at: isize, size: usize| at.clamp(0, size as isize - 1) as usize;
        self.get(within(x, self.width), within(y, self.height))
    }

    /// The value between four pixels.
    pub fn between(&self, x: f32, y: f32) -> f32 {
        let (left, top) = (x.floor(), y.floor());
        let (across, down) = (x - left, y - top);
        let (left, top) = (left as isize, top as isize);
        let of = |y| (1.0 - across) * self.near(left, y) + across * self.near(left + 1, y);
        (1.0 - down) * of(top) + down * of(top + 1)
    }

    /// Smooths by 1 4 6 4 1 in both directions; `other` is of the same size.
    pub fn smooth(&mut self, other: &mut Self) {
        let sum = |a: f32, b: f32, c: f32, d: f32, e: f32| (a + e + 4.0 * (b + d) + 6.0 * c) / 16.0;
        let last = self.width.saturating_sub(1);
        for y in 0..self.height {
            let (from, to) = (self.row(y), other.row_mut(y));
            for x in 0..=last {
                let at = |left: usize, right: usize| from[(x + right).saturating_sub(left).min(last)];
                to[x] = sum(at(2, 0), at(1, 0), at(0, 0), at(0, 1), at(0, 2));
            }
        }
        let last = self.height.saturating_sub(1);
        for y in 0..=last {
            let row = |up: usize, down: usize| other.row((y + down).saturating_sub(up).min(last));
            let (a, b, c, d, e) = (row(2, 0), row(1, 0), row(0, 0), row(0, 1), row(0, 2));
            let to = &mut self.pixels[y * self.width..(y + 1) * self.width];
            for (x, to) in to.iter_mut().enumerate() {
                *to = sum(a[x], b[x], c[x], d[x], e[x]);
            }
        }
    }

    /// Every second pixel of every second row, into a picture of half the size.
    pub fn halve(&self, half: &mut Self) {
        half.fill(&mut |x, y| self.get((2 * x).min(self.width - 1), (2 * y).min(self.height - 1)));
    }

    /// Slopes along rows and along columns, into pictures of the same size.
    pub fn slopes(&self, across: &mut Self, down: &mut Self) {
        for y in 0..self.height as isize {
            for x in 0..self.width as isize {
                let slope_x = (self.near(x + 1, y) - self.near(x - 1, y)) / 2.0;
                let slope_y = (self.near(x, y + 1) - self.near(x, y - 1)) / 2.0;
                across.set(x as usize, y as usize, slope_x);
                down.set(x as usize, y as usize, slope_y);
            }
        }
    }
}
