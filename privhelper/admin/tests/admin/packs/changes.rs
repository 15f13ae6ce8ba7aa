//! `pack add`, `diff`, `update` and `remove`: nothing before a person agrees, and no edit of a person's is lost.

use super::{STARTER, shipped};
use crate::support::{Ran, TestHost};
use postern_admin::io::Exit;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A host with the shipped packs.
fn host() -> TestHost {
    let mut host = TestHost::new(STARTER);
    host.host.packs = host.host.etc.with_file_name("packs");
    fs::create_dir(&host.host.packs).unwrap();
    for entry in fs::read_dir(shipped()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, host.host.packs.join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(host.run(&["policy", "apply", "--yes"]).exit, Exit::Done);
    host
}

const FILE: &str = "policy.d/pack-web-nginx.toml";

fn file(host: &TestHost) -> Option<String> {
    fs::read_to_string(host.host.etc.join(FILE)).ok()
}

fn done(ran: &Ran) {
    assert_eq!(ran.exit, Exit::Done, "{}{}", ran.out, ran.err);
}

#[test]
fn writes_plain_toml_with_the_values_and_applies_it() {
    let host = host();
    let before = host.accepted().unwrap();
    let ran = host.run(&["pack", "add", "web-nginx", "--set", "root=/srv/a,/srv/b", "--yes"]);
    done(&ran);
    assert!(ran.out.contains("hazard: nginx opens logs"), "{}", ran.out);
    assert!(ran.out.contains("writes ") && ran.out.contains(FILE), "{}", ran.out);
    let text = file(&host).unwrap();
    assert!(text.starts_with("# Pack web-nginx version 2 sha256 "), "{text}");
    assert!(text.contains("\n# set root = /srv/a, /srv/b\n"), "{text}");
    assert!(text.contains("directories = [\"/srv/a\", \"/srv/b\"]"), "{text}");
    assert!(!text.contains("${"), "{text}");
    let mode = fs::metadata(host.host.etc.join(FILE)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o640);
    assert_ne!(host.accepted().unwrap(), before);
    let explained = host.run(&["policy", "explain", "unit.reload", "nginx"]);
    done(&explained);
    // The same again is the same.
    let again = host.run(&["pack", "add", "web-nginx", "--yes"]);
    done(&again);
    assert_eq!(file(&host).unwrap(), text);
    assert!(again.out.contains("no difference"), "{}", again.out);
}

#[test]
fn asks_each_variable_and_writes_nothing_before_the_answer() {
    let host = host();
    let before = host.accepted().unwrap();
    for typed in ["", "/srv/site\n", "/srv/site\nask\n", "/srv/site\nask\nno\n"] {
        let ran = host.answer(&["pack", "add", "web-nginx"], typed);
        assert_ne!(ran.exit, Exit::Done, "{typed:?}");
        assert_eq!((file(&host), host.accepted().unwrap()), (None, before.clone()), "{typed:?}");
    }
    let ran = host.answer(&["pack", "add", "web-nginx"], "not a path\n/srv/site\n\ny\n");
    done(&ran);
    assert!(
        ran.err.contains("[/var/www/html]") && ran.err.contains("is not an absolute path"),
        "{}",
        ran.err
    );
    assert!(file(&host).unwrap().contains("# set root = /srv/site\n"));
}

#[test]
fn says_which_values_are_missing_where_nobody_answers() {
    let host = host();
    let ran = host.run(&["pack", "add", "tls-certbot", "logs", "--yes"]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.err.contains("--set tls-certbot.domains=VALUE"), "{}", ran.err);
    let ran = host.run(&["pack", "add", "web-nginx"]);
    assert_eq!((ran.exit, file(&host)), (Exit::Usage, None), "{}", ran.err);
    for set in ["root", "roots=/srv/x", "root=srv", "logs.root=/srv/x"] {
        let ran = host.run(&["pack", "add", "web-nginx", "--yes", "--set", set]);
        assert_eq!((ran.exit, file(&host)), (Exit::Usage, None), "{set}: {}", ran.err);
    }
    assert_eq!(host.run(&["pack", "add", "web-ngin", "--yes"]).exit, Exit::Usage);
    assert_eq!(host.run(&["pack", "show", "../web-nginx"]).exit, Exit::Usage);
}

#[test]
fn a_pack_whose_policy_is_refused_leaves_no_file() {
    let host = host();
    let before = host.accepted().unwrap();
    // The pack's own examples say that nobody can be put into this group.
    let set = ["--set", "names=deploy", "--set", "groups=sudo"];
    let ran = host.run(&[&["pack", "add", "users-and-keys", "--yes"][..], &set[..]].concat());
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("does_not_match"), "{}", ran.err);
    assert!(!host.host.etc.join("policy.d/pack-users-and-keys.toml").exists());
    assert_eq!(host.accepted().unwrap(), before);
    // An error of the recorder's is told, and the file is taken back.
    fs::write(host.host.state.join("reserve"), "").unwrap();
    let ran = host.run(&["pack", "add", "web-nginx", "--yes"]);
    assert_eq!((ran.exit, file(&host)), (Exit::Failed, None), "{}", ran.err);
    assert_eq!(host.accepted().unwrap(), before);
}

