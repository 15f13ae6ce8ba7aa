//! Drafts a runbook from what a task did: a person reviews it before root installs it.
//!
//! Only steps that succeeded are in it, and none that holds a credential. Names of units and packages, and paths, become
//! parameters with the task's values as defaults.

use super::argument::{command, quoted};
use super::document::Runbook;
use super::fill::judged;
use super::parameter::{Kind, Parameter};
use super::place::Place;
use crate::plan::{Meaning, changes, split};
use crate::protocol::plan::Expected;
use crate::protocol::request::Request;
use crate::protocol::step::StepResult;
use crate::protocol::task::Task;
use crate::protocol::tool::{Action, PackageTool, Tool, unit_name};
use crate::redaction::redact;
use serde_json::{Value, json};
use std::fmt::Write;

/// Most parts of one list, and parameters.
const PIECES: usize = 50;
const PARAMETERS: usize = 16;
/// Longest text for people, in bytes.
const LINE: usize = 200;
/// Largest part, in bytes.
const PIECE: usize = 8 << 10;

/// A draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The name of the runbook, and of the file that it is to have.
    pub name: String,
    /// The text of the file.
    pub text: String,
    /// Steps that are not in it, and why.
    pub left_out: Vec<String>,
}

/// A step of the task on its way into the draft.
struct Step<'t> {
    tool: Tool,
    result: &'t StepResult,
}

/// Drafts a runbook.
///
/// # Errors
/// The task did nothing that a runbook can have.
pub fn draft(task: &Task) -> Result<Draft, String> {
    let digits: String = task.id.chars().filter(char::is_ascii_alphanumeric).collect();
    // The end of an id of version 7 is random, its beginning is the time.
    let name = format!("draft-{}", digits.get(digits.len().saturating_sub(8)..).unwrap_or_default());
    let mut left_out = Vec::new();
    let steps = steps(task, &mut left_out);
    let last_change = steps.iter().rposition(|step| is_change(&step.tool));
    let mut parameters = Parameters::default();
    for step in &steps {
        parameters.collect(&step.tool);
    }
    let (mut list, mut after) = (Vec::new(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let is_after = last_change.is_some_and(|last| at > last) && is_check(step);
        let (place, to) = if is_after { (Place::Verification, &mut after) } else { (Place::Step, &mut list) };
        match piece(step, place, &mut parameters) {
            Ok(_) if to.len() == PIECES => left_out.push(told(step.result, "there are too many")),
            Ok(piece) => to.push(piece),
            Err(why) => left_out.push(told(step.result, &why)),
        }
    }
    if list.is_empty() {
        let why = left_out.first().map_or_else(|| "it has no steps".to_owned(), Clone::clone);
        return Err(format!("the task did nothing that a runbook can have: {why}"));
    }
    let text = written(task, &name, &parameters.used(), &list, &after, &left_out);
    match Runbook::parse(&name, &text) {
        Ok(_) => Ok(Draft { name, text, left_out }),
        Err(fault) => Err(format!("the draft would be no runbook: line {}: {}", fault.line, fault.why)),
    }
}

/// The steps that succeeded. Of a command for a shell its requests stand for it.
fn steps<'t>(task: &'t Task, left_out: &mut Vec<String>) -> Vec<Step<'t>> {
    let mut steps = Vec::new();
    for result in &task.results {
        let has_requests = || {
            task.results.iter().any(|other| !other.is_own() && other.step == result.step && other.went_well())
        };
        let is_ignored = matches!(result.tool, Tool::Runbook { .. } | Tool::SearchKnowledge { .. });
        if is_ignored || !result.is_own() && !result.went_well() {
            continue;
        }
        if !result.went_well() {
            left_out.push(told(result, "it did not succeed"));
            continue;
        }
        let tool = match &result.tool {
            Tool::Shell { .. } if result.is_own() && has_requests() => continue,
            Tool::Shell { cmd } => Tool::Shell { cmd: without_sudo(cmd) },
            Tool::Request(request) => of_request(request),
            Tool::Undo { .. } | Tool::ApplyPatch { .. } => {
                left_out.push(told(result, "it is of that task alone"));
                continue;
            }
            other => other.clone(),
        };
        steps.push(Step { tool, result });
    }
    steps
}

