//! Simulation and look-up. The programs' answers are those of apt 2.6 and dpkg 1.21.

use crate::support::{Bed, has, install, plan_install, step, transaction};
use postern_proto::root::v1::{Job, JobKind, Transaction};
use postern_proto::v1::{Action, PackageInfo, PackageStep};
use prost::Message;

/// A fake that prints this.
fn prints(text: &str) -> String {
    format!("cat <<'END'\n{text}\nEND\n")
}

/// The steps that the simulation's output stands for.
fn steps(output: &str, asked: &[&str]) -> Vec<PackageStep> {
    let bed = Bed::new();
    bed.script("apt-get", &prints(output));
    bed.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
    bed.script(
        "dpkg-query",
        &has(&["gone all installed 1.0", "far i386 installed 3", "rest all config-files 2"]),
    );
    let outcome = bed.plan(&plan_install(asked));
    assert_eq!((outcome.code.as_str(), outcome.detail.as_str()), ("", ""));
    outcome.steps
}

#[test]
fn asks_for_the_same_request_as_the_run() {
    let (bed, real) = (Bed::new(), Bed::new());
    bed.plan(&Job { recommends: true, ..plan_install(&["hello", "g++=4:12"]) });
    real.run(&Job { recommends: true, ..install(&["hello", "g++=4:12"]) });
    let argv = bed.noted("apt-get", "argv");
    let (head, tail) = argv.split_at(5);
    assert_eq!(head, ["-s", "-q", "-y", "-o", "APT::Cmd::Pattern-Only=true"]);
    assert!(real.noted("apt-get", "argv").ends_with(tail));
    assert_eq!(tail.first().unwrap(), "-o");
    assert_eq!(tail.get(tail.len() - 3..).unwrap(), ["--", "hello:native", "g++:native=4:12"]);
    assert!(bed.noted("apt-get", "env").contains(&"HOME=/nonexistent".to_owned()));
}

#[test]
fn reads_installs_and_says_which_were_asked_for() {
    let found = steps(
        "The following NEW packages will be installed:
  hello libfoo
Inst libfoo (1.0 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [all])
Inst hello (2.10-3 Debian:12.15/oldstable [amd64]) []
Inst hello:i386 (2.10-3 Debian:12.15/oldstable [i386])
Conf libfoo (1.0 Debian:12.15/oldstable [all])
Conf hello (2.10-3 Debian:12.15/oldstable [amd64])
Conf hello:i386 (2.10-3 Debian:12.15/oldstable [i386])",
        &["hello"],
    );
    assert_eq!(
        found,
        [
            step(Action::Install, "libfoo", "all", "", "1.0"),
            PackageStep { asked: true, ..step(Action::Install, "hello", "amd64", "", "2.10-3") },
            step(Action::Install, "hello", "i386", "", "2.10-3"),
        ]
    );
}

#[test]
fn tells_upgrade_downgrade_reinstall_and_removal_apart() {
    let found = steps(
        "Remv gone [1.0] [broken on gone:amd64 ]
Purg far:i386 [3]
Purg rest
Inst base-files [12.4+deb12u11] (12.4+deb12u15 Debian:12.15/oldstable [amd64]) [perl:amd64 ]
Inst curl [7.88.1-10+deb12u15] (7.88.1-10+deb12u5 Debian-Security:12/oldstable-security [amd64]) []
Inst coreutils [9.1-1] (9.1-1 Debian:12.15/oldstable [amd64])
Conf base-files (12.4+deb12u15 Debian:12.15/oldstable [amd64])
Conf pjtest-bad (1.0  [all])",
        &["pjtest-bad"],
    );
    assert_eq!(
        found,
        [
            step(Action::Remove, "gone", "all", "1.0", ""),
            step(Action::Purge, "far", "i386", "3", ""),
            step(Action::Purge, "rest", "all", "2", ""),
            step(Action::Upgrade, "base-files", "amd64", "12.4+deb12u11", "12.4+deb12u15"),
            step(Action::Downgrade, "curl", "amd64", "7.88.1-10+deb12u15", "7.88.1-10+deb12u5"),
            step(Action::Reinstall, "coreutils", "amd64", "9.1-1", "9.1-1"),
            PackageStep { asked: true, ..step(Action::Configure, "pjtest-bad", "all", "1.0", "1.0") },
        ]
    );
}

#[test]
fn a_repositorys_label_cannot_pose_as_a_version_or_architecture() {
    let found =
        steps("Inst hello (2.10-3 Evil [arm64]) [x] (9:9 Debian [i386]) [amd64]) [a on b]", &["hello"]);
    assert_eq!(found, [PackageStep { asked: true, ..step(Action::Install, "hello", "amd64", "", "2.10-3") }]);
}

