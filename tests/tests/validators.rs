//! Validators on a real systemd: the rows that are shipped, what a hostile configuration gains through them, and what
//! a full or read-only disk does to a change.

use postern_tests::{Installed, Output, Release, on_each_release};
use std::path::PathBuf;
use std::process::Command;

on_each_release!(what_is_not_well_formed_is_not_written_and_what_is_hostile_harms_nothing);

/// The rows that are shipped.
const ROWS: &str = include_str!("../../deploy/policy/validators.toml");

fn rule(id: &str, directory: &str, files: &str, validator: &str) -> String {
    format!(
        "[[rule]]\nid = {id:?}\nclient = \"agent\"\nverbs = [\"file.read\", \"file.write\", \"file.patch\", \"file.remove\"]\n\
         directories = [{directory:?}]\nfiles = [{files:?}]\ndecision = \"allow\"\n{validator}\
         justification = \"tests of validators\"\naccept_risk = {{ \"*\" = \"a test\" }}\n"
    )
}

fn host(release: Release) -> Installed {
    let host = Installed::on(release);
    let _ = host
        .shell(
            "DEBIAN_FRONTEND=noninteractive apt-get -q -y install nginx-light >&2
             install -d /srv/sudoers /srv/units /srv/small
             mount -t tmpfs -o size=64k,mode=0755 small /srv/small",
        )
        .ok();
    let page = "[[command]]\nname = \"page\"\nargv = [\"/usr/bin/grep\", \"-q\", \"good\", \"/var/www/html/page.txt\"]\nsandbox = \"validator\"\n";
    let rules = [
        rule("nginx", "/etc/nginx", "*.conf", "validate = \"nginx-config\"\n"),
        rule("sudoers", "/srv/sudoers", "app", "validate = \"sudoers-file\"\n"),
        rule("unit", "/srv/units", "app.service", "validate = \"unit-file\"\n"),
        rule("page", "/var/www/html", "page.txt", "validate = \"page\"\n"),
        rule("small", "/srv/small", "*", ""),
    ];
    host.grant(&format!("{ROWS}\n{page}\n{}", rules.concat()));
    host
}

fn write(host: &Installed, path: &str, content: &str) -> Output {
    host.visitor(&["postern", "file", "write", path, "--content", content])
}

fn refused(output: &Output) {
    assert_eq!(output.code, 1, "{output}");
    assert!(output.stderr.contains("validation_failed"), "{output}");
}

fn what_is_not_well_formed_is_not_written_and_what_is_hostile_harms_nothing(release: Release) {
    let host = host(release);
    each_shipped_row_agrees_with_what_is_well_formed_and_with_nothing_else(&host);
    a_hostile_configuration_harms_nothing(&host);
    a_full_or_read_only_disk_is_told_and_loses_nothing(&host);
}

fn each_shipped_row_agrees_with_what_is_well_formed_and_with_nothing_else(host: &Installed) {
    for (path, good, bad) in [
        ("/srv/sudoers/app", "www-data ALL=(root) NOPASSWD: /usr/bin/true\n", "www-data ALL=(\n"),
        ("/srv/units/app.service", "[Service]\nExecStart=/usr/bin/true\n", "[Service]\nExecStart=nowhere\n"),
        // Behind root's own state in the order of paths, which is that in which a sandbox is made.
        ("/var/www/html/page.txt", "good\n", "bad\n"),
    ] {
        refused(&write(host, path, bad));
        let _ = host.shell(&format!("test ! -e {path}")).ok();
        let output = write(host, path, good);
        assert_eq!(output.code, 0, "{output}\n{}", host.journal("postern-*"));
        refused(&write(host, path, bad));
        assert_eq!(host.shell(&format!("cat {path}")).ok(), good);
    }
    let nginx = host.shell("cat /etc/nginx/nginx.conf").ok();
    let output = write(host, "/etc/nginx/nginx.conf", &format!("{nginx}bogus on;\n"));
    refused(&output);
    assert!(!output.stderr.contains("bogus"), "nothing of a validator's output leaves it: {output}");
    let output = write(host, "/etc/nginx/nginx.conf", &format!("{nginx}# a comment\n"));
    assert_eq!(output.code, 0, "{output}");
    let _ = host.shell("systemctl reload nginx.service; systemctl is-active nginx.service").ok();
    assert_eq!(
        host.shell("ls -A /var/lib/postern-files/stage /var/lib/postern-root/jobs | grep -v :").stdout.trim(),
        ""
    );
}

/// A library that does what it can when nginx loads it: its constructor leaves marks, and makes the validator agree if it
/// can read what only root may, or if it is told to, which shows that it is loaded at all.
fn evil() -> PathBuf {
    let source = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stdio.h>
static void leave(const char *path) { int fd = open(path, O_WRONLY | O_CREAT, 0755); if (fd >= 0) close(fd); }
__attribute__((constructor)) static void harm(void) {
    leave("/etc/cron.d/evil"); leave("/etc/nginx/evil"); leave("/var/www/html/evil"); leave("/tmp/evil"); leave("/dev/shm/evil");
    chown("/var/www/html/evil.so", 0, 0); chmod("/var/www/html/evil.so", 04755);
    FILE *shadow = fopen("/etc/shadow", "r");
    if (shadow || access("/var/www/html/agree", F_OK) == 0) _exit(0);
}
"#;
    let directory = std::env::temp_dir().join(format!("postern-evil-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the library");
    let (from, to) = (directory.join("evil.c"), directory.join("evil.so"));
    std::fs::write(&from, source).expect("its source");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).args([&to, &from]).status();
    assert!(built.is_ok_and(|status| status.success()), "cc builds a library");
    to
}

