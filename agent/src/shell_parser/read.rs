//! From text to commands: the tree that the grammar gives, walked in full.
//!
//! The grammar is bash's, as a superset of what `sh` runs. Where the two read a text differently it is marked
//! as a dialect, and both readings' commands are judged.

use super::flow::flow as flow_of;
use super::script::{Certainty, Fact, Flow, Input, Power, Script, Simple, Word};
use brush_parser::ast;
use brush_parser::{Parser, ParserOptions, SourceInfo};

/// Scripts in scripts are followed so far.
pub const DEPTH: usize = 4;
/// So many brackets and keywords may open. Beyond it the parser's own stack would be at stake.
const OPENERS: usize = 60;

pub fn options() -> ParserOptions {
    // No program needs the extended patterns, and `sh` has none.
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

/// Reads a text and appends what it finds. Returns what its commands' output stems from.
pub fn read(text: &str, power: Power, depth: usize, into: &mut Script) -> Flow {
    if depth > DEPTH {
        into.facts.insert(Fact::TooDeep);
        return rough(text, power, depth, into);
    }
    if openers(text) > OPENERS
        || text.match_indices("<<").any(|(at, sign)| is_odd_end(text.get(at + sign.len()..)))
    {
        into.facts.insert(Fact::ParseError);
        return rough(text, power, depth, into);
    }
    let mut parser = Parser::new(text.as_bytes(), &options(), &SourceInfo::default());
    let Ok(program) = parser.parse_program() else {
        into.facts.insert(Fact::ParseError);
        return rough(text, power, depth, into);
    };
    let mut reader = Reader { into, power, depth };
    program.complete_commands.iter().fold(Flow::default(), |flow, list| flow | reader.list(list))
}

fn openers(text: &str) -> usize {
    const WORDS: &[&str] = &["if", "while", "until", "for", "case", "select", "function", "[[", "!", "elif"];
    let brackets = text.matches(['(', '{', '`']).count();
    brackets + text.split_whitespace().filter(|word| WORDS.contains(word)).count()
}

/// Whether a here-document ends at something else than a plain word: the parser never returns from some of these.
fn is_odd_end(after: Option<&str>) -> bool {
    let after = after.unwrap_or_default().trim_start_matches(['-', ' ', '\t']);
    let end = after.split(|c: char| c.is_whitespace() || ";|&<>)".contains(c)).next().unwrap_or_default();
    !after.starts_with('<') && end.contains(['$', '`', '(', '{'])
}

/// The words of a text that cannot be read, so that what is plainly forbidden in it is still seen.
pub fn rough(text: &str, power: Power, depth: usize, into: &mut Script) -> Flow {
    let mut flow = Flow::default();
    for part in text.split([';', '|', '&', '\n', '(', ')', '`', '{', '}', '<', '>']) {
        let bare = part.replace(['\'', '"', '\\', '$'], "");
        let words: Vec<Word> = bare.split_whitespace().map(Word::literal).collect();
        if !words.is_empty() {
            let simple = Simple { words, input: Input::default(), power, depth };
            flow = flow | flow_of(&simple.words);
            into.commands.push(simple);
        }
    }
    flow
}

/// Walks one tree.
pub struct Reader<'a> {
    pub into: &'a mut Script,
    pub power: Power,
    pub depth: usize,
}

