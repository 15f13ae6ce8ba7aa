//! `file.write` beside the same work and syncs in a bare loop of the same user on the same file system.

use super::inside::{HELPER, compared, connect, done, last, meta};
use postern_proto::v1::{self, helper_client::HelperClient};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tonic::transport::Channel;

const TARGET: &str = "/var/www/html/bench.html";

pub async fn compare() {
    for (name, size, rounds) in [("4 KiB", 4 << 10, 300), ("1 MiB", 1 << 20, 60)] {
        let mut helper = connect(Path::new(HELPER)).await;
        let place = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let mut bare = Bare::new(place.path());
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for number in 0..rounds {
            let content = vec![b'a' + u8::try_from(number % 26).expect("a letter"); size];
            let began = Instant::now();
            bare.write(number, &content);
            theirs.push(began.elapsed());
            ours.push(ask(&mut helper, content).await);
        }
        let name = format!("audited `file.write` of {name}, warm");
        print!("{}", compared(&name, &mut ours, "bare loop", &mut theirs, "at most 1.3"));
    }
}

/// Prints what one write of 4 KiB takes, in nanoseconds.
pub async fn once() {
    let mut helper = connect(Path::new(HELPER)).await;
    // New content each time: the same again would be no change.
    let content = uuid::Uuid::now_v7().to_string().repeat(120).into_bytes();
    println!("{}", ask(&mut helper, content).await.as_nanos());
}

async fn ask(helper: &mut HelperClient<Channel>, content: Vec<u8>) -> Duration {
    let change = v1::FileChange {
        path: TARGET.to_owned(),
        kind: v1::ChangeKind::Write.into(),
        content,
        expect: "any".to_owned(),
        ..v1::FileChange::default()
    };
    let began = Instant::now();
    let request = v1::FileWriteRequest { meta: Some(meta(v1::Mode::Execute)), change: Some(change) };
    let last = last(helper.file_write(request).await.expect("an answer").into_inner()).await;
    let took = began.elapsed();
    done(&last, v1::Status::Done);
    took
}

/// Two records of one log, one hash of the content, the copy of what was, and the new file in its place.
struct Bare {
    log: File,
    undo: PathBuf,
    site: PathBuf,
}

impl Bare {
    fn new(at: &Path) -> Self {
        let [undo, site] = ["undo", "site"].map(|name| at.join(name));
        fs::create_dir(&undo).expect("a directory");
        fs::create_dir(&site).expect("a directory");
        let log = OpenOptions::new().create(true).append(true).open(at.join("log")).expect("a log");
        Self { log, undo, site }
    }

    fn record(&mut self) {
        self.log.write_all(&[b'x'; 700]).expect("a record");
        self.log.sync_data().expect("a sync");
    }

    fn put(directory: &Path, name: &str, content: &[u8]) {
        let temporary = directory.join(".new");
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary).expect("a file");
        file.write_all(content).expect("a write");
        file.set_permissions(Permissions::from_mode(0o644)).expect("a mode");
        file.sync_all().expect("a sync");
        fs::rename(temporary, directory.join(name)).expect("a rename");
        File::open(directory).and_then(|directory| directory.sync_all()).expect("a sync");
    }

    fn write(&mut self, number: u32, content: &[u8]) {
        std::hint::black_box(Sha256::digest(content));
        self.record();
        let old = fs::read(self.site.join("file")).unwrap_or_default();
        Self::put(&self.undo, &number.to_string(), &old);
        Self::put(&self.site, "file", content);
        self.record();
    }
}
