//! A host of the test's own, and a helper that answers on its operator.sock.

use clap::Parser;
use postern_admin::cli::{self, Cli};
use postern_admin::host::Accounts;
use postern_admin::host::{Host, ModelPorts};
use postern_admin::io::{Answers, Exit, Io};
use postern_admin::programs::Programs;
use postern_policy::Identity;
use postern_proto::frame::{self, HEAD, Head};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1::OutcomesReply;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use tempfile::TempDir;

/// A policy that has no errors and grants a little.
pub const GOOD: &str = r#"version = 1

[[client]]
name = "agent"
user = "postern"

[[rule]]
id = "look"
client = "agent"
verbs = ["unit.status"]
units = ["*.service"]
decision = "allow"
justification = "no secret"
"#;

/// A rule to be added to [`GOOD`].
pub const SITE: &str = r#"
[[rule]]
id = "site"
client = "agent"
verbs = ["file.read", "file.write"]
directories = ["/var/www/html"]
files = ["*.html"]
decision = "allow"
justification = "site content"
"#;

/// A host in a directory that is removed with it.
pub struct TestHost {
    pub host: Host,
    _directory: TempDir,
}

/// Output and exit status of a command.
#[derive(Debug)]
pub struct Ran {
    pub exit: Exit,
    pub out: String,
    pub err: String,
}

/// A person who types so after each question.
struct Typed<'a>(&'a [u8]);

impl Answers for Typed<'_> {
    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).map(|_| line)
    }
}

impl TestHost {
    /// A host whose policy is `policy`.
    pub fn new(policy: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["etc", "state", "log", "units", "systemd"] {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o750)).unwrap();
        }
        let host = Host {
            etc: at("etc"),
            accepted: at("state").join("policy"),
            own: at("own"),
            packs: at("packs"),
            state: at("state"),
            log: at("log"),
            agent_log: at("agent"),
            operator_socket: at("operator.sock"),
            files_socket: at("files.sock"),
            greets_as: None,
            systemd_units: at("units"),
            systemd: at("systemd"),
            localtime: at("localtime"),
            systemctl: None,
            root: at("root"),
            seal: at("seal"),
            name: "web1".to_owned(),
            boot_id: Some("6b2f8a0e-0000-4000-8000-000000000000".to_owned()),
            journalctl: None,
            owner_uid: nix::unistd::geteuid().as_raw(),
            accounts: accounts(),
            user_name: |uid| match uid {
                0 => "root".to_owned(),
                990 => "postern".to_owned(),
                1000 => "alice".to_owned(),
                1001 => "bob".to_owned(),
                other => other.to_string(),
            },
            // Nothing listens there: a test that wants a model brings it.
            model_ports: ModelPorts { ollama: 1, llama_cpp: 1 },
            login_uid: || None,
            primary: |gid| if gid == 991 { vec![1001] } else { Vec::new() },
            programs: programs(directory.path()),
            probes: None,
        };
        let host = Self { host, _directory: directory };
        host.write("policy.toml", policy);
        host
    }

    /// Writes a file below the policy's directory, mode 0640.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.host.etc.join(name);
        let parent = path.parent().unwrap();
        if !parent.exists() {
            fs::create_dir(parent).unwrap();
            fs::set_permissions(parent, fs::Permissions::from_mode(0o750)).unwrap();
        }
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        path
    }

    /// Runs a command with nobody to answer.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, None)
    }

    /// Runs a command; a person types `typed`.
    pub fn answer(&self, args: &[&str], typed: &str) -> Ran {
        self.run_with(args, Some(typed))
    }

    fn run_with(&self, args: &[&str], typed: Option<&str>) -> Ran {
        let words = std::iter::once("postern-admin").chain(args.iter().copied());
        let cli = Cli::try_parse_from(words).expect("the command line is one");
        let mut typed = typed.map(|typed| Typed(typed.as_bytes()));
        let answers = typed.as_mut().map(|typed| typed as &mut dyn Answers);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = cli::run(&cli, &self.host, &mut Io { out: &mut out, err: &mut err, answers }).unwrap();
        Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
    }

    /// The accepted form as it is on disk.
    pub fn accepted(&self) -> Option<Vec<u8>> {
        fs::read(self.host.accepted_dir().join("accepted.pb")).ok()
    }

    /// Every file below root's state with its content, in order.
    pub fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.host.state, &mut files);
        files.sort();
        files
    }

    /// Every file that is written for PID 1, with its content, in order.
    pub fn units(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.host.systemd_units, &mut files);
        files.sort();
        files
    }

    /// A `postern-files` that serves one connection: it answers what became of an order, or only closes it.
    pub fn files(&self, answers: bool) -> JoinHandle<()> {
        let _ = fs::remove_file(&self.host.files_socket);
        let listener = UnixListener::bind(&self.host.files_socket).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let kinds = [(); 2].map(|()| link::read(&mut stream).unwrap().unwrap().0);
            assert_eq!(kinds, [Kind::Hello, Kind::Outcomes]);
            if answers {
                link::send(&mut stream, Kind::OutcomesReply, &OutcomesReply::default()).unwrap();
            }
        })
    }

    /// A helper that answers every call with what `answer` makes of its method and body.
    pub fn answering(
        &self,
        mut answer: impl FnMut(&str, &[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> FakeHelper {
        let listener = UnixListener::bind(&self.host.operator_socket).unwrap();
        let thread = thread::spawn(move || {
            let mut calls = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().unwrap();
                let Some((method, body)) = request(&mut stream) else { return calls };
                for bytes in answer(&method, &body) {
                    stream.write_all(&bytes).unwrap();
                }
                calls.push((method, body));
            }
        });
        FakeHelper { socket: self.host.operator_socket.clone(), thread }
    }

    /// Answers one call with these frames, and returns method and body of the call.
    pub fn helper(&self, frames: Vec<Vec<u8>>) -> JoinHandle<(String, Vec<u8>)> {
        let listener = UnixListener::bind(&self.host.operator_socket).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (method, body) = request(&mut stream).unwrap();
            for bytes in frames {
                stream.write_all(&bytes).unwrap();
            }
            (method, body)
        })
    }
}

