//! Parses the request to explain, written as for `postern`.

use crate::policy::keys::Kind;
use crate::text::unknown;
use postern_policy::types::{
    Arguments, CommandName, FileMode, PackageName, PackageVersion, TargetPath, UnitName, UserName,
};
use postern_policy::{Decision, Invalid, Object, VerbId};
use std::sync::Arc;

/// The options of a request.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// Bytes of new content.
    pub bytes: u64,
    /// Mode asked for.
    pub mode: Option<String>,
    /// Owner asked for.
    pub owner: Option<String>,
    /// Group asked for.
    pub group: Option<String>,
    /// The new content, if it is at hand.
    pub content: Option<Arc<[u8]>>,
    /// At once as well, not only at boot.
    pub now: bool,
    /// Every installed package.
    pub all: bool,
}

/// One thing that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The verb alone.
    Nothing,
    /// A package, perhaps in a version.
    Package(String, Option<String>),
    /// Every installed package.
    AllPackages,
    /// A unit, with its suffix.
    Unit(String),
    /// A file.
    File(FileTarget),
    /// A command with its parameters.
    Command(String, Vec<(String, String)>),
    /// The undo of what this rule let through.
    Undo(String),
}

/// A file and what the request would make of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileTarget {
    /// Where.
    pub path: String,
    /// Bytes of new content.
    pub bytes: u64,
    /// The new content, if it is at hand.
    pub content: Option<Arc<[u8]>>,
    /// Mode asked for.
    pub mode: Option<String>,
    /// Owner asked for.
    pub owner: Option<String>,
    /// Group asked for.
    pub group: Option<String>,
}

/// One element of a request: it is decided for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// The required grants.
    pub verb: VerbId,
    /// On what.
    pub target: Target,
}

impl Target {
    /// The target as it is written.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::AllPackages => "--all".to_owned(),
            Self::Package(name, None) | Self::Unit(name) | Self::Undo(name) => name.clone(),
            Self::Package(name, Some(version)) => format!("{name}={version}"),
            Self::File(file) => file.path.clone(),
            Self::Command(name, parameters) => {
                let pairs = parameters.iter().map(|(key, value)| format!(" {key}={value}"));
                format!("{name}{}", pairs.collect::<String>())
            }
        }
    }

    /// The target as policy sees it.
    ///
    /// # Errors
    /// Requests that the broker refuses as `invalid_argument`.
    pub fn object(&self) -> Result<Object, Invalid> {
        match self {
            Self::Nothing => Ok(Object::Nothing),
            Self::AllPackages => Ok(Object::AllPackages),
            Self::Undo(rule) => Ok(Object::Undo { rule: rule.clone(), least: Decision::Allow }),
            Self::Command(name, parameters) => Ok(Object::Command {
                name: CommandName::new(name)?,
                arguments: Arguments::new(parameters.clone())?,
            }),
            Self::Package(name, version) => {
                let version = version.as_deref().map(PackageVersion::new).transpose()?;
                Ok(Object::Package { name: PackageName::new(name)?, version })
            }
            Self::Unit(name) => Ok(Object::unit(UnitName::new(name)?)),
            Self::File(file) => Ok(Object::File {
                path: TargetPath::new(&file.path)?,
                bytes: file.bytes,
                content: file.content.clone(),
                mode: file.mode.as_deref().map(FileMode::new).transpose()?,
                owner: file.owner.as_deref().map(|name| UserName::new("owner", name)).transpose()?,
                group: file.group.as_deref().map(|name| UserName::new("group", name)).transpose()?,
            }),
        }
    }
}

/// Reads `VERB ARGS…`: `unit.restart nginx`, or `service restart nginx` as in `postern`.
///
/// # Errors
/// The error of the words.
pub fn parse(words: &[String], details: &Details) -> Result<(VerbId, Vec<Element>), String> {
    let (verb, args) = verb(words)?;
    fits(verb, details)?;
    let element = |target| Element { verb, target };
    let targets = match Kind::of(verb) {
        Some(Kind::Packages) if details.all => none(verb, args).map(|()| vec![Target::AllPackages])?,
        Some(Kind::Packages) => {
            some(verb, args, "a package's name")?.iter().map(|name| package(name)).collect()
        }
        Some(Kind::Units) => vec![Target::Unit(unit(one(verb, args, "a unit's name")?))],
        Some(Kind::Files) => files(verb, args, details)?,
        Some(Kind::Commands) => vec![command(some(verb, args, "a command's name")?)?],
        None if verb == VerbId::RequestUndo => {
            let rule = one(verb, args, "the id of the rule that let the request through")?;
            vec![Target::Undo(rule.to_owned())]
        }
        Some(Kind::Nothing) | None => none(verb, args).map(|()| vec![Target::Nothing])?,
    };
    let mut elements = targets.into_iter().map(element).collect::<Vec<_>>();
    // The start or stop of `--now` must be granted too.
    if details.now
        && let Some(first) = elements.first().cloned()
    {
        let at_once = match verb {
            VerbId::UnitEnable => VerbId::UnitStart,
            VerbId::UnitDisable | VerbId::UnitMask => VerbId::UnitStop,
            other => return Err(format!("{} takes no --now", other.name())),
        };
        elements.push(Element { verb: at_once, ..first });
    }
    Ok((verb, elements))
}

