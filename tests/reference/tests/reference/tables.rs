//! The code's own tables, which the pages are compared with or made from.

use postern_admin::finding::{Class, Severity};
use postern_admin::host::{Accounts, Host};
use postern_admin::policy::finding::Findings;
use postern_admin::policy::source::Source;
use postern_admin::policy::{Purpose, keys};
use postern_policy::{Code, VerbId};
use postern_proto::code::{ExitKind, exit_kind};
use serde::de::{self, Deserialize, Visitor};
use serde_json::Value;
use std::fmt::Write;

/// A part of a page by its marker, with the function that writes it.
type Part = (&'static str, fn() -> String);

/// The parts of pages that are written from the code.
pub const PARTS: &[Part] = &[("verbs", verbs), ("findings", findings), ("codes", codes)];

fn verbs() -> String {
    let mut text = "| verb | objects | effect |\n|---|---|---|\n".to_owned();
    for verb in VerbId::ALL {
        let objects = match keys::Kind::of(*verb) {
            Some(kind) => kind.as_str(),
            None if verb.is_open() => "open to every client for its own requests; never listed",
            None => "beside the verbs with changes that it may undo",
        };
        let effect = if verb.is_effect() { "changes the host" } else { "reads" };
        let _ = writeln!(text, "| `{}` | {objects} | {effect} |", verb.name());
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
    for code in Code::ALL {
        let (status, words) = match exit_kind(code.as_str()) {
            Some(ExitKind::Usage) => (2, "the request is malformed"),
            Some(ExitKind::Refused) => (3, "refused by the policy or a fixed rule"),
            Some(ExitKind::NotApproved) => (4, "not approved"),
            Some(ExitKind::Failed) | None => (1, "failed, or could not be tried"),
        };
        let _ = writeln!(text, "| `{}` | {status} | {words} |", code.as_str());
    }
    text
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
    let accounts = Accounts { user: |name| Some(id(name)), group: |name| Some((id(name), Vec::new())) };
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
