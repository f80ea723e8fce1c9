//! What a run reported.

use crate::error::QemuError;
use solo_model::Record;
use solo_x86_64::frame::{Decoder, End, Frame, Hello, Killed};

/// Everything that a run which went to its end reported.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// What the image found.
    pub hello: Hello,
    /// The records, in the order of the stream.
    pub records: Vec<Record>,
    /// Threads that were ended because of a fault.
    pub killed: Vec<Killed>,
    /// How it ended.
    pub end: End,
    /// What was printed for people.
    pub console: String,
    /// BLAKE3 of the stream in hex: two runs with the same digest reported the same, byte for byte.
    pub digest: String,
}

impl Report {
    /// Takes a whole stream apart.
    pub(crate) fn read(stream: &[u8], console: String) -> Result<Self, QemuError> {
        let mut decoder = Decoder::default();
        decoder.feed(stream);
        let (mut hello, mut end, mut records, mut killed) = (None, None, Vec::new(), Vec::new());
        while let Some(frame) = decoder.next_frame()? {
            match frame {
                Frame::Hello(frame) => hello = Some(frame),
                Frame::Record(record) => records.push(record),
                Frame::Killed(frame) => killed.push(frame),
                Frame::End(frame) => end = Some(frame),
            }
        }
        decoder.finish()?;
        let hello = hello.ok_or(QemuError::Incomplete("first"))?;
        let end = end.ok_or(QemuError::Incomplete("last"))?;
        let digest = blake3::hash(stream).to_hex().to_string();
        Ok(Self { hello, records, killed, end, console, digest })
    }
}
