//! The view as drawn, from messages alone: no terminal, no clock, no counter.

use super::draw::{Palette, draw, human};
use super::state::{After, Key, State};
use super::track::Track;
use super::view::View;
use crate::stream::feed::Said;
use crate::stream::{Begin, Message, Name, Refused, RowLine, SCHEMA, Tick};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use solo_model::Duration;

const SECOND: u64 = 1_000_000_000;

fn begin(per: &str, sets: Vec<Vec<usize>>) -> Said {
    Said::Message(Message::Begin(Begin {
        schema: SCHEMA.into(),
        version: "0.1.0".into(),
        host: "box".into(),
        per: per.into(),
        target: "make -j2".into(),
        period_ns: Some(SECOND),
        counts: vec!["instructions".into(), "cycles".into(), "page_faults".into()],
        sets,
        virtuals: vec!["energy_package_uj".into()],
        metrics: vec!["ipc=instructions/cycles".into()],
    }))
}

fn name(process: u32, thread: u32, name: &str, cgroup: &str) -> Said {
    Said::Message(Message::Name(Name {
        process,
        thread,
        name: name.into(),
        process_name: name.into(),
        cgroup: cgroup.into(),
    }))
}

fn row(at_s: u64, subject: (&str, u32, u32), set: usize, counts: [Option<u64>; 3]) -> Said {
    let (subject, process, id) = subject;
    Said::Message(Message::Row(RowLine {
        row: 1,
        at_ns: at_s * SECOND,
        span_ns: SECOND,
        subject: subject.into(),
        process: (subject == "thread").then_some(process),
        id: Some(id),
        event: "tick".into(),
        set,
        counts: counts.to_vec(),
        virtuals: vec![None],
        metrics: vec![None],
    }))
}

fn energy(at_s: u64, energy: i64) -> Said {
    let Said::Message(Message::Row(mut line)) = row(at_s, ("machine", 0, 0), 0, [None; 3]) else {
        unreachable!("a row")
    };
    line.virtuals = vec![Some(energy)];
    Said::Message(Message::Row(line))
}

fn tick(at_s: u64) -> Said {
    Said::Message(Message::Tick(Tick { at_ns: at_s * SECOND, doubts: Default::default() }))
}

fn track(label: &str) -> Track {
    Track::new(label, 10, Duration::ZERO)
}

/// Two processes of a build in one cgroup, a shell in another; two seconds.
fn build() -> State {
    let mut state = State::new(vec![track("threads"), track("cores")], View::Threads, false);
    let all = vec![vec![0, 1, 2]];
    state.take(0, begin("thread", all.clone()));
    state.take(0, name(10, 10, "make", "/build"));
    state.take(0, name(20, 20, "cc1", "/build"));
    state.take(0, name(20, 21, "cc1", "/build"));
    state.take(0, name(30, 30, "bash", "/user"));
    for second in 1..=2 {
        let factor = second * 1_000_000;
        state.take(0, row(second, ("thread", 10, 10), 0, [Some(factor), Some(2 * factor), Some(7)]));
        state.take(
            0,
            row(second, ("thread", 20, 20), 0, [Some(3_000 * factor), Some(1_500 * factor), Some(900)]),
        );
        state.take(
            0,
            row(second, ("thread", 20, 21), 0, [Some(1_000 * factor), Some(500 * factor), Some(100)]),
        );
        state.take(0, row(second, ("thread", 30, 30), 0, [Some(5), Some(0), None]));
        state.take(0, energy(second, 123_456));
        state.take(0, tick(second));
    }
    state.take(1, begin("core", all));
    for second in 1..=2 {
        state.take(1, row(second, ("core", 0, 0), 0, [Some(4_000_000_000), Some(2_000_000_000), Some(1000)]));
        state.take(1, row(second, ("core", 0, 1), 0, [Some(20_000), Some(40_000), Some(7)]));
        state.take(1, tick(second));
    }
    state
}

