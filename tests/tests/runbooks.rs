//! Runbooks of the package on a real Debian: each story breaks something that its runbook mends.
//!
//! All twelve run on one machine. Other programs stand in for what one machine lacks: Pebble is the certificate authority, a
//! script the name server, a second chronyd the time server, and the kernel's package has no kernel.

use postern_tests::{Installed, Machine, Output, Package, Release};
use serde_json::Value;

const PACKAGES: &[&str] = &[
    "nginx-light",
    "openssh-server",
    "logrotate",
    "certbot",
    "pebble",
    "openssl",
    "postgresql",
    "chrony",
    "systemd-resolved",
    "iproute2",
];

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
systemctl daemon-reload
printf 'server { listen 8080; location / { proxy_pass http://127.0.0.1:9000; } }\n' > /etc/nginx/conf.d/backend.conf
systemctl restart nginx
install -d /srv/old
"#;

/// The packs that the runbooks' notes name, with their values.
const PACKS: &[(&str, &[&str])] = &[
    ("services", &["units=app.service,flood.service,backend.service,chrony.service"]),
    ("logs", &["logs=/var/log/app.log"]),
    ("disk-space", &["removable=/srv/old"]),
    ("updates", &["from=all", "entries=/etc/apt/sources.list.d/local.sources"]),
    ("web-nginx", &[]),
    ("diagnostics", &[]),
    ("tls-certbot", &["domains=shop.example.org", "email=admin@example.org"]),
    ("postgres", &[]),
    ("network-resolved", &["interfaces=v0", "servers=10.9.0.1"]),
    ("reboot", &[]),
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

/// A certificate authority for which every name is this machine, and nginx with a certificate of it.
const AUTHORITY: &str = r#"
install -d /srv/pebble /etc/letsencrypt
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout /srv/pebble/key.pem -out /srv/pebble/cert.pem 2>/dev/null
cat > /srv/pebble/config.json <<'CONFIG'
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000",
 "certificate": "/srv/pebble/cert.pem", "privateKey": "/srv/pebble/key.pem", "httpPort": 80, "tlsPort": 443, "ocspResponderURL": ""}}
CONFIG
systemd-run --quiet --unit names pebble-challtestsrv -defaultIPv4 127.0.0.1 -defaultIPv6 '' -http01 '' -https01 '' -tlsalpn01 ''
systemd-run --quiet --unit pebble -E PEBBLE_VA_NOSLEEP=1 -E PEBBLE_WFE_NONCEREJECT=0 pebble -config /srv/pebble/config.json -dnsserver 127.0.0.1:8053
printf 'server = https://localhost:14000/dir\nno-verify-ssl = true\n' > /etc/letsencrypt/cli.ini
curl -ks --retry 50 --retry-connrefused --retry-delay 1 -o /dev/null https://localhost:14000/dir
certbot certonly --non-interactive --agree-tos --email admin@example.org --webroot --webroot-path /var/www/html --domain shop.example.org >&2
cat > /etc/nginx/conf.d/shop.conf <<'SITE'
server { listen 443 ssl; server_name shop.example.org; root /var/www/html;
    ssl_certificate /etc/letsencrypt/live/shop.example.org/fullchain.pem;
    ssl_certificate_key /etc/letsencrypt/live/shop.example.org/privkey.pem; }
SITE
systemctl reload nginx
"#;

/// A name server that knows no name until a file says so; that it does not know one may be kept for an hour.
const NAME_SERVER: &str = r#"
cat > /usr/local/bin/name-server <<'SERVER'
#!/usr/bin/python3
import os, socket, struct
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.9.0.1", 53))
soa = b"\x00\x00\x06\x00\x01" + struct.pack("!IH", 3600, 22) + b"\x00\x00" + struct.pack("!5I", 1, 60, 60, 3600, 3600)
while True:
    query, client = server.recvfrom(4096)
    end = query.index(b"\x00", 12) + 5
    kind, = struct.unpack("!H", query[end - 4:end - 2])
    known, answer = os.path.exists("/srv/names-known"), b""
    if known and kind == 1:
        answer = b"\xc0\x0c\x00\x01\x00\x01" + struct.pack("!IH", 60, 4) + bytes([10, 9, 0, 7])
    head = struct.pack("!5H", 0x8580 if known else 0x8583, 1, bool(answer), not answer, 0)
    server.sendto(query[:2] + head + query[12:end] + (answer or soa), client)
SERVER
chmod 0755 /usr/local/bin/name-server
ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up; ip address add 10.9.0.1/24 dev v0
systemd-run --quiet --unit name-server /usr/local/bin/name-server
systemctl reload dbus.service; systemctl restart systemd-resolved.service
for try in $(seq 50); do resolvectl dns v0 10.9.0.1 && break; sleep 0.2; done
resolvectl domain v0 '~.'
"#;

