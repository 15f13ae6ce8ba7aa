//! A program's manual page in Markdown, for `docs/`: the same content as its page in roff.

use crate::{Page, each, examples, own, usage};
use clap::{Arg, Command};
use std::fmt::Write;

/// The page of a program.
#[must_use]
pub fn manual(mut command: Command, page: &Page) -> String {
    command.build();
    let name = command.get_name().to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text =
        format!("# {name}({})\n\n{}\n\n`{}`\n\n## Commands\n", page.section, plain(&about), usage(&command));
    each(&command, &name, &mut |command, words| {
        let _ = write!(text, "\n### `{}`\n\n", usage(command));
        let about = command.get_long_about().or_else(|| command.get_about());
        let _ = writeln!(text, "{}", about.map(|about| plain(&about.to_string())).unwrap_or_default());
        arguments(&own(command), &mut text);
        let examples = examples::of(page.examples, words, command);
        if !examples.is_empty() {
            let _ = write!(text, "\n```text\n{}\n```\n", examples.join("\n"));
        }
    });
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        text.push_str("\n## Options of all commands\n");
        arguments(&command, &mut text);
    }
    if let Some(after) = command.get_after_help() {
        let _ = write!(text, "\n## Notes\n\n{}\n", plain(&after.to_string()));
    }
    text.push_str("\n## Files\n\n");
    for (file, what) in page.files {
        let _ = writeln!(text, "* `{file}`: {}", plain(what));
    }
    let _ = write!(text, "\n## See also\n\n{}\n", plain(page.see_also));
    text
}

/// A list of options and operands.
fn arguments(command: &Command, text: &mut String) {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    for (number, arg) in shown.enumerate() {
        text.push_str(if number == 0 { "\n" } else { "" });
        let help =
            arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let values = arg.get_possible_values();
        let names = values.iter().filter(|one| !one.is_hide_set()).map(|one| format!("`{}`", one.get_name()));
        let names = names.collect::<Vec<_>>().join(", ");
        let is_choice = !names.is_empty() && arg.get_action().takes_values();
        let names = if is_choice { format!(" ({names})") } else { String::new() };
        let _ = writeln!(text, "* `{}`: {}{names}", form(arg), plain(&help).replace('\n', " "));
    }
}

/// `-s, --set <NAME=VALUE>`.
fn form(arg: &Arg) -> String {
    if arg.is_positional() {
        return arg.to_string();
    }
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    format!("{short}{arg}")
}

/// Text in which `<` and `|` mean themselves.
fn plain(text: &str) -> String {
    text.replace('<', "\\<").replace('|', "\\|")
}
