//! Simulations of transactions. The programs' answers are those of apt 2.6 and dpkg 1.21.

use crate::support::{Reply, World, has, transaction};
use postern_proto::link::Kind;
use postern_proto::root::v1::{PackageFlags, ProbePackages};
use postern_proto::v1::{Action, Meta, Mode, Package, PackageInstallRequest, PackageStep};
use prost::Message;

/// A fake that prints this.
fn prints(text: &str) -> String {
    format!("cat <<'END'\n{text}\nEND\n")
}

impl World {
    /// Asks the probe about a transaction.
    fn ask(&self, verb: &str, packages: &[&str]) -> Reply {
        self.probe(Kind::ProbePackages, &transaction(verb, packages))
    }
}

/// A step of a plan.
fn step(action: Action, name: &str, arch: &str, old: &str, new: &str) -> PackageStep {
    let [name, arch, old, new] = [name, arch, old, new].map(str::to_owned);
    PackageStep { action: action.into(), name, arch, old, new, sources: Vec::new(), asked: false }
}

/// The steps that the simulation's output stands for, which are sorted by name.
fn steps(output: &str, asked: &[&str]) -> Vec<PackageStep> {
    let world = World::new(Vec::new());
    world.script("apt-get", &prints(output));
    world.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
    world.script(
        "dpkg-query",
        &has(&["gone all installed 1.0", "far i386 installed 3", "rest all config-files 2"]),
    );
    world.ask("package.install", asked).packages().steps.clone()
}

#[test]
fn reads_installs_and_marks_named_packages() {
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
            PackageStep { asked: true, ..step(Action::Install, "hello", "amd64", "", "2.10-3") },
            step(Action::Install, "hello", "i386", "", "2.10-3"),
            step(Action::Install, "libfoo", "all", "", "1.0"),
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
            step(Action::Upgrade, "base-files", "amd64", "12.4+deb12u11", "12.4+deb12u15"),
            step(Action::Reinstall, "coreutils", "amd64", "9.1-1", "9.1-1"),
            step(Action::Downgrade, "curl", "amd64", "7.88.1-10+deb12u15", "7.88.1-10+deb12u5"),
            step(Action::Purge, "far", "i386", "3", ""),
            step(Action::Remove, "gone", "all", "1.0", ""),
            PackageStep { asked: true, ..step(Action::Configure, "pjtest-bad", "all", "1.0", "1.0") },
            step(Action::Purge, "rest", "all", "2", ""),
        ]
    );
}

#[test]
fn a_repository_label_cannot_pose_as_a_version_or_architecture() {
    let found =
        steps("Inst hello (2.10-3 Evil [arm64]) [x] (9:9 Debian [i386]) [amd64]) [a on b]", &["hello"]);
    assert_eq!(found, [PackageStep { asked: true, ..step(Action::Install, "hello", "amd64", "", "2.10-3") }]);
}

#[test]
fn nothing_to_do_is_an_empty_transaction() {
    let answer = "hello is already the newest version (2.10-3).\n0 upgraded, 0 newly installed, 0 to remove.";
    assert!(steps(answer, &["hello"]).is_empty());
}

#[test]
fn names_packages_that_are_kept_back() {
    let world = World::new(Vec::new());
    world.script(
        "apt-get",
        &prints("Calculating upgrade...\nThe following packages have been kept back:\n  linux-image-amd64 held-1\n  third\nThe following packages will be upgraded:\n  curl\n1 upgraded"),
    );
    let outcome = world.ask("package.upgrade", &[]);
    assert_eq!(outcome.packages().kept_back, ["linux-image-amd64", "held-1", "third"]);
}

