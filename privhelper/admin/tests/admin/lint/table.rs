//! The table against the reference: every place, unit, package and program there is known here.

use super::{lint, policy, rule, units, writes};
use postern_admin::finding::{Class, Severity};
use postern_admin::lint::kinds;
use postern_proto::root::v1 as root;
use std::collections::BTreeSet;

/// Files that are root by themselves (R).
const CODE: &str = "
/etc/systemd/system/x.service /etc/systemd/system/x.service.d/o.conf /etc/systemd/system/service.d/o.conf
/etc/systemd/system/multi-user.target.wants/x.service /etc/systemd/system/x.requires/y.service /etc/systemd/system/x.upholds/y.service
/etc/systemd/system.control/x.service /etc/systemd/system.attached/x.service /run/systemd/system/x.service
/run/systemd/transient/x.service /run/systemd/generator/x.service /run/systemd/generator.late/x.service
/run/systemd/system.control/x.service /run/systemd/system.attached/x.service /usr/local/lib/systemd/system/x.service
/usr/lib/systemd/system/x.service /lib/systemd/system/x.service
/etc/systemd/system-generators/x /run/systemd/user-generators/x /usr/local/lib/systemd/system-environment-generators/x
/usr/lib/systemd/user-environment-generators/x /usr/lib/systemd/system-sleep/x /usr/lib/systemd/system-shutdown/x
/etc/systemd/system.conf /etc/systemd/user.conf /etc/systemd/system.conf.d/x.conf
/etc/tmpfiles.d/x.conf /run/tmpfiles.d/x.conf /etc/binfmt.d/x.conf /etc/modules-load.d/x.conf /etc/sysctl.d/x.conf
/etc/udev/rules.d/x.rules /run/udev/rules.d/x.rules /etc/repart.d/x.conf /etc/sysupdate.d/x.conf
/etc/portables/x /var/lib/portables/x /etc/extensions/x /var/lib/extensions/x /run/extensions/x /var/lib/confexts/x
/etc/systemd/portable/profile/x /etc/systemd/nspawn/x.nspawn /var/lib/machines/m/etc/passwd
/etc/containers/systemd/x.container /etc/environment /etc/default/x /etc/sysconfig/x
/etc/crontab /etc/cron.d/x /etc/cron.hourly/x /etc/cron.daily/x /etc/cron.weekly/x /etc/cron.monthly/x
/var/spool/cron/crontabs/root /etc/anacrontab /var/spool/anacron/x /var/spool/at/x
/etc/init.d/x /etc/rc.local /etc/rc2.d/S01x /etc/inittab /etc/init/x.conf /etc/inetd.conf /etc/xinetd.d/x /etc/insserv/x
/etc/runit/x /etc/sv/x
/boot/grub/grub.cfg /efi/x /etc/default/grub /etc/default/grub.d/x /etc/grub.d/40_x /etc/kernel/cmdline
/etc/kernel/postinst.d/x /etc/kernel/install.d/x /etc/initramfs-tools/hooks/x /etc/dracut.conf.d/x.conf /etc/mkinitcpio.conf
/etc/crypttab /etc/fstab /etc/modprobe.d/x.conf /etc/modprobe.conf /lib/modules/6.1/x.ko /etc/depmod.d/x.conf
/etc/sysctl.conf /proc/sys/kernel/core_pattern /sys/kernel/uevent_helper /sys/kernel/debug/x /dev/mem /proc/sysrq-trigger
/etc/acpi/events/x /etc/pm/sleep.d/x /etc/apm/x /etc/watchdog.conf /etc/watchdog.d/x
/etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/x.conf /etc/ld.so.cache /lib/x.so /lib64/x.so /usr/lib/x.so
/usr/lib64/x.so /usr/local/lib/x.so /etc/gss/mech.d/x.conf /etc/ssl/openssl.cnf /etc/p11-kit/x
/usr/lib/x86_64-linux-gnu/gconv/x.so
/bin/x /sbin/x /usr/bin/x /usr/sbin/x /usr/libexec/x /usr/local/bin/x /usr/local/sbin/x /etc/alternatives/x /opt/v/bin/x
/etc/perl/x.pm /usr/local/lib/x86_64-linux-gnu/perl/5.36/x.pm /usr/local/share/perl/5.36/x.pm
/usr/local/lib/python3.11/dist-packages/x.pth /etc/python3.11/sitecustomize.py /usr/local/lib/site_ruby/x.rb
/etc/php/8.2/fpm/php.ini
/etc/profile /etc/profile.d/x.sh /etc/bash.bashrc /etc/bash_completion.d/x /etc/zsh/zshenv /etc/fish/config.fish
/etc/csh.login /root/.bashrc /root/.ssh/config /root/x /etc/gitconfig /etc/vim/vimrc.local /etc/emacs/site-start.d/x.el
/etc/gdb/gdbinit.d/x /etc/screenrc /etc/tmux.conf /etc/mailcap /etc/lesskey /etc/inputrc
/etc/update-motd.d/x /etc/X11/Xsession.d/x /etc/X11/Xreset.d/x /etc/gdm3/Init/Default /etc/lightdm/lightdm.conf /etc/sddm.conf
/etc/sudo.conf /etc/samba/smb.conf /etc/exports /etc/ca-certificates/update.d/x
/etc/apt/apt.conf /etc/apt/apt.conf.d/x /etc/dpkg/dpkg.cfg /etc/dpkg/dpkg.cfg.d/x /etc/debconf.conf /usr/sbin/policy-rc.d
/var/lib/dpkg/info/x.postinst /var/lib/dpkg/status /var/lib/apt/lists/x /var/cache/apt/archives/x.deb
/etc/needrestart/needrestart.conf /etc/needrestart/restart.d/x /etc/etckeeper/pre-install.d/x /etc/.git/hooks/post-commit
/etc/.git/config /etc/.etckeeper /etc/unattended-upgrades/x /etc/cron-apt/config /etc/apticron/apticron.conf /etc/snap/x
/var/lib/snapd/x
/etc/logrotate.conf /etc/logrotate.d/x /etc/audit/auditd.conf /etc/audit/plugins.d/x /etc/osquery/extensions.load
/etc/salt/minion /etc/puppet/puppet.conf /etc/chef/client.rb /etc/cloud/cloud.cfg.d/x.cfg /var/lib/cloud/scripts/x
/var/lib/cloud/seed/x /etc/waagent.conf /etc/amazon/ssm/x
/etc/network/interfaces /etc/network/interfaces.d/x /etc/network/if-up.d/x /etc/dhcp/dhclient-enter-hooks.d/x
/etc/NetworkManager/dispatcher.d/x /etc/NetworkManager/conf.d/x /etc/networkd-dispatcher/routable.d/x /etc/ppp/ip-up.d/x
/etc/openvpn/x.conf /etc/wireguard/wg0.conf /etc/ipsec.conf /etc/dnsmasq.conf /etc/kea/x /etc/hostapd/x /etc/netplan/x.yaml
/etc/ufw/before.init
/etc/docker/daemon.json /var/run/docker.sock /etc/containerd/config.toml /etc/containers/x /etc/cni/net.d/x
/etc/kubernetes/manifests/x.yaml /var/lib/docker/x /var/lib/kubelet/x /var/lib/lxc/x /var/lib/lxd/x /etc/libvirt/hooks/qemu
/etc/libvirt/qemu.conf
/etc/letsencrypt/renewal/x.conf /etc/letsencrypt/renewal-hooks/deploy/x /etc/letsencrypt/cli.ini /etc/borgmatic/config.yaml
/etc/rsnapshot.conf /etc/bacula/x.conf /etc/rsyncd.conf";

