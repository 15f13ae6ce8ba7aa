//! Files of a rule with `as` on a real system: a process of the application's user does it, and that user is hostile.

use postern_tests::{Installed, Output, Release, on_each_release};

on_each_release!(
    an_application_s_own_file_is_written_and_taken_back,
    a_hostile_user_gains_nothing_and_loses_nobody_s_file,
    sockets_live_and_end_with_their_policy_and_package,
);

const RULES: &str = r#"
[[rule]]
id = "test-app"
client = "agent"
verbs = ["file.read", "file.write", "request.undo"]
directories = ["/srv/app/conf"]
depth = 2
files = ["*.conf"]
as = "app"
decision = "allow"
justification = "the application of this test"
accept_risk = { "*" = "a test" }
"#;

/// Keys of an account.
const KEYS: &str = r#"
[[rule]]
id = "test-keys"
client = "agent"
verbs = ["file.write", "request.undo"]
directories = ["/home/deploy/.ssh"]
files = ["authorized_keys"]
as = "deploy"
decision = "allow"
justification = "keys of a test's account"
accept_risk = { "*" = "a test" }
"#;

/// As of a database server: directory and file belong to the application, and others do not read it.
const FILES: &str = "
useradd --system --home-dir /srv/app --shell /bin/sh app
useradd --create-home --groups postern-operators oper
useradd --create-home deploy
install -d -o deploy -g deploy -m 0700 /home/deploy/.ssh
install -o deploy -g deploy -m 0600 /dev/null /home/deploy/.ssh/authorized_keys
install -d -o app -g app -m 0755 /srv/app /srv/app/conf /srv/app/conf/sub
printf '# TYPE DATABASE USER METHOD\\nlocal all all peer\\n' > /srv/app/conf/app.conf
chown app:app /srv/app/conf/app.conf
chmod 0640 /srv/app/conf/app.conf
";

const FILE: &str = "/srv/app/conf/app.conf";
const NEW: &str = "# TYPE DATABASE USER METHOD\nlocal all all reject\n";

fn installed(release: Release) -> Installed {
    let host = Installed::on(release);
    let _ = host.shell(FILES).ok();
    host.grant(RULES);
    host
}

fn ask(host: &Installed, arguments: &[&str]) -> Output {
    host.visitor(&[&["postern", "--json"], arguments].concat())
}

fn write(host: &Installed, path: &str, content: &str) -> Output {
    ask(host, &["file", "write", path, "--content", content])
}

/// The id of a request that was done.
#[track_caller]
fn done(answer: &Output) -> String {
    let said = answer.json();
    assert_eq!(said["status"], "done", "{answer}");
    said["request_id"].as_str().expect("a request id").to_owned()
}

fn state(host: &Installed) -> String {
    host.shell("cd /srv/app/conf && ls -A && stat -c '%a %U:%G' app.conf && cat app.conf").ok()
}

