//! Streams from bytes: what arrives whole, cut off, from another version, or as nonsense.

use super::feed::{Stream, read};
use super::*;
use proptest::prelude::*;

fn begin() -> Begin {
    Begin {
        schema: SCHEMA.into(),
        version: "0.1.0".into(),
        host: "box".into(),
        per: "thread".into(),
        target: "make".into(),
        period_ns: Some(10),
        counts: vec!["instructions".into(), "cycles".into()],
        sets: vec![vec![0, 1]],
        virtuals: vec!["energy_uj".into()],
        metrics: vec!["ipc=instructions/cycles".into()],
    }
}

fn line(message: &Message) -> String {
    format!("{}\n", serde_json::to_string(message).unwrap())
}

fn all(text: &str) -> (Vec<Message>, Stream) {
    let mut messages = Vec::new();
    let end = read(text.as_bytes(), &mut |message| {
        messages.push(message);
        true
    });
    (messages, end)
}

fn row() -> RowLine {
    RowLine {
        row: 1,
        at_ns: 10,
        span_ns: 10,
        subject: "thread".into(),
        process: Some(7),
        id: Some(8),
        event: "tick".into(),
        set: 0,
        counts: vec![Some(u64::MAX), None],
        virtuals: vec![Some(-1)],
        metrics: vec![None],
    }
}

#[test]
fn a_row_survives_its_way() {
    let columns = begin().columns();
    let (messages, end) = all(&(line(&Message::Begin(begin())) + &line(&Message::Row(row()))));
    assert_eq!(end, Stream::Cut);
    assert_eq!(messages, [Message::Begin(begin()), Message::Row(row())]);
    let read = row().read(&columns).unwrap();
    assert_eq!(RowLine::from(&read), row());
}

#[test]
fn what_does_not_fit_is_named() {
    let newer = Begin { schema: "solo-stream/2".into(), version: "9.9.9".into(), ..begin() };
    let (_, end) = all(&line(&Message::Begin(newer)));
    assert_eq!(end, Stream::Foreign("solo-stream/2 of version 9.9.9".into()));
    let (_, end) = all("Welcome to box!\n");
    assert_eq!(end, Stream::Foreign("Welcome to box!".into()));
    let (messages, end) = all(&(line(&Message::Begin(begin())) + "{\"row\":1}\n"));
    assert_eq!((messages.len(), end), (1, Stream::Garbled("{\"row\":1}".into())));
    let refused = Message::Refused(Refused { exit: 3, message: "no counter".into() });
    assert_eq!(all(&line(&refused)), (vec![refused], Stream::Whole));
}

#[test]
fn places_outside_the_columns_are_left_out() {
    let wrong = Begin { sets: vec![vec![0, 99]], ..begin() };
    assert_eq!(wrong.columns().sets, [[0]]);
    let short = RowLine { counts: vec![], ..row() };
    assert_eq!(short.read(&begin().columns()).unwrap().counts, [None, None]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]
    #[test]
    fn no_bytes_make_the_reader_panic(garbage in "\\PC{0,80}", cut in 0_usize..400) {
        let text = line(&Message::Begin(begin())) + &line(&Message::Row(row())) + &garbage + "\n";
        let cut = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= cut).last().unwrap_or(0);
        all(&text[..cut]);
        all(&text);
    }
}