/// chronyd as a client that leaves the clock alone, which is the host's. Its server does not run yet, and is asked again only after a
/// quarter of an hour.
const TIME: &str = r#"
printf 'server 127.0.0.1 port 11123 iburst minpoll 10 maxpoll 10\n' > /etc/chrony/chrony.conf
install -d /etc/systemd/system/chrony.service.d
printf '[Unit]\nConditionCapability=\n' > /etc/systemd/system/chrony.service.d/test.conf
echo 'DAEMON_OPTS="-x"' > /etc/default/chrony
printf 'local stratum 8\nport 11123\nallow\nbindaddress 127.0.0.1\ncmdport 0\nbindcmdaddress /\npidfile /run/time-server.pid\n' > /srv/time-server.conf
systemctl daemon-reload
systemctl restart chrony
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

    /// The state of the host within half a minute.
    #[track_caller]
    fn soon(&self, script: &str) {
        self.is(&format!("for n in $(seq 150); do if {script}; then exit 0; fi; sleep 0.2; done; exit 1"));
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
    for script in [OPERATOR, &install, UNITS, AUTHORITY, NAME_SERVER, TIME] {
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
    let only = std::env::var("POSTERN_RUNBOOK").ok();
    let mut failed = Vec::new();
    for (name, story) in STORIES {
        if only.as_deref().is_none_or(|only| only.split(',').any(|only| only == *name)) {
            let begun = std::time::Instant::now();
            // A failure does not keep the other stories from running.
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| story(&host))).is_err() {
                failed.push(*name);
            }
            println!("{name}: {:.1} s", begun.elapsed().as_secs_f32());
        }
    }
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
    if only.is_none() {
        a_draft_of_a_run_is_a_runbook(&host);
        each_run_is_in_the_agents_log(&host);
    }
}

