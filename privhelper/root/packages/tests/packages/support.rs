//! A machine of fakes in a temporary directory, and orders for it.

use postern_packages::Host;
use postern_policy::types::Digest;
use postern_proto::link;
use postern_proto::root::v1::{
    AcceptedPolicy, Client, Decision, Envelope, Facts, Inverse, Order, Outcome, PackageFacts, RootExecute,
    Rule, Rules, Step,
};
use postern_proto::v1::{
    Action, Package, PackageAutoremoveRequest, PackageHoldRequest, PackageInfo, PackageInstallRequest,
    PackagePurgeRequest, PackageRemoveRequest, PackageRepairRequest, PackageStep, PackageUnholdRequest,
    PackageUpdateRequest, PackageUpgradeRequest, RequestUndoRequest,
};
use postern_root::OrderId;
use prost::Message;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

const AGENT: u32 = 2001;

/// One order about packages, and what its rule says.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the policy file")]
pub struct Job {
    pub verb: &'static str,
    pub packages: Vec<Package>,
    pub expected: Vec<PackageStep>,
    pub recommends: bool,
    pub allow_removals: bool,
    pub allow_downgrades: bool,
    pub new_packages: bool,
    /// Of an undo.
    pub inverse: Option<Inverse>,
    /// Patterns that the rule grants.
    pub granted: Vec<String>,
    /// Patterns that another rule denies to be removed.
    pub denied: Vec<String>,
    /// `ask`, with the envelope of one person who is no client.
    pub ask: bool,
    pub approvers: Vec<u32>,
}

/// An install of these packages, `name` or `name=version`.
pub fn install(packages: &[&str]) -> Job {
    let package = |text: &&str| {
        let (name, version) = text.split_once('=').unwrap_or((text, ""));
        Package { name: name.to_owned(), version: version.to_owned() }
    };
    Job {
        verb: "package.install",
        packages: packages.iter().map(package).collect(),
        expected: vec![step(Action::Install, "hello", "amd64", "", "2.10-3")],
        recommends: false,
        allow_removals: false,
        allow_downgrades: false,
        new_packages: false,
        inverse: None,
        granted: vec!["*".to_owned()],
        denied: Vec::new(),
        ask: false,
        approvers: Vec::new(),
    }
}

/// Another verb on the same packages.
pub fn transaction(verb: &'static str, packages: &[&str]) -> Job {
    Job { verb, ..install(packages) }
}

impl Job {
    fn body(&self) -> Vec<u8> {
        let names: Vec<String> = self.packages.iter().map(|package| package.name.clone()).collect();
        let meta = None;
        if self.inverse.is_some() {
            return RequestUndoRequest { meta, of: "01890a5d-ac96-774b-bcce-b302099a8057".to_owned() }
                .encode_to_vec();
        }
        match self.verb {
            "package.install" => {
                PackageInstallRequest { meta, packages: self.packages.clone() }.encode_to_vec()
            }
            "package.remove" => PackageRemoveRequest { meta, names }.encode_to_vec(),
            "package.purge" => PackagePurgeRequest { meta, names }.encode_to_vec(),
            "package.hold" => PackageHoldRequest { meta, names }.encode_to_vec(),
            "package.unhold" => PackageUnholdRequest { meta, names }.encode_to_vec(),
            "package.upgrade" => {
                let all = names.is_empty();
                PackageUpgradeRequest { meta, names, all }.encode_to_vec()
            }
            "package.autoremove" => PackageAutoremoveRequest { meta }.encode_to_vec(),
            "package.repair" => PackageRepairRequest { meta }.encode_to_vec(),
            "package.update" => PackageUpdateRequest { meta }.encode_to_vec(),
            other => panic!("no request of {other}"),
        }
    }

