//! Imitates the output of `apt-get` and `apt-mark` for a completed request: the lines that scripts and models look
//! for.

use crate::protocol::event::{Action, Completed, PackageStep, Status};
use crate::protocol::request::Request;
use std::fmt::Write;

/// Which version of a package is installed, where that is known.
pub type Installed<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The standard output of the program that would have done it.
#[must_use]
pub fn output(request: &Request, done: &Completed, installed: Installed<'_>) -> String {
    let is_changed = done.status == Status::Done;
    if !is_changed && done.status != Status::Unchanged {
        return String::new();
    }
    match request {
        Request::PackageInstall(asked) => {
            let names = asked.packages.iter().map(|package| package.name.as_str());
            apt(done, installed, names, "is already the newest version")
        }
        Request::PackageUpgrade(asked) => {
            apt(done, installed, asked.names.iter().map(String::as_str), "is already the newest version")
        }
        Request::PackageRemove(asked) | Request::PackagePurge(asked) => {
            apt(done, installed, asked.names.iter().map(String::as_str), NOT_INSTALLED)
        }
        Request::PackageAutoremove(_) => apt(done, installed, std::iter::empty(), ""),
        Request::PackageUpdate(_) => "Reading package lists...\n".to_owned(),
        Request::PackageHold(asked) => {
            each(&asked.names, if is_changed { "set on hold." } else { "was already set on hold." }, "")
        }
        Request::PackageUnhold(asked) if is_changed => each(&asked.names, "", "Canceled hold on "),
        Request::PackageUnhold(asked) => each(&asked.names, "was already not on hold.", ""),
        _ => String::new(),
    }
}

const NOT_INSTALLED: &str = "is not installed, so not removed";

fn each(names: &[String], after: &str, before: &str) -> String {
    let dot = if after.is_empty() { "." } else { " " };
    names.iter().fold(String::new(), |mut text, name| {
        let _ = writeln!(text, "{before}{name}{dot}{after}");
        text
    })
}

/// The transaction as `apt-get` tells it when its output is no terminal.
fn apt<'a>(
    done: &Completed,
    installed: Installed<'_>,
    names: impl Iterator<Item = &'a str>,
    unchanged: &str,
) -> String {
    // Without the plan nothing is known of what was done.
    if done.plan.is_none() && done.status == Status::Done {
        return String::new();
    }
    let mut text =
        "Reading package lists...\nBuilding dependency tree...\nReading state information...\n".to_owned();
    let steps = done.plan.as_ref().map(|plan| plan.packages.as_slice()).unwrap_or_default();
    for name in names.filter(|name| !steps.iter().any(|step| step.name == *name)) {
        let _ = if unchanged == NOT_INSTALLED {
            writeln!(text, "Package '{name}' {unchanged}")
        } else {
            match installed(name).filter(|version| !version.is_empty()) {
                Some(version) => writeln!(text, "{name} {unchanged} ({version})."),
                None => writeln!(text, "{name} {unchanged}."),
            }
        };
    }
    let of =
        |actions: &[Action]| steps.iter().filter(|step| actions.contains(&step.action)).collect::<Vec<_>>();
    let new = of(&[Action::Install]);
    let added: Vec<_> = new.iter().copied().filter(|step| !step.asked).collect();
    let upgraded = of(&[Action::Upgrade]);
    let downgraded = of(&[Action::Downgrade]);
    let removed = of(&[Action::Remove, Action::Purge]);
    list(&mut text, "The following additional packages will be installed:", &added);
    list(&mut text, "The following packages will be REMOVED:", &removed);
    list(&mut text, "The following NEW packages will be installed:", &new);
    list(&mut text, "The following packages will be upgraded:", &upgraded);
    list(&mut text, "The following packages will be DOWNGRADED:", &downgraded);
    let _ = write!(text, "{} upgraded, {} newly installed, ", upgraded.len(), new.len());
    if !downgraded.is_empty() {
        let _ = write!(text, "{} downgraded, ", downgraded.len());
    }
    let _ = writeln!(text, "{} to remove", removed.len());
    for step in steps {
        let PackageStep { action, name, old, new, .. } = step;
        let _ = match action {
            Action::Remove | Action::Purge => writeln!(text, "Removing {name} ({old}) ..."),
            Action::Install | Action::Upgrade | Action::Downgrade | Action::Reinstall | Action::Configure => {
                writeln!(text, "Setting up {name} ({new}) ...")
            }
            Action::Unspecified => Ok(()),
        };
    }
    text
}

fn list(text: &mut String, title: &str, steps: &[&PackageStep]) {
    if steps.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}");
    let mut names: Vec<String> = steps
        .iter()
        .map(|step| format!("{}{}", step.name, if step.action == Action::Purge { "*" } else { "" }))
        .collect();
    names.sort_unstable();
    let _ = writeln!(text, "  {}", names.join(" "));
}
