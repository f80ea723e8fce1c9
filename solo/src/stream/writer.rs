//! The sink that writes the stream.

use super::{Begin, Message, Name, Names, Refused, RowLine, Tick};
use crate::interrupt;
use crate::watching::{DoubtsSummary, Summary};
use solo_perf::files::Host;
use solo_watch::{Columns, Row, WatchDoubts};
use solo_watch::{Sink, WatchOutcome};
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Writes messages, one a line.
pub(crate) struct StreamWriter<W: Write> {
    out: W,
    begin: Begin,
    /// Who threads of this machine are; none for another machine's.
    names: Option<Names>,
    files: Host,
    began: Instant,
}

impl<W: Write> StreamWriter<W> {
    pub(crate) fn new(out: W, begin: Begin, elsewhere: bool) -> Self {
        let names = (!elsewhere).then(Names::default);
        Self { out, begin, names, files: Host::new(), began: Instant::now() }
    }

    /// A name that came from another machine.
    pub(crate) fn told(&mut self, name: &Name) -> io::Result<()> {
        self.say(&Message::Name(name.clone()))
    }

    /// The watch is over.
    pub(crate) fn finish(mut self, outcome: &WatchOutcome) -> io::Result<()> {
        self.say(&Message::End(Summary::of(outcome)))?;
        self.flush()
    }

    /// There was nothing to watch.
    pub(crate) fn refuse(mut self, exit: u8, message: String) -> io::Result<()> {
        self.say(&Message::Refused(Refused { exit, message }))?;
        self.flush()
    }

    fn say(&mut self, message: &Message) -> io::Result<()> {
        let said = serde_json::to_writer(&mut self.out, message).map_err(io::Error::from);
        gone(said.and_then(|()| self.out.write_all(b"\n")))
    }

    fn flush(&mut self) -> io::Result<()> {
        gone(self.out.flush())
    }
}

impl<W: Write> Sink for StreamWriter<W> {
    fn begin(&mut self, columns: &Columns) -> io::Result<()> {
        self.began = Instant::now();
        let begin = self.begin.clone().with(columns);
        self.say(&Message::Begin(begin))?;
        self.flush()
    }

    fn row(&mut self, row: &Row) -> io::Result<()> {
        if let Some(name) = self.names.as_mut().and_then(|names| names.before(row, &self.files)) {
            self.say(&Message::Name(name))?;
        }
        self.say(&Message::Row(RowLine::from(row)))
    }

    fn tick(&mut self, doubts: &WatchDoubts) -> io::Result<()> {
        let tick =
            Tick { at_ns: self.began.elapsed().as_nanos() as u64, doubts: DoubtsSummary::of(doubts, 0) };
        self.say(&Message::Tick(tick))?;
        self.flush()
    }
}

/// A reader that is gone wants no more: the watch and its program end, as when standard input is closed.
fn gone(said: io::Result<()>) -> io::Result<()> {
    if said.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        interrupt::flag().store(true, Ordering::SeqCst);
    }
    said
}
