//! What each kernel finds, held against what its input was made of.

use solo_vision::plane::Plane;
use solo_vision::{Kernel, disparity, localization, mser, ncut, sift, texture, tracking};

#[test]
fn disparity_is_the_known_shift() {
    for seed in [1, 2, 3] {
        let scene = disparity::Scene::new(seed);
        let found = disparity::Matcher::new().disparity(&scene);
        // At the frame's left nothing is seen by both eyes.
        let (mut right, mut all) = (0, 0);
        for y in 0..disparity::HEIGHT {
            for x in disparity::SHIFTS..disparity::WIDTH {
                all += 1;
                right += usize::from(found.get(x, y) == f32::from(scene.truth()[y * disparity::WIDTH + x]));
            }
        }
        assert!(right * 100 >= all * 95, "seed {seed}: {right} of {all}");
    }
}

#[test]
fn a_robot_that_begins_anywhere_is_found() {
    for seed in 1..=5 {
        let (robot, believed) = localization::walk(seed);
        let off = ((robot.x - believed.x).powi(2) + (robot.y - believed.y).powi(2)).sqrt();
        assert!(off < 0.2, "seed {seed}: {off} m off");
        assert!(
            robot.along * believed.along + robot.up * believed.up > 0.95,
            "seed {seed}: it looks elsewhere"
        );
    }
    // Before it has measured anything it could be anywhere.
    let middle = localization::Filter::new(1).estimate();
    assert!(
        (middle.x - localization::ROOM / 2.0).abs() < 0.3
            && (middle.y - localization::ROOM / 2.0).abs() < 0.3
    );
}

/// Dark things and bright ones, each with its area to the pixel, and nothing else.
#[test]
fn regions_are_the_things_in_the_picture() {
    let (picture, areas) = mser::scene();
    let found = mser::regions(&picture);
    let mut dark: Vec<u32> = found.iter().filter(|region| !region.bright).map(|region| region.area).collect();
    let mut bright: Vec<u32> =
        found.iter().filter(|region| region.bright).map(|region| region.area).collect();
    let (mut discs, mut squares) = (areas[..3].to_vec(), areas[3..].to_vec());
    for list in [&mut dark, &mut bright, &mut discs, &mut squares] {
        list.sort_unstable();
    }
    assert_eq!((dark, bright), (discs, squares));
}

/// The regions of a picture are those of a flood from each pixel, written from the definition.
#[test]
fn every_region_is_what_a_flood_from_its_pixel_covers() {
    let (picture, _) = mser::scene();
    let inverted: Vec<u8> = picture.iter().map(|pixel| 255 - pixel).collect();
    for region in mser::regions(&picture) {
        let values = if region.bright { &inverted } else { &picture };
        let (mut seen, mut open, mut area) = (vec![false; values.len()], vec![region.pixel], 0);
        seen[region.pixel] = true;
        while let Some(at) = open.pop() {
            area += 1;
            let (x, y) = (at % mser::WIDTH, at / mser::WIDTH);
            let beside = [
                (x > 0).then(|| at - 1),
                (x + 1 < mser::WIDTH).then(|| at + 1),
                (y > 0).then(|| at - mser::WIDTH),
                (y + 1 < mser::HEIGHT).then(|| at + mser::WIDTH),
            ];
            for other in beside.into_iter().flatten() {
                if !seen[other] && values[other] <= region.level {
                    seen[other] = true;
                    open.push(other);
                }
            }
        }
        assert_eq!(area, region.area, "{region:?}");
    }
}

#[test]
fn corners_are_followed_by_parts_of_a_pixel() {
    for (seed, across, down) in [(5, 2.5, -1.25), (6, -3.75, 2.0), (7, 0.0, 0.0)] {
        let [first, second] = tracking::frames(seed, across, down);
        let tracks = tracking::follow(&first, &second);
        assert!(tracks.len() >= 24, "{} corners", tracks.len());
        let near =
            |track: &&tracking::Track| (track.across - across).abs() < 0.2 && (track.down - down).abs() < 0.2;
        let near = tracks.iter().filter(near).count();
        assert!(near * 10 >= tracks.len() * 9, "seed {seed}: {near} of {}", tracks.len());
    }
}