#[test]
fn an_unreadable_line_is_no_plan() {
    for line in
        ["Inst hello", "Inst hello (2.10-3)", "Inst hello [1] 2.10-3 [amd64]", "Conf hello [1]", "Remv hello"]
    {
        let bed = Bed::new();
        bed.script("apt-get", &prints(line));
        let outcome = bed.plan(&plan_install(&["hello"]));
        assert_eq!(outcome.code, "package_failed", "{line}");
        assert!(outcome.steps.is_empty());
    }
}

#[test]
fn nothing_to_do_is_an_empty_plan() {
    let answer = "hello is already the newest version (2.10-3).\n0 upgraded, 0 newly installed, 0 to remove.";
    assert!(steps(answer, &["hello"]).is_empty());
}

#[test]
fn says_why_there_is_no_plan() {
    for (message, code) in [
        ("E: Unable to locate package nosuch:native", "not_found"),
        ("E: Packages need to be removed but remove is disabled.", "plan_refused"),
        ("E: Unmet dependencies. Try 'apt --fix-broken install' with no packages", "needs_repair"),
        ("E: Unable to correct problems, you have held broken packages.", "plan_refused"),
        ("E: Essential packages were removed and -y was used without --allow-remove-essential.", "protected"),
        (
            "E: Held packages were changed and -y was used without --allow-change-held-packages.",
            "plan_refused",
        ),
        (
            "E: Error, pkgProblemResolver::Resolve generated breaks, this may be caused by held packages.",
            "plan_refused",
        ),
        ("E: Something else.", "package_failed"),
    ] {
        let bed = Bed::new();
        bed.script("apt-get", &format!("cat >&2 <<'END'\n{message}\nEND\nexit 100"));
        let outcome = bed.plan(&plan_install(&["nosuch"]));
        assert_eq!((outcome.code.as_str(), outcome.exit_code), (code, 100));
        assert_eq!(format!("E: {}", outcome.detail), message);
    }
}

#[test]
fn does_nothing_that_needs_root() {
    for job in [
        install(&["hello"]),
        Job { kind: JobKind::Update.into(), transaction: 0, ..install(&[]) },
        transaction(Transaction::Purge, &["hello"]),
    ] {
        let bed = Bed::new();
        assert_eq!(bed.plan(&job).code, "invalid_argument");
        assert!(bed.noted("apt-get", "argv").is_empty());
    }
    let bed = Bed::new();
    assert_eq!(bed.plan(&plan_install(&["--option"])).code, "invalid_argument");
    assert_eq!(bed.plan_bytes(b"\xff\xff").code, "invalid_argument");
    let mut bytes = plan_install(&["hello"]).encode_to_vec();
    bytes.extend_from_slice(&[0xf8, 0x07, 0x01]);
    assert_eq!(bed.plan_bytes(&bytes).code, "invalid_argument");
    assert!(bed.noted("apt-get", "argv").is_empty());
}

#[test]
fn shows_what_dpkg_and_apt_know_of_exactly_these_names() {
    let bed = Bed::new();
    bed.script(
        "dpkg-query",
        "printf 'bash\\ti386\\tinstall\\tinstalled\\t4\\tno\\tno\\toptional\\t1\\tforeign\\n'
         printf 'bash\\tamd64\\thold\\tinstalled\\t5.2\\tyes\\tno\\trequired\\t1\\tGNU shell\\n'
         printf 'old\\tall\\tdeinstall\\tconfig-files\\t0.9\\tno\\tno\\toptional\\t1\\tremoved\\n'
         printf 'virtual\\t\\tunknown\\tnot-installed\\t\\t\\t\\t\\t\\t\\n'
         exit 1",
    );
    bed.script(
        "apt-cache",
        &prints(
            "Package: bash\nEssential: yes\nVersion: 5.3\nArchitecture: amd64\nDescription: GNU Bourne Again SHell\n long\n
Package: libcurl3-gnutls\nVersion: 7\nArchitecture: amd64\nDescription: matched only\n
Package: hello\nVersion: 2.10-3\nArchitecture: amd64\nDescription-en: example\n",
        ),
    );
    let names = ["bash", "hello", "old", "virtual", "c.rl"];
    let outcome = bed.plan(&Job { kind: JobKind::Show.into(), transaction: 0, ..install(&names) });
    let info = |name: &str, arch: &str, state: &str, installed: &str, candidate: &str, summary: &str| {
        let [name, arch, state, installed, candidate, summary] =
            [name, arch, state, installed, candidate, summary].map(str::to_owned);
        PackageInfo { name, arch, state, installed, candidate, summary, ..PackageInfo::default() }
    };
    assert_eq!(
        outcome.packages,
        [
            PackageInfo {
                held: true,
                essential: true,
                ..info("bash", "amd64", "installed", "5.2", "5.3", "GNU Bourne Again SHell")
            },
            info("hello", "amd64", "not-installed", "", "2.10-3", "example"),
            info("old", "all", "config-files", "", "", "removed"),
            info("virtual", "", "not-found", "", "", ""),
            info("c.rl", "", "not-found", "", "", ""),
        ]
    );
    let argv = bed.noted("apt-cache", "argv");
    assert_eq!(
        argv.get(..5).unwrap(),
        ["show", "-o", "APT::Cmd::Pattern-Only=true", "--no-all-versions", "--"]
    );
    assert_eq!(argv.get(5).unwrap(), "bash:native");
    let argv = bed.noted("dpkg-query", "argv");
    assert_eq!(argv.get(2..4).unwrap(), ["--", "bash"]);
}

