//! Normalized cuts (Shi and Malik 2000), several of them: pixels are nodes, likeness is the weight of an edge, and a segment is cut
//! where the second eigenvector of its normalized matrix changes sign. The eigenvector comes from repeated products of a sparse matrix
//! and a vector.

use crate::math::falling;
use crate::plane::Plane;

/// Columns of the picture.
pub const WIDTH: usize = 44;
/// Rows.
pub const HEIGHT: usize = 33;
/// Segments that are made.
pub const SEGMENTS: u8 = 4;
/// Edges reach so far in each direction.
const REACH: usize = 2;
/// Products for each cut.
const PRODUCTS: usize = 7;

/// A symmetric matrix: of each row the columns and weights that are not zero.
struct Sparse {
    begins: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f32>,
}

impl Sparse {
    /// The likeness of near pixels: by brightness, and by distance.
    fn of(picture: &[f32]) -> Self {
        let most = WIDTH * HEIGHT * (2 * REACH + 1) * (2 * REACH + 1);
        let mut matrix =
            Self { begins: vec![0], columns: Vec::with_capacity(most), weights: Vec::with_capacity(most) };
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                for other_y in y.saturating_sub(REACH)..(y + REACH + 1).min(HEIGHT) {
                    for other_x in x.saturating_sub(REACH)..(x + REACH + 1).min(WIDTH) {
                        let off = (picture[y * WIDTH + x] - picture[other_y * WIDTH + other_x]) / 25.0;
                        let far = (x.abs_diff(other_x).pow(2) + y.abs_diff(other_y).pow(2)) as f32 / 16.0;
                        matrix.columns.push((other_y * WIDTH + other_x) as u32);
                        matrix.weights.push(falling(off * off + far));
                    }
                }
                matrix.begins.push(matrix.columns.len() as u32);
            }
        }
        matrix
    }

    /// The edges of a row.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let range = self.begins[row] as usize..self.begins[row + 1] as usize;
        self.columns[range.clone()]
            .iter()
            .zip(&self.weights[range])
            .map(|(&column, &weight)| (column as usize, weight))
    }
}

/// The segment of each pixel of a picture of [`WIDTH`] times [`HEIGHT`].
pub fn segments(picture: &[f32]) -> Vec<u8> {
    let matrix = Sparse::of(picture);
    let mut labels = vec![0_u8; picture.len()];
    let mut cutter = Cutter {
        degrees: labels.iter().map(|_| 0.0).collect(),
        from: picture.to_vec(),
        to: picture.to_vec(),
    };
    for next in 1..SEGMENTS {
        let size = |label: &u8| labels.iter().filter(|other| *other == label).count();
        let largest = (0..next).max_by_key(|label| (size(label), u8::MAX - label)).unwrap_or(0);
        cutter.cut(&matrix, picture, &mut labels, (largest, next));
    }
    labels
}

/// What a cut needs.
struct Cutter {
    /// The square root of the sum of each pixel's weights within the segment.
    degrees: Vec<f32>,
    from: Vec<f32>,
    to: Vec<f32>,
}

impl Cutter {
    /// Gives a part of one segment the next label.
    fn cut(&mut self, matrix: &Sparse, picture: &[f32], labels: &mut [u8], (segment, next): (u8, u8)) {
        for at in 0..labels.len() {
            let own = labels[at] == segment;
            let inner = matrix.row(at).filter(|&(column, _)| labels[column] == segment);
            self.degrees[at] = if own { inner.map(|(_, weight)| weight).sum::<f32>().sqrt() } else { 0.0 };
            // Brightness is a first guess.
            self.from[at] = self.degrees[at] * picture[at];
        }
        for _ in 0..PRODUCTS {
            self.without_first();
            self.product(matrix, labels, segment);
            std::mem::swap(&mut self.from, &mut self.to);
        }
        self.without_first();
        for (at, label) in labels.iter_mut().enumerate() {
            if *label == segment && self.from[at] > 0.0 {
                *label = next;
            }
        }
    }

    /// Takes out the first eigenvector, which is the square root of the degrees, and scales to length 1.
    fn without_first(&mut self) {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let along = dot(&self.from, &self.degrees) / dot(&self.degrees, &self.degrees).max(f32::MIN_POSITIVE);
        self.from.iter_mut().zip(&self.degrees).for_each(|(value, degree)| *value -= along * degree);
        let length = dot(&self.from, &self.from).sqrt().max(f32::MIN_POSITIVE);
        self.from.iter_mut().for_each(|value| *value /= length);
    }

    /// The product of the normalized matrix, moved so that no eigenvalue is negative, and the vector.
    fn product(&mut self, matrix: &Sparse, labels: &[u8], segment: u8) {
        for at in 0..labels.len() {
            if labels[at] != segment {
                self.to[at] = 0.0;
                continue;
            }
            let mut sum = 0.0;
            for (column, weight) in matrix.row(at) {
                if labels[column] == segment {
                    sum += weight * self.from[column] / self.degrees[column];
                }
            }
            self.to[at] = (self.from[at] + sum / self.degrees[at]) / 2.0;
        }
    }
}

/// Four quarters of different brightness, and which quarter each pixel is in.
pub fn scene(seed: u64) -> (Vec<f32>, Vec<u8>) {
    let noise = Plane::blotches(WIDTH, HEIGHT, seed);
    let (mut picture, mut truth) = (Vec::new(), Vec::new());
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let quarter = u8::from(x >= 20) + 2 * u8::from(y >= 17);
            truth.push(quarter);
            picture.push([40.0, 110.0, 170.0, 240.0][usize::from(quarter)] + noise.get(x, y) / 20.0);
        }
    }
    (picture, truth)
}

/// Pixels whose segment is that of most of their quarter, each segment given to one quarter.
pub fn agreeing(labels: &[u8], truth: &[u8]) -> usize {
    let mut counts = [[0_usize; SEGMENTS as usize]; SEGMENTS as usize];
    for (&label, &quarter) in labels.iter().zip(truth) {
        counts[usize::from(quarter)][usize::from(label)] += 1;
    }
    let (mut taken, mut sum) = ([false; SEGMENTS as usize], 0);
    for row in &counts {
        let free = (0..row.len()).filter(|&label| !taken[label]);
        if let Some(best) = free.max_by_key(|&label| row[label]) {
            taken[best] = true;
            sum += row[best];
        }
    }
    sum
}

/// One picture.
pub(crate) fn job() -> String {
    let (picture, truth) = scene(7);
    let labels = segments(&picture);
    format!("{} of {} pixels in their quarter", agreeing(&labels, &truth), truth.len())
}
