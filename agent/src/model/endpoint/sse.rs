//! Server-sent events as all sorts of servers write them: any line end, comments between, no end.

/// More than this in one event is no answer of a model.
const EVENT_LIMIT: usize = 4 << 20;

/// Puts bytes together to the data of events.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    data: String,
    has_data: bool,
    /// The last byte was a CR: a LF after it belongs to it.
    is_after_cr: bool,
}

impl Decoder {
    /// Takes bytes in, gives the data of each event that they complete.
    ///
    /// # Errors
    /// An event is too long.
    pub fn push(&mut self, bytes: &[u8], mut event: impl FnMut(&str)) -> Result<(), &'static str> {
        for &byte in bytes {
            let ends_cr = std::mem::replace(&mut self.is_after_cr, byte == b'\r');
            match byte {
                b'\n' if ends_cr => {}
                b'\n' | b'\r' => self.line_ends(&mut event),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > EVENT_LIMIT {
                return Err("an event is too long");
            }
        }
        Ok(())
    }

    /// Gives the event that the end of the stream completes: some servers leave its blank line out.
    pub fn finish(&mut self, mut event: impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.line_ends(&mut event);
        }
        self.line_ends(&mut event);
    }

    fn line_ends(&mut self, event: &mut impl FnMut(&str)) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                event(&std::mem::take(&mut self.data));
            }
            return;
        }
        // Names of events and comments say nothing that the data does not.
        let Some(data) = line.strip_prefix(b"data:") else { return };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push('\n');
        }
        self.data.push_str(&String::from_utf8_lossy(data.strip_prefix(b" ").unwrap_or(data)));
    }
}
