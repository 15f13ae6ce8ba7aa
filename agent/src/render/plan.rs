//! Plans as tables: packages by what becomes of them, units with what they draw along, files
//! with their modes and owners.

use super::risk;
use super::table::Table;
use crate::protocol::event::{Action, ChangeKind, FileStep, Plan, UnitStep};
use crate::protocol::file_view::FileView;
use std::fmt::Write;

/// The groups of a package plan, in the order in which they are shown: what happens, before and after.
const GROUPS: &[(Action, &str, &str)] = &[
    (Action::Install, "would install", "installed"),
    (Action::Upgrade, "would upgrade", "upgraded"),
    (Action::Downgrade, "would downgrade", "downgraded"),
    (Action::Reinstall, "would reinstall", "reinstalled"),
    (Action::Remove, "would remove", "removed"),
    (Action::Purge, "would purge", "purged"),
    (Action::Configure, "would configure", "configured"),
    (Action::Unspecified, "would change", "changed"),
];

/// Formats a plan; `views` are the files as the client sees them, `width` that of the terminal.
#[must_use]
pub fn plan(plan: &Plan, views: &[FileView], width: Option<usize>) -> String {
    let mut text = String::new();
    packages(plan, width, &mut text);
    units(&plan.units, width, &mut text);
    files(&plan.files, views, width, &mut text);
    if let Some(command) = &plan.command {
        let _ = writeln!(text, "would run {} as {}", command.argv.join(" "), command.user);
        if !command.description.is_empty() {
            let _ = writeln!(text, "which: {}", command.description);
        }
    }
    text
}

fn packages(plan: &Plan, width: Option<usize>, text: &mut String) {
    for (action, would, _) in GROUPS {
        let mut table = Table::default();
        for step in plan.packages.iter().filter(|step| step.action == *action) {
            let why = if step.asked { "" } else { "(needed by it)" };
            table.row([&step.name, &version(&step.old, &step.new), &step.sources.join(", "), why]);
        }
        if table.len() > 0 {
            let _ = write!(text, "{would} {}:\n{}", table.len(), table.render("  ", width));
        }
    }
    if plan.not_undoable {
        text.push_str("this cannot be undone\n");
    }
    if plan.download_bytes > 0 {
        let _ = writeln!(text, "to download: {}", size(plan.download_bytes));
    }
    if plan.disk_bytes != 0 {
        let word = if plan.disk_bytes > 0 { "more" } else { "less" };
        let _ = writeln!(text, "on disk: {} {word}", size(plan.disk_bytes.unsigned_abs()));
    }
}

/// Formats the changes of packages, a line each.
#[must_use]
pub fn packages_done(plan: &Plan) -> String {
    let mut text = String::new();
    for step in &plan.packages {
        let word = GROUPS.iter().find(|(action, ..)| *action == step.action).map_or("", |(.., did)| did);
        let why = if step.asked { "" } else { " (needed by it)" };
        let _ = writeln!(text, "{word} {} {}{why}", step.name, version(&step.old, &step.new));
    }
    text
}

fn version(old: &str, new: &str) -> String {
    match (old, new) {
        ("", new) => new.to_owned(),
        (old, "") => old.to_owned(),
        (old, new) => format!("{old} -> {new}"),
    }
}

fn units(steps: &[UnitStep], width: Option<usize>, text: &mut String) {
    let mut table = Table::default();
    for step in steps {
        let along = if step.cascade { "(drawn along)" } else { "" };
        let states = [step.active.as_str(), step.enabled.as_str()].map(str::to_owned);
        let now: Vec<_> = states.into_iter().filter(|state| !state.is_empty()).collect();
        let now = if now.is_empty() { String::new() } else { format!("now {}", now.join(", ")) };
        table.row([&format!("would {}", step.verb), &step.id, &now, along]);
    }
    text.push_str(&table.render("", width));
}

fn files(steps: &[FileStep], views: &[FileView], width: Option<usize>, text: &mut String) {
    let mut table = Table::default();
    for step in steps {
        let view = views.iter().find(|view| view.path == step.path);
        let was = view.and_then(|view| view.was.as_ref());
        let lines = view.map(FileView::counts).unwrap_or_default();
        let would = match step.kind {
            ChangeKind::Remove => "would remove",
            ChangeKind::Write | ChangeKind::Unspecified if view.is_some_and(|view| view.is_new) => {
                "would create"
            }
            ChangeKind::Write | ChangeKind::Unspecified => "would write",
        };
        let owner = format!("{}:{}", step.owner, step.group);
        let [mode, owner] = match (step.kind, was) {
            (ChangeKind::Remove, _) => Default::default(),
            (_, None) if owner == ":" => [step.mode.clone(), String::new()],
            (_, None) => [step.mode.clone(), owner],
            (_, Some(was)) => {
                let kept =
                    |new: &str, old: &str| if new.is_empty() { old.to_owned() } else { new.to_owned() };
                let owner = [kept(&step.owner, &was.owner), kept(&step.group, &was.group)].join(":");
                [changed(&was.mode, &step.mode), changed(&[&*was.owner, &*was.group].join(":"), &owner)]
            }
        };
        let bytes = match step.kind {
            ChangeKind::Remove => String::new(),
            ChangeKind::Write | ChangeKind::Unspecified => format!("{} bytes", step.new_size),
        };
        let undo = if step.not_kept { "cannot be undone: no copy is kept" } else { "" };
        table.row([would, &step.path, &lines, &bytes, &mode, &owner, undo]);
    }
    text.push_str(&table.render("", width));
    for step in steps.iter().filter(|step| step.kind != ChangeKind::Remove) {
        let view = views.iter().find(|view| view.path == step.path);
        let warning = view.map_or_else(|| risk::of_file(&step.path, &[]), risk::of_view);
        if let Some(warning) = warning {
            let _ = writeln!(text, "{warning}");
        }
    }
}

fn changed(old: &str, new: &str) -> String {
    match (old, new) {
        (old, new) if old == new || old.is_empty() => new.to_owned(),
        (old, "") => old.to_owned(),
        (old, new) => format!("{old} -> {new}"),
    }
}

/// Bytes for people.
pub fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}
