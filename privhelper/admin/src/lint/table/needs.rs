//! Programs that fail in a sandbox as long as its row does not give them one thing: data, by the programs' own manuals.

/// One thing that a program needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// One of these sockets. An entry that ends in `/` is any socket below that directory.
    Socket(&'static [&'static str]),
    /// One of these sockets, or the host's network.
    SocketOrNetwork(&'static [&'static str]),
    /// The host's network.
    Network,
    /// A capability.
    Capability(&'static str),
    /// No sandbox: it does what every sandbox takes away.
    NoSandbox(&'static str),
}

/// Programs with one need.
#[derive(Debug)]
pub struct Needs {
    /// Names without a directory, with blanks between them.
    pub programs: &'static str,
    /// The need.
    pub need: Need,
    /// First letters of arguments with which the need is none: to print a version, or to look at files alone. [`NO_ARGUMENT`] is a
    /// call without any.
    pub unless: &'static [&'static str],
}

const BUS: &str = "/run/dbus/system_bus_socket";
/// In [`Needs::unless`].
pub const NO_ARGUMENT: &str = "";
const HELP: &[&str] = &["--version", "--help"];

/// The table.
pub const NEEDS: &[Needs] = &[
    Needs {
        programs: "systemctl",
        need: Need::Socket(&["/run/systemd/private", BUS]),
        unless: &["--version", "--help", "--root=", "--image="],
    },
    Needs {
        programs: "timedatectl hostnamectl localectl loginctl machinectl busctl nmcli",
        need: Need::Socket(&[BUS]),
        unless: HELP,
    },
    Needs {
        programs: "resolvectl",
        need: Need::Socket(&[BUS, "/run/systemd/resolve/io.systemd.Resolve"]),
        unless: HELP,
    },
    Needs {
        programs: "fail2ban-client",
        need: Need::Socket(&["/run/fail2ban/fail2ban.sock"]),
        unless: &["--version", "--help", "--test", "-t", "-d", "--dump-pretty", "--dp", "-s", "--socket"],
    },
    Needs {
        programs: "psql createdb dropdb createuser dropuser pg_dump pg_dumpall pg_isready vacuumdb reindexdb clusterdb",
        need: Need::SocketOrNetwork(&["/run/postgresql/"]),
        unless: HELP,
    },
    Needs {
        programs: "mariadb mysql mariadb-admin mysqladmin mariadb-dump mysqldump mariadb-check mysqlcheck mariadb-show mysqlshow",
        need: Need::SocketOrNetwork(&["/run/mysqld/"]),
        unless: HELP,
    },
    Needs {
        programs: "redis-cli valkey-cli",
        need: Need::SocketOrNetwork(&["/run/redis/", "/run/valkey/"]),
        unless: HELP,
    },
    Needs { programs: "chronyc", need: Need::SocketOrNetwork(&["/run/chrony/"]), unless: HELP },
    Needs { programs: "docker", need: Need::SocketOrNetwork(&["/run/docker.sock"]), unless: HELP },
    Needs { programs: "virsh", need: Need::SocketOrNetwork(&["/run/libvirt/"]), unless: HELP },
    Needs { programs: "ping ping6 traceroute mtr dig host nslookup", need: Need::Network, unless: HELP },
    Needs {
        programs: "nft iptables ip6tables iptables-save ip6tables-save iptables-restore ip6tables-restore ipset ufw wg wg-quick",
        need: Need::Capability("CAP_NET_ADMIN"),
        unless: HELP,
    },
    Needs {
        programs: "tcpdump",
        need: Need::Capability("CAP_NET_RAW"),
        unless: &["--version", "--help", "-r", "-d"],
    },
    Needs {
        programs: "podman",
        need: Need::NoSandbox("it makes namespaces"),
        unless: &["--version", "--help", "--remote", "--url"],
    },
    Needs {
        programs: "mount",
        need: Need::NoSandbox("it changes mounts"),
        unless: &["--version", "--help", "-l", "--show-labels", NO_ARGUMENT],
    },
    Needs { programs: "umount swapoff", need: Need::NoSandbox("it changes mounts or swap"), unless: HELP },
    Needs {
        programs: "swapon",
        need: Need::NoSandbox("it changes swap"),
        unless: &["--version", "--help", "--show", "-s", "--summary"],
    },
    Needs {
        programs: "modprobe insmod rmmod",
        need: Need::NoSandbox("it changes the kernel's modules"),
        unless: &["--version", "--help", "-n", "--dry-run", "--show", "-c"],
    },
    Needs { programs: "dmesg", need: Need::NoSandbox("it reads the kernel's log"), unless: HELP },
    Needs { programs: "smartctl hdparm nvme mdadm", need: Need::NoSandbox("it opens devices"), unless: HELP },
];
