//! Each pack on a real Debian: its rules and commands do what they say, and refuse what they leave out.
//!
//! All stories of a release run on one machine. Afterwards every command of every pack has run there, or its pack says
//! that it is untested.

use std::collections::BTreeSet;
use std::path::Path;

use postern_tests::{Installed, Machine, Output, Package, Release};

/// Packages of Debian's that the stories need besides those of every machine.
const PACKAGES: &[&str] = &[
    "nginx-light",
    "needrestart",
    "certbot",
    "pebble",
    "postgresql",
    "nftables",
    "logrotate",
    "openssl",
    "openssh-server",
    "redis-server",
    "fail2ban",
    "restic",
    "systemd-timesyncd",
];

#[test]
fn every_pack_does_what_it_says_on_trixie() {
    stories(Release::Trixie);
}

#[cfg(feature = "long")]
#[test]
fn every_pack_does_what_it_says_on_bookworm() {
    stories(Release::Bookworm);
}

/// A pack, and what is done with it.
type Story = (&'static str, fn(&Host));

/// A machine, the person who gives tasks, and an operator who agrees to everything that asks.
struct Host {
    machine: Installed,
    release: Release,
}

impl Host {
    /// Adds a pack with these values.
    fn add(&self, pack: &str, set: &[&str]) {
        let mut argv = vec!["postern-admin", "pack", "add", pack, "--yes"];
        for set in set {
            argv.extend(["--set", set]);
        }
        let added = self.machine.root(&argv);
        assert_eq!(added.code, 0, "{added}");
        assert!(!added.stderr.contains("warning"), "a finding on this host: {added}");
    }

    /// Runs `postern` as the person; it must succeed.
    #[track_caller]
    fn done(&self, argv: &[&str]) -> Output {
        let answer = self.machine.visitor(&[&["postern"], argv].concat());
        assert_eq!(answer.code, 0, "{answer}\n{}", self.machine.journal("postern-command*"));
        answer
    }

    /// Runs `postern` as the person; it must end with this exit code.
    #[track_caller]
    fn ends(&self, argv: &[&str], code: i32) -> Output {
        let answer = self.machine.visitor(&[&["postern"], argv].concat());
        assert_eq!(answer.code, code, "{answer}\n{}", self.machine.journal("postern-command*"));
        answer
    }

    /// Keeps changes that would be taken back.
    #[track_caller]
    fn keep(&self, changes: &[&serde_json::Value]) {
        for change in changes {
            assert!(change["result"]["keep_until_unix_s"].is_u64(), "{change}");
            self.done(&["keep", change["request_id"].as_str().expect("an id")]);
        }
    }

    /// Shortens the deadlines in a pack's file, as its operator may.
    fn hurry(&self, pack: &str) {
        self.is(&format!(
            "sed -i 's/^keep_within = \"120s\"/keep_within = \"15s\"/' /etc/postern/policy.d/pack-{pack}.toml
            grep -q '^keep_within = \"15s\"' /etc/postern/policy.d/pack-{pack}.toml && postern-admin policy apply --yes >&2"
        ));
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

/// An operator who agrees to each request that waits; the packs keep the decisions that they ship with.
const OPERATOR: &str = r#"
useradd --groups postern-operators oper
cat > /usr/local/bin/agree <<'E'
#!/bin/sh
while sleep 0.2; do
    for id in $(postern-admin pending --json | grep -o '"approval_id":"[0-9a-f]*' | cut -d'"' -f4); do
        digest=$(postern-admin show "$id" --json | grep -o '"sha256":"[0-9a-f]*' | head -n 1 | cut -d'"' -f4)
        postern-admin approve "$id" --digest "$digest"
    done
done
E
chmod 0755 /usr/local/bin/agree
systemd-run --quiet --unit agree --uid oper /usr/local/bin/agree
"#;

fn stories(release: Release) {
    let late = ["apache2", "ufw", "systemd-resolved", "iproute2", "mariadb-server"];
    let machine = Installed::in_machine(
        Machine::boot_for_containers(release, &[PACKAGES, &late, &engines(release)].concat()),
        &postern_tests::deb(),
    );
    let _ = machine.shell(OPERATOR).ok();
    let _ = machine
        .shell(&format!(
            "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Options::=--force-unsafe-io install {} >&2",
            PACKAGES.join(" ")
        ))
        .ok();
    let host = Host { machine, release };
    let stories: &[Story] = &[
        ("updates", updates),
        ("web-nginx", web_nginx),
        ("tls-certbot", tls_certbot),
        ("postgres", postgres),
        ("firewall-nft", firewall_nft),
        ("users-and-keys", users_and_keys),
        ("logs", logs),
        ("sshd-options", sshd_options),
        ("sysctl", sysctl),
        ("host-settings", host_settings),
        ("redis", redis),
        ("systemd-dropins", systemd_dropins),
        ("disk-space", disk_space),
        ("services", services),
        ("settings", settings),
        ("packages", packages),
        ("fail2ban", fail2ban),
        ("backup-restic", backup_restic),
        ("mariadb", mariadb),
        ("reboot", reboot),
        ("network-resolved", network_resolved),
        ("firewall-ufw", firewall_ufw),
        ("containers", containers),
        // Late: it takes port 80 from nginx.
        ("web-apache", web_apache),
        // Its rule of the journal grants the status of all services.
        ("diagnostics", diagnostics),
    ];
    // A pack that stays untested: a machine shares the kernel of its host, and so its swap.
    let parts: &[Story] = &[("swap", swap_without_switching_it_on)];
    let only = std::env::var("POSTERN_PACK").ok();
    let mut failed = Vec::new();
    for (pack, story) in stories.iter().chain(parts) {
        if only.as_deref().is_none_or(|only| only.split(',').any(|only| only == *pack)) {
            let begun = std::time::Instant::now();
            // A failure does not keep the other stories from running.
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| story(&host))).is_err() {
                failed.push(*pack);
            }
            println!("{pack}: {:.1} s", begun.elapsed().as_secs_f32());
        }
    }
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
    if only.is_none() {
        every_command_and_rule_was_used(&host, &stories.iter().map(|(pack, _)| *pack).collect());
    }
}

/// The commands of a pack's text, without its values, whose program this is.
fn argv_of(pack: &str, program: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../deploy/packs/{pack}.toml"));
    let text = std::fs::read_to_string(path).expect("a pack");
    let lines = text.lines().filter_map(|line| line.strip_prefix("argv = "));
    // A list of plain texts is the same in TOML and JSON.
    let all = lines.map(|list| serde_json::from_str::<Vec<String>>(list).expect("a list"));
    all.filter(|argv| argv.first().is_some_and(|first| first == program)).collect()
}

fn swap_without_switching_it_on(host: &Host) {
    host.is("install -d -m 0700 /swap");
    host.add("swap", &[]);
    host.done(&["command", "swap-show"]);
    host.done(&["command", "swap-create"]);
    host.is("test \"$(stat -c '%U:%G %a' /swap/swapfile)\" = 'root:root 600'");
    host.ends(&["command", "swap-size", "size=1M"], 2);
    host.done(&["command", "swap-size", "size=64M"]);
    host.is("test \"$(stat -c %s /swap/swapfile)\" = 67108864");
    host.done(&["command", "swap-format"]);
    host.is("tail --bytes=+4087 /swap/swapfile | head --bytes=10 | grep -q SWAPSPACE2");
    let both = [argv_of("swap", "/usr/sbin/swapon"), argv_of("swap", "/usr/sbin/swapoff")].concat();
    assert_eq!(both.len(), 3, "{both:?}");
    host.is("test -x /usr/sbin/swapon -a -x /usr/sbin/swapoff; rm -r /swap");
    let removed = host.machine.root(&["postern-admin", "pack", "remove", "swap", "--yes"]);
    assert_eq!(removed.code, 0, "{removed}");
}

/// The packages of docker, compose and podman, and of the program in the image. Debian 12 has docker's client in docker.io.
fn engines(release: Release) -> Vec<&'static str> {
    let all = ["docker.io", "docker-compose", "iptables", "podman", "runc", "busybox-static"];
    let client = match release {
        Release::Bookworm => None,
        Release::Trixie => Some("docker-cli"),
    };
    all.into_iter().chain(client).collect()
}

