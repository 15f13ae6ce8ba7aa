//! D-Bus messages: what little of their form is needed. Everything read is checked against what is there.

use std::io::{self, Read};

/// The fields of a message.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR: u8 = 4;
const REPLY_TO: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// The kinds of messages that matter.
const CALL: u8 = 1;
const ERROR_REPLY: u8 = 3;
/// Nothing is started for the sake of an answer.
const NO_AUTO_START: u8 = 2;

/// A call of a method whose arguments are texts.
pub fn call(serial: u32, to: &str, object: &str, interface: &str, member: &str, args: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    for arg in args {
        text(&mut body, arg);
    }
    let mut fields = Vec::new();
    for (code, kind, value) in
        [(PATH, b'o', object), (INTERFACE, b's', interface), (MEMBER, b's', member), (DESTINATION, b's', to)]
    {
        pad(&mut fields, 8);
        fields.extend([code, 1, kind, 0]);
        text(&mut fields, value);
    }
    if !args.is_empty() {
        pad(&mut fields, 8);
        fields.extend([SIGNATURE, 1, b'g', 0]);
        fields.push(u8::try_from(args.len()).unwrap_or(u8::MAX));
        fields.extend(args.iter().map(|_| b's'));
        fields.push(0);
    }
    let mut message = vec![b'l', CALL, NO_AUTO_START, 1];
    for number in [length(&body), serial, length(&fields)] {
        message.extend(number.to_le_bytes());
    }
    message.extend(fields);
    pad(&mut message, 8);
    message.extend(body);
    message
}

fn text(to: &mut Vec<u8>, text: &str) {
    pad(to, 4);
    to.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    to.extend(text.as_bytes());
    to.push(0);
}

fn pad(to: &mut Vec<u8>, size: usize) {
    to.resize(to.len().next_multiple_of(size), 0);
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// A message as it came.
pub struct Message {
    /// The call that it answers.
    pub answers: Option<u32>,
    /// The name of the error that it is.
    pub error: Option<String>,
    /// The body's signature.
    pub form: String,
    pub body: Body,
}

impl Message {
    /// Reads the next message; `None` if it is none that can be read.
    pub fn read(from: &mut impl Read, limit: usize) -> io::Result<Option<Self>> {
        let mut head = [0; 16];
        from.read_exact(&mut head)?;
        let is_little = head[0] == b'l';
        let number = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
        };
        let (body, fields) = (number(4) as usize, number(12) as usize);
        let padded = fields.saturating_add(16).next_multiple_of(8) - 16;
        if body.saturating_add(padded) > limit {
            return Ok(None);
        }
        // Only as much memory as there are bytes.
        let mut bytes = Vec::new();
        from.take((padded + body) as u64).read_to_end(&mut bytes)?;
        if bytes.len() < padded + body {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let body = Body { bytes: bytes.split_off(padded), at: 0, is_little };
        bytes.truncate(fields);
        let fields = Body { bytes, at: 0, is_little };
        Ok(Self::of(fields, body, head[1]))
    }

    fn of(mut fields: Body, body: Body, kind: u8) -> Option<Self> {
        let mut message = Self { answers: None, error: None, form: String::new(), body };
        while fields.at < fields.bytes.len() {
            fields.align(8)?;
            let code = fields.u8()?;
            let form = fields.signature()?;
            match form.as_str() {
                "u" => {
                    let number = fields.u32()?;
                    message.answers = if code == REPLY_TO { Some(number) } else { message.answers };
                }
                "g" => {
                    let form = fields.signature()?;
                    message.form = if code == SIGNATURE { form } else { message.form };
                }
                "s" | "o" => {
                    let [text] = fields.strings()?;
                    let is_error = code == ERROR && kind == ERROR_REPLY;
                    message.error = if is_error { Some(text) } else { message.error };
                }
                _ => return None,
            }
        }
        Some(message)
    }
}

/// Values in their order.
pub struct Body {
    bytes: Vec<u8>,
    at: usize,
    is_little: bool,
}

impl Body {
    /// So many texts.
    pub fn strings<const N: usize>(&mut self) -> Option<[String; N]> {
        let mut texts = [const { String::new() }; N];
        for text in &mut texts {
            let length = self.u32()? as usize;
            *text = self.text(length)?;
        }
        Some(texts)
    }

    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.number()?;
        Some(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.number()?;
        Some(if self.is_little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// An array of structs, which is the whole body.
    pub fn structs<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.u32()? as usize;
        self.align(8)?;
        if self.at.checked_add(length)? != self.bytes.len() {
            return None;
        }
        let mut all = Vec::new();
        while self.at < self.bytes.len() {
            self.align(8)?;
            all.push(one(self)?);
        }
        Some(all)
    }

    /// The head of a variant, which has to hold this.
    pub fn variant(&mut self, form: &str) -> Option<()> {
        (self.signature()? == form).then_some(())
    }

    fn u8(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.align(N)?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(N)?)?;
        self.at += N;
        bytes.try_into().ok()
    }

    fn signature(&mut self) -> Option<String> {
        let length = usize::from(self.u8()?);
        self.text(length)
    }

    /// A text and the zero byte behind it.
    fn text(&mut self, length: usize) -> Option<String> {
        let end = self.at.checked_add(length)?;
        let text = String::from_utf8(self.bytes.get(self.at..end)?.to_vec()).ok()?;
        let zero = self.bytes.get(end)?;
        self.at = end + 1;
        (*zero == 0).then_some(text)
    }

    fn align(&mut self, size: usize) -> Option<()> {
        self.at = self.at.next_multiple_of(size);
        (self.at <= self.bytes.len()).then_some(())
    }
}
