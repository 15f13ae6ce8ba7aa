//! The code's own tables, which the pages are compared with or made from.

use postern_admin::finding::{Class, Severity};
use postern_admin::host::{Accounts, Host};
use postern_admin::policy::finding::Findings;
use postern_admin::policy::source::Source;
use postern_admin::policy::{Purpose, keys};
use postern_policy::{Code, VerbId};
use postern_proto::code::{ExitKind, exit_kind};
use postern_reference::examples;
use serde::de::{self, Deserialize, Visitor};
use serde_json::Value;
use std::fmt::Write;

/// A part of a page by its marker, with the function that writes it.
type Part = (&'static str, fn() -> String);

/// The parts of pages that are written from the code.
pub const PARTS: &[Part] =
    &[("verbs", verbs), ("findings", findings), ("codes", codes), ("variables", variables)];

fn verbs() -> String {
    let mut text = "| verb | objects | effect | asked for by |\n|---|---|---|---|\n".to_owned();
    for verb in VerbId::ALL {
        let objects = match keys::Kind::of(*verb) {
            Some(kind) => kind.as_str(),
            None if verb.is_open() => "open to every client for its own requests; never listed",
            None => "beside the verbs with changes that it may undo",
        };
        let effect = if verb.is_effect() { "changes the host" } else { "reads" };
        let asked =
            examples::of_verb(*verb).map_or_else(|| "the agent alone".to_owned(), |line| format!("`{line}`"));
        let _ = writeln!(text, "| `{}` | {objects} | {effect} | {asked} |", verb.name());
    }
    text
}

fn findings() -> String {
    let mut text = "| finding | class | meaning |\n|---|---|---|\n".to_owned();
    for kind in postern_admin::lint::kinds() {
        let class = match kind.class {
            Some(Class::Code) => "root",
            Some(Class::Trust) => "accounts, keys, trust",
            Some(Class::Combined) => "root together with another grant",
            Some(Class::Defence) => "disables a protection",
            None => "the text",
        };
        let host = if kind.is_of_host { ", host" } else { "" };
        let _ = writeln!(text, "| `{}` | {class}{host} | {} |", kind.id, kind.help.replace('|', "\\|"));
    }
    text
}

fn codes() -> String {
    let mut text = "| code | exit status | meaning |\n|---|---|---|\n".to_owned();
    let mut row = |name: &str, meaning: &str| {
        let status = match exit_kind(name) {
            Some(ExitKind::Usage) => 2,
            Some(ExitKind::Refused) => 3,
            Some(ExitKind::NotApproved) => 4,
            // Nobody answers on the socket: a status of its own.
            None if name == "unreachable" => 5,
            Some(ExitKind::Failed) | None => 1,
        };
        let _ = writeln!(text, "| `{name}` | {status} | {meaning} |");
    };
    for code in Code::ALL {
        row(code.as_str(), meaning(*code));
    }
    // The code of clients for content that they do not show.
    row("not_text", "the file is not UTF-8 text, such as a picture for `file edit`");
    for (code, meaning) in AGENT_CODES {
        row(code, meaning);
    }
    text
}

/// Codes of the agent's own, beside those of the helper that it uses too.
pub const AGENT_CODES: &[(&str, &str)] = &[
    (
        "unreachable",
        "the agent, the helper or the sandbox does not answer on its socket, such as while `postern-agent.service` is stopped",
    ),
    (
        "failed",
        "a step of the agent's own did not work, such as a file of the configuration that it cannot read",
    ),
    (
        "internal",
        "the agent failed where it should not, such as a database that it cannot write; its journal says more",
    ),
    ("cancelled", "the task or the person ended it before its end, such as by Ctrl-C"),
    ("refused", "the agent does not run it, such as a command under `profile = \"none\"`"),
    (
        "unknown_tool",
        "a client of MCP asked for a tool that there is not, such as `delete_file`; the message has the nearest",
    ),
    (
        "placeholder_refused",
        "a value with a secret's placeholder went where no secret may go, such as `{{secret:db}}` in a path",
    ),
    ("sandbox_failed", "the sandbox of a command cannot be made, such as on a full disk"),
    ("sandbox_lost", "the sandbox ended while a command ran in it, such as by the kernel for lack of memory"),
    (
        "unenforced",
        "this host cannot hold the sandbox that the profile needs, and nothing was run, such as on a kernel without Landlock",
    ),
    (
        "cannot_start",
        "the program of the command does not start, such as a name that is in no directory of PATH",
    ),
];

/// Every code with its meaning, which has an example.
pub fn all_codes() -> Vec<(&'static str, &'static str)> {
    let helpers = Code::ALL.iter().map(|code| (code.as_str(), meaning(*code)));
    helpers.chain(AGENT_CODES.iter().copied()).collect()
}

/// The meaning of a code with an example of what leads to it.
#[expect(clippy::too_many_lines, reason = "some lines for each code")]
const fn meaning(code: Code) -> &'static str {
    match code {
        Code::InvalidArgument => {
            "a value is not what its field takes, such as the package name `-y`; the message names the field"
        }
        Code::UnknownClient => {
            "the user that is connected is no client of the accepted policy, such as `www-data`"
        }
        Code::NoGrant => {
            "no rule selects the object, such as a unit that no rule lists; `missing` says which grant it takes"
        }
        Code::Denied => {
            "a rule with `decision = \"deny\"` selects the object, or the connection may not ask for this, such as `postern keep` over a connection from before the change"
        }
        Code::LimitExceeded => {
            "a rule selects the object and one of its limits does not hold, such as a line that `lines` does not list, or the time outside `hours`"
        }
        Code::RateLimited => {
            "too many requests of this user or by this rule, such as the 13th in an hour under `rate = \"12/1h\"`; the answer says when to try again"
        }
        Code::PlanRefused => {
            "apt, or a rule with `keep_within`, cannot carry the plan out, such as a change for which no inverse can be made"
        }
        Code::PlanChanged => {
            "the transaction that dpkg was about to run is not the one that was decided, such as after an update of the package lists meanwhile"
        }
        Code::WouldCascade => {
            "other units would start or stop along with it, and the rule has no `allow_cascade`, such as units that require `postgresql.service`"
        }
        Code::Protected => {
            "no rule can grant it, such as a change of `/etc/shadow` or a stop of Postern's own units"
        }
        Code::UnsafePath => {
            "a component of the path is a symbolic link, or somebody else than root can write there, such as `/tmp`"
        }
        Code::PlanTooLarge => {
            "the plan or the facts are larger than a person can read or the helper takes, such as 2 MiB of facts"
        }
        Code::SpecialFile => {
            "the path is no regular file that can be changed, such as a device, a hard link or an immutable file"
        }
        Code::RequestIdConflict => {
            "the request id was used for another request, such as by a script that always sends the same one"
        }
        Code::RequestIdExpired => {
            "the request id is older than 24 h or of the future, such as on a host with a wrong clock"
        }
        Code::UnknownRequest => {
            "no request of this client has the id, such as after its outcome was forgotten"
        }
        Code::TooManyPending => {
            "as many requests wait for approval as `[approvals]` admits, such as after a loop of requests that nobody looked at"
        }
        Code::DeniedRecently => {
            "a person refused the same request, such as a restart of the same unit, within the last hour, or longer after several refusals"
        }
        Code::Paused => {
            "an operator has paused new effects, such as during maintenance: `postern-admin resume` ends that"
        }
        Code::Unsupported => {
            "the helper does not know the verb, or cannot do it on this host, such as a package by the name of another architecture"
        }
        Code::NotApproved => "an operator said no, such as by `postern-admin deny ID`",
        Code::ApprovalExpired => "nobody approved it within the rule's `approval_ttl`, such as at night",
        Code::NotFound => "the object does not exist, such as an unknown package",
        Code::AlreadyExists => "the object exists already, such as the directory of `file.mkdir`",
        Code::PreconditionFailed => {
            "the object is not in the state that the request expects, such as a file with another hash than `--expect`"
        }
        Code::TooLarge => {
            "content or output is larger than the rule or the message admits, such as a file above `max_bytes`"
        }
        Code::ValidationFailed => {
            "the rule's `validate` command refused the new content; the live file is unchanged, such as by `nginx -t` for a missing semicolon"
        }
        Code::Busy => {
            "something else holds the object, such as dpkg's lock or a change that must be kept first"
        }
        Code::NeedsRepair => {
            "dpkg was interrupted, such as by a power cut: `postern package repair` comes first"
        }
        Code::UnitFailed => {
            "the unit did not get into the state that was asked for, such as a service that ends at its start; its journal says why"
        }
        Code::StartLimit => {
            "the unit was started too often, such as five times in 10 s: `postern service reset-failed` comes first"
        }
        Code::PackageFailed => "apt or dpkg failed, such as a maintainer script that ended with an error",
        Code::CommandFailed => {
            "the command ended with another exit status than 0, or was killed, such as `certbot` for a name that does not resolve"
        }
        Code::Timeout => {
            "it took longer than the rule's `timeout`, with the wait for locks, such as a dump of a large database"
        }
        Code::UndoGone => {
            "nothing is left that could take the change back, such as a copy that was dropped after `[undo] max_age`"
        }
        Code::UndoConflict => {
            "the object has changed since, so that the undo would take back somebody else's change, such as an edit by hand since then"
        }
        Code::UndoFull => {
            "the old content does not fit into the room for undo copies, such as a file larger than `[undo] max_bytes`"
        }
        Code::DirectoryMissing => {
            "the rule's directory does not exist on this host, such as `/etc/nginx` without nginx"
        }
        Code::AuditUnavailable => {
            "the audit log cannot be written, so nothing was done, such as on a full disk"
        }
        Code::NoSpace => "the file system is full, such as `/var` under a growing log",
        Code::ReadOnly => "the file system is mounted read-only, such as after an error of the disk",
        Code::Interrupted => {
            "a program was killed or the host went down, such as by a power cut, while the effect ran: look at the object"
        }
    }
}