#[test]
fn refuses_all_but_repair_after_an_interrupted_dpkg() {
    let names: &[&str] = &["hello"];
    for (of, names) in [
        ("package.install", names),
        ("package.remove", names),
        ("package.purge", names),
        ("package.autoremove", &[]),
        ("package.upgrade", &[]),
    ] {
        let world = World::new(Vec::new());
        std::fs::create_dir(&world.host.apt.dpkg_updates).unwrap();
        std::fs::write(world.host.apt.dpkg_updates.join("tmp.i"), "").unwrap();
        assert_eq!(world.ask(of, names).code(), "", "{of:?}");
        std::fs::write(world.host.apt.dpkg_updates.join("0003"), "").unwrap();
        assert_eq!(world.ask(of, names).code(), "needs_repair", "{of:?}");
    }
    let world = World::new(Vec::new());
    std::fs::create_dir(&world.host.apt.dpkg_updates).unwrap();
    std::fs::write(world.host.apt.dpkg_updates.join("0003"), "").unwrap();
    assert_eq!(world.ask("package.repair", &[]).code(), "");
}

#[test]
fn refuses_to_configure_what_an_earlier_run_left() {
    let world = World::new(Vec::new());
    world.script(
        "dpkg-query",
        &has(&["bad all half-configured 1", "torn amd64 half-installed 2", "whole all installed 3"]),
    );
    world.script(
        "apt-get",
        &prints("Inst hello (1 Debian [all])\nConf hello (1 Debian [all])\nConf bad (1 Debian [all])"),
    );
    let outcome = world.ask("package.install", &["hello"]);
    assert_eq!(outcome.code(), "needs_repair");
    assert!(outcome.message().starts_with("bad is unpacked and not configured"), "{}", outcome.message());
    // Its own transaction may: that is what was asked for.
    world.script("apt-get", &prints("Conf bad (1 Debian [all])"));
    assert_eq!(world.ask("package.install", &["bad"]).code(), "");
    let repair = world.ask("package.repair", &[]);
    let half =
        [step(Action::Configure, "bad", "all", "1", "1"), step(Action::Configure, "torn", "amd64", "2", "2")];
    assert_eq!(repair.packages().steps, half);
}

#[test]
fn refuses_to_remove_essential_packages_and_the_running_kernel() {
    let kernel = nix::sys::utsname::uname().unwrap().release().to_str().unwrap().to_owned();
    let image = format!("linux-image-{kernel}");
    let unsigned = format!("{image}-unsigned");
    for (row, name) in [
        (format!("{unsigned} amd64 installed 1"), unsigned.as_str()),
        ("tar amd64 installed 1 required".to_owned(), "tar"),
        (format!("{image} amd64 installed 1"), image.as_str()),
    ] {
        let world = World::new(Vec::new());
        world.script("dpkg-query", &has(&[&row]));
        for line in [format!("Remv {name} [1]"), format!("Purg {name} [1]")] {
            world.script("apt-get", &prints(&line));
            let outcome = world.ask("package.remove", &["hello"]);
            assert_eq!(outcome.code(), "protected", "{line}");
            assert!(outcome.message().starts_with(&format!("{name} is ")), "{}", outcome.message());
        }
        world.script("apt-get", &prints(&format!("Inst {name} [1] (2 Debian [amd64])")));
        world.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
        assert_eq!(world.ask("package.upgrade", &[]).code(), "");
    }
}

#[test]
fn refuses_to_upgrade_a_package_that_is_not_installed() {
    let world = World::new(Vec::new());
    world.script("dpkg-query", &has(&["hello all installed 1", "rest all config-files 2"]));
    assert_eq!(world.ask("package.upgrade", &["hello"]).code(), "");
    for name in ["rest", "absent"] {
        let outcome = world.ask("package.upgrade", &["hello", name]);
        assert_eq!(
            (outcome.code(), outcome.message()),
            ("not_found", format!("{name} is not installed").as_str())
        );
    }
}

