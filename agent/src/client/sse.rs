//! Server-sent events as all sorts of servers write them: any line end, comments between, no end.

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its number, or 0.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// Puts bytes together to events.
#[derive(Debug)]
pub struct Decoder {
    /// So many bytes an event has at most.
    limit: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a CR: a LF after it belongs to it.
    is_after_cr: bool,
}

impl Decoder {
    /// Returns a decoder of events with at most so many bytes each.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), event: Event::default(), has_data: false, is_after_cr: false }
    }

    /// Takes bytes in, gives each event that they complete.
    ///
    /// # Errors
    /// An event is too long.
    pub fn push(&mut self, bytes: &[u8], mut complete: impl FnMut(Event)) -> Result<(), &'static str> {
        for &byte in bytes {
            let ends_cr = std::mem::replace(&mut self.is_after_cr, byte == b'\r');
            match byte {
                b'\n' if ends_cr => {}
                b'\n' | b'\r' => self.line_ends(&mut complete),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.event.data.len() > self.limit {
                return Err("an event is too long");
            }
        }
        Ok(())
    }

    /// Gives the event that the end of the stream completes: some servers leave its blank line out.
    pub fn finish(&mut self, mut complete: impl FnMut(Event)) {
        if !self.line.is_empty() {
            self.line_ends(&mut complete);
        }
        self.line_ends(&mut complete);
    }

    /// An event without data is none; a line without a colon, or that begins with one, says nothing.
    fn line_ends(&mut self, complete: &mut impl FnMut(Event)) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                complete(event);
            }
            return;
        }
        let line = String::from_utf8_lossy(&line);
        let Some((field, value)) = line.split_once(':') else { return };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.event.id = value.parse().unwrap_or(0),
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}