/// Whether the verb takes the details that are given: one that is passed over would be answered for as if it were not there.
fn fits(verb: VerbId, details: &Details) -> Result<(), String> {
    let is_file = Kind::of(verb) == Some(Kind::Files);
    let given = [
        ("--all", details.all, verb == VerbId::PackageUpgrade),
        ("--bytes", details.bytes > 0, is_file),
        ("--from", details.content.is_some(), is_file),
        ("--mode", details.mode.is_some(), is_file),
        ("--owner", details.owner.is_some(), is_file),
        ("--group", details.group.is_some(), is_file),
    ];
    match given.iter().find(|(_, is_given, fits)| *is_given && !fits) {
        Some((name, _, _)) => Err(format!("{} takes no {name}", verb.name())),
        None => Ok(()),
    }
}

/// The verb and what follows it.
fn verb(words: &[String]) -> Result<(VerbId, &[String]), String> {
    let Some((first, rest)) = words.split_first() else {
        return Err("name a verb, such as: explain unit.restart nginx".to_owned());
    };
    if let Some(verb) = VerbId::from_name(first) {
        return Ok((verb, rest));
    }
    let kind = match first.as_str() {
        "pkg" => "package",
        "service" => "unit",
        other => other,
    };
    if kind == "command" {
        return Ok((VerbId::CommandRun, rest));
    }
    if kind == "undo" {
        return Ok((VerbId::RequestUndo, rest));
    }
    if let Some((action, rest)) = rest.split_first()
        && let Some(verb) = VerbId::from_name(&format!("{kind}.{action}"))
    {
        return Ok((verb, rest));
    }
    let said = match rest.first() {
        Some(action) if !first.contains('.') => format!("{kind}.{action}"),
        _ => first.clone(),
    };
    Err(unknown("verb", &said, VerbId::ALL.iter().map(|verb| verb.name())))
}

fn none(verb: VerbId, args: &[String]) -> Result<(), String> {
    args.first().map_or(Ok(()), |arg| Err(format!("{} takes no argument such as {arg:?}", verb.name())))
}

fn some<'a>(verb: VerbId, args: &'a [String], what: &str) -> Result<&'a [String], String> {
    if args.is_empty() { Err(format!("{} needs {what}", verb.name())) } else { Ok(args) }
}

fn one<'a>(verb: VerbId, args: &'a [String], what: &str) -> Result<&'a str, String> {
    match some(verb, args, what)? {
        [one] => Ok(one),
        [_, more, ..] => Err(format!("{} takes one argument: what is {more:?}?", verb.name())),
        [] => Err(format!("{} needs {what}", verb.name())),
    }
}

fn package(word: &str) -> Target {
    match word.split_once('=') {
        Some((name, version)) => Target::Package(name.to_owned(), Some(version.to_owned())),
        None => Target::Package(word.to_owned(), None),
    }
}

/// As `postern` sends it: a bare name is a service's.
fn unit(name: &str) -> String {
    if UnitName::new(name).is_err() && UnitName::new(&format!("{name}.service")).is_ok() {
        format!("{name}.service")
    } else {
        name.to_owned()
    }
}

fn files(verb: VerbId, args: &[String], details: &Details) -> Result<Vec<Target>, String> {
    let file = |path: &str| FileTarget {
        path: path.to_owned(),
        bytes: details.bytes,
        content: details.content.clone(),
        mode: details.mode.clone(),
        owner: details.owner.clone(),
        group: details.group.clone(),
    };
    let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    match (verb, some(verb, args, "a path")?) {
        (VerbId::FileSetMode, [path, mode]) => {
            Ok(vec![Target::File(FileTarget { mode: part(mode), ..file(path) })])
        }
        (VerbId::FileSetOwner, [path, who]) => {
            let (owner, group) = who.split_once(':').unwrap_or((who, ""));
            Ok(vec![Target::File(FileTarget { owner: part(owner), group: part(group), ..file(path) })])
        }
        (VerbId::FilePatch, paths) => Ok(paths.iter().map(|path| Target::File(file(path))).collect()),
        (_, [path]) => Ok(vec![Target::File(file(path))]),
        (_, [_, more, ..]) => Err(format!("{} takes one path: what is {more:?}?", verb.name())),
        (_, []) => Err(format!("{} needs a path", verb.name())),
    }
}

fn command(args: &[String]) -> Result<Target, String> {
    let Some((name, rest)) = args.split_first() else {
        return Err("command.run needs a command's name".to_owned());
    };
    let pair = |word: &String| {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("{word:?} is not KEY=VALUE"))?;
        Ok((key.to_owned(), value.to_owned()))
    };
    let mut parameters = rest.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
    parameters.sort();
    Ok(Target::Command(name.clone(), parameters))
}