/// Accounts, keys, trust (T).
const TRUST: &str = "
/etc/sysusers.d/x.conf /etc/cron.allow /etc/cron.deny
/etc/passwd /etc/passwd- /etc/shadow /etc/shadow- /etc/group /etc/gshadow /etc/subuid /etc/subgid /etc/login.defs /etc/shells
/etc/securetty /etc/sudoers /etc/sudoers.d/x /etc/doas.conf /etc/please.ini
/etc/pam.d/sshd /etc/pam.conf /usr/share/pam-configs/x /etc/security/namespace.init /etc/security/pam_env.conf
/etc/security/access.conf
/etc/polkit-1/rules.d/x.rules /etc/polkit-1/localauthority/x /usr/share/polkit-1/actions/x.policy
/usr/local/share/polkit-1/rules.d/x /run/polkit-1/rules.d/x
/etc/dbus-1/system.d/x.conf /etc/dbus-1/system-local.conf /usr/share/dbus-1/system-services/x.service
/etc/dbus-1/system-services/x.service /usr/local/share/dbus-1/system.d/x
/etc/ssh/sshd_config /etc/ssh/sshd_config.d/x.conf /etc/ssh/ssh_config.d/x.conf /etc/ssh/ssh_host_ed25519_key
/etc/ssh/authorized_keys /root/.ssh/authorized_keys /home/u/.ssh/authorized_keys /srv/git/.ssh/authorized_keys /etc/ssh/sshrc
/etc/krb5.conf /etc/krb5.keytab /home/u/.k5login /etc/sssd/sssd.conf /etc/nslcd.conf /etc/ldap/ldap.conf /etc/hosts.equiv
/home/u/.rhosts /etc/opasswd
/etc/ssl/private/x.key /etc/ssl/certs/x.pem /usr/local/share/ca-certificates/x.crt /etc/ca-certificates.conf
/etc/crypto-policies/config
/etc/apt/sources.list /etc/apt/sources.list.d/x.list /etc/apt/trusted.gpg /etc/apt/trusted.gpg.d/x.asc /etc/apt/keyrings/x.asc
/etc/apt/auth.conf /etc/apt/auth.conf.d/x /etc/apt/preferences /etc/apt/preferences.d/x /usr/share/keyrings/x.gpg
/etc/postern/policy.toml";

