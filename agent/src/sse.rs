//! Server-sent events, the reading side: just what `postern serve` writes (`id`, `event`, `data`, comments).

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

/// One event.
#[derive(Debug, PartialEq)]
pub struct Message {
    /// Its number, or 0.
    pub id: u64,
    /// Its name.
    pub event: String,
    /// Its JSON.
    pub data: Value,
}

/// Reads events off an HTTP body.
pub struct Reader {
    body: Incoming,
    buffer: Vec<u8>,
}

impl Reader {
    /// A reader of a body.
    #[must_use]
    pub fn new(body: Incoming) -> Self {
        Self { body, buffer: Vec::new() }
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<Message>, hyper::Error> {
        loop {
            while let Some(end) = self.buffer.windows(2).position(|w| w == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(message) = parse(&String::from_utf8_lossy(&block)) {
                    return Ok(Some(message));
                }
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

/// A block without data is a comment that keeps the connection alive.
fn parse(block: &str) -> Option<Message> {
    let (mut id, mut event, mut data) = (0, String::new(), None);
    for line in block.lines() {
        match line.split_once(':').map(|(key, value)| (key, value.strip_prefix(' ').unwrap_or(value))) {
            Some(("id", value)) => id = value.parse().unwrap_or(0),
            Some(("event", value)) => value.clone_into(&mut event),
            Some(("data", value)) => data = serde_json::from_str(value).ok(),
            Some(_) | None => {}
        }
    }
    data.map(|data| Message { id, event, data })
}
