//! The active rules: the built-in ones, and a file of root's that replaces or adds some.

use super::reader::How;
use super::rule::{Rule, RuleText};
use serde::Deserialize;
use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

const BUILTIN: &[(&str, &str)] =
    &[("harmless.yaml", include_str!("harmless.yaml")), ("dangers.yaml", include_str!("dangers.yaml"))];

/// A file of rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesFile {
    version: u32,
    #[serde(default = "yes")]
    include_builtin: bool,
    #[serde(default)]
    rules: Vec<RuleText>,
}

fn yes() -> bool {
    true
}

/// A checked set of rules.
#[derive(Debug)]
pub struct Rules(Vec<Rule>);

static STANDARD: LazyLock<Result<Rules, String>> = LazyLock::new(|| {
    let mut texts = Vec::new();
    for (name, text) in BUILTIN {
        texts.extend(parse(name, text)?.rules);
    }
    Rules::new("the built-in rules", texts)
});

impl Rules {
    /// The built-in rules.
    ///
    /// # Errors
    /// The first fault: a test loads them, so a release has none.
    pub fn builtin() -> Result<&'static Self, &'static str> {
        STANDARD.as_ref().map_err(String::as_str)
    }

    /// Rules from a file's text. A rule with the id of a built-in one replaces it, a new id is added; with
    /// `include_builtin: false` there are no others.
    ///
    /// # Errors
    /// One line: the file, and the rule or the line in it that is wrong. An example that does not hold is wrong.
    pub fn with(name: &str, text: &str) -> Result<Self, String> {
        let file = parse(name, text)?;
        let mut texts = Vec::new();
        if file.include_builtin {
            let own: HashSet<&str> = file.rules.iter().map(|rule| rule.id.as_str()).collect();
            let builtin = Self::builtin()?;
            let kept = builtin.0.iter().filter(|rule| !own.contains(rule.text.id.as_str()));
            // Their examples may end elsewhere by the file's own rules.
            texts.extend(kept.map(|rule| RuleText {
                examples: Vec::new(),
                not_match: Vec::new(),
                ..rule.text.clone()
            }));
        }
        texts.extend(file.rules);
        Self::new(name, texts)
    }

    /// The rules of a file, or the built-in ones where there is none.
    ///
    /// # Errors
    /// The file cannot be read, or as [`Rules::with`].
    pub fn load(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::with(&name, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self::with(&name, "version: 1"),
            Err(e) => Err(format!("cannot read {name}: {e}")),
        }
    }

    fn new(name: &str, texts: Vec<RuleText>) -> Result<Self, String> {
        let mut ids = HashSet::new();
        let mut rules = Vec::with_capacity(texts.len());
        for text in texts {
            let id = text.id.clone();
            if !ids.insert(id.clone()) {
                return Err(format!("{name}: rule {id:?} stands twice"));
            }
            rules.push(Rule::new(text).map_err(|why| format!("{name}: rule {id:?}: {why}"))?);
        }
        let rules = Self(rules);
        rules.check_examples(name)?;
        Ok(rules)
    }

    fn check_examples(&self, name: &str) -> Result<(), String> {
        let mut wrong = Vec::new();
        for rule in &self.0 {
            let id = &rule.text.id;
            let applies =
                |text: &&String| self.judge_by(text, How::Thread).rules.iter().any(|hit| hit.id == *id);
            let missed = rule.text.examples.iter().filter(|text| !applies(text));
            wrong
                .extend(missed.map(|text| format!("rule {id:?} does not apply to its own example {text:?}")));
            let caught = rule.text.not_match.iter().filter(applies);
            wrong.extend(
                caught.map(|text| format!("rule {id:?} applies to {text:?}, which it says it does not")),
            );
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{name}: {}", wrong.join("; "))) }
    }

    /// The rules as a file that stands for itself, one rule a line.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut text = "version: 1\ninclude_builtin: false\nrules:\n".to_owned();
        for rule in &self.0 {
            // JSON is YAML too.
            text.push_str("  - ");
            text.push_str(&serde_json::to_string(&rule.text).unwrap_or_default());
            text.push('\n');
        }
        text
    }

    /// The rules as their files have them.
    pub fn texts(&self) -> impl Iterator<Item = &RuleText> {
        self.0.iter().map(|rule| &rule.text)
    }

    /// Each of them.
    pub(super) fn each(&self) -> std::slice::Iter<'_, Rule> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

fn parse(name: &str, text: &str) -> Result<RulesFile, String> {
    let file: RulesFile = serde_saphyr::from_str(text)
        .map_err(|e| format!("{name}: {}", postern_text::with_nearest(first_line(&e.to_string()))))?;
    if file.version != 1 {
        return Err(format!("{name}: version {} is not known here: 1 is", file.version));
    }
    Ok(file)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