fn planned(of: Transaction, packages: &[&str]) -> Job {
    Job { kind: JobKind::Plan.into(), ..transaction(of, packages) }
}

#[test]
fn each_transaction_asks_apt_for_itself_alone() {
    let [none, x] = [&[] as &[&str], &["x-y", "g++"]];
    for (of, names, new_packages, words) in [
        (Transaction::Install, x, false, "--no-remove install -- x-y:native g++:native"),
        (Transaction::Remove, x, false, "remove -- x-y:native g++:native"),
        (Transaction::Purge, x, false, "purge -- x-y:native g++:native"),
        (Transaction::Autoremove, none, false, "autoremove --"),
        (Transaction::Upgrade, x, true, "--no-remove --only-upgrade install -- x-y:native g++:native"),
        (Transaction::Upgrade, none, false, "--no-remove upgrade --"),
        (Transaction::Upgrade, none, true, "--no-remove --with-new-pkgs upgrade --"),
        (Transaction::Repair, none, false, "--no-remove --fix-broken install --"),
    ] {
        let automatic = "-o APT::Get::AutomaticRemove=false ";
        let head = if of == Transaction::Autoremove { "" } else { automatic };
        let wanted = format!("{head}-o APT::Install-Recommends=false {words}");
        let (planned_at, run_at) = (Bed::new(), Bed::new());
        planned_at.script("dpkg-query", &has(&["x-y amd64 installed 1", "g++ amd64 installed 1"]));
        // A repair of nothing starts nothing.
        run_at.script("dpkg-query", &has(&["bad amd64 half-configured 1"]));
        planned_at.plan(&Job { new_packages, ..planned(of, names) });
        run_at.run(&Job { new_packages, ..transaction(of, names) });
        for bed in [planned_at, run_at] {
            let argv = bed.noted("apt-get", "argv").join(" ");
            assert!(argv.ends_with(&format!(" {wanted}")), "{of:?}: {argv}");
            assert_eq!(argv.matches(" -- ").count() + usize::from(argv.ends_with(" --")), 1, "{argv}");
        }
    }
}

#[test]
fn what_is_kept_back_is_told() {
    let bed = Bed::new();
    bed.script(
        "apt-get",
        &prints("Calculating upgrade...\nThe following packages have been kept back:\n  linux-image-amd64 held-1\n  third\nThe following packages will be upgraded:\n  curl\n1 upgraded"),
    );
    let outcome = bed.plan(&planned(Transaction::Upgrade, &[]));
    assert_eq!(outcome.kept_back, ["linux-image-amd64", "held-1", "third"]);
}

#[test]
fn an_interrupted_dpkg_stops_every_transaction_but_its_repair() {
    let names: &[&str] = &["hello"];
    for (of, names) in [
        (Transaction::Install, names),
        (Transaction::Remove, names),
        (Transaction::Purge, names),
        (Transaction::Autoremove, &[]),
        (Transaction::Upgrade, &[]),
    ] {
        let bed = Bed::new();
        std::fs::create_dir(&bed.host.dpkg_updates).unwrap();
        std::fs::write(bed.host.dpkg_updates.join("tmp.i"), "").unwrap();
        assert_eq!(bed.plan(&planned(of, names)).code, "", "{of:?}");
        std::fs::write(bed.host.dpkg_updates.join("0003"), "").unwrap();
        assert_eq!(bed.plan(&planned(of, names)).code, "needs_repair", "{of:?}");
    }
    let bed = Bed::new();
    std::fs::create_dir(&bed.host.dpkg_updates).unwrap();
    std::fs::write(bed.host.dpkg_updates.join("0003"), "").unwrap();
    assert_eq!(bed.plan(&planned(Transaction::Repair, &[])).code, "");
}

