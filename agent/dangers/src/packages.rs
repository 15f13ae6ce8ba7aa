//! The package managers' own files.

use crate::class::Class::{Code, Combined, Trust};
use crate::row::{Row, row};

pub(crate) const ROWS: &[Row] = &[
    row(
        "apt-config",
        Code,
        "Pre-Invoke and Post-Invoke name commands that apt runs as root at every update and installation",
        &["/etc/apt/apt.conf", "/etc/apt/apt.conf.d/**", "/usr/share/apt/**", "/usr/lib/apt/**"],
    ),
    row(
        "apt-sources",
        Trust,
        "sources, keys and preferences decide whose packages root installs",
        &[
            "/etc/apt/sources.list",
            "/etc/apt/sources.list.d/**",
            "/etc/apt/trusted.gpg",
            "/etc/apt/trusted.gpg.d/**",
            "/etc/apt/keyrings/**",
            "/etc/apt/auth.conf",
            "/etc/apt/auth.conf.d/**",
            "/etc/apt/preferences",
            "/etc/apt/preferences.d/**",
            "/etc/apt/mirrors/**",
            "/usr/share/keyrings/**",
        ],
    ),
    row(
        "apt-listchanges",
        Combined,
        "apt runs apt-listchanges as root, with the pager and mail address that it names",
        &["/etc/apt/listchanges.conf", "/etc/apt/listchanges.conf.d/**"],
    ),
    row(
        "dpkg-config",
        Code,
        "pre-invoke and post-invoke name commands that dpkg runs as root, and force-* makes it accept anything",
        &["/etc/dpkg/**", "/etc/debconf.conf", "/usr/share/debconf/**"],
    ),
    row(
        "debconf-answers",
        Combined,
        "maintainer scripts take these answers as root",
        &["/var/cache/debconf/**"],
    ),
    row(
        "policy-rc-d",
        Code,
        "invoke-rc.d runs it as root whenever a package starts a service",
        &["/usr/sbin/policy-rc.d", "/usr/local/sbin/policy-rc.d"],
    ),
    row(
        "dpkg-state",
        Code,
        "maintainer scripts in info/ run as root, and the state decides what is installed from where",
        &["/var/lib/dpkg/**", "/var/lib/apt/**", "/var/cache/apt/**"],
    ),
    row(
        "needrestart",
        Code,
        "needrestart reads its configuration as Perl and runs its hooks as root after every installation",
        &["/etc/needrestart/**"],
    ),
    row(
        "etckeeper",
        Code,
        "etckeeper runs its hooks and git, with git's own hooks, as root at every installation",
        &[
            "/etc/etckeeper/**",
            "/etc/.git/**",
            "/etc/.etckeeper",
            "/etc/.hg/**",
            "/etc/.gitattributes",
            "/etc/.gitignore",
        ],
    ),
    row(
        "package-automation",
        Code,
        "it names what is installed or run as root without anybody asking",
        &[
            "/etc/unattended-upgrades/**",
            "/etc/cron-apt/**",
            "/etc/apticron/**",
            "/etc/snap/**",
            "/etc/snapd/**",
            "/var/lib/snapd/**",
            "/etc/flatpak/**",
            "/var/lib/flatpak/**",
            "/etc/pip.conf",
            "/etc/npmrc",
            "/etc/gemrc",
            "/usr/local/etc/npmrc",
            "/usr/etc/npmrc",
        ],
    ),
];