fn an_application_s_own_file_is_written_and_taken_back(release: Release) {
    let host = installed(release);
    let before = state(&host);
    let read = ask(&host, &["file", "read", FILE]);
    assert!(read.stdout.contains("peer"), "{read}");
    let planned = ask(&host, &["file", "write", FILE, "--content", NEW, "--dry-run"]);
    assert_eq!(planned.json()["status"], "previewed", "{planned}");
    assert_eq!(state(&host), before);

    let answer = write(&host, FILE, NEW);
    let id = done(&answer);
    assert_eq!(answer.json()["undo"], id.as_str(), "{answer}");
    assert_eq!(state(&host), before.replace("peer\n", "reject\n"), "mode, owner and names as they were");
    // No program of root's opened it: the directory is not even mounted for postern-files.
    let mounted = host.property("postern-files.service", "ReadWritePaths");
    assert!(!mounted.contains("/srv/app"), "{mounted}");
    let _ = done(&ask(&host, &["undo", &id]));
    assert_eq!(state(&host), before);

    // An operator takes one back as well.
    let id = done(&write(&host, FILE, NEW));
    let _ = host.run("oper", &["postern-admin", "undo", "--yes", &id]).ok();
    assert_eq!(state(&host), before);
    let verified = host.root(&["postern-admin", "audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");

    // Keys of an account, in a home directory that is closed to everybody else.
    host.grant(&[RULES, KEYS].concat());
    let keys = "/home/deploy/.ssh/authorized_keys";
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ann@laptop";
    let id = done(&write(&host, keys, key));
    let kept = format!("stat -c '%U:%G %a' {keys} && cat {keys}");
    assert_eq!(host.shell(&kept).ok().trim(), format!("deploy:deploy 600\n{key}"));
    let _ = done(&ask(&host, &["undo", &id]));
    assert_eq!(host.shell(&kept).ok().trim(), "deploy:deploy 600");

    // Of more than 1 MiB no copy is kept, and that is said before.
    let _ =
        host.shell("cd /srv/app/conf && head -c 1048577 /dev/zero > big.conf && chown app:app big.conf").ok();
    let big = "/srv/app/conf/big.conf";
    let planned = ask(&host, &["file", "write", big, "--content", "x", "--dry-run"]);
    assert_eq!(planned.json()["plan"]["files"][0]["not_kept"], true, "{planned}");
    let answer = write(&host, big, "x");
    let _ = done(&answer);
    assert!(answer.json()["undo"].is_null(), "{answer}");

    // Nothing is created or removed.
    let made = write(&host, "/srv/app/conf/new.conf", "x");
    assert_ne!(made.json()["status"], "done", "{made}");
    let removed = ask(&host, &["file", "remove", FILE]);
    assert_eq!(removed.json()["code"], "no_grant", "{removed}");
}

/// A connection to the socket as postern-units would hold it, which says nothing; and the attempts of the process's user: ptrace(2)
/// attach and seize, its memory, environment, mappings and descriptors.
const PROGRAMS: &str = r#"
# In files: systemd would expand their variables.
cat > /var/tmp/idle.pl <<'END'
use IO::Socket::UNIX;
my $held = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
sleep 60;
END
cat > /var/tmp/attack.pl <<'END'
my $pid = $ARGV[0] + 0;
for my $how (16, 0x4206) { print syscall(101, $how, $pid, 0, 0) == -1 ? "refused\n" : "TRACED\n" }
for my $name ("mem", "environ", "maps") {
    print open(my $file, "<", "/proc/$pid/$name") ? "OPENED $name\n" : "refused\n";
}
print defined(readlink "/proc/$pid/fd/0") ? "READ fd/0\n" : "refused\n";
END
"#;

/// Prints its capabilities and filters, and what its user reached. PID 1 kills the process 20 s after its start (`RuntimeMaxSec=` of its
/// unit): attempts on one that ended before they did show nothing, and are made again on another.
const TRACE: &str = r#"
socket=$(systemctl list-units --plain --no-legend 'postern-as-*.socket' | cut -d' ' -f1)
path=$(systemctl show --value --property Listen "$socket" | cut -d' ' -f1)
for try in $(seq 5); do
    systemd-run --quiet --unit "idle$try" perl /var/tmp/idle.pl "$path"
    pid=''
    for look in $(seq 150); do
        for each in $(grep -lx postern-files /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3); do
            # From where it has dropped its power and waits, its files belong to root (proc(5), "dumpable").
            grep -qE "^Uid:\s$(id -u app)\s" "/proc/$each/status" || continue
            if test "$(stat -c %u "/proc/$each/environ")" = 0; then pid=$each; break 2; fi
        done
        sleep 0.1
    done
    said=$(grep -cE '^Cap(Eff|Prm|Inh|Bnd|Amb):.0+$' "/proc/$pid/status" || true
        grep -cE '^(NoNewPrivs:.1|Seccomp:.2)$' "/proc/$pid/status" || true
        runuser -u app -- perl /var/tmp/attack.pl "$pid")
    if grep -qx postern-files "/proc/$pid/comm"; then echo "$said"; break; fi
done 2>/dev/null
systemctl stop 'idle*.service'
"#;

/// As its user, kills each process of that program's name soon after it started.
const KILLER: &str = r#"
cat > /var/tmp/killer.pl <<'END'
while (1) {
    for my $dir (glob "/proc/[0-9]*") {
        open(my $comm, "<", "$dir/comm") or next;
        next unless (<$comm> // "") eq "postern-files\n";
        select(undef, undef, undef, rand(0.02));
        kill 9, substr($dir, 6);
    }
}
END
systemd-run --quiet --unit killer --uid app perl /var/tmp/killer.pl
"#;

fn a_hostile_user_gains_nothing_and_loses_nobody_s_file(release: Release) {
    let host = installed(release);
    reads_nothing_through_links(&host);

    // Its own process: no capability, and not traced.
    let traced = host.shell(&format!("{PROGRAMS}{TRACE}")).ok();
    assert_eq!(traced, format!("5\n2\n{}", "refused\n".repeat(6)));

    // Killed at any moment, the file is the old or the new one, and the answer says which.
    let _ = host.shell(KILLER).ok();
    let mut old = host.shell(&format!("cat {FILE}")).ok();
    let mut answers = Vec::new();
    // How soon the killer sees a process is the scheduler's: on a busy host some writes are done before. So until it killed some.
    let was_killed = |answer: &&String| !answer.contains("done");
    while answers.len() < 12 || (answers.iter().filter(was_killed).count() < 3 && answers.len() < 200) {
        let new = format!("# {}\n", answers.len());
        let answer = write(&host, FILE, &new).json();
        let there = host.shell(&format!("cat {FILE}")).ok();
        match answer["status"].as_str() {
            Some("done") => assert_eq!(there, new),
            Some("interrupted") => assert!(there == old || there == new, "{there:?}"),
            _ => assert_eq!(there, old, "{answer}"),
        }
        answers.push(format!("{}/{}", answer["status"], answer["code"]));
        old = there;
    }
    let _ = host.shell("systemctl stop killer.service").ok();
    assert!(answers.iter().filter(was_killed).count() >= 3, "nothing was ever killed: {answers:?}");
    let id = done(&write(&host, FILE, NEW));
    let _ = done(&ask(&host, &["undo", &id]));
    assert_eq!(host.shell(&format!("cat {FILE}")).ok(), old);

    // A user that became more than the owner of its files: warned of, and refused by root at once.
    let _ = host.shell("usermod --append --groups disk app").ok();
    let refused = write(&host, FILE, NEW);
    assert_eq!(refused.json()["code"], "unsupported", "{refused}");
    let checked = host.root(&["postern-admin", "policy", "check"]);
    assert!(checked.stdout.contains("is refused on this host: it is in group disk"), "{checked}");
    let applied = host.root(&["postern-admin", "policy", "apply", "--yes"]);
    assert_ne!(applied.code, 0, "{applied}");
}

/// A link to a secret, as the file and as a directory, and paths that only look right.
fn reads_nothing_through_links(host: &Installed) {
    let shadow = host.shell("sha256sum /etc/shadow").ok();
    let _ = host
        .shell(
            "runuser -u app -- sh -c 'cd /srv/app/conf && ln -s /etc/shadow link.conf && ln -s /etc sub/etc'",
        )
        .ok();
    for path in ["/srv/app/conf/link.conf", "/srv/app/conf/sub/etc/host.conf"] {
        for answer in [
            ask(host, &["file", "read", path]),
            ask(host, &["file", "write", path, "--content", "x", "--dry-run"]),
            write(host, path, "x"),
        ] {
            let said = answer.json();
            assert!(said["status"] != "done" && said["status"] != "previewed", "{answer}");
            assert!(!path.contains("link") || said["code"] == "special_file", "{answer}");
            assert!(!answer.stdout.contains("root:") && !answer.stderr.contains("root:"), "{answer}");
        }
    }
    let _ = host.shell("cd /srv/app && runuser -u app -- sh -c 'mv conf real && ln -s real conf'").ok();
    let refused = write(host, FILE, NEW);
    assert_ne!(refused.json()["status"], "done", "{refused}");
    let _ = host.shell("cd /srv/app && runuser -u app -- sh -c 'rm conf && mv real conf'").ok();
    for path in ["/srv/app/conf/../conf/app.conf", "/srv/app//conf/app.conf", "/srv/app/conf/sub/../app.conf"]
    {
        let refused = write(host, path, NEW);
        assert_ne!(refused.code, 0, "{refused}");
    }
    assert!(host.shell(&format!("cat {FILE}")).ok().contains("peer"));
    assert_eq!(host.shell("sha256sum /etc/shadow").ok(), shadow);
}

/// The sockets of rules with `as`: how many units of them are written, are wanted, and listen.
const SOCKETS: &str = "
ls /etc/systemd/system | grep -c '^postern-as-' || true
ls /etc/systemd/system/postern-units.socket.wants 2>/dev/null | grep -c '^postern-as-' || true
systemctl list-units --plain --no-legend --state=listening 'postern-as-*.socket' | wc -l
";

fn sockets_live_and_end_with_their_policy_and_package(release: Release) {
    let host = Installed::on(release);
    let _ = host.shell(FILES).ok();
    assert_eq!(host.shell(SOCKETS).ok(), "0\n0\n0\n");
    host.grant(RULES);
    assert_eq!(host.shell(SOCKETS).ok(), "2\n1\n1\n", "apply starts them, no request");
    let _ = done(&write(&host, FILE, NEW));
    // They come and go with the socket of postern-units, as at boot and when the package is removed.
    let _ = host.shell("systemctl stop postern-units.socket").ok();
    assert_eq!(host.shell(SOCKETS).ok(), "2\n1\n0\n");
    let _ = host.shell("systemctl start postern-units.socket").ok();
    assert_eq!(host.shell(SOCKETS).ok(), "2\n1\n1\n");
    // Installed over itself.
    let _ = host.install_deb(&postern_tests::deb()).ok();
    assert_eq!(host.shell(SOCKETS).ok(), "2\n1\n1\n");
    let _ = done(&write(&host, FILE, "again\n"));
    // Another policy: gone at the apply after next.
    for _ in 0..2 {
        host.grant(&RULES.replace("/srv/app/conf", "/srv/app/other"));
    }
    assert_eq!(host.shell(SOCKETS).ok(), "2\n1\n1\n");
    let refused = write(&host, FILE, NEW);
    assert_eq!(refused.json()["code"], "no_grant", "{refused}");
    let _ = host.shell("DEBIAN_FRONTEND=noninteractive apt-get -q -y remove postern").ok();
    assert_eq!(host.shell(SOCKETS).ok(), "2\n1\n0\n");
    let _ = host.shell("DEBIAN_FRONTEND=noninteractive apt-get -q -y purge postern").ok();
    assert_eq!(host.shell(SOCKETS).ok(), "0\n0\n0\n");
}
