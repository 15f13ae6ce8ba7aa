//! A machine of fakes in a temporary directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use postern_job::{Host, JobId};
use postern_proto::root::v1::{Job, JobEvent, JobKind, JobOutcome, Transaction};
use postern_proto::v1::{Action, Package, PackageStep, Phase, Progress};
use prost::Message;

/// The id that every test uses.
pub const ID: &str = "0123456789abcdef0123456789abcdef";

/// The fakes, and the jobs' directory.
pub struct Bed {
    directory: tempfile::TempDir,
    /// What to call the library with.
    pub host: Host,
}

impl Bed {
    /// Fakes that succeed and say nothing.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["apt-get", "apt-cache", "apt-mark", "dpkg", "dpkg-query"] {
            symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/program"), at(name)).unwrap();
            fs::write(at(name).with_extension("sh"), "").unwrap();
        }
        fs::create_dir_all(at("jobs").join(ID)).unwrap();
        let host = Host {
            apt_get: at("apt-get"),
            apt_cache: at("apt-cache"),
            apt_mark: at("apt-mark"),
            dpkg: at("dpkg"),
            dpkg_query: at("dpkg-query"),
            job: "/usr/libexec/postern/postern-job".into(),
            jobs: at("jobs"),
            dpkg_lock: at("lock-frontend"),
            lists_lock: at("lists-lock"),
            dpkg_updates: at("updates"),
        };
        let bed = Self { directory, host };
        bed.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; esac");
        bed
    }

    /// Makes a fake do this.
    pub fn script(&self, program: &str, text: &str) {
        fs::write(self.directory.path().join(format!("{program}.sh")), text).unwrap();
    }

    /// What a fake noted: `argv`, `env`, `state` or `fds`, as lines.
    pub fn noted(&self, program: &str, what: &str) -> Vec<String> {
        let path = self.directory.path().join(format!("{program}.{what}"));
        fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// A file of the job's directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.host.jobs.join(ID).join(name)
    }

    /// Writes the record.
    pub fn record(&self, job: &Job) {
        fs::write(self.file("job.pb"), job.encode_to_vec()).unwrap();
    }

    /// Writes the record, runs the job, and reads its outcome.
    pub fn run(&self, job: &Job) -> JobOutcome {
        self.record(job);
        postern_job::run(&self.host, &id()).unwrap();
        self.outcome()
    }

    /// The outcome as it stands on disk.
    pub fn outcome(&self) -> JobOutcome {
        JobOutcome::decode(fs::read(self.file("outcome.pb")).unwrap().as_slice()).unwrap()
    }

    /// The progress that a run wrote.
    pub fn progress(&self) -> Vec<Progress> {
        let events = events(&fs::read(self.file("events")).unwrap());
        events.into_iter().map(|event| event.progress.unwrap()).collect()
    }

    /// Hands the record to `plan` and reads its only event.
    pub fn plan(&self, job: &Job) -> JobOutcome {
        self.plan_bytes(&job.encode_to_vec())
    }

    /// The same with any bytes.
    pub fn plan_bytes(&self, bytes: &[u8]) -> JobOutcome {
        let mut output = Vec::new();
        postern_job::plan(&self.host, bytes, &mut output).unwrap();
        let mut events = events(&output);
        assert_eq!(events.len(), 1);
        events.remove(0).outcome.unwrap()
    }
}

/// The id as the library takes it.
pub fn id() -> JobId {
    JobId::new(ID).unwrap()
}

/// An install of these packages, `name` or `name=version`.
pub fn install(packages: &[&str]) -> Job {
    let package = |text: &&str| {
        let (name, version) = text.split_once('=').unwrap_or((text, ""));
        Package { name: name.to_owned(), version: version.to_owned() }
    };
    Job {
        id: ID.to_owned(),
        kind: JobKind::Run.into(),
        transaction: Transaction::Install.into(),
        packages: packages.iter().map(package).collect(),
        lock_timeout_s: 60,
        ..Job::default()
    }
}

/// A dpkg-query that has these packages: name, architecture, state, version, and what is not `optional`, not wanted
/// as `install`.
pub fn has(rows: &[&str]) -> String {
    let row = |row: &&str| {
        let words: Vec<&str> = row.split(' ').collect();
        let [name, arch, state, version] = words.first_chunk().unwrap();
        let (priority, want) = (words.get(4).unwrap_or(&"optional"), words.get(5).unwrap_or(&"install"));
        format!("printf '{name}\\t{arch}\\t{want}\\t{state}\\t{version}\\tno\\t\\t{priority}\\t100\\tx\\n'\n")
    };
    rows.iter().map(row).collect()
}

/// Another transaction of the same packages.
pub fn transaction(of: Transaction, packages: &[&str]) -> Job {
    Job { transaction: of.into(), ..install(packages) }
}

/// The same request, to be simulated.
pub fn plan_install(packages: &[&str]) -> Job {
    Job { kind: JobKind::Plan.into(), ..install(packages) }
}

/// A step of a plan.
pub fn step(action: Action, name: &str, arch: &str, old: &str, new: &str) -> PackageStep {
    let [name, arch, old, new] = [name, arch, old, new].map(str::to_owned);
    PackageStep { action: action.into(), name, arch, old, new, sources: Vec::new(), asked: false }
}

/// A message of progress.
pub fn progress(phase: Phase, item: &str, percent: u32, detail: &str) -> Progress {
    Progress { phase: phase.into(), item: item.to_owned(), percent, detail: detail.to_owned() }
}

pub fn events(mut bytes: &[u8]) -> Vec<JobEvent> {
    let mut events = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
        let (message, rest) = rest.split_at(u32::from_le_bytes(*len).try_into().unwrap());
        events.push(JobEvent::decode(message).unwrap());
        bytes = rest;
    }
    assert!(bytes.is_empty());
    events
}
