//! Units, packages, programs, capabilities and variables that amount to root by their name.

use crate::finding::Class::{self, Code, Combined, Defence, Trust};
use crate::lint::glob;

/// The direction of a change to a unit or package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It is started, enabled or installed.
    Add,
    /// It is stopped, disabled, masked or removed.
    Remove,
}

/// One finding about names, with all the patterns that it is about, blanks between them. `*` is any run of characters.
#[derive(Debug)]
pub struct Names {
    /// The finding's id.
    pub id: &'static str,
    /// How bad.
    pub class: Class,
    /// Whether it is about bringing or taking away.
    pub direction: Direction,
    /// How root comes of it: ends the sentence "rule r may start u, and …".
    pub how: &'static str,
    /// Which.
    patterns: &'static str,
}

impl Names {
    /// The patterns one by one.
    pub fn patterns(&self) -> impl Iterator<Item = &'static str> {
        self.patterns.split_ascii_whitespace()
    }
}

/// Whether a list of patterns, blanks between them, has one for this name.
#[must_use]
pub fn lists(patterns: &str, name: &str) -> bool {
    patterns.split_ascii_whitespace().any(|pattern| glob::matches(pattern, name))
}

/// Units.
pub const UNITS: &[Names] = &[
    Names {
        id: "root-shell-unit",
        class: Code,
        direction: Direction::Add,
        how: "it opens a shell of root, on a console or for one user",
        patterns: "debug-shell.service rescue.* emergency.* single.service runlevel1.target \
                   systemd-sulogin-shell* console-shell.service container-getty@* user@0.service \
                   user-0.slice run-*.service run-*.timer",
    },
    Names {
        id: "container-unit",
        class: Code,
        direction: Direction::Add,
        how: "whoever reaches its socket or images runs anything as root",
        patterns: "docker* containerd* podman* lxd* incus* lxc* libvirt* virt*d.service virt*d.socket \
                   virt*d-*.socket systemd-nspawn@* machines.target k3s* kubelet* crio* systemd-machined* \
                   systemd-portabled* systemd-importd* systemd-sysext* systemd-confext* \
                   dbus-org.freedesktop.machine1.service dbus-org.freedesktop.portable1.service \
                   dbus-org.freedesktop.import1.service",
    },
    Names {
        id: "remote-access-unit",
        class: Trust,
        direction: Direction::Add,
        how: "it lets people or hosts in from outside",
        patterns: "ssh* dropbear* cockpit* webmin* rpcbind* nfs-server* nfs-kernel-server* nfs-mountd* smb* \
                   nmb* samba* telnet* inetd* xinetd* rsync* qemu-guest-agent* systemd-homed* \
                   systemd-userdbd* vnc* xrdp*",
    },
    Names {
        id: "vpn-unit",
        class: Code,
        direction: Direction::Add,
        how: "up and down scripts of its configuration run as root",
        patterns: "openvpn*@* openvpn.service wg-quick@* ifup@*",
    },
    Names {
        id: "console-unit",
        class: Combined,
        direction: Direction::Add,
        how: "it opens a login that a drop-in makes a shell of root",
        patterns: "getty@* autovt@* serial-getty@* console-getty*",
    },
    Names {
        id: "boot-unit",
        class: Code,
        direction: Direction::Add,
        how: "it starts another kernel or rebuilds what the host boots from",
        patterns: "kexec* systemd-kexec* systemd-soft-reboot* soft-reboot.target initramfs* dracut* \
                   update-initramfs* grub*",
    },
    Names {
        id: "automation-unit",
        class: Combined,
        direction: Direction::Add,
        how: "it installs or runs as root what somebody else decides, at the time that the agent chooses",
        patterns: "apt-daily* unattended-upgrades* packagekit* snapd* salt-* puppet* chef* cfengine* \
                   cf-*.service amazon-ssm-agent* walinuxagent* google-guest-agent* google-startup-scripts* \
                   cloud-* osqueryd* cron* anacron* atd*",
    },
    Names {
        id: "protection-unit",
        class: Defence,
        direction: Direction::Remove,
        how: "the host is then without that protection or without a record of what happens",
        patterns: "auditd* apparmor* ufw* nftables* iptables* netfilter-persistent* firewalld* fail2ban* \
                   crowdsec* systemd-journald* systemd-timesyncd* chrony* ntp* rsyslog* syslog* polkit* \
                   aide* clamav* usbguard* fapolicyd* apt-daily* unattended-upgrades* postern-*",
    },
];