fn press(state: &mut State, keys: &str) {
    for key in keys.chars() {
        let key = match key {
            '<' => Key::Left,
            '>' => Key::Right,
            '\n' => Key::Enter,
            '\x1b' => Key::Escape,
            other => Key::Char(other),
        };
        assert_eq!(state.key(key), After::Stay);
    }
}

fn drawn(state: &mut State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, Palette::Colors)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn threads() {
    insta::assert_snapshot!(drawn(&mut build(), 100, 20));
}

#[test]
fn processes_and_cgroups_are_sums_with_metrics_of_their_own() {
    let mut state = build();
    press(&mut state, "p");
    insta::assert_snapshot!("processes", drawn(&mut state, 100, 12));
    press(&mut state, "g");
    insta::assert_snapshot!("cgroups", drawn(&mut state, 100, 12));
}

#[test]
fn cores_come_from_the_watch_that_has_them() {
    let mut state = build();
    press(&mut state, "c");
    insta::assert_snapshot!(drawn(&mut state, 100, 12));
}

#[test]
fn a_refused_watch_says_so_in_its_view_only() {
    let mut state = State::new(vec![track("threads"), track("cores")], View::Threads, false);
    state.take(0, begin("thread", vec![vec![0, 1, 2]]));
    let refused = Refused { exit: 3, message: "event `cycles`: not allowed".into() };
    state.take(1, Said::Message(Message::Refused(refused)));
    assert!(drawn(&mut state, 80, 10).contains("waiting for the first tick"));
    press(&mut state, "c");
    assert!(drawn(&mut state, 80, 10).contains("event `cycles`: not allowed"));
    assert_eq!(state.failed(), None, "what was asked for goes on");
}

#[test]
fn a_filter_keeps_what_matches_and_sums_it() {
    let mut state = build();
    press(&mut state, "/CC1");
    assert!(drawn(&mut state, 100, 12).contains("filter: CC1_"));
    press(&mut state, "\n");
    let (lines, total) = state.lines().unwrap();
    assert_eq!(lines.iter().map(|line| line.id.as_str()).collect::<Vec<_>>(), ["20", "21"]);
    assert_eq!(total.values, [Some(8e9), Some(4e9), Some(1000.0), Some(2.0)]);
    press(&mut state, "\x1b");
    assert_eq!(state.lines().unwrap().0.len(), 4);
    press(&mut state, "/q\x1b");
    assert!(state.filter.is_empty() && !state.typing, "a q in a filter is a letter");
}

#[test]
fn order_follows_the_column_and_absent_values_come_last() {
    let mut state = build();
    let order = |state: &State| state.lines().unwrap().0.into_iter().map(|line| line.id).collect::<Vec<_>>();
    assert_eq!(order(&state), ["20", "21", "10", "30"]);
    press(&mut state, ">>");
    assert_eq!(order(&state), ["20", "21", "10", "30"]);
    press(&mut state, "r");
    assert_eq!(order(&state), ["10", "21", "20", "30"]);
    press(&mut state, "<<<<<");
    assert_eq!(state.order.column, None);
    assert_eq!(order(&state), ["10", "20", "21", "30"]);
}

#[test]
fn frozen_shows_the_past_while_the_present_goes_on() {
    let mut state = build();
    press(&mut state, " ");
    state.take(0, row(3, ("thread", 10, 10), 0, [Some(77), None, None]));
    state.take(0, tick(3));
    assert_eq!(state.lines().unwrap().0.len(), 4);
    assert!(drawn(&mut state, 120, 10).contains("FROZEN at 2.0 s, now 3.0 s"));
    press(&mut state, "[");
    assert_eq!(state.lines().unwrap().0[0].values[0], Some(3e9));
    press(&mut state, "]] ");
    assert_eq!(state.frozen_at, None);
    assert_eq!(state.lines().unwrap().0.len(), 1);
}

