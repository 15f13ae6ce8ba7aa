//! The accepted policy beside the files that it came from, and beside the last sign-off.

use crate::host::Host;
use crate::policy::accepted::{self, Accepted};
use crate::policy::apply::short;
use crate::policy::sign_off;
use crate::status;
use crate::text::time;
use postern_doctor::Check;
use std::io;

const POLICY: &str = "policy";
const SIGN_OFF: &str = "sign-off";
const APPLY: &str = "postern-admin policy apply";

pub(super) fn checks(host: &Host) -> Vec<Check> {
    match accepted::read(&host.accepted_dir()) {
        Ok(Some(accepted)) => vec![files(host, &accepted), signed(host, &accepted)],
        Ok(None) => vec![Check::wrong(POLICY, "none is accepted, so every request is refused", APPLY)],
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            vec![Check::unknown(POLICY, "only root can read the accepted policy")]
        }
        Err(error) => vec![Check::wrong(POLICY, error.to_string(), APPLY)],
    }
}

fn files(host: &Host, accepted: &Accepted) -> Check {
    let digest = accepted.digest.to_string();
    let (state, words) = status::files(host, Some(&digest));
    match state {
        "in_force" => Check::ok(POLICY, format!("{}: {words}", short(&digest))),
        "unreadable" => Check::unknown(POLICY, words),
        "differ" => Check::wrong(POLICY, "the files differ from the accepted policy", APPLY),
        _ => Check::wrong(POLICY, words, "postern-admin policy check"),
    }
}

fn signed(host: &Host, accepted: &Accepted) -> Check {
    const SIGN: &str = "postern-admin policy report && postern-admin policy sign-off";
    let all = match sign_off::read(&host.own) {
        Ok(all) => all,
        Err(error) => return Check::wrong(SIGN_OFF, format!("the sign-offs cannot be read: {error}"), SIGN),
    };
    let digest = accepted.digest.to_string();
    match sign_off::of(&all, &digest) {
        Some(one) => {
            let own = if one.uid == accepted.applied_by { ", who also applied it" } else { "" };
            Check::ok(SIGN_OFF, format!("by {}, {}{own}", one.reviewer, time(one.unix_s)))
        }
        // Nobody has to use it.
        None if all.is_empty() => Check::ok(SIGN_OFF, "no policy was ever signed off here"),
        None => Check::wrong(SIGN_OFF, format!("{} was not signed off", short(&digest)), SIGN),
    }
}
