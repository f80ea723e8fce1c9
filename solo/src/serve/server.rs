//! Connections, each answered once, on a thread of their own.
//!
//! ```text
//! accept ──▶ gate: room for one more ──▶ hyper: a whole head within 5 s ──▶ answer ──▶ read within 30 s ──▶ closed
//!    ▲ a pause after each failure            431, 414, 400 else
//! ```
//! One thread answers all, so a reader can't make it start more than it has; what it waits for has a deadline.

use super::gate::{Gate, Place};
use super::http::Request;
use super::{Hosts, Hub, Token, answer};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{sleep, sleep_until};

/// How long a reader may take to say what it wants, from its first byte to its last.
const HEAD: Duration = Duration::from_secs(5);
/// How long it may take to read the answer.
const WHOLE: Duration = Duration::from_secs(30);
/// A head longer than this is refused.
const HEAD_MAX: usize = 16 * 1024;
/// More header lines than this are refused.
const LINES_MAX: usize = 64;
/// Connections at the same time, where the system has descriptors for as many.
const CONNECTIONS_MAX: usize = 1024;
/// How long nobody is accepted after a failure, at first and at last.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A listening server.
pub(crate) struct Server {
    listener: TcpListener,
    asked: Arc<Asked>,
}

/// What a request is answered from.
struct Asked {
    hub: Arc<Hub>,
    token: Token,
    hosts: Hosts,
}

impl Server {
    /// Listens at `address`.
    ///
    /// # Errors
    /// When the address can't be had.
    pub(crate) fn bind(address: SocketAddr, hub: Arc<Hub>, token: Token) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, asked: Arc::new(Asked { hub, token, hosts: Hosts::of_this_machine() }) })
    }

    /// What a browser is to be given.
    ///
    /// # Errors
    /// When the system does not know where it listens.
    pub(crate) fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}/?token={}", self.listener.local_addr()?, self.asked.token.text()))
    }

    /// Answers on a thread of its own until the program ends.
    ///
    /// # Errors
    /// When there is no thread or no descriptor to be had.
    pub(crate) fn start(self) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let thread = std::thread::Builder::new().name("answers".to_owned());
        thread.spawn(move || self.run(&runtime)).map(drop)
    }

    fn run(self, runtime: &Runtime) {
        let gate = Gate::new(room());
        // A task like those that answer, so that their turns and its own come one after the other.
        let _ = runtime.block_on(async move { tokio::spawn(self.accept(gate)).await });
    }

    async fn accept(self, gate: Gate) {
        let Ok(listener) = tokio::net::TcpListener::from_std(self.listener) else { return };
        let mut pause = PAUSE.0;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    pause = PAUSE.0;
                    while gate.is_full() {
                        make_room(&gate).await;
                    }
                    let (place, gone) = gate.enter();
                    tokio::spawn(serve(stream, Arc::clone(&self.asked), place, gone));
                }
                Err(error) if is_the_readers(&error) => {}
                Err(_) => {
                    // No descriptor or no memory: somebody has to go, and trying again at once changes nothing.
                    make_room(&gate).await;
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }
}

/// Ends one connection, once it has had its turn and what came of it by then has been heard.
async fn make_room(gate: &Gate) {
    if let Some(end) = gate.turn_ends() {
        sleep_until(end).await;
        // The first time lets the system say what has come, the second lets those read it to whom it came.
        yield_now().await;
        yield_now().await;
        gate.make_room();
    }
}

/// Half of the descriptors are for readers, the others for watches and their programs.
fn room() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(2 * CONNECTIONS_MAX);
    (limit / 2).min(CONNECTIONS_MAX)
}

/// A connection that ended before it was accepted.
fn is_the_readers(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
}

/// Answers one request and closes.
async fn serve(stream: TcpStream, asked: Arc<Asked>, place: Place, gone: oneshot::Receiver<()>) {
    let heard = &place;
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        heard.hear();
        let request = Request::new(&request.into_parts().0);
        let answer = answer::answer(&request, &asked.hub, &asked.token, &asked.hosts);
        async { Ok::<_, Infallible>(answer.response()) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(HEAD_MAX)
        .max_headers(LINES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let patience = async {
        sleep(HEAD).await;
        if place.heard() {
            sleep(WHOLE).await;
        }
    };
    // A reader that is gone needs no answer, and one that breaks the rules has had hyper's.
    tokio::select! {
        _ = connection => {}
        _ = gone => {}
        () = patience => {}
    }
}
