//! One `[[command]]`: what is run, how, and what its parameters may be.

use super::limits::{list, required_list, time};
use super::table::{At, Table};
use super::values;
use crate::text::did_you_mean;
use postern_helper::types::{Arguments, ParameterKind};
use postern_proto::root::v1 as root;

/// Keys of a command.
const KEYS: &[&str] = &[
    "name",
    "argv",
    "params",
    "reverse",
    "user",
    "sandbox",
    "scratch",
    "capabilities",
    "cwd",
    "env",
    "timeout",
    "output",
    "network",
    "write",
];
/// Kinds of parameters: the word, the kind, and the keys that it has besides.
const KINDS: &[(&str, root::ParameterKind, &[&str])] = &[
    ("enum", root::ParameterKind::Enum, &["values"]),
    ("int", root::ParameterKind::Int, &["min", "max"]),
    ("size", root::ParameterKind::Size, &[]),
    ("name", root::ParameterKind::Name, &[]),
    ("user", root::ParameterKind::User, &[]),
    ("group", root::ParameterKind::Group, &[]),
    ("hostname", root::ParameterKind::Hostname, &[]),
    ("domain", root::ParameterKind::Domain, &[]),
    ("ip", root::ParameterKind::Ip, &[]),
    ("cidr", root::ParameterKind::Cidr, &[]),
    ("port", root::ParameterKind::Port, &[]),
    ("timezone", root::ParameterKind::Timezone, &[]),
    ("package", root::ParameterKind::Package, &["packages"]),
    ("unit", root::ParameterKind::Unit, &["units"]),
    ("path", root::ParameterKind::Path, &["directories", "files"]),
    ("secret", root::ParameterKind::Secret, &[]),
    ("text", root::ParameterKind::Text, &["pattern"]),
];
/// Most bytes of output that a command may be granted: 16 MiB.
const OUTPUT_MAX: u64 = 16 * 1024 * 1024;

/// A command as far as it could be read.
pub struct Parsed<'a> {
    /// The table that it stands in.
    pub table: Table<'a>,
    /// Its name.
    pub name: At<&'a str>,
    /// The accepted form, if the command has no error of its own.
    pub wire: Option<root::Command>,
}

/// Reads a command and reports what is wrong with it. One without a name is none.
#[must_use]
pub fn parse(table: Table<'_>) -> Option<Parsed<'_>> {
    let before = table.findings().borrow().errors();
    table.check_keys(KEYS);
    let name = table.required("name")?;
    if !values::is_id(name.value) {
        table.error(
            name.at,
            format!("{:?} is no command's name: write 1 to 64 of a-z, 0-9 and '-'", name.value),
        );
    }
    let parameters = parameters(table);
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
    let wire = root::Command {
        name: name.value.to_owned(),
        argv,
        parameters,
        reverse: table.text("reverse").map_or_else(String::new, |name| name.value.to_owned()),
        user: user.to_owned(),
        sandbox: sandbox(table).into(),
        scratch: paths("scratch"),
        capabilities: list(table, "capabilities", capability).unwrap_or_default(),
        cwd: cwd.to_owned(),
        env: environment(table),
        timeout_s: time(table, "timeout", 30),
        output_bytes: output,
        network: table.flag("network").unwrap_or(false),
        write: list(table, "write", values::directory).unwrap_or_default(),
    };
    let is_whole = table.findings().borrow().errors() == before;
    Some(Parsed { table, name, wire: is_whole.then_some(wire) })
}

fn sandbox(table: Table<'_>) -> root::Sandbox {
    match table.text("sandbox").map(|text| (text.value, text.at)) {
        None | Some(("strict", _)) => root::Sandbox::Strict,
        Some(("validator", _)) => root::Sandbox::Validator,
        Some(("none", _)) => root::Sandbox::None,
        Some((other, at)) => {
            let hint = did_you_mean(other, ["strict", "validator", "none"]);
            let why = format!("{other:?} is no sandbox, write \"strict\", \"validator\" or \"none\"{hint}");
            table.error(at, why);
            root::Sandbox::Strict
        }
    }
}

fn capability(text: &str) -> Result<(), String> {
    if text.parse::<caps::Capability>().is_ok() {
        return Ok(());
    }
    let known = caps::all().iter().map(ToString::to_string).collect::<Vec<_>>();
    Err(format!("{text:?} is no capability{}", did_you_mean(text, known.iter().map(String::as_str))))
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
            table.error(name.at, format!("{:?} is no name of an environment variable", name.value));
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

/// The program and its arguments: literals, `{p}`, `key={p}` and `{key}={p}`. Every parameter stands there once, but a
/// secret, which travels by descriptor.
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
            table.error(
                at,
                format!("`argv` names {{{name}}}, which is no parameter{}", did_you_mean(name, known)),
            );
        }
    }
    for parameter in parameters {
        let count = used.iter().filter(|name| **name == parameter.name).count();
        let name = &parameter.name;
        match (parameter.kind() == root::ParameterKind::Secret, count) {
            (true, 0) | (false, 1..) => {}
            (true, _) => {
                let why = format!(
                    "{{{name}}} is a secret, which anybody could read in `argv`: it is passed by descriptor"
                );
                table.error(at, why);
            }
            (false, 0) => table.error(at, format!("parameter `{name}` stands nowhere in `argv`")),
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
            let literal = !key.is_empty() && !key.starts_with('-') && !key.contains(['{', '}']);
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
            "{text:?}: a parameter fills a whole argument such as \"{{p}}\", or a pair such as \"key={{p}}\", in none that begins with '-'"
        )),
    }
}