fn told(result: &StepResult, why: &str) -> String {
    let what = redact::text(&postern_text::line(&result.tool.describe())).0;
    let what: String = what.chars().take(100).collect();
    format!("step {} ({what}): {}", result.step, postern_text::line(why))
}

/// In a plan a command that needs privileges becomes a request without `sudo`.
fn without_sudo(cmd: &str) -> String {
    let rest = cmd.trim_start().strip_prefix("sudo ").unwrap_or(cmd);
    let rest = rest.trim_start();
    rest.strip_prefix("-n ").unwrap_or(rest).trim().to_owned()
}

/// The tool that a request is of, where people know one.
fn of_request(request: &Request) -> Tool {
    let service = |action, unit: &str| Tool::Service { action, name: unit.to_owned() };
    match request {
        Request::UnitStart(args) => service(Action::Start, &args.unit),
        Request::UnitStop(args) => service(Action::Stop, &args.unit),
        Request::UnitRestart(args) => service(Action::Restart, &args.unit),
        Request::UnitReload(args) => service(Action::Reload, &args.unit),
        Request::UnitResetFailed(args) => service(Action::ResetFailed, &args.unit),
        Request::UnitStatus(args) if args.journal_lines == 0 => service(Action::Status, &args.unit),
        Request::PackageRemove(args) => Tool::Package(PackageTool::Remove { names: args.names.clone() }),
        Request::PackageUpdate(_) => Tool::Package(PackageTool::Update {}),
        Request::PackageRepair(_) => Tool::Package(PackageTool::Repair {}),
        other => Tool::Request(other.clone()),
    }
}

fn is_change(tool: &Tool) -> bool {
    match tool {
        Tool::Shell { cmd } => Meaning::of(cmd).is_ok_and(|meaning| meaning.is_effect()),
        other => changes(other),
    }
}

/// A look that succeeds again where all is well: a unit's state must be active.
fn is_check(step: &Step<'_>) -> bool {
    let is_look = !is_change(&step.tool) && !matches!(step.tool, Tool::Shell { .. });
    let expected = Expected { tool: step.tool.clone(), expect: None };
    is_look && expected.met_by(step.result.stdout.as_deref().unwrap_or_default()).is_ok()
}

/// Parameters of the draft.
#[derive(Default)]
struct Parameters {
    all: Vec<(Parameter, bool)>,
}

impl Parameters {
    /// Offers the names and paths of a tool as parameters.
    fn collect(&mut self, tool: &Tool) {
        match tool {
            Tool::Shell { cmd } => match Meaning::of(cmd) {
                Ok(Meaning::Requests(steps)) => {
                    for step in steps {
                        self.collect(&Tool::Request(step.request));
                    }
                }
                Ok(Meaning::Program) => {
                    let words = split(cmd).unwrap_or_default();
                    words.iter().skip(1).filter(|word| word.starts_with('/')).for_each(|word| {
                        self.offer(Kind::Path, word);
                    });
                }
                Ok(Meaning::Nothing(_)) | Err(_) => {}
            },
            other => {
                let call = json!(other);
                self.within(call["tool"].as_str().unwrap_or_default(), &call["args"]);
            }
        }
    }

    fn within(&mut self, tool: &str, args: &Value) {
        for (key, value) in args.as_object().into_iter().flatten() {
            let texts: Vec<&str> = match value {
                Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
                Value::Object(_) => {
                    self.within(tool, value);
                    continue;
                }
                other => other.as_str().into_iter().collect(),
            };
            if let Some(kind) = kind(tool, key) {
                for text in texts {
                    self.offer(kind, text);
                }
            }
        }
    }