/// Each engine has the container `web` of an image that is made here: the machine has no network.
fn containers(host: &Host) {
    let packages = engines(host.release).join(" ");
    // A machine has neither the controller `pids` nor a bridge, and its root may be no file system that overlays can be on.
    host.is(
        r#"mkdir -p /etc/docker /etc/containers /etc/compose /run/image/bin
        echo '{"iptables": false, "bridge": "none", "storage-driver": "vfs"}' > /etc/docker/daemon.json
        printf '[containers]\npids_limit = 0\n[engine]\nruntime = "runc"\n' > /etc/containers/containers.conf"#,
    );
    host.is(&format!(
        "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install {packages} >&2"
    ));
    // With INVOCATION_ID podman takes itself for a service, and its containers end with it.
    host.is(
        r#"unset INVOCATION_ID
        cp /bin/busybox /run/image/bin/
        for engine in docker podman; do
            tar --directory /run/image --create . | $engine import - tiny:1 >&2
            $engine run --detach --name web --network none --stop-signal KILL tiny:1 \
                /bin/busybox sh -c '/bin/busybox echo here; exec /bin/busybox sleep 1000' >&2
        done
        printf 'version: "3"\nservices:\n  app:\n    image: tiny:1\n    network_mode: none\n    command: ["/bin/busybox", "sleep", "1000"]\n' \
            > /etc/compose/app.yaml"#,
    );
    host.add("containers", &["names=web"]);
    for engine in ["docker", "podman"] {
        let command = |what: &str| format!("containers-{engine}-{what}");
        let listed = host.done(&["command", &command("list")]);
        assert!(listed.stdout.contains("web") && listed.stdout.contains("Up "), "{listed}");
        assert!(host.done(&["command", &command("images")]).stdout.contains("tiny"));
        assert_eq!(host.done(&["command", &command("logs"), "name=web"]).stdout, "here\n");
        let started = format!("{engine} inspect --format '{{{{.State.StartedAt}}}}' web");
        host.is(&format!("{started} > /run/started"));
        host.done(&["command", &command("restart"), "name=web"]);
        host.is(&format!("! {started} | cmp --silent - /run/started"));
        for what in ["logs", "restart"] {
            host.ends(&["command", &command(what), "name=other"], 2);
        }
    }
    host.done(&["command", "containers-compose-up", "file=/etc/compose/app.yaml"]);
    host.is("docker ps | grep -q 'app[_-]1'");
    host.ends(&["command", "containers-compose-up", "file=/etc/compose/other.yaml"], 2);
    host.is("docker rm --force $(docker ps --all --quiet) >&2; podman rm --force web >&2; systemctl stop docker.service docker.socket");
}

/// Holds the commands and rules of the packs against those that the audit log says were used.
fn every_command_and_rule_was_used(host: &Host, packs: &BTreeSet<&str>) {
    let log = host.machine.shell("cat /var/log/postern/audit.jsonl").ok();
    let records = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let (mut ran, mut used) = (BTreeSet::new(), BTreeSet::new());
    for record in records.filter(|record| record["event"] == "begin" || record["event"] == "served") {
        used.extend(record["rule"].as_str().map(str::to_owned));
        if record["event"] == "begin" && record["verb"] == "command.run" {
            ran.extend(record["args"]["name"].as_str().map(str::to_owned));
        }
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/packs");
    for entry in std::fs::read_dir(directory).expect("the packs") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a pack");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let tested = text.lines().find(|line| line.starts_with("tested = ")).expect("a line `tested`");
        let is_tested = tested.contains(match host.release {
            Release::Bookworm => "\"Debian 12\"",
            Release::Trixie => "\"Debian 13\"",
        });
        assert_eq!(is_tested, packs.contains(name.as_str()), "{name}: `tested` and the stories here differ");
        for command in text.split("[[command]]").skip(1).filter(|_| is_tested) {
            let id = command.split('"').nth(1).expect("a name");
            let is_validator = command.split("[[").next().is_some_and(|row| row.contains("\"validator\""));
            assert!(
                is_validator || ran.contains(id),
                "{name}: command {id} has not run; these have: {ran:?}"
            );
        }
        let rules = text.split("[[rule]]").skip(1).filter(|_| is_tested);
        let ids = rules.map(|rule| rule.split('"').nth(1).expect("an id"));
        let unused = ids.filter(|id| !used.contains(*id)).collect::<Vec<_>>();
        assert!(unused.is_empty(), "{name}: no request was granted by {unused:?}; by these: {used:?}");
    }
}

