//! The gateway's end of a client's channel.

use postern_proto::frame::{self, HEAD, Head};
use postern_proto::v1::{self as wire, event::Kind};
use prost::Message;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

/// A channel of frames, and the thread that serves its other end.
#[derive(Debug)]
pub struct Channel {
    /// Our end.
    pub stream: UnixStream,
    /// The client's own end of its connection; dropped, the client has left.
    pub client: Option<UnixStream>,
    next: u32,
    thread: Option<JoinHandle<()>>,
}

/// Everything that came back on one stream.
#[derive(Debug, Default)]
pub struct Answer {
    /// Events in the order in which they came.
    pub events: Vec<wire::Event>,
    /// The gRPC code.
    pub code: u8,
    /// Its text.
    pub text: String,
}

impl Answer {
    /// The refusal that ended the stream.
    pub fn refused(&self) -> &wire::Refused {
        match self.events.last().and_then(|event| event.kind.as_ref()) {
            Some(Kind::Refused(refused)) => refused,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// The outcome that ended the stream.
    pub fn completed(&self) -> &wire::Completed {
        match self.events.last().and_then(|event| event.kind.as_ref()) {
            Some(Kind::Completed(completed)) => completed,
            other => panic!("not completed: {other:?}"),
        }
    }

    /// All output, joined.
    pub fn content(&self) -> Vec<u8> {
        let part = |event: &wire::Event| match &event.kind {
            Some(Kind::Output(output)) => output.data.clone(),
            _ => Vec::new(),
        };
        self.events.iter().flat_map(part).collect()
    }
}

impl Channel {
    /// Our end of a connection that `thread` serves.
    pub fn new(stream: UnixStream, client: Option<UnixStream>, thread: JoinHandle<()>) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, client, next: 1, thread: Some(thread) }
    }

    /// Sends a request on a new stream and returns its number.
    pub fn send(&mut self, method: &str, body: &[u8]) -> u32 {
        self.try_send(method, body).unwrap()
    }

    /// Does the same over a connection whose other end may be gone.
    pub(crate) fn try_send(&mut self, method: &str, body: &[u8]) -> std::io::Result<u32> {
        let stream = self.next;
        self.next += 1;
        let payload = frame::encode_request(method, body).unwrap();
        self.stream.write_all(&frame::encode(stream, frame::REQUEST, &payload).unwrap())?;
        Ok(stream)
    }

    /// The next frame; none at the end of the connection.
    pub fn frame(&mut self) -> Option<(Head, Vec<u8>)> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head).ok()?;
        let head = Head::decode(head);
        let mut payload = vec![0; head.len as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some((head, payload))
    }

    /// The next event of this stream; none at its end.
    pub fn event(&mut self, stream: u32) -> Option<Kind> {
        loop {
            let (head, payload) = self.frame().expect("the connection ended before the stream");
            if head.stream == stream {
                let is_event = head.kind == frame::EVENT;
                return is_event.then(|| wire::Event::decode(payload.as_slice()).unwrap().kind.unwrap());
            }
        }
    }

    /// Everything up to the end of this stream.
    pub fn answer(&mut self, stream: u32) -> Answer {
        self.answers(&[stream]).remove(0)
    }

    /// Everything up to the end of these streams, whichever ends first.
    pub fn answers(&mut self, streams: &[u32]) -> Vec<Answer> {
        let mut answers = streams.iter().map(|_| Answer::default()).collect::<Vec<_>>();
        let mut open = streams.len();
        while open > 0 {
            let (head, payload) = self.frame().expect("the connection ended before the streams");
            let Some(at) = streams.iter().position(|stream| *stream == head.stream) else { continue };
            if head.kind == frame::EVENT {
                answers[at].events.push(wire::Event::decode(payload.as_slice()).unwrap());
                continue;
            }
            answers[at].code = payload[0];
            answers[at].text = String::from_utf8_lossy(&payload[1..]).into_owned();
            open -= 1;
        }
        answers
    }

    /// One request and everything that comes back.
    pub fn ask(&mut self, method: &str, message: &impl Message) -> Answer {
        let stream = self.send(method, &message.encode_to_vec());
        self.answer(stream)
    }

    /// Waits until the other end has left the connection.
    pub fn left(mut self) {
        let frame = self.frame();
        assert!(frame.is_none(), "a frame came: {frame:?}");
        self.thread.take().unwrap().join().unwrap();
    }
}
