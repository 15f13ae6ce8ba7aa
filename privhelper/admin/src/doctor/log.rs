//! The audit log: its chain, the space for it, and when it was verified last.

use crate::audit::verified::LastVerification;
use crate::audit::verify::{add_known_records, settled};
use crate::audit::{Extent, Proof};
use crate::host::Host;
use crate::text::{count, now, time};
use nix::sys::statvfs::statvfs;
use postern_doctor::Check;
use std::io;

const LOG: &str = "log";
const SPACE: &str = "log space";
const VERIFIED: &str = "verified";
/// Less free space than this, and records may soon not fit.
const FREE_MIB: u64 = 64;
/// Longest time between two verifications.
const VERIFY_DAYS: u64 = 30;
const DAY: u64 = 24 * 3600;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    vec![chain(host), space(host), verified(host)]
}

fn chain(host: &Host) -> Check {
    if let Err(error) = std::fs::read_dir(&host.log) {
        return match error.kind() {
            io::ErrorKind::PermissionDenied => {
                Check::unknown(LOG, "it is for root and members of postern-auditors")
            }
            _ => Check::wrong(
                LOG,
                format!("{}: {error}", host.log.display()),
                "systemd-tmpfiles --create postern.conf",
            ),
        };
    }
    let mut proof = Proof::default();
    // `audit verify` reports errors of the journal.
    let _ = add_known_records(host, &mut proof);
    proof.known.sort_by_key(|known| known.seq);
    match settled(host, &[], Extent::Installed, &proof) {
        Ok((verdict, _)) => {
            let records = count(usize::try_from(verdict.records).unwrap_or(usize::MAX), "record");
            match &verdict.bad {
                None if verdict.differences.is_empty() => {
                    Check::ok(LOG, format!("{records}, the chain holds"))
                }
                None => {
                    let why = "root states something else than was recorded for it";
                    Check::wrong(LOG, why, "postern-admin audit verify")
                }
                Some(bad) => {
                    let why = format!("NOT VALID after {records}: {}", bad.reason);
                    Check::wrong(LOG, why, "postern-admin audit verify")
                }
            }
        }
        Err(why) => Check::wrong(LOG, why, "postern-admin audit verify"),
    }
}

fn space(host: &Host) -> Check {
    let Ok(facts) = statvfs(&host.log) else {
        return Check::unknown(SPACE, format!("{} cannot be seen", host.log.display()));
    };
    // Widths differ between architectures.
    #[expect(clippy::useless_conversion, reason = "it is one where the type is narrower")]
    let free = u64::from(facts.blocks_available()).saturating_mul(u64::from(facts.fragment_size())) >> 20;
    let words = format!("{free} MiB are free for {}", host.log.display());
    if free < FREE_MIB {
        let mend = format!("df -h {}; apt-get clean; journalctl --vacuum-size=100M", host.log.display());
        return Check::wrong(SPACE, format!("{words}: an effect without a record does not happen"), mend);
    }
    Check::ok(SPACE, words)
}

fn verified(host: &Host) -> Check {
    const MEND: &str = "postern-admin audit verify --key FILE   # or without the key, which proves less";
    match LastVerification::read(&host.own) {
        Ok(Some(last)) => {
            let key = if last.with_key { "with its key" } else { "without its key" };
            let words = format!("{} up to record {}, {key}", time(last.unix_s), last.seq);
            let is_old = now().saturating_sub(last.unix_s) > VERIFY_DAYS * DAY;
            if is_old {
                Check::wrong(VERIFIED, format!("last {words}"), MEND)
            } else {
                Check::ok(VERIFIED, words)
            }
        }
        Ok(None) if is_young(host) => Check::ok(VERIFIED, format!("not yet; due within {VERIFY_DAYS} days")),
        Ok(None) => Check::wrong(VERIFIED, "never by root", MEND),
        Err(error) => Check::wrong(VERIFIED, format!("its note cannot be read: {error}"), MEND),
    }
}

/// Whether the installation is younger than the time between two verifications: its first `policy apply` makes this key.
fn is_young(host: &Host) -> bool {
    let made =
        std::fs::metadata(host.accepted_dir().join("validator.key")).and_then(|facts| facts.modified());
    let age = made.ok().and_then(|made| made.elapsed().ok());
    age.is_some_and(|age| age.as_secs() < VERIFY_DAYS * DAY)
}
