//! How apt-get is started: the only test of this file, because a descriptor that
//! is passed on would be inherited by a neighbour's child too.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test stops at the first surprise")]

#[expect(dead_code, reason = "shared with the other tests")]
mod support;

use std::process::Command;

use support::{Bed, ID, install};

#[test]
fn starts_apt_get_with_exactly_this() {
    let bed = Bed::new();
    let outcome = bed.run(&install(&["nginx-light", "g++=4:12.2.0-3"]));
    assert_eq!((outcome.code.as_str(), outcome.exit_code), ("", 0));
    let argv = bed.noted("apt-get", "argv");
    let number = argv.iter().find_map(|word| word.strip_prefix("APT::Status-Fd=")).unwrap();
    let wanted = format!(
        "-q -y -o APT::Cmd::Pattern-Only=true -o APT::Status-Fd={number} -o Dpkg::Use-Pty=0 \
         -o DPkg::Lock::Timeout=60 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
         -o DPkg::Pre-Install-Pkgs::=/usr/libexec/postern/postern-job+check+{ID} \
         -o DPkg::Tools::Options::/usr/libexec/postern/postern-job::Version=3 \
         -o APT::Get::AutomaticRemove=false -o APT::Install-Recommends=false --no-remove \
         install -- nginx-light:native g++:native=4:12.2.0-3"
    );
    let wanted: Vec<String> =
        wanted.split(' ').map(|w| w.replace("postern-job+check+", "postern-job check ")).collect();
    assert_eq!(argv, wanted);

    let mut environment = bed.noted("apt-get", "env");
    environment.sort_unstable();
    assert_eq!(
        environment,
        [
            "APT_LISTBUGS_FRONTEND=none",
            "APT_LISTCHANGES_FRONTEND=none",
            "DEBIAN_FRONTEND=noninteractive",
            "DEBIAN_PRIORITY=critical",
            "HOME=/root",
            "LC_ALL=C.UTF-8",
            "NEEDRESTART_SUSPEND=1",
            "PAGER=cat",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "TERM=dumb",
            "UCF_FORCE_CONFFOLD=1",
        ]
    );
    assert_eq!(bed.noted("apt-get", "state"), ["/", "/dev/null", "0022"]);
    // What a program started without any care of ours has open here does not count.
    let inherited = numbers(&listed());
    let mut descriptors = numbers(&bed.noted("apt-get", "fds"));
    descriptors.retain(|fd| !inherited.contains(fd));
    assert_eq!(descriptors, [number]);
}

fn listed() -> Vec<String> {
    let answer = Command::new("/bin/ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    String::from_utf8(answer.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The descriptors in a listing, without the one that ls itself reads.
fn numbers(listing: &[String]) -> Vec<String> {
    let links = listing.iter().filter_map(|line| line.split_once(" -> "));
    links
        .filter(|(_, target)| !target.starts_with("/proc/"))
        .filter_map(|(link, _)| link.rsplit(' ').next())
        .map(str::to_owned)
        .collect()
}
