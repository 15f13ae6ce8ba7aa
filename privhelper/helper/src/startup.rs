//! Before the first request: drop what was given, check what is relied on, take up what was left.

use crate::audit::{Audit, Event, Json, Limits, Record, Ticket};
use crate::change;
use crate::copies::Copies;
use crate::error::Fault;
use crate::helper::{Helper, Kept};
use crate::host::Host;
use crate::host::Peer;
use crate::job;
use crate::leave::{Done, forget, outcome};
use crate::reply::Watchers;
use crate::requests::Requests;
use crate::sandbox;
use crate::sys::log::Reserve;
use crate::sys::store::{self, POLICY_MAX};
use crate::sys::{confined, files, socket};
use crate::validate;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};
use postern_policy::Policy;
use postern_proto::root::v1::RequestRecord;
use postern_proto::v1 as wire;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Files as root, for others: owner, group and mode of what is written.
const CAPABILITIES: [Capability; 3] =
    [Capability::CAP_CHOWN, Capability::CAP_DAC_OVERRIDE, Capability::CAP_FOWNER];
/// How long an effect may go on after systemd has asked for the end.
const STOP_TIME: Duration = Duration::from_secs(10);

/// Drops what was given beyond need: umask, working directory, core dumps, capabilities.
///
/// # Errors
/// A capability that is relied on is not there, or another can't be dropped.
pub fn drop_power() -> Result<(), Fault> {
    umask(Mode::from_bits_truncate(0o177));
    nix::unistd::chdir("/").map_err(Fault::io("change to /"))?;
    set_dumpable(false).map_err(Fault::io("forbid core dumps"))?;
    let failed = |what: &str| Fault::Program { what: format!("{what}; is this run as root in its unit?") };
    let wanted: CapsHashSet = CAPABILITIES.into_iter().collect();
    let had = caps::read(None, CapSet::Permitted).map_err(|_| failed("capabilities can't be read"))?;
    if !wanted.is_subset(&had) {
        return Err(failed("CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER are needed"));
    }
    if had.contains(&Capability::CAP_SETPCAP) {
        let bounding =
            caps::read(None, CapSet::Bounding).map_err(|_| failed("capabilities can't be read"))?;
        for extra in bounding.difference(&wanted) {
            caps::drop(None, CapSet::Bounding, *extra)
                .map_err(|_| failed("a capability can't be dropped"))?;
        }
    }
    caps::set(None, CapSet::Effective, &wanted).map_err(|_| failed("capabilities can't be dropped"))?;
    caps::set(None, CapSet::Permitted, &wanted).map_err(|_| failed("capabilities can't be dropped"))?;
    caps::set(None, CapSet::Inheritable, &CapsHashSet::new())
        .map_err(|_| failed("capabilities can't be dropped"))
}

/// The host as it is: this boot's id, and what the kernel can do.
///
/// # Errors
/// openat2(2) is missing, which every file verb stands on, or the boot's id can't be read.
pub fn real_host() -> Result<Host, Fault> {
    if !files::openat2_works() {
        return Err(Fault::Program {
            what: "this kernel or unit has no openat2 (RestrictSUIDSGID= takes it away)".to_owned(),
        });
    }
    let boot_id = store::read(Path::new("/proc/sys/kernel/random/boot_id"), 64)?.unwrap_or_default();
    let boot_id = String::from_utf8_lossy(&boot_id).trim().to_owned();
    Ok(Host::real(boot_id, confined::available()))
}

/// Refuses directories of ours that others could change: every ancestor is root's and not writable by others.
///
/// # Errors
/// The first that is not.
pub fn check_ancestors(path: &Path, owner_uid: u32) -> Result<(), Fault> {
    for (above, ancestor) in path.ancestors().enumerate() {
        let stat =
            std::fs::symlink_metadata(ancestor).map_err(Fault::io("stat a directory of the helper's own"))?;
        let foreign = stat.uid() != owner_uid && stat.uid() != 0;
        // On the way a sticky directory passes: others can't replace what is root's in it.
        let writable = stat.mode() & 0o022 != 0 && (above == 0 || stat.mode() & 0o1000 == 0);
        if foreign || writable || !stat.is_dir() {
            let what =
                format!("{} must be a directory, root's, and not writable by others", ancestor.display());
            return Err(Fault::Program { what });
        }
    }
    Ok(())
}

