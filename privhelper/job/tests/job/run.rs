//! What a run leaves behind: events, output, outcome.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Bed, ID, has, id, install, progress, step, transaction};
use postern_proto::root::v1::{Job, JobKind, Transaction};
use postern_proto::v1::{Action, Phase};

fn update() -> Job {
    Job { id: ID.to_owned(), kind: JobKind::Update.into(), ..Job::default() }
}

#[test]
fn turns_status_lines_into_events() {
    let bed = Bed::new();
    bed.script(
        "apt-get",
        "say 'dlstatus:1:0.0000:Retrieving file 1 of 1'
         say 'dlstatus:1:0.0000:Retrieving file 1 of 1'
         say 'dlstatus:1:99.9:Retrieving file 1 of 1'
         say 'pmstatus:dpkg-exec:0.0000:Running dpkg'
         say 'pmstatus:hello:20.0000:Unpacking hello (amd64)'
         say 'pmconffile:/etc/x:20:a b 1 1'
         say 'nonsense'
         say 'pmstatus:libc6:amd64:60.5:Configuring libc6:amd64 (amd64)'
         say 'pmstatus:2048:900.0:Installed: done'",
    );
    assert_eq!(bed.run(&install(&["hello"])).code, "");
    assert_eq!(
        bed.progress(),
        [
            progress(Phase::Download, "", 0, "Retrieving file 1 of 1"),
            progress(Phase::Download, "", 99, "Retrieving file 1 of 1"),
            progress(Phase::Unpack, "", 0, "Running dpkg"),
            progress(Phase::Unpack, "hello", 20, "Unpacking hello (amd64)"),
            progress(Phase::Configure, "libc6:amd64", 60, "Configuring libc6:amd64 (amd64)"),
            progress(Phase::Configure, "2048", 100, "Installed: done"),
        ]
    );
}

#[test]
fn reports_progress_while_apt_get_works() {
    let bed = Bed::new();
    let events = bed.file("events");
    // The fake ends only once its first line has become an event.
    bed.script(
        "apt-get",
        &format!(
            "say 'pmstatus:hello:20:Unpacking'; n=0
             while [ ! -s {events} ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
             [ -s {events} ] || exit 7",
            events = events.display()
        ),
    );
    assert_eq!(bed.run(&install(&["hello"])).exit_code, 0);
}

#[test]
fn names_the_package_whose_script_failed() {
    let bed = Bed::new();
    bed.script(
        "apt-get",
        "say 'pmerror:pjtest-bad:42.8:installed pjtest-bad package post-installation script subprocess returned error exit status 3'
         say 'pmerror:other:50:later'
         echo out; echo 'E: Sub-process /usr/bin/dpkg returned an error code (1)' >&2; exit 100",
    );
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!((outcome.code.as_str(), outcome.exit_code, outcome.signal), ("package_failed", 100, 0));
    assert!(
        outcome.detail.starts_with("pjtest-bad: installed pjtest-bad package post-inst"),
        "{}",
        outcome.detail
    );
    assert_eq!(outcome.output, b"out\nE: Sub-process /usr/bin/dpkg returned an error code (1)\n");
}

#[test]
fn maps_messages_of_apt_to_stable_codes() {
    for (message, code) in [
        ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)", "busy"),
        ("E: Unable to lock directory /var/lib/apt/lists/", "busy"),
        (
            "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem. ",
            "needs_repair",
        ),
        (
            "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).",
            "needs_repair",
        ),
        ("E: Unable to locate package nosuch:native", "not_found"),
        ("Error: Unable to locate package nosuch:native", "not_found"),
        ("E: Version '1.0' for 'g++' was not found", "not_found"),
        ("E: Package 'awk' has no installation candidate", "not_found"),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "no_space"),
        ("E: Failed to fetch http://x.invalid/y.deb  404  Not Found", "package_failed"),
        ("E: Packages need to be removed but remove is disabled.", "plan_refused"),
        ("E: Packages were downgraded and -y was used without --allow-downgrades.", "plan_refused"),
        (
            "E: Held packages were changed and -y was used without --allow-change-held-packages.",
            "plan_refused",
        ),
        ("W: Unable to locate package", "package_failed"),
    ] {
        let bed = Bed::new();
        bed.script("apt-get", &format!("cat >&2 <<'END'\nsome text\n{message}\nEND\nexit 100"));
        let outcome = bed.run(&install(&["hello"]));
        assert_eq!(outcome.code, code, "{message}");
        assert!(
            message.trim_end().ends_with(&outcome.detail) || code == "package_failed",
            "{}",
            outcome.detail
        );
    }
}

