//! Connections, each answered once.

use super::http::{self, Answer};
use super::{Hub, Token, answer};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections at the same time; more are closed unanswered.
const CONNECTIONS_MAX: usize = 32;
/// How long a reader may dawdle.
const PATIENCE: Duration = Duration::from_secs(5);

/// A listening server.
pub(crate) struct Server {
    listener: TcpListener,
    hub: Arc<Hub>,
    token: Arc<Token>,
}

impl Server {
    /// Listens at `address`.
    ///
    /// # Errors
    /// When the address can't be had.
    pub(crate) fn bind(address: SocketAddr, hub: Arc<Hub>, token: Token) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address)?, hub, token: Arc::new(token) })
    }

    /// What a browser is to be given.
    ///
    /// # Errors
    /// When the system does not know where it listens.
    pub(crate) fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}/?token={}", self.listener.local_addr()?, self.token.text()))
    }

    /// Answers until the program ends.
    pub(crate) fn run(self) {
        let open = Arc::new(AtomicUsize::new(0));
        for connection in self.listener.incoming().filter_map(Result::ok) {
            if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
                open.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let (hub, token, open) = (Arc::clone(&self.hub), Arc::clone(&self.token), Arc::clone(&open));
            std::thread::spawn(move || {
                // A reader that is gone needs no answer.
                let _ = serve(connection, &hub, &token);
                open.fetch_sub(1, Ordering::AcqRel);
            });
        }
    }
}

fn serve(mut connection: TcpStream, hub: &Hub, token: &Token) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let answer = match http::read(&mut connection)? {
        Some(request) => answer::answer(&request, hub, token),
        None => Answer::text(400, "that is no HTTP request, or a very long one"),
    };
    http::write(&mut connection, &answer)
}