fn updates(host: &Host) {
    let machine = &host.machine;
    machine.publish_all(&[
        Package::new("app-lib", "1.0"),
        Package::new("app-used", "1.0").field("Depends: app-lib"),
    ]);
    let _ = machine
        .shell(
            "systemd-run --quiet --unit archive python3 -m http.server --bind localhost --directory /var/lib/local-repo 8001
            sed -i 's#^URIs:.*#URIs: http://localhost:8001/#' /etc/apt/sources.list.d/local.sources
            curl -s --retry 50 --retry-connrefused --retry-delay 1 -o /dev/null http://localhost:8001/
            apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -q -y install app-used hello >&2",
        )
        .ok();
    host.add("updates", &["security_entries=/etc/apt/sources.list.d/local.sources"]);
    machine.publish_all(&[Package::new("app-lib", "1.1")]);
    // Publishing names the repository by its file again.
    host.is("sed -i 's#^URIs:.*#URIs: http://localhost:8001/#' /etc/apt/sources.list.d/local.sources");
    host.done(&["package", "update"]);
    // The archive is another host than security.debian.org.
    host.ends(&["package", "upgrade", "app-lib"], 3);
    host.add("updates", &["security_hosts=localhost"]);
    host.done(&["package", "upgrade", "app-lib"]);
    host.is("dpkg-query -W -f '${Version}' app-lib | grep -qx 1.1");
    host.ends(&["package", "install", "etckeeper"], 3);
    host.done(&["package", "hold", "app-lib"]);
    host.is("apt-mark showhold | grep -qx app-lib");
    host.done(&["package", "unhold", "app-lib"]);
    host.is("! apt-mark showhold | grep -q app-lib && apt-mark auto hello");
    host.done(&["package", "autoremove"]);
    host.is("! dpkg -s hello");
    host.done(&["package", "repair"]);
    let due = host.done(&["command", "updates-restarts-due"]);
    assert!(due.stdout.contains("NEEDRESTART-VER"), "{due}");
}

fn web_nginx(host: &Host) {
    host.is("install -d /srv/shop");
    host.add("web-nginx", &["root=/var/www/html,/srv/shop"]);
    host.ends(&["file", "write", "/etc/nginx/conf.d/bad.conf", "--content", "server { lisen 80; }\n"], 1);
    host.is("test ! -e /etc/nginx/conf.d/bad.conf");
    host.ends(&["file", "write", "/etc/nginx/nginx.conf", "--content", "user root;\n"], 3);
    host.done(&["file", "write", "/srv/shop/index.html", "--content", "open\n"]);
    host.ends(&["file", "write", "/srv/shop/shell.php", "--content", "<?php\n"], 3);
    let site = "server { listen 8090; root /srv/shop; }\n";
    let written = host.done(&["file", "write", "/etc/nginx/conf.d/shop.conf", "--content", site, "--json"]);
    host.done(&["service", "restart", "nginx"]);
    host.done(&["service", "reload", "nginx"]);
    host.is("sleep 1; test \"$(curl -sf http://localhost:8090/)\" = open");
    host.done(&["undo", written.json()["request_id"].as_str().expect("an id")]);
    host.is("test ! -e /etc/nginx/conf.d/shop.conf");
    host.done(&["file", "mkdir", "/srv/shop/img"]);
    host.ends(&["file", "mkdir", "/srv/shop/cgi-bin"], 3);
    host.is("test -d /srv/shop/img && test ! -e /srv/shop/cgi-bin");
    host.done(&["service", "status", "nginx", "--lines", "20"]);
    host.done(&["file", "read", "/etc/nginx/nginx.conf"]);
}

/// The authority is Pebble, the test server of Let's Encrypt, on loopback; it fetches the challenge from nginx.
fn tls_certbot(host: &Host) {
    let _ = host
        .machine
        .shell(
            r#"install -d /srv/pebble /etc/letsencrypt
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout /srv/pebble/key.pem -out /srv/pebble/cert.pem 2>/dev/null
            cat > /srv/pebble/config.json <<'E'
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000",
 "certificate": "/srv/pebble/cert.pem", "privateKey": "/srv/pebble/key.pem", "httpPort": 80, "tlsPort": 443, "ocspResponderURL": ""}}
E
            systemd-run --quiet --unit names pebble-challtestsrv -defaultIPv4 127.0.0.1 -defaultIPv6 '' -http01 '' -https01 '' -tlsalpn01 ''
            systemd-run --quiet --unit pebble -E PEBBLE_VA_NOSLEEP=1 -E PEBBLE_WFE_NONCEREJECT=0 pebble -config /srv/pebble/config.json -dnsserver 127.0.0.1:8053
            printf 'server = https://localhost:14000/dir\nno-verify-ssl = true\n' > /etc/letsencrypt/cli.ini
            systemctl start nginx.service
            certbot certificates
            curl -ks --retry 50 --retry-connrefused --retry-delay 1 -o /dev/null https://localhost:14000/dir"#,
        )
        .ok();
    host.add("tls-certbot", &["domains=shop.example.org", "email=admin@example.org"]);
    host.done(&["command", "tls-certbot-list"]);
    host.ends(&["command", "tls-certbot-issue", "domain=bank.example.com"], 2);
    host.done(&["command", "tls-certbot-issue", "domain=shop.example.org"]);
    host.is("test -e /etc/letsencrypt/live/shop.example.org/privkey.pem");
    let list = host.done(&["command", "tls-certbot-list"]);
    assert!(list.stdout.contains("shop.example.org"), "{list}");
    host.done(&["command", "tls-certbot-renew"]);
    host.done(&["command", "tls-certbot-renew-trial"]);
    host.done(&["file", "read", "/etc/letsencrypt/renewal/shop.example.org.conf"]);
    host.ends(&["file", "read", "/etc/letsencrypt/live/shop.example.org/privkey.pem"], 3);
    host.done(&["service", "enable", "certbot.timer"]);
    host.done(&["service", "status", "certbot.timer", "--lines", "20"]);
    let _ = host.machine.shell("systemctl stop pebble.service names.service").ok();
}

