//! PID 1: a script named `systemctl`, and the units of jobs, which run on threads of this process.

use crate::hosts::Hosts;
use postern_root::OrderId;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Says whether a validator agrees: given the unit and the stage that it would bind.
pub type Validator = dyn Fn(&str, &Path) -> bool + Send + Sync;

/// Runs a job as a process: `packages` or `command`, and the order's id.
pub type JobProcesses = dyn Fn(&str, &str) -> ExitStatus + Send + Sync;

/// Answers for units of jobs; everything else is the test's. `unit` is the last argument.
const JOBS: &str = r#"for unit; do :; done
case $unit in
postern-packages@*|postern-command-*)
    case $* in
    show*)
        active=$(cat "$at/pid1/$unit.active" 2>/dev/null || echo inactive)
        result=$(cat "$at/pid1/$unit.result" 2>/dev/null || echo success)
        printf 'Id=%s\nNames=%s\nLoadState=loaded\nActiveState=%s\nResult=%s\n' "$unit" "$unit" "$active" "$result"
        ;;
    start*)
        mkfifo "$at/pid1/$unit.done"
        echo "$unit" >"$at/pid1/in"
        read -r code <"$at/pid1/$unit.done"
        rm "$at/pid1/$unit.done"
        exit "$code"
        ;;
    esac
    exit 0
    ;;
esac
"#;

/// The check that apt-get starts under its lock.
const CHECK: &str = r#"cat >"$at/pid1/$2.transaction"
mkfifo "$at/pid1/$2.done"
echo "$2" >"$at/pid1/in"
read -r code <"$at/pid1/$2.done"
rm "$at/pid1/$2.done"
exit "$code"
"#;

/// Runs jobs until it is dropped.
pub struct Systemd {
    at: PathBuf,
    /// Answers of validators: they agree unless a test says otherwise.
    pub validator: Arc<Mutex<Arc<Validator>>>,
    /// Runs jobs as processes; where there is none they are threads of this one.
    pub processes: Arc<Mutex<Option<Arc<JobProcesses>>>>,
    requests: File,
    thread: Option<JoinHandle<()>>,
}

impl Systemd {
    /// PID 1 of the world in this directory.
    pub fn new(at: &Path, hosts: &Hosts) -> Self {
        std::fs::create_dir(at.join("pid1")).unwrap();
        let fifo = at.join("pid1/in");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // Also for writing: the end of one writer is not the end of all.
        let requests = OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let validator: Arc<Mutex<Arc<Validator>>> = Arc::new(Mutex::new(Arc::new(|_: &str, _: &Path| true)));
        let lines = BufReader::new(requests.try_clone().unwrap()).lines();
        let processes = Arc::default();
        let jobs = Jobs {
            at: at.to_owned(),
            hosts: hosts.clone(),
            validator: Arc::clone(&validator),
            processes: Arc::clone(&processes),
        };
        let thread = std::thread::spawn(move || {
            for line in lines.map(Result::unwrap).take_while(|line| !line.is_empty()) {
                let jobs = jobs.clone();
                std::thread::spawn(move || jobs.run(&line));
            }
        });
        let pid1 = Self { at: at.to_owned(), validator, processes, requests, thread: Some(thread) };
        pid1.script("postern-packages", CHECK);
        pid1.systemctl("");
        pid1
    }

    /// Installs a program that is a script.
    pub fn script(&self, name: &str, body: &str) {
        // Written under another name: a forked child of another test may hold the file open for writing.
        let temporary = self.at.join(format!("{name}.new"));
        std::fs::write(&temporary, format!("#!/bin/sh\nat={}\n{body}", self.at.display())).unwrap();
        std::fs::set_permissions(&temporary, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::rename(temporary, self.at.join(name)).unwrap();
    }

    /// Installs a systemctl that records argv and environment in `calls`, and runs `body` for what is no job.
    pub fn systemctl(&self, body: &str) {
        // Queries in the place of D-Bus calls are not recorded.
        let record = "[ -n \"$BUS\" ] || { printf '%s\\n' \"$@\"; echo ENV; env; echo CWD $(pwd); echo END; } >>$at/calls\n";
        // Where a test does not say it, no unit's file says more.
        let files = if body.contains("cat") && body.contains("Install") || body.contains(".install") {
            ""
        } else {
            "[ \"$BUS$1\" = 1cat ] && { echo '[Install]'; exit; }\n"
        };
        self.script("systemctl", &format!("{record}{files}{JOBS}{body}\n"));
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        self.requests.write_all(b"\n").unwrap();
        let thread = self.thread.take().unwrap();
        // A program may wait for what a test that panicked will not do any more.
        if !std::thread::panicking() {
            thread.join().unwrap();
        }
    }
}

#[derive(Clone)]
struct Jobs {
    at: PathBuf,
    hosts: Hosts,
    validator: Arc<Mutex<Arc<Validator>>>,
    processes: Arc<Mutex<Option<Arc<JobProcesses>>>>,
}

impl Jobs {
    /// Runs one unit, or one check of apt-get's, and tells who started it how it ended.
    fn run(&self, name: &str) {
        let active = self.at.join(format!("pid1/{name}.active"));
        std::fs::write(&active, "activating\n").unwrap();
        let is_done = match OrderId::from_hex(name) {
            Some(id) => {
                let transaction = File::open(self.at.join(format!("pid1/{name}.transaction"))).unwrap();
                postern_packages::check(&self.hosts.packages, id, transaction).is_ok()
            }
            None => self.unit(name),
        };
        std::fs::remove_file(active).unwrap();
        // Opened for reading too, it does not wait for the script, which reads it later.
        let done = self.at.join(format!("pid1/{name}.done"));
        let mut done = OpenOptions::new().read(true).write(true).open(done).unwrap();
        writeln!(done, "{}", i32::from(!is_done)).unwrap();
        // Until it has been read: what is in a fifo ends with its last descriptor.
        let path = self.at.join(format!("pid1/{name}.done"));
        while path.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn unit(&self, unit: &str) -> bool {
        let (name, instance) = unit.strip_suffix(".service").unwrap().split_once('@').unwrap();
        let id = OrderId::from_hex(instance).unwrap();
        let record = self.at.join(format!("jobs/{id}/job"));
        let is_packages = name == "postern-packages";
        let processes = self.processes.lock().unwrap().clone();
        if let Some(run) = processes.filter(|_| is_packages || record.exists()) {
            let status = run(if is_packages { "packages" } else { "command" }, instance);
            if status.signal().is_some() {
                std::fs::write(self.at.join(format!("pid1/{unit}.result")), "signal\n").unwrap();
            }
            return status.success();
        }
        if is_packages {
            return postern_packages::run(&self.hosts.packages, id).is_ok();
        }
        let Ok(record) = File::open(record) else {
            let stage = self.at.join(format!("files/stage/{id}"));
            // Not held while it runs: the next one may be said meanwhile.
            let validator = Arc::clone(&self.validator.lock().unwrap());
            return validator(unit, &stage);
        };
        // As the unit has it: the record is the credential `job`, standard output is appended to the events.
        let events = self.at.join(format!("root/jobs/{id}/events"));
        let events = OpenOptions::new().append(true).create(true).open(events).unwrap();
        postern_command::command(record, events).is_ok()
    }
}
