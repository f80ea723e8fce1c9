//! Tasks that devices release, against the simulated machine: bounds count their least distance as a period, and each interrupt
//! as a kernel path, however much sooner it comes.

use crate::draw::{self, Dice};
use crate::{proofs, seeds, sets, simulated};
use solo_model::record::Record;
use solo_model::task::Release;
use solo_model::units::PerMille;
use solo_model::work::Buffer;
use solo_model::{BufferId, Bytes, Device, Direction, Duration, Experiment, Instant, TaskId};
use std::ops::ControlFlow;

/// Some periodic tasks become sporadic: each is released by one or two devices, which interrupt more or less often than its period.
fn with_sporadic(mut experiment: Experiment, seed: u64) -> Experiment {
    let dice = &mut Dice::new(seed ^ 0x5b0_4ad1c);
    for at in 0..experiment.tasks.len() {
        let Release::Periodic { period, .. } = experiment.tasks[at].release else { continue };
        if !dice.once_in(2) {
            continue;
        }
        experiment.tasks[at].release = Release::Sporadic { distance: period };
        for _ in 0..dice.between(1, 2) {
            // From five times as often to half as often.
            let every = Duration::new((period.get() / 10 * dice.between(2, 20)).max(10_000));
            let task = TaskId(at as u32);
            let name = format!("d{}", experiment.devices.len());
            let buffer = BufferId(experiment.buffers.len() as u32);
            experiment.buffers.push(Buffer { name: name.clone(), size: Bytes::new(4096) });
            experiment.devices.push(Device {
                name,
                owner: task,
                releases: Some(task),
                direction: dice.pick(&[Direction::Input, Direction::Output]),
                moves: Bytes::new(dice.between(1, 4096)),
                buffer,
                offset: Duration::new(dice.below(every.get())),
                period: every,
                slot: every,
                core: None,
                rate: None,
                wait_every: Bytes::new(64),
            });
        }
    }
    experiment
}

/// Counts interrupts and looks at the distances of releases.
#[derive(Default)]
struct Heard {
    last: Vec<Option<Instant>>,
    interrupts: u64,
    least: Vec<Option<Duration>>,
}

impl solo_sim::Observer for Heard {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Interrupt(_) => self.interrupts += 1,
            Record::Release(release) => {
                let at = release.task.index();
                let last = self.last[at].replace(release.release);
                if let (Some(last), Some(least)) = (last, self.least[at]) {
                    assert!(release.release.since(last) >= least, "{} after {last}", release.release);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn no_job_exceeds_its_bound_where_devices_release_tasks() {
    let sets = sets(400);
    let (mut proved, mut interrupts) = (0_u64, 0_u64);
    for seed in seeds(sets) {
        let drawn = with_sporadic(draw::experiment(seed), seed);
        let sporadic = |at: usize| matches!(drawn.tasks[at].release, Release::Sporadic { .. });
        let proofs = proofs(&drawn);
        proved += (0..proofs.len()).filter(|&at| proofs[at].is_some() && sporadic(at)).count() as u64;
        match simulated(&drawn, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{}\n{:?}", crate::told(&drawn), drawn.devices),
            // The machine can't do what was drawn, devices or not.
            Err(_) => continue,
        }
        let least = drawn.tasks.iter().map(|task| task.release.period()).collect();
        let mut heard = Heard { last: vec![None; drawn.tasks.len()], least, interrupts: 0 };
        solo_sim::run(&drawn, &[], &mut heard).expect("it runs again");
        interrupts += heard.interrupts;
    }
    println!("{proved} sporadic tasks are proved, {interrupts} interrupts");
    assert!(sets < 100 || (proved * 4 > sets && interrupts > 10 * sets), "{proved} {interrupts}");
}