#[test]
fn says_plan_changed_before_anything_else() {
    let bed = Bed::new();
    let changed = bed.file("plan_changed");
    bed.script(
        "apt-get",
        &format!(
            "printf 'install of x is not in the plan' >{}; echo 'E: Failed to fetch' >&2; exit 100",
            changed.display()
        ),
    );
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!(
        (outcome.code.as_str(), outcome.detail.as_str()),
        ("plan_changed", "install of x is not in the plan")
    );
    assert!(outcome.steps.is_empty());
}

#[test]
fn tells_the_steps_only_if_dpkg_was_let_go_on() {
    let job =
        Job { expected: vec![step(Action::Install, "hello", "amd64", "", "2.10-3")], ..install(&["hello"]) };
    let bed = Bed::new();
    assert!(bed.run(&job).steps.is_empty());
    let bed = Bed::new();
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    assert_eq!(bed.run(&job).steps, job.expected);
}

#[test]
fn tells_the_signal_that_killed_apt_get() {
    let bed = Bed::new();
    bed.script("apt-get", "kill -9 $$");
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!((outcome.code.as_str(), outcome.signal), ("package_failed", 9));
}

#[test]
fn keeps_the_last_16_kib_of_output() {
    let bed = Bed::new();
    bed.script("apt-get", "head -c 40000 /dev/zero; echo the end");
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!(outcome.output.len(), 16 * 1024);
    assert!(outcome.output.ends_with(b"the end\n"));
    assert_eq!(fs::metadata(bed.file("output")).unwrap().len(), 40_008);
}

