//! The job record, from bytes to checked values. Does no I/O.

use std::collections::BTreeSet;

use postern_proto::root::v1::{CommandJob, Job, JobKind, Transaction};
use postern_proto::v1::{Package, PackageStep};
use prost::Message;

use crate::Fault;

/// Most bytes of a record.
pub const RECORD_MAX: u64 = 1024 * 1024;
/// Most packages of a request.
const PACKAGES_MAX: usize = 64;
/// Longest name and longest version, in bytes.
const WORD_MAX: usize = 128;
/// Longest wait for a lock, in seconds.
const LOCK_TIMEOUT_MAX: u32 = 3600;

/// A job's id: 32 lower-case hex digits, so it is a safe file name and hook argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobId(String);

impl JobId {
    /// # Errors
    /// Anything that is not 32 lower-case hex digits.
    pub fn new(text: &str) -> Result<Self, Fault> {
        if text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Fault::new("a job's id is 32 lower-case hex digits"))
        }
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A package by its exact name, and its exact version if one was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    name: String,
    version: Option<String>,
}

impl Target {
    fn new(package: Package) -> Result<Self, Fault> {
        // Debian policy 5.6.1, with its own limit of two characters.
        let mut name = package.name.bytes();
        let named = matches!(name.next(), Some(b'a'..=b'z' | b'0'..=b'9'))
            && name.all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'.' | b'-'))
            && (2..=WORD_MAX).contains(&package.name.len());
        if !named {
            return Err(Fault::new(format!("not a package name: {:?}", package.name)));
        }
        if package.version.is_empty() {
            return Ok(Self { name: package.name, version: None });
        }
        // Debian policy 5.6.12. No `*`, so apt reads it as this version and not as a pattern.
        let mut version = package.version.bytes();
        let versioned = matches!(version.next(), Some(b'0'..=b'9'))
            && version.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'~' | b':' | b'-'))
            && package.version.len() <= WORD_MAX;
        if !versioned {
            return Err(Fault::new(format!("not a version: {:?}", package.version)));
        }
        Ok(Self { name: package.name, version: Some(package.version) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form that apt, with Pattern-Only, takes for this package and for
    /// nothing else: without `:native`, `curl-` removes curl and `x.deb` is a regex.
    pub fn exact(&self) -> String {
        format!("{}:native", self.name)
    }

    /// The same, with the version asked for.
    pub fn operand(&self) -> String {
        match &self.version {
            Some(version) => format!("{}={version}", self.exact()),
            None => self.exact(),
        }
    }
}

/// Most bytes that are kept of each output of a command: the policy's own limit.
const OUTPUT_MAX: u64 = 16 * 1024 * 1024;

/// What a command's job runs, if it can be run at all.
fn command(job: CommandJob) -> Result<CommandJob, Fault> {
    let has_nul = job.argv.iter().chain(&job.env).any(|text| text.contains('\0'));
    let is_program = job.argv.first().is_some_and(|program| program.starts_with('/'));
    let is_pair = |text: &String| text.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    if has_nul
        || !is_program
        || !job.env.iter().all(is_pair)
        || job.output_bytes > OUTPUT_MAX
        || !job.cwd.starts_with('/')
    {
        return Err(Fault::new("the record's command cannot be run"));
    }
    Ok(job)
}

/// One approved thing.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the policy file")]
pub struct Record {
    pub id: JobId,
    pub kind: JobKind,
    /// Of kinds plan and run alone.
    pub transaction: Transaction,
    pub targets: Vec<Target>,
    pub recommends: bool,
    pub allow_downgrades: bool,
    pub allow_removals: bool,
    pub new_packages: bool,
    pub lock_timeout_s: u32,
    pub expected: Vec<PackageStep>,
    /// Of a command's job alone.
    pub command: Option<CommandJob>,
}

impl Record {
    /// Strict: the bytes must be what the decoded message encodes to.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let job = Job::decode(bytes).map_err(|_| Fault::new("the record is no Job message"))?;
        if job.encode_to_vec() != bytes {
            return Err(Fault::new("the record is not in canonical form"));
        }
        let kind = JobKind::try_from(job.kind).map_err(|_| Fault::new("unknown kind of job"))?;
        let id = JobId::new(&job.id)?;
        let targets = job.packages.into_iter().map(Target::new).collect::<Result<Vec<_>, _>>()?;
        let names: BTreeSet<&str> = targets.iter().map(Target::name).collect();
        if names.len() != targets.len() {
            return Err(Fault::new("a package is named twice"));
        }
        let transaction =
            Transaction::try_from(job.transaction).map_err(|_| Fault::new("unknown transaction"))?;
        let is_transaction = matches!(kind, JobKind::Plan | JobKind::Run);
        if is_transaction == (transaction == Transaction::Unspecified) {
            return Err(Fault::new("a transaction and no job for one, or the other way round"));
        }
        let some = 1..=PACKAGES_MAX;
        let counted = match (kind, transaction) {
            (JobKind::Unspecified, _) => return Err(Fault::new("unknown kind of job")),
            (JobKind::Update | JobKind::Command, _)
            | (JobKind::Plan | JobKind::Run, Transaction::Autoremove | Transaction::Repair) => {
                targets.is_empty()
            }
            (JobKind::Plan | JobKind::Run, Transaction::Upgrade) => targets.len() <= PACKAGES_MAX,
            (JobKind::Show | JobKind::Hold | JobKind::Unhold | JobKind::Plan | JobKind::Run, _) => {
                some.contains(&targets.len())
            }
        };
        if !counted {
            return Err(Fault::new("wrong number of packages"));
        }
        if transaction != Transaction::Install && targets.iter().any(|target| target.version.is_some()) {
            return Err(Fault::new("only an install names versions"));
        }
        let command = job.command.map(command).transpose()?;
        if command.is_some() != (kind == JobKind::Command) {
            return Err(Fault::new("a command and no job for one, or the other way round"));
        }
        Ok(Self {
            id,
            kind,
            transaction,
            targets,
            recommends: job.recommends,
            allow_downgrades: job.allow_downgrades,
            allow_removals: job.allow_removals,
            new_packages: job.new_packages,
            lock_timeout_s: job.lock_timeout_s.min(LOCK_TIMEOUT_MAX),
            expected: job.expected,
            command,
        })
    }

    pub fn names(&self) -> Vec<&str> {
        self.targets.iter().map(Target::name).collect()
    }
}