    fn offer(&mut self, kind: Kind, value: &str) {
        if self.all.len() == PARAMETERS || self.find(kind, value).is_some() {
            return;
        }
        let (base, about) = match kind {
            Kind::Unit => ("unit", "A unit of the task"),
            Kind::Package => ("package", "A package of the task"),
            _ => ("path", "A path of the task"),
        };
        let of_kind = self.all.iter().filter(|(one, _)| one.kind == kind).count();
        let name = if of_kind == 0 { base.to_owned() } else { format!("{base}{}", of_kind + 1) };
        let parameter = Parameter {
            name,
            kind,
            about: about.to_owned(),
            default: Some(value.to_owned()),
            example: None,
            values: Vec::new(),
            min: None,
            max: None,
        };
        if parameter.check(value).is_ok() && redact::text(value).1 == 0 {
            self.all.push((parameter, false));
        }
    }

    fn find(&self, kind: Kind, value: &str) -> Option<usize> {
        let is_same =
            |known: &str| known == value || kind == Kind::Unit && unit_name(known) == unit_name(value);
        self.all.iter().position(|(one, _)| one.kind == kind && one.default.as_deref().is_some_and(is_same))
    }

    /// The placeholder of a value, if it has one; it is used from now on.
    fn placeholder(&mut self, kind: Kind, value: &str) -> Option<String> {
        let at = self.find(kind, value)?;
        let (parameter, is_used) = self.all.get_mut(at)?;
        *is_used = true;
        Some(format!("${{{}}}", parameter.name))
    }

    fn used(&self) -> Vec<&Parameter> {
        self.all.iter().filter(|(_, is_used)| *is_used).map(|(one, _)| one).collect()
    }
}

/// The kind of an argument's values.
fn kind(tool: &str, key: &str) -> Option<Kind> {
    Some(match (tool, key) {
        ("service" | "unit_journal" | "ensure_running", "name") | ("request", "unit") => Kind::Unit,
        ("pkg_install", "name") | ("package" | "ensure_installed" | "request", "names") => Kind::Package,
        ("read_file" | "write_file" | "file" | "search_files" | "request", "path") => Kind::Path,
        _ => return None,
    })
}

/// A step as the draft has it. A command may end again as it did in the task.
fn piece(step: &Step<'_>, place: Place, parameters: &mut Parameters) -> Result<Value, String> {
    let tool = &step.tool;
    let literal = match tool {
        Tool::Shell { cmd } => json!({ "command": cmd }),
        other => json!(other),
    };
    let text = literal.to_string();
    let mut strings = literal.clone();
    if redact::text(&text).1 + redact::strings(&mut strings) > 0 || text.contains(redact::MARK) {
        return Err("it holds a credential".to_owned());
    }
    if text.contains("${") {
        return Err("${ would begin a placeholder".to_owned());
    }
    if text.len() > PIECE {
        return Err("it is too large".to_owned());
    }
    if let Tool::Shell { cmd } = tool {
        let Ok(words) = split(cmd) else { return Err("it needs a shell".to_owned()) };
        let plain = json!({ "command": cmd, "purpose": "", "read_only": !is_change(tool) });
        judged(Place::Step, &plain)?;
        let command = with_placeholders(cmd, &words, parameters);
        return Ok(match step.result.exit_code {
            None | Some(0) => json!(command),
            Some(code) => json!({ "command": command, "acceptable_exit_codes": [0, code] }),
        });
    }
    judged(place, &literal)?;
    let mut call = literal;
    let name = call["tool"].as_str().unwrap_or_default().to_owned();
    if let Some(args) = call.get_mut("args") {
        replace(&name, args, parameters);
    }
    Ok(call)
}

fn replace(tool: &str, args: &mut Value, parameters: &mut Parameters) {
    for (key, value) in args.as_object_mut().into_iter().flatten() {
        let kind = kind(tool, key);
        match value {
            Value::Object(_) => replace(tool, value, parameters),
            Value::Array(list) => list.iter_mut().for_each(|one| put(kind, one, parameters)),
            other => put(kind, other, parameters),
        }
    }
}