    /// The accepted policy: what the job's rule says, for the client `agent`.
    fn policy(&self) -> (Vec<u8>, Vec<u8>) {
        let named = |verbs: &[&str]| verbs.iter().map(|verb| format!("package.{verb}")).collect::<Vec<_>>();
        let mut verbs = named(&["install", "remove", "purge", "hold", "unhold", "upgrade"]);
        verbs.push("request.undo".to_owned());
        let rule = Rule {
            id: "packages".to_owned(),
            client: "agent".to_owned(),
            verbs,
            decision: if self.ask { Decision::Ask } else { Decision::Allow }.into(),
            timeout_s: 60,
            approval_ttl_s: 60,
            approvers: 1,
            packages: self.granted.clone(),
            versions: vec!["*".to_owned()],
            max_new_packages: 50,
            allow_upgrades: true,
            allow_removals: self.allow_removals,
            allow_downgrades: self.allow_downgrades,
            recommends: self.recommends,
            new_packages: self.new_packages,
            ..Rule::default()
        };
        let unnamed = Rule {
            id: "unnamed".to_owned(),
            verbs: named(&["autoremove", "repair", "update"]),
            packages: Vec::new(),
            versions: Vec::new(),
            ..rule.clone()
        };
        let deny = Rule {
            id: "keep".to_owned(),
            client: "agent".to_owned(),
            verbs: vec!["package.remove".to_owned()],
            decision: Decision::Deny.into(),
            packages: self.denied.clone(),
            ..Rule::default()
        };
        let client = Client { name: "agent".to_owned(), user: "agent".to_owned(), group: String::new() };
        let denies = (!self.denied.is_empty()).then_some(deny);
        let rules = Rules {
            version: 1,
            clients: vec![client],
            rules: [rule, unnamed].into_iter().chain(denies).collect(),
            ..Rules::default()
        };
        let rules = rules.encode_to_vec();
        let digest = Digest::of(&[&rules]).as_bytes().to_vec();
        let accepted = AcceptedPolicy { rules, digest: digest.clone(), ..AcceptedPolicy::default() };
        (accepted.encode_to_vec(), digest)
    }
}

/// The id of every order.
pub fn id() -> OrderId {
    OrderId::from_bytes(&link::order_id(AGENT, "id")).unwrap()
}

/// Outcome and output of an order.
#[derive(Debug)]
pub struct Ran {
    pub code: String,
    pub detail: String,
    pub output: Vec<u8>,
    pub steps: Vec<PackageStep>,
    pub packages: Vec<PackageInfo>,
    pub outcome: Outcome,
}

/// The fakes, and the job's directory.
pub struct Bed {
    directory: tempfile::TempDir,
    /// Host of the library's calls.
    pub host: Host,
}

