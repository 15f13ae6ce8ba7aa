//! One `[[command]]`: what is run, and how.

use super::keys;
use super::limits::{list, required_list, time};
use super::parameters;
use super::table::{At, Table};
use super::values;
use crate::text::unknown;
use postern_policy::types::Arguments;
use postern_proto::root::v1 as root;

/// Most bytes of output that a command may be granted: 16 MiB.
const OUTPUT_MAX: u64 = 16 * 1024 * 1024;

/// A command as far as it could be read.
pub struct ParsedCommand<'a> {
    /// Its table.
    pub table: Table<'a>,
    /// Its name.
    pub name: At<&'a str>,
    /// The accepted form, if the command has no error of its own.
    pub wire: Option<root::Command>,
}

/// Reads a command and reports what is wrong with it. One without a name is none.
#[must_use]
pub fn parse(table: Table<'_>) -> Option<ParsedCommand<'_>> {
    let before = table.findings().borrow().errors();
    table.check_keys(keys::COMMAND);
    let name = table.required("name")?;
    if !values::is_id(name.value) {
        table.error(
            name.at,
            format!("{:?} is not a valid command name: use 1 to 64 of a-z, 0-9 and '-'", name.value),
        );
    }
    let parameters = parameters::parse(table);
    let argv = argv(table, &parameters);
    let paths = |key| list(table, key, values::path).unwrap_or_default();
    let output = table.number("output", 0..=OUTPUT_MAX).map_or(65536, |output| output.value);
    let cwd = table.text("cwd").map_or("/", |cwd| {
        if cwd.value != "/"
            && let Err(why) = values::directory(cwd.value)
        {
            table.error(cwd.at, why);
        }
        cwd.value
    });
    let user = table.text("user").map_or("nobody", |user| {
        if let Err(why) = values::account(user.value) {
            table.error(user.at, why);
        }
        user.value
    });
    let sandbox = sandbox(table);
    check_idle(table, sandbox);
    let wire = root::Command {
        name: name.value.to_owned(),
        argv,
        parameters,
        reverse: table.text("reverse").map_or_else(String::new, |name| name.value.to_owned()),
        user: user.to_owned(),
        sandbox: sandbox.into(),
        scratch: paths("scratch"),
        capabilities: list(table, "capabilities", capability).unwrap_or_default(),
        cwd: cwd.to_owned(),
        env: environment(table),
        timeout_s: time(table, "timeout", 30),
        output_bytes: output,
        network: table.flag("network").unwrap_or(false),
        write: list(table, "write", values::directory).unwrap_or_default(),
        description: description(table),
        no_effect: table.flag("effect") == Some(false),
        sockets: sockets(table),
        loads: loads(table),
    };
    let is_whole = table.findings().borrow().errors() == before;
    Some(ParsedCommand { table, name, wire: is_whole.then_some(wire) })
}

fn sandbox(table: Table<'_>) -> root::Sandbox {
    match table.text("sandbox").map(|text| (text.value, text.at)) {
        None | Some(("strict", _)) => root::Sandbox::Strict,
        Some(("validator", _)) => root::Sandbox::Validator,
        Some(("none", _)) => root::Sandbox::None,
        Some((other, at)) => {
            table.error(at, unknown("sandbox", other, ["strict", "validator", "none"]));
            root::Sandbox::Strict
        }
    }
}

/// Keys that change nothing in this sandbox: a validator writes nowhere and has no network, and where there is no
/// sandbox nothing is taken away that could be given back.
fn check_idle(table: Table<'_>, sandbox: root::Sandbox) {
    let idle: &[&str] = match sandbox {
        root::Sandbox::Validator => &["write", "network", "sockets"],
        root::Sandbox::None => &["scratch", "write", "network", "sockets"],
        root::Sandbox::Strict | root::Sandbox::Unspecified => &[],
    };
    for (key, at) in idle.iter().filter_map(|key| Some((key, table.place(key)?))) {
        table.error(at, format!("`{key}` has no effect in this command's `sandbox`: remove it"));
    }
}

fn description(table: Table<'_>) -> String {
    let text = table.place("description").and_then(|_| table.required("description"));
    let text = text.filter(|text| parameters::is_described(table, text.at, text.value));
    text.map_or_else(String::new, |text| text.value.to_owned())
}

/// Unix sockets by path. With a network the command would also reach sockets without a path.
fn sockets(table: Table<'_>) -> Vec<String> {
    let sockets = list(table, "sockets", values::path).unwrap_or_default();
    if let Some(at) = table.place("sockets").filter(|_| table.flag("network") == Some(true)) {
        table.error(
            at,
            "`sockets` and `network` exclude each other: with a network all abstract sockets are in reach",
        );
    }
    sockets
}

/// Directories whose files the command puts in force. Only a run that is taken back can keep them as they are.
fn loads(table: Table<'_>) -> Vec<String> {
    if let Some(at) = table.place("loads").filter(|_| table.place("reverse").is_none()) {
        table.error(
            at,
            "`loads` needs a `reverse`, which loads the files as they were: name this command itself",
        );
    }
    list(table, "loads", values::directory).unwrap_or_default()
}

fn capability(text: &str) -> Result<(), String> {
    if text.parse::<caps::Capability>().is_ok() {
        return Ok(());
    }
    let known = caps::all().iter().map(ToString::to_string).collect::<Vec<_>>();
    Err(unknown("capability", text, known.iter().map(String::as_str)))
}

/// `NAME=value`, sorted.
fn environment(table: Table<'_>) -> Vec<String> {
    let mut pairs = Vec::new();
    let Some(inner) = table.table("env", "a table such as { LANG = \"C.UTF-8\" }") else {
        return pairs;
    };
    for name in inner.keys() {
        let is_name = name.value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_name {
            table.error(name.at, format!("{:?} is not a valid name of an environment variable", name.value));
        }
        if let Some(value) = inner.text(name.value) {
            if value.value.chars().any(char::is_control) {
                table.error(value.at, "an environment variable holds no control characters");
            }
            pairs.push(format!("{}={}", name.value, value.value));
        }
    }
    pairs.sort();
    pairs
}

/// The program and its arguments: literals, `{p}`, `key={p}`, `--key={p}` and `{key}={p}`. Every parameter must be used; for a
/// secret the program gets the path of a descriptor.
fn argv(table: Table<'_>, parameters: &[root::Parameter]) -> Vec<String> {
    let argv = required_list(table, "argv", |_| Ok(()), "nothing is run");
    let Some(at) = table.place("argv") else {
        return argv;
    };
    let mut used = Vec::new();
    for (index, text) in argv.iter().enumerate() {
        let said = if index == 0 { program(text) } else { element(text, &mut used) };
        if let Err(why) = said {
            table.error(at, why);
        }
    }
    for name in &used {
        if !parameters.iter().any(|parameter| parameter.name == *name) {
            let known = parameters.iter().map(|parameter| parameter.name.as_str());
            table.error(at, format!("`argv` names an {}", unknown("parameter", name, known)));
        }
    }
    for parameter in parameters {
        let name = &parameter.name;
        if !used.contains(name) {
            table.error(at, format!("parameter `{name}` is not used in `argv`"));
        }
        let key = format!("{{{name}}}=");
        let is_secret = parameter.kind() == root::ParameterKind::Secret;
        if is_secret && argv.iter().any(|argument| argument.starts_with(&key)) {
            let why = "is a secret: write it as a whole argument or after a `=`, where the program gets the path of a descriptor";
            table.error(at, format!("{{{name}}} {why}"));
        }
    }
    argv
}

fn program(text: &str) -> Result<(), String> {
    if text.contains(['{', '}']) {
        return Err(format!("{text:?}: the program is literal, no parameter chooses it"));
    }
    values::path(text).map_err(|why| format!("{why} (`argv` begins with the program's absolute path)"))
}

/// One argument; the parameters that it names are added to `used`.
fn element(text: &str, used: &mut Vec<String>) -> Result<(), String> {
    if text.is_empty() || text.len() > 4096 || text.chars().any(char::is_control) {
        return Err(format!("{text:?}: an argument is 1 to 4096 bytes without control characters"));
    }
    if !text.contains(['{', '}']) {
        return Ok(());
    }
    let parameter = |part: &str| {
        part.strip_prefix('{')?.strip_suffix('}').filter(|name| Arguments::is_name(name)).map(str::to_owned)
    };
    let names = match text.split_once('=') {
        None => parameter(text).map(|name| vec![name]),
        Some((key, value)) => {
            let literal = !key.is_empty() && !key.contains(['{', '}']);
            let keys = if literal { Some(Vec::new()) } else { parameter(key).map(|name| vec![name]) };
            keys.zip(parameter(value)).map(|(mut names, name)| {
                names.push(name);
                names
            })
        }
    };
    match names {
        Some(names) => {
            used.extend(names);
            Ok(())
        }
        None => Err(format!(
            "{text:?}: a parameter fills a whole argument such as \"{{p}}\", or the value of a pair such as \"key={{p}}\" or \"--key={{p}}\""
        )),
    }
}
