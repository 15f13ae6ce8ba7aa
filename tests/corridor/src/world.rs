//! All programs on one directory.

use crate::CLIENT_UID;
use crate::channel::Channel;
use crate::hosts::{Hosts, furnish, own_uid};
use crate::operator::Operator;
use crate::policy::{accepted, accepted_whole};
use crate::probe::Probe;
use crate::programs::{self, Listener, Recorder, Relay, Root};
use crate::systemd::{JobProcesses, Systemd};
use postern_broker::connection::Connection;
use postern_peers::Peer;
use postern_proto::root::v1 as root;
use prost::Message;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// All programs with their state in a temporary directory. Fields are dropped in this order: the front first.
pub struct World {
    /// Host settings of the programs; a change takes effect at a restart.
    pub hosts: Hosts,
    broker: Arc<postern_broker::state::State>,
    recorder: Recorder,
    relays: [Relay; 2],
    /// How many recorders have ended.
    lives: u32,
    _recorder_socket: Listener,
    _probe: Probe,
    /// postern-files.
    pub files: Root,
    /// postern-units.
    pub units: Root,
    pid1: Systemd,
    directory: TempDir,
}

/// Where directories can be made that root's programs take for root's alone: the tree's, or where that is below a
/// directory that others may write to, or another user's while root runs the test, `/srv` or the home directory. What is
/// written below `/root` is no plain file: its risk is another.
fn place() -> PathBuf {
    let tree = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
    let places = [Some(tree), Some(PathBuf::from("/srv")), std::env::home_dir()];
    let make = |place: PathBuf| std::fs::create_dir_all(&place).and_then(|()| place.canonicalize()).ok();
    let mut places = places.into_iter().flatten().filter_map(make);
    let is_ours = |above: &Path| {
        let facts = above.metadata().unwrap();
        [0, own_uid()].contains(&facts.uid()) && facts.mode() & 0o022 == 0
    };
    let is_usable = |place: &PathBuf| {
        let may_write = nix::unistd::access(place, nix::unistd::AccessFlags::W_OK).is_ok();
        may_write && place.ancestors().all(is_ours)
    };
    places.find(is_usable).expect("a directory that others cannot change: HOME")
}

impl World {
    /// Programs under these rules, for the client `postern`.
    pub fn new(rules: impl FnOnce(&Path) -> Vec<root::Rule>) -> Self {
        Self::with(|at| root::Rules { rules: rules(at), ..root::Rules::default() })
    }

    /// As [`World::new`], with what a policy says besides rules.
    pub fn with(rules: impl FnOnce(&Path) -> root::Rules) -> Self {
        let directory = tempfile::Builder::new().prefix("c").tempdir_in(place()).unwrap();
        let at = directory.path();
        std::fs::set_permissions(at, PermissionsExt::from_mode(0o755)).unwrap();
        furnish(at);
        std::fs::write(at.join("accepted.pb"), accepted_whole(rules(at))).unwrap();
        let hosts = Hosts::at(at);
        let pid1 = Systemd::new(at, &hosts);
        let fake =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../privhelper/root/packages/tests/fakes/program");
        for name in ["apt-get", "apt-cache", "apt-mark", "dpkg", "dpkg-query", "journalctl"] {
            std::os::unix::fs::symlink(&fake, at.join(name)).unwrap();
            std::fs::write(at.join(name).with_extension("sh"), "").unwrap();
        }
        std::fs::write(at.join("dpkg.sh"), "case $1 in --print-architecture) echo amd64 ;; esac").unwrap();
        let files = Root::listen(&at.join("files.sock"), programs::files(hosts.files.clone()));
        let units = Root::listen(&at.join("units.sock"), programs::units(hosts.units.clone()));
        let (host, relays) = life(&hosts, 0);
        let recorder = Arc::new(postern_audit::state::State::open(host).unwrap());
        let (recorder, recorder_socket) = Recorder::listen(recorder);
        let broker = Arc::new(postern_broker::state::State::open(hosts.broker.clone()).unwrap());
        let probe = Probe::listen(at, hosts.probe.clone());
        Self {
            hosts,
            broker,
            recorder,
            relays,
            lives: 0,
            _recorder_socket: recorder_socket,
            _probe: probe,
            files,
            units,
            pid1,
            directory,
        }
    }

    /// A path of the world's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Adds a user to passwd.
    pub fn add_user(&self, name: &str, uid: u32) {
        let passwd = std::fs::read_to_string(self.path("passwd")).unwrap();
        let line = format!("{passwd}{name}:x:{uid}:{uid}::/:/bin/sh\n");
        std::fs::write(self.path("passwd"), line).unwrap();
    }

    /// Replaces the accepted policy by rename, as `postern-admin policy apply` does.
    pub fn apply(&self, rules: Vec<root::Rule>) {
        self.replace_policy(&accepted(rules));
    }

    /// As [`World::apply`], with these bytes.
    pub fn replace_policy(&self, accepted: &[u8]) {
        std::fs::write(self.path("accepted.new"), accepted).unwrap();
        std::fs::rename(self.path("accepted.new"), self.path("accepted.pb")).unwrap();
    }

    /// The broker that serves now.
    pub fn broker(&self) -> Arc<postern_broker::state::State> {
        Arc::clone(&self.broker)
    }

    /// The recorder that serves now.
    pub fn recorder(&self) -> Arc<postern_audit::state::State> {
        Arc::clone(&self.recorder.state.lock().unwrap())
    }

    /// A connection as a gateway holds it.
    pub fn connect(&self, uid: u32) -> Channel {
        connect(&self.broker, uid)
    }