/// The kinds of a pack's variables, each with a value.
fn variables() -> String {
    let mut text = "| kind | value | example |\n|---|---|---|\n".to_owned();
    for (name, words, example) in variable_kinds() {
        let _ = writeln!(text, "| `{name}` | {words} | `{example}` |");
    }
    text
}

/// Every kind of a pack's variable: its name, its words and a value of it.
pub fn variable_kinds() -> Vec<(String, &'static str, &'static str)> {
    use postern_admin::packs::variable::Kind;
    let example = |kind| match kind {
        Kind::Choice => "ask",
        Kind::Directory => "/srv/shop",
        Kind::File => "/etc/apt/sources.list.d/debian.sources",
        Kind::Name => "data-1",
        Kind::Pattern => "dev-*",
        Kind::User | Kind::Group => "www-data",
        Kind::Hostname => "web1",
        Kind::Domain => "shop.example.org",
        Kind::Email => "admin@example.org",
        Kind::Port => "8080",
        Kind::Cidr => "10.0.0.0/8",
        Kind::Package => "nginx-light",
        Kind::Unit => "nginx.service",
        Kind::Client => "agent",
    };
    let name = |kind: &Kind| serde_json::to_value(kind).expect("a word").as_str().expect("a word").to_owned();
    Kind::ALL.iter().map(|kind| (name(kind), kind.words(), example(*kind))).collect()
}