fn put(kind: Option<Kind>, value: &mut Value, parameters: &mut Parameters) {
    if let (Some(kind), Some(text)) = (kind, value.as_str())
        && let Some(placeholder) = parameters.placeholder(kind, text)
    {
        *value = json!(placeholder);
    }
}

/// The words of a command with placeholders, where it stays the same command.
fn with_placeholders(cmd: &str, words: &[String], parameters: &mut Parameters) -> String {
    let is_translated = matches!(Meaning::of(cmd), Ok(Meaning::Requests(_)));
    let kinds: &[Kind] = if is_translated { &[Kind::Unit, Kind::Package, Kind::Path] } else { &[Kind::Path] };
    let mut before: Vec<bool> = parameters.all.iter().map(|(_, is_used)| *is_used).collect();
    let mut parts = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let found =
            kinds.iter().find_map(|kind| (at > 0).then(|| parameters.placeholder(*kind, word)).flatten());
        parts.push(found.unwrap_or_else(|| quoted(word)));
    }
    let line = parts.join(" ");
    let values =
        parameters.all.iter().filter_map(|(one, _)| Some((one.name.clone(), one.default.clone()?))).collect();
    // A unit's default may have the suffix that the word has not.
    let is_same = |filled: &str| match (Meaning::of(filled), Meaning::of(cmd)) {
        (Ok(Meaning::Requests(one)), Ok(Meaning::Requests(other))) => one == other,
        _ => split(filled).is_ok_and(|filled| filled == words),
    };
    if command(&line, &values).is_ok_and(|filled| is_same(&filled)) {
        return line;
    }
    for (_, is_used) in &mut parameters.all {
        *is_used = !before.is_empty() && before.remove(0);
    }
    cmd.to_owned()
}

/// The file.
fn written(
    task: &Task,
    name: &str,
    parameters: &[&Parameter],
    steps: &[Value],
    after: &[Value],
    left_out: &[String],
) -> String {
    let words = redact::text(&postern_text::line(&task.task)).0;
    let mut title = format!("Draft: {words}");
    while title.len() > LINE {
        title.pop();
    }
    let mut text = format!(
        "# A draft from the task {}: review it, save it as {name}.yaml, check it with\n\
         # postern runbook check ./{name}.yaml, and let root put it into /etc/postern/runbooks.d.\n",
        task.id
    );
    for why in left_out {
        let _ = writeln!(text, "# Left out: {why}");
    }
    let _ = writeln!(text, "name: {name}\ntitle: {}", scalar(&title));
    let pattern = regex::escape(&words);
    if !words.trim().is_empty() && pattern.len() <= LINE {
        let _ = writeln!(text, "when:\n  tasks: [{}]", scalar(&pattern));
    }
    if !parameters.is_empty() {
        text.push_str("parameters:\n");
    }
    for one in parameters {
        let (kind, default) = (one.kind.word(), scalar(one.default.as_deref().unwrap_or_default()));
        let _ = writeln!(
            text,
            "  - {{name: {}, kind: {kind}, about: {}, default: {default}}}",
            one.name, one.about
        );
    }
    for (head, list) in [("steps", steps), ("verification", after)] {
        if !list.is_empty() {
            let _ = writeln!(text, "{head}:");
        }
        for piece in list {
            let _ = writeln!(text, "  - {}", flow(piece));
        }
    }
    let _ =
        writeln!(text, "notes: A draft, made from what the task {} did. Nobody has reviewed it.", task.id);
    text
}

/// A value in YAML's flow style.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", scalar(key), flow(value));
            // The tool before its arguments, as people write it.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str() != "tool");
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text as YAML reads it back as a text.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    if is_word {
        text.to_owned()
    } else if text.contains(['\n', '\t', '\r']) {
        // JSON's quotes are YAML's.
        json!(text).to_string()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}
