//! Monte Carlo localization: a particle filter that follows a robot by its steps and by distances to known landmarks.

use crate::random::Random;

/// How many places are held possible at once.
pub const PARTICLES: usize = 3500;
/// Steps of the robot.
pub const STEPS: usize = 8;
/// The side of the square room, in meters.
pub const ROOM: f64 = 10.0;
/// The deviation of a measured distance, in meters.
const NOISE: f64 = 0.1;
/// Landmarks.
const LANDMARKS: [(f64, f64); 8] =
    [(0.0, 0.0), (10.0, 1.0), (9.0, 10.0), (1.0, 9.0), (5.0, 0.5), (9.5, 5.5), (4.0, 9.5), (0.5, 5.0)];

/// Where something is, and the direction that it faces as a unit vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pose {
    /// Meters from the left wall.
    pub x: f64,
    /// Meters from the lower wall.
    pub y: f64,
    /// The direction's part along x.
    pub along: f64,
    /// Its part along y.
    pub up: f64,
}

impl Pose {
    /// A turn by a small angle, and a step ahead.
    fn moved(self, turn: f64, ahead: f64) -> Self {
        let (along, up) = (self.along - turn * self.up, self.up + turn * self.along);
        let length = (along * along + up * up).sqrt();
        let (along, up) = (along / length, up / length);
        Self { x: self.x + ahead * along, y: self.y + ahead * up, along, up }
    }

    fn distance(&self, (x, y): (f64, f64)) -> f64 {
        ((self.x - x) * (self.x - x) + (self.y - y) * (self.y - y)).sqrt()
    }
}

/// The particles: a list for each part of a pose.
#[derive(Clone, Debug)]
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    along: Vec<f64>,
    up: Vec<f64>,
}

impl Cloud {
    fn new() -> Self {
        let zeros = || vec![0.0; PARTICLES];
        Self { x: zeros(), y: zeros(), along: zeros(), up: zeros() }
    }

    fn get(&self, at: usize) -> Pose {
        Pose { x: self.x[at], y: self.y[at], along: self.along[at], up: self.up[at] }
    }

    fn set(&mut self, at: usize, pose: Pose) {
        (self.x[at], self.y[at]) = (pose.x, pose.y);
        (self.along[at], self.up[at]) = (pose.along, pose.up);
    }
}

/// A filter that begins without any idea where the robot is.
#[derive(Clone, Debug)]
pub struct Filter {
    cloud: Cloud,
    next: Cloud,
    weights: Vec<f64>,
    sums: Vec<f64>,
    random: Random,
}

impl Filter {
    /// Particles all over the room, in all directions.
    pub fn new(seed: u64) -> Self {
        let mut filter = Self {
            cloud: Cloud::new(),
            next: Cloud::new(),
            weights: vec![0.0; PARTICLES],
            sums: vec![0.0; PARTICLES],
            random: Random::new(seed),
        };
        for at in 0..PARTICLES {
            let mut draw = || filter.random.unit();
            let (x, y) = (draw() * ROOM, draw() * ROOM);
            let (along, up) = (2.0 * draw() - 1.0, 2.0 * draw() - 1.0);
            let length = (along * along + up * up).sqrt().max(1e-9);
            filter.cloud.set(at, Pose { x, y, along: along / length, up: up / length });
        }
        filter
    }

    /// The robot was told to turn and go ahead, and measured these distances.
    pub fn step(&mut self, turn: f64, ahead: f64, distances: &[f64]) {
        for at in 0..PARTICLES {
            let turn = turn + 0.05 * self.random.normal();
            let ahead = ahead + 0.05 * self.random.normal();
            let moved = self.cloud.get(at).moved(turn, ahead);
            self.cloud.set(at, moved);
        }
        for at in 0..PARTICLES {
            let pose = self.cloud.get(at);
            // Of a distribution with thick tails: a place that fits all but one distance is not ruled out.
            let fit = |weight: f64, (landmark, measured): (&(f64, f64), &f64)| {
                let off = (pose.distance(*landmark) - measured) / (3.0 * NOISE);
                weight / (1.0 + off * off)
            };
            self.weights[at] = LANDMARKS.iter().zip(distances).fold(1.0, fit);
        }
        self.draw_again();
    }

    /// Draws particles by their weights, all with one random number (systematic resampling).
    fn draw_again(&mut self) {
        let mut sum = 0.0;
        for at in 0..PARTICLES {
            sum += self.weights[at];
            self.sums[at] = sum;
        }
        let (first, mut from) = (self.random.unit(), 0);
        for at in 0..PARTICLES {
            let wanted = (at as f64 + first) / PARTICLES as f64 * sum;
            while from + 1 < PARTICLES && self.sums[from] < wanted {
                from += 1;
            }
            self.next.set(at, self.cloud.get(from));
        }
        std::mem::swap(&mut self.cloud, &mut self.next);
    }

    /// The mean of all particles.
    pub fn estimate(&self) -> Pose {
        let mean = |list: &[f64]| list.iter().sum::<f64>() / PARTICLES as f64;
        let Cloud { x, y, along, up } = &self.cloud;
        Pose { x: mean(x), y: mean(y), along: mean(along), up: mean(up) }
    }
}

/// Lets a robot walk an arc and follows it; where it is, and where it is believed to be.
pub fn walk(seed: u64) -> (Pose, Pose) {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut robot = Pose { x: 2.0, y: 2.5, along: 1.0, up: 0.0 };
    let mut filter = Filter::new(seed);
    for _ in 0..STEPS {
        robot = robot.moved(0.12, 0.4);
        let distances = LANDMARKS.map(|landmark| robot.distance(landmark) + NOISE * random.normal());
        filter.step(0.12, 0.4, &distances);
    }
    (robot, filter.estimate())
}

/// One walk.
pub(crate) fn job() -> String {
    let (robot, believed) = walk(1);
    let off = believed.distance((robot.x, robot.y));
    format!("{:.2} m off after {STEPS} steps", off)
}
