//! As much of HTTP as one page for one reader takes: a head is read, an answer is written, the connection closed.

use std::io::{self, Read, Write};

/// A head longer than this is refused.
const HEAD_MAX: usize = 16 * 1024;
/// More header lines than this are refused.
const LINES_MAX: usize = 64;

/// What was asked for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    /// Names and values of the query, decoded.
    pub(super) query: Vec<(String, String)>,
    /// The word after `Authorization: Bearer`.
    pub(super) bearer: Option<String>,
}

impl Request {
    /// A query's value.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
    /// What the page's own style and script call themselves, so that no others are allowed.
    pub(super) nonce: Option<String>,
}

impl Answer {
    pub(super) fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, kind: "text/plain; charset=utf-8", body, nonce: None }
    }

    pub(super) fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, kind: "application/json", body, nonce: None }
    }
}

/// Reads a request's head; `Ok(None)` where it is no HTTP or too long.
///
/// # Errors
/// When the connection breaks.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Request>> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let got = from.read(&mut piece)?;
        if got == 0 {
            return Ok(None);
        }
        head.extend_from_slice(&piece[..got]);
        match parse(&head) {
            Parsed::Whole(request) => return Ok(Some(request)),
            Parsed::Part if head.len() < HEAD_MAX => {}
            _ => return Ok(None),
        }
    }
}

enum Parsed {
    Whole(Request),
    Part,
    Nonsense,
}

fn parse(head: &[u8]) -> Parsed {
    let mut lines = [httparse::EMPTY_HEADER; LINES_MAX];
    let mut request = httparse::Request::new(&mut lines);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Parsed::Part,
        Err(_) => return Parsed::Nonsense,
    }
    let (path, query) =
        request.path.unwrap_or("/").split_once('?').unwrap_or((request.path.unwrap_or("/"), ""));
    let bearer = request.headers.iter().find(|line| line.name.eq_ignore_ascii_case("authorization"));
    let bearer = bearer.and_then(|line| std::str::from_utf8(line.value).ok()?.strip_prefix("Bearer "));
    Parsed::Whole(Request {
        method: request.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect(),
        bearer: bearer.map(|word| word.trim().to_owned()),
    })
}

fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (decoded(name), decoded(value))
}

/// `%41` and `+` undone; what is no code stays as it is.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let code = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.filter(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()));
        match (byte, code.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(*other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes an answer. Nothing of it is kept by the browser or told to other pages.
///
/// # Errors
/// When the connection breaks.
pub(super) fn write(to: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Error",
    };
    let allowed = match &answer.nonce {
        Some(nonce) => format!(
            "default-src 'none'; connect-src 'self'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src data:"
        ),
        None => "default-src 'none'".to_owned(),
    };
    write!(
        to,
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\nContent-Security-Policy: {allowed}\r\n\r\n",
        answer.status,
        answer.kind,
        answer.body.len(),
    )?;
    to.write_all(&answer.body)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_in_pieces_is_read_and_its_query_decoded() {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let some = self.0.len().min(7);
                into[..some].copy_from_slice(&self.0[..some]);
                self.0 = &self.0[some..];
                Ok(some)
            }
        }
        let text =
            "GET /frames?after=1%2C2&x=a+b%zz HTTP/1.1\r\nHost: x\r\nauthorization: Bearer abc\r\n\r\n";
        let request = read(&mut Slow(text.as_bytes())).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/frames"));
        assert_eq!((request.value("after"), request.value("x")), (Some("1,2"), Some("a b%zz")));
        assert_eq!(request.bearer.as_deref(), Some("abc"));
    }

    #[test]
    fn what_is_no_request_or_too_long_is_none() {
        assert_eq!(read(&mut &b"hello\r\n\r\n"[..]).unwrap(), None);
        assert_eq!(read(&mut &b"GET / HTTP/1.1\r\nA: b"[..]).unwrap(), None);
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(2 * HEAD_MAX));
        assert_eq!(read(&mut long.as_bytes()).unwrap(), None);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(2 * LINES_MAX));
        assert_eq!(read(&mut many.as_bytes()).unwrap(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), path in "\\PC{0,40}") {
            let _ = read(&mut bytes.as_slice());
            let _ = read(&mut format!("GET /{path} HTTP/1.1\r\n\r\n").as_bytes());
            decoded(&path);
        }
    }
}
