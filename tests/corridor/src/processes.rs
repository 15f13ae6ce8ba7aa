//! All programs of the corridor as processes that can be killed, from the gateway to the jobs.

use crate::channel::Channel;
use crate::hosts::{Hosts, own_gid, own_uid};
use crate::programs;
use crate::running::Running;
use crate::systemd::JobProcesses;
use crate::world::World;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A program with the sockets on which it listens.
type Row = (&'static str, &'static [&'static str]);

/// Programs that PID 1 starts anew whenever they die.
const SERVICES: [Row; 5] = [
    ("broker", &["helper"]),
    ("recorder", &["recorder", "operator"]),
    ("files", &["files"]),
    ("units", &["units"]),
    ("probe", &["probe", "asked"]),
];

/// Serves as one program of the corridor, in this process, until it is killed.
pub fn serve(name: &str, directory: &Path, listeners: Vec<UnixListener>) {
    let hosts = Hosts::at(directory);
    let mut listeners = listeners.into_iter();
    let mut listener = || listeners.next().unwrap();
    // Nobody asks it to end but by a kill.
    let (_signal, signalled) = UnixStream::pair().unwrap();
    match name {
        "broker" => {
            let state = Arc::new(postern_broker::state::State::open(hosts.broker).unwrap());
            postern_broker::listen::accept_all(&state, &listener());
        }
        "recorder" => {
            let state = Arc::new(postern_audit::state::State::open(hosts.recorder).unwrap());
            state.recover();
            // A child gets two sockets; people are few in these tests, and may come again.
            let person = directory.join("person.sock");
            drop(std::fs::remove_file(&person));
            let sockets = vec![listener(), listener(), UnixListener::bind(person).unwrap()];
            postern_audit::listen::start(&state, sockets).unwrap();
            loop {
                std::thread::park();
            }
        }
        "probe" => {
            let sockets = postern_probe::startup::Sockets { probe: listener(), asked: listener() };
            for socket in [&sockets.probe, &sockets.asked] {
                socket.set_nonblocking(true).unwrap();
            }
            loop {
                let state = postern_probe::State::open(hosts.probe.clone()).unwrap();
                postern_probe::server::serve(&state, &sockets, &signalled, postern_probe::server::IDLE)
                    .unwrap();
            }
        }
        _ => {
            let listener = listener();
            listener.set_nonblocking(true).unwrap();
            let run =
                if name == "files" { programs::files(hosts.files) } else { programs::units(hosts.units) };
            loop {
                run(&listener, &signalled);
            }
        }
    }
}

/// Serves one connection of the broker's as the gateway does.
pub fn gateway(from: UnixStream) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async {
        let handover = postern_gateway::receive(from, own_gid()).await?;
        postern_gateway::serve(handover, postern_gateway::Times::REAL).await
    });
    // The client sees how it ended.
    drop(ended);
}

/// Runs one job as its unit does.
pub fn job(name: &str, directory: &Path, id: &str) -> bool {
    let hosts = Hosts::at(directory);
    if name == "packages" {
        let id = postern_root::OrderId::from_hex(id).unwrap();
        return postern_packages::run(&hosts.packages, id).is_ok();
    }
    // The record is the credential `job`, standard output is appended to the events.
    let record = File::open(directory.join(format!("jobs/{id}/job"))).unwrap();
    let events = directory.join(format!("root/jobs/{id}/events"));
    let events = OpenOptions::new().append(true).create(true).open(events).unwrap();
    postern_command::command(record, events).is_ok()
}

/// Listens at a socket, as PID 1 does, across every death of the programs behind it.
struct Service {
    name: &'static str,
    running: Running,
    /// The sockets whose accepted connections are orders.
    sockets: Vec<PathBuf>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    fn start(program: &Path, directory: &Path, (name, sockets): Row) -> Self {
        let sockets = sockets.iter().map(|socket| directory.join(format!("{socket}.sock")));
        let sockets = sockets.collect::<Vec<_>>();
        let listeners = sockets.iter().map(|socket| UnixListener::bind(socket).unwrap()).collect::<Vec<_>>();
        let (running, is_over) = (Running::default(), Arc::<AtomicBool>::default());
        let (shared, over) = (running.clone(), Arc::clone(&is_over));
        let (program, directory) = (program.to_owned(), directory.to_owned());
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let mut command = command(&program, &directory, name, None);
                let mut sockets = listeners.iter().map(|one| OwnedFd::from(one.try_clone().unwrap()));
                command.stdin(sockets.next().unwrap());
                if let Some(second) = sockets.next() {
                    command.stdout(second);
                }
                shared.run(&mut command);
            }
        });
        Self { name, running, sockets, is_over, thread: Some(thread) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().unwrap();
        while !thread.is_finished() {
            self.running.kill(|_| true);
            std::thread::sleep(Duration::from_millis(5));
        }
        thread.join().unwrap();
    }
}

/// One of these programs; what it writes to the journal is appended to `NAME.journal`.
fn command(program: &Path, directory: &Path, name: &str, id: Option<&str>) -> Command {
    let journal = directory.join(format!("{name}.journal"));
    let journal = OpenOptions::new().append(true).create(true).open(journal).unwrap();
    let mut command = Command::new(program);
    command.arg(name).arg(directory).args(id).stderr(journal);
    command
}