#[test]
fn cuts_go_between_the_quarters() {
    for seed in [7, 8, 9] {
        let (picture, truth) = ncut::scene(seed);
        let labels = ncut::segments(&picture);
        let agreeing = ncut::agreeing(&labels, &truth);
        assert!(agreeing * 100 >= truth.len() * 97, "seed {seed}: {agreeing} of {}", truth.len());
        assert_eq!(labels.iter().max(), Some(&(ncut::SEGMENTS - 1)));
    }
}

/// A Gaussian blob of deviation s is an extremum over sizes where the level's deviation is s.
#[test]
fn features_are_where_blobs_are_and_as_large() {
    let (picture, blobs) = sift::blobs();
    let found = sift::features(&picture);
    for (x, y, size) in blobs {
        let near = found.iter().find(|it| (it.x - x).abs() < 1.0 && (it.y - y).abs() < 1.0);
        let near = near.unwrap_or_else(|| panic!("no feature at {x}, {y}: {found:?}"));
        assert!((near.size / size - 1.0).abs() < 0.3, "{} pixels instead of {size}", near.size);
    }
}

#[test]
fn features_are_found_again_in_a_picture_that_is_turned() {
    let picture = sift::scene(sift::WIDTH, sift::HEIGHT, 11);
    let (width, height) = (picture.width(), picture.height());
    let turned = Plane::of(height, width, |x, y| picture.get(y, height - 1 - x));
    let (before, after) = (sift::features(&picture), sift::features(&turned));
    let (mut matched, mut right) = (0, 0);
    for feature in &before {
        let mut by_likeness: Vec<&sift::Feature> = after.iter().collect();
        by_likeness.sort_by(|a, b| feature.unlike(a).total_cmp(&feature.unlike(b)));
        if feature.unlike(by_likeness[0]) > 0.7 * feature.unlike(by_likeness[1]) {
            continue;
        }
        matched += 1;
        let (x, y) = ((height - 1) as f32 - feature.y, feature.x);
        right += usize::from((by_likeness[0].x - x).abs() < 1.5 && (by_likeness[0].y - y).abs() < 1.5);
    }
    assert!(matched * 2 >= before.len(), "{matched} of {} have one that is like them", before.len());
    assert!(right * 10 >= matched * 9, "{right} of {matched} are where they were turned to");
}

/// Each pixel is one of the sample's, and nearly all squares of two by two stand in the sample as they are.
#[test]
fn a_texture_looks_like_its_sample_everywhere() {
    let sample = texture::bricks(13);
    let made = texture::Texture::new(&sample, 1);
    let of = |x: usize, y: usize| [0, 1, 2].map(|color: usize| sample[color].get(x, y));
    let (mut whole, mut all) = (0, 0);
    for y in 1..texture::HEIGHT {
        for x in 1..texture::WIDTH {
            let (a, b) = made.from(x, y);
            assert_eq!(made.pixel(x, y), of(a, b));
            let square = [(0, 0), (1, 0), (0, 1), (1, 1)];
            let same = |&(dx, dy): &(usize, usize)| {
                a >= dx && b >= dy && made.pixel(x - dx, y - dy) == of(a - dx, b - dy)
            };
            all += 1;
            whole += usize::from(square.iter().all(same));
        }
    }
    assert!(whole * 100 >= all * 85, "{whole} of {all}");
    // Two pictures of one sample differ.
    assert_ne!(texture::Texture::new(&sample, 2).pixel(5, 5), [0.0; 3]);
}

#[test]
fn a_job_is_the_same_each_time_and_named_as_in_the_table() {
    for kernel in [Kernel::Localization, Kernel::Mser, Kernel::MultiNcut] {
        assert_eq!(kernel.job(), kernel.job());
        assert_eq!(Kernel::named(kernel.name()), Some(kernel));
    }
    assert_eq!(Kernel::named("matrix"), None);
}