#[test]
fn an_edited_file_is_never_replaced_silently() {
    let host = host();
    done(&host.run(&["pack", "add", "web-nginx", "--yes"]));
    let edited = file(&host).unwrap().replace("60/1h", "7/1h");
    host.write(FILE, &edited);
    let list = host.run(&["pack", "list"]);
    assert!(list.out.contains("web-nginx") && list.out.contains("yes, edited"), "{}", list.out);
    let diff = host.run(&["pack", "diff", "web-nginx"]);
    assert!(diff.out.contains("-rate = \"7/1h\"") && diff.out.contains("+rate = \"60/1h\""), "{}", diff.out);
    for command in [&["pack", "add", "web-nginx", "--yes"][..], &["pack", "remove", "web-nginx", "--yes"]] {
        let ran = host.run(command);
        assert_eq!((ran.exit, file(&host).as_ref()), (Exit::Failed, Some(&edited)), "{}", ran.err);
        assert!(ran.err.contains("--discard-edits"), "{}", ran.err);
    }
    // A person says no, then yes.
    let ran = host.answer(&["pack", "add", "web-nginx"], "\n\nn\n");
    assert_eq!((ran.exit, file(&host).as_ref()), (Exit::Failed, Some(&edited)), "{}", ran.err);
    done(&host.run(&["pack", "add", "web-nginx", "--yes", "--discard-edits"]));
    assert!(file(&host).unwrap().contains("60/1h"));
    let kept = host.host.etc.join("policy.d/pack-web-nginx.toml.before");
    assert_eq!(fs::read_to_string(kept).unwrap(), edited);
}

#[test]
fn update_takes_up_a_new_version_with_the_values_that_were_given() {
    let host = host();
    done(&host.run(&["pack", "add", "web-nginx", "--set", "root=/srv/site", "--yes"]));
    let same = host.run(&["pack", "update", "--yes"]);
    done(&same);
    assert!(same.out.contains("nothing to update"), "{}", same.out);
    let path = host.host.packs.join("web-nginx.toml");
    let newer =
        fs::read_to_string(&path).unwrap().replace("version = 2", "version = 3").replace("60/1h", "30/1h");
    fs::write(&path, newer).unwrap();
    assert!(host.run(&["pack", "list"]).out.contains("yes, outdated"));
    let diff: Value = serde_json::from_str(&host.run(&["pack", "diff", "web-nginx", "--json"]).out).unwrap();
    assert_eq!(
        (&diff["same"], &diff["edited"], &diff["installed_version"]),
        (&false.into(), &false.into(), &3.into())
    );
    done(&host.run(&["pack", "update", "--yes"]));
    let text = file(&host).unwrap();
    assert!(
        text.contains("version 3 sha256") && text.contains("/srv/site") && text.contains("30/1h"),
        "{text}"
    );
    done(&host.run(&["pack", "diff", "web-nginx"]));
    assert_eq!(host.run(&["pack", "update", "logs", "--yes"]).exit, Exit::Usage);
}

#[test]
fn the_same_again_writes_nothing_and_asks_nothing_of_the_recorder() {
    let host = host();
    done(&host.run(&["pack", "add", "web-nginx", "--yes"]));
    let (state, units) = (host.state(), host.units());
    // A unit that somebody took away: only `policy apply` is for mending.
    let gone = units.first().map(|(path, _)| path.clone()).unwrap();
    fs::remove_file(&gone).unwrap();
    let recorder = host.answering(|method, _| panic!("{method} was called"));
    for command in [&["pack", "add", "web-nginx", "--yes"][..], &["pack", "update", "--yes"]] {
        let again = host.run(command);
        done(&again);
        assert!(!again.out.contains("accepted:"), "{}", again.out);
    }
    assert!(recorder.finish().is_empty());
    assert_eq!(host.state(), state);
    assert!(!gone.exists());
    done(&host.run(&["policy", "apply", "--yes"]));
    assert_eq!(host.units(), units);
    // A rule in another line is another position of it, which tools name: accepted again.
    let policy = fs::read_to_string(host.host.etc.join("policy.toml")).unwrap();
    host.write("policy.toml", format!("# moved\n{policy}"));
    let moved = host.run(&["pack", "add", "web-nginx", "--yes"]);
    done(&moved);
    assert!(moved.out.contains("accepted:"), "{}", moved.out);
    assert_ne!(host.state(), state);
}

