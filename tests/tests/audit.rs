//! The audit chain on the installed system: what is done to its files, its disk and its budget; and what a disk keeps
//! of old seeds.

#[path = "../../privhelper/audit/tests/recorder/reader.rs"]
mod reader;

use std::fs;
use std::path::Path;
use std::process::Command;

use postern_audit::log::{AuditLog, Event, Location, Record};
use postern_tests::{Installed, Output, Release, on_each_release};
use reader::{Reader, SEED, epoch0, location, verified};

on_each_release!(the_chain_outlives_what_is_done_to_it);

const RULES: &str = r#"
[[rule]]
id = "texts"
client = "agent"
verbs = ["file.write"]
directories = ["/srv/texts"]
files = ["*.txt"]
decision = "allow"
justification = "a test"
accept_risk = { "*" = "a test" }
"#;

/// A person who watches over the host.
const OPERATOR: &str = "oper";
const LOG: &str = "/var/log/postern/audit.jsonl";

fn the_chain_outlives_what_is_done_to_it(release: Release) {
    let host = Installed::as_shipped(release);
    let _ = host.shell("mkdir -p /srv/texts").ok();
    let _ = host
        .root(&["useradd", "--create-home", "--groups", "postern-operators,postern-users", OPERATOR])
        .ok();
    host.grant(&format!("{RULES}[audit]\nrecords_per_minute = 10000\n"));
    assert!(status(&host).contains("the audit log is unsealed"), "{}", status(&host));
    a_seal_is_taken_up_and_a_killed_recorder_goes_on_with_it(&host);
    a_log_that_is_rotated_by_somebody_else_is_told_of(&host);
    full_and_read_only_disks_are_survived(&host);
    who_floods_is_counted_and_stops_no_operator(&host);
    the_journal_has_every_record_as_fields(&host);
    let limits = host.shell(
        "systemctl show -p LimitCORE --value postern-audit; systemctl show -p MemorySwapMax --value postern-audit",
    );
    assert_eq!(limits.ok(), "0\n0\n", "no key on a disk, neither by a core nor by swapping");
}

/// A person's write through the agent.
fn write(host: &Installed, content: &str) -> Output {
    host.visitor(&["postern", "--json", "file", "write", "/srv/texts/a.txt", "--content", content])
}

fn operator(host: &Installed, arguments: &[&str]) -> Output {
    host.run(OPERATOR, &[&["postern-admin"], arguments].concat())
}

fn status(host: &Installed) -> String {
    operator(host, &["status"]).stdout
}

fn lines(host: &Installed, path: &str) -> Vec<String> {
    host.root(&["cat", path]).ok().lines().map(str::to_owned).collect()
}

fn position(lines: &[String], event: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(&format!("\"event\":\"{event}\"")));
    found.unwrap_or_else(|| panic!("no {event} in {lines:#?}"))
}

fn a_seal_is_taken_up_and_a_killed_recorder_goes_on_with_it(host: &Installed) {
    let _ = host
        .shell(&format!(
            "umask 077; printf 'postern epoch 1\\n000000000000\\n{SEED}\\n' > /var/lib/postern-audit/seal/next; chown postern-audit: /var/lib/postern-audit/seal/next; \
             for i in $(seq 100); do grep -q '\"sealed\"' {LOG} && break; sleep 0.1; done"
        ))
        .ok();
    let _ = write(host, "one").ok();
    for _ in 0..3 {
        host.kill("postern-audit.service", "KILL");
        let _ = write(host, "two").ok();
    }
    let lines = lines(host, LOG);
    let reader = verified(&lines);
    assert!(reader.signatures >= 4, "one for the seal and one a start: {}", reader.signatures);
    assert!(!lines.iter().any(|line| line.contains("\"tampered\"")), "{lines:#?}");
    assert!(!status(host).contains("unsealed"), "{}", status(host));
    let keys = "stat -c '%U:%G %a %s' /run/postern-audit/seal /var/lib/postern-audit/seal/next; \
                stat -f -c %T /run/postern-audit/seal; sed -n 2p /var/lib/postern-audit/seal/next";
    assert_eq!(
        host.shell(keys).ok(),
        "postern-audit:postern-audit 600 432\npostern-audit:postern-audit 600 94\ntmpfs\n000000000001\n"
    );
}

