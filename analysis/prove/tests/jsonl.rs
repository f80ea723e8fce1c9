//! Lines in, lines out: order, errors that name line and field, bounded work, and no panic on any bytes.

mod common;

use common::Draw;
use serde_json::Value;
use solo_prove::jsonl::{BatchOptions, BatchTotals, LINE_LIMIT, judge_lines};
use std::io::{BufReader, Read};

fn judge(input: &[u8], options: &BatchOptions) -> (Vec<Value>, BatchTotals) {
    let mut output = Vec::new();
    let outcome = judge_lines(input, &mut output, options).expect("memory does not fail");
    let lines = String::from_utf8(output).expect("text");
    (lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), outcome)
}

fn one_thread() -> BatchOptions {
    BatchOptions { threads: 1, ..BatchOptions::default() }
}

const GOOD: &str = r#"{"m":2,"tasks":[{"c":1000,"t":10000,"d":10000},{"c":3000,"t":10000,"d":10000}]}"#;

#[test]
fn a_set_gets_the_verdicts_agreed_on_in_their_order() {
    let mut output = Vec::new();
    judge_lines(GOOD.as_bytes(), &mut output, &one_thread()).unwrap();
    let expected = concat!(
        r#"{"verdicts":{"gfb":true,"bak":true,"bcl":true,"bcli":true,"rta":true,"bar":true,"load":true,"#,
        r#""ffdbf":true,"gedf_any":true,"pedf_ffd":true,"pedf_bfd":true,"pedf_wfd":true,"qpa":null,"#,
        r#""fp_rm":null,"fp_dm":null},"schema":1}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(output).unwrap(), expected);
}

#[test]
fn bad_lines_name_line_and_field_and_the_others_are_answered() {
    let bad = [
        (r#"{"m":2,"tasks":[{"c":281474976710656,"t":10,"d":10}]}"#, "tasks[0].c"),
        (r#"{"m":2,"tasks":[{"c":1,"t":10,"d":10},{"c":1,"t":10,"d":0}]}"#, "tasks[1].d"),
        (r#"{"m":2,"tasks":[{"c":0,"t":10,"d":10}]}"#, "tasks[0].c"),
        (r#"{"m":2,"tasks":[{"c":1,"t":9223372036854775808,"d":10}]}"#, "tasks[0].t"),
        (r#"{"m":2,"tasks":[{"c":1,"t":92233720368547758080,"d":10}]}"#, "tasks[0].t"),
        (r#"{"m":2,"tasks":[{"c":1,"t":10,"d":-10}]}"#, "tasks[0].d"),
        (r#"{"m":2,"tasks":[{"c":1.5,"t":10,"d":10}]}"#, "tasks[0].c"),
        (r#"{"m":2,"tasks":[{"c":"1","t":10,"d":10}]}"#, "tasks[0].c"),
        (r#"{"m":2,"tasks":[{"c":1,"t":10,"deadline":5}]}"#, "tasks[0].deadline"),
        (r#"{"m":2,"tasks":[]}"#, "tasks"),
        (r#"{"m":0,"tasks":[{"c":1,"t":10,"d":10}]}"#, "m"),
        (r#"{"m":-1,"tasks":[{"c":1,"t":10,"d":10}]}"#, "m"),
        (r#"{"m":9223372036854775808,"tasks":[{"c":1,"t":10,"d":10}]}"#, "m"),
        (r#"{"m":4,"cluster":3,"tasks":[{"c":1,"t":10,"d":10}]}"#, "cluster"),
        (r#"{"m":4,"cluster":0,"tasks":[{"c":1,"t":10,"d":10}]}"#, "cluster"),
    ];
    let mut input = String::new();
    for (line, _) in bad {
        input += &format!("{line}\n{GOOD}\n");
    }
    let (answers, outcome) = judge(input.as_bytes(), &BatchOptions::default());
    assert_eq!(outcome, BatchTotals { lines: 30, refused: 15, out_of_time: 0 });
    assert_eq!(outcome.exit_code(), 2);
    for (index, (line, field)) in bad.iter().enumerate() {
        let answer = &answers[2 * index];
        assert_eq!(answer["field"], *field, "{line} gives {answer}");
        assert_eq!(answer["line"], 2 * index + 1);
        let text = answer["error"].as_str().unwrap();
        assert!(text.starts_with(&format!("line {}: {field}: ", 2 * index + 1)), "{text}");
        assert_eq!(answers[2 * index + 1]["verdicts"]["gfb"], true);
    }
}

/// Longer than its period: no policy keeps up with it on any number of cores, whatever its deadline.
#[test]
fn a_task_longer_than_its_period_is_unschedulable() {
    let lines = [
        r#"{"m":2,"tasks":[{"c":11,"t":10,"d":10}]}"#,
        r#"{"m":2,"tasks":[{"c":1,"t":10},{"c":11,"t":10,"d":1000}]}"#,
        r#"{"m":1,"tasks":[{"c":2,"t":1}]}"#,
    ];
    let options = BatchOptions { explain: true, ..BatchOptions::default() };
    let (answers, outcome) = judge(lines.join("\n").as_bytes(), &options);
    assert_eq!((outcome.refused, outcome.exit_code()), (0, 0));
    for (answer, at) in answers.iter().zip([0, 1, 0]) {
        assert_eq!(
            (&answer["verdicts"]["gfb"], &answer["verdicts"]["gedf_any"]),
            (&false.into(), &false.into())
        );
        assert!(answer["verdicts"].as_object().unwrap().values().all(|verdict| *verdict != true), "{answer}");
        let note = format!("infeasible: task {at} executes for longer than its period");
        assert_eq!(answer["explain"]["notes"]["gfb"], note.as_str());
    }
    assert_eq!(answers[2]["verdicts"]["qpa"], false);
}

#[test]
fn a_line_that_is_no_set_is_an_error_of_the_line() {
    let input = "not json\n\n[1,2]\n{\"m\":1}\n{\"m\":1,\"tasks\":[{\"c\":1,\"t\":2}]} x\n\u{0}\n";
    let (answers, outcome) = judge(input.as_bytes(), &one_thread());
    assert_eq!((outcome.lines, outcome.refused), (6, 6));
    assert!(answers.iter().all(|answer| answer["error"].as_str().unwrap().starts_with("line ")));
    assert!(answers[2]["error"].as_str().unwrap().contains("found a list"));
    assert!(answers[3]["error"].as_str().unwrap().contains("missing field `tasks`"));
}

#[test]
fn clusters_add_their_verdicts() {
    let line = r#"{"m":4,"cluster":2,"tasks":[{"c":5,"t":10},{"c":5,"t":10},{"c":6,"t":10}]}"#;
    let (answers, _) = judge(line.as_bytes(), &one_thread());
    // First fit puts all three into one cluster, where the longest may start at 5 and end at 11.
    assert_eq!(answers[0]["verdicts"]["cedf_ffd"], false);
    assert_eq!(answers[0]["verdicts"]["cedf_wfd"], true);
    let (answers, _) = judge(GOOD.as_bytes(), &one_thread());
    assert!(answers[0]["verdicts"].get("cedf_ffd").is_none());
}

#[test]
fn threads_and_batches_keep_the_order() {
    let mut input = String::new();
    for index in 0..3000u64 {
        let c = 1 + index % 10;
        input += &format!(
            "{{\"m\":1,\"tasks\":[{{\"c\":{c},\"t\":10,\"d\":10}},{{\"c\":5,\"t\":10,\"d\":10}}]}}\n"
        );
    }
    let (serial, _) = judge(input.as_bytes(), &one_thread());
    let (parallel, _) = judge(input.as_bytes(), &BatchOptions { threads: 3, ..BatchOptions::default() });
    assert_eq!(serial, parallel);
    for (index, answer) in serial.iter().enumerate() {
        assert_eq!(answer["verdicts"]["qpa"], index % 10 < 5);
    }
}

#[test]
fn a_hundred_thousand_tasks_are_answered_within_the_work_allowed() {
    let mut line = String::from(r#"{"m":8,"tasks":["#);
    for index in 0..100_000u64 {
        let comma = if index > 0 { "," } else { "" };
        line += &format!(r#"{comma}{{"c":1,"t":{},"d":{}}}"#, 20_000 + index, 15_000 + index);
    }
    line += "]}";
    let options = BatchOptions { steps: 1 << 22, ..one_thread() };
    let (answers, outcome) = judge(line.as_bytes(), &options);
    let verdicts = &answers[0]["verdicts"];
    assert_eq!(verdicts["gfb"], true);
    assert_eq!(verdicts["bak"], Value::Null);
    assert_eq!(verdicts["gedf_any"], true);
    assert!(outcome.out_of_time > 0);
}

#[test]
fn explanations_say_why_there_is_no_answer() {
    let options = BatchOptions { explain: true, steps: 2, ..one_thread() };
    let (answers, _) = judge(GOOD.as_bytes(), &options);
    assert_eq!(answers[0]["explain"]["notes"]["qpa"], "not applicable: the set has more than one core");
    let busy = r#"{"m":2,"tasks":[{"c":6,"t":10,"d":9},{"c":6,"t":10,"d":9},{"c":6,"t":10,"d":9}]}"#;
    let (answers, outcome) = judge(busy.as_bytes(), &options);
    assert_eq!(answers[0]["explain"]["notes"]["rta"], "out of time");
    assert!(outcome.out_of_time > 0);
}

/// Thesis Fig. 20: EDF schedules the set, rate monotonic misses by one unit and says what would mend it.
#[test]
fn explanations_tell_task_slack_and_mend() {
    let line = r#"{"m":1,"tasks":[{"c":2,"t":10},{"c":5,"t":15},{"c":10,"t":25}]}"#;
    let options = BatchOptions { explain: true, ..one_thread() };
    let (answers, _) = judge(line.as_bytes(), &options);
    let explained = &answers[0]["explain"];
    assert_eq!(explained["gedf_any"], "qpa");
    let detail = &explained["details"]["fp_rm"];
    assert_eq!((&detail["task"], &detail["slack"]), (&Value::from(2), &Value::from(-1)));
    assert_eq!(detail["terms"][0]["task"], 1);
    assert_eq!(explained["mends"]["test"], "fp_rm");
    let mends = explained["mends"]["any_of"].as_array().unwrap();
    assert!(mends.contains(&Value::from("shorten task 2 from 10 to 9")), "{mends:?}");
    assert!(mends.contains(&Value::from("lengthen the period of task 2 from 25 to 26")), "{mends:?}");
}

#[test]
fn a_line_without_end_is_refused_and_the_next_one_answered() {
    let endless = std::io::repeat(b'[').take(LINE_LIMIT as u64 * 2);
    let rest = format!("\n{GOOD}\n");
    let mut output = Vec::new();
    let outcome =
        judge_lines(BufReader::new(endless.chain(rest.as_bytes())), &mut output, &one_thread()).unwrap();
    assert_eq!((outcome.lines, outcome.refused), (2, 1));
}

/// Bytes of good lines are flipped, cut, doubled and swapped: each line still gets exactly one answer.
#[test]
fn mutated_lines_never_panic_and_never_lose_a_line() {
    let seeds: Vec<&str> = vec![
        GOOD,
        r#"{"id":7,"m":1,"tasks":[{"c":1,"t":4,"d":3},{"c":2,"t":6}],"cluster":1}"#,
        r#"{"m":65536,"tasks":[{"c":281474976710655,"t":281474976710655,"d":281474976710655}]}"#,
        r#"{"m":3,"tasks":[{"c":9,"t":10,"d":281474976710655},{"c":1,"t":281474976710655,"d":1}]}"#,
    ];
    let mut draw = Draw(20_261_121);
    let mut input = Vec::new();
    let mut lines = 0;
    for round in 0..6000 {
        let mut line = seeds[round % seeds.len()].as_bytes().to_vec();
        for _ in 0..1 + draw.below(4) {
            mutate(&mut line, &mut draw);
        }
        line.retain(|&byte| byte != b'\n');
        input.extend_from_slice(&line);
        input.push(b'\n');
        lines += 1;
    }
    let options = BatchOptions { steps: 20_000, explain: true, threads: 2, ..BatchOptions::default() };
    let (answers, outcome) = judge(&input, &options);
    assert_eq!(outcome.lines, lines);
    assert_eq!(answers.len() as u64, lines);
    assert!(outcome.refused > 1000 && outcome.refused < lines);
    assert!(answers.iter().all(|answer| answer.get("verdicts").is_some() != answer.get("error").is_some()));
}

fn mutate(line: &mut Vec<u8>, draw: &mut Draw) {
    let at = draw.below(line.len() as u64) as usize;
    match draw.below(6) {
        0 => line[at] = draw.below(256) as u8,
        1 => line[at] = b"0123456789-.eE\"{}[],:"[draw.below(21) as usize],
        2 => line.insert(at, b'0' + draw.below(10) as u8),
        3 if line.len() > 1 => drop(line.remove(at)),
        4 => line.truncate(at + 1),
        _ => {
            let piece: Vec<u8> = line[at..(at + 12).min(line.len())].to_vec();
            line.splice(at..at, piece);
        }
    }
}
