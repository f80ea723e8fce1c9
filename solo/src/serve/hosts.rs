//! Who may ask: readers that know where they are, and no page of somebody else's.
//!
//! A page from elsewhere can make a browser send requests here, and by a name that suddenly means this machine (DNS
//! rebinding) even read the answers. Such a request names a host that is none of ours, or an origin that is not this page.

use super::http::{Request, Said};
use std::net::IpAddr;

/// What is wrong with where a request comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stranger {
    /// It does not say which host it means, or says so twice.
    NoHost,
    /// It means another host.
    Host,
    /// A page from elsewhere asks.
    Origin,
}

/// The names of this server.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    machine: String,
}

impl Hosts {
    /// Of this machine.
    pub(crate) fn of_this_machine() -> Self {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self { machine: name.trim().to_lowercase() }
    }

    /// Refuses requests of strangers.
    pub(super) fn check(&self, request: &Request) -> Result<(), Stranger> {
        let Said::Once(host) = &request.host else { return Err(Stranger::NoHost) };
        let name = name(host).ok_or(Stranger::NoHost)?;
        if !self.is_ours(name) {
            return Err(Stranger::Host);
        }
        match &request.origin {
            Said::Nothing => Ok(()),
            // Not encrypted, the same name and the same port: this very page.
            Said::Once(origin) if origin.strip_prefix("http://") == Some(host) => Ok(()),
            _ => Err(Stranger::Origin),
        }
    }

    /// Addresses can't be made to mean something else; names can, but for those of this machine. The port is not looked
    /// at: it changes on its way through a tunnel (`ssh -L`).
    fn is_ours(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let name = name.to_lowercase();
        bare.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || (!name.is_empty() && name == self.machine)
    }
}

/// A host without its port.
fn name(host: &str) -> Option<&str> {
    if host.starts_with('[') {
        let end = host.find(']')?;
        let (name, port) = host.split_at(end + 1);
        return (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(name);
    }
    match host.split_once(':') {
        Some((name, port)) => is_port(port).then_some(name),
        None => Some(host),
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, origin: Option<&str>) -> Result<(), Stranger> {
        let hosts = Hosts { machine: "box".into() };
        let origin = origin.map_or(Said::Nothing, |origin| Said::Once(origin.into()));
        hosts.check(&Request { host: Said::Once(host.into()), origin, ..Request::default() })
    }

    #[test]
    fn addresses_and_names_of_this_machine_are_ours() {
        for host in [
            "127.0.0.1:8321",
            "127.0.0.1",
            "localhost:1",
            "LocalHost",
            "a.localhost",
            "[::1]:80",
            "[::1]",
            "10.0.0.7:8321",
            "box:9",
            "Box",
        ] {
            assert_eq!(check(host, None), Ok(()), "{host}");
            assert_eq!(check(host, Some(&format!("http://{host}"))), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_names_and_pages_are_strangers() {
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "box.evil.example",
            "127.0.0.1@evil.example",
            "xlocalhost",
        ] {
            assert_eq!(check(host, None), Err(Stranger::Host), "{host}");
        }
        for host in ["127.0.0.1:x", "[::1", "[::1]x", "localhost:99999", "a:b:c"] {
            assert_eq!(check(host, None), Err(Stranger::NoHost), "{host}");
        }
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:1",
            "http://127.0.0.1:2",
            "http://127.0.0.1",
            "",
        ] {
            assert_eq!(check("127.0.0.1:1", Some(origin)), Err(Stranger::Origin), "{origin}");
        }
        assert_eq!(Hosts { machine: String::new() }.check(&Request::default()), Err(Stranger::NoHost));
        let twice =
            Request { host: Said::Once("localhost".into()), origin: Said::Nonsense, ..Request::default() };
        assert_eq!(Hosts { machine: String::new() }.check(&twice), Err(Stranger::Origin));
    }
}