fn a_log_that_is_rotated_by_somebody_else_is_told_of(host: &Installed) {
    let _ = host.root(&["mv", LOG, "/var/log/postern/audit.jsonl.1"]).ok();
    let _ = write(host, "three").ok();
    let before = lines(host, "/var/log/postern/audit.jsonl.1");
    let after = lines(host, LOG);
    assert_eq!(position(&after, "tampered"), 0, "{after:#?}");
    let mut reader = Reader::new();
    for line in before.iter().chain(&after) {
        reader.line(line).expect("the chain goes on");
    }
    let said = "the file was removed or renamed, behind record";
    assert!(after[0].contains(said) && status(host).contains(said), "{}", status(host));
    let owner = host.root(&["stat", "-c", "%U:%G %a", LOG]).ok();
    assert_eq!(owner, "postern-audit:postern-auditors 640\n");
}

fn full_and_read_only_disks_are_survived(host: &Installed) {
    // Small disks of their own for log and state.
    let _ = host
        .shell(
            "systemctl stop postern-audit.service; for d in /var/log/postern /var/lib/postern-audit; do \
             cp -a $d /root/kept; mount -t tmpfs -o size=12m,mode=$(stat -c %a $d),uid=$(stat -c %u $d),gid=$(stat -c %g $d) tmpfs $d; \
             cp -a /root/kept/. $d; rm -r /root/kept; done; systemctl start postern-audit.service",
        )
        .ok();
    let _ = write(host, "four").ok();
    let content = || host.root(&["cat", "/srv/texts/a.txt"]).ok();
    let full = "for d in /var/log/postern /var/lib/postern-audit; do dd if=/dev/zero of=$d/fill bs=4k 2>/dev/null || true; \
                df --output=avail $d | tail -n 1; done";
    assert_eq!(host.shell(full).ok().split_whitespace().collect::<Vec<_>>(), ["0", "0"]);
    // A piece is allocated ahead for clients; behind it the space is for ends and operators.
    let last = "for i in $(seq 500); do postern file write /srv/texts/a.txt --content $i > /dev/null 2>&1 || exit 0; done; exit 1";
    let _ = host.visitor(&["sh", "-c", last]).ok();
    let last = content();
    for _ in 0..3 {
        let answer = write(host, "five");
        assert_eq!(answer.code, 1, "{answer}");
        assert!(
            answer.stdout.contains("\"audit_unavailable\"") || answer.stdout.contains("\"no_space\""),
            "{answer}"
        );
    }
    assert_eq!(content(), last, "no effect without its record");
    let paused = lines(host, LOG).len();
    let _ = operator(host, &["pause", "--reason", "the disk is full"]).ok();
    let more = lines(host, LOG);
    assert!(more.len() > paused && position(&more[paused..], "paused") < more.len(), "{more:#?}");
    let _ = host.root(&["grep", "-q", "the disk is full", "/var/lib/postern-audit/paused"]).ok();
    // Also a helper that is killed comes back on a full disk.
    host.kill("postern-audit.service", "KILL");
    assert!(status(host).contains("the disk is full"), "{}", status(host));
    let _ = operator(host, &["resume"]).ok();
    let _ = host.shell("rm /var/log/postern/fill /var/lib/postern-audit/fill").ok();
    let _ = write(host, "six").ok();
    assert_eq!(content(), "six", "it recovers by itself");

    // A helper that can't open its log does not serve, and is there again once it can.
    let _ = host
        .shell(
            "systemctl stop postern-audit.service; mount -o remount,ro /var/log/postern; \
             systemctl start postern-audit.service || true",
        )
        .ok();
    let ask = "timeout 5 postern --direct file write /srv/texts/a.txt --content seven";
    assert_ne!(host.run("postern", &["sh", "-c", ask]).code, 0);
    assert_eq!(content(), "six");
    let _ = host.root(&["mount", "-o", "remount,rw", "/var/log/postern"]).ok();
    // The recorder finds the order of before in its socket; a write that crosses it is refused and sent again.
    let wrote = (0..10).any(|_| write(host, "eight").code == 0);
    assert!(wrote && content() == "eight", "{}", content());
    let (before, after) = (lines(host, "/var/log/postern/audit.jsonl.1"), lines(host, LOG));
    let mut reader = Reader::new();
    for line in before.iter().chain(&after).filter(|line| line.starts_with("{\"v\":1,")) {
        reader.line(line).expect("no record is lost");
    }
}