/// Starts a gateway for each connection, as `Accept=yes` does.
fn gateways(program: &Path, directory: &Path, running: &Running) -> programs::Listener {
    let (running, program, at) = (running.clone(), program.to_owned(), directory.to_owned());
    programs::Listener::bind(&directory.join("gateway.sock"), move |stream| {
        running.run(command(&program, &at, "gateway", None).stdin(OwnedFd::from(stream)));
    })
}

/// A world whose programs are processes.
pub struct Processes {
    services: Vec<Service>,
    gateways: Running,
    _gateway_socket: programs::Listener,
    jobs: [(&'static str, Running); 2],
    /// The world that they share. Its own programs listen elsewhere and are not used; those of root are stopped.
    pub world: World,
    broker: Arc<postern_broker::state::State>,
}

impl Processes {
    /// Starts them on a new world; `program` is the binary `corridor-program`.
    pub fn new(program: &str, mut world: World) -> Self {
        let (at, program) = (world.path(""), Path::new(program));
        // Its own programs make their keys, and take up what was under way whenever they start: on one state there is one of
        // each.
        let has_key = |state: &str| world.path(state).join("key").exists();
        crate::eventually("its own programs have started", || has_key("files") && has_key("root"));
        world.files.stop();
        world.units.stop();
        // Other sockets, and a log of their own.
        for name in ["recorder", "files", "units", "probe", "asked"] {
            std::fs::remove_file(at.join(format!("{name}.sock"))).unwrap();
        }
        for name in ["log", "audit", "audit/seal", "run"] {
            drop(std::fs::remove_dir_all(at.join(name)));
            std::fs::create_dir_all(at.join(name)).unwrap();
        }
        std::fs::create_dir_all(at.join("audit/seal")).unwrap();
        let services = SERVICES.map(|row| Service::start(program, &at, row)).into();
        let gateways = Running::default();
        let jobs = [("packages", Running::default()), ("command", Running::default())];
        let job = {
            let (jobs, program, at) = (jobs.clone(), program.to_owned(), at.clone());
            move |name: &str, id: &str| {
                let (_, running) = jobs.iter().find(|(job, _)| *job == name).unwrap();
                running.run(&mut command(&program, &at, name, Some(id)))
            }
        };
        world.run_jobs(Arc::new(job) as Arc<JobProcesses>);
        let broker = Arc::new(postern_broker::state::State::open(world.hosts.broker.clone()).unwrap());
        let gateway_socket = self::gateways(program, &at, &gateways);
        Self { services, gateways, _gateway_socket: gateway_socket, jobs, world, broker }
    }

    /// Makes the user of this test the client `postern`, whom the broker sees by `SO_PEERCRED`.
    pub fn be_client(&self) {
        self.world.add_user("postern", own_uid());
    }

    /// Kills a program in the middle of an order, if it has one now: looked up while it is stopped.
    pub fn kill_in_order(&self, name: &str, is_unanswered: impl Fn() -> bool) -> bool {
        if let Some(service) = self.services.iter().find(|service| service.name == name) {
            let serves = |pid| service.sockets.iter().any(|socket| crate::running::serves(pid, socket));
            return service.running.kill(|pid| serves(pid) && is_unanswered());
        }
        // A gateway and a job have one order each.
        let job = self.jobs.iter().find(|(job, _)| *job == name).map(|(_, running)| running);
        job.unwrap_or(&self.gateways).kill(|_| is_unanswered())
    }

    /// Kills a program, whatever it does, and waits until the next one has started.
    pub fn restart(&self, name: &str) {
        let service = self.services.iter().find(|service| service.name == name).unwrap();
        let dead = service.running.pid();
        service.running.kill(|_| true);
        crate::eventually("it is started again", || ![None, dead].contains(&service.running.pid()));
    }

    /// The process of a program.
    pub fn pid(&self, name: &str) -> u32 {
        let service = self.services.iter().find(|service| service.name == name).unwrap();
        crate::eventually("it runs", || service.running.pid().is_some());
        service.running.pid().unwrap()
    }

    /// A connection as a gateway holds it, to a broker of this process.
    pub fn connect(&self, uid: u32) -> Channel {
        crate::world::connect(&self.broker, uid)
    }

    /// A connection to operator.sock, as the user of this test.
    pub fn operator(&self) -> Channel {
        let stream = UnixStream::connect(self.world.path("operator.sock")).unwrap();
        Channel::new(stream, None, std::thread::spawn(|| ()))
    }

    /// The log's lines.
    pub fn log(&self) -> Vec<String> {
        lines(&self.world.path("log/audit.jsonl"))
    }

    /// Returns the lines that this program has written to the journal.
    pub fn journal(&self, name: &str) -> Vec<String> {
        lines(&self.world.path(&format!("{name}.journal")))
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The listening sockets of this process: standard input, and standard output if it is one too.
pub fn listeners(count: usize) -> Vec<UnixListener> {
    let fds = [std::io::stdin().as_fd().try_clone_to_owned(), std::io::stdout().as_fd().try_clone_to_owned()];
    fds.into_iter().take(count).map(|fd| UnixListener::from(fd.unwrap())).collect()
}
