//! An outcome in words: what was found or done on the one hand, why not on the other.

use super::plan::{packages_done, plan, size};
use super::refusal::unit_result;
use super::table::Table;
use super::waiting::{deadline, moment};
use crate::client::pending_request::Outcome;
use crate::protocol::event::{Completed, Decision, Event, FileInfo, FileType, PackageInfo, Status, UnitInfo};
use std::fmt::Write;

/// Formats the result of a request as lines; a file's content unchanged. Tables are cut to `width` columns.
#[must_use]
pub fn found(outcome: &Outcome, width: Option<usize>) -> String {
    let Event::Completed(done) = &outcome.end else { return String::new() };
    if outcome.verb == "file.read" && done.status == Status::Done {
        return String::from_utf8_lossy(&outcome.content).into_owned();
    }
    let mut text = String::new();
    let is_look = matches!(outcome.verb, "package.show" | "unit.status" | "file.list");
    if !is_look && let Some(found) = &done.plan {
        text.push_str(&match done.status {
            Status::Previewed => plan(found, &outcome.views, width),
            _ => packages_done(found),
        });
    }
    packages(done, is_look, &mut text);
    if let Some(info) = &done.unit {
        if is_look {
            unit_block(info, &mut text);
        } else {
            let _ = writeln!(text, "{} is {}", info.id, unit_state(info));
        }
    }
    if outcome.verb == "file.list" {
        text.push_str(&listing(&done.files, width));
    } else {
        let is_content = matches!(outcome.verb, "file.write" | "file.patch" | "file.read");
        done.files.iter().for_each(|info| file(info, is_content, &mut text));
    }
    // Lines of a unit's journal.
    text.push_str(&String::from_utf8_lossy(&outcome.content));
    text.push_str(&String::from_utf8_lossy(&outcome.stdout));
    if text.is_empty() {
        text = status_line(outcome.verb, done);
    }
    if let Some(line) = deadline(done, &outcome.id) {
        let _ = writeln!(text, "{line}");
    }
    if done.reboot_unix_s > 0 {
        let _ = writeln!(text, "the host reboots at {}", moment(done.reboot_unix_s));
    }
    text
}

fn status_line(verb: &str, done: &Completed) -> String {
    match done.status {
        Status::Done => format!("{verb}: done\n"),
        Status::Unchanged => format!("{verb}: nothing to do\n"),
        Status::Previewed => format!("{verb}: {}\n", granted(done)),
        Status::Failed | Status::Partly | Status::Interrupted | Status::Unspecified => String::new(),
    }
}

fn granted(done: &Completed) -> String {
    let by = if done.rule.is_empty() { String::new() } else { format!(" by rule {}", done.rule) };
    match done.decision {
        Decision::Ask => format!("granted{by}, once a person has approved it"),
        Decision::Allow | Decision::Deny | Decision::Unspecified => format!("granted{by}"),
    }
}

fn packages(done: &Completed, is_look: bool, text: &mut String) {
    let has_plan = done.plan.as_ref().is_some_and(|plan| !plan.packages.is_empty());
    for info in &done.packages {
        if is_look {
            package_block(info, text);
        } else if !has_plan {
            let _ = writeln!(text, "{} {} is {}", info.name, info.installed, info.state);
        }
        for path in &info.conffiles_kept {
            let _ = writeln!(text, "{}: kept the changed configuration {path}", info.name);
        }
    }
}

fn package_block(info: &PackageInfo, text: &mut String) {
    let _ = writeln!(text, "{}", info.name);
    let mut marks = info.state.clone();
    for (is, word) in [(info.held, ", held"), (info.essential, ", essential")] {
        marks.push_str(if is { word } else { "" });
    }
    for (key, value) in [
        ("state", &marks),
        ("installed", &info.installed),
        ("candidate", &info.candidate),
        ("sources", &info.sources.join(", ")),
        ("summary", &info.summary),
    ] {
        field(text, key, value);
    }
}

/// "active (running)".
#[must_use]
pub fn unit_state(info: &UnitInfo) -> String {
    if info.sub.is_empty() { info.active.clone() } else { format!("{} ({})", info.active, info.sub) }
}

fn unit_block(info: &UnitInfo, text: &mut String) {
    let _ = writeln!(text, "{}", info.id);
    let mut state = unit_state(info);
    if info.since_unix_us > 0 {
        let _ = write!(state, " since {}", moment(info.since_unix_us / 1_000_000));
    }
    let pid = if info.main_pid > 0 { info.main_pid.to_string() } else { String::new() };
    let memory = if info.memory_bytes > 0 { size(info.memory_bytes) } else { String::new() };
    for (key, value) in [
        ("loaded", &info.load),
        ("state", &state),
        ("at boot", &info.enabled),
        ("result", &unit_result(info)),
        ("main pid", &pid),
        ("memory", &memory),
    ] {
        field(text, key, value);
    }
}

/// Lists a directory like `ls -l`.
fn listing(files: &[FileInfo], width: Option<usize>) -> String {
    let mut table = Table::default();
    for info in files {
        let kind = match info.r#type {
            FileType::File => "file",
            FileType::Directory => "directory",
            FileType::Symlink => "link",
            FileType::Other | FileType::Unspecified => "other",
        };
        let at = if info.mtime_unix_s > 0 { moment(info.mtime_unix_s) } else { String::new() };
        let owner = format!("{}:{}", info.owner, info.group);
        table.row([kind, &info.mode, &owner, &info.size.to_string(), &at, &info.path]);
    }
    table.render("", width)
}

fn file(info: &FileInfo, is_content: bool, text: &mut String) {
    // A removed file has no mode.
    let _ = if info.mode.is_empty() {
        writeln!(text, "{} is gone", info.path)
    } else if is_content || info.size > 0 {
        writeln!(text, "{}: {} bytes, {} {}:{}", info.path, info.size, info.mode, info.owner, info.group)
    } else {
        writeln!(text, "{}: {} {}:{}", info.path, info.mode, info.owner, info.group)
    };
}

fn field(text: &mut String, key: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "  {key:<10} {value}");
    }
}