/// Root together with something else (C), or protection (D).
const OTHER: &str = "
/etc/systemd/system-preset/x.preset /etc/credstore/x /run/credstore.encrypted/x /etc/systemd/user/x.service
/etc/systemd/journald.conf /etc/systemd/journald.conf.d/x.conf /etc/systemd/coredump.conf /etc/systemd/logind.conf
/etc/systemd/resolved.conf /etc/systemd/timesyncd.conf /etc/systemd/networkd.conf /etc/nsswitch.conf /etc/skel/.bashrc
/etc/xdg/autostart/x.desktop /lib/firmware/x.bin /etc/apt/listchanges.conf /var/cache/debconf/config.dat /etc/hosts
/etc/resolv.conf
/etc/nginx/nginx.conf /etc/apache2/apache2.conf /etc/apache2/envvars /etc/lighttpd/lighttpd.conf /etc/haproxy/haproxy.cfg
/etc/uwsgi/x.ini /etc/caddy/Caddyfile /etc/rsyslog.conf /etc/rsyslog.d/x.conf /etc/syslog-ng/syslog-ng.conf
/etc/fail2ban/action.d/x.conf /etc/monit/monitrc /etc/keepalived/keepalived.conf /etc/supervisor/conf.d/x.conf
/etc/mdadm/mdadm.conf /etc/smartd.conf /etc/smartmontools/run.d/x /etc/nut/upsmon.conf /etc/apcupsd/x /etc/lvm/lvm.conf
/etc/multipath.conf /etc/collectd/collectd.conf /etc/telegraf/telegraf.conf /etc/zabbix/zabbix_agentd.conf /etc/snmp/snmpd.conf
/etc/netdata/x /etc/nftables.conf /etc/iptables/rules.v4 /etc/firewalld/direct.xml
/etc/postfix/master.cf /etc/exim4/exim4.conf.template /etc/procmailrc /etc/dovecot/dovecot.conf /etc/aliases
/etc/cups/cupsd.conf /etc/cups/cups-files.conf /etc/cups/ppd/x.ppd /etc/mysql/my.cnf /etc/postgresql/15/main/postgresql.conf
/etc/redis/redis.conf /etc/bind/named.conf /etc/gitlab/gitlab.rb /etc/stunnel/x.conf /etc/proftpd/proftpd.conf
/etc/apparmor.d/x /etc/selinux/config /etc/fapolicyd/x /etc/usbguard/x /etc/hosts.allow /etc/hosts.deny /etc/chrony/chrony.conf
/etc/localtime";

/// The worst class that writing this one file has.
fn worst(path: &str) -> Option<Class> {
    let (directory, file) = path.rsplit_once('/').unwrap();
    let directory = if directory.is_empty() { "/" } else { directory };
    let found = lint(&policy(vec![writes("r", directory, file)]), None);
    let of_table = found.iter().filter(|found| found.id != "write-outside-harmless");
    of_table.filter_map(|found| found.class).min()
}

