//! From a request to its answer.

use super::hosts::Stranger;
use super::http::{Answer, Request};
use super::{Hosts, Hub, Token, metrics};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use solo_observe::{Expression, Metric};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Answers a request.
pub(super) fn answer(request: &Request, hub: &Hub, token: &Token, hosts: &Hosts) -> Answer {
    if let Err(stranger) = hosts.check(request) {
        return refused(stranger);
    }
    let said = request.bearer.as_deref().or_else(|| request.value("token")).unwrap_or_default();
    if !token.is(said) {
        return Answer::text(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong: use the whole address that solo serve printed",
        );
    }
    // hyper leaves out the body of an answer to HEAD.
    if ![Method::GET, Method::HEAD].contains(&request.method) {
        return Answer::text(
            StatusCode::METHOD_NOT_ALLOWED,
            "there is nothing to be changed here: GET and HEAD only",
        );
    }
    match request.path.as_str() {
        "/" => page(),
        "/metrics" => metrics(hub),
        "/frames" => frames(request.value("after").unwrap_or_default(), hub),
        "/expression" => expression(request.value("text").unwrap_or_default(), &hub.columns()),
        _ => Answer::text(
            StatusCode::NOT_FOUND,
            "no such page; there are /, /frames, /expression and /metrics",
        ),
    }
}

fn refused(stranger: Stranger) -> Answer {
    match stranger {
        Stranger::NoHost => Answer::text(StatusCode::BAD_REQUEST, "expected one Host"),
        Stranger::Host => Answer::text(
            StatusCode::MISDIRECTED_REQUEST,
            "this server is reached by an address, as localhost or by its machine's own name",
        ),
        Stranger::Origin => Answer::text(StatusCode::FORBIDDEN, "pages from elsewhere get no answer"),
    }
}

/// The page with a nonce of its own.
fn page() -> Answer {
    let Ok(nonce) = Token::new() else {
        return Answer::text(StatusCode::INTERNAL_SERVER_ERROR, "the system has no randomness to give");
    };
    let page = PAGE.replace("{nonce}", nonce.text()).replace("{style}", STYLE).replace("{script}", SCRIPT);
    Answer {
        status: StatusCode::OK,
        kind: "text/html; charset=utf-8",
        body: page.into_bytes(),
        nonce: Some(nonce.text().to_owned()),
    }
}

fn metrics(hub: &Hub) -> Answer {
    match metrics::text(&hub.sums()) {
        Ok(text) => {
            Answer { status: StatusCode::OK, kind: metrics::KIND, body: text.into_bytes(), nonce: None }
        }
        Err(error) => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn frames(after: &str, hub: &Hub) -> Answer {
    let after: Vec<u64> =
        after.split(',').take(hub.watches()).map(|number| number.parse().unwrap_or(0)).collect();
    match serde_json::to_vec(&hub.news(&after)) {
        Ok(body) => Answer::json(StatusCode::OK, body),
        Err(error) => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// An expression as a tree: numbers, names, `["-", a]` and `["+", a, b]`. So the page needs no grammar.
fn expression(text: &str, columns: &[String]) -> Answer {
    let wrong = |error: String| {
        Answer::json(StatusCode::BAD_REQUEST, json!({ "error": error }).to_string().into_bytes())
    };
    let metric = match Metric::parse(text) {
        Ok(metric) => metric,
        Err(error) => return wrong(error.to_string()),
    };
    let known = |name: &&str| *name == "seconds" || columns.iter().any(|column| column == name);
    if let Some(name) = metric.expression.columns().into_iter().find(|name| !known(name)) {
        return wrong(format!("no column is called {name}; there are {}, seconds", columns.join(", ")));
    }
    let tree = json!({ "name": metric.name, "tree": tree(&metric.expression), "text": metric.to_string() });
    Answer::json(StatusCode::OK, tree.to_string().into_bytes())
}

fn tree(expression: &Expression) -> Value {
    match expression {
        Expression::Number(number) => json!(solo_watch::real(*number)),
        Expression::Column(name) => json!(name),
        Expression::Negative(inner) => json!(["-", tree(inner)]),
        Expression::Binary(operator, left, right) => {
            json!([operator.sign().to_string(), tree(left), tree(right)])
        }
    }
}
