//! Writing a compact file.

use crate::file::{BLOCK_MAX, COMMAND_MAX, Header, push_varint};
use crate::functional::pages::Pages;
use crate::reference::Reference;
use solo_model::Bytes;
use solo_workload::image::{Encoder, PAGE, RECORD_MAX, TraceAccess, TraceKind};
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Records collect up to this size before they are compressed.
const BLOCK: usize = 256 << 10;
/// New pages of a block up to this number: at most 10 bytes each, they leave the block below its limit.
const BLOCK_PAGES: usize = 32 << 10;
/// Higher levels save a tenth of the space and take three times as long.
const LEVEL: i32 = 3;

/// What is written.
#[derive(Clone, Default, Debug)]
pub struct WriterOptions {
    /// The program and its arguments, for the header.
    pub command: Vec<OsString>,
    /// Instruction fetches become records; else they are only counted.
    pub fetches: bool,
}

/// Writes a compact file. It appears under its name when [`TraceWriter::finish`] succeeds, whole; until then
/// it is a temporary file in the same folder, which goes when the writer is dropped.
#[derive(Debug)]
pub struct TraceWriter {
    output: BufWriter<NamedTempFile>,
    path: PathBuf,
    header: Header,
    pages: Pages,
    encoder: Encoder,
    records: Vec<u8>,
    block_records: u32,
    new_pages: Vec<u64>,
    last_page: u64,
    /// Instructions since the last record.
    instructions: u64,
    written: u64,
}

impl TraceWriter {
    /// Begins the file that will be `path`, replacing what is there.
    ///
    /// # Errors
    /// If the folder can't be written or `path` is something other than a file.
    pub fn create(path: &Path, options: WriterOptions) -> io::Result<Self> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it exists and is not a regular file"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".recording-")
            .suffix(".trace.tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        let header = Header {
            command: command_words(&options.command),
            fetches_recorded: options.fetches,
            ..Header::default()
        };
        let mut output = BufWriter::new(file);
        // Keeps the place; the counts come at the end.
        let place = header.encode();
        output.write_all(&place)?;
        Ok(Self {
            output,
            path: path.to_path_buf(),
            header,
            pages: Pages::default(),
            encoder: Encoder::default(),
            records: Vec::with_capacity(BLOCK + 4096),
            block_records: 0,
            new_pages: Vec::new(),
            last_page: 0,
            instructions: 0,
            written: place.len() as u64,
        })
    }

    /// Bytes written so far.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// What has been counted so far.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Appends a reference.
    ///
    /// # Errors
    /// If writing fails, for example because the disk is full.
    #[inline]
    pub fn push(&mut self, reference: &Reference) -> io::Result<()> {
        self.header.counts.add(reference.kind);
        if reference.kind == TraceKind::Fetch {
            self.instructions += 1;
            self.header.instructions += 1;
            if !self.header.fetches_recorded {
                return Ok(());
            }
        }
        let crosses = reference.address % PAGE.get() + u64::from(reference.size) > PAGE.get();
        if crosses && reference.kind == TraceKind::Modify {
            // All of it is read before any of it is written.
            self.pieces(&Reference { kind: TraceKind::Read, ..*reference })?;
            return self.pieces(&Reference { kind: TraceKind::Write, ..*reference });
        }
        self.pieces(reference)
    }

    /// Makes a record for each page that `reference` touches.
    fn pieces(&mut self, reference: &Reference) -> io::Result<()> {
        let (mut address, mut left) = (reference.address, u64::from(reference.size));
        while left > 0 {
            let page = address / PAGE.get();
            let here = left.min(PAGE.get() - address % PAGE.get());
            let (number, new) = self.pages.number(page, reference.kind == TraceKind::Fetch);
            if new {
                self.new_pages.push(page);
                self.header.pages = self.pages.count();
            }
            let instructions = u32::try_from(self.instructions).unwrap_or(u32::MAX);
            self.instructions -= u64::from(instructions);
            let offset = Bytes::new(number * PAGE.get() + address % PAGE.get());
            let access = TraceAccess { kind: reference.kind, offset, size: here as u16, instructions };
            self.encoder.encode(&access, &mut self.records);
            self.block_records += 1;
            self.header.records += 1;
            left -= here;
            address = address.wrapping_add(here);
            if self.records.len() > BLOCK - RECORD_MAX || self.new_pages.len() == BLOCK_PAGES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block_records == 0 {
            return Ok(());
        }
        let mut block = Vec::with_capacity(self.records.len() + 10 * self.new_pages.len() + 10);
        push_varint(&mut block, self.new_pages.len() as u64);
        for page in self.new_pages.drain(..) {
            let distance = page.wrapping_sub(self.last_page) as i64;
            push_varint(&mut block, (distance << 1 ^ distance >> 63) as u64);
            self.last_page = page;
        }
        block.append(&mut self.records);
        debug_assert!(block.len() <= BLOCK_MAX);
        let frame = zstd::bulk::compress(&block, LEVEL)?;
        for number in [frame.len() as u32, block.len() as u32, self.block_records, crc32fast::hash(&block)] {
            self.output.write_all(&number.to_le_bytes())?;
        }
        self.output.write_all(&frame)?;
        self.written += 16 + frame.len() as u64;
        self.block_records = 0;
        Ok(())
    }

    /// Completes the file and gives it its name. `limited` says that the program had not ended.
    ///
    /// # Errors
    /// If writing or renaming fails; then there is no file.
    pub fn finish(mut self, limited: bool) -> io::Result<Header> {
        self.end_block()?;
        self.output.write_all(&0u32.to_le_bytes())?;
        self.header.limited = limited;
        self.output.seek(SeekFrom::Start(0))?;
        self.output.write_all(&self.header.encode())?;
        let file = self.output.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(self.header)
    }
}

/// The words as text, as many as the header holds.
fn command_words(command: &[OsString]) -> Vec<String> {
    let mut room = COMMAND_MAX;
    let words = command.iter().map(|word| word.to_string_lossy().into_owned());
    words
        .take_while(|word| {
            let fits = word.len() < room;
            room = room.saturating_sub(word.len() + 1);
            fits
        })
        .collect()
}