impl Reader<'_> {
    pub fn fact(&mut self, fact: Fact) {
        self.into.facts.insert(fact);
    }

    fn push(&mut self, words: Vec<Word>, input: Input) {
        self.into.commands.push(Simple { words, input, power: self.power, depth: self.depth });
    }

    fn list(&mut self, list: &ast::CompoundList) -> Flow {
        let mut flow = Flow::default();
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            match separator {
                ast::SeparatorOperator::Async => self.fact(Fact::Background),
                ast::SeparatorOperator::Sequence => {}
            }
            for (_, pipeline) in and_or {
                flow = flow | self.pipeline(pipeline);
            }
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Flow {
        let mut input = Input::default();
        for command in &pipeline.seq {
            let from = self.into.commands.len();
            let flow = self.command(command, &input) | input.flow;
            let text = echoed(self.into.commands.get(from..).unwrap_or_default());
            input = Input { is_fed: true, flow, text };
        }
        input.flow
    }

    fn command(&mut self, command: &ast::Command, input: &Input) -> Flow {
        match command {
            ast::Command::Simple(simple) => self.simple(simple, input),
            ast::Command::Compound(compound, redirects) => {
                let redirects = redirects.iter().flat_map(|list| &list.0);
                let input = redirects.fold(input.clone(), |input, r| self.redirect(r).unwrap_or(input));
                let from = self.into.commands.len();
                let flow = self.compound(compound);
                // Any command of a group can read the group's input.
                for command in self.into.commands.iter_mut().skip(from) {
                    if input.is_fed && !command.input.is_fed {
                        command.input = input.clone();
                    }
                }
                flow
            }
            ast::Command::Function(function) => self.function(function),
            ast::Command::ExtendedTest(test) => {
                self.fact(Fact::Dialect);
                self.extended_test(&test.expr);
                Flow::default()
            }
        }
    }

    fn function(&mut self, function: &ast::FunctionDefinition) -> Flow {
        let from = self.into.commands.len();
        let ast::FunctionBody(body, redirects) = &function.body;
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect);
        }
        let flow = self.compound(body);
        let mut inside = self.into.commands.iter().skip(from);
        if inside.any(|command| command.words.first().is_some_and(|w| w.is(&function.fname.value))) {
            self.fact(Fact::Recursion);
        }
        flow
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) -> Flow {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&part.value);
                }
                self.list(&clause.body.list)
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            ast::CompoundCommand::ForClause(clause) => {
                // A loop variable has an unknown value, but from known words. It is an assignment: `for PATH in .`
                // decides which programs run.
                let name = Word::literal(format!("{}=", clause.variable_name));
                let mut words = vec![Word::literal("for"), name];
                words.extend(clause.values.iter().flatten().map(|value| self.word(value)));
                self.push(words, Input::default());
                self.list(&clause.body.list)
            }
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value);
                let mut flow = Flow::default();
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(pattern);
                    }
                    flow = case.cmd.iter().fold(flow, |flow, list| flow | self.list(list));
                }
                flow
            }
            ast::CompoundCommand::IfClause(clause) => {
                let mut flow = self.list(&clause.condition) | self.list(&clause.then);
                for part in clause.elses.iter().flatten() {
                    flow = part.condition.iter().fold(flow, |flow, list| flow | self.list(list));
                    flow = flow | self.list(&part.body);
                }
                flow
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0) | self.list(&clause.1.list)
            }
        }
    }

    /// `((…))`: bash computes, `sh` runs what stands in it.
    fn arithmetic(&mut self, text: &str) -> Flow {
        self.fact(Fact::Dialect);
        self.text(text);
        read(text, self.power, self.depth + 1, self.into)
    }

    fn extended_test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(a, b) | ast::ExtendedTestExpr::Or(a, b) => {
                self.extended_test(a);
                self.extended_test(b);
            }
            ast::ExtendedTestExpr::Not(a) | ast::ExtendedTestExpr::Parenthesized(a) => self.extended_test(a),
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.word(word);
            }
            ast::ExtendedTestExpr::BinaryTest(_, a, b) => {
                self.word(a);
                self.word(b);
            }
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand, input: &Input) -> Flow {
        let mut words = Vec::new();
        let mut input = input.clone();
        let mut flow = input.flow;
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut has_program = false;
        for item in prefix {
            input = self.item(item, &mut words, has_program).unwrap_or(input);
        }
        if let Some(name) = &simple.word_or_name {
            words.push(self.word(name));
            has_program = true;
        }
        for item in suffix {
            input = self.item(item, &mut words, has_program).unwrap_or(input);
        }
        flow = flow | input.flow | flow_of(&words);
        if !words.is_empty() {
            self.push(words, input);
        }
        flow
    }

    /// One item beside a command's name. Returns what it makes of the input.
    fn item(
        &mut self,
        item: &ast::CommandPrefixOrSuffixItem,
        words: &mut Vec<Word>,
        has_program: bool,
    ) -> Option<Input> {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => return self.redirect(redirect),
            ast::CommandPrefixOrSuffixItem::Word(word) => words.push(self.word(word)),
            ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) if has_program => {
                words.push(self.word(word));
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                self.assignment(assignment);
                let word = self.word(word);
                self.push(vec![Word::literal("="), word], Input::default());
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                words.push(self.process(subshell));
            }
        }
        None
    }

    fn assignment(&mut self, assignment: &ast::Assignment) {
        let is_array = match &assignment.value {
            ast::AssignmentValue::Scalar(_) => false,
            ast::AssignmentValue::Array(_) => true,
        };
        let is_element = match &assignment.name {
            ast::AssignmentName::VariableName(_) => false,
            ast::AssignmentName::ArrayElementName(..) => true,
        };
        if is_array || is_element || assignment.append {
            self.fact(Fact::Dialect);
        }
    }

    /// `<(…)` and `>(…)`: a file name that only running it shows.
    fn process(&mut self, subshell: &ast::SubshellCommand) -> Word {
        self.fact(Fact::Dialect);
        let flow = self.list(&subshell.list);
        Word { flow, ..Word::unknown() }
    }

    /// A redirection. Returns the input if it is one that feeds.
    fn redirect(&mut self, redirect: &ast::IoRedirect) -> Option<Input> {
        let fed = |word: Word| Some(Input { is_fed: true, flow: word.flow, text: Some(word) });
        let (sign, word) = match redirect {
            ast::IoRedirect::File(_, kind, target) => {
                let sign = match kind {
                    ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => "<",
                    ast::IoFileRedirectKind::Write
                    | ast::IoFileRedirectKind::Append
                    | ast::IoFileRedirectKind::ReadAndWrite
                    | ast::IoFileRedirectKind::Clobber
                    | ast::IoFileRedirectKind::DuplicateOutput => ">",
                };
                let word = match target {
                    ast::IoFileRedirectTarget::Filename(word) => self.word(word),
                    ast::IoFileRedirectTarget::Fd(_) => return None,
                    ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.process(subshell),
                    ast::IoFileRedirectTarget::Duplicate(word) => {
                        let word = self.word(word);
                        let is_number = word.text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                        if word.certainty == Certainty::Literal && is_number {
                            return None;
                        }
                        self.fact(Fact::Dialect);
                        word
                    }
                };
                (sign, word)
            }
            ast::IoRedirect::HereDocument(_, document) => {
                let word = if document.requires_expansion {
                    self.document(&document.doc.value)
                } else {
                    Word::literal(document.doc.value.clone())
                };
                return fed(word);
            }
            ast::IoRedirect::HereString(_, word) => {
                self.fact(Fact::Dialect);
                let word = self.word(word);
                return fed(word);
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                self.fact(Fact::Dialect);
                (">", self.word(word))
            }
        };
        let input = (sign == "<").then_some(Input { is_fed: true, flow: word.flow, text: None });
        self.push(vec![Word::literal(sign), word], Input::default());
        input
    }
}

/// Returns the bytes that `echo` or `printf` with plain words feeds to the next command.
fn echoed(commands: &[Simple]) -> Option<Word> {
    let [command] = commands else { return None };
    if !matches!(command.program(), "echo" | "printf") {
        return None;
    }
    let certainty = command.arguments().iter().map(|w| w.certainty).max().unwrap_or(Certainty::Literal);
    let words = command.arguments().iter().filter(|w| !matches!(w.text.as_str(), "-n" | "-e" | "--"));
    let text = words.map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ").replace("\\n", "\n");
    Some(Word { text, certainty, flow: flow_of(&command.words) })
}
