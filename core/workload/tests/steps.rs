//! Steps other than passes: computation, locks, repetition, and what is refused.

use solo_model::work::{Buffer, Pattern, Replay, Span, Step, Touch, Work};
use solo_model::{BufferId, Bytes, Duration, JobIndex, LockId, PerMille, TaskId};
use solo_workload::{Op, Program, WorkError};

fn new(steps: Vec<Step>) -> Result<Program, WorkError> {
    let buffers = [
        Buffer { name: "data".into(), size: Bytes::from_kib(4) },
        Buffer { name: "none".into(), size: Bytes::ZERO },
        Buffer { name: "vast".into(), size: Bytes::new(1 << 49) },
    ];
    Program::new(&Work { steps }, TaskId(0), &buffers, Bytes::new(64), 1, &[])
}

fn job(program: &mut Program, job: u64) -> Vec<Op> {
    program.begin_job(JobIndex(job));
    std::iter::from_fn(|| program.next()).collect()
}

fn compute(nanoseconds: u64) -> Step {
    Step::Compute(Span::exactly(Duration::new(nanoseconds)))
}

fn computed(nanoseconds: u64) -> Op {
    Op::Compute(Duration::new(nanoseconds))
}

fn touch(buffer: u32, accesses: u64, stride: u64) -> Step {
    Step::Touch(Touch {
        pattern: Pattern::Sweep,
        buffer: BufferId(buffer),
        accesses,
        stride: Bytes::new(stride),
        writes: PerMille::default(),
        think: Duration::ZERO,
    })
}

fn repeat(times: u32, steps: Vec<Step>) -> Step {
    Step::Repeat { times, steps }
}

#[test]
fn steps_run_in_order_and_loops_inside_loops() {
    let lock = LockId(2);
    let mut program = new(vec![
        Step::Acquire(lock),
        repeat(2, vec![compute(1), repeat(3, vec![compute(2)]), repeat(1, vec![compute(3)])]),
        Step::Release(lock),
    ])
    .unwrap();
    let round = [1, 2, 2, 2, 3].map(computed);
    let expected = [&[Op::Acquire(lock)][..], &round, &round, &[Op::Release(lock)]].concat();
    assert_eq!(job(&mut program, 0), expected);
    assert_eq!(job(&mut program, 1), expected);
    assert_eq!(program.next(), None);
}

#[test]
fn steps_that_do_nothing_vanish() {
    let nothing = vec![compute(0), touch(0, 0, 4), repeat(5, vec![]), repeat(0, vec![compute(1)])];
    // Four thousand million rounds of nothing must not take time.
    let mut program = new(vec![repeat(u32::MAX, vec![repeat(u32::MAX, nothing)]), compute(7)]).unwrap();
    assert_eq!(job(&mut program, 0), [computed(7)]);
    assert_eq!(job(&mut new(vec![]).unwrap(), 0), []);
}

#[test]
fn lengths_of_computation_are_drawn_anew_for_each_job() {
    let span = Span { least: Duration::new(100), most: Duration::new(109) };
    let mut program = new(vec![Step::Compute(span)]).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..200 {
        let ops = job(&mut program, i);
        assert_eq!(ops, job(&mut program.clone(), i));
        let [Op::Compute(length)] = ops[..] else { panic!("{ops:?}") };
        seen.insert(length.get());
    }
    // Each of ten values misses 200 draws with probability 7e-10.
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), (100..=109).collect::<Vec<_>>());
    let all = Span { least: Duration::ZERO, most: Duration::MAX };
    assert_eq!(job(&mut new(vec![Step::Compute(all)]).unwrap(), 0).len(), 1);
}

#[test]
fn what_cannot_be_performed_is_refused() {
    let refused = |step| new(vec![repeat(2, vec![step])]).unwrap_err();
    let buffer = BufferId;
    assert_eq!(refused(touch(7, 1, 4)), WorkError::NoSuchBuffer { buffer: buffer(7), buffers: 3 });
    assert_eq!(refused(touch(1, 1, 4)), WorkError::EmptyBuffer { buffer: buffer(1) });
    let size = Bytes::new(1 << 49);
    assert_eq!(refused(touch(2, 1, 4)), WorkError::BufferTooLarge { buffer: buffer(2), size });
    assert_eq!(refused(touch(0, 1, 0)), WorkError::ZeroStride { buffer: buffer(0) });
    let backwards = Span { least: Duration::new(2), most: Duration::new(1) };
    assert_eq!(refused(Step::Compute(backwards)), WorkError::EmptySpan);
    let replay = Replay { trace: 4, buffer: BufferId(0), accesses: None };
    assert_eq!(refused(Step::Replay(replay)), WorkError::NoSuchTrace { trace: 4, traces: 0 });

    let nested = |depth| (0..depth).fold(compute(1), |step, _| repeat(1, vec![step]));
    assert!(new(vec![nested(Program::DEPTH_MAX)]).is_ok());
    assert_eq!(new(vec![nested(Program::DEPTH_MAX + 1)]).unwrap_err(), WorkError::TooDeep);

    for line in [0, 3, 8192] {
        let line = Bytes::new(line);
        let error = Program::new(&Work::default(), TaskId(0), &[], line, 1, &[]).unwrap_err();
        assert_eq!(error, WorkError::BadLine { line });
    }
}
