//! Parses systemd's properties and unit files.

use crate::closure::name;
use postern_affected::{Dependency, Install, UnitProperties};
use postern_policy::types::UnitName;

pub fn install(unit: &str, files: &str) -> Install {
    let mut install = Install::default();
    install.read_files(&name(unit), files).unwrap();
    install
}

fn links(install: &Install) -> Vec<String> {
    install.links.iter().map(|link| format!("{} {} {}", link.setting, link.holder, link.unit)).collect()
}

#[test]
fn finds_every_name_that_enabling_uses() {
    let files = "# /lib/systemd/system/a@x.service\n[Unit]\nWants=no.service\n[Install]\n Alias = b.service\n\
        WantedBy=m.target \\\n# between\n  n.target\nRequiredBy=p-%i.service %p.service\n; Alias=comment.service\n\
        #UpheldBy=comment.service\nUpheldBy=%N.socket\rAlso=%n c.socket\nAlias=old.target.wants/a@x.service\n\
        WantedBy=t@.service\n\n# /etc/systemd/system/a@x.service.d/d.conf\nAlias=dropin.service";
    let install = install("a@x.service", files);
    let expected = [
        "Alias b.service a@x.service",
        "Alias dropin.service a@x.service",
        "RequiredBy a.service a@x.service",
        "RequiredBy p-x.service a@x.service",
        "UpheldBy a@x.socket a@x.service",
        "WantedBy m.target a@x.service",
        "WantedBy n.target a@x.service",
        "WantedBy old.target a@x.service",
        "WantedBy t@.service a@x.service",
    ];
    assert_eq!(links(&install), expected);
    assert_eq!(install.also.iter().map(UnitName::as_str).collect::<Vec<_>>(), ["a@x.service", "c.socket"]);
}

#[test]
fn an_unfinished_line_of_a_unit_file_does_not_extend_into_the_next() {
    let install =
        install("a.service", "[Service]\nEnvironment=X=\\\n[Install]\nAlias=b.service\nWantedBy=c.target\\");
    assert_eq!(links(&install), ["Alias b.service a.service", "WantedBy c.target a.service"]);
}

#[test]
fn refuses_names_that_it_cannot_read() {
    for line in [
        "Alias=\"b.service\"",
        "Alias='b.service'",
        "Alias=b-%m.service",
        "Alias=b",
        "Alias=../../b.service",
        "Alias=b.target/c.service",
        "RequiredBy=b.target c",
        "WantedBy=%I.service",
        "Also=t@.service",
        "UpheldBy=b\u{e9}.service",
    ] {
        let read = Install::default().read_files(&name("a.service"), &format!("[Install]\n{line}\n"));
        assert!(read.is_err(), "{line}");
    }
}

#[test]
fn reads_the_links_that_disabling_removes() {
    let mut install = Install::default();
    let text = "enabled\n  /etc/systemd/system/sshd.service\n  /etc/systemd/system/multi-user.target.wants/ssh.service\n  \
        /etc/systemd/system/dbus.service.requires/ssh.service\n  /etc/systemd/system/t@.service.upholds/ssh.socket\n";
    install.read_links(&name("ssh.service"), text).unwrap();
    let expected = [
        "Alias sshd.service ssh.service",
        "RequiredBy dbus.service ssh.service",
        "UpheldBy t@.service ssh.socket",
        "WantedBy multi-user.target ssh.service",
    ];
    assert_eq!(links(&install), expected);
    assert_eq!(install.also.iter().map(UnitName::as_str).collect::<Vec<_>>(), ["ssh.service", "ssh.socket"]);
    assert!(Install::default().read_links(&name("ssh.service"), "/etc/x y.service\n").is_err());
}

#[test]
fn reads_names_as_systemctl_quotes_them() {
    let text = "Id=run-a\\x2db.mount\nNames=\"run-a\\\\x2db.mount\"\nRequires=\"run-a\\\\x2db.mount\" -.mount system.slice\n\
        Wants=\nUnknown=\u{1b}[31m\n\nId=-.slice\nNames=-.slice\n";
    let units = UnitProperties::parse(text).unwrap();
    let requires = units[0].neighbours(Dependency::Requires);
    assert_eq!(requires.map(UnitName::as_str).collect::<Vec<_>>(), ["run-a\\x2db.mount", "system.slice"]);
    assert_eq!(
        postern_policy::facts::all_names(&units[0].state).into_iter().collect::<Vec<_>>(),
        ["run-a\\x2db.mount"]
    );
    assert_eq!(units[1].state.id, "-.slice");
}

#[test]
fn refuses_answers_that_are_no_names_or_states() {
    for line in [
        "Id=a",
        "Id=a.service b.service",
        "Names=a.service x",
        "Requires=a@.service",
        "Wants=../a.service",
        "Conflicts=--now",
        "ActiveState=active\u{1b}[31m",
        "Result=a b",
        "UnitFileState=\u{e9}",
    ] {
        assert!(UnitProperties::parse(&format!("Id=a.service\n{line}\n")).is_err(), "{line}");
    }
}
