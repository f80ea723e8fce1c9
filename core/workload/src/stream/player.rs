//! Recorded programs, replayed.

use crate::image::{Cursor, TraceAccess, TraceImage, TraceKind};
use crate::stream::op::{Access, AccessKind, Spread};
use alloc::sync::Arc;
use solo_model::{BufferId, Bytes, Duration};

/// How far a replay goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Accesses(u64),
    End,
}

/// A recorded program being replayed: records become accesses to single lines.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    pub(crate) trace: u32,
    pub(crate) buffer: BufferId,
    line: u64,
    cursor: Cursor,
    /// What is left of the current record.
    rest: Rest,
}

/// The lines of a record that have not been yielded.
#[derive(Clone, Copy, Debug)]
struct Rest {
    offset: u64,
    end: u64,
    kind: AccessKind,
    instructions: u32,
    /// The lines are written again from here on.
    then_write: Option<u64>,
}

impl Rest {
    const NOTHING: Self =
        Self { offset: 0, end: 0, kind: AccessKind::Read, instructions: 0, then_write: None };

    fn of(record: TraceAccess) -> Self {
        let offset = record.offset.get();
        let (kind, then_write) = match record.kind {
            TraceKind::Read => (AccessKind::Read, None),
            TraceKind::Write => (AccessKind::Write, None),
            TraceKind::Fetch => (AccessKind::Fetch, None),
            TraceKind::Modify => (AccessKind::Read, Some(offset)),
        };
        let end = offset + u64::from(record.size);
        Self { offset, end, kind, instructions: record.instructions, then_write }
    }
}

impl Player {
    /// The beginning of `image`, number `trace` of the experiment, in `buffer`.
    pub(crate) fn new(trace: u32, buffer: BufferId, line: Bytes, image: Arc<TraceImage>) -> Self {
        Self { trace, buffer, line: line.get(), cursor: Cursor::new(image), rest: Rest::NOTHING }
    }

    pub(crate) fn rewind(&mut self) {
        self.cursor.rewind();
        self.rest = Rest::NOTHING;
    }

    /// The next access within `limit`. Not inlined, so that the path of passes stays short.
    #[inline(never)]
    pub(crate) fn next(&mut self, limit: &mut Limit) -> Option<Access> {
        if let Limit::Accesses(left) = limit {
            *left = left.checked_sub(1)?;
        }
        if self.rest.offset >= self.rest.end {
            if let Some(offset) = self.rest.then_write.take() {
                self.rest.offset = offset;
                self.rest.kind = AccessKind::Write;
            } else {
                self.rest = Rest::of(self.next_record(limit)?);
            }
        }
        let offset = self.rest.offset;
        self.rest.offset = (offset | (self.line - 1)) + 1;
        let writes = self.rest.kind == AccessKind::Write;
        Some(Access {
            buffer: self.buffer,
            offset: Bytes::new(offset),
            kind: self.rest.kind,
            count: 1,
            writes: u32::from(writes),
            stride: Bytes::new(self.line),
            waits: true,
            pipelined: false,
            think: Duration::ZERO,
            instructions: core::mem::take(&mut self.rest.instructions),
            phase: None,
            spread: if writes { Spread::ALL } else { Spread::NONE },
        })
    }

    /// The next record; with a number of accesses to go, the first one follows the last.
    fn next_record(&mut self, limit: &Limit) -> Option<TraceAccess> {
        match (self.cursor.advance(), limit) {
            (None, Limit::Accesses(_)) => {
                self.cursor.rewind();
                self.cursor.advance()
            }
            (record, _) => record,
        }
    }
}
