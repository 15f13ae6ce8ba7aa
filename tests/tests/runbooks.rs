//! Runbooks of the package on a real Debian: each story breaks something that its runbook mends.
//!
//! All stories run on one machine. `certificate-renew`, `postgresql-connections`, `dns-broken` and `kernel-update` are only
//! listed here: a certificate authority, a database, a name server and another kernel are not in it, and the commands of
//! their packs run in `packs`. All twelve are carried out against a helper in `agent/tests/runbooks/shipped.rs`.

use postern_tests::{Installed, Machine, Output, Package, Release};
use serde_json::Value;

const PACKAGES: &[&str] = &["nginx-light", "openssh-server", "logrotate"];

/// An operator who agrees to each request that waits.
const OPERATOR: &str = r#"
useradd --groups postern-operators oper
cat > /usr/local/bin/agree <<'AGREE'
#!/bin/sh
while sleep 0.2; do
    for id in $(postern-admin pending --json | grep -o '"approval_id":"[0-9a-f]*' | cut -d'"' -f4); do
        digest=$(postern-admin show "$id" --json | grep -o '"sha256":"[0-9a-f]*' | head -n 1 | cut -d'"' -f4)
        postern-admin approve "$id" --digest "$digest"
    done
done
AGREE
chmod 0755 /usr/local/bin/agree
systemd-run --quiet --unit agree --uid oper /usr/local/bin/agree
"#;

/// Units that the stories break: `app` needs a file, `flood` floods until it is restarted, `backend` answers nginx.
const UNITS: &str = r#"
unit() {
    printf '[Service]\nExecStart=%s\n' "$2" > "/etc/systemd/system/$1.service"
}
unit app "/bin/sh -c 'test -e /srv/app-ready && exec sleep infinity'"
unit flood "/bin/sh -c 'mkdir /srv/flooded && while :; do echo flood; sleep 0.01; done; exec sleep infinity'"
unit backend "/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory /srv 9000"
unit clock "/bin/sleep infinity"
systemctl daemon-reload
printf 'server { listen 8080; location / { proxy_pass http://127.0.0.1:9000; } }\n' > /etc/nginx/conf.d/backend.conf
rm -f /etc/nginx/sites-enabled/default
systemctl restart nginx
install -d /srv/old
"#;

/// The packs that the runbooks' notes name, with their values.
const PACKS: &[(&str, &[&str])] = &[
    ("services", &["units=app.service,flood.service,backend.service,clock.service"]),
    ("logs", &["logs=/var/log/app.log"]),
    ("disk-space", &["removable=/srv/old"]),
    ("updates", &[]),
    ("web-nginx", &[]),
    ("diagnostics", &[]),
];

/// The pack `services` starts nothing that lets people in: whoever means it writes the rule, with the reason.
const LOGIN: &str = r#"
[[rule]]
id = "login-again"
client = "agent"
verbs = ["unit.status", "unit.start", "unit.restart"]
units = ["ssh.service"]
journal_lines = 500
decision = "allow"
justification = "people can log in again"
accept_risk = { remote-access-unit = "it ran before" }
"#;

struct Host {
    machine: Installed,
}

impl Host {
    /// `postern runbook` as the person.
    fn runbook(&self, args: &[&str]) -> Output {
        self.machine.visitor(&[&["postern", "runbook"], args].concat())
    }

    /// Checks one and runs it; it must succeed, and its record names it.
    #[track_caller]
    fn run(&self, args: &[&str]) -> Value {
        let checked = self.runbook(&[&["check"], args].concat());
        assert!(matches!(checked.code, 0 | 4), "{checked}");
        let ran = self.machine.visitor(&[&["postern", "--json", "runbook", "run"], args].concat());
        assert_eq!(ran.code, 0, "{ran}\n{}", self.machine.journal("postern-*"));
        let task = ran.json();
        assert_eq!((&task["runbook"], &task["status"]), (&args[0].into(), &"completed".into()), "{task}");
        task
    }

    /// The state of the host.
    #[track_caller]
    fn is(&self, script: &str) {
        let checked = self.machine.shell(script);
        assert_eq!(checked.code, 0, "{checked}");
    }
}

#[test]
fn runbooks_mend_what_is_broken_on_trixie() {
    let machine = Machine::boot_offering(Release::Trixie, PACKAGES);
    let machine = Installed::in_machine(machine, &postern_tests::deb());
    let install = "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Options::=--force-unsafe-io";
    let install = format!("{install} install {} >&2", PACKAGES.join(" "));
    for script in [OPERATOR, &install, UNITS] {
        let _ = machine.shell(script).ok();
    }
    let host = Host { machine };
    nothing_is_granted_at_first(&host);
    for (pack, set) in PACKS {
        let mut argv = vec!["postern-admin", "pack", "add", pack, "--yes"];
        for set in *set {
            argv.extend(["--set", set]);
        }
        let added = host.machine.root(&argv);
        assert_eq!(added.code, 0, "{added}");
    }
    host.is(&format!(
        "cat > /etc/postern/policy.d/login.toml <<'LOGIN'\n{LOGIN}LOGIN\npostern-admin policy apply --yes"
    ));
    unit_fails(&host);
    nginx_502(&host);
    package_broken(&host);
    disk_full(&host);
    log_flood(&host);
    no_login(&host);
    let _ = host.run(&["slow-host"]);
    a_draft_of_a_run_is_a_runbook(&host);
    each_run_is_in_the_agents_log(&host);
}

