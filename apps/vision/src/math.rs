//! Functions from arithmetic alone: the same bits with every C library, and no library to load.

use std::f32::consts::PI;

/// `e^-x` for `x` of 0 or more, to a millionth.
pub fn falling(x: f32) -> f32 {
    if x > 80.0 {
        return 0.0;
    }
    // e^-x = (e^(-x / 1024))^1024, and so near 0 four terms of the series are enough.
    let small = -f64::from(x) / 1024.0;
    let mut power = 1.0 + small * (1.0 + small / 2.0 * (1.0 + small / 3.0));
    for _ in 0..10 {
        power *= power;
    }
    power as f32
}

/// The angle of a direction, from -pi to pi, to about five digits.
pub fn angle(y: f32, x: f32) -> f32 {
    let (least, most) = if x.abs() < y.abs() { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    if most == 0.0 {
        return 0.0;
    }
    let z = least / most;
    let s = z * z;
    let octant = z * (0.999_866 - s * (0.330_299_5 - s * (0.180_141 - s * (0.085_133 - s * 0.020_835_1))));
    let quarter = if x.abs() < y.abs() { PI / 2.0 - octant } else { octant };
    let half = if x < 0.0 { PI - quarter } else { quarter };
    if y < 0.0 { -half } else { half }
}

/// The direction of an angle from -2 pi to 2 pi: its cosine and its sine, to about five digits.
pub fn direction(angle: f32) -> (f32, f32) {
    // Of a small angle three terms are enough, and then it is doubled.
    let t = angle / 16.0;
    let (mut cosine, mut sine) =
        (1.0 - t * t / 2.0 * (1.0 - t * t / 12.0), t * (1.0 - t * t / 6.0 * (1.0 - t * t / 20.0)));
    for _ in 0..4 {
        (cosine, sine) = (cosine * cosine - sine * sine, 2.0 * sine * cosine);
    }
    (cosine, sine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential_function() {
        for step in 0..800 {
            let x = step as f32 / 10.0;
            let known = (-f64::from(x)).exp();
            assert!((f64::from(falling(x)) - known).abs() <= 1e-6, "{x}");
        }
        assert_eq!(falling(1000.0), 0.0);
    }

    #[test]
    fn angles_and_directions_are_those_of_the_circle() {
        for step in -628..=628 {
            let known = step as f32 / 100.0;
            let (cosine, sine) = direction(known);
            assert!((cosine - known.cos()).abs() < 1e-4 && (sine - known.sin()).abs() < 1e-4, "{known}");
            let off = (angle(3.0 * sine, 3.0 * cosine) - known.sin().atan2(known.cos())).abs();
            assert!(off < 1e-4 || (2.0 * PI - off) < 1e-4, "{known}");
        }
        assert_eq!(angle(0.0, 0.0), 0.0);
    }
}
