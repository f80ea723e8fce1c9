//! Requests and answers without a socket.

use super::answer::answer;
use super::http::{Request, Said as Header};
use super::{Hosts, Hub, Token};
use crate::stream::feed::Said;
use crate::stream::{Begin, Message, RowLine, SCHEMA, Tick};
use crate::top::track::Track;
use hyper::Method;
use serde_json::Value;
use solo_model::Duration;

const SECOND: u64 = 1_000_000_000;

fn hub() -> Hub {
    let hub = Hub::new(vec![Track::new("make", 3, Duration::ZERO)]);
    hub.take(
        0,
        Said::Message(Message::Begin(Begin {
            schema: SCHEMA.into(),
            version: "0.1.0".into(),
            host: "box".into(),
            per: "thread".into(),
            target: "make".into(),
            period_ns: Some(SECOND),
            counts: vec!["instructions".into(), "cycles".into()],
            sets: vec![vec![0, 1]],
            virtuals: vec![],
            metrics: vec![],
        })),
    );
    for second in 1..=5 {
        let row = RowLine {
            row: second,
            at_ns: second * SECOND,
            span_ns: SECOND,
            subject: "thread".into(),
            process: Some(7),
            id: Some(7),
            event: "tick".into(),
            set: 0,
            counts: vec![Some(second), None],
            virtuals: vec![],
            metrics: vec![],
        };
        hub.take(0, Said::Message(Message::Row(row)));
        hub.take(
            0,
            Said::Message(Message::Tick(Tick { at_ns: second * SECOND, doubts: Default::default() })),
        );
    }
    hub
}

fn get(path: &str, query: &[(&str, &str)]) -> Request {
    let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let host = Header::Once("127.0.0.1:8321".into());
    Request { path: path.into(), query, host, ..Request::default() }
}

fn asked(path: &str, query: &[(&str, &str)]) -> (u16, Value) {
    let token = Token::new().unwrap();
    let request = Request { bearer: Some(token.text().to_owned()), ..get(path, query) };
    let answer = answer(&request, &hub(), &token, &Hosts::of_this_machine());
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap_or(Value::Null))
}