fn postgres(host: &Host) {
    host.add("postgres", &[]);
    let unit = match host.release {
        Release::Bookworm => "postgresql@15-main",
        Release::Trixie => "postgresql@17-main",
    };
    host.done(&["service", "restart", unit]);
    host.done(&["command", "postgres-create-role", "role=app"]);
    host.done(&["command", "postgres-create-database", "role=app", "database=app"]);
    host.ends(&["command", "postgres-create-role", "role=mallory"], 3);
    let roles = host.done(&["command", "postgres-roles"]);
    assert!(roles.stdout.contains(" app "), "{roles}");
    let databases = host.done(&["command", "postgres-databases"]);
    assert!(databases.stdout.contains(" app "), "{databases}");
    host.done(&["command", "postgres-activity"]);
    let access = host.done(&["command", "postgres-access"]);
    assert!(access.stdout.contains("peer"), "{access}");
    let version = &unit["postgresql@".len().."postgresql@".len() + 2];
    let hba = format!("/etc/postgresql/{version}/main/pg_hba.conf");
    let shown = host.done(&["file", "read", &hba]);
    let with = format!("{}host app app 192.0.2.0/24 scram-sha-256\n", shown.stdout);
    let written = host.done(&["file", "write", &hba, "--content", &with, "--json"]).json();
    host.is(&format!("test \"$(stat -c '%U:%G %a' {hba})\" = 'postgres:postgres 640'"));
    host.done(&["service", "reload", unit]);
    assert!(host.done(&["command", "postgres-access"]).stdout.contains("192.0.2.0"));
    host.done(&["undo", written["request_id"].as_str().expect("an id")]);
    host.is(&format!("! grep -q 192.0.2 {hba}"));
    host.ends(&["file", "read", &hba.replace("pg_hba", "postgresql")], 3);
    host.done(&["service", "status", unit, "--lines", "20"]);
    host.done(&["command", "postgres-dump", "database=app", "file=app.dump"]);
    host.is("runuser -u postgres -- pg_restore --list /var/lib/postgresql/app.dump >/dev/null");
    host.ends(&["command", "postgres-dump", "database=app", "file=17"], 3);
    host.ends(&["command", "postgres-dump", "database=postgresql://evil", "file=x.dump"], 3);
    host.done(&["command", "postgres-analyze", "database=app"]);
    host.done(&["command", "postgres-drop-database", "database=app"]);
    host.done(&["command", "postgres-drop-role", "role=app"]);
    let role = host.done(&["command", "postgres-create-role", "role=app2", "--json"]).json();
    host.done(&["command", "postgres-drop-role", "role=app2"]);
    assert_eq!(role["status"], "done");
    host.is("! runuser -u postgres -- psql -tAc 'SELECT rolname FROM pg_roles' | grep -q app");
}

fn firewall_nft(host: &Host) {
    let _ = host
        .machine
        .shell(
            "install -d /etc/nftables.d
            printf '#!/usr/sbin/nft -f\\nflush ruleset\\ninclude \"/etc/nftables.d/*.nft\"\\n' > /etc/nftables.conf",
        )
        .ok();
    host.add("firewall-nft", &[]);
    let file = "/etc/nftables.d/20-web.nft";
    let rules = |port: u16| {
        format!(
            "table inet web {{\n  chain input {{\n    type filter hook input priority 0;\n    tcp dport {port} drop\n  }}\n}}\n"
        )
    };
    host.ends(&["file", "write", file, "--content", "tabel inet web {\n"], 1);
    host.is("test ! -e /etc/nftables.d/20-web.nft");
    let written = host.done(&["file", "write", file, "--content", &rules(8099), "--json"]).json();
    let loaded = host.done(&["command", "firewall-nft-load", "--json"]).json();
    host.done(&["service", "enable", "nftables"]);
    host.done(&["service", "status", "nftables", "--lines", "20"]);
    assert!(host.done(&["file", "read", file]).stdout.contains("8099"));
    let list = || host.done(&["command", "firewall-nft-list"]).stdout;
    assert!(list().contains("tcp dport 8099 drop"), "{}", list());
    host.ends(&["command", "firewall-nft-load"], 1);
    // While the load waits the files stay as they are, and it is what keeps them.
    host.ends(&["file", "write", "/etc/nftables.d/30-more.nft", "--content", &rules(8097)], 1);
    host.ends(&["keep", written["request_id"].as_str().expect("an id")], 3);
    host.keep(&[&loaded]);
    host.ends(&["file", "write", "/etc/nftables.conf", "--content", "flush ruleset\n"], 3);
    for action in ["start", "reload", "restart", "stop"] {
        host.ends(&["service", action, "nftables"], 3);
    }
    // Nobody keeps the next ones: the files go back, and with them the rules in force.
    host.hurry("firewall-nft");
    host.done(&["file", "write", file, "--content", &rules(8098)]);
    host.done(&["command", "firewall-nft-load"]);
    assert!(list().contains("tcp dport 8098 drop"), "{}", list());
    host.soon("nft list ruleset | grep -q 'tcp dport 8099 drop'");
    host.is("grep -q 8099 /etc/nftables.d/20-web.nft && ! nft list ruleset | grep -q 8098");
    host.is("nft flush ruleset");
}

