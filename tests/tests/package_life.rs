//! The Debian package: what it installs, upgrades, removes and purges.

use postern_tests::{Installed, Release, deb, on_each_release};

on_each_release!(
    installs_what_the_contract_names,
    an_upgrade_keeps_policy_log_and_service,
    a_purge_leaves_the_audit_log_alone,
    a_purge_takes_the_audit_log_when_asked,
);

fn installs_what_the_contract_names(release: Release) {
    let host = Installed::as_shipped(release);
    let found = host
        .shell(
            "stat -c '%n %U:%G %a' /etc/postern /etc/postern/policy.d /etc/postern/policy.toml /etc/postern/agent.toml \
             /run/postern /run/postern/*.sock /run/postern-helper /var/lib/postern-helper /var/log/postern \
             /usr/bin/postern /usr/bin/postern-admin /usr/libexec/postern/postern-*",
        )
        .ok();
    let expected = "\
/etc/postern root:postern-auditors 751
/etc/postern/policy.d root:postern-auditors 750
/etc/postern/policy.toml root:postern-auditors 640
/etc/postern/agent.toml root:postern 640
/run/postern root:root 755
/run/postern/agent.sock root:postern-users 660
/run/postern/gateway.sock root:root 600
/run/postern/helper.sock root:postern-clients 660
/run/postern/operator.sock root:postern-operators 660
/run/postern/tool-ports.sock root:postern 660
/run/postern/tool.sock root:postern 660
/run/postern-helper root:root 700
/var/lib/postern-helper root:root 700
/var/log/postern root:postern-auditors 750
/usr/bin/postern root:root 755
/usr/bin/postern-admin root:root 755
/usr/libexec/postern/postern-gateway root:root 755
/usr/libexec/postern/postern-helper root:root 755
/usr/libexec/postern/postern-job root:root 755
";
    assert_eq!(found, expected);
    assert_eq!(host.shell("systemctl --failed --plain --no-legend").ok(), "");
    let enabled = host
        .shell("systemctl is-enabled postern-helper.service postern-agent.service postern-helper.socket")
        .ok();
    assert_eq!(enabled, "enabled\n".repeat(3));
    assert_eq!(host.shell("id -nG postern").ok(), "postern postern-clients\n");
}

fn an_upgrade_keeps_policy_log_and_service(release: Release) {
    let host = Installed::on(release);
    let digest = "sha256sum /etc/postern/policy.toml /var/lib/postern-helper/policy/accepted.pb";
    let before = host.shell(digest).ok();
    let lines = host.shell("wc -l < /var/log/postern/audit.jsonl").ok();
    let helper = host.main_pid("postern-helper.service");
    let _ = host.shell("systemctl disable --now postern-agent.socket").ok();
    // The policy differs from the package's: dpkg must neither ask nor replace it.
    let _ = host.install_deb(&deb()).ok();
    assert_eq!(host.shell(digest).ok(), before);
    assert_ne!(host.main_pid("postern-helper.service"), helper, "the new program runs");
    assert_eq!(host.root(&["systemctl", "is-enabled", "postern-agent.socket"]).stdout, "disabled\n");
    let _ = host.shell("systemctl enable --now postern-agent.socket").ok();
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
    let more = host.shell("wc -l < /var/log/postern/audit.jsonl").ok();
    assert!(more.trim().parse::<u32>().ok() > lines.trim().parse::<u32>().ok(), "{lines} then {more}");
}

/// What is left of Postern, but for its users: names of files and of units that systemd knows.
const LEFT: &str = "find / -xdev -iname '*postern*' -not -path '/proc/*' -not -path '/sys/*' | sort; \
                    systemctl list-units --all --plain --no-legend 'postern*'; \
                    systemctl list-unit-files --no-legend 'postern*' || true; \
                    find /run -iname '*postern*'; pgrep -l postern || true";

fn a_purge_leaves_the_audit_log_alone(release: Release) {
    let host = Installed::on(release);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.shell("apt-get -q -y remove postern").ok();
    let _ =
        host.shell("test -e /etc/postern/policy.toml -a -e /var/lib/postern-helper/policy/accepted.pb").ok();
    let _ = host.shell("apt-get -q -y purge postern").ok();
    assert_eq!(host.shell(LEFT).ok(), "/var/log/postern\n");
    assert_ne!(host.shell("wc -l < /var/log/postern/audit.jsonl").ok(), "0\n");

    // The kept log goes on when the package comes back.
    let _ = host.install_deb(&deb()).ok();
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

fn a_purge_takes_the_audit_log_when_asked(release: Release) {
    let host = Installed::as_shipped(release);
    let _ = host.visitor(&["postern", "service", "status", "dbus"]).ok();
    let _ = host.shell("POSTERN_PURGE_AUDIT=yes apt-get -q -y purge postern").ok();
    assert_eq!(host.shell(LEFT).ok(), "");
}