/// Opens everything and takes up what an earlier helper left. The sockets are not served yet.
///
/// # Errors
/// State or log can't be used. A missing or damaged policy is no error: everybody is refused until one is applied.
pub fn open(host: Host) -> Result<(Arc<Helper>, Vec<RequestRecord>), Fault> {
    for directory in ["policy", "undo", "jobs", "requests", "seal"] {
        store::make_directory(&host.paths.state.join(directory))?;
        check_ancestors(&host.paths.state.join(directory), host.owner_uid)?;
    }
    check_ancestors(&host.paths.log, host.owner_uid)?;
    for socket in [&host.paths.helper_socket, &host.paths.operator_socket, &host.paths.gateway_socket] {
        check_ancestors(socket.parent().unwrap_or(Path::new("/")), host.owner_uid)?;
    }
    check_ancestors(&host.paths.run, host.owner_uid)?;
    // Also on a full disk: without a helper no operator could do anything about it.
    let reserve = Reserve::open(&host.paths.state.join("reserve"))?;
    let room = reserve.give();
    let audit = Audit::open(&host.audit())?;
    let (requests, unfinished) = Requests::open(&host.paths.state.join("requests"), host.unix())?;
    validate::clear(&host.paths.state)?;
    let mut notes = Vec::new();
    if !host.landlock {
        notes.push("this kernel has no Landlock: file verbs run without it".to_owned());
    }
    let paused = store::read(&host.paths.state.join("paused"), 4096)?;
    let paused = paused.map(|reason| String::from_utf8_lossy(&reason).into_owned());
    let policy = load_policy(&host).unwrap_or_else(|fault| {
        notes.push(format!("no policy is in force: {fault}"));
        None
    });
    let started = Record {
        policy: policy.as_ref().map(|policy| policy.digest().to_string()).unwrap_or_default(),
        outcome: Json::new().text("detail", &notes.join("; ")),
        ..Record::default()
    };
    audit.limit(policy.as_ref().map(|policy| Limits::new(policy.audit())).unwrap_or_default());
    audit.durable(Event::Start, &started)?;
    audit.sign()?;
    let copies = Copies::open(&host.paths.state.join("undo"))?;
    if let Some(policy) = &policy {
        copies.expire(policy.undo(), host.unix())?;
    }
    drop(room);
    let helper =
        Arc::new(Helper::new(host, Kept { audit, requests, copies, reserve }, policy, paused, notes));
    prune_jobs(&helper, &unfinished)?;
    Ok((helper, unfinished))
}

fn load_policy(host: &Host) -> Result<Option<Policy>, Fault> {
    let bytes = store::read(&host.paths.state.join("policy/accepted.pb"), POLICY_MAX)?;
    let load = |bytes: Vec<u8>| Policy::load(&bytes).map_err(|what| Fault::Program { what });
    bytes.map(load).transpose()
}

/// Ends what an earlier helper began: a job is followed to its outcome while others begin, a change of files is finished
/// or taken back before they do, all else is `interrupted`.
pub fn take_up(helper: &Arc<Helper>, unfinished: Vec<RequestRecord>) {
    for record in unfinished {
        let watchers = Arc::new(Watchers::default());
        helper.requests.watch(record.uid, &record.request_id, &watchers);
        if job::has_begun(helper, &record) {
            let helper = Arc::clone(helper);
            // Without a thread the request stays unfinished, and the next start takes it up.
            drop(spawn("recover", move || end(&helper, &record, &watchers, job::recover)));
        } else {
            end(helper, &record, &watchers, |helper, ticket, request, _| {
                change::recover(helper, ticket, request)
            });
        }
    }
}

/// Takes up a request that an earlier helper began; none if it never came to an effect that is known.
type Recover = fn(&Helper, &Ticket, &RequestRecord, &Watchers) -> Option<Done>;

