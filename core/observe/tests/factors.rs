//! Speedup factors of a program that changes, believed by either monitor beside the true ones (PMCTrack 4.1).

use solo_model::estimate::{Asymmetry, Factor, Model, Node, Side, Tree};
use solo_model::listening::MonitorKind;
use solo_model::{CoreId, Duration, EventId, EventSet, EventTable, Fixed, Instant, KindId, MetricId, Sample};
use solo_observe::monitor::{self, Heard};

/// Instructions in a thousand cycles in the two phases, on the big and on the small kind: factors 1.2 and 3.0 at equal clocks.
const PHASES: [[u64; 2]; 2] = [[600, 500], [1_800, 600]];
/// How long a phase lasts, and a sampling period.
const PHASE: u64 = 300;
const PERIOD: u64 = 200;

/// Instructions per thousand cycles from `begin` on for a period, in milliseconds, on either kind.
fn mean(begin: u64, kind: usize) -> u64 {
    (begin..begin + PERIOD).map(|ms| PHASES[(ms / PHASE % 2) as usize][kind]).sum::<u64>() / PERIOD
}

fn sample(ipc: u64) -> Sample {
    let counts =
        [(EventId::INSTRUCTIONS, ipc * 200_000), (EventId::CYCLES, 200_000_000)].into_iter().collect();
    Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(PERIOD), counts)
}

/// Leaves of the model's trees: shares of the second phase in a window, from none to all.
const LEAVES: u64 = 8;

/// What regression makes of windows of any mixture of the phases: a tree over instructions per cycle, whose leaves are the factors of
/// mixtures in the middle of their ranges.
fn model() -> Model {
    let fixed = |value: f64| Fixed::parse(&format!("{value:.9}")).expect("a number");
    let ipc = |kind: usize, share: f64| {
        let [first, second] = [0, 1].map(|phase: usize| PHASES[phase][kind] as f64 / 1000.0);
        first + (second - first) * share
    };
    let factor = |leaf: u64| {
        let share = (leaf as f64 + 0.5) / LEAVES as f64;
        ipc(0, share) / ipc(1, share)
    };
    let side = |kind: u8| {
        let mut nodes = Vec::new();
        for leaf in 0..LEAVES - 1 {
            let at = nodes.len() as u16;
            let at_most = fixed(ipc(kind.into(), (leaf + 1) as f64 / LEAVES as f64));
            nodes.push(Node::Split { metric: 0, at_most, low: at + 1, high: at + 2 });
            nodes.push(Node::Leaf(fixed(factor(leaf))));
        }
        nodes.push(Node::Leaf(fixed(factor(LEAVES - 1))));
        Side {
            kind: KindId(kind),
            sets: vec![EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES)],
            metrics: vec!["instructions / cycles".into()],
            base: Fixed::ZERO,
            trees: vec![Tree::new(nodes, 1).expect("a tree")],
        }
    };
    Model { factor: Factor::Speedup, sides: vec![side(0), side(1)] }
}

/// The mean difference between what is believed at the end of a period and what was true in it, of a thread that is on either kind for
/// so many periods at a time; periods begin at a time.
fn error(monitor: &Heard, stays: u64, begin: u64) -> f64 {
    let mut monitor = monitor.clone();
    let (mut sum, mut known) = (0.0, 0.0);
    for period in 0..600 {
        let kind = period / stays % 2;
        let at = begin + period * PERIOD;
        let derived = monitor.0.sample_on(KindId(kind as u8), &sample(mean(at, kind as usize)));
        // Both need a while.
        let Some(believed) = derived.get(MetricId(0)).filter(|_| period >= 60) else { continue };
        let believed = believed.units() as f64 / Fixed::SCALE as f64;
        let truth = mean(at, 0) as f64 / mean(at, 1) as f64;
        (sum, known) = (sum + (believed - truth).abs(), known + 1.0);
    }
    assert!(known > 500.0, "{known} estimates");
    sum / known
}

#[test]
fn sampling_is_twice_as_far_off_as_a_model() {
    let made = |kind, model| {
        let asymmetry = Asymmetry { big: KindId(0), small: KindId(1), clock_ratio: 1000, model };
        let table = EventTable::default();
        let observed = monitor::observed_of_kinds(kind, asymmetry, &table).expect("it can be observed");
        monitor::of(MetricId(0), &observed, &table).expect("it can be made")
    };
    let sampling = made(MonitorKind::IpcSampling, None);
    let estimate = made(MonitorKind::Estimate, Some(model()));
    for stays in [1, 2, 3, 5, 8] {
        for begin in [0, 50, 150, 290] {
            let (sampled, estimated) = (error(&sampling, stays, begin), error(&estimate, stays, begin));
            println!(
                "{stays} periods on a kind, from {begin} ms: {sampled:.3} sampled, {estimated:.3} by the model"
            );
            assert!(sampled >= 2.0 * estimated, "{stays} periods, from {begin} ms: {sampled} {estimated}");
        }
    }
}