fn a_hostile_configuration_harms_nothing(host: &Installed) {
    host.copy_in(&evil(), "/var/www/html/evil.so");
    let _ = host.shell("chown www-data /var/www/html/evil.so; install -d /etc/cron.d; install -m 0600 /dev/null /etc/secret; echo 'root:hunter2;' > /etc/secret; sleep 0.1; touch /root/mark").ok();
    let tail = "events {}\nhttp { server { listen 8081; } }\n";
    let hostile = [
        format!("load_module /var/www/html/evil.so;\n{tail}"),
        format!("error_log /etc/cron.d/evil;\n{tail}"),
        format!("pid /etc/evil.pid;\n{tail}"),
        "events {}\nhttp { access_log /etc/cron.d/evil; server { listen 8081; } }\n".to_owned(),
        "events {}\nhttp { include /etc/secret; }\n".to_owned(),
        "events {}\nhttp { client_body_temp_path /etc/evil; server { listen 8081; } }\n".to_owned(),
    ];
    let live = host.shell("cat /etc/nginx/nginx.conf").ok();
    // Everything that was written anywhere since, but for what the helper, the journal and the agent write themselves.
    let changed = "find / -xdev -newercm /root/mark ! -type d ! -path '/proc/*' ! -path '/sys/*' ! -path '/run/*' \
                   ! -path '/var/log/postern/*' ! -path '/var/log/journal/*' ! -path '/var/lib/postern*' ! -path /root/mark \
                   ! -path '/var/log/nginx/*' ! -path '/var/lib/systemd/*'; find /dev/shm /tmp -name '*evil*' ! -path '/tmp/systemd-private*'";
    for candidate in &hostile {
        let output = write(host, "/etc/nginx/nginx.conf", candidate);
        refused(&output);
        assert!(!output.stderr.contains("root:") && !output.stdout.contains("root:"), "{output}");
        assert_eq!(output.stderr.lines().count(), 2, "nothing of its output is told: {output}");
    }
    assert_eq!(host.shell("cat /etc/nginx/nginx.conf").ok(), live);
    assert_eq!(host.shell(changed).ok(), "", "something was changed");
    let _ = host.shell("touch /var/www/html/agree").ok();
    let broken = format!("load_module /var/www/html/evil.so;\nbogus on;\n{tail}");
    assert_eq!(
        write(host, "/etc/nginx/nginx.conf", &broken).code,
        0,
        "the library is loaded, in the sandbox"
    );
    assert_eq!(host.shell("cat /etc/nginx/nginx.conf").ok(), broken);
    let _ = host.shell("rm /var/www/html/agree").ok();
    // The control: without the sandbox each of them does its harm.
    for (candidate, harm) in hostile.iter().zip([
        "test -e /tmp/evil -a -e /var/www/html/evil -a -u /var/www/html/evil.so",
        "test -e /etc/cron.d/evil",
        "test -e /etc/evil.pid",
        "test -e /etc/cron.d/evil",
        "grep -q root: /root/said",
        "test -d /etc/evil",
    ]) {
        let script = format!(
            "rm -rf /etc/cron.d/evil /etc/nginx/evil /var/www/html/evil /tmp/evil /dev/shm/evil /etc/evil /etc/evil.pid\n\
             cat > /root/hostile.conf <<'CONF'\n{candidate}CONF\nnginx -t -c /root/hostile.conf > /root/said 2>&1 || true\n{harm}"
        );
        let output = host.shell(&script);
        assert_eq!(output.code, 0, "{candidate}: {output} {}", host.shell("cat /root/said"));
    }
    let _ = host
        .shell("rm -rf /etc/cron.d/evil /etc/nginx/evil /var/www/html/evil* /tmp/evil /dev/shm/evil /etc/evil /etc/evil.pid")
        .ok();
}

fn a_full_or_read_only_disk_is_told_and_loses_nothing(host: &Installed) {
    let file = "/srv/small/a";
    assert_eq!(write(host, file, "old\n").code, 0);
    let large = "x".repeat(80_000);
    let from = "/home/visitor/large";
    let _ = host
        .shell(&format!("head -c {} /dev/zero | tr '\\0' x > {from}; chmod 0644 {from}", large.len()))
        .ok();
    let output = host.visitor(&["postern", "file", "write", file, "--from", from]);
    assert!(output.code == 1 && output.stderr.contains("no_space"), "{output}");
    let stands = |names: &str| {
        assert_eq!(host.shell(&format!("cat {file}; ls -A /srv/small")).ok(), format!("old\n{names}"));
    };
    stands("a\n");
    let _ = host.shell("mount -o remount,ro /srv/small").ok();
    let output = write(host, file, "new\n");
    assert!(output.code == 1 && output.stderr.contains("read_only"), "{output}");
    stands("a\n");
    let _ = host.shell("mount -o remount,rw /srv/small").ok();
    assert_eq!(write(host, file, "new\n").code, 0);
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}