/// As installed, most of them lack a grant: they are listed with it and not run.
fn nothing_is_granted_at_first(host: &Host) {
    let list = host.machine.visitor(&["postern", "--json", "runbook", "list"]).json();
    let states: Vec<_> = list.as_array().expect("a list").iter().map(|one| one["state"].clone()).collect();
    assert!(states.len() == 12 && states.iter().all(|state| state != "invalid"), "{list}");
    host.is("systemctl start app; sleep 1; systemctl is-failed app");
    let ran = host.runbook(&["run", "unit-fails", "unit=app.service"]);
    assert!(ran.code == 3 && ran.stderr.contains("unit.start app.service"), "{ran}");
    host.is("systemctl is-failed app");
}

fn unit_fails(host: &Host) {
    host.is("touch /srv/app-ready");
    let _ = host.run(&["unit-fails", "unit=app.service"]);
    host.is("systemctl is-active app");
    // All is well now, so that its check before the steps says no.
    let again = host.runbook(&["run", "unit-fails", "unit=app.service"]);
    assert_ne!(again.code, 0, "{again}");
}

fn nginx_502(host: &Host) {
    let answers = |code| {
        format!("test \"$(curl -s -o /dev/null -w '%{{http_code}}' http://localhost:8080/)\" = {code}")
    };
    host.is(&answers("502"));
    let _ = host.run(&["nginx-502", "backend=backend.service"]);
    host.is(&format!("for try in $(seq 50); do {} && exit 0; sleep 0.1; done; exit 1", answers("200")));
}

fn package_broken(host: &Host) {
    let postinst = "#!/bin/sh\ntest -e /srv/repaired\n";
    host.machine.publish_all(&[Package::new("app-broken", "1.0").script("postinst", postinst)]);
    host.is("! DEBIAN_FRONTEND=noninteractive apt-get -q -y install app-broken >&2
        dpkg -s app-broken | grep -q half-configured && touch /srv/repaired");
    let task = host.run(&["package-broken", "package=app-broken"]);
    assert_eq!(task["changes"][0]["verb"], "package.repair", "{task}");
    host.is("dpkg -s app-broken | grep -q 'ok installed'");
}

fn disk_full(host: &Host) {
    let free = "df --output=avail /var/cache/apt/archives | tail -n 1";
    host.is(&format!(
        "mount -t tmpfs -o size=4M,mode=0755 tmpfs /var/cache/apt/archives
        head -c 8M /dev/zero > /var/cache/apt/archives/old_1.0_all.deb || true
        test \"$({free})\" -eq 0"
    ));
    let _ = host.run(&["disk-full", "keep=200M"]);
    host.is(&format!("test \"$({free})\" -gt 1000 && umount /var/cache/apt/archives"));
}

fn log_flood(host: &Host) {
    let lines = "journalctl -q -u flood | grep -c 'flood$'";
    host.is(&format!("systemctl start flood && sleep 1 && journalctl --sync && test \"$({lines})\" -gt 10"));
    let _ = host.run(&["log-flood", "unit=flood.service", "keep=200M"]);
    host.is(&format!(
        "journalctl --sync; before=$({lines}); sleep 1; journalctl --sync; test \"$({lines})\" = \"$before\""
    ));
}

fn no_login(host: &Host) {
    host.is("systemctl stop ssh.socket ssh.service; ! systemctl is-active ssh.service");
    let _ = host.run(&["no-login", "user=visitor"]);
    host.is("systemctl is-active ssh.service");
}

/// The throwaway machine has its host's clock, so that `time-drift` restarts another unit.
fn a_draft_of_a_run_is_a_runbook(host: &Host) {
    let task = host.run(&["time-drift", "unit=clock.service"]);
    let id = task["id"].as_str().expect("an id");
    let draft = host.machine.visitor(&["postern", "--json", "runbook", "from-task", id]).json();
    let name = draft["name"].as_str().expect("a name");
    let text = draft["text"].as_str().expect("a text");
    let path = format!("/etc/postern/runbooks.d/{name}.yaml");
    let _ = host.machine.shell(&format!("install -D -m 0644 /dev/stdin {path} <<'DRAFT'\n{text}DRAFT")).ok();
    let before = host.machine.property("clock.service", "MainPID");
    let _ = host.run(&[name]);
    assert_ne!(host.machine.property("clock.service", "MainPID"), before);
}

fn each_run_is_in_the_agents_log(host: &Host) {
    let log = host.machine.shell("cat /var/lib/postern/audit/audit.jsonl").ok();
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for name in
        ["nginx-502", "package-broken", "disk-full", "log-flood", "no-login", "slow-host", "time-drift"]
    {
        let begun = records.iter().find(|record| record["args"]["runbook"] == name).expect(name);
        let is_its_end = |record: &&Value| record["event"] == "task_ended" && record["task"] == begun["task"];
        let ended = records.iter().find(is_its_end).expect(name);
        assert_eq!(ended["outcome"]["status"], "completed", "{name}");
    }
    let _ = host.machine.root(&["postern-admin", "audit", "verify"]).ok();
}
