//! The process that was called as a shim: its directory, its input and its files.

use super::call::{Attributes, ShimHost, Step};
use super::client::Client;
use super::wire::ShimReply;
use crate::client::pending_request::Outcome;
use crate::protocol::args::ReadRange;
use crate::protocol::event::{Event, Status};
use crate::protocol::request::Request;
use crate::render;
use nix::unistd::{AccessFlags, Gid, Group, Uid, User, access, geteuid};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The most bytes of a file or of standard input: as many as a request may write.
const CONTENT: u64 = 8 << 20;

/// The task's own directory, as the sandbox says.
pub fn workspace() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

fn bounded(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = from.take(CONTENT + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if read as u64 > CONTENT { Err(format!("more than {CONTENT} bytes")) } else { Ok(bytes) }
}

/// Which files need no request.
pub enum Own {
    /// In the sandbox: those of the task.
    Workspace,
    /// Elsewhere: those that this user may change without anybody's help. The helper is within reach.
    Writable(Client),
}

/// This process: its directory, its input and its files.
pub struct Caller {
    own: Own,
    /// Standard input is gone.
    pub is_input_read: bool,
}

impl Caller {
    pub fn new(own: Own) -> Self {
        Self { own, is_input_read: false }
    }

    /// Asks the helper for one step.
    pub fn ask(&self, step: &Step) -> Result<ShimReply, String> {
        self.client()?.step(step)
    }

    /// Asks the helper.
    pub fn outcome(&self, request: Request) -> Result<Outcome, String> {
        self.client()?.ask(request)
    }

    fn client(&self) -> Result<&Client, String> {
        match &self.own {
            Own::Writable(client) => Ok(client),
            Own::Workspace => Err("the helper is out of a sandbox's reach".to_owned()),
        }
    }

    /// A file that this user may not read, where a rule lets the helper read it.
    fn read_by_helper(&self, path: &str, closed: &io::Error) -> Result<Vec<u8>, String> {
        let Ok(client) = self.client() else { return Err(closed.to_string()) };
        let outcome =
            client.ask(Request::FileRead(ReadRange { path: path.to_owned(), offset: 0, limit: 0 }))?;
        match &outcome.end {
            Event::Completed(done) if done.status == Status::Done && !outcome.truncated => {
                Ok(outcome.content)
            }
            Event::Completed(done) if done.status == Status::Done => Err("too large".to_owned()),
            Event::Refused(refused) => Err(render::refusal(refused, &outcome.explain)),
            Event::Completed(_)
            | Event::Error(_)
            | Event::Accepted(_)
            | Event::Waiting(_)
            | Event::Progress(_)
            | Event::Output(_) => Err(closed.to_string()),
        }
    }
}

impl ShimHost for Caller {
    fn directory(&self) -> String {
        std::env::current_dir().ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_default()
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        self.is_input_read = true;
        bounded(io::stdin().lock()).map_err(|why| format!("standard input: {why}"))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match File::open(path) {
            Ok(file) => bounded(file),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => self.read_by_helper(path, &error),
            Err(error) => Err(error.to_string()),
        }
    }

    fn attributes(&self, path: &str) -> Option<Attributes> {
        let file = Path::new(path).metadata().ok()?;
        let owner = User::from_uid(Uid::from_raw(file.uid())).ok()??.name;
        let group = Group::from_gid(Gid::from_raw(file.gid())).ok()??.name;
        Some(Attributes { mode: format!("{:04o}", file.mode() & 0o7777), owner, group })
    }

    fn owns(&self, path: &str) -> bool {
        self.reaches_systemd() && Path::new(path).metadata().is_ok_and(|file| is_mine(file.uid()))
    }

    fn is_link(&self, path: &str) -> bool {
        Path::new(path).is_symlink()
    }

    fn is_missing(&self, path: &str) -> bool {
        Path::new(path).symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    fn is_directory(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn is_own(&self, path: &str) -> bool {
        let path = Path::new(path);
        match self.own {
            Own::Workspace => {
                let own = workspace().into_iter().chain(["/tmp", "/var/tmp"].map(PathBuf::from));
                own.into_iter().any(|own| path.starts_with(&own) && path != own)
            }
            Own::Writable(_) => may_change(path),
        }
    }

    fn reaches_systemd(&self) -> bool {
        matches!(self.own, Own::Writable(_))
    }

    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String> {
        // Without the commands that write files or start programs.
        let mut sed = Command::new("/usr/bin/sed");
        sed.arg("--sandbox")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = sed.spawn().map_err(|error| format!("cannot start sed: {error}"))?;
        let input = child.stdin.take();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                // A sed that quits early reads no more.
                let _ = input.map(|mut input| input.write_all(text));
            });
            child.wait_with_output()
        });
        let output = output.map_err(|error| format!("sed: {error}"))?;
        if output.status.success() {
            return bounded(output.stdout.as_slice());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.lines().next().unwrap_or("sed failed").to_owned())
    }
}

fn is_mine(uid: u32) -> bool {
    Uid::from_raw(uid) == geteuid()
}

/// Whether this user may write, create and remove a file of this name.
fn may_change(path: &Path) -> bool {
    let may_write = |path: &Path| access(path, AccessFlags::W_OK).is_ok();
    let Some(parent) = path.parent() else { return false };
    match path.symlink_metadata() {
        // In a sticky directory only the owner of a file, or of the directory, may replace or remove it.
        Ok(file) => {
            let may_replace = parent.metadata().is_ok_and(|directory| {
                directory.mode() & 0o1000 == 0 || is_mine(directory.uid()) || is_mine(file.uid())
            });
            may_write(path) && may_write(parent) && may_replace
        }
        Err(_) => path.ancestors().skip(1).find(|path| path.exists()).is_some_and(may_write),
    }
}
