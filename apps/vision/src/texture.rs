//! Texture synthesis (Ashikhmin 2001): a large picture is made pixel by pixel of pixels of a small one. Of the pixels that would go on
//! with what stands left and above, it takes the one whose own surroundings fit best.

use crate::plane::Plane;
use crate::random::Random;

/// The side of the small, square picture.
pub const SAMPLE: usize = 64;
/// Columns of the large picture.
pub const WIDTH: usize = 352;
/// Rows.
pub const HEIGHT: usize = 288;
/// Pixels that are known when one is chosen: left and above.
const KNOWN: [(isize, isize); 4] = [(-1, 0), (-1, -1), (0, -1), (1, -1)];

/// The sample, in three colors.
pub type Sample = [Plane; 3];

/// What is made.
#[derive(Clone, Debug)]
pub struct Texture {
    colors: [Plane; 3],
    /// Where in the sample each pixel is from: row times [`SAMPLE`] and column.
    from: Vec<u32>,
}

impl Texture {
    /// Where in the sample a pixel is from: its column and row there.
    pub fn from(&self, x: usize, y: usize) -> (usize, usize) {
        let place = self.from[y * WIDTH + x] as usize;
        (place % SAMPLE, place / SAMPLE)
    }

    /// A pixel's three colors.
    pub fn pixel(&self, x: usize, y: usize) -> [f32; 3] {
        [0, 1, 2].map(|color: usize| self.colors[color].get(x, y))
    }

    /// Makes a picture of a sample.
    pub fn new(sample: &Sample, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let blank = || Plane::new(WIDTH, HEIGHT);
        let mut made = Self { colors: [blank(), blank(), blank()], from: vec![0; WIDTH * HEIGHT] };
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let place = made.best(sample, x, y, &mut random);
                made.from[y * WIDTH + x] = place as u32;
                for (color, from) in made.colors.iter_mut().zip(sample) {
                    color.set(x, y, from.get(place % SAMPLE, place / SAMPLE));
                }
            }
        }
        made
    }

    /// The place in the sample whose surroundings fit best at a pixel.
    fn best(&self, sample: &Sample, x: usize, y: usize, random: &mut Random) -> usize {
        // Mostly all neighbors come from one piece of the sample, and there is one candidate.
        let (mut candidates, mut count) = ([0; KNOWN.len()], 0);
        for (across, down) in KNOWN {
            let Some(known) = beside(x, y, across, down, WIDTH, HEIGHT) else { continue };
            let from = self.from[known.1 * WIDTH + known.0] as usize;
            // The pixel as far from that one in the sample as this is from it here.
            let Some((a, b)) = beside(from % SAMPLE, from / SAMPLE, -across, -down, SAMPLE, SAMPLE) else {
                continue;
            };
            let place = b * SAMPLE + a;
            if !candidates[..count].contains(&place) {
                candidates[count] = place;
                count += 1;
            }
        }
        let unlike = |&place: &usize| self.unlike(sample, (x, y), (place % SAMPLE, place / SAMPLE));
        let best = match &candidates[..count] {
            [only] => Some(*only),
            several => several
                .iter()
                .map(|place| (unlike(place), *place))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, place)| place),
        };
        // Beyond the sample's edge nothing goes on.
        best.unwrap_or_else(|| random.below(SAMPLE * SAMPLE))
    }

    /// How unlike the known pixels at a place here and at one of the sample are.
    fn unlike(&self, sample: &Sample, (x, y): (usize, usize), (a, b): (usize, usize)) -> f32 {
        let mut sum = 0.0;
        for (across, down) in KNOWN {
            let Some((here_x, here_y)) = beside(x, y, across, down, WIDTH, HEIGHT) else { continue };
            let Some((there_x, there_y)) = beside(a, b, across, down, SAMPLE, SAMPLE) else {
                // What the sample does not show is as unlike as can be.
                sum += 3.0 * 255.0 * 255.0;
                continue;
            };
            for (made, given) in self.colors.iter().zip(sample) {
                let off = made.get(here_x, here_y) - given.get(there_x, there_y);
                sum += off * off;
            }
        }
        sum
    }
}

/// The pixel beside another; `None` outside.
fn beside(
    x: usize,
    y: usize,
    across: isize,
    down: isize,
    width: usize,
    height: usize,
) -> Option<(usize, usize)> {
    let (x, y) = (x.checked_add_signed(across)?, y.checked_add_signed(down)?);
    (x < width && y < height).then_some((x, y))
}

/// A wall of bricks, eight rows of them, each a little different.
pub fn bricks(seed: u64) -> Sample {
    let noise = Plane::blotches(SAMPLE, SAMPLE, seed);
    let shade = |scale: f32, joint: f32| {
        Plane::of(SAMPLE, SAMPLE, |x, y| {
            let shifted = x + if y / 8 % 2 == 0 { 0 } else { 8 };
            if y % 8 == 0 || shifted % 16 == 0 { joint } else { scale * (180.0 + noise.get(x, y) / 8.0) }
        })
    };
    [shade(1.0, 200.0), shade(0.5, 195.0), shade(0.4, 190.0)]
}

/// One picture.
pub(crate) fn job() -> String {
    let made = Texture::new(&bricks(13), 1);
    let goes_on = |x: usize, y: usize| {
        let ((a, b), (c, d)) = (made.from(x - 1, y), made.from(x, y));
        a + 1 == c && b == d
    };
    let on =
        (0..HEIGHT).flat_map(|y| (1..WIDTH).map(move |x| (x, y))).filter(|&(x, y)| goes_on(x, y)).count();
    format!("{} of {} pixels go on with the one before", on, HEIGHT * (WIDTH - 1))
}
