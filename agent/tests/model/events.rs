//! Server-sent events, however they are cut.

use postern_agent::client::sse::Decoder;

const STREAM: &str = ": hello\n\nevent: a\ndata: é1\n\ndata:two\r\ndata: lines\r\n\r\n\r\ndata: three\r\r: no\nid: 4\n\ndata\n\ndata: ünd";

fn decode(pieces: &[&[u8]]) -> Vec<String> {
    let (mut decoder, mut events) = (Decoder::new(4 << 20), Vec::new());
    for piece in pieces {
        decoder.push(piece, |event| events.push(event.data)).unwrap();
    }
    decoder.finish(|event| events.push(event.data));
    events
}

#[test]
fn events_are_the_same_wherever_the_stream_is_cut() {
    let expected = ["é1", "two\nlines", "three", "ünd"];
    let bytes = STREAM.as_bytes();
    assert_eq!(decode(&[bytes]), expected);
    assert_eq!(decode(&bytes.chunks(1).collect::<Vec<_>>()), expected);
    for cut in 0..bytes.len() {
        assert_eq!(decode(&[&bytes[..cut], &bytes[cut..]]), expected, "cut at {cut}");
    }
}

#[test]
fn an_event_that_does_not_end_is_given_up() {
    let mut decoder = Decoder::new(4 << 20);
    let endless = vec![b'a'; 1 << 20];
    let pushed: Result<(), _> = (0..8).try_for_each(|_| decoder.push(&endless, |_| {}));
    assert_eq!(pushed, Err("an event is too long"));
}