fn parameters(table: Table<'_>) -> Vec<root::Parameter> {
    let what = "written as params.NAME = { kind = \"…\" }";
    let Some(inner) = table.table("params", what) else {
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for name in inner.keys() {
        if !Arguments::is_name(name.value) {
            let why = format!(
                "{:?} is no parameter's name: write a letter, then up to 31 of a-z, 0-9, '_' and '-'",
                name.value
            );
            table.error(name.at, why);
        }
        if let Some(one) = inner.table(name.value, what) {
            parameters.extend(parameter(name.value, one));
        }
    }
    if parameters.len() > Arguments::MAX {
        table.error(inner.at, format!("a command has at most {} parameters", Arguments::MAX));
    }
    parameters.sort_by(|a, b| a.name.cmp(&b.name));
    parameters
}

fn parameter(name: &str, table: Table<'_>) -> Option<root::Parameter> {
    let kind = table.required("kind")?;
    let words = || KINDS.iter().map(|(word, _, _)| *word);
    let Some((word, wire, keys)) = KINDS.iter().find(|(word, _, _)| *word == kind.value) else {
        let why = format!("{:?} is no kind of parameter{}", kind.value, did_you_mean(kind.value, words()));
        table.error(kind.at, why);
        return None;
    };
    let known = std::iter::once("kind").chain(keys.iter().copied()).collect::<Vec<_>>();
    table.check_keys(&known);
    let nothing = "nothing is let through";
    let mut parameter = root::Parameter { name: name.to_owned(), kind: (*wire).into(), ..Default::default() };
    for key in *keys {
        match *key {
            "values" => parameter.values = required_list(table, key, word_of_enum, nothing),
            "packages" => parameter.values = required_list(table, key, values::package_pattern, nothing),
            "units" => parameter.values = required_list(table, key, values::unit_pattern, nothing),
            "directories" => parameter.directories = required_list(table, key, values::directory, nothing),
            "files" => parameter.files = required_list(table, key, values::pattern, nothing),
            "min" => parameter.min = integer(table, key, word),
            "max" => parameter.max = integer(table, key, word),
            _ => {
                let pattern = table.required(key)?;
                if let Err(why) = values::text_pattern(pattern.value) {
                    table.error(pattern.at, why);
                }
                parameter.values = vec![pattern.value.to_owned()];
            }
        }
    }
    if parameter.min > parameter.max {
        table.error(table.at, "`min` is above `max`: nothing is let through");
    }
    // What is written must be what the helper reads.
    if let Err(why) = ParameterKind::new(&parameter) {
        table.error(table.at, format!("parameter `{name}` {why}"));
    }
    Some(parameter)
}

fn word_of_enum(text: &str) -> Result<(), String> {
    if Arguments::is_value(text) {
        Ok(())
    } else {
        Err(format!(
            "{text:?} is no value: it must not be empty, hold control characters, or begin with '-', '@' or '+'"
        ))
    }
}

/// A number, never below 0: a value that begins with '-' is none.
fn integer(table: Table<'_>, key: &str, kind: &str) -> i64 {
    if table.place(key).is_none() {
        table.error(table.at, format!("`{key}` is missing for kind {kind:?}"));
    }
    let most = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    table.number(key, 0..=most).and_then(|number| i64::try_from(number.value).ok()).unwrap_or(0)
}
