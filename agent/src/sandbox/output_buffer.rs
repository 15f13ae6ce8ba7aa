//! An output of which only so much is kept: its beginning and its end.

use std::collections::VecDeque;

/// The most that is kept of an output, whatever is asked for.
pub const MOST: usize = 1024 * 1024;

/// Head and tail of an output.
#[derive(Debug)]
pub struct OutputBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    left_out: u64,
}

impl OutputBuffer {
    /// Keeps at most so many bytes.
    pub fn new(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: most.min(MOST) / 2, left_out: 0 }
    }

    /// Takes what came.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    /// Something is left out.
    pub fn is_truncated(&self) -> bool {
        self.left_out > 0
    }

    /// Returns head and tail, with a line where something is left out between them.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.left_out > 0 {
            bytes.extend_from_slice(format!("\n[truncated: {} bytes left out]\n", self.left_out).as_bytes());
        }
        bytes.extend(self.tail);
        bytes
    }
}