#[test]
fn nothing_is_told_without_the_token() {
    let (token, hub, hosts) = (Token::new().unwrap(), hub(), Hosts::of_this_machine());
    for path in ["/", "/frames", "/expression", "/metrics", "/nothing"] {
        for request in [
            get(path, &[]),
            get(path, &[("token", "0")]),
            Request { bearer: Some("wrong".into()), ..get(path, &[("token", token.text())]) },
        ] {
            let answer = answer(&request, &hub, &token, &hosts);
            assert_eq!(answer.status, 401, "{request:?}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("instructions"));
        }
        assert_ne!(answer(&get(path, &[("token", token.text())]), &hub, &token, &hosts).status, 401);
    }
    let post = Request { method: Method::POST, ..get("/", &[("token", token.text())]) };
    assert_eq!(answer(&post, &hub, &token, &hosts).status, 405);
    let head = Request { method: Method::HEAD, ..get("/", &[("token", token.text())]) };
    assert_eq!(answer(&head, &hub, &token, &hosts).status, 200);
    // Not even that the token is right.
    for (host, origin, status) in [
        (Header::Once("evil.example".into()), Header::Nothing, 421),
        (Header::Nothing, Header::Nothing, 400),
        (Header::Once("localhost:1".into()), Header::Once("http://evil.example".into()), 403),
    ] {
        let strange = Request { host, origin, ..get("/frames", &[("token", token.text())]) };
        assert_eq!(answer(&strange, &hub, &token, &hosts).status, status);
    }
}

#[test]
fn a_reader_gets_what_is_new_and_hears_what_it_missed() {
    let (_, news) = asked("/frames", &[("after", "0")]);
    let source = &news["sources"][0];
    assert_eq!((&source["next"], &source["missed"]), (&5.into(), &2.into()), "three frames are kept");
    assert_eq!(source["frames"][0]["rows"][0]["counts"][0], 3);
    let (_, news) = asked("/frames", &[("after", "4")]);
    assert_eq!(news["sources"][0]["frames"].as_array().unwrap().len(), 1);
    assert_eq!(news["sources"][0]["missed"], 0);
    let (_, news) = asked("/frames", &[("after", "99,x,-1")]);
    assert_eq!(news["sources"][0]["frames"].as_array().unwrap().len(), 3, "a number from before a restart");
}

#[test]
fn an_expression_becomes_a_tree_or_an_error() {
    let (status, tree) = asked("/expression", &[("text", "ipc=-instr/(cycles+1)")]);
    assert_eq!((status, &tree["name"]), (200, &"ipc".into()));
    assert_eq!(tree["tree"].to_string(), r#"["/",["-","instructions"],["+","cycles",1.0]]"#);
    for (text, part) in
        [("ipc", "name=expression"), ("x=1+", "at character"), ("x=frobs", "no column is called frobs")]
    {
        let (status, wrong) = asked("/expression", &[("text", text)]);
        assert_eq!(status, 400);
        assert!(wrong["error"].as_str().unwrap().contains(part), "{wrong}");
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let (token, hub) = (Token::new().unwrap(), hub());
    let page = answer(&get("/", &[("token", token.text())]), &hub, &token, &Hosts::of_this_machine());
    let text = String::from_utf8(page.body).unwrap();
    let foreign = text.replace("http://www.w3.org/2000/svg", "");
    assert!(!foreign.contains("http://") && !foreign.contains("https://") && !foreign.contains("src="));
    let nonce = page.nonce.unwrap();
    assert_eq!(text.matches(&nonce).count(), 2, "one style and one script");
    assert!(!text.contains("{nonce}") && !text.contains("{script}") && !text.contains("{style}"));
}

/// The samples of an OpenMetrics text by their whole name.
fn samples(text: &str) -> std::collections::BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.into(), value.parse().unwrap()))
        .collect()
}

fn metrics(hub: &Hub) -> String {
    let token = Token::new().unwrap();
    let request = Request { bearer: Some(token.text().to_owned()), ..get("/metrics", &[]) };
    let answer = answer(&request, hub, &token, &Hosts::of_this_machine());
    assert_eq!(answer.status, 200);
    assert!(answer.kind.starts_with("application/openmetrics-text; version=1.0.0"));
    String::from_utf8(answer.body).unwrap()
}

#[test]
fn sums_for_scrapers_hold_what_frames_have_forgotten() {
    // The hub keeps three frames of five; a sum of three would be 12.
    let text = metrics(&hub());
    let watch = r#"watch="0",target="make",host="box""#;
    let samples = samples(&text);
    assert_eq!(samples[&format!(r#"solo_events_total{{{watch},event="instructions"}}"#)], 15.0);
    assert!(
        !text.contains(r#"solo_events_total{watch="0",target="make",host="box",event="cycles""#),
        "never counted is not 0"
    );
    assert_eq!(samples[&format!("solo_watched_seconds_total{{{watch}}}")], 5.0);
    assert_eq!(samples[&format!(r#"solo_counted_seconds_total{{{watch},event="cycles"}}"#)], 5.0);
    assert_eq!(samples[&format!("solo_up{{{watch}}}")], 1.0);
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn hostile_names_stay_within_their_labels() {
    let label = "a\"} 1\nsolo_up{x=\"\\";
    let text = metrics(&Hub::new(vec![Track::new(label, 3, Duration::ZERO)]));
    let up: Vec<&str> = text.lines().filter(|line| line.starts_with("solo_up{")).collect();
    assert_eq!(up, [r#"solo_up{watch="0",target="a\"} 1\nsolo_up{x=\"\\"} 1"#]);
}
