//! `sudo sh -c '…'`: a list of plain commands, each of which is a request of its own, or a text that goes into
//! a file. All of it is translated, or nothing is.

use super::call::{AfterFailure, Attributes, ShimHost, Step, Steps, only_talks, step};
use super::exit_status::ProgramFamily;
use super::files::{append, overwrite};
use super::operands::absolute;
use super::table::command;
use crate::protocol::request::overlap;
use crate::shell_parser::LONGEST;
use crate::shell_parser::guard::bounded;
use crate::shell_parser::read::{Reader, options};
use crate::shell_parser::script::{Certainty, Power, Script, Word};
use brush_parser::{Parser, SourceInfo, ast};

const PLAIN: &str =
    "only plain commands joined by `&&`, `;` and a text into a file become requests; ask for each alone";

pub fn translate(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    let (Some(option), Some(text), None) = (argv.get(1), argv.get(2), argv.get(3)) else {
        return Err("there is no shell of root's here; give one command".into());
    };
    if !matches!(option.as_str(), "-c" | "-ec" | "-ce") {
        return Err("there is no shell of root's here; give one command".into());
    }
    // None of these has a place in a plain command; the rest is read as the judge reads it.
    if text.len() > LONGEST || text.contains(['(', '{', '`', '$']) {
        return Err(PLAIN.into());
    }
    let owned = text.clone();
    let program = bounded(move || {
        Parser::new(owned.as_bytes(), &options(), &SourceInfo::default()).parse_program().ok()
    });
    let program = program.flatten().ok_or(PLAIN)?;
    let mut steps = Vec::new();
    let mut touched = Vec::new();
    for ast::CompoundListItem(list, separator) in program.complete_commands.iter().flat_map(|list| &list.0) {
        match separator {
            ast::SeparatorOperator::Sequence => {}
            ast::SeparatorOperator::Async => return Err(PLAIN.into()),
        }
        if let Some(last) = steps.last_mut() {
            let last: &mut Step = last;
            last.then = AfterFailure::Forget;
        }
        steps.extend(apart(&list.first, &mut touched, place)?);
        for next in &list.additional {
            match next {
                ast::AndOr::And(next) => {
                    if let Some(last) = steps.last_mut() {
                        last.then = AfterFailure::Stop;
                    }
                    steps.extend(apart(next, &mut touched, place)?);
                }
                ast::AndOr::Or(_) => return Err(PLAIN.into()),
            }
        }
    }
    if option.contains('e') {
        for step in &mut steps {
            step.then = AfterFailure::Stop;
        }
    }
    if steps.is_empty() { Err("there is no command in it".into()) } else { Ok(steps) }
}

/// A command with the words and the redirection that it has.
struct Plain {
    argv: Vec<String>,
    target: Option<(String, Kind)>,
    document: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Write,
    Append,
}

/// A command that names no file that one before it changes. All is translated before the first step runs: it would be
/// translated by what was there before.
fn apart(from: &ast::Pipeline, touched: &mut Vec<String>, place: &mut dyn ShimHost) -> Steps {
    if from.bang || from.timed.is_some() {
        return Err(PLAIN.into());
    }
    let commands = from.seq.iter().map(plain).collect::<Result<Vec<_>, _>>()?;
    let steps = pipeline(&commands, place)?;
    let changed: Vec<String> = steps
        .iter()
        .filter(|step| step.request.verb().starts_with("file."))
        .flat_map(|step| step.request.objects())
        .collect();
    let words = commands.iter().flat_map(|plain| plain.argv.iter().skip(1));
    let words = words.filter_map(|word| absolute(word, place).ok());
    for path in words.chain(changed.iter().cloned()) {
        if touched.iter().any(|other| overlap(&path, other)) {
            return Err(format!("{path} is changed by a command before: ask for each alone"));
        }
    }
    touched.extend(changed);
    Ok(steps)
}

fn pipeline(commands: &[Plain], place: &mut dyn ShimHost) -> Steps {
    match commands {
        [one] => single(one, place),
        // `echo x | tee f`
        [source, sink] if source.target.is_none() && sink.document.is_none() => {
            let text = text_of(source)?;
            let mut fed = Fed { place, text };
            let mut steps = command(&sink.argv, &mut fed)?;
            if matches!(sink.target.as_ref(), Some((path, _)) if path == "/dev/null") {
                silence(&mut steps);
            } else if sink.target.is_some() {
                return Err(PLAIN.into());
            }
            Ok(steps)
        }
        _ => Err(PLAIN.into()),
    }
}

fn single(plain: &Plain, place: &mut dyn ShimHost) -> Steps {
    let Some((target, kind)) = &plain.target else {
        if plain.document.is_some() {
            return Err(PLAIN.into());
        }
        return command(&plain.argv, place);
    };
    if target == "/dev/null" && plain.document.is_none() {
        let mut steps = command(&plain.argv, place)?;
        silence(&mut steps);
        return Ok(steps);
    }
    let text = text_of(plain)?;
    let path = absolute(target, place)?;
    let request = match kind {
        Kind::Write => overwrite(path, text),
        Kind::Append => append(path, &text, place)?,
    };
    Ok(vec![step(request, ProgramFamily::Sudo)])
}

/// `> /dev/null`
fn silence(steps: &mut [Step]) {
    for step in steps {
        step.echo.clear();
        step.is_quiet = true;
    }
}