#[test]
fn nothing_that_an_earlier_run_left_is_configured_along_the_way() {
    let bed = Bed::new();
    bed.script(
        "dpkg-query",
        &has(&["bad all half-configured 1", "torn amd64 half-installed 2", "whole all installed 3"]),
    );
    bed.script(
        "apt-get",
        &prints("Inst hello (1 Debian [all])\nConf hello (1 Debian [all])\nConf bad (1 Debian [all])"),
    );
    let outcome = bed.plan(&plan_install(&["hello"]));
    assert_eq!(outcome.code, "needs_repair");
    assert!(outcome.detail.starts_with("bad is unpacked and not configured"), "{}", outcome.detail);
    // Its own transaction may: that is what was asked for.
    bed.script("apt-get", &prints("Conf bad (1 Debian [all])"));
    assert_eq!(bed.plan(&plan_install(&["bad"])).code, "");
    let repair = bed.plan(&planned(Transaction::Repair, &[]));
    let half =
        [step(Action::Configure, "bad", "all", "1", "1"), step(Action::Configure, "torn", "amd64", "2", "2")];
    assert_eq!(repair.steps, half);
}

#[test]
fn what_the_system_needs_is_not_removed() {
    let kernel = nix::sys::utsname::uname().unwrap().release().to_str().unwrap().to_owned();
    let image = format!("linux-image-{kernel}");
    let unsigned = format!("{image}-unsigned");
    for (row, name) in [
        (format!("{unsigned} amd64 installed 1"), unsigned.as_str()),
        ("tar amd64 installed 1 required".to_owned(), "tar"),
        (format!("{image} amd64 installed 1"), image.as_str()),
    ] {
        let bed = Bed::new();
        bed.script("dpkg-query", &has(&[&row]));
        for line in [format!("Remv {name} [1]"), format!("Purg {name} [1]")] {
            bed.script("apt-get", &prints(&line));
            let outcome = bed.plan(&planned(Transaction::Remove, &["hello"]));
            assert_eq!(outcome.code, "protected", "{line}");
            assert!(outcome.detail.starts_with(&format!("{name} is ")), "{}", outcome.detail);
        }
        bed.script("apt-get", &prints(&format!("Inst {name} [1] (2 Debian [amd64])")));
        bed.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
        assert_eq!(bed.plan(&planned(Transaction::Upgrade, &[])).code, "");
    }
}

#[test]
fn an_upgrade_of_what_is_not_there_is_no_silent_nothing() {
    let bed = Bed::new();
    bed.script("dpkg-query", &has(&["hello all installed 1", "rest all config-files 2"]));
    assert_eq!(bed.plan(&planned(Transaction::Upgrade, &["hello"])).code, "");
    for name in ["rest", "absent"] {
        let outcome = bed.plan(&planned(Transaction::Upgrade, &["hello", name]));
        assert_eq!(
            (outcome.code.as_str(), outcome.detail),
            ("not_found", format!("{name} is not installed"))
        );
    }
}

#[test]
fn sizes_are_those_of_the_packages() {
    let bed = Bed::new();
    bed.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
    bed.script(
        "dpkg-query",
        &has(&["up amd64 installed 1", "gone all installed 1", "rest all config-files 1"]),
    );
    bed.script(
        "apt-get",
        &prints("Remv gone [1]\nPurg rest\nInst up [1] (2 Debian [amd64])\nInst new (3 Debian [all])"),
    );
    bed.script(
        "apt-cache",
        &format!(
            "case $1 in show) {};; esac",
            prints(
                "Package: up\nVersion: 1\nArchitecture: amd64\nInstalled-Size: 9999\nSize: 9999\n
Package: up\nVersion: 2\nArchitecture: amd64\nInstalled-Size: 150\nSize: 5000\n
Package: new\nVersion: 3\nArchitecture: all\nInstalled-Size: 20\nSize: 700",
            )
        ),
    );
    let outcome = bed.plan(&plan_install(&["new"]));
    // 150 - 100, 20, and - 100 for what goes; of configuration alone nothing is known.
    assert_eq!((outcome.download_bytes, outcome.disk_bytes), (5700, (50 + 20 - 100) * 1024));
    let argv = bed.noted("apt-cache", "argv").join(" ");
    assert!(argv.contains("show -o APT::Cmd::Pattern-Only=true -- up:native=2 new:native=3"), "{argv}");
}
