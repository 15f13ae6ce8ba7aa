//! Parses a model's reply into one typed call, or an error that can be sent to the model.
//!
//! The first call decides, even when it is wrong. Text that does not parse is never searched for a call, a cut-off
//! call is never completed, and reasoning blocks are ignored. Every byte is read a fixed number of times, and
//! nothing recurses.

mod extent;
mod json;
mod reasoning;
mod shape;
mod strings;

pub use json::{DEPTH_LIMIT, Repair};

use super::tools::{self, Call, NoCall, Tool};
use json::Object;
use reasoning::Tag;
use serde::Serialize;
use serde_json::{Map, Value};
use shape::Named;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// Kind of a malformed reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// There is no object in it.
    NoJson,
    /// A call is broken or cut off.
    InvalidJson,
    /// There are objects, but none names a tool.
    MissingTool,
    /// There is no such tool.
    UnknownTool,
    /// The arguments are not exactly the tool's.
    BadArgs,
}

/// Why a reply is no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedReply {
    /// Its kind.
    pub code: Code,
    /// The details, one line, for the model.
    pub why: String,
}

impl fmt::Display for MalformedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for MalformedReply {}

/// Result of parsing a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The call, or why there is none.
    pub call: Result<Call, MalformedReply>,
    /// There are more calls; only the first is looked at.
    pub is_multiple: bool,
    /// Repairs made to parse the call.
    pub repairs: BTreeSet<Repair>,
}

/// Reads a reply in which one of `tools` is to be called.
#[must_use]
pub fn read(reply: &str, tools: &[Tool]) -> Reading {
    let text = unwrapped(reply);
    let mut scan = Scan { text: &text, ..Scan::default() };
    if let Err(failure) = scan.run() {
        return Reading {
            call: Err(failure.into_malformed(&text)),
            is_multiple: false,
            repairs: BTreeSet::new(),
        };
    }
    let is_multiple = scan.calls > 1;
    let Some((named, mut repairs)) = scan.first else {
        return Reading { call: Err(scan.nothing()), is_multiple, repairs: BTreeSet::new() };
    };
    let call = call(named, tools, &mut repairs);
    Reading { call, is_multiple, repairs }
}

/// All calls that a text holds: of a model's own words, or of data that it was shown.
#[must_use]
pub fn calls(text: &str, tools: &[Tool]) -> Vec<Call> {
    let mut scan = Scan { text, others: Some(Vec::new()), ..Scan::default() };
    // Calls before a broken one count.
    let _ = scan.run();
    let others = scan.others.unwrap_or_default();
    others.into_iter().filter_map(|named| call(named, tools, &mut BTreeSet::new()).ok()).collect()
}

/// Whether a reply is one object and nothing else, a fence around it aside.
#[must_use]
pub fn is_alone(reply: &str) -> bool {
    let text = unwrapped(reply);
    let text = text.trim();
    let bare = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let text = bare.map_or(text, |text| text.strip_prefix("json").unwrap_or(text).trim());
    text.starts_with('{') && json::object(text, 0).is_ok_and(|object| object.end == text.len())
}

/// Reads a call that came in the fields of a wire format: a name, and arguments as JSON text.
#[must_use]
pub fn read_native(tool: &str, arguments: &str, tools: &[Tool]) -> Reading {
    let mut repairs = BTreeSet::new();
    let call = if tool.is_empty() {
        Err(malformed(Code::MissingTool, "the tool's name is empty"))
    } else {
        let args = Some(Value::String(arguments.to_owned()));
        call(Named { tool: tool.to_owned(), args }, tools, &mut repairs)
    };
    Reading { call, is_multiple: false, repairs }
}

/// Parses a text of one JSON object and nothing else, without any repair: a program's or a person's.
///
/// # Errors
/// The fault, and its place.
pub fn strict(text: &str) -> Result<Value, String> {
    let trimmed = text.trim_matches(|c: char| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{feff}'));
    if !trimmed.starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    let object =
        json::object(trimmed, 0).map_err(|fault| format!("{} {}", fault.why, place(trimmed, fault.at)))?;
    if object.end != trimmed.len() {
        return Err(format!("text follows the object {}", place(trimmed, object.end)));
    }
    if let Some(repair) = object.repairs.first() {
        return Err(format!("it is no JSON as it stands: {repair:?}"));
    }
    Ok(Value::Object(object.members))
}

fn malformed(code: Code, why: impl Into<String>) -> MalformedReply {
    MalformedReply { code, why: why.into() }
}

/// Without a byte order mark; and where the whole reply is one JSON string, what that says.
fn unwrapped(reply: &str) -> Cow<'_, str> {
    let reply = reply.strip_prefix('\u{feff}').unwrap_or(reply);
    if !reply.trim_start().starts_with('"') {
        return Cow::Borrowed(reply);
    }
    serde_json::from_str(reply).map_or(Cow::Borrowed(reply), Cow::Owned)
}