fn who_floods_is_counted_and_stops_no_operator(host: &Installed) {
    let size = || host.root(&["stat", "-c", "%s", LOG]).ok().trim().parse::<u64>().expect("a size");
    let (before, count) = (size(), lines(host, LOG).len());
    host.grant(&format!("{RULES}[audit]\nrecords_per_minute = 5\n"));
    // Looks have a budget of their own; changes share this one.
    let flood = "for i in $(seq 20); do postern --direct file write /srv/texts/a.txt --content $i >/dev/null 2>&1 || true; done; \
                 postern --direct --json file write /srv/texts/a.txt --content last || true";
    let answer = host.run("postern", &["sh", "-c", flood]);
    assert!(answer.stdout.contains("\"rate_limited\""), "{answer}");
    let _ = operator(host, &["pause"]).ok();
    let _ = operator(host, &["resume"]).ok();
    // The broker reports it within a minute.
    let reported = format!(
        "for i in $(seq 700); do tail -n +{count} {LOG} | grep -q suppressed && exit; sleep 0.1; done; exit 1"
    );
    let _ = host.shell(&reported).ok();
    let _ = host.root(&["systemctl", "stop", "postern-audit.service"]).ok();
    let lines = lines(host, LOG);
    let told = &lines[position(&lines, "suppressed")];
    assert!(told.contains("\"count\":"), "{told}");
    let _ = host.root(&["systemctl", "start", "postern-audit.service"]).ok();
    // Five of the client's a minute, however many of them the loop takes, and a few of the helper's own.
    assert!(lines.len() < count + 60 && size() < before + 60 * 4096, "{} records", lines.len() - count);
}

fn the_journal_has_every_record_as_fields(host: &Installed) {
    let _ = host.root(&["journalctl", "--sync"]).ok();
    let query = "journalctl -o json --output-fields=POSTERN_SEQ,POSTERN_EVENT,POSTERN_RECORD,_UID \
                 _SYSTEMD_UNIT=postern-audit.service MESSAGE_ID=5f0d2c8e7b1a4f6d9c3e8a7b6d5c4f21";
    let found = host.shell(query).ok();
    let entries: Vec<serde_json::Value> =
        found.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect();
    let ends = entries.iter().filter(|entry| entry["POSTERN_EVENT"] == "end").count();
    assert!(ends >= 6, "{ends} of {}", entries.len());
    let log = lines(host, LOG);
    let uid = host.root(&["id", "-u", "postern-audit"]).ok();
    for entry in entries.iter().rev().take(20) {
        assert_eq!(entry["_UID"], uid.trim());
        let record = entry["POSTERN_RECORD"].as_str().expect("the record");
        assert!(log.iter().any(|line| line == record), "{record}");
    }
}

/// A file system of its own in a file; unmounted when dropped.
struct Disk<'a>(&'a Path);

impl Disk<'_> {
    fn run(program: &str, arguments: &[&str]) {
        let done = Command::new(program).args(arguments).output().expect("it starts");
        assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// The disk holds the next boot's seed, and none of those before: neither as text nor as bytes.
#[test]
fn the_raw_device_of_an_ext4_holds_no_old_seed() {
    const BOOTS: u32 = 8;
    let directory = std::env::temp_dir().join(format!("postern-disk-{}", std::process::id()));
    let (image, mounted, memory) =
        (directory.join("image"), directory.join("mounted"), directory.join("memory"));
    for path in [&mounted, &memory] {
        fs::create_dir_all(path).expect("directories");
    }
    let text = |path: &Path| path.to_str().expect("a name").to_owned();
    fs::File::create(&image).and_then(|file| file.set_len(16 << 20)).expect("an image");
    Disk::run("mkfs.ext4", &["-q", &text(&image)]);
    Disk::run("mount", &["-o", "loop", &text(&image), &text(&mounted)]);
    let disk = Disk(&mounted);
    fs::write(mounted.join("next"), epoch0().encode()).expect("the first seed");
    for boot in 0..BOOTS {
        let location = Location {
            running: memory.join("seal"),
            boot_id: format!("{boot:08}-0000-4000-8000-000000000000"),
            ..location(&mounted)
        };
        let log = AuditLog::open(&location).expect("a log");
        let _ = log.durable(Event::Start, &Record::default()).expect("a record");
        log.stop().expect("a stop");
    }
    drop(disk);
    let raw = fs::read(&image).expect("the image");
    let holds = |bytes: &[u8]| raw.windows(bytes.len()).any(|window| window == bytes);
    let mut epoch = epoch0();
    for number in 0..BOOTS {
        let seed = epoch.seed_hex();
        assert!(!holds(seed.as_bytes()), "the seed of epoch {number} is still there");
        let bytes: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&seed[at * 2..at * 2 + 2], 16).expect("hex")).collect();
        assert!(!holds(&bytes), "the seed of epoch {number} is still there, as bytes");
        epoch = epoch.next();
    }
    assert!(holds(epoch.seed_hex().as_bytes()), "the next boot's is there: this looks at the right place");
    fs::remove_dir_all(directory).expect("removed");
}
