//! One rule: what it looks at, and what it says.

use super::level::{Capability, Level};
use crate::protocol::confinement::Profile;
use crate::shell_parser::options::{OptionOrder, Options};
use crate::shell_parser::script::{Certainty, Fact, Power, Simple, Word};
use regex::{Regex, RegexSet};
use serde::{Deserialize, Serialize};

/// A rule as its file has it. Every key that is given must hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// Its stable name.
    pub id: String,
    /// Level of a matching command.
    pub level: Level,
    /// 0 to 100; 0 for `safe` alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub score: u8,
    /// Capabilities of a matching command.
    #[serde(default, skip_serializing_if = "is_default")]
    pub capabilities: Vec<Capability>,
    /// Why, and what to use instead.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
    /// The sandbox of a `safe` rule; `read_only` if left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inspects: bool,
    /// About the text as a whole. No other key then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Fact>,
    /// Programs by name, `*` at the end for any ending; none = every command. `>` and `<` are redirections,
    /// `=` an assignment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub command: Vec<String>,
    /// Programs that it does not look at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_command: Vec<String>,
    /// The first operand.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subcommand: Vec<String>,
    /// One of these options is there: `r`, `--recursive`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub option: Vec<String>,
    /// Some argument is this, whole (regular expressions).
    #[serde(default, skip_serializing_if = "is_default")]
    pub argument: Vec<String>,
    /// All the words, a blank between, are this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub line: Vec<String>,
    /// All the words, a blank between, are none of these.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_line: Vec<String>,
    /// Some file that an argument means is this, whole.
    #[serde(default, skip_serializing_if = "is_default")]
    pub path: Vec<String>,
    /// No file that an argument means is this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_path: Vec<String>,
    /// Whom the command runs as; either if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// `safe` only: the options that it may have, and no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    /// `safe` only: what the first operand must be (a regular expression).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// `safe` only: what every operand must be, but for the subcommand or the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operand: Option<String>,
    /// `safe` only: at most so many operands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operands: Option<usize>,
    /// `safe` only: whatever its words come to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub any_words: bool,
    /// `safe` only: every word is known, and `operand` speaks of options too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub known_words: bool,
    /// Texts that it applies to, tried when it is loaded.
    #[serde(default, rename = "match", skip_serializing_if = "is_default")]
    pub examples: Vec<String>,
    /// Texts that it does not apply to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_match: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Conditions under which a `safe` rule is a proof.
#[derive(Debug)]
struct Proof {
    options: Options,
    first: Option<Regex>,
    operand: Option<Regex>,
    operands: usize,
    reads: Reads,
}

/// How the words of a command are read for a proof.
#[derive(Clone, Copy, Debug)]
enum Reads {
    /// As options and operands, all of them known.
    Options,
    /// One by one, all of them known.
    Words,
    /// One by one, whatever they come to.
    AnyWords,
}

/// A rule, ready.
#[derive(Debug)]
pub struct Rule {
    /// As its file has it.
    pub text: RuleText,
    argument: Option<RegexSet>,
    line: Option<RegexSet>,
    not_line: Option<RegexSet>,
    path: Option<RegexSet>,
    not_path: Option<RegexSet>,
    proof: Option<Proof>,
}

/// Directories whose programs are what their names say.
pub const PROGRAMS: &[&str] = &["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"];
/// Where a file name pattern finds nothing that a rule forbids.
const PATTERNS: &[&str] =
    &["./", "/usr/", "/var/log/", "/var/www/", "/srv/", "/opt/", "/tmp/", "/etc/nginx/"];