#[test]
fn writes_the_outcome_last_and_for_root_only() {
    let bed = Bed::new();
    bed.script("apt-get", &format!("ls -A {}", bed.file("").display()));
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!(outcome.output, b"events\njob.pb\noutput\nstatus\n");
    for name in ["events", "output", "status", "outcome.pb"] {
        assert_eq!(fs::metadata(bed.file(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert!(!bed.file(".outcome.pb.new").exists());
}

#[test]
fn runs_a_job_once() {
    let bed = Bed::new();
    bed.run(&install(&["hello"]));
    let first = bed.noted("apt-get", "argv");
    assert!(postern_job::run(&bed.host, &id()).is_err());
    assert_eq!(bed.noted("apt-get", "argv"), first);
}

#[test]
fn updates_without_naming_packages_or_a_check() {
    let bed = Bed::new();
    bed.script("apt-get", "say 'dlstatus:1:50:Retrieving file 1 of 2'");
    assert_eq!(bed.run(&update()).code, "");
    let mut argv = bed.noted("apt-get", "argv");
    assert!(argv.get(3).is_some_and(|word| word.starts_with("APT::Status-Fd=")));
    argv.remove(3);
    assert_eq!(argv, ["-q", "-y", "-o", "-o", "APT::Update::Error-Mode=any", "update"]);
    assert_eq!(bed.progress(), [progress(Phase::Update, "", 50, "Retrieving file 1 of 2")]);
}

#[test]
fn removals_and_downgrades_only_if_the_record_says_so() {
    let bed = Bed::new();
    bed.run(&Job { allow_removals: true, allow_downgrades: true, recommends: true, ..install(&["hello"]) });
    let argv = bed.noted("apt-get", "argv");
    let end = argv.iter().position(|word| word == "APT::Install-Recommends=true").unwrap();
    assert_eq!(argv.get(end + 1..).unwrap(), ["--allow-downgrades", "install", "--", "hello:native"]);
    assert!(!argv.contains(&"--no-remove".to_owned()));
}

#[test]
fn says_who_holds_the_lock() {
    let bed = Bed::new();
    // A process of its own: a lock of this one would not be in its own way.
    let lock = bed.host.dpkg_lock.clone();
    fs::write(&lock, "").unwrap();
    let held = bed.file("held");
    let perl = "use Fcntl; open F, '+<', $ARGV[0]; $l = pack('ssx4qqix4', F_WRLCK, 0, 0, 0, 0); \
                fcntl(F, F_SETLK, $l) or die; \
                open G, '>', $ARGV[1]; sleep 60";
    let mut holder =
        std::process::Command::new("/usr/bin/perl").args(["-e", perl]).args([&lock, &held]).spawn().unwrap();
    while !held.exists() {
        assert!(holder.try_wait().unwrap().is_none(), "the holder has ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let events = bed.file("events");
    bed.script(
        "apt-get",
        &format!(
            "n=0; while [ ! -s {} ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done",
            events.display()
        ),
    );
    bed.run(&install(&["hello"]));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let detail = format!("the lock is held by perl (process {})", holder.id());
    assert_eq!(bed.progress(), [progress(Phase::Waiting, "", 0, &detail)]);
}

#[test]
fn refuses_hostile_and_broken_records() {
    let named = |name: &str| install(&[name]);
    let other = Job { id: "f".repeat(32), ..install(&["hello"]) };
    let long = named(&"a".repeat(129));
    for job in [
        named("a b"),
        named("--option"),
        named(""),
        named("./x.deb"),
        named("/x.deb"),
        named("hello/sid"),
        named("hello:i386"),
        named("~nhello"),
        named("Hello"),
        named("a"),
        named("a*"),
        named("hello=1*"),
        named("hello=-1"),
        named("hello=1 2"),
        long,
        install(&["hello", "hello"]),
        install(&[]),
        other,
        Job { kind: JobKind::Plan.into(), ..named("hello") },
        Job { kind: JobKind::Show.into(), transaction: 0, ..named("hello") },
        Job { transaction: 0, ..named("hello") },
        Job { transaction: 99, ..named("hello") },
        Job { kind: 0, ..named("hello") },
        Job { kind: 99, ..named("hello") },
        Job { kind: JobKind::Update.into(), transaction: 0, ..named("hello") },
        Job { kind: JobKind::Update.into(), ..install(&[]) },
        transaction(Transaction::Remove, &["hello=1"]),
        transaction(Transaction::Remove, &[]),
        transaction(Transaction::Autoremove, &["hello"]),
        transaction(Transaction::Repair, &["hello"]),
        transaction(Transaction::Upgrade, &["hello=1"]),
    ] {
        let bed = Bed::new();
        let outcome = bed.run(&job);
        assert_eq!(outcome.code, "invalid_argument", "{job:?}");
        assert!(bed.noted("apt-get", "argv").is_empty(), "{job:?}");
    }
}

#[test]
fn refuses_a_record_with_fields_it_does_not_know() {
    let bed = Bed::new();
    bed.record(&install(&["hello"]));
    let mut bytes = fs::read(bed.file("job.pb")).unwrap();
    bytes.extend_from_slice(&[0xf8, 0x07, 0x01]);
    fs::write(bed.file("job.pb"), bytes).unwrap();
    postern_job::run(&bed.host, &id()).unwrap();
    assert_eq!(bed.outcome().code, "invalid_argument");
}

#[test]
fn names_that_apt_would_read_as_something_else_are_pinned() {
    let bed = Bed::new();
    bed.run(&install(&["curl-", "hello+", "x.deb", "g++"]));
    let argv = bed.noted("apt-get", "argv");
    let end = argv.iter().position(|word| word == "--").unwrap();
    assert_eq!(argv.get(end + 1..).unwrap(), ["curl-:native", "hello+:native", "x.deb:native", "g++:native"]);
}

#[test]
fn says_what_state_dpkg_is_in_after_a_script_has_failed() {
    let job = Job { expected: vec![step(Action::Install, "bad", "all", "", "1")], ..install(&["bad"]) };
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["bad all half-configured 1"]));
    bed.script(
        "apt-get",
        &format!(
            ": >{}; say 'pmerror:bad:50:post-installation script failed'; exit 100",
            bed.file("checked").display()
        ),
    );
    let outcome = bed.run(&job);
    assert_eq!(outcome.code, "package_failed");
    assert_eq!(outcome.detail, "bad: post-installation script failed; bad is half-configured");
    assert_eq!(outcome.packages[0].state, "half-configured");
}

#[test]
fn what_is_left_half_done_is_no_success_whatever_apt_get_ends_with() {
    let job = Job { expected: vec![step(Action::Install, "bad", "all", "", "1")], ..install(&["bad"]) };
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["bad all unpacked 1"]));
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    assert_eq!(bed.run(&job).code, "package_failed");
}

#[test]
fn what_dpkg_has_forgotten_is_told_as_gone() {
    let job = Job {
        expected: vec![step(Action::Purge, "hello", "all", "1", "")],
        ..transaction(Transaction::Purge, &["hello"])
    };
    let bed = Bed::new();
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    let outcome = bed.run(&job);
    assert_eq!((outcome.code.as_str(), outcome.packages[0].state.as_str()), ("", "not-installed"));
}

#[test]
fn reports_the_configuration_files_that_it_has_kept() {
    let bed = Bed::new();
    let at = |name: &str| bed.host.jobs.join(name);
    // One that an earlier upgrade has left: made before the record is written.
    fs::write(at("old.conf.dpkg-dist"), "").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let (old, new, whole) = (at("old.conf"), at("a new.conf"), at("whole.conf"));
    bed.script(
        "dpkg-query",
        &format!(
            "case $2 in *Conffiles*) printf 'hello\\tall\\n %s 0123\\n %s 4567\\n %s 89ab obsolete\\n' '{}' '{}' '{}';;\n*) {};; esac",
            old.display(),
            new.display(),
            whole.display(),
            has(&["hello all installed 2"]).trim(),
        ),
    );
    bed.script("apt-get", &format!(": >{}; : >'{}.dpkg-dist'", bed.file("checked").display(), new.display()));
    let job = Job { expected: vec![step(Action::Upgrade, "hello", "all", "1", "2")], ..install(&["hello"]) };
    let outcome = bed.run(&job);
    assert_eq!(outcome.packages[0].conffiles_kept, [new.to_str().unwrap()]);
}

#[test]
fn a_repair_lets_dpkg_finish_and_apt_mend_without_removing() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["app all half-configured 1"]));
    let dpkg = bed.host.jobs.join("order");
    bed.script(
        "dpkg",
        &format!(
            "case $1 in --print-architecture) echo amd64;; *) echo dpkg >>{0}; exit 1;; esac",
            dpkg.display()
        ),
    );
    bed.script("apt-get", &format!("echo apt-get >>{}", dpkg.display()));
    let outcome = bed.run(&transaction(Transaction::Repair, &[]));
    assert_eq!(fs::read_to_string(&dpkg).unwrap(), "dpkg\napt-get\n");
    let argv = bed.noted("dpkg", "argv");
    assert!(argv[0].starts_with("--status-fd="), "{argv:?}");
    assert_eq!(argv[1..], ["--force-confdef", "--force-confold", "--configure", "--pending"]);
    assert!(bed.noted("apt-get", "argv").contains(&"--no-remove".to_owned()));
    // What it could not mend is no success.
    assert_eq!(
        (outcome.code.as_str(), outcome.detail.as_str()),
        ("package_failed", "app is half-configured")
    );
}

#[test]
fn a_repair_of_nothing_starts_nothing() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["app all installed 1", "rest all config-files 1"]));
    let outcome = bed.run(&transaction(Transaction::Repair, &[]));
    assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", "nothing is left half done"));
    assert!(bed.noted("apt-get", "argv").is_empty() && bed.noted("dpkg", "argv").is_empty());
}

#[test]
fn reads_dpkgs_own_progress_too() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["app all half-configured 1"]));
    bed.script(
        "dpkg",
        "for word; do case $word in --status-fd=*) status=${word#*=};; esac; done
         say 'processing: configure: app:amd64'; say 'status: app: half-configured'",
    );
    bed.run(&transaction(Transaction::Repair, &[]));
    assert_eq!(bed.progress(), [progress(Phase::Configure, "app:amd64", 0, "")]);
}
