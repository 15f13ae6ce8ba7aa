//! The clock and Landlock.

use crate::host::Host;
use crate::programs::output;
use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use postern_doctor::Check;

const CLOCK: &str = "clock";
const LANDLOCK: &str = "landlock";

pub(super) fn checks(host: &Host) -> Vec<Check> {
    vec![clock(host), landlock()]
}

/// Ids of requests, rates, approvals and the order of records go by the clock.
fn clock(host: &Host) -> Check {
    let shown = match output(&host.programs.timedatectl, &["show", "--property=NTPSynchronized", "--value"]) {
        Ok(shown) if shown.status.success() => shown.stdout,
        Ok(shown) => {
            let why = String::from_utf8_lossy(&shown.stderr).trim().to_owned();
            return Check::unknown(CLOCK, format!("timedatectl: {why}"));
        }
        Err(why) => return Check::unknown(CLOCK, why),
    };
    match shown.trim_ascii() {
        b"yes" => Check::ok(CLOCK, "synchronised"),
        b"no" => {
            Check::wrong(CLOCK, "not synchronised", "timedatectl set-ntp true; timedatectl timesync-status")
        }
        _ => Check::unknown(CLOCK, "timedatectl does not say whether it is synchronised"),
    }
}

/// postern-files confines itself by it before its first order, and serves none without.
fn landlock() -> Check {
    // A set of rules that confines nobody: the kernel says whether it knows the rights.
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let known = rules.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
    match known {
        Ok(_) => Check::ok(LANDLOCK, "this kernel has it"),
        Err(error) => Check::wrong(
            LANDLOCK,
            format!("this kernel has none, so files cannot be changed: {error}"),
            "add lsm=landlock,… to the kernel's command line, with what /sys/kernel/security/lsm has",
        ),
    }
}
