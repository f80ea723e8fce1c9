//! What is asked and answered, apart from the library that speaks HTTP.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, header};

/// What was asked for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Without the query.
    pub(super) path: String,
    /// Names and values of the query, decoded.
    pub(super) query: Vec<(String, String)>,
    /// The word after `Authorization: Bearer`.
    pub(super) bearer: Option<String>,
    /// The name that the reader believes this server to have, without the port.
    pub(super) host: Said,
    /// The page that asks, where it is one.
    pub(super) origin: Said,
}

/// A header that may stand once.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) enum Said {
    /// It is not there.
    #[default]
    Nothing,
    /// It stands there once, as text.
    Once(String),
    /// It is there, and nobody can say what it means.
    Nonsense,
}

impl Request {
    /// From what was read.
    pub(super) fn new(parts: &Parts) -> Self {
        let query = parts.uri.query().unwrap_or_default();
        let bearer = match said(&parts.headers, header::AUTHORIZATION) {
            Said::Once(text) => text.strip_prefix("Bearer ").map(|word| word.trim().to_owned()),
            Said::Nothing => None,
            Said::Nonsense => Some(String::new()),
        };
        // An address that names its host stands above the header (RFC 9112, section 3.2.2).
        let host = match parts.uri.authority() {
            Some(authority) => Said::Once(authority.to_string()),
            None => said(&parts.headers, header::HOST),
        };
        Self {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            bearer,
            host,
            origin: said(&parts.headers, header::ORIGIN),
        }
    }

    /// A query's value.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn said(headers: &HeaderMap, name: HeaderName) -> Said {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(HeaderValue::to_str), values.next()) {
        (None, _) => Said::Nothing,
        (Some(Ok(text)), None) => Said::Once(text.to_owned()),
        _ => Said::Nonsense,
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
    /// What the page's own style and script call themselves, so that no others are allowed.
    pub(super) nonce: Option<String>,
}

impl Answer {
    pub(super) fn text(status: StatusCode, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, kind: "text/plain; charset=utf-8", body, nonce: None }
    }

    pub(super) fn json(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, kind: "application/json", body, nonce: None }
    }

    /// As it is sent. Nothing of it is kept by the browser, shown within other pages or told to them.
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let base = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        let policy = match &self.nonce {
            Some(nonce) => format!(
                "default-src 'none'; connect-src 'self'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src data:; {base}"
            ),
            None => format!("default-src 'none'; {base}"),
        };
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(header::CONTENT_TYPE, self.kind);
        set(header::CACHE_CONTROL, "no-store");
        set(header::REFERRER_POLICY, "no-referrer");
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        set(header::X_FRAME_OPTIONS, "DENY");
        set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
        set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            set(header::ALLOW, "GET, HEAD");
        }
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(request: hyper::http::request::Builder) -> Request {
        Request::new(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_query_is_decoded_and_headers_that_stand_twice_are_nonsense() {
        let get = |uri| hyper::Request::get(uri);
        let request = parts(get("/frames?after=1%2C2&x=a+b%zz").header("authorization", "Bearer abc"));
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/frames"));
        assert_eq!((request.value("after"), request.value("x")), (Some("1,2"), Some("a b%zz")));
        assert_eq!(request.bearer.as_deref(), Some("abc"));
        let twice = parts(get("/").header("host", "a").header("host", "b").header("origin", "null"));
        assert_eq!((twice.host, twice.origin), (Said::Nonsense, Said::Once("null".into())));
        assert_eq!(parts(get("http://x:1/")).host, Said::Once("x:1".into()));
    }

    #[test]
    fn no_answer_is_kept_framed_or_told_on() {
        for answer in [Answer::text(StatusCode::NOT_FOUND, "no"), Answer::json(StatusCode::OK, vec![])] {
            let response = answer.response();
            let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            for part in
                ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
            {
                assert!(header("content-security-policy").contains(part), "{part}");
            }
            assert_eq!(header("cache-control"), "no-store");
            assert_eq!(header("x-content-type-options"), "nosniff");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]
        #[test]
        fn no_address_makes_it_panic(path in "[!-~]{0,60}") {
            if let Ok(request) = hyper::Request::get(format!("/{path}")).body(()) {
                let _ = Request::new(&request.into_parts().0);
            }
        }
    }
}