/// Returns the output of a command that only prints text.
fn text_of(plain: &Plain) -> Result<Vec<u8>, String> {
    let words: Vec<&str> = plain.argv.iter().map(String::as_str).collect();
    let text = match (words.as_slice(), &plain.document) {
        (["cat"], Some(document)) => document.clone(),
        (["echo", "-n", rest @ ..], None) if is_verbatim(rest) => rest.join(" "),
        (["echo", rest @ ..], None) if is_verbatim(rest) => format!("{}\n", rest.join(" ")),
        (["printf", "%s\\n", rest @ ..], None) => rest.iter().flat_map(|word| [*word, "\n"]).collect(),
        (["printf", "%s", rest @ ..], None) => rest.concat(),
        (["printf", text], None) if !text.contains('%') && !text.replace("\\n", "").contains('\\') => {
            text.replace("\\n", "\n")
        }
        (["true" | ":"], None) => String::new(),
        _ => return Err("only the text of echo, printf and cat goes into a file; use `sudo tee FILE`".into()),
    };
    Ok(text.into_bytes())
}

/// Shells differ in what `echo` makes of a backslash or of an option.
fn is_verbatim(words: &[&str]) -> bool {
    !words.iter().any(|word| word.contains('\\')) && words.first().is_none_or(|word| !word.starts_with('-'))
}

fn plain(from: &ast::Command) -> Result<Plain, String> {
    let ast::Command::Simple(simple) = from else { return Err(PLAIN.into()) };
    let mut seen = Script::default();
    let mut reader = Reader { into: &mut seen, power: Power::Root, depth: 0 };
    let mut words: Vec<Word> = Vec::new();
    let mut plain = Plain { argv: Vec::new(), target: None, document: None };
    words.extend(simple.word_or_name.iter().map(|word| reader.word(word)));
    let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
    // Words before the name are settings; those that say how to talk change no request.
    let is_setting = |item: &&ast::CommandPrefixOrSuffixItem| match item {
        ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            !only_talks(&word.value) || word.value.contains('$')
        }
        ast::CommandPrefixOrSuffixItem::Word(_)
        | ast::CommandPrefixOrSuffixItem::IoRedirect(_)
        | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => false,
    };
    if prefix.clone().any(|item| is_setting(&item)) {
        return Err(PLAIN.into());
    }
    let prefix = prefix.filter(|item| !matches!(item, ast::CommandPrefixOrSuffixItem::AssignmentWord(..)));
    for item in prefix.chain(suffix) {
        match item {
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => words.push(reader.word(word)),
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                plain.redirect(redirect, &mut reader)?;
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => return Err(PLAIN.into()),
        }
    }
    let is_plain =
        words.iter().all(|word| word.certainty == Certainty::Literal && !word.text.starts_with('~'));
    if !is_plain || !seen.facts.is_empty() || !seen.commands.is_empty() {
        return Err(PLAIN.into());
    }
    plain.argv = words.into_iter().map(|word| word.text).collect();
    Ok(plain)
}

impl Plain {
    fn redirect(&mut self, redirect: &ast::IoRedirect, reader: &mut Reader) -> Result<(), String> {
        match redirect {
            // Where errors go is the shim's to say.
            ast::IoRedirect::File(Some(2), _, ast::IoFileRedirectTarget::Fd(1)) => Ok(()),
            ast::IoRedirect::File(
                Some(2),
                _,
                ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word),
            ) if matches!(word.value.as_str(), "/dev/null" | "1") => Ok(()),
            ast::IoRedirect::File(None | Some(1), kind, ast::IoFileRedirectTarget::Filename(word)) => {
                let kind = match kind {
                    ast::IoFileRedirectKind::Write | ast::IoFileRedirectKind::Clobber => Kind::Write,
                    ast::IoFileRedirectKind::Append => Kind::Append,
                    ast::IoFileRedirectKind::Read
                    | ast::IoFileRedirectKind::ReadAndWrite
                    | ast::IoFileRedirectKind::DuplicateInput
                    | ast::IoFileRedirectKind::DuplicateOutput => return Err(PLAIN.into()),
                };
                let word = reader.word(word);
                if word.certainty != Certainty::Literal || self.target.is_some() {
                    return Err(PLAIN.into());
                }
                self.target = Some((word.text, kind));
                Ok(())
            }
            ast::IoRedirect::HereDocument(None | Some(0), document) if self.document.is_none() => {
                self.document = Some(document.doc.value.clone());
                Ok(())
            }
            ast::IoRedirect::File(..)
            | ast::IoRedirect::HereDocument(..)
            | ast::IoRedirect::HereString(..)
            | ast::IoRedirect::OutputAndError(..) => Err(PLAIN.into()),
        }
    }
}

/// The place of a command that another one feeds.
struct Fed<'a> {
    place: &'a mut dyn ShimHost,
    text: Vec<u8>,
}

impl ShimHost for Fed<'_> {
    fn directory(&self) -> String {
        self.place.directory()
    }
    fn input(&mut self) -> Result<Vec<u8>, String> {
        Ok(std::mem::take(&mut self.text))
    }
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.place.read(path)
    }
    fn is_directory(&self, path: &str) -> bool {
        self.place.is_directory(path)
    }
    fn is_own(&self, path: &str) -> bool {
        self.place.is_own(path)
    }
    fn attributes(&self, path: &str) -> Option<Attributes> {
        self.place.attributes(path)
    }
    fn owns(&self, path: &str) -> bool {
        self.place.owns(path)
    }
    fn is_link(&self, path: &str) -> bool {
        self.place.is_link(path)
    }
    fn is_missing(&self, path: &str) -> bool {
        self.place.is_missing(path)
    }
    fn reaches_systemd(&self) -> bool {
        self.place.reaches_systemd()
    }
    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String> {
        self.place.sed(arguments, text)
    }
}
