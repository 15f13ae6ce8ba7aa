//! The signed apt repository of a release: apt installs from it by the repository's key, and from no copy that was altered.
//!
//! `deploy/release` needs `apt-utils` and `lintian` on the host of the tests; `tests/run` installs them.

use std::path::Path;
use std::process::{Command, Stdio};

use postern_tests::{Machine, Release, deb, on_each_release};

on_each_release!(apt_installs_from_the_signed_repository_and_from_no_altered_copy);

/// Runs a script on the host of the tests, with these arguments; returns what it prints.
fn host(script: &str, arguments: &[&Path]) -> String {
    let mut command = Command::new("sh");
    command.args(["-euc", script, "sh"]).args(arguments).stdin(Stdio::null());
    let done = command.output().expect("sh starts");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{script}: {said}");
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// A key that lives as long as this test, and the repository of the package that is tested.
fn repository(at: &Path) {
    const KEY: &str = "export GNUPGHOME=$1/gpg; mkdir -m 0700 $1/gpg
        gpg --batch --quiet --passphrase '' --quick-generate-key 'Postern test <test@example.org>' ed25519 sign 1d
        gpg --batch --quiet --armor --export-secret-keys >$1/secret.asc
        gpgconf --kill all";
    const RELEASE: &str = "\"$1\" --key \"$2/secret.asc\" --output \"$2/repository\" --deb \"$3\"";
    let _ = host(KEY, &[at]);
    let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/release");
    let printed = host(RELEASE, &[&release, at, &deb()]);
    assert!(printed.trim_end().ends_with("/repository"), "{printed}");
    let _ = host("cd \"$1\" && tar -c -f repository.tar repository", &[at]);
}

/// The check of docs/release.md for a package that is copied by hand.
const CHECK: &str = "cd \"$1/repository/pool\" && gpg --dearmor <../postern-archive-keyring.asc >\"$1/postern.gpg\"
    gpgv --quiet --keyring \"$1/postern.gpg\" SHA256SUMS.asc SHA256SUMS 2>/dev/null && sha256sum --check --quiet --ignore-missing SHA256SUMS 2>/dev/null";

/// An altered package fails the check, and so do sums that were made to fit it.
fn signed_sums_tell_an_altered_package(at: &Path) {
    let check = |change: &str| {
        let script = format!("if ({change}\n{CHECK}) >/dev/null; then echo good; else echo bad; fi");
        host(&script, &[at])
    };
    let pool = "cd \"$1/repository/pool\" && f=$(echo postern_*.deb)";
    assert_eq!(check("true"), "good\n");
    assert_eq!(
        check(&format!(
            "{pool} && cp $f ../whole && printf x | dd of=$f bs=1 seek=4096 conv=notrunc status=none"
        )),
        "bad\n"
    );
    assert_eq!(check(&format!("{pool} && cp SHA256SUMS ../sums && sha256sum -- *.deb >SHA256SUMS")), "bad\n");
    assert_eq!(check(&format!("{pool} && mv ../whole $f && mv ../sums SHA256SUMS")), "good\n");
}

const TRUST: &str = "mkdir -p /srv && tar -x -C /srv -f /var/tmp/repository.tar && cd /srv/repository
    install -D -m 0644 postern-archive-keyring.asc /etc/apt/keyrings/postern-archive-keyring.asc
    sed 's#^URIs:.*#URIs: file:/srv/repository#' postern.sources >/etc/apt/sources.list.d/postern.sources
    apt-get update";

fn apt_installs_from_the_signed_repository_and_from_no_altered_copy(release: Release) {
    let directory = tempfile::tempdir().expect("a directory");
    repository(directory.path());
    signed_sums_tell_an_altered_package(directory.path());
    let machine = Machine::boot(release);
    machine.copy_in(&directory.path().join("repository.tar"), "/var/tmp/repository.tar");
    let _ = machine.shell(TRUST).ok();
    let from = machine.shell("apt-cache policy postern").ok();
    assert!(from.contains("file:/srv/repository stable/main"), "{from}");

    // One byte of the package, then of the list: apt says no to each.
    let package = "f=$(echo /srv/repository/pool/postern_*.deb); cp $f /var/tmp/whole.deb
        printf x | dd of=$f bs=1 seek=4096 conv=notrunc status=none";
    let _ = machine.shell(package).ok();
    let install = "DEBIAN_FRONTEND=noninteractive apt-get -q -y install postern";
    let altered = machine.shell(install);
    assert_ne!(altered.code, 0, "{altered}");
    assert!(altered.to_string().contains("Hash Sum mismatch"), "{altered}");
    assert_ne!(machine.shell("dpkg -s postern").code, 0, "nothing is installed");
    let _ = machine.shell("cp /var/tmp/whole.deb /srv/repository/pool/postern_*.deb").ok();
    let list = "rm -rf /var/lib/apt/lists/*; sed -i 's/^Suite: .*/Suite: unstable/' /srv/repository/dists/stable/InRelease
        apt-get update 2>&1";
    let unsigned = machine.shell(list);
    assert!(unsigned.stdout.contains("BADSIG") || unsigned.stdout.contains("is not signed"), "{unsigned}");
    assert_ne!(machine.shell("apt-cache show postern").code, 0, "{unsigned}");

    let _ = machine.shell("rm -rf /srv/repository /var/lib/apt/lists/*").ok();
    let _ = machine.shell(TRUST).ok();
    let installed = machine.shell(install).ok();
    assert!(installed.contains("postern: next: postern-admin init"), "{installed}");
    assert!(machine.shell("postern-admin status").ok().contains("the files match the accepted policy"));
}
