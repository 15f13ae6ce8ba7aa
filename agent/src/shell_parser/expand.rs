//! Expands a word of a script, as far as its text tells, and finds the commands inside it.

use super::read::{Reader, options, read};
use super::script::{Certainty, Fact, Flow, Word};
use brush_parser::ast;
use brush_parser::word::{self, Parameter, ParameterExpr, WordPiece, WordPieceWithSource};

/// A word as it is put together.
struct Building {
    text: String,
    certainty: Certainty,
    flow: Flow,
}

impl Building {
    fn unknown(&mut self) {
        self.text.push('$');
        self.certainty = Certainty::Unknown;
    }
}

/// Whether a piece stands between double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    No,
    Yes,
}

impl Reader<'_> {
    /// A word of the tree.
    pub fn word(&mut self, word: &ast::Word) -> Word {
        self.text(&word.value)
    }

    /// A word's source.
    pub fn text(&mut self, source: &str) -> Word {
        let Ok(pieces) = word::parse(source, &options()) else {
            self.fact(Fact::ParseError);
            return Word { text: source.to_owned(), ..Word::unknown() };
        };
        let mut building =
            Building { text: String::new(), certainty: Certainty::Literal, flow: Flow::default() };
        for piece in &pieces {
            self.piece(piece, source, Quoted::No, &mut building);
        }
        let Building { text, certainty, flow } = building;
        Word { text, certainty, flow }
    }

    /// A here-document: quotes are text in it.
    pub fn document(&mut self, source: &str) -> Word {
        let source = source.replace('"', "\\\"");
        self.text(&format!("\"{source}\""))
    }

    fn piece(&mut self, piece: &WordPieceWithSource, source: &str, quoted: Quoted, into: &mut Building) {
        match &piece.piece {
            WordPiece::Text(text) => {
                into.text.push_str(text);
                if quoted == Quoted::No {
                    into.certainty = into.certainty.max(plain(text));
                }
            }
            WordPiece::SingleQuotedText(text) => into.text.push_str(text),
            WordPiece::AnsiCQuotedText(text) => {
                self.fact(Fact::Dialect);
                into.text.push_str(text);
                into.certainty = Certainty::Unknown;
            }
            WordPiece::DoubleQuotedSequence(pieces) => {
                for inner in pieces {
                    self.piece(inner, source, Quoted::Yes, into);
                }
            }
            WordPiece::GettextDoubleQuotedSequence(pieces) => {
                self.fact(Fact::Dialect);
                for inner in pieces {
                    self.piece(inner, source, Quoted::Yes, into);
                }
                into.certainty = Certainty::Unknown;
            }
            WordPiece::TildePrefix(user) => {
                into.text.push('~');
                into.text.push_str(user);
                if user.starts_with(['+', '-']) {
                    into.certainty = Certainty::Unknown;
                }
            }
            WordPiece::ParameterExpansion(parameter) => {
                self.parameter(parameter, source.get(piece.start_index..piece.end_index), into);
            }
            WordPiece::CommandSubstitution(script) => self.substitution(script, into),
            WordPiece::BackquotedCommandSubstitution(script) => {
                let script = script.replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\");
                self.substitution(&script, into);
            }
            WordPiece::EscapeSequence(text) => {
                let text = text.strip_prefix('\\').unwrap_or(text);
                // A line that goes on.
                into.text.push_str(if text == "\n" { "" } else { text });
            }
            WordPiece::ArithmeticExpression(expr) => {
                self.text(&expr.value);
                into.unknown();
            }
        }
    }

    fn substitution(&mut self, script: &str, into: &mut Building) {
        into.flow = into.flow | read(script, self.power, self.depth + 1, self.into);
        into.unknown();
    }

    fn parameter(&mut self, parameter: &ParameterExpr, source: Option<&str>, into: &mut Building) {
        if let ParameterExpr::Parameter { parameter: Parameter::Named(name), indirect: false } = parameter
            && name == "HOME"
        {
            into.text.push('~');
            into.certainty = Certainty::Unknown;
            return;
        }
        let is_plain =
            matches!(parameter, ParameterExpr::Parameter { parameter, .. } if !is_indexed(parameter));
        if !is_plain {
            // Commands can stand in the word of `${x:-word}`.
            let inner = source.and_then(|s| s.strip_prefix("${")).and_then(|s| s.strip_suffix('}'));
            match inner {
                Some(inner) => {
                    let word = self.text(inner);
                    into.flow = into.flow | word.flow;
                    into.text.push_str(&word.text);
                }
                None => self.fact(Fact::ParseError),
            }
        }
        into.unknown();
    }
}

fn is_indexed(parameter: &Parameter) -> bool {
    match parameter {
        Parameter::Positional(_) | Parameter::Special(_) | Parameter::Named(_) => false,
        Parameter::NamedWithIndex { .. } | Parameter::NamedWithAllIndices { .. } => true,
    }
}

/// Unquoted text: file name patterns, and braces that one shell expands and another does not.
fn plain(text: &str) -> Certainty {
    if text.replace("{}", "").contains('{') {
        Certainty::Unknown
    } else if text.contains(['*', '?', '[']) && text != "[" {
        Certainty::Pattern
    } else {
        Certainty::Literal
    }
}