impl Bed {
    /// Fakes that succeed and say nothing.
    pub fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["apt-get", "apt-cache", "apt-mark", "dpkg", "dpkg-query"] {
            symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/program"), at(name)).unwrap();
            fs::write(at(name).with_extension("sh"), "").unwrap();
        }
        fs::create_dir_all(at("state/jobs").join(id().to_string())).unwrap();
        fs::write(at("passwd"), "root:x:0:0::/:/bin/sh\nagent:x:2001:2001::/:/bin/sh\n").unwrap();
        fs::write(at("group"), "root:x:0:\n").unwrap();
        let uid = nix::unistd::Uid::effective().as_raw();
        let host = Host {
            root: postern_root::Host {
                family: "units",
                accepted: at("accepted.pb"),
                validator_key: at("validator.key"),
                state: at("state"),
                passwd: at("passwd"),
                group: at("group"),
                boot_id: "this boot".to_owned(),
                root_uid: uid,
                peer_uid: uid,
                now: SystemTime::now,
            },
            apt: postern_apt::Host {
                apt_get: at("apt-get"),
                apt_cache: at("apt-cache"),
                apt_mark: at("apt-mark"),
                dpkg: at("dpkg"),
                dpkg_query: at("dpkg-query"),
                dpkg_lock: at("lock-frontend"),
                lists_lock: at("lists-lock"),
                dpkg_updates: at("updates"),
                run: std::process::Command::output,
            },
            program: "/usr/libexec/postern/postern-packages".into(),
        };
        let bed = Self { directory, host };
        bed.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; esac");
        bed
    }

    /// Makes a fake do this.
    pub fn script(&self, program: &str, text: &str) {
        fs::write(self.directory.path().join(format!("{program}.sh")), text).unwrap();
    }

    /// Returns the lines that a fake wrote of `what`: `argv`, `env`, `state` or `fds`.
    pub fn noted(&self, program: &str, what: &str) -> Vec<String> {
        let path = self.directory.path().join(format!("{program}.{what}"));
        fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// A file beside the fakes.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A process that holds this lock until it is killed: a lock of this process would not be in its own way.
    pub fn hold(&self, lock: &Path) -> Child {
        fs::write(lock, "").unwrap();
        let held = self.beside("held");
        let perl = "use Fcntl; open F, '+<', $ARGV[0]; $l = pack('ssx4qqix4', F_WRLCK, 0, 0, 0, 0); \
                    fcntl(F, F_SETLK, $l) or die; \
                    open G, '>', $ARGV[1]; sleep 60";
        let mut holder =
            Command::new("/usr/bin/perl").args(["-e", perl]).args([lock, &held]).spawn().unwrap();
        while !held.exists() {
            assert!(holder.try_wait().unwrap().is_none(), "the holder has ended");
            sleep(Duration::from_millis(10));
        }
        holder
    }

    /// A file of the job's directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.host.root.state.join("jobs").join(id().to_string()).join(name)
    }

    /// Writes policy and order as postern-units does.
    pub fn record(&self, job: &Job) {
        let (accepted, digest) = job.policy();
        fs::write(&self.host.root.accepted, accepted).unwrap();
        let steps = PackageFacts { steps: job.expected.clone(), ..PackageFacts::default() };
        let facts = Facts { packages: Some(steps), ..Facts::default() };
        let order = Order {
            order_id: link::order_id(AGENT, "id").to_vec(),
            uid: AGENT,
            verb: if job.inverse.is_some() { "request.undo" } else { job.verb }.to_owned(),
            body: job.body(),
            facts: job.inverse.is_none().then_some(facts),
            policy_digest: digest.clone(),
            inverse: job.inverse.clone(),
            ..Order::default()
        };
        let order = order.encode_to_vec();
        let digest = <[u8; 32]>::try_from(digest.as_slice()).unwrap();
        let envelope = Envelope {
            step: Step::Whole.into(),
            approvers: job.approvers.clone(),
            approved: link::approval_digest("this boot", &digest, &order).to_vec(),
            ..Envelope::default()
        };
        let record = RootExecute {
            envelope: Some(envelope),
            order,
            boot_id: "this boot".to_owned(),
            ..RootExecute::default()
        };
        fs::write(self.file("order.pb"), record.encode_to_vec()).unwrap();
    }

    /// Writes the order, runs the job, and reads its outcome.
    pub fn run(&self, job: &Job) -> Ran {
        self.record(job);
        postern_packages::run(&self.host, id()).unwrap();
        self.outcome()
    }

    /// The outcome on disk.
    pub fn outcome(&self) -> Ran {
        let outcome = Outcome::decode(fs::read(self.file("outcome.pb")).unwrap().as_slice()).unwrap();
        let completed = outcome.completed.clone().unwrap();
        Ran {
            code: completed.code,
            detail: completed.message,
            output: outcome.detail.clone().into_bytes(),
            steps: completed.plan.map(|plan| plan.packages).unwrap_or_default(),
            packages: completed.packages,
            outcome,
        }
    }

    /// The lines about progress that a run left for postern-units.
    pub fn status(&self) -> String {
        fs::read_to_string(self.file("status")).unwrap()
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

/// A step of a plan.
pub fn step(action: Action, name: &str, arch: &str, old: &str, new: &str) -> PackageStep {
    let [name, arch, old, new] = [name, arch, old, new].map(str::to_owned);
    PackageStep { action: action.into(), name, arch, old, new, sources: Vec::new(), asked: false }
}