/// The tables of a pack's head by the heading of the page.
pub fn pack() -> Vec<(&'static str, Vec<String>)> {
    use postern_admin::packs::pack::{About, Offers};
    use postern_admin::packs::variable::Variable;
    vec![("The head", fields::<About>()), ("Offers", fields::<Offers>()), ("Variables", fields::<Variable>())]
}

fn texts(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// The tables of a policy by the heading of the page.
pub fn policy() -> Vec<(&'static str, Vec<String>)> {
    let rule = |belongs: &[&str]| {
        let names = keys::RULE.iter().map(|key| key.name).filter(|name| belongs.contains(name));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let of_kind = |kind: keys::Kind| {
        let uses = |key: &&keys::Key| {
            let users = VerbId::ALL.iter().filter(|verb| (key.used_by)(**verb)).collect::<Vec<_>>();
            !users.is_empty() && users.iter().all(|verb| keys::Kind::of(**verb) == Some(kind))
        };
        keys::RULE.iter().filter(uses).map(|key| key.name).collect::<Vec<_>>()
    };
    let kinds = [
        ("Packages", keys::Kind::Packages),
        ("Units", keys::Kind::Units),
        ("Files", keys::Kind::Files),
        ("Commands in rules", keys::Kind::Commands),
    ];
    let special = kinds.iter().flat_map(|(_, kind)| of_kind(*kind)).collect::<Vec<_>>();
    let common =
        keys::RULE.iter().map(|key| key.name).filter(|name| !special.contains(name)).collect::<Vec<_>>();
    let examples = keys::EXAMPLE.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut tables = vec![
        ("Top level", texts(keys::TOP)),
        ("Clients", texts(keys::CLIENT)),
        ("Rules", rule(&common)),
        ("Examples", examples),
        ("Commands", texts(keys::COMMAND)),
        ("Sources", texts(keys::SOURCE)),
        ("The audit log", texts(keys::AUDIT)),
        ("Undo", texts(keys::UNDO)),
        ("Approvals", texts(keys::APPROVALS)),
        ("Protected objects", texts(keys::PROTECT)),
    ];
    tables.extend(kinds.map(|(heading, kind)| (heading, texts(&of_kind(kind)))));
    tables
}

/// The kinds of parameters.
pub fn kinds() -> Vec<String> {
    keys::PARAMETER_KINDS.iter().map(|(word, _, _)| (*word).to_owned()).collect()
}

/// The accepted form of a policy's text, and its errors.
pub fn compile(text: &str) -> (impl PartialEq + std::fmt::Debug + use<>, Vec<String>) {
    let source = Source {
        name: "policy.toml".to_owned(),
        relative: "policy.toml".to_owned(),
        rank: 0,
        text: text.to_owned(),
    };
    // Every name is an account with an id of its own.
    let accounts = Accounts {
        user: |name| Some(id(name)),
        group: |name| Some((id(name), Vec::new())),
        users: Vec::new,
        groups: Vec::new,
    };
    let host = Host { accounts, localtime: "/no/time/zone".into(), ..Host::real() };
    let (found, compiled) =
        postern_admin::policy::check(&[source], Findings::default(), Purpose::Review, &host);
    let errors = found.into_iter().filter(|finding| finding.severity == Severity::Error);
    (compiled.rules, errors.map(|finding| format!("{}: {}", finding.line, finding.message)).collect())
}

fn id(name: &str) -> u32 {
    if name == "root" {
        0
    } else {
        name.bytes().fold(1000, |id, byte| id * 31 % 60_000 + 1000 + u32::from(byte))
    }
}

/// Keys with their defaults as TOML, where they have one.
type Keys = Vec<(String, Option<String>)>;

/// The tables of agent.toml by the heading of the page.
pub fn agent() -> Vec<(&'static str, Keys)> {
    use postern_agent::config::{Config, model_extra, secrets};
    let config = serde_json::to_value(Config::default()).expect("JSON");
    let written = |value: &Value| match value {
        Value::Null | Value::Object(_) => None,
        other => Some(other.to_string()),
    };
    let table = |name: &str| -> Keys {
        let keys = config[name].as_object().expect(name);
        keys.iter().map(|(key, value)| (key.clone(), written(value))).collect()
    };
    let plain = |keys: Vec<String>| keys.into_iter().map(|key| (key, None)).collect::<Keys>();
    vec![
        ("model", table("model")),
        ("model.extra", plain(fields::<model_extra::Extra>())),
        ("model.price", plain(fields::<model_extra::Price>())),
        ("retry", table("retry")),
        ("limits", table("limits")),
        ("tools", table("tools")),
        ("http", table("http")),
        ("approvals", table("approvals")),
        ("webhook", table("webhook")),
        ("log", table("log")),
        ("knowledge", table("knowledge")),
        ("telemetry", table("telemetry")),
        ("secrets.NAME", plain(fields::<secrets::Row>())),
    ]
}

/// The tables of shell-rules.yaml by the heading of the page.
pub fn shell_rules() -> Vec<(&'static str, Vec<String>)> {
    use postern_agent::shell_policy::{RuleText, RulesFile};
    vec![("Description", fields::<RulesFile>()), ("Rules", fields::<RuleText>())]
}

/// The names of a struct's fields, as its own derived code asks for them.
fn fields<'de, T: Deserialize<'de>>() -> Vec<String> {
    struct Asked(Vec<String>);
    #[derive(Debug)]
    struct Stop;
    impl std::fmt::Display for Stop {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the names are known")
        }
    }
    impl std::error::Error for Stop {}
    impl de::Error for Stop {
        fn custom<M: std::fmt::Display>(_: M) -> Self {
            Self
        }
    }
    impl<'de> de::Deserializer<'de> for &mut Asked {
        type Error = Stop;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
            Err(Stop)
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            names: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Stop> {
            self.0 = texts(names);
            Err(Stop)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
    let mut asked = Asked(Vec::new());
    let _ = T::deserialize(&mut asked);
    assert!(!asked.0.is_empty(), "{} is no struct", std::any::type_name::<T>());
    asked.0
}
