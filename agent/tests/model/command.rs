//! `postern model read`.

use postern_agent::{Exit, Host, cli};
use std::io::Write;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Runs a command: its end, its results and its messages.
async fn run(args: &[&str], input: &str) -> (Exit, String, String) {
    let (out, err) = (Shared::default(), Shared::default());
    let mut console = cli::Console {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        input: Box::new(std::io::Cursor::new(input.to_owned().into_bytes())),
        in_is_terminal: false,
        out_is_terminal: false,
        err_is_terminal: false,
        color: false,
        is_broken: false,
    };
    let words = std::iter::once("postern").chain(args.iter().copied()).map(Into::into);
    let exit = cli::run(words, &Host::default(), &mut console).await;
    (exit, out.text(), err.text())
}

#[tokio::test]
async fn a_reply_is_printed_as_a_call_or_a_code() {
    let reply = "First: {'tool': 'shell', 'args': {'cmd': 'id'}} {\"tool\": \"rm\"}";
    let (exit, out, err) = run(&["model", "read"], reply).await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert_eq!(out, "{\"tool\":\"shell\",\"args\":{\"cmd\":\"id\"},\"multiple\":true}\n");
    let (exit, out, err) = run(&["model", "read"], "I am done.").await;
    assert_eq!((exit, err.as_str()), (Exit::Done, "the reply holds no JSON object\n"));
    assert_eq!(out, "{\"error\":\"no_json\",\"multiple\":false}\n");
}

#[tokio::test]
async fn a_corpus_is_counted_and_its_rows_that_differ_are_shown() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/llm_outputs.jsonl");
    let (exit, out, _) = run(&["model", "read", "--corpus", corpus], "").await;
    assert_eq!((exit, out.as_str()), (Exit::Done, "160 of 160\n"));
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.jsonl");
    std::fs::write(
        &other,
        "{\"id\": \"a\", \"text\": \"{}\", \"expect\": \"no_json\", \"multiple\": false}\n",
    )
    .unwrap();
    let (exit, out, _) = run(&["model", "read", "--corpus", other.to_str().unwrap()], "").await;
    assert_eq!(exit, Exit::Failed);
    assert_eq!(out, "a: expected \"no_json\", read \"missing_tool\"\n0 of 1\n");
    std::fs::write(&other, "{\"id\": 1}\n").unwrap();
    let (exit, out, err) = run(&["model", "read", "--corpus", other.to_str().unwrap()], "").await;
    assert_eq!((exit, out.as_str()), (Exit::Failed, ""));
    assert!(err.contains("other.jsonl:1: "), "{err}");
}
