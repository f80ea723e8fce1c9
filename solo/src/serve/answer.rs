//! From a request to its answer.

use super::http::{Answer, Request};
use super::{Hub, Token};
use serde_json::{Value, json};
use solo_observe::{Expression, Metric};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Answers a request.
pub(super) fn answer(request: &Request, hub: &Hub, token: &Token) -> Answer {
    let said = request.bearer.as_deref().or_else(|| request.value("token")).unwrap_or_default();
    if !token.is(said) {
        return Answer::text(
            401,
            "the token is missing or wrong: use the whole address that solo serve printed",
        );
    }
    if request.method != "GET" {
        return Answer::text(405, "there is nothing to be changed here: GET only");
    }
    match request.path.as_str() {
        "/" => page(),
        "/frames" => frames(request.value("after").unwrap_or_default(), hub),
        "/expression" => expression(request.value("text").unwrap_or_default(), &hub.columns()),
        _ => Answer::text(404, "no such page; there are /, /frames and /expression"),
    }
}

/// The page with a nonce of its own.
fn page() -> Answer {
    let Ok(nonce) = Token::new() else {
        return Answer::text(500, "the system has no randomness to give");
    };
    let page = PAGE.replace("{nonce}", nonce.text()).replace("{style}", STYLE).replace("{script}", SCRIPT);
    Answer {
        status: 200,
        kind: "text/html; charset=utf-8",
        body: page.into_bytes(),
        nonce: Some(nonce.text().to_owned()),
    }
}

fn frames(after: &str, hub: &Hub) -> Answer {
    let after: Vec<u64> = after.split(',').map(|number| number.parse().unwrap_or(0)).collect();
    match serde_json::to_vec(&hub.news(&after)) {
        Ok(body) => Answer::json(200, body),
        Err(error) => Answer::text(500, &error.to_string()),
    }
}

/// An expression as a tree: numbers, names, `["-", a]` and `["+", a, b]`. So the page needs no grammar.
fn expression(text: &str, columns: &[String]) -> Answer {
    let wrong = |error: String| Answer::json(400, json!({ "error": error }).to_string().into_bytes());
    let metric = match Metric::parse(text) {
        Ok(metric) => metric,
        Err(error) => return wrong(error.to_string()),
    };
    let known = |name: &&str| *name == "seconds" || columns.iter().any(|column| column == name);
    if let Some(name) = metric.expression.columns().into_iter().find(|name| !known(name)) {
        return wrong(format!("no column is called {name}; there are {}, seconds", columns.join(", ")));
    }
    let tree = json!({ "name": metric.name, "tree": tree(&metric.expression), "text": metric.to_string() });
    Answer::json(200, tree.to_string().into_bytes())
}

fn tree(expression: &Expression) -> Value {
    match expression {
        Expression::Number(number) => json!(number),
        Expression::Column(name) => json!(name),
        Expression::Negative(inner) => json!(["-", tree(inner)]),
        Expression::Binary(operator, left, right) => {
            json!([operator.sign().to_string(), tree(left), tree(right)])
        }
    }
}
