//! `doctor`: whether the parts of this host that Postern needs are as they should be, and the command that mends each.
//!
//! Reads files and asks systemd; changes nothing, and works while no service of Postern's runs.

pub mod capabilities;
mod kernel;
mod log;
mod packages;
mod policy;
pub mod polkit;
pub mod powers;
mod session;
mod units;

pub use postern_doctor::{Check, State};
pub use units::LISTENERS;

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::text::{escape, escape_json};
use serde_json::json;
use std::io;

/// `doctor`. Exit 0 if nothing is wrong, else 1.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, is_json: bool, io: &mut Io<'_>) -> io::Result<Exit> {
    let checks = checks(host);
    let is_wrong = checks.iter().any(|check| check.state == State::Wrong);
    if is_json {
        let result = json!({ "v": 1, "ok": !is_wrong, "checks": checks });
        writeln!(io.out, "{}", escape_json(&result.to_string()))?;
    } else {
        for check in &checks {
            let word = match check.state {
                State::Ok => "ok",
                State::Wrong => "wrong",
                State::Unknown => "?",
            };
            writeln!(io.out, "{:<11} {word:<6} {}", check.check, escape(&check.detail))?;
            if let Some(mend) = &check.mend {
                writeln!(io.out, "{:>18} {}", "->", escape(mend))?;
            }
        }
    }
    Ok(if is_wrong { Exit::Failed } else { Exit::Done })
}

fn checks(host: &Host) -> Vec<Check> {
    let mut checks = units::checks(host);
    checks.push(units::recorder(host));
    checks.extend(session::checks(host));
    checks.extend(policy::checks(host));
    checks.extend(log::checks(host));
    checks.extend(packages::checks(&host.root));
    checks.extend(kernel::checks(host));
    checks.extend(powers::checks(host));
    checks
}
