//! Manual pages and shell completions, made from the programs' own grammar.
//!
//! The output is committed under `deploy/`, so that a package is built without generating it; a test compares.

pub mod examples;
pub mod markdown;
pub mod page;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use std::fmt::Write;

/// Content of a page besides the grammar.
pub struct Page {
    /// The manual's section.
    pub section: &'static str,
    /// Each file with what it is.
    pub files: &'static [(&'static str, &'static str)],
    /// Other pages and documents.
    pub see_also: &'static str,
    /// Command lines, each of which stands at its command.
    pub examples: &'static [&'static str],
}

/// A program's manual page in roff, all of its commands in one.
#[must_use]
pub fn manual(mut command: Command, page: &Page) -> String {
    command.build();
    let name = command.get_name().to_owned();
    let version = command.get_version().unwrap_or_default().to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text =
        format!(".TH {} {} \"\" \"postern {version}\" \"Postern\"\n", escaped(&name), page.section);
    let first = about.split_once(". ").map_or(about.as_str(), |(first, _)| first).trim_end_matches('.');
    let _ = writeln!(text, ".SH NAME\n{} \\- {}", escaped(&name), escaped(first));
    let _ = writeln!(text, ".SH SYNOPSIS\n.B {}", escaped(&usage(&command)));
    let _ = writeln!(text, ".SH DESCRIPTION\n{}", escaped(&about));
    text.push_str(".SH COMMANDS\n");
    each(&command, &name, &mut |command, words| {
        one(command, &examples::of(page.examples, words, command), &mut text);
    });
    let global = options(&command);
    if !global.is_empty() {
        let _ = write!(text, ".SH OPTIONS OF ALL COMMANDS\n{global}");
    }
    if let Some(after) = command.get_after_help() {
        let _ = write!(text, ".SH NOTES\n.nf\n{}\n.fi\n", escaped(&after.to_string()));
    }
    text.push_str(".SH FILES\n");
    for (file, what) in page.files {
        let _ = writeln!(text, ".TP\n.I {}\n{}", escaped(file), escaped(what));
    }
    let _ = writeln!(text, ".SH SEE ALSO\n{}", escaped(page.see_also));
    text
}

/// Calls `see` with every command that can be typed and its words, such as `postern tasks list`.
pub fn each(of: &Command, above: &str, see: &mut dyn FnMut(&Command, &str)) {
    for command in of.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        let words = format!("{above} {}", command.get_name());
        // A command that is one by itself too, such as `tasks`.
        if !command.has_subcommands() || !command.is_subcommand_required_set() {
            see(command, &words);
        }
        each(command, &words, see);
    }
}

fn one(command: &Command, examples: &[&str], text: &mut String) {
    let _ = writeln!(text, ".SS {}", quoted(&usage(command)));
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _ = writeln!(text, "{}", escaped(&about.to_string()).replace("\n\n", "\n.PP\n"));
    }
    text.push_str(&options(&own(command)));
    if !examples.is_empty() {
        let _ = writeln!(text, ".PP\n.RS 4\n.nf\n{}\n.fi\n.RE", escaped(&examples.join("\n")));
    }
}

/// The command with the options alone that are its own.
fn own(command: &Command) -> Command {
    let is_global = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id && arg.is_global_set());
    command.clone().mut_args(|arg| {
        let is_common = is_global(arg.get_id().as_str()) || arg.get_id() == "help";
        if is_common { arg.hide(true) } else { arg }
    })
}

/// A command's options without their heading.
fn options(command: &Command) -> String {
    let mut page = Vec::new();
    // A vector takes every byte.
    let _ = Man::new(command.clone()).render_options_section(&mut page);
    let page = String::from_utf8_lossy(&page);
    let is_text =
        |line: &&str| !line.starts_with(".SH ") && !line.starts_with(".ie ") && !line.starts_with(".el ");
    // Its string for an apostrophe is set in a preamble that this page has not.
    let page = page.replace("\\*(Aq", "\\(aq");
    page.lines().filter(is_text).fold(String::new(), |text, line| text + line + "\n")
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage:").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('"', "\\(dq"))
}

/// Text as roff takes it for text.
fn escaped(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    let lines = escaped
        .lines()
        .map(|line| if line.starts_with('.') { format!("\\&{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

/// A program's completions for a shell.
#[must_use]
pub fn completions(command: Command, shell: Shell) -> String {
    let mut command = without_help(command);
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The script that lets a shell ask a program for its completions.
///
/// # Panics
/// For a shell that is none of bash, zsh and fish.
#[must_use]
pub fn asking(name: &str, variable: &str, shell: Shell) -> String {
    let shells = clap_complete::env::Shells::builtins();
    let completer = shells.completer(&shell.to_string()).expect("a shell that is known");
    let mut script = Vec::new();
    completer.write_registration(variable, name, name, name, &mut script).expect("memory takes all");
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Zsh {
        // zsh runs the file as the function of its name at the first completion: that one is answered too.
        let function = name.replace('-', "_");
        // A String takes everything.
        let _ =
            writeln!(script, "[[ $funcstack[1] = _{name} ]] && _clap_dynamic_completer_{function} \"$@\"");
    }
    script
}

/// `help COMMAND` would repeat all of the grammar; `COMMAND --help` says the same.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}