#[test]
fn remove_takes_the_file_and_its_grants_away() {
    let host = host();
    let before = host.run(&["policy", "explain", "unit.reload", "nginx"]).exit;
    assert_eq!(before, Exit::Refused);
    done(&host.run(&["pack", "add", "web-nginx", "diagnostics", "--yes"]));
    done(&host.run(&["policy", "explain", "unit.reload", "nginx"]));
    done(&host.run(&["pack", "remove", "web-nginx", "--yes"]));
    assert_eq!(file(&host), None);
    assert_eq!(host.run(&["policy", "explain", "unit.reload", "nginx"]).exit, Exit::Refused);
    let again = host.run(&["pack", "remove", "web-ngin", "--yes"]);
    assert_eq!(again.exit, Exit::Failed);
    assert!(again.err.contains("unknown added pack \"web-ngin\" (permitted: diagnostics)"), "{}", again.err);
    let list: Value = serde_json::from_str(&host.run(&["pack", "list", "--json"]).out).unwrap();
    let added = list["packs"].as_array().unwrap().iter().filter(|pack| !pack["added"].is_null());
    assert_eq!(added.map(|pack| pack["name"].as_str().unwrap()).collect::<Vec<_>>(), ["diagnostics"]);
}

#[test]
fn a_pack_is_offered_where_its_package_or_unit_is() {
    let host = host();
    let offered = |host: &TestHost| {
        let list: Value = serde_json::from_str(&host.run(&["pack", "list", "--json"]).out).unwrap();
        let packs = list["packs"].as_array().unwrap().clone();
        let offered = packs.iter().filter(|pack| pack["offered"] == true);
        offered.map(|pack| pack["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let everywhere = offered(&host);
    assert!(everywhere.contains(&"diagnostics".to_owned()) && !everywhere.contains(&"web-nginx".to_owned()));
    let dpkg = host.host.root.join("var/lib/dpkg");
    fs::create_dir_all(&dpkg).unwrap();
    let entry =
        |state: &str| format!("Package: a\nStatus: x\n\nPackage: nginx-light\nStatus: {state}\nVersion: 1\n");
    fs::write(dpkg.join("status"), entry("deinstall ok config-files")).unwrap();
    assert!(!offered(&host).contains(&"web-nginx".to_owned()));
    fs::write(dpkg.join("status"), entry("install ok installed")).unwrap();
    assert!(offered(&host).contains(&"web-nginx".to_owned()));
    let units = host.host.root.join("usr/lib/systemd/system");
    fs::create_dir_all(&units).unwrap();
    fs::write(units.join("nftables.service"), "").unwrap();
    assert!(offered(&host).contains(&"firewall-nft".to_owned()));
    // A held package is installed; one that is to be installed or is only unpacked is not.
    for state in ["install ok not-installed", "install ok unpacked", "hold ok config-files"] {
        fs::write(dpkg.join("status"), entry(state)).unwrap();
        assert!(!offered(&host).contains(&"web-nginx".to_owned()), "{state}");
    }
    fs::write(dpkg.join("status"), entry("hold ok installed")).unwrap();
    assert!(offered(&host).contains(&"web-nginx".to_owned()));
    // Packages from elsewhere are found by their units.
    for (unit, pack) in [
        ("postgresql.service", "postgres"),
        ("docker.service", "containers"),
        ("certbot.timer", "tls-certbot"),
    ] {
        assert!(!offered(&host).contains(&pack.to_owned()), "{pack}");
        fs::write(units.join(unit), "").unwrap();
        assert!(offered(&host).contains(&pack.to_owned()), "{pack}");
    }
}

#[test]
fn packs_of_running_units_are_proposed_first_and_those_of_stopped_ones_last() {
    let mut host = host();
    let status =
        ["fail2ban", "nginx", "restic"].map(|name| format!("Package: {name}\nStatus: hold ok installed\n\n"));
    let dpkg = host.host.root.join("var/lib/dpkg");
    fs::create_dir_all(&dpkg).unwrap();
    fs::write(dpkg.join("status"), status.concat()).unwrap();
    let proposed = |host: &TestHost| {
        let ran = host.answer(&["init", "--tasks=none", "--approve=none", "--look=none"], "");
        let words = ran.err.split("none is an answer) [").nth(1).unwrap().split(']').next().unwrap();
        words.to_owned()
    };
    // Without systemd nothing is known to run.
    assert_eq!(proposed(&host), "backup-restic, fail2ban, web-nginx");
    let systemctl = host.host.etc.join("systemctl");
    let shown = "Names=fail2ban.service\nActiveState=inactive\n\nNames=web.service nginx.service\nActiveState=active\n";
    let script = format!("#!/bin/sh\ntest \"$1 $5\" = 'show fail2ban.service' && printf '{shown}'\n");
    fs::write(&systemctl, script).unwrap();
    fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(&host.host.systemd).unwrap();
    host.host.systemctl = Some(systemctl);
    assert_eq!(proposed(&host), "web-nginx, backup-restic, fail2ban");
}