fn call(named: Named, tools: &[Tool], repairs: &mut BTreeSet<Repair>) -> Result<Call, MalformedReply> {
    let Named { tool, args } = named;
    // The name first: whoever errs in it is helped by the names, not by the arguments of nothing.
    let args = args.map_or_else(|| Err("they are missing".to_owned()), |args| object(args, repairs));
    let checked = match args {
        Ok(args) => tools::check(tools, &tool, args),
        Err(_) if tools.iter().all(|known| known.name != tool) => Err(NoCall::UnknownTool),
        Err(why) => Err(NoCall::BadArgs(why)),
    };
    checked.map_err(|no_call| match no_call {
        NoCall::UnknownTool => {
            let known = tools.iter().map(|tool| tool.name);
            malformed(Code::UnknownTool, postern_text::unknown("tool", &tool, known))
        }
        NoCall::BadArgs(why) => malformed(Code::BadArgs, format!("the arguments of {tool} are wrong: {why}")),
    })
}

/// Arguments as an object; the wire formats also write them as JSON inside a string.
fn object(args: Value, repairs: &mut BTreeSet<Repair>) -> Result<Map<String, Value>, String> {
    let text = match args {
        Value::Object(args) => return Ok(args),
        Value::String(text) => text,
        _ => return Err("they are no object".to_owned()),
    };
    let trimmed = text.trim_matches(json::is_blank);
    if !trimmed.starts_with('{') {
        return Err("they are a string that is no JSON object".to_owned());
    }
    match json::object(trimmed, 0) {
        Ok(object) if object.end == trimmed.len() => {
            repairs.extend(object.repairs);
            Ok(object.members)
        }
        Ok(object) => Err(format!("text follows the object {}", place(trimmed, object.end))),
        Err(fault) => {
            Err(format!("they could not be parsed as JSON: {} {}", fault.why, place(trimmed, fault.at)))
        }
    }
}

/// A place in words.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("at line {line}, column {column}")
}

/// State of a scan for objects.
#[derive(Default)]
struct Scan<'t> {
    text: &'t str,
    first: Option<(Named, BTreeSet<Repair>)>,
    calls: usize,
    /// All of them, where all are wanted.
    others: Option<Vec<Named>>,
    has_object: bool,
    /// The first broken object that is no call by its looks, or a call outside of any object.
    failed: Option<Failure>,
}

/// A fault in a reply, as byte offsets: formatted once, however many there are.
#[derive(Clone, Copy)]
struct Failure {
    start: usize,
    at: usize,
    why: &'static str,
}

impl Failure {
    fn into_malformed(self, text: &str) -> MalformedReply {
        let (start, at) = (place(text, self.start), place(text, self.at));
        malformed(Code::InvalidJson, format!("the JSON {start} is wrong {at}: {}", self.why))
    }
}

impl Scan<'_> {
    /// # Errors
    /// The first call is broken. No later call is taken in its place.
    fn run(&mut self) -> Result<(), Failure> {
        let (text, mut at) = (self.text, 0);
        while let Some(&byte) = text.as_bytes().get(at) {
            at = match byte {
                b'{' if extent::opens_object(text, at) => self.candidate(at)?,
                b'<' => match reasoning::tag(text, at) {
                    Some(Tag::Block(end)) => end,
                    Some(Tag::StrayClose(end)) => {
                        let others = self.others.is_some().then(Vec::new);
                        *self = Scan { text, others, ..Scan::default() };
                        end
                    }
                    None => at + 1,
                },
                b'"' | b'\'' if self.failed.is_none() && extent::is_quoted_name(text, at) => {
                    self.failed = Some(Failure { start: at, at, why: "a call stands outside of an object" });
                    at + 1
                }
                _ => at + 1,
            };
        }
        Ok(())
    }

    /// Reads what a `{` at `start` opens; the byte to go on from.
    fn candidate(&mut self, start: usize) -> Result<usize, Failure> {
        let Object { members, end, repairs } = match json::object(self.text, start) {
            Ok(object) => object,
            Err(fault) => {
                let end = extent::end(self.text, &fault);
                self.fail(end, Failure { start, at: fault.at, why: fault.why })?;
                return Ok(end);
            }
        };
        match shape::calls(members) {
            Ok(calls) => {
                self.has_object = true;
                self.calls += calls.len();
                if let Some(others) = &mut self.others {
                    others.extend(calls);
                } else if self.first.is_none() {
                    self.first = calls.into_iter().next().map(|call| (call, repairs));
                }
            }
            Err(why) => self.fail(end, Failure { start, at: start, why })?,
        }
        Ok(end)
    }

    fn fail(&mut self, end: usize, failure: Failure) -> Result<(), Failure> {
        if self.first.is_some() {
            return Ok(());
        }
        if extent::names_a_call(&self.text[failure.start..end]) {
            return Err(failure);
        }
        self.failed.get_or_insert(failure);
        Ok(())
    }

    /// Why there is no call.
    fn nothing(self) -> MalformedReply {
        match self.failed {
            Some(failure) => failure.into_malformed(self.text),
            None if self.has_object => {
                malformed(Code::MissingTool, "the JSON names no tool: it needs \"tool\" and \"args\"")
            }
            None => malformed(Code::NoJson, "the reply holds no JSON object"),
        }
    }
}
