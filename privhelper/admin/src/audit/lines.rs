//! A file's lines as bytes, each at most [`LINE_MAX`] long, unpacked where the file is compressed.

use super::files::FOREIGN_MAX;
use flate2::bufread::MultiGzDecoder;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use ruzstd::decoding::StreamingDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

/// Longest line that is held in memory: 16 MiB; no record is longer.
pub const LINE_MAX: usize = 16 * 1024 * 1024;
/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With LF, which is not part of the line.
    Whole,
    /// With the file. If the file grows, the same line comes again.
    File,
    /// It goes on past [`LINE_MAX`].
    TooLong,
}

/// Reads lines.
pub struct Lines {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Where what was not yet given begins.
    start: usize,
    /// Where what was read ends.
    end: usize,
    /// How much of the unread bytes holds no LF.
    searched: usize,
    /// The line that the file ends in was given.
    is_told: bool,
    /// Bytes that were read.
    read: u64,
    /// The range of the current line.
    line: Range<usize>,
}

impl Lines {
    /// Opens a log file: as it was written, or compressed by gzip or zstd.
    ///
    /// # Errors
    /// As open(2) and read(2); or it is compressed otherwise.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(unpacked(File::open(path)?)?))
    }

    /// Opens a log file that another user writes: a regular file at this name, which is read as it is. A symbolic link, a FIFO
    /// and what would have to be unpacked hold nobody up.
    ///
    /// # Errors
    /// As open(2); or it is no regular file.
    pub fn of_another_user(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = match nix::fcntl::open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::ELOOP) => return Err(io::Error::other("it is a symbolic link")),
            Err(error) => return Err(error.into()),
        };
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        // Its user may write faster than it is read.
        Ok(Self::of(Box::new(file.take(facts.len().min(FOREIGN_MAX)))))
    }

    /// Reads an open source without decompressing it.
    pub fn of(source: Box<dyn Read>) -> Self {
        Self {
            source,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            searched: 0,
            is_told: false,
            read: 0,
            line: 0..0,
        }
    }

    /// The next line; `None` at the end, after which it can be asked again.
    ///
    /// # Errors
    /// As read(2).
    pub fn next(&mut self) -> io::Result<Option<(&[u8], End)>> {
        Ok(self.advance()?.map(|end| (self.line(), end)))
    }

    /// The line that was advanced to.
    pub fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// As [`Self::next`], without giving the line.
    ///
    /// # Errors
    /// As read(2).
    pub fn advance(&mut self) -> io::Result<Option<End>> {
        loop {
            let unseen = &self.buffer[self.start + self.searched..self.end];
            if let Some(at) = memchr::memchr(b'\n', unseen) {
                self.line = self.start..self.start + self.searched + at;
                (self.start, self.searched, self.is_told) = (self.line.end + 1, 0, false);
                return Ok(Some(End::Whole));
            }
            self.searched = self.end - self.start;
            self.line = self.start..self.end;
            if self.searched > LINE_MAX {
                (self.start, self.searched) = (self.end, 0);
                return Ok(Some(End::TooLong));
            }
            if self.fill()? == 0 {
                self.line = self.start..self.end;
                let is_new = self.searched > 0 && !self.is_told;
                self.is_told = self.searched > 0;
                return Ok(is_new.then_some(End::File));
            }
        }
    }

    /// How many bytes were read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Reads more bytes into the buffer.
    fn fill(&mut self) -> io::Result<usize> {
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.end * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.end += read;
                    self.read += read as u64;
                    return Ok(read);
                }
            }
        }
    }
}

/// Told by the first bytes, since a name says nothing. No record begins like one of these.
fn unpacked(file: File) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::with_capacity(CHUNK, file);
    let head = file.fill_buf()?;
    if head.starts_with(b"\x1f\x8b") {
        return Ok(Box::new(MultiGzDecoder::new(file)));
    }
    if head.starts_with(b"\x28\xb5\x2f\xfd") {
        return Ok(Box::new(Zstd(Frame::Ended(Some(file)))));
    }
    if head.starts_with(b"\xfd7zXZ\0") {
        let why = "compressed by xz, which is not read here: unpack it first (`xz -dk FILE`)";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(Box::new(file))
}

/// Frame after frame, as a file may hold several (RFC 8878, section 3).
struct Zstd(Frame);

enum Frame {
    Open(Box<StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>>),
    Ended(Option<BufReader<File>>),
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.0 {
                Frame::Open(frame) => {
                    let read = frame.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        return Ok(read);
                    }
                    let Frame::Open(ended) = std::mem::replace(&mut self.0, Frame::Ended(None)) else {
                        return Ok(0);
                    };
                    self.0 = Frame::Ended(Some(ended.into_inner()));
                }
                Frame::Ended(source) => {
                    let Some(mut source) = source.take() else { return Ok(0) };
                    if source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let frame = StreamingDecoder::new(source)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                    self.0 = Frame::Open(Box::new(frame));
                }
            }
        }
    }
}