/// A runbook, and what it mends.
type Story = (&'static str, fn(&Host));

const STORIES: &[Story] = &[
    ("unit-fails", unit_fails),
    ("nginx-502", nginx_502),
    ("package-broken", package_broken),
    ("disk-full", disk_full),
    ("log-flood", log_flood),
    ("no-login", no_login),
    ("certificate-renew", certificate_renew),
    ("postgresql-connections", postgresql_connections),
    ("dns-broken", dns_broken),
    ("time-drift", time_drift),
    ("kernel-update", kernel_update),
    ("slow-host", slow_host),
];

/// As installed, most of them lack a grant: they are listed with it and not run.
fn nothing_is_granted_at_first(host: &Host) {
    let list = host.machine.visitor(&["postern", "--json", "runbook", "list"]).json();
    let states: Vec<_> = list.as_array().expect("a list").iter().map(|one| one["state"].clone()).collect();
    assert!(states.len() == STORIES.len() && states.iter().all(|state| state != "invalid"), "{list}");
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

/// nginx serves a certificate that ran out in February 2025.
fn certificate_renew(host: &Host) {
    let live = "/etc/letsencrypt/live/shop.example.org";
    let of_early_2025 = "-not_before 20250101000000Z -not_after 20250201000000Z";
    host.is(&format!(
        "cd /srv/pebble
        openssl req -x509 -newkey rsa:2048 -nodes -keyout old.key -out {live}/chain.pem -subj '/CN=An old authority' {of_early_2025}
        openssl req -new -key {live}/privkey.pem -subj /CN=shop.example.org -addext subjectAltName=DNS:shop.example.org -out old.csr
        openssl x509 -req -in old.csr -CA {live}/chain.pem -CAkey old.key -copy_extensions copy {of_early_2025} -out old.pem
        cat old.pem > {live}/cert.pem; cat old.pem {live}/chain.pem > {live}/fullchain.pem
        systemctl reload nginx"
    ));
    let served = "openssl s_client -connect localhost:443 -servername shop.example.org </dev/null 2>/dev/null | openssl x509";
    host.soon(&format!("{served} -noout -enddate | grep -q 'Feb .*2025'"));
    let task = host.run(&["certificate-renew"]);
    assert!(
        task["results"].to_string().contains("INVALID: EXPIRED"),
        "the first look names the fault: {task}"
    );
    host.soon(&format!("{served} -noout -checkend 86400"));
    host.is(&format!("{served} -noout -issuer | grep -q Pebble"));
}

/// Four connections of an application hold all slots that are not kept for the administrator.
fn postgresql_connections(host: &Host) {
    let connects = "psql -U app -d postgres -tAc 'SELECT 1'";
    host.is(&format!(
        "cd /etc/postgresql/17/main
        printf 'max_connections = 5\\nsuperuser_reserved_connections = 1\\n' > conf.d/few.conf
        sed -i '1i local all app trust' pg_hba.conf
        systemctl restart postgresql@17-main
        runuser -u postgres -- createuser app
        {connects}
        for n in 1 2 3 4; do systemd-run --quiet --unit holder$n psql -U app -d postgres -c 'SELECT pg_sleep(900)'; done"
    ));
    host.soon(&format!("{connects} 2>&1 | grep -q 'remaining connection slots'"));
    let task = host.run(&["postgresql-connections", "unit=postgresql@17-main.service"]);
    let said = task["results"].to_string();
    assert!(said.matches("| app ").count() >= 4, "it names who holds them: {task}");
    host.is(connects);
}

/// The resolver keeps for an hour that a name does not exist, which exists by now.
fn dns_broken(host: &Host) {
    let finds = "resolvectl query shop.example.com";
    host.is(&format!("! {finds} && touch /srv/names-known; sleep 1; ! {finds}"));
    let task = host.run(&["dns-broken", "host=shop.example.com"]);
    assert!(task["results"].to_string().contains("10.9.0.7"), "{task}");
    host.is(&format!("{finds} | grep -q 10.9.0.7"));
}

/// The time server was away when the client asked it last; a client that starts asks it at once.
fn time_drift(host: &Host) {
    let synchronised = "chronyc -n tracking | grep -q 'Leap status *: Normal'";
    host.is("systemctl restart chrony; sleep 25
        systemd-run --quiet --unit time-server /usr/sbin/chronyd -x -d -f /srv/time-server.conf; sleep 15");
    host.is(&format!("systemctl is-active chrony time-server; chronyc -n sources; ! {synchronised}"));
    let _ = host.run(&["time-drift"]);
    host.soon(synchronised);
}

/// A newer kernel is in the archive. Its reboot is scheduled, agreed to by the operator, and called off.
fn kernel_update(host: &Host) {
    let scheduled = "/run/systemd/shutdown/scheduled";
    host.machine.publish_all(&[Package::new("linux-image-test", "1.0")]);
    host.is("apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -q -y install linux-image-test >&2");
    host.machine.publish_all(&[Package::new("linux-image-test", "1.1")]);
    let task = host.run(&["kernel-update", "package=linux-image-test", "minutes=60"]);
    assert!(task["changes"].to_string().contains("host.reboot"), "{task}");
    host.is(&format!(
        "dpkg-query -W -f '${{Version}}' linux-image-test | grep -qx 1.1 && grep -qx MODE=reboot {scheduled}"
    ));
    let cancelled = host.machine.visitor(&["postern", "host", "reboot", "--cancel"]);
    assert_eq!(cancelled.code, 0, "{cancelled}");
    host.is(&format!("test ! -e {scheduled}"));
}

/// A process keeps a processor busy, and a unit has failed.
fn slow_host(host: &Host) {
    host.is(
        "printf '#!/bin/sh\\nwhile :; do :; done\\n' > /usr/local/bin/burner; chmod 0755 /usr/local/bin/burner
        systemd-run --quiet --unit burner /usr/local/bin/burner
        systemd-run --quiet --unit breaks /bin/false; sleep 3; systemctl is-failed breaks",
    );
    let task = host.run(&["slow-host"]);
    let found = |tool: &str| {
        let results = task["results"].as_array().expect("results").iter();
        let mut of_tool = results.filter(|result| result["tool"] == tool);
        of_tool.next().unwrap_or_else(|| panic!("no {tool}: {task}")).to_string()
    };
    assert!(found("list_processes").contains("burner"), "{task}");
    assert!(found("list_units").contains("breaks.service"), "{task}");
    host.is("systemctl stop burner; systemctl reset-failed breaks");
}

fn a_draft_of_a_run_is_a_runbook(host: &Host) {
    let task = host.run(&["nginx-502", "backend=backend.service"]);
    let id = task["id"].as_str().expect("an id");
    let draft = host.machine.visitor(&["postern", "--json", "runbook", "from-task", id]).json();
    let name = draft["name"].as_str().expect("a name");
    let text = draft["text"].as_str().expect("a text");
    let path = format!("/etc/postern/runbooks.d/{name}.yaml");
    let _ = host.machine.shell(&format!("install -D -m 0644 /dev/stdin {path} <<'DRAFT'\n{text}DRAFT")).ok();
    let before = host.machine.property("backend.service", "MainPID");
    let _ = host.run(&[name]);
    assert_ne!(host.machine.property("backend.service", "MainPID"), before);
}

fn each_run_is_in_the_agents_log(host: &Host) {
    let log = host.machine.shell("cat /var/lib/postern/audit/audit.jsonl").ok();
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for (name, _) in STORIES {
        let begun = records.iter().find(|record| record["args"]["runbook"] == *name).expect(name);
        let is_its_end = |record: &&Value| record["event"] == "task_ended" && record["task"] == begun["task"];
        let ended = records.iter().find(is_its_end).expect(name);
        assert_eq!(ended["outcome"]["status"], "completed", "{name}");
    }
    let _ = host.machine.root(&["postern-admin", "audit", "verify"]).ok();
}
