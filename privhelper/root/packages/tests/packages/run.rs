//! Events, output and outcome of a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Bed, Job, has, id, install, step, transaction};
use postern_proto::v1::Action;

fn update() -> Job {
    Job { expected: Vec::new(), ..transaction("package.update", &[]) }
}

#[test]
fn leaves_progress_as_apt_get_and_dpkg_write_it() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["app all half-configured 1"]));
    bed.script(
        "dpkg",
        "for word; do case $word in --status-fd=*) status=${word#*=};; esac; done
         say 'processing: configure: app:amd64'",
    );
    bed.script("apt-get", "say 'pmstatus:app:20.0000:Unpacking'; say 'nonsense'");
    bed.run(&Job { expected: Vec::new(), ..transaction("package.repair", &[]) });
    assert_eq!(bed.status(), "processing: configure: app:amd64\npmstatus:app:20.0000:Unpacking\nnonsense\n");
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
    assert_eq!(outcome.code, "package_failed");
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
fn reports_plan_changed_before_other_failures() {
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
fn reports_steps_only_if_the_check_passed() {
    let job =
        Job { expected: vec![step(Action::Install, "hello", "amd64", "", "2.10-3")], ..install(&["hello"]) };
    let bed = Bed::new();
    assert!(bed.run(&job).steps.is_empty());
    let bed = Bed::new();
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    assert_eq!(bed.run(&job).steps, job.expected);
}

#[test]
fn reports_the_signal_that_killed_apt_get() {
    let bed = Bed::new();
    bed.script("apt-get", "kill -9 $$");
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!(
        (outcome.code.as_str(), outcome.detail.as_str()),
        ("package_failed", "apt-get was killed by signal 9")
    );
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
    assert_eq!(outcome.output, b"order.pb\noutput\nstatus\n");
    for name in ["output", "status", "outcome.pb"] {
        assert_eq!(fs::metadata(bed.file(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert!(!bed.file(".outcome.pb.new").exists());
}

#[test]
fn writes_an_outcome_if_the_progress_file_cannot_be_made() {
    let bed = Bed::new();
    fs::create_dir(bed.file("status")).unwrap();
    let outcome = bed.run(&install(&["hello"]));
    assert_eq!(outcome.code, "package_failed");
    assert!(outcome.detail.starts_with("make status: "), "{}", outcome.detail);
    assert!(bed.noted("apt-get", "argv").is_empty());
}

#[test]
fn runs_a_job_once() {
    let bed = Bed::new();
    bed.run(&install(&["hello"]));
    let first = bed.noted("apt-get", "argv");
    assert!(postern_packages::run(&bed.host, id()).is_err());
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
    assert_eq!(bed.status(), "dlstatus:1:50:Retrieving file 1 of 2\n");
}

#[test]
fn passes_flags_of_the_rule_to_apt_get() {
    let bed = Bed::new();
    bed.run(&Job { allow_removals: true, allow_downgrades: true, recommends: true, ..install(&["hello"]) });
    let argv = bed.noted("apt-get", "argv");
    let end = argv.iter().position(|word| word == "APT::Install-Recommends=true").unwrap();
    assert_eq!(argv.get(end + 1..).unwrap(), ["--allow-downgrades", "install", "--", "hello:native"]);
    assert!(!argv.contains(&"--no-remove".to_owned()));
}

#[test]
fn waits_for_the_lock_and_reports_who_holds_it() {
    let bed = Bed::new();
    let mut holder = bed.hold(&bed.host.apt.dpkg_lock);
    let line = format!("locked:{}:perl\n", holder.id());
    let status = bed.file("status");
    let outcome = std::thread::scope(|scope| {
        let ran = scope.spawn(|| bed.run(&install(&["hello"])));
        while fs::read_to_string(&status).unwrap_or_default() != line {
            assert!(!ran.is_finished(), "it has not waited");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(bed.noted("apt-get", "argv").is_empty(), "apt-get is started once the lock is free");
        holder.kill().unwrap();
        holder.wait().unwrap();
        ran.join().unwrap()
    });
    assert_eq!((outcome.code.as_str(), bed.status()), ("", line));
    assert!(!bed.noted("apt-get", "argv").is_empty());
}

#[test]
fn pins_names_that_apt_reads_as_something_else() {
    let bed = Bed::new();
    bed.run(&install(&["hello+", "x.deb", "g++"]));
    let argv = bed.noted("apt-get", "argv");
    let end = argv.iter().position(|word| word == "--").unwrap();
    assert_eq!(argv.get(end + 1..).unwrap(), ["hello+:native", "x.deb:native", "g++:native"]);
}

#[test]
fn reports_package_state_after_a_failed_script() {
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
fn a_half_installed_package_is_a_failure() {
    let job = Job { expected: vec![step(Action::Install, "bad", "all", "", "1")], ..install(&["bad"]) };
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["bad all unpacked 1"]));
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    assert_eq!(bed.run(&job).code, "package_failed");
}

#[test]
fn reports_purged_packages_as_not_installed() {
    let job = Job {
        expected: vec![step(Action::Purge, "hello", "all", "1", "")],
        ..transaction("package.purge", &["hello"])
    };
    let bed = Bed::new();
    bed.script("apt-get", &format!(": >{}", bed.file("checked").display()));
    let outcome = bed.run(&job);
    assert_eq!((outcome.code.as_str(), outcome.packages[0].state.as_str()), ("", "not-installed"));
}

#[test]
fn reports_kept_configuration_files() {
    let bed = Bed::new();
    let at = |name: &str| bed.beside(name);
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
fn repair_configures_then_fixes_without_removing() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["app all half-configured 1"]));
    let dpkg = bed.beside("order");
    bed.script(
        "dpkg",
        &format!(
            "case $1 in --print-architecture) echo amd64;; *) echo dpkg >>{0}; exit 1;; esac",
            dpkg.display()
        ),
    );
    bed.script("apt-get", &format!("echo apt-get >>{}", dpkg.display()));
    let outcome = bed.run(&Job { expected: Vec::new(), ..transaction("package.repair", &[]) });
    assert_eq!(fs::read_to_string(&dpkg).unwrap(), "dpkg\napt-get\n");
    let argv = bed.noted("dpkg", "argv");
    assert!(argv[0].starts_with("--status-fd="), "{argv:?}");
    assert_eq!(argv[1..], ["--force-confdef", "--force-confold", "--configure", "--pending"]);
    assert!(bed.noted("apt-get", "argv").contains(&"--no-remove".to_owned()));
    // A package still half-configured after the repair is a failure.
    assert_eq!(
        (outcome.code.as_str(), outcome.detail.as_str()),
        ("package_failed", "app is half-configured")
    );
}

#[test]
fn repair_of_nothing_starts_nothing() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["app all installed 1", "rest all config-files 1"]));
    let nothing = Job { expected: Vec::new(), ..transaction("package.repair", &[]) };
    let outcome = bed.run(&nothing);
    assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", "nothing is left half done"));
    assert!(bed.noted("apt-get", "argv").is_empty() && bed.noted("dpkg", "argv").is_empty());
}