/// See [`TestHost::answering`].
pub struct FakeHelper {
    socket: PathBuf,
    thread: JoinHandle<Vec<(String, Vec<u8>)>>,
}

impl FakeHelper {
    /// Ends it, and returns methods and bodies of all calls.
    pub fn finish(self) -> Vec<(String, Vec<u8>)> {
        drop(UnixStream::connect(&self.socket).unwrap());
        let calls = self.thread.join().unwrap();
        fs::remove_file(&self.socket).unwrap();
        calls
    }
}

/// Method and body of the call that comes, if one does.
pub fn request(stream: &mut UnixStream) -> Option<(String, Vec<u8>)> {
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).ok()?;
    let head = Head::decode(head);
    assert_eq!(head.kind, frame::REQUEST);
    let mut payload = vec![0; head.len as usize];
    stream.read_exact(&mut payload).unwrap();
    let (method, body) = frame::split_request(&payload).unwrap();
    Some((method.to_owned(), body.to_vec()))
}

/// A reply frame.
pub fn event(message: &impl prost::Message) -> Vec<u8> {
    frame::encode(1, frame::EVENT, &message.encode_to_vec()).unwrap()
}

/// An end frame.
pub fn end(code: u8, text: &str) -> Vec<u8> {
    frame::encode(1, frame::END, &[&[code], text.as_bytes()].concat()).unwrap()
}

/// Programs that write down how they were called, below this directory.
fn programs(directory: &Path) -> Programs {
    let at = |name: &str| {
        let path = directory.join(name);
        let script = format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\n", directory.join("called").display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    Programs {
        usermod: at("usermod"),
        runuser: at("runuser"),
        systemctl: at("systemctl"),
        timedatectl: at("timedatectl"),
        postern: at("postern"),
    }
}

/// User `postern`, as the account files of such a host have it.
pub fn agent() -> Identity {
    let strings = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    Identity {
        uid: 990,
        users: strings(&["postern"]),
        groups: strings(&["web", "postern-operators"]),
        ..Identity::default()
    }
}

/// User `postern` and group `web` exist, and root and the recorder with them.
pub fn accounts() -> Accounts {
    Accounts {
        user: |name| match name {
            "postern" => Some(990),
            "root" => Some(0),
            "postern-audit" | "recorder-alias" => Some(995),
            _ => None,
        },
        group: |name| match name {
            "web" => Some((991, vec![990])),
            "postern-policy" | "postern-files" => Some((nix::unistd::getegid().as_raw(), Vec::new())),
            "wheel" => Some((10, vec![0])),
            "recorders" => Some((11, vec![995])),
            "postern-users" => Some((900, vec![1000, 1001])),
            "postern-operators" => Some((901, vec![1000, 990])),
            "postern-auditors" => Some((902, Vec::new())),
            _ => None,
        },
        users: || {
            ["root", "postern", "alice", "carol"]
                .map(str::to_owned)
                .into_iter()
                .zip([0, 990, 1000, 1002])
                .collect()
        },
        groups: || vec!["web".to_owned(), "wheel".to_owned()],
    }
}

/// Each name is somebody of this host, with an id of its own.
pub fn every_account() -> Accounts {
    Accounts {
        user: |name| Some(if name == "root" { 0 } else { own_id(name) }),
        group: |name| {
            let is_ours = name.starts_with("postern-");
            Some((if is_ours { nix::unistd::getegid().as_raw() } else { own_id(name) }, Vec::new()))
        },
        users: Vec::new,
        groups: Vec::new,
    }
}

fn own_id(name: &str) -> u32 {
    name.bytes().fold(2000, |id, byte| (id * 31 + u32::from(byte)) % 50_000 + 2000)
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}