/// Packages.
pub const PACKAGES: &[Names] = &[
    Names {
        id: "package-hands-out-root",
        class: Combined,
        direction: Direction::Add,
        how: "it gives members of a group, or whoever reaches its socket, everything that root has",
        patterns: "docker.io docker-ce* podman* containerd* lxd* lxc* incus* libvirt-daemon* virt-manager \
                   kubelet k3s* snapd flatpak packagekit sudo sudo-ldap doas opendoas super userv \
                   qemu-guest-agent at cron anacron systemd-cron bcron salt-minion puppet* chef ansible* \
                   needrestart etckeeper",
    },
    Names {
        id: "package-opens-access",
        class: Combined,
        direction: Direction::Add,
        how: "its service lets people or hosts in from outside as soon as it is installed",
        patterns: "openssh-server dropbear* telnetd* inetutils-*d rsh-server rsh-redone-server \
                   nfs-kernel-server samba cockpit* webmin usermin rsync vsftpd proftpd* tftpd* xinetd \
                   openbsd-inetd x11vnc tigervnc*server* xrdp shellinabox gotty ttyd",
    },
    Names {
        id: "package-kernel-code",
        class: Combined,
        direction: Direction::Add,
        how: "it compiles or brings code that runs in the kernel or at boot",
        patterns: "*-dkms dkms linux-image* linux-headers* linux-modules* grub* shim* initramfs-tools* \
                   dracut* systemtap* bpftrace gcc gcc-1* g++ build-essential clang make",
    },
    Names {
        id: "package-brings-a-source",
        class: Combined,
        direction: Direction::Add,
        how: "it makes root trust further keys or sources for packages",
        patterns: "*-archive-keyring *-keyring *-release *-repo ubuntu-advantage* ubuntu-pro* extrepo* \
                   apt-transport-*",
    },
    Names {
        id: "package-protection",
        class: Defence,
        direction: Direction::Remove,
        how: "the host then lacks its protection, its way in for administrators, or its kernel",
        patterns: "apparmor* auditd ufw nftables iptables* firewalld fail2ban crowdsec unattended-upgrades \
                   needrestart sudo openssh-server linux-image* linux-modules* systemd* libpam-* rsyslog \
                   chrony aide* usbguard policykit-1 polkitd ca-certificates debian-archive-keyring \
                   postern*",
    },
];

/// Programs that run other programs, or write where their arguments say.
pub const PROGRAMS: &str = "\
    sh bash dash ash zsh ksh* mksh fish csh tcsh busybox toybox python* perl* ruby* irb* lua* php* node \
    nodejs tclsh* expect guile* java jshell gawk mawk nawk awk sed ed ex vi* vim* nvim nano pico emacs* \
    joe mcedit m4 make gmake gcc* g++* cc ld as gdb ltrace strace perf valgrind bpftrace stap less more \
    most man pg journalctl dmesg systemctl loginctl machinectl git svn hg env nice ionice nohup setsid \
    stdbuf timeout time watch xargs parallel find flock script screen tmux taskset chrt \
    start-stop-daemon run-parts setpriv runuser su sudo doas pkexec capsh unshare nsenter chroot ip \
    firejail bwrap systemd-run systemd-nspawn at batch crontab dbus-send gdbus busctl varlinkctl cp mv \
    install dd tee ln rm tar bsdtar cpio pax ar zip unzip 7z* rsync scp sftp ssh sshd curl wget ftp tftp \
    nc* ncat socat telnet openssl base64 split sort shuf uniq patch ed truncate mkfifo mknod chmod chown \
    chgrp setfacl chattr setcap mount umount losetup mkfs* fdisk sfdisk parted debugfs xfs_io cryptsetup \
    useradd adduser usermod userdel groupadd groupmod gpasswd passwd chpasswd newusers vipw vigr visudo \
    chsh chfn modprobe insmod rmmod kexec sysctl udevadm update-grub grub-* update-initramfs dracut \
    ldconfig update-alternatives update-rc.d debconf-set-selections tcpdump tshark dumpcap nmap \
    iptables* ip6tables* nft docker* podman* kubectl ctr nerdctl lxc* lxd incus virsh qemu* mysql* \
    mariadb* psql sqlite3 redis-cli mongo* dpkg* apt apt-get aptitude apt-key snap flatpak pip* npm npx \
    yarn gem cargo go composer logrotate certbot nginx apache2* httpd restic borg* rclone ansible* \
    puppet salt-* chef* smbclient ldapmodify exim* sendmail* mail mutt hostapd openvpn wg-quick dhclient \
    ifup ifdown";

/// Capabilities with which a program is as good as root.
pub const CAPABILITIES: &str = "\
    CAP_SYS_ADMIN CAP_SYS_MODULE CAP_SYS_PTRACE CAP_SYS_RAWIO CAP_SYS_BOOT CAP_DAC_OVERRIDE \
    CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_SETUID CAP_SETGID CAP_SETFCAP CAP_SETPCAP \
    CAP_SYS_CHROOT CAP_MKNOD CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_MAC_ADMIN CAP_MAC_OVERRIDE \
    CAP_LINUX_IMMUTABLE CAP_CHECKPOINT_RESTORE";

/// Those of them that a sandbox of systemd's does not contain.
pub const ESCAPING: &str = "CAP_SYS_ADMIN CAP_SYS_MODULE CAP_SYS_PTRACE CAP_SYS_RAWIO CAP_BPF";

/// Variables that make a program load or run something else.
pub const ENVIRONMENT: &str = "\
    LD_* PATH IFS ENV BASH_ENV BASH_FUNC* SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH SHELL PERL* \
    PYTHON* RUBY* GEM_* LUA_* NODE_* PHPRC PHP_INI_SCAN_DIR JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS \
    _JAVA_OPTIONS CLASSPATH GIT_* SSH_ASKPASS* SUDO_ASKPASS EDITOR VISUAL PAGER MANPAGER LESSOPEN \
    LESSCLOSE BROWSER GCONV_PATH LOCPATH NLSPATH HOSTALIASES RES_OPTIONS MALLOC_* GLIBC_TUNABLES \
    OPENSSL_* SSL_CERT_* CURL_* HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy \
    TERMINFO* TMPDIR HOME XDG_* DBUS_* SYSTEMD_* APT_CONFIG DPKG_* DEBCONF_* KRB5_* PAM_* DOCKER_* \
    KUBECONFIG MAKEFLAGS CC CXX AWKPATH AWKLIBPATH GTK_* QT_* VIMINIT EXINIT";