#[test]
fn every_place_of_the_reference_is_known_with_its_class() {
    let mut wrong = Vec::new();
    for (paths, fits) in [
        (CODE, (|class| matches!(class, Class::Code)) as fn(Class) -> bool),
        (TRUST, |class| matches!(class, Class::Trust | Class::Code)),
        (OTHER, |_| true),
    ] {
        for path in paths.split_whitespace() {
            let class = worst(path);
            if !class.is_some_and(fits) {
                wrong.push(format!("{path}: {class:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_directory_reaches_the_paths_below_it_up_to_its_depth() {
    let with_depth = |depth| {
        let rule = root::Rule { depth, ..writes("r", "/etc", "*") };
        let found = lint(&policy(vec![rule]), None);
        found.iter().map(|found| found.id).collect::<BTreeSet<_>>()
    };
    let (one, three) = (with_depth(1), with_depth(3));
    for id in ["accounts", "ld-preload", "cron", "mounts"] {
        assert!(one.contains(id), "{id}");
    }
    for id in ["systemd-unit-files", "nginx-load-module", "apt-config", "polkit", "needrestart"] {
        assert!(!one.contains(id) && three.contains(id), "{id}");
    }
    // Hidden directories are never on the way.
    assert!(three.contains("etckeeper") && !three.contains("authorized-keys"));
}

#[test]
fn harmless_directories_have_no_finding() {
    for directory in ["/srv/app", "/var/www/html", "/home/agent/work", "/data", "/mnt/disk"] {
        let rule = root::Rule { depth: 5, ..writes("r", directory, "*") };
        let found = lint(&policy(vec![rule]), None);
        let worse: Vec<_> = found.iter().filter(|found| found.severity != Severity::Note).collect();
        assert!(worse.is_empty(), "{directory}: {worse:#?}");
    }
}

#[test]
fn every_unit_of_the_reference_is_known() {
    let on = "debug-shell.service rescue.service rescue.target emergency.service runlevel1.target getty@tty1.service \
              autovt@tty1.service serial-getty@ttyS0.service docker.service containerd.service podman.socket lxd.service \
              incus.service libvirtd.socket cockpit.socket ssh.service ssh.socket rpcbind.service nfs-server.service \
              smbd.service systemd-nspawn@x.service openvpn@x.service wg-quick@wg0.service systemd-machined.service \
              systemd-portabled.service systemd-importd.service systemd-homed.service systemd-sysext.service \
              systemd-confext.service qemu-guest-agent.service kexec.target user@0.service apt-daily.service \
              apt-daily-upgrade.timer unattended-upgrades.service snapd.service salt-minion.service puppet.service \
              amazon-ssm-agent.service update-initramfs.service";
    let off = "auditd.service apparmor.service ufw.service nftables.service firewalld.service fail2ban.service \
               systemd-journald.service rsyslog.service polkit.service postern-helper.service";
    for (verbs, names) in [(["unit.start", "unit.enable"], on), (["unit.stop", "unit.mask"], off)] {
        for name in names.split_whitespace() {
            for verb in verbs {
                let found = lint(&policy(vec![units("r", verb, name)]), None);
                assert!(found.iter().any(|found| found.class.is_some()), "{verb} {name}");
            }
            assert!(lint(&policy(vec![units("r", "unit.status", name)]), None).is_empty(), "{name}");
        }
    }
}

#[test]
fn every_package_of_the_reference_is_known() {
    let on = "docker.io podman-docker lxd incus nfs-kernel-server telnetd rsh-server openssh-server cockpit webmin at cron \
              qemu-guest-agent samba sudo rsync zfs-dkms linux-image-amd64 gcc vendor-archive-keyring vendor-release \
              ubuntu-advantage-tools";
    let off = "apparmor auditd ufw nftables fail2ban unattended-upgrades sudo openssh-server linux-image-amd64 systemd \
               libpam-modules postern";
    for (verb, names) in [("package.install", on), ("package.remove", off)] {
        for name in names.split_whitespace() {
            let rule = root::Rule {
                packages: vec![name.to_owned()],
                sources: vec!["debian".to_owned()],
                ..rule("r", verb)
            };
            let found = lint(&policy(vec![rule]), None);
            assert!(found.iter().any(|found| found.id.starts_with("package-")), "{verb} {name}");
        }
    }
}

#[test]
fn finding_ids_are_unique_and_valid_toml_keys() {
    let mut ids = BTreeSet::new();
    for kind in kinds() {
        assert!(ids.insert(kind.id), "{} stands twice", kind.id);
        let is_fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        assert!(kind.id.bytes().all(is_fine), "{}", kind.id);
        assert!(kind.help.len() > 10 && !kind.help.ends_with('.'), "{}", kind.id);
    }
    assert!(ids.len() > 100);
}
