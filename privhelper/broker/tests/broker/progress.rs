//! Progress of package transactions, parsed from the lines of apt-get and dpkg.

use postern_broker::progress::ProgressLines;
use postern_proto::v1::{Phase, Progress};

fn progress(phase: Phase, item: &str, percent: u32, detail: &str) -> Progress {
    Progress { phase: phase.into(), item: item.to_owned(), percent, detail: detail.to_owned() }
}

#[test]
fn turns_status_lines_into_progress() {
    let lines = "dlstatus:1:0.0000:Retrieving file 1 of 1
dlstatus:1:0.0000:Retrieving file 1 of 1
dlstatus:1:99.9:Retrieving file 1 of 1
pmstatus:dpkg-exec:0.0000:Running dpkg
pmstatus:hello:20.0000:Unpacking hello (amd64)
pmconffile:/etc/x:20:a b 1 1
pmerror:hello:30:a script failed
nonsense
pmstatus:libc6:amd64:60.5:Configuring libc6:amd64 (amd64)
pmstatus:2048:900.0:Installed: done\u{1b}[31m
";
    let expected = [
        progress(Phase::Download, "", 0, "Retrieving file 1 of 1"),
        progress(Phase::Download, "", 99, "Retrieving file 1 of 1"),
        progress(Phase::Unpack, "", 0, "Running dpkg"),
        progress(Phase::Unpack, "hello", 20, "Unpacking hello (amd64)"),
        progress(Phase::Configure, "libc6:amd64", 60, "Configuring libc6:amd64 (amd64)"),
        progress(Phase::Configure, "2048", 100, "Installed: done [31m"),
    ];
    assert_eq!(ProgressLines::new("package.install").take(lines.as_bytes()), expected);
    let mut in_parts = ProgressLines::new("package.install");
    let taken: Vec<_> = lines.as_bytes().chunks(7).flat_map(|part| in_parts.take(part)).collect();
    assert_eq!(taken, expected);
}

#[test]
fn downloads_of_an_update_are_its_phase() {
    let lines = b"dlstatus:1:50:Retrieving file 1 of 2\n";
    let update = ProgressLines::new("package.update").take(lines);
    assert_eq!(update, [progress(Phase::Update, "", 50, "Retrieving file 1 of 2")]);
}

#[test]
fn reads_dpkg_progress() {
    let lines = b"processing: configure: app:amd64\nstatus: app: half-configured\n";
    let taken = ProgressLines::new("package.repair").take(lines);
    assert_eq!(taken, [progress(Phase::Configure, "app:amd64", 0, "")]);
}

#[test]
fn reports_who_holds_the_lock() {
    let mut lines = ProgressLines::new("package.install");
    let waits = |detail| [progress(Phase::Waiting, "", 0, detail)];
    assert_eq!(lines.take(b"locked:7:apt-get\n"), waits("the lock is held by apt-get (process 7)"));
    assert_eq!(lines.take(b"locked:8:\n"), waits("the lock is held by another process (process 8)"));
}

#[test]
fn drops_a_line_without_an_end() {
    let mut lines = ProgressLines::new("package.install");
    for _ in 0..100 {
        assert!(lines.take(&[b'x'; 1024]).is_empty());
    }
    assert_eq!(lines.take(b"\npmstatus:a:1:Unpacking\n").len(), 1);
}