#[test]
fn sums_download_and_disk_sizes_of_the_packages() {
    let world = World::new(Vec::new());
    world.script("dpkg", "case $1 in --print-architecture) echo amd64 ;; *) exec dpkg \"$@\" ;; esac");
    world.script(
        "dpkg-query",
        &has(&["up amd64 installed 1", "gone all installed 1", "rest all config-files 1"]),
    );
    world.script(
        "apt-get",
        &prints("Remv gone [1]\nPurg rest\nInst up [1] (2 Debian [amd64])\nInst new (3 Debian [all])"),
    );
    world.script(
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
    let outcome = world.ask("package.install", &["new"]);
    // 150 - 100, 20, and - 100 for what goes; of configuration alone nothing is known.
    assert_eq!(
        (outcome.packages().download_bytes, outcome.packages().disk_bytes),
        (5700, (50 + 20 - 100) * 1024)
    );
    let argv = world.noted("apt-cache", "argv").join(" ");
    assert!(argv.contains("show -o APT::Cmd::Pattern-Only=true -- up:native=2 new:native=3"), "{argv}");
}

#[test]
fn asks_apt_for_the_same_request_as_the_run() {
    let [none, x]: [&[&str]; 2] = [&[], &["x-y", "g++"]];
    let named = "-- x-y:native g++:native";
    for (verb, names, new_packages, words) in [
        ("package.install", x, false, format!("--no-remove install {named}")),
        ("package.remove", x, false, format!("remove {named}")),
        ("package.purge", x, false, format!("purge {named}")),
        ("package.autoremove", none, false, "autoremove --".to_owned()),
        ("package.upgrade", x, true, format!("--no-remove --only-upgrade install {named}")),
        ("package.upgrade", none, false, "--no-remove upgrade --".to_owned()),
        ("package.upgrade", none, true, "--no-remove --with-new-pkgs upgrade --".to_owned()),
        ("package.repair", none, false, "--no-remove --fix-broken install --".to_owned()),
    ] {
        let world = World::new(Vec::new());
        world.script("dpkg-query", &has(&["x-y amd64 installed 1", "g++ amd64 installed 1"]));
        let flags = PackageFlags { new_packages, ..PackageFlags::default() };
        let question = ProbePackages { flags: Some(flags), ..transaction(verb, names) };
        world.probe(Kind::ProbePackages, &question).packages();
        let argv = world.noted("apt-get", "argv");
        assert_eq!(argv[..5], ["-s", "-q", "-y", "-o", "APT::Cmd::Pattern-Only=true"]);
        // The arguments of the run end alike: both are made of one `Transaction`.
        let argv = argv.join(" ");
        assert!(argv.ends_with(&format!(" -o APT::Install-Recommends=false {words}")), "{verb}: {argv}");
        assert_eq!(argv.contains("APT::Get::AutomaticRemove=false"), verb != "package.autoremove", "{argv}");
        assert!(world.noted("apt-get", "env").contains(&"HOME=/nonexistent".to_owned()));
    }
}

#[test]
fn passes_each_flag_of_the_grant_to_apt() {
    let every = PackageFlags {
        recommends: true,
        allow_removals: true,
        allow_downgrades: true,
        ..PackageFlags::default()
    };
    for (flags, wanted) in [
        (PackageFlags::default(), "-o APT::Install-Recommends=false --no-remove install"),
        (every, "-o APT::Install-Recommends=true --allow-downgrades install"),
    ] {
        let world = World::new(Vec::new());
        let question = ProbePackages { flags: Some(flags), ..transaction("package.install", &["g++=4:12"]) };
        world.probe(Kind::ProbePackages, &question).packages();
        let argv = world.noted("apt-get", "argv").join(" ");
        assert!(argv.ends_with(&format!(" {wanted} -- g++:native=4:12")), "{argv}");
    }
}

#[test]
fn an_upgrade_of_everything_names_each_package() {
    let world = World::new(Vec::new());
    world.script("dpkg-query", &has(&["up amd64 installed 1"]));
    world.script("apt-get", &prints("Inst up [1] (2 Debian [amd64])\nInst new (3 Debian [all])"));
    let reply = world.ask("package.upgrade", &[]);
    let asked =
        reply.packages().steps.iter().map(|step| (step.name.as_str(), step.asked)).collect::<Vec<_>>();
    assert_eq!(asked, [("new", false), ("up", true)]);
}

#[test]
fn refuses_a_line_of_apt_that_it_cannot_read() {
    for line in
        ["Inst hello", "Inst hello (2.10-3)", "Inst hello [1] 2.10-3 [amd64]", "Conf hello [1]", "Remv hello"]
    {
        let world = World::new(Vec::new());
        world.script("apt-get", &prints(line));
        let reply = world.ask("package.install", &["hello"]);
        assert_eq!(reply.code(), "package_failed", "{line}");
        assert!(reply.message().contains(line), "{reply:?}");
    }
}

#[test]
fn refuses_names_versions_and_sources_that_are_not_what_they_must_be() {
    for line in [
        "Inst hel\u{1b}[31mlo (1 Debian [amd64])",
        "Inst Hello (1 Debian [amd64])",
        "Inst hello (1\u{7} Debian [amd64])",
        "Inst hello (1\rRemv Debian [amd64])",
        "Inst hello (1\u{2028}x Debian [amd64])",
        "Inst hello (1;id Debian [amd64])",
        "Inst hello (1 Debian [am\u{8}d64])",
        "Inst hello (1 Debian [AMD 64])",
    ] {
        let world = World::new(Vec::new());
        world.script("apt-get", &prints(line));
        let reply = world.ask("package.install", &["hello"]);
        assert_eq!(reply.code(), "package_failed", "{line:?}: {reply:?}");
        assert!(!reply.message().contains(char::is_control), "{reply:?}");
    }
    let world = World::new(Vec::new());
    world.script("apt-get", &prints("The following packages have been kept back:\n  a_b\n"));
    assert_eq!(world.ask("package.upgrade", &[]).code(), "package_failed");
}

#[test]
fn a_version_cannot_bring_a_line_of_its_own() {
    // apt prints the line feed of a repository's label or version: what follows is no package's line.
    let world = World::new(Vec::new());
    world.script("apt-get", &prints("Inst hello (1\nPurg nothing\n Debian [amd64])"));
    assert_eq!(world.ask("package.install", &["hello"]).code(), "package_failed");
}

#[test]
fn tells_why_apt_refuses() {
    for (message, code) in [
        ("E: Unable to locate package nosuch:native", "not_found"),
        ("E: Packages need to be removed but remove is disabled.", "plan_refused"),
        ("E: Unmet dependencies. Try 'apt --fix-broken install' with no packages", "needs_repair"),
        ("E: Unable to correct problems, you have held broken packages.", "plan_refused"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend.", "busy"),
        ("E: Essential packages were removed and -y was used without --allow-remove-essential.", "protected"),
        ("E: Something else.", "package_failed"),
    ] {
        let world = World::new(Vec::new());
        world.script("apt-get", &format!("cat >&2 <<'END'\n{message}\nEND\nexit 100"));
        let reply = world.ask("package.install", &["nosuch"]);
        assert_eq!(reply.code(), code, "{message}");
        assert_eq!(format!("E: {}", reply.message()), message);
    }
}

#[test]
fn takes_the_bytes_of_the_client_with_what_is_about_the_request_itself() {
    let world = World::new(Vec::new());
    let meta = Meta {
        request_id: "01890a5d-ac96-774b-bcce-b302099a8057".to_owned(),
        mode: Mode::Preview.into(),
        reason: "a test".to_owned(),
        ..Meta::default()
    };
    let packages = vec![Package { name: "hello".to_owned(), version: String::new() }];
    let body = PackageInstallRequest { meta: Some(meta), packages }.encode_to_vec();
    let question = ProbePackages { body, ..transaction("package.install", &["hello"]) };
    world.script("apt-get", &prints("Inst hello (2.10-3 Debian [amd64])"));
    let reply = world.probe(Kind::ProbePackages, &question);
    assert_eq!(reply.packages().steps.len(), 1);
    let mut unknown_field = question.clone();
    unknown_field.body.extend_from_slice(&[0xf8, 0x07, 0x01]);
    assert_eq!(world.probe(Kind::ProbePackages, &unknown_field).code(), "invalid_argument");
}