impl Rule {
    /// Checks a rule.
    ///
    /// # Errors
    /// The fault.
    pub fn new(text: RuleText) -> Result<Self, String> {
        let is_safe = text.level == Level::Safe;
        let looks = !(text.command.is_empty() && text.argument.is_empty() && text.path.is_empty());
        if text.id.is_empty() || !text.id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
            return Err("an id is made of letters, digits, '-', '_' and '.'".to_owned());
        }
        if text.when.is_some() == looks {
            return Err("either 'when' or some of 'command', 'argument' and 'path'".to_owned());
        }
        if text.score > 100 || is_safe != (text.score == 0) {
            return Err("'score' is 1 to 100, for 'safe' 0".to_owned());
        }
        if !is_safe && text.reason.is_empty() {
            return Err("a 'reason' is missing".to_owned());
        }
        let reads = match (text.any_words, text.known_words, &text.options) {
            (true, false, None) => Some(Reads::AnyWords),
            (false, true, None) => Some(Reads::Words),
            (false, false, Some(_)) => Some(Reads::Options),
            _ => None,
        };
        if is_safe != (reads.is_some() && !text.command.is_empty()) {
            return Err(
                "'safe' needs 'command', and one of 'options', 'known_words' and 'any_words'; no other level takes these".into()
            );
        }
        let [first, operand] = [&text.first, &text.operand].map(|key| key.as_deref().map(whole).transpose());
        let proof = Proof {
            options: Options::new(text.options.as_deref().unwrap_or_default()),
            first: first?,
            operand: operand?,
            operands: text.operands.unwrap_or(usize::MAX),
            reads: reads.unwrap_or(Reads::Options),
        };
        let proof = is_safe.then_some(proof);
        let (argument, line, not_line) = (set(&text.argument)?, set(&text.line)?, set(&text.not_line)?);
        let (path, not_path) = (set(&text.path)?, set(&text.not_path)?);
        Ok(Self { text, argument, line, not_line, path, not_path, proof })
    }

    /// Whether the rule applies to a command, whose arguments may mean these files.
    pub fn applies(&self, command: &Simple, paths: &[String]) -> bool {
        let text = &self.text;
        let name = command.program();
        text.when.is_none()
            && (text.command.is_empty() || text.command.iter().any(|known| named(known, name)))
            && !text.not_command.iter().any(|known| named(known, name))
            && text.power.is_none_or(|power| command.power.is(power))
            && (text.subcommand.is_empty() || self.has_subcommand(command))
            && (text.option.is_empty() || text.option.iter().any(|o| has_option(command.arguments(), o)))
            && self
                .argument
                .as_ref()
                .is_none_or(|set| command.arguments().iter().any(|word| set.is_match(&word.text)))
            && self.line.as_ref().is_none_or(|set| set.is_match(&command.line()))
            && self.not_line.as_ref().is_none_or(|set| !set.is_match(&command.line()))
            && self.path.as_ref().is_none_or(|set| paths.iter().any(|path| set.is_match(path)))
            && self.not_path.as_ref().is_none_or(|set| !paths.iter().any(|path| set.is_match(path)))
            && self.proof.as_ref().is_none_or(|proof| self.is_proven(proof, command))
    }

    /// The sandbox that the rule asks for.
    pub fn profile(&self) -> Profile {
        match (self.text.level, self.text.inspects) {
            (Level::Block, _) => Profile::None,
            (Level::Confirm, _) => Profile::WorkspaceWrite,
            (Level::Safe, true) => Profile::SystemInspect,
            (Level::Safe, false) => Profile::ReadOnly,
        }
    }

    /// For rules that forbid: the first operands are looked at, since an option's value may stand before.
    fn has_subcommand(&self, command: &Simple) -> bool {
        let operands = command.arguments().iter().filter(|word| !word.text.starts_with('-'));
        let looked_at = if self.proof.is_some() { 1 } else { 3 };
        operands.take(looked_at).any(|word| self.text.subcommand.contains(&word.text))
    }

    fn is_proven(&self, proof: &Proof, command: &Simple) -> bool {
        let Some(program) = command.words.first() else { return false };
        let name = PROGRAMS.iter().find_map(|directory| program.text.strip_prefix(directory));
        let is_known = !name.unwrap_or(&program.text).contains('/');
        let arguments = command.arguments();
        if !is_known || program.certainty != Certainty::Literal {
            return false;
        }
        let first = |word: Option<&Word>| {
            proof.first.as_ref().is_none_or(|regex| word.is_some_and(|word| regex.is_match(&word.text)))
        };
        let one_by_one = || first(arguments.first()) && arguments.iter().all(|word| proof.admits(word));
        let parsed = match proof.reads {
            Reads::AnyWords => return one_by_one(),
            Reads::Words => return arguments.iter().all(is_provable) && one_by_one(),
            Reads::Options => proof.options.parse(arguments, OptionOrder::Any),
        };
        let Some(parsed) = parsed else { return false };
        let operands: Vec<&Word> = parsed.operands.iter().filter_map(|&at| arguments.get(at)).collect();
        let subcommand = &self.text.subcommand;
        let skip = usize::from(!subcommand.is_empty() || proof.first.is_some());
        arguments.iter().all(is_provable)
            && operands.len().saturating_sub(skip) <= proof.operands
            && first(operands.first().copied())
            // The first operand itself, not an option's value that looks like it.
            && (subcommand.is_empty() || operands.first().is_some_and(|word| subcommand.contains(&word.text)))
            && operands.into_iter().skip(skip).all(|word| proof.admits(word))
    }
}

impl Proof {
    fn admits(&self, word: &Word) -> bool {
        self.operand.as_ref().is_none_or(|regex| regex.is_match(&word.text))
    }
}

/// Whether a word's value is known well enough to call a command harmless.
fn is_provable(word: &Word) -> bool {
    match word.certainty {
        Certainty::Literal => true,
        Certainty::Pattern => {
            PATTERNS.iter().any(|place| word.text.starts_with(place)) && !word.text.contains("..")
        }
        Certainty::Unknown => false,
    }
}

fn named(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == known,
    }
}

/// Whether an option may be there: alone, among others, with its value, or shortened.
fn has_option(arguments: &[Word], option: &str) -> bool {
    arguments.iter().any(|word| match option.strip_prefix("--") {
        Some(long) => word.text.strip_prefix("--").is_some_and(|text| {
            let name = text.split('=').next().unwrap_or_default();
            name.len() > 1 && long.starts_with(name)
        }),
        None => {
            word.text.strip_prefix('-').is_some_and(|text| !text.starts_with('-') && text.contains(option))
        }
    })
}

fn set(patterns: &[String]) -> Result<Option<RegexSet>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let whole = patterns.iter().map(|pattern| format!("(?s)^(?:{pattern})$"));
    RegexSet::new(whole).map(Some).map_err(|e| e.to_string().replace('\n', " "))
}

fn whole(pattern: &str) -> Result<Regex, String> {
    Regex::new(&format!("(?s)^(?:{pattern})$")).map_err(|e| e.to_string().replace('\n', " "))
}
