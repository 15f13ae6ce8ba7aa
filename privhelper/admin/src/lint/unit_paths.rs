//! Which files a unit reads or runs with the power of root.

use super::facts::Unit;

/// The files that a unit runs, or takes its settings from.
pub(super) fn code_of(unit: &Unit) -> Vec<String> {
    let mut paths = vec![unit.fragment.clone()];
    paths.extend(unit.drop_ins.iter().cloned());
    // The unit's own files also set its user.
    let is_root = is_root(unit);
    if is_root {
        paths.extend(unit.environment_files.iter().chain(&unit.credentials).cloned());
        paths.extend(below(&unit.root_directory));
        paths.extend(below(&unit.working_directory));
    }
    for command in unit.commands.iter().filter(|command| is_root || command.is_privileged) {
        paths.push(command.path.clone());
        for word in words(&command.argv) {
            paths.extend(below(word));
            paths.push(word.to_owned());
        }
    }
    paths.retain(|path| path.starts_with('/'));
    paths.sort();
    paths.dedup();
    paths
}

fn is_root(unit: &Unit) -> bool {
    matches!(unit.user.as_str(), "" | "root" | "0")
}

/// Everything below a directory that is one of its own.
fn below(directory: &str) -> Option<String> {
    let directory = directory.trim_start_matches('!').trim_start_matches('-').trim_end_matches('/');
    // A unit that works in / or a home does not read all of it.
    let is_own = directory.matches('/').count() > 1 && !matches!(directory, "/usr/bin" | "/usr/sbin");
    is_own.then(|| format!("{directory}/**"))
}

/// The absolute paths in a command line, also those after `=`.
pub(super) fn words(argv: &str) -> impl Iterator<Item = &str> {
    argv.split([' ', '=', ':', ';', '"', '\'', ',']).filter(|word| word.starts_with('/') && word.len() > 1)
}

/// Default configuration files of programs.
const CONFIGURATION: &[(&str, &[&str])] = &[
    ("sshd", &["/etc/ssh/**"]),
    ("httpd", &["/etc/apache2/**"]),
    ("named", &["/etc/bind/**"]),
    ("mysqld", &["/etc/mysql/**", "/etc/my.cnf"]),
    ("mysqld_safe", &["/etc/mysql/**", "/etc/my.cnf"]),
    ("mariadbd", &["/etc/mysql/**", "/etc/my.cnf"]),
    ("smbd", &["/etc/samba/**"]),
    ("nmbd", &["/etc/samba/**"]),
    ("cupsd", &["/etc/cups/**"]),
    ("rsyslogd", &["/etc/rsyslog.conf", "/etc/rsyslog.d/**"]),
    ("master", &["/etc/postfix/**", "/etc/aliases*"]),
    ("postfix", &["/etc/postfix/**", "/etc/aliases*"]),
    ("dockerd", &["/etc/docker/**"]),
    ("fail2ban-server", &["/etc/fail2ban/**"]),
    ("snmpd", &["/etc/snmp/**"]),
    ("certbot", &["/etc/letsencrypt/**"]),
    ("unattended-upgrade", &["/etc/apt/**"]),
    ("apt.systemd.daily", &["/etc/apt/**"]),
    ("systemd-sysctl", &["/etc/sysctl.d/**", "/etc/sysctl.conf"]),
    ("systemd-tmpfiles", &["/etc/tmpfiles.d/**"]),
    ("systemd-sysusers", &["/etc/sysusers.d/**"]),
    ("systemd-modules-load", &["/etc/modules-load.d/**"]),
    ("systemd-udevd", &["/etc/udev/**"]),
    ("nft", &["/etc/nftables.conf"]),
    ("ufw-init", &["/etc/ufw/**"]),
    ("apparmor.systemd", &["/etc/apparmor.d/**"]),
    ("auditd", &["/etc/audit/**"]),
    ("netplan", &["/etc/netplan/**"]),
    ("ifup", &["/etc/network/**"]),
    ("cron", &["/etc/crontab", "/etc/cron.d/**", "/etc/cron.*/**"]),
];
/// Programs whose name says nothing about what they do.
const GENERIC: [&str; 12] =
    ["sh", "bash", "dash", "env", "python3", "perl", "rm", "mkdir", "install", "test", "sleep", "true"];

/// The default configuration files that a unit's programs read.
pub(super) fn config_of(unit: &Unit) -> Vec<String> {
    let is_root = is_root(unit);
    let programs = unit.commands.iter().filter(|command| is_root || command.is_privileged);
    let mut names: Vec<&str> = programs
        .filter_map(|command| command.path.rsplit('/').next())
        .filter(|name| !name.is_empty())
        .collect();
    if !names.is_empty() {
        names.extend(unit.id.split(['.', '@']).next());
    }
    names.retain(|name| !GENERIC.contains(name));
    names.sort_unstable();
    names.dedup();
    let mut paths = Vec::new();
    for name in names {
        paths.extend([format!("/etc/{name}/**"), format!("/etc/{name}.conf"), format!("/etc/{name}.d/**")]);
        let known = CONFIGURATION.iter().find(|(program, _)| *program == name);
        paths.extend(known.into_iter().flat_map(|(_, paths)| paths.iter().map(|path| (*path).to_owned())));
    }
    paths
}