fn users_and_keys(host: &Host) {
    host.is("install -d /etc/ssh/authorized_keys.d");
    host.add("users-and-keys", &["names=dev-*", "groups=users,www-data"]);
    host.done(&["command", "users-add", "name=dev-ann"]);
    host.is("id dev-ann && test -d /home/dev-ann");
    host.ends(&["command", "users-add", "name=mallory"], 3);
    host.ends(&["command", "users-disable", "name=root"], 3);
    host.done(&["command", "users-group-add", "name=dev-ann", "group=www-data"]);
    host.is("id -nG dev-ann | grep -qw www-data");
    host.ends(&["command", "users-group-add", "name=dev-ann", "group=sudo"], 2);
    host.done(&["command", "users-group-remove", "name=dev-ann", "group=www-data"]);
    let disabled = host.done(&["command", "users-disable", "name=dev-ann", "--json"]).json();
    host.is("chage --list dev-ann | grep -q 'Account expires.*1970'");
    host.done(&["undo", disabled["request_id"].as_str().expect("an id")]);
    host.is("chage --list dev-ann | grep -q 'Account expires.*never'");
    host.done(&["command", "users-enable", "name=dev-ann"]);
    // The key lets its owner in, once a person has told sshd where keys are: the pack's list of what is left out.
    host.is("ssh-keygen -q -t ed25519 -N '' -C ann@laptop -f /root/ann &&
        echo 'AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys.d/%u' > /etc/ssh/sshd_config.d/keys.conf && systemctl restart ssh.service");
    let key = &host.machine.shell("cat /root/ann.pub").ok();
    let login = "test \"$(ssh -i /root/ann -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null dev-ann@localhost id -un)\" = dev-ann";
    host.soon(&format!("! {login}"));
    let path = "/etc/ssh/authorized_keys.d/dev-ann";
    host.ends(&["file", "write", path, "--content", &format!("command=\"id\" {key}")], 3);
    host.done(&["file", "write", path, "--content", key]);
    host.is("test \"$(stat -c '%U %a' /etc/ssh/authorized_keys.d/dev-ann)\" = 'root 644'");
    host.ends(&["file", "write", "/etc/ssh/authorized_keys.d/root", "--content", key], 3);
    assert_eq!(&host.done(&["file", "read", path]).stdout, key);
    host.soon(login);
    host.done(&["command", "users-disable", "name=dev-ann"]);
    host.is(&format!("! {login}"));
    host.done(&["command", "users-enable", "name=dev-ann"]);
    host.is(login);
    host.done(&["file", "remove", path]);
    host.is(&format!("! {login}"));
    host.done(&["undo", "last"]);
    host.is(login);
    assert!(host.done(&["command", "users-list"]).stdout.contains("dev-ann"));
    host.done(&["command", "users-groups-list"]);
    host.done(&["command", "users-remove", "name=dev-ann"]);
    host.is("! id dev-ann && test -d /home/dev-ann && rm /etc/ssh/sshd_config.d/keys.conf && systemctl reload ssh.service");
}

fn logs(host: &Host) {
    let _ = host
        .machine
        .shell("install -d /var/log/app; echo one > /var/log/app/app.log; chmod 0640 /var/log/app/app.log")
        .ok();
    host.add("logs", &["logs=/var/log/app/app.log"]);
    let path = "/etc/logrotate.d/site-app";
    let rotation = "/var/log/app/app.log {\n    daily\n    rotate 4\n    missingok\n}\n";
    host.ends(&["file", "write", path, "--content", "/etc/shadow {\n    daily\n}\n"], 3);
    host.ends(&["file", "write", path, "--content", "/var/log/app/app.log /etc/shadow {\n}\n"], 3);
    host.done(&["file", "write", path, "--content", rotation]);
    let trial = host.done(&["command", "logs-rotation-trial"]);
    assert!(trial.to_string().contains("/var/log/app/app.log"), "{trial}");
    host.done(&["service", "start", "logrotate"]);
    host.done(&["service", "status", "logrotate", "--lines", "20"]);
    host.is("journalctl --rotate; sleep 1");
    host.done(&["command", "logs-journal-usage"]);
    host.done(&["command", "logs-journal-vacuum-size", "keep=200M"]);
    host.done(&["command", "logs-journal-vacuum-time", "keep=7d"]);
    host.ends(&["command", "logs-journal-vacuum-size", "keep=1K"], 2);
    host.done(&["file", "read", "/etc/logrotate.d/dpkg"]);
}

fn diagnostics(host: &Host) {
    host.add("diagnostics", &[]);
    host.is(
        "systemd-run --quiet --unit listens python3 -m http.server --bind 127.0.0.1 8077; sleep 1; logger -p daemon.err a fault",
    );
    host.done(&["service", "status", "postern-audit", "--lines", "50"]);
    host.done(&["file", "read", "/var/log/dpkg.log"]);
    host.ends(&["file", "read", "/var/log/btmp"], 3);
    let sockets = host.done(&["command", "diagnostics-sockets"]);
    assert!(sockets.stdout.contains("127.0.0.1:8077"), "{sockets}");
    host.soon("journalctl --quiet --priority err | grep -q 'a fault'");
    let errors = host.done(&["command", "diagnostics-errors"]);
    assert!(errors.stdout.contains("a fault"), "{errors}");
    for command in
        ["kernel", "boots", "connections", "addresses", "routes", "memory", "disks", "inodes", "load"]
    {
        let said = host.done(&["command", &format!("diagnostics-{command}")]);
        assert!(!said.stdout.is_empty(), "{said}");
    }
    let resolved = host.done(&["command", "diagnostics-resolve", "name=localhost"]);
    assert!(resolved.stdout.contains("127.0.0.1") || resolved.stdout.contains("::1"), "{resolved}");
}

fn sshd_options(host: &Host) {
    host.add("sshd-options", &[]);
    let path = "/etc/ssh/sshd_config.d/10-options.conf";
    host.ends(&["file", "write", path, "--content", "PermitRootLogin yes\n"], 3);
    host.ends(&["file", "write", path, "--content", "AuthorizedKeysCommand /usr/bin/id\n"], 3);
    // The methods that the running server offers somebody who has no key.
    let offers = |words: &str| {
        format!(
            "ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o PreferredAuthentications=none oper@localhost 2>&1 | grep -q '({words})'"
        )
    };
    host.is("systemctl start ssh.service");
    host.soon(&offers("publickey,password"));
    let options = "PasswordAuthentication no\nKbdInteractiveAuthentication no\n";
    let written = host.done(&["file", "write", path, "--content", options, "--json"]).json();
    let loaded = host.done(&["command", "sshd-options-reload", "--json"]).json();
    host.is("sshd -T | grep -qx 'passwordauthentication no'");
    host.soon(&offers("publickey"));
    host.ends(&["keep", written["request_id"].as_str().expect("an id")], 3);
    host.keep(&[&loaded]);
    host.ends(&["service", "reload", "ssh"], 3);
    // Nobody keeps the next ones: the options go back, and the server takes them up.
    host.hurry("sshd-options");
    host.done(&["file", "remove", path]);
    host.done(&["command", "sshd-options-reload"]);
    host.soon(&offers("publickey,password"));
    host.soon(&format!("test -e {path}"));
    host.soon(&offers("publickey"));
    host.soon("! postern-admin pending | grep -q 'taken back'");
    host.done(&["file", "read", "/etc/ssh/sshd_config"]);
    host.ends(&["file", "read", "/etc/ssh/ssh_host_ed25519_key"], 3);
}

/// Settings of the network: all others belong to the host of the machine.
fn sysctl(host: &Host) {
    host.add("sysctl", &[]);
    let path = "/etc/sysctl.d/60-postern.conf";
    host.ends(&["file", "write", path, "--content", "kernel.core_pattern = |/srv/x\n"], 3);
    host.done(&[
        "file",
        "write",
        path,
        "--content",
        "net.core.somaxconn = 1024\nnet.ipv4.tcp_syncookies = 1\n",
    ]);
    host.done(&["command", "sysctl-load"]);
    host.is("test \"$(cat /proc/sys/net/core/somaxconn)\" = 1024");
    let shown = host.done(&["command", "sysctl-show"]);
    assert!(shown.stdout.contains("net.core.somaxconn = 1024"), "{shown}");
}

fn host_settings(host: &Host) {
    host.add("host-settings", &[]);
    assert!(host.done(&["command", "host-settings-time"]).stdout.contains("Time zone"));
    assert!(host.done(&["command", "host-settings-host"]).stdout.contains("hostname"));
    host.done(&["command", "host-settings-timezone", "zone=Europe/Berlin"]);
    host.is("readlink /etc/localtime | grep -q Europe/Berlin");
    host.ends(&["command", "host-settings-timezone", "zone=../shadow"], 2);
    host.done(&["command", "host-settings-hostname", "name=web1"]);
    host.is("test \"$(hostname)\" = web1");
    host.is("timedatectl set-ntp false");
    host.done(&["command", "host-settings-ntp-on"]);
    host.is("systemctl is-enabled systemd-timesyncd.service");
    let locale = match host.release {
        Release::Bookworm => "/etc/default/locale",
        Release::Trixie => "/etc/locale.conf",
    };
    // What the host came with may be a content that the rule grants nobody to write, and so no client to restore.
    host.done(&["file", "write", locale, "--content", "LANG=C.UTF-8\n"]);
    let written = host.done(&["file", "write", locale, "--content", "LANG=en_GB.UTF-8\n", "--json"]).json();
    host.is(&format!("grep -qx LANG=en_GB.UTF-8 {locale}"));
    host.ends(&["file", "write", locale, "--content", "LOCPATH=/srv/x\n"], 3);
    host.done(&["undo", written["request_id"].as_str().expect("an id")]);
    host.is(&format!("grep -qx LANG=C.UTF-8 {locale}"));
    assert_eq!(host.done(&["file", "read", locale]).stdout, "LANG=C.UTF-8\n");
    let hosts = host.done(&["file", "read", "/etc/hosts"]).stdout;
    let with = format!("{hosts}192.0.2.9 db.example.org\n");
    let written = host.done(&["file", "write", "/etc/hosts", "--content", &with, "--json"]).json();
    host.is("getent hosts db.example.org | grep -q '^192.0.2.9 '");
    host.ends(&["file", "write", "/etc/hosts.allow", "--content", "ALL: ALL\n"], 3);
    host.done(&["undo", written["request_id"].as_str().expect("an id")]);
    host.is("! grep -q 192.0.2.9 /etc/hosts");
}

fn redis(host: &Host) {
    host.add("redis", &[]);
    host.done(&["service", "restart", "redis-server"]);
    assert!(host.done(&["command", "redis-info"]).stdout.contains("redis_version"));
    assert!(host.done(&["command", "redis-clients"]).stdout.contains("addr=127.0.0.1"));
    host.done(&["command", "redis-memory"]);
    host.done(&["service", "status", "redis-server", "--lines", "20"]);
    host.done(&["command", "redis-snapshot"]);
    let file = "/etc/redis/redis.conf";
    let kept = host.done(&["file", "read", file]).stdout;
    let lines = kept.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let new = lines.chain(["maxmemory 64mb\n"]).collect::<Vec<_>>().join("\n");
    let written = host.done(&["file", "write", file, "--content", &new, "--json"]).json();
    host.done(&["service", "restart", "redis-server"]);
    assert!(host.done(&["command", "redis-info"]).stdout.contains("maxmemory:67108864"));
    let loads = format!("{new}loadmodule /tmp/x.so\n");
    host.ends(&["file", "write", file, "--content", &loads], 3);
    host.done(&["undo", written["request_id"].as_str().expect("an id")]);
    host.is("! grep -q '^maxmemory ' /etc/redis/redis.conf");
    host.done(&["service", "restart", "redis-server"]);
}

fn systemd_dropins(host: &Host) {
    host.add("systemd-dropins", &["units=redis-server.service"]);
    let unit = "unit=redis-server.service";
    host.done(&["command", "systemd-dropins-memory", "most=512M", unit]);
    host.is("systemctl show -p MemoryMax redis-server | grep -qx MemoryMax=536870912");
    host.done(&["command", "systemd-dropins-cpu", "share=50%", unit]);
    host.done(&["command", "systemd-dropins-tasks", "most=500", unit]);
    let limits = host.done(&["command", "systemd-dropins-show", unit]);
    assert!(
        limits.stdout.contains("TasksMax=500") && limits.stdout.contains("MemoryMax=536870912"),
        "{limits}"
    );
    host.ends(&["command", "systemd-dropins-memory", "most=512M", "unit=ssh.service"], 2);
    host.ends(&["command", "systemd-dropins-memory", "most=1K", unit], 2);
}

fn disk_space(host: &Host) {
    host.is("install -d /srv/old && echo x > /srv/old/a.log && touch /var/cache/apt/archives/x_1_all.deb");
    host.add("disk-space", &["removable=/srv/old"]);
    assert!(host.done(&["command", "disk-space-filesystems"]).stdout.contains("Mounted on"));
    assert!(host.done(&["command", "disk-space-usage", "directory=/var"]).stdout.contains("/var/lib"));
    host.ends(&["command", "disk-space-usage", "directory=/root"], 2);
    host.done(&["command", "disk-space-apt-clean"]);
    host.is("test ! -e /var/cache/apt/archives/x_1_all.deb");
    assert!(host.done(&["file", "list", "/srv/old"]).stdout.contains("a.log"));
    host.done(&["file", "remove", "/srv/old/a.log"]);
    host.is("test ! -e /srv/old/a.log");
    host.ends(&["file", "remove", "/srv/restored"], 3);
}

fn services(host: &Host) {
    // Units that no other pack grants: a rule that no request can use is a finding.
    host.is("cd /usr/lib/systemd/system
        printf '[Service]\nExecStart=/bin/sleep infinity\n' | tee worker.service >nightly.service
        printf '[Timer]\nOnCalendar=03:00\n[Install]\nWantedBy=timers.target\n' >nightly.timer
        systemctl daemon-reload");
    host.add("services", &["units=worker.service,nightly.timer"]);
    host.done(&["service", "mask", "nightly.timer"]);
    host.is("test \"$(systemctl is-enabled nightly.timer)\" = masked");
    host.done(&["service", "unmask", "nightly.timer"]);
    host.done(&["service", "restart", "worker"]);
    host.is("systemctl is-active --quiet worker.service");
    host.done(&["service", "status", "worker", "--lines", "20"]);
    host.ends(&["service", "stop", "postern-audit"], 3);
    // An alias of a granted unit is refused with the unit's own name.
    host.is("ln -s /usr/lib/systemd/system/worker.service /etc/systemd/system/toiler.service; systemctl daemon-reload");
    let refused = host.ends(&["service", "restart", "toiler"], 3);
    let named = "toiler.service is an alias of worker.service, which is granted: ask for that";
    assert!(refused.stdout.contains(named) || refused.stderr.contains(named), "{refused}");
    host.is("rm /etc/systemd/system/toiler.service; systemctl daemon-reload");
}

fn settings(host: &Host) {
    host.is("install -d /etc/app && echo a=1 > /etc/app/web.conf");
    host.add("settings", &["directories=/etc/app"]);
    assert!(host.done(&["file", "read", "/etc/app/web.conf"]).stdout.contains("a=1"));
    let written = host.done(&["file", "write", "/etc/app/web.conf", "--content", "a=2\n", "--json"]).json();
    host.is("grep -qx a=2 /etc/app/web.conf");
    host.done(&["undo", written["request_id"].as_str().expect("an id")]);
    host.is("grep -qx a=1 /etc/app/web.conf");
    host.ends(&["file", "write", "/etc/app/web.sh", "--content", "id\n"], 3);
}

fn packages(host: &Host) {
    host.machine.publish_all(&[Package::new("app-tool", "1.0"), Package::new("app-tool", "1.1")]);
    host.is("apt-get -qq update");
    let from = "entries=/etc/apt/sources.list.d/local.sources";
    host.add("packages", &["names=app-tool", "versions=1.0", from]);
    host.done(&["package", "install", "app-tool=1.0"]);
    host.is("dpkg-query -W -f '${Version}' app-tool | grep -qx 1.0");
    host.done(&["package", "purge", "app-tool"]);
    host.is("! dpkg -s app-tool");
    host.ends(&["package", "purge", "redis-server"], 3);
}

fn fail2ban(host: &Host) {
    // On Debian 12 its jail of sshd begins only if this file exists.
    host.is("touch /var/log/auth.log; systemctl restart fail2ban.service; for i in $(seq 50); do fail2ban-client ping >/dev/null && break; sleep 0.1; done");
    host.add("fail2ban", &[]);
    assert!(host.done(&["command", "fail2ban-jails"]).stdout.contains("sshd"));
    let (jail, address) = ("jail=sshd", "address=192.0.2.7");
    let banned = host.done(&["command", "fail2ban-ban", jail, address, "--json"]).json();
    assert!(host.done(&["command", "fail2ban-jail", jail]).stdout.contains("192.0.2.7"));
    host.done(&["undo", banned["request_id"].as_str().expect("an id")]);
    host.is("! fail2ban-client status sshd | grep -q 192.0.2.7");
    host.done(&["command", "fail2ban-unban", jail, address]);
    host.ends(&["command", "fail2ban-ban", "jail=recidive", address], 2);
    let path = "/etc/fail2ban/jail.d/postern-site.local";
    host.ends(&["file", "write", path, "--content", "[sshd]\naction = %(action_)s\n"], 3);
    host.done(&["file", "write", path, "--content", "# ours\n[sshd]\nbantime = 1d\n"]);
    host.done(&["service", "reload", "fail2ban"]);
    host.is("fail2ban-client get sshd bantime | grep -qx 86400");
    host.done(&["service", "status", "fail2ban", "--lines", "20"]);
}

fn backup_restic(host: &Host) {
    let _ = host
        .machine
        .shell(
            "install -d -m 0700 /srv/backup /etc/restic; install -d /srv/restored
            echo a password > /etc/restic/password; chmod 0600 /etc/restic/password
            restic --repo /srv/backup/restic --password-file /etc/restic/password --no-cache init >&2",
        )
        .ok();
    host.add("backup-restic", &["paths=/etc/nginx,/srv/shop"]);
    host.done(&["command", "backup-restic-backup"]);
    assert!(host.done(&["command", "backup-restic-snapshots"]).stdout.contains("/etc/nginx"));
    let files = host.done(&["command", "backup-restic-files", "directory=/etc/nginx", "snapshot=latest"]);
    assert!(files.stdout.contains("/etc/nginx/nginx.conf"), "{files}");
    host.done(&["command", "backup-restic-check"]);
    let restore =
        |path: &str| ["command", "backup-restic-restore", path, "snapshot=latest"].map(str::to_owned);
    let restore = |path: &str| restore(&format!("path={path}"));
    let words = restore("/etc/nginx/nginx.conf");
    host.done(&words.each_ref().map(String::as_str));
    host.is("cmp /etc/nginx/nginx.conf /srv/restored/etc/nginx/nginx.conf");
    let words = restore("/etc/shadow");
    host.ends(&words.each_ref().map(String::as_str), 2);
}

fn mariadb(host: &Host) {
    host.is("DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install mariadb-server >&2; install -d -m 0700 /srv/dumps");
    host.add("mariadb", &[]);
    host.done(&["service", "restart", "mariadb"]);
    host.done(&["command", "mariadb-create", "database=app1"]);
    host.ends(&["command", "mariadb-create", "database=mysql"], 3);
    host.is("mariadb -e 'CREATE TABLE app1.t (n INT); INSERT INTO app1.t VALUES (7)'");
    assert!(host.done(&["command", "mariadb-databases"]).stdout.contains("app1"));
    assert!(host.done(&["command", "mariadb-activity"]).stdout.contains("root"));
    assert!(host.done(&["command", "mariadb-status"]).stdout.contains("Uptime"));
    host.done(&["command", "mariadb-check", "database=app1"]);
    host.done(&["command", "mariadb-dump", "database=app1", "file=/srv/dumps/app1.sql"]);
    host.is("grep -q 'INSERT INTO `t` VALUES' /srv/dumps/app1.sql");
    host.done(&["command", "mariadb-drop", "database=app1"]);
    host.is("! mariadb -e 'SHOW DATABASES' | grep -q app1");
    host.done(&["service", "status", "mariadb", "--lines", "20"]);
}

fn reboot(host: &Host) {
    const SCHEDULED: &str = "/run/systemd/shutdown/scheduled";
    host.add("reboot", &[]);
    let asked = host.done(&["host", "reboot", "--delay", "30m", "--json"]).json();
    host.is(&format!("grep -qx MODE=reboot {SCHEDULED}"));
    host.done(&["undo", asked["request_id"].as_str().expect("an id")]);
    host.is(&format!("test ! -e {SCHEDULED}"));
    host.done(&["host", "reboot", "--delay", "1h"]);
    host.done(&["host", "reboot", "--cancel"]);
    host.is(&format!("test ! -e {SCHEDULED}"));
}

/// A pair of virtual interfaces: the machine has no other.
fn network_resolved(host: &Host) {
    host.is(
        "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install systemd-resolved iproute2 >&2
        ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up; ip address add 10.9.0.1/24 dev v0
        systemctl reload dbus.service; systemctl restart systemd-resolved.service",
    );
    host.soon("resolvectl dns v0");
    host.add("network-resolved", &["interfaces=v0"]);
    let (interface, server) = ("interface=v0", "server=9.9.9.9");
    let shown = host.done(&["command", "network-resolved-status"]);
    assert!(shown.stdout.contains("(v0)"), "{shown}");
    let found = host.done(&["command", "network-resolved-lookup", "name=localhost"]);
    assert!(found.stdout.contains("127.0.0.1"), "{found}");
    host.done(&["command", "network-resolved-flush"]);
    host.ends(&["command", "network-resolved-server", interface, "server=203.0.113.66"], 2);
    let set = host.done(&["command", "network-resolved-server", interface, server, "--json"]).json();
    host.is("resolvectl dns v0 | grep -q 9.9.9.9");
    host.ends(&["command", "network-resolved-revert", interface], 1);
    host.keep(&[&set]);
    host.done(&["command", "network-resolved-revert", interface]);
    host.is("! resolvectl dns v0 | grep -q 9.9.9.9");
    host.hurry("network-resolved");
    host.done(&["command", "network-resolved-server", interface, server]);
    host.is("resolvectl dns v0 | grep -q 9.9.9.9");
    host.soon("! resolvectl dns v0 | grep -q 9.9.9.9");
    host.done(&["service", "status", "systemd-resolved", "--lines", "20"]);
}

fn firewall_ufw(host: &Host) {
    host.is(
        "DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install ufw >&2; ufw --force enable",
    );
    host.add("firewall-ufw", &[]);
    let (network, port, protocol) = ("network=10.0.0.0/8", "port=8080", "protocol=tcp");
    let (address, status) = ("address=192.0.2.7", "ufw status numbered");
    host.ends(&["command", "firewall-ufw-allow", "network=0.0.0.0/0", port, protocol], 2);
    host.done(&["command", "firewall-ufw-allow", network, port, protocol]);
    let shown = host.done(&["command", "firewall-ufw-status"]);
    assert!(shown.stdout.contains("8080/tcp") && shown.stdout.contains("10.0.0.0/8"), "{shown}");
    let deleted =
        host.done(&["command", "firewall-ufw-delete-allow", network, port, protocol, "--json"]).json();
    host.is("! ufw status | grep -q 8080");
    host.ends(&["command", "firewall-ufw-allow", network, port, protocol], 1);
    host.done(&["undo", deleted["request_id"].as_str().expect("an id")]);
    host.is("ufw status | grep -q 8080");
    // A change waits for another one. Nobody but root can hold it up.
    host.is("! runuser -u visitor -- flock --nonblock /etc/ufw/before.rules true 2>/dev/null");
    host.is("systemd-run --quiet --unit holds flock /etc/ufw/before.rules sleep 5");
    host.done(&["command", "firewall-ufw-allow", network, "port=9001", protocol]);
    host.is("! systemctl is-active --quiet holds.service && ufw status | grep -q '^9001/tcp'");
    host.is("ufw delete allow proto tcp from 10.0.0.0/8 to any port 9001");
    let denied = host.done(&["command", "firewall-ufw-deny", address, "--json"]).json();
    host.ends(&["command", "firewall-ufw-delete-deny", address], 1);
    host.keep(&[&denied]);
    host.is(&format!("{status} | grep -q '^\\[ 1].*DENY IN *192.0.2.7'"));
    host.done(&["command", "firewall-ufw-delete-deny", address]);
    host.is("! ufw status | grep -q 192.0.2.7");
    // A rule for IPv6, where one for IPv4 has the first number.
    let denied = host.done(&["command", "firewall-ufw-deny", "address=2001:db8::7", "--json"]).json();
    host.keep(&[&denied]);
    host.is("ufw status | grep -q 2001:db8::7");

    // The allowed port is first, and a deny of the same port behind it.
    host.hurry("firewall-ufw");
    host.is(&format!("ufw deny 8080/tcp && {status} > /run/ufw-before"));
    let unchanged = format!("{status} | cmp - /run/ufw-before");
    // None of them changes anything, and no deadline takes back what was not done.
    let opened = &[network, port, protocol][..];
    for (command, values) in [("delete-deny", &[address][..]), ("allow", opened), ("allow-first", opened)] {
        let argv = ["command", &format!("firewall-ufw-{command}"), "--json"];
        let done = host.done(&[&argv[..], values].concat()).json();
        assert_eq!(done["result"]["keep_until_unix_s"].as_u64(), None, "{done}");
        host.ends(&["undo", done["request_id"].as_str().expect("an id")], 3);
        host.is(&unchanged);
    }
    // Nobody keeps the next ones. The deadline of the ones before, if they had any, is over when these are taken back.
    host.done(&["command", "firewall-ufw-deny", address]);
    host.is("ufw status | grep -q 192.0.2.7");
    host.done(&["command", "firewall-ufw-delete-allow", network, port, protocol]);
    host.is("! ufw status | grep -q 10.0.0.0/8");
    host.soon("! ufw status | grep -q 192.0.2.7");
    // Ahead of the deny again: behind it the rule would let nobody in.
    host.soon("ufw status | grep -q 10.0.0.0/8");
    host.is(&unchanged);
    host.done(&["service", "status", "ufw", "--lines", "20"]);
    host.is("ufw --force disable");
}

fn web_apache(host: &Host) {
    host.is(
        "systemctl stop nginx.service; DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install apache2 >&2; install -d /srv/apache",
    );
    host.add("web-apache", &["root=/srv/apache"]);
    let site = "Listen 8092\n<VirtualHost *:8092>\n  DocumentRoot /var/www/html\n</VirtualHost>\n";
    host.done(&["file", "write", "/etc/apache2/sites-available/shop.conf", "--content", site]);
    host.done(&["file", "read", "/etc/apache2/apache2.conf"]);
    host.done(&["file", "write", "/srv/apache/index.html", "--content", "open\n"]);
    host.ends(&["file", "write", "/srv/apache/shell.php", "--content", "<?php\n"], 3);
    host.done(&["command", "web-apache-enable", "site=shop"]);
    host.done(&["service", "restart", "apache2"]);
    host.is("sleep 1; curl -s -o /dev/null http://localhost:8092/");
    host.ends(&["file", "write", "/etc/apache2/envvars", "--content", "id\n"], 3);
    host.done(&["command", "web-apache-disable", "site=shop"]);
    host.done(&["service", "reload", "apache2"]);
    host.done(&["service", "status", "apache2", "--lines", "20"]);
}
