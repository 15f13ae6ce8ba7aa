//! The sandbox as far as it holds without its unit: the records, the limits, files, system calls.

use super::common::tool::ToolServer;
use postern_agent::sandbox::{Ended, Holder, Job, Program, Record, Sandbox};
use postern_agent::shell::Profile;
use std::time::Duration;

fn shell(text: &str) -> Job {
    Job {
        program: Program::Shell(text.to_owned()),
        profile: Profile::WorkspaceWrite,
        task: "t1".to_owned(),
        time: Duration::from_secs(20),
        output: 65_536,
        ports: Vec::new(),
        shim: None,
    }
}

async fn ran(sandbox: &Sandbox, job: Job) -> Record {
    sandbox.run(job).await.expect("a record")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_record_holds_the_programs_own_words_and_how_it_ended() {
    let server = ToolServer::start();
    let sandbox = server.sandbox();
    let record = ran(&sandbox, shell("echo out; echo err >&2; exit 3")).await;
    assert_eq!((text(&record.stdout), text(&record.stderr)), ("out\n".to_owned(), "err\n".to_owned()));
    assert_eq!((record.ended, record.exit_code, record.signal), (Ended::Exited, Some(3), None));
    assert!(!record.truncated);
    let record = ran(&sandbox, shell("kill -TERM $$")).await;
    assert_eq!((record.ended, record.exit_code, record.signal), (Ended::Killed, None, Some(15)));
    assert_eq!(text(&record.stderr), "");
}