    /// One request of the client's on a connection of its own.
    pub fn ask(&self, method: &str, message: &impl Message) -> crate::Answer {
        self.connect(CLIENT_UID).ask(method, message)
    }

    /// A connection to operator.sock as this uid.
    pub fn operator(&self, uid: u32) -> Operator {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let state = self.recorder();
        let peer = Peer { uid, gid: uid, pid: 78 };
        let thread = std::thread::spawn(move || postern_audit::operator::serve(&state, theirs, peer));
        Channel::new(ours, None, thread)
    }

    /// A session of this person for [`CLIENT_UID`]: the connection, and its token.
    pub fn session(&self, uid: u32) -> (UnixStream, String) {
        let (stream, answer) = self.person(uid, &format!("{CLIENT_UID}\n"), std::process::id());
        assert_eq!(answer.len(), 32, "{answer}");
        (stream, answer)
    }

    /// A connection of this process of a person, which sends `line`: the connection, and the recorder's answer.
    pub fn person(&self, uid: u32, line: &str, pid: u32) -> (UnixStream, String) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let peer = Peer { uid, gid: uid, pid: i32::try_from(pid).unwrap() };
        let recorder = self.recorder();
        std::thread::spawn(move || postern_audit::person::serve(&recorder, theirs, peer));
        // One that is over a limit is answered without a word from here.
        drop((&ours).write_all(line.as_bytes()));
        let mut answer = String::new();
        BufReader::new(&ours).read_line(&mut answer).unwrap();
        (ours, answer.trim_end().to_owned())
    }

    /// A connection of the broker's to recorder.sock, before its first frame.
    pub fn as_broker(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.hosts.recorder.recorder_socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// The log's lines.
    pub fn log(&self) -> Vec<String> {
        self.recorder().log.sync().unwrap();
        let text = std::fs::read_to_string(self.path("log/audit.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The records of this event.
    pub fn records(&self, event: &str) -> Vec<serde_json::Value> {
        let all =
            self.log().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
        all.filter(|record| record["event"] == event).collect()
    }

    /// How many records of this event the log has.
    pub fn count(&self, event: &str) -> usize {
        self.records(event).len()
    }

    /// Ends broker and recorder and starts them anew on the same state.
    pub fn restart(&mut self) {
        self.restart_recorder();
        self.restart_broker();
    }

    /// Ends the recorder as SIGTERM does, and starts it anew on the same state.
    pub fn restart_recorder(&mut self) {
        self.replace_recorder(Duration::from_secs(10));
    }

    /// Ends the recorder without waiting for what it has begun, and starts it anew on the same state.
    pub fn cut_recorder(&mut self) {
        self.replace_recorder(Duration::ZERO);
    }

    fn replace_recorder(&mut self, limit: Duration) {
        self.recorder().stop(limit).unwrap();
        self.relays.iter_mut().for_each(Relay::cut);
        self.recorder.hang_up();
        self.lives += 1;
        let (host, relays) = life(&self.hosts, self.lives);
        self.relays = relays;
        let state = Arc::new(postern_audit::state::State::open(host).unwrap());
        *self.recorder.state.lock().unwrap() = Arc::clone(&state);
        state.recover();
    }

    /// Starts the broker anew on the same state.
    pub fn restart_broker(&mut self) {
        self.broker = Arc::new(postern_broker::state::State::open(self.hosts.broker.clone()).unwrap());
    }

    /// Installs a systemctl that records argv and environment in `calls`, and runs `body` for what is no job.
    pub fn systemctl(&self, body: &str) {
        self.pid1.systemctl(body);
    }

    /// Runs jobs as processes from now on.
    pub fn run_jobs(&self, run: Arc<JobProcesses>) {
        *self.pid1.processes.lock().unwrap() = Some(run);
    }

    /// Makes a program of apt or dpkg, or journalctl, do this.
    pub fn program(&self, name: &str, body: &str) {
        std::fs::write(self.path(&format!("{name}.sh")), body).unwrap();
    }

    /// Returns the lines that a fake wrote of `what`: `argv`, `env`, `state` or `fds`.
    pub fn noted(&self, name: &str, what: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(&format!("{name}.{what}"))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Says from now on whether validators agree: given the unit and the stage that it would bind.
    pub fn validators(&self, agree: impl Fn(&str, &Path) -> bool + Send + Sync + 'static) {
        *self.pid1.validator.lock().unwrap() = Arc::new(agree);
    }

    /// Each call of systemctl by postern-units: its arguments, `ENV`, its environment and working directory.
    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.split("END\n")
            .filter(|call| !call.is_empty())
            .map(|call| call.lines().map(str::to_owned).collect())
            .collect()
    }
}

/// A connection to this broker as a gateway holds it.
pub fn connect(broker: &Arc<postern_broker::state::State>, uid: u32) -> Channel {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (client, far) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let state = Arc::clone(broker);
    let connection = Connection { state, peer: Peer { uid, gid: uid, pid: 77 }, client };
    let thread = std::thread::spawn(move || connection.serve(theirs));
    Channel::new(ours, Some(far), thread)
}

/// The host of one recorder's life, and its ways to root's programs.
fn life(hosts: &Hosts, number: u32) -> (postern_audit::host::Host, [Relay; 2]) {
    let mut host = hosts.recorder.clone();
    let relay = |path: &mut PathBuf| {
        let to = path.clone();
        path.set_extension(number.to_string());
        Relay::listen(path, &to)
    };
    let relays = [relay(&mut host.files), relay(&mut host.units)];
    (host, relays)
}

/// Waits until something is so, at most 20 seconds.
pub fn eventually(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>();
    names.sort();
    names
}