fn end(helper: &Helper, request: &RequestRecord, watchers: &Watchers, recover: Recover) {
    let ticket = Audit::resume();
    let done = recover(helper, &ticket, request, watchers);
    let has_ended = |done: &Done| done.completed.status() != wire::Status::Interrupted;
    let event = if done.as_ref().is_some_and(has_ended) { Event::End } else { Event::Interrupted };
    let Done { completed, undo } = done.unwrap_or_else(|| Done {
        completed: wire::Completed {
            status: wire::Status::Interrupted.into(),
            code: "interrupted".to_owned(),
            message: "the helper ended before this did; look at what is there before asking again".to_owned(),
            ..wire::Completed::default()
        },
        undo: Json::new(),
    });
    let leaves_nothing = undo.members().is_empty();
    // An undo asks for these.
    let completed = wire::Completed {
        decision: request.decision,
        rule: request.rules.first().cloned().unwrap_or_default(),
        undoable: completed.status() == wire::Status::Done && !leaves_nothing,
        ..completed
    };
    let record = Record {
        request_id: request.request_id.clone(),
        client_name: request.client.clone(),
        client: Some(Peer { uid: request.uid, gid: request.gid, pid: request.pid }),
        verb: request.verb.clone(),
        rule: completed.rule.clone(),
        outcome: outcome(&completed, &format!("taken up after a restart; {}", completed.message)),
        undo,
        ..Record::default()
    };
    let kept = helper
        .audit
        .end(ticket, event, &record)
        .and_then(|()| helper.requests.finish(request.uid, &request.request_id, &completed));
    if kept.is_ok() {
        forget(helper, (request.uid, &request.request_id), &completed, leaves_nothing);
    }
    watchers.finish(&wire::event::Kind::Completed(completed));
}

/// Removes what jobs left whose requests have ended.
fn prune_jobs(helper: &Helper, unfinished: &[RequestRecord]) -> Result<(), Fault> {
    let kept: HashSet<_> =
        unfinished.iter().map(|request| job::id_of(request.uid, &request.request_id)).collect();
    let is_over = |name: &str| !kept.contains(name);
    for entry in store::list(&helper.host.paths.state.join("jobs"))? {
        if entry.file_name().is_some_and(|name| is_over(&name.to_string_lossy())) {
            store::remove_directory(&entry)?;
        }
    }
    for entry in store::list(&helper.host.paths.run)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.strip_prefix(sandbox::WITH_SECRETS).is_some_and(is_over) {
            store::remove_file(&entry)?;
        }
    }
    Ok(())
}

/// Starts a thread that nobody waits for.
///
/// # Errors
/// None can be had.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Fault> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(Fault::io("start a thread"))
}

/// Keeps SIGTERM and SIGINT for [`wait_for_end`]. Before any thread is started, for threads inherit it.
///
/// # Errors
/// The kernel refuses.
pub fn hold_signals() -> Result<SignalFd, Fault> {
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    signals.thread_block().map_err(Fault::io("block signals"))?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).map_err(Fault::io("make a signalfd"))
}

/// Waits for systemd to ask for the end; then lets what has begun end too, and records the stop.
///
/// # Errors
/// The log can't take the record.
pub fn wait_for_end(helper: &Helper, signals: &SignalFd) -> Result<(), Fault> {
    signals.read_signal().map_err(Fault::io("wait for a signal"))?;
    helper.stopping.store(true, Ordering::Relaxed);
    let deadline = Instant::now().checked_add(STOP_TIME);
    // Jobs need nobody to wait: the next start finds their outcome.
    while helper.running.count() > 0 && deadline.is_some_and(|at| Instant::now() < at) {
        std::thread::sleep(Duration::from_millis(10));
    }
    helper.audit.stop()
}

/// Every second makes what was recorded durable, since reads and refusals wait for no disk, and sees to the log;
/// ends what has waited for a person long enough.
pub fn tick_forever(helper: &Helper) {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        helper.audit.tick();
        helper.reserve.keep();
        helper.approvals.expire(helper.boottime());
    }
}

/// The sockets: systemd's, told apart by the name that the kernel gives, or bound by hand.
///
/// # Errors
/// One is missing among systemd's, or can't be bound.
pub fn sockets(host: &Host) -> Result<(UnixListener, UnixListener), Fault> {
    let mut given = listenfd::ListenFd::from_env();
    let count = given.len();
    let mut listeners = Vec::new();
    for index in 0..count {
        if let Ok(Some(listener)) = given.take_unix_listener(index) {
            listeners.push(listener);
        }
    }
    let mut one = |path: &Path, group: &str| {
        let is = |listener: &UnixListener| {
            listener.local_addr().ok().is_some_and(|address| address.as_pathname() == Some(path))
        };
        match listeners.iter().position(is) {
            Some(at) => Ok(listeners.swap_remove(at)),
            None if count == 0 => socket::listen_at(path, (host.accounts.group)(group).map(|(gid, _)| gid)),
            None => Err(Fault::Program { what: format!("systemd passed no socket {}", path.display()) }),
        }
    };
    Ok((
        one(&host.paths.helper_socket, "postern-clients")?,
        one(&host.paths.operator_socket, "postern-operators")?,
    ))
}
