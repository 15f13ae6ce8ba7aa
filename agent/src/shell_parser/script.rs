//! A command's text after parsing by a shell's grammar: every simple command, wherever it is.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How much of a word's value its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Certainty {
    /// The value is the text.
    Literal,
    /// File names that the text matches.
    Pattern,
    /// Only running it shows.
    Unknown,
}

/// Where the bytes of a word or of standard input come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// A program that fetches from the network has part in them.
    pub is_downloaded: bool,
    /// A program that decodes has part in them.
    pub is_decoded: bool,
}

impl std::ops::BitOr for Flow {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self {
            is_downloaded: self.is_downloaded || other.is_downloaded,
            is_decoded: self.is_decoded || other.is_decoded,
        }
    }
}

/// One word of a command, quotes removed. In `text` a `$` stands for what is not known, `~` for home.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Word {
    /// The text.
    pub text: String,
    /// Certainty of the text.
    pub certainty: Certainty,
    /// Flow of the substitutions in it.
    pub flow: Flow,
}

impl Word {
    /// A word that is its text.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), certainty: Certainty::Literal, flow: Flow::default() }
    }

    /// A word that only running the command shows.
    pub fn unknown() -> Self {
        Self { text: "$".to_owned(), certainty: Certainty::Unknown, flow: Flow::default() }
    }

    /// Whether the word is exactly this text.
    pub fn is(&self, text: &str) -> bool {
        self.certainty == Certainty::Literal && self.text == text
    }
}

/// Standard input of a command.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Input {
    /// Another command or a document of the script feeds it.
    pub is_fed: bool,
    /// Where those bytes come from.
    pub flow: Flow,
    /// The bytes, where the script's text tells them.
    pub text: Option<Word>,
}

/// The user that a command runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// As the sandbox's own user.
    Own,
    /// As root, if its wrapper had its way: in the sandbox the wrapper fails.
    Root,
    /// Given to the `sudo` shim, which translates it to a typed request or fails. A rule for `root` is for it too.
    Request,
}

impl Power {
    /// Whether a rule that names `wanted` speaks of this one.
    pub fn is(self, wanted: Self) -> bool {
        (self == Self::Own) == (wanted == Self::Own)
    }
}

/// A command without what joins it to others. A redirection is a command called `>` or `<`, an assignment
/// one called `=`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Simple {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Its standard input.
    pub input: Input,
    /// The user that it runs as.
    pub power: Power,
    /// How many scripts it stands in: substitutions and `sh -c` count.
    pub depth: usize,
}

impl Simple {
    /// The program's name without a directory; empty if only running shows it.
    pub fn program(&self) -> &str {
        match self.words.first() {
            Some(word) if word.certainty == Certainty::Literal => {
                word.text.rsplit('/').next().unwrap_or_default()
            }
            Some(_) | None => "",
        }
    }

    /// Whether the program is found by its name alone: the name of a shim finds the shim.
    pub fn is_found_by_name(&self) -> bool {
        self.words
            .first()
            .is_some_and(|word| word.certainty == Certainty::Literal && !word.text.contains('/'))
    }

    /// The words after the program.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// All words, a blank between.
    pub fn line(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The same place with another command in it.
    pub fn with(&self, words: Vec<Word>) -> Self {
        Self { words, ..self.clone() }
    }
}

/// A fact about a text that rules can test besides its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// There is no command in it.
    Empty,
    /// It is too long or holds characters that no command needs.
    BadInput,
    /// The grammar does not read it.
    ParseError,
    /// Scripts stand in scripts beyond what is followed.
    TooDeep,
    /// Shells read it differently.
    Dialect,
    /// Only running it shows which program runs.
    UnknownProgram,
    /// Only running it shows in which directory relative names are looked up.
    UnknownDirectory,
    /// Something goes on after the command has ended.
    Background,
    /// A function that calls itself.
    Recursion,
    /// A program that starts another, with options that are not known.
    UnknownWrapper,
    /// An interpreter reads its program from a pipe.
    FedInterpreter,
    /// An interpreter runs what a program fetched.
    DownloadedScript,
    /// An interpreter runs what a program decoded.
    DecodedScript,
    /// No rule knows the command.
    UnknownCommand,
}

/// A text that has been read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Script {
    /// Its commands, in the order of the text.
    pub commands: Vec<Simple>,
    /// Facts about the text.
    pub facts: BTreeSet<Fact>,
}