#[test]
fn sets_that_take_turns_stand_in_one_frame() {
    let mut track = track("threads");
    track.take(begin("thread", vec![vec![0, 1], vec![0, 2]]));
    track.take(row(1, ("thread", 10, 10), 0, [Some(100), Some(50), None]));
    track.take(tick(1));
    assert!(track.frames.is_empty(), "the second set had no turn yet");
    track.take(row(2, ("thread", 10, 10), 1, [Some(300), None, Some(9)]));
    track.take(tick(2));
    let state = State::new(vec![track], View::Threads, false);
    let (lines, _) = state.lines().unwrap();
    // Instructions in both turns, two seconds; the others in one of a second each.
    assert_eq!(lines[0].values, [Some(200.0), Some(50.0), Some(9.0), Some(2.0)]);
}

#[test]
fn old_frames_go() {
    let mut track = track("threads");
    track.take(begin("thread", vec![vec![0, 1, 2]]));
    for second in 1..=25 {
        track.take(row(second, ("thread", 10, 10), 0, [Some(1), None, None]));
        track.take(tick(second));
    }
    assert_eq!(track.frames.len(), 10);
}

#[test]
fn help_covers_and_any_key_uncovers() {
    let mut state = build();
    press(&mut state, "h");
    insta::assert_snapshot!("help", drawn(&mut state, 100, 20));
    press(&mut state, "q");
    assert!(!state.help);
    assert_eq!(state.key(Key::Char('q')), After::Quit);
    assert_eq!(state.key(Key::Interrupt), After::Quit);
}

#[test]
fn no_size_is_too_small() {
    let mut state = build();
    for (width, height) in [(1, 1), (2, 3), (10, 4), (40, 5), (300, 3)] {
        drawn(&mut state, width, height);
        press(&mut state, "h");
        drawn(&mut state, width, height);
        press(&mut state, "h");
    }
    drawn(&mut State::new(vec![], View::Cores, false), 30, 10);
}

#[test]
fn numbers_have_three_or_four_digits() {
    for (value, text) in [
        (0.0, "0"),
        (0.5, "0.500"),
        (7.0, "7.000"),
        (99.5, "99.50"),
        (999.9, "999.9"),
        (9999.0, "9999"),
        (12_345.0, "12.35 k"),
        (4e9, "4.000 G"),
        (-2e6, "-2.000 M"),
    ] {
        assert_eq!(human(value), text);
    }
}

/// A stream that names a new thread in each row, within one frame or over many, is shown as far as there is room.
#[test]
fn threads_without_end_do_not_take_all_memory() {
    let mut one = State::new(vec![track("one frame")], View::Threads, false);
    one.take(0, begin("thread", vec![vec![0, 1, 2]]));
    for thread in 0..500_000 {
        one.take(0, row(1, ("thread", thread, thread), 0, [Some(1), None, None]));
    }
    one.take(0, tick(1));
    let Track { frames, fault, .. } = &one.tracks[0];
    assert!((100_000..450_000).contains(&frames[0].counts.len()), "{}", frames[0].counts.len());
    assert!(fault.as_deref().is_some_and(|fault| fault.contains("are left out")), "{fault:?}");

    let mut many = State::new(vec![Track::new("many frames", 1000, Duration::ZERO)], View::Threads, false);
    many.take(0, begin("thread", vec![vec![0, 1, 2]]));
    for second in 1..=20 {
        for thread in 0..50_000 {
            let thread = 50_000 * second as u32 + thread;
            many.take(0, row(second, ("thread", thread, thread), 0, [Some(1), None, None]));
        }
        many.take(0, tick(second));
    }
    let Track { frames, fault, pushed, .. } = &many.tracks[0];
    assert!((2..20).contains(&frames.len()), "{}", frames.len());
    assert_eq!((*pushed, fault), (20, &None), "the oldest go, and readers are told how many");
}
