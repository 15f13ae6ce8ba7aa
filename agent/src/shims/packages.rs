//! `apt-get`, `apt`, `apt-mark` and `dpkg`.

use super::call::{Step, Steps, parse, step};
use super::exit_status::ProgramFamily;
use super::operands::has;
use crate::protocol::args::{All, Names, Nothing, Package, Packages};
use crate::protocol::request::Request;

/// Options that say what the helper does anyway: no questions, no recommended packages, kept configuration.
const QUIET: &str = "y q f --yes --assume-yes --quiet --no-install-recommends --no-install-suggests \
                     --fix-broken --only-upgrade --purge --auto-remove --autoremove --show-progress";

pub fn apt(argv: &[String]) -> Steps {
    let (options, operands) = parse(argv, QUIET)?;
    let has = |names: &[&str]| has(&options, names);
    let Some((action, names)) = operands.split_first() else { return Err("say what to do".into()) };
    // g++ and its like are names.
    let is_marked = |name: &str| name.ends_with(['-', '+']) && !name.ends_with("++");
    if names.iter().any(|name| name.contains('/') || is_marked(name)) {
        let what = "packages go by their names alone; use `apt-get remove NAME` to remove, `NAME=VERSION` for a version";
        return Err(what.into());
    }
    if has(&["auto-remove", "autoremove"]) && action != "autoremove" {
        return Err("ask for `apt-get autoremove` on its own".into());
    }
    let request = match action.as_str() {
        "install" if names.is_empty() && has(&["f", "fix-broken"]) => Request::PackageRepair(Nothing {}),
        "install" if !names.is_empty() && has(&["only-upgrade"]) => upgrade(names),
        "install" if !names.is_empty() => Request::PackageInstall(Packages {
            packages: names
                .iter()
                .map(|name| {
                    let (name, version) = name.split_once('=').unwrap_or((name, ""));
                    Package { name: name.to_owned(), version: version.to_owned() }
                })
                .collect(),
        }),
        "remove" if has(&["purge"]) && !names.is_empty() => purge(names),
        "remove" if !names.is_empty() => Request::PackageRemove(Names { names: names.to_vec() }),
        "purge" if !names.is_empty() => purge(names),
        "autoremove" if names.is_empty() && !has(&["purge"]) => Request::PackageAutoremove(Nothing {}),
        "update" if names.is_empty() => Request::PackageUpdate(Nothing {}),
        "upgrade" if names.is_empty() => upgrade(names),
        "upgrade" => {
            return Err(
                "with names it upgrades all others too; use `apt-get install --only-upgrade NAME`".into()
            );
        }
        "install" | "remove" | "purge" => return Err(format!("{action}: name the packages")),
        "dist-upgrade" | "full-upgrade" => {
            return Err("use `apt-get upgrade`, or name the packages that are to change".into());
        }
        _ => return Err(format!("{action} has no request; see `postern package --help`")),
    };
    let is_quiet = options.iter().filter(|(name, _)| matches!(name.as_str(), "q" | "quiet")).count() > 1;
    Ok(vec![Step { is_quiet, ..step(request, ProgramFamily::Apt) }])
}

/// The newest versions of these packages, or of all.
fn upgrade(names: &[String]) -> Request {
    Request::PackageUpgrade(All { names: names.to_vec(), all: names.is_empty() })
}

fn purge(names: &[String]) -> Request {
    Request::PackagePurge(Names { names: names.to_vec() })
}

pub fn mark(argv: &[String]) -> Steps {
    let (_, operands) = parse(argv, "q --quiet")?;
    let one = |request| -> Vec<Step> { vec![step(request, ProgramFamily::Apt)] };
    match operands.split_first() {
        Some((action, names)) if action == "hold" && !names.is_empty() => {
            Ok(one(Request::PackageHold(Names { names: names.to_vec() })))
        }
        Some((action, names)) if action == "unhold" && !names.is_empty() => {
            Ok(one(Request::PackageUnhold(Names { names: names.to_vec() })))
        }
        Some(_) | None => Err("hold and unhold with names are what a request can do".into()),
    }
}

pub fn dpkg(argv: &[String]) -> Steps {
    let words: Vec<&str> = argv.iter().skip(1).map(String::as_str).collect();
    match words.as_slice() {
        ["--configure", "-a" | "--pending"] => {
            Ok(vec![step(Request::PackageRepair(Nothing {}), ProgramFamily::Apt)])
        }
        _ => Err(
            "packages come from the configured sources: use `apt-get install NAME` or `apt-get remove NAME`"
                .into(),
        ),
    }
}
