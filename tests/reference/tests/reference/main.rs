//! The committed manual pages and completions are what the programs' grammar says.

use clap::CommandFactory;
use clap_complete::Shell;
use postern_admin::cli::Cli;
use postern_reference::page::{Markdown, roff};
use postern_reference::{Page, asking, completions, each, examples, manual, markdown};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod tables;

const POSTERN: Page = Page {
    section: "1",
    files: &[
        ("/etc/postern/agent.toml", "the agent's configuration; see `postern config check`"),
        ("/run/postern/agent.sock", "where `postern serve` listens; for members of the group postern-users"),
        ("/run/postern/helper.sock", "where the helper listens; for the clients that the policy names"),
    ],
    see_also: "postern-agent.toml(5), postern-shell-rules(5), postern-policy(5), postern-packs(7), postern-audit(5), postern-admin(8), /usr/share/doc/postern/README.md, /usr/share/doc/postern/SECURITY.md",
    examples: examples::POSTERN,
};

const ADMIN: Page = Page {
    section: "8",
    files: &[
        ("/etc/postern/policy.toml", "what is granted to whom, with policy.d/*.toml beside it"),
        ("/var/log/postern/audit.jsonl", "who asked for what, what was decided and done"),
        ("/run/postern/operator.sock", "where operators decide; for members of the group postern-operators"),
    ],
    see_also: "postern-policy(5), postern-packs(7), postern-audit(5), postern-agent.toml(5), postern-shell-rules(5), postern(1), /usr/share/doc/postern/README.md, /usr/share/doc/postern/SECURITY.md",
    examples: examples::ADMIN,
};

/// Pages in Markdown: file, manual page, section, and what it is about.
const PAGES: [(&str, &str, &str, &str); 5] = [
    ("docs/postern-policy.5.md", "postern-policy", "5", "what agents may ask of the root helper"),
    ("docs/postern-agent.toml.5.md", "postern-agent.toml", "5", "configuration of the Postern agent"),
    ("docs/postern-shell-rules.5.md", "postern-shell-rules", "5", "rules that classify shell commands"),
    (
        "docs/postern-packs.7.md",
        "postern-packs",
        "7",
        "reviewed policy files of Postern for one service each",
    ),
    ("privhelper/audit/AUDIT.md", "postern-audit", "5", "format of the Postern audit log"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page in Markdown with the parts that the code's tables say.
fn page(file: &str) -> String {
    let text = std::fs::read_to_string(root().join(file)).expect(file);
    tables::PARTS.iter().fold(text, |text, (name, rows)| {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
        match text.split_once(&begin).and_then(|(head, rest)| Some((head, rest.split_once(&end)?.1))) {
            Some((head, tail)) => format!("{head}{begin}{}{end}{tail}", rows()),
            None => text,
        }
    })
}

/// Each file with its text.
fn made() -> Vec<(String, String)> {
    let programs = [(postern_agent::cli::command(), &POSTERN), (Cli::command(), &ADMIN)];
    let mut made = Vec::new();
    for (command, page) in programs {
        let name = command.get_name().to_owned();
        made.push((format!("deploy/man/{name}.{}", page.section), manual(command.clone(), page)));
        made.push((format!("docs/{name}.{}.md", page.section), markdown::manual(command.clone(), page)));
        for (shell, file) in [
            (Shell::Bash, name.clone()),
            (Shell::Zsh, format!("_{name}")),
            (Shell::Fish, format!("{name}.fish")),
        ] {
            let script = if name == "postern-admin" {
                asking(&name, postern_admin::completion::VARIABLE, shell)
            } else {
                completions(command.clone(), shell)
            };
            made.push((format!("deploy/completions/{shell}/{file}"), script));
        }
    }
    for (file, name, section, about) in PAGES {
        let text = page(file);
        made.push((
            format!("deploy/man/{name}.{section}"),
            roff(&Markdown { name, section, about, text: &text }),
        ));
        // The format of the log is beside the code that writes it.
        if !file.starts_with("docs/") {
            made.push((format!("docs/{name}.{section}.md"), text.clone()));
        }
        made.push((file.to_owned(), text));
    }
    let examples = EXAMPLES
        .map(|(path, page, language, manual)| (path.to_owned(), every_feature(page, language, manual)));
    made.extend(examples);
    made
}

/// Files of examples: the file, the page that they are from, their language, and the manual page.
const EXAMPLES: [(&str, &str, &str, &str); 3] = [
    ("deploy/policy/every-feature.toml", "docs/postern-policy.5.md", "toml", "postern-policy(5)"),
    ("deploy/examples/agent.toml", "docs/postern-agent.toml.5.md", "toml", "postern-agent.toml(5)"),
    ("deploy/examples/shell-rules.yaml", "docs/postern-shell-rules.5.md", "yaml", "postern-shell-rules(5)"),
];

/// Every example of a page as one file, to be read and copied from.
fn every_feature(file: &str, language: &str, manual: &str) -> String {
    let whole = match manual {
        "postern-policy(5)" => "A whole policy.toml",
        "postern-agent.toml(5)" => "A whole agent.toml",
        _ => "A whole shell-rules.yaml",
    };
    let mut text = format!(
        "# An example of every key of {manual}, from that page. {whole} to read and to copy from, not to install.\n"
    );
    let page = page(file);
    let begin = format!("{language}\n");
    let mut above = String::new();
    for line in page.split_inclusive('\n') {
        match (line.strip_prefix("```"), above.is_empty()) {
            (Some(word), _) if word == begin => "\n".clone_into(&mut above),
            (Some(_), false) => {
                text.push_str(&above);
                above.clear();
            }
            (None, false) => above.push_str(line),
            _ => {}
        }
    }
    text
}

#[test]
fn committed_pages_and_completions_match_the_code() {
    for (name, text) in made() {
        let path = root().join(&name);
        // `POSTERN_GENERATE=1 cargo test -p postern-reference` writes the files instead of comparing them.
        if std::env::var_os("POSTERN_GENERATE").is_some() {
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(&path, text).expect("written");
            continue;
        }
        let have = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(have == text, "{name} is stale: run POSTERN_GENERATE=1 cargo test -p postern-reference");
    }
}

#[test]
fn files_of_examples_are_installed_and_the_programs_take_them() {
    let package = std::fs::read_to_string(root().join("deploy/package")).expect("the package's script");
    let example = |name: &str| std::fs::read_to_string(root().join(name)).expect(name);
    for (path, _, language, _) in EXAMPLES {
        let text = example(path);
        assert!(text.lines().count() > 20, "{path}");
        let page = match path {
            "deploy/policy/every-feature.toml" => "docs/postern-policy.5.md",
            "deploy/examples/agent.toml" => "docs/postern-agent.toml.5.md",
            _ => "docs/postern-shell-rules.5.md",
        };
        // Every example of the page, and no other line.
        let lines = |text: &str| {
            text.lines()
                .filter(|line| !line.is_empty() && !line.starts_with("# An example of every"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&text), lines(&blocks(&self::page(page), language)), "{path}");
    }
    assert!(package.contains("deploy/examples/*"), "the examples are installed");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("agent.toml");
    std::fs::write(&file, example("deploy/examples/agent.toml")).expect("written");
    postern_agent::config::read_under(&file, []).expect("a valid configuration");
    postern_agent::shell_policy::Rules::with("the example", &example("deploy/examples/shell-rules.yaml"))
        .expect("valid rules");
    let errors = tables::compile(&example("deploy/policy/every-feature.toml")).1;
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn every_manual_page_is_in_docs_under_its_name_and_its_section_and_is_named_by_the_first_two() {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("deploy/man")).expect("the pages") {
        let name = entry.expect("a page").file_name().into_string().expect("a name");
        assert!(root().join(format!("docs/{name}.md")).exists(), "docs/{name}.md");
        names.push(name);
    }
    assert_eq!(names.len(), 7, "{names:?}");
    for (own, page) in [("postern.1", &POSTERN), ("postern-admin.8", &ADMIN)] {
        for name in names.iter().filter(|name| *name != own) {
            let (page_name, section) = name.rsplit_once('.').expect("a section");
            assert!(page.see_also.contains(&format!("{page_name}({section})")), "{own} does not name {name}");
        }
    }
}

#[test]
fn manual_page_has_every_command() {
    let page = manual(postern_agent::cli::command(), &POSTERN);
    for verb in postern_agent::VERBS {
        let words = match verb.split_once('.').expect(verb) {
            ("unit", action) => format!("service {action}"),
            ("command", _) => "command".to_owned(),
            ("policy", _) => "can".to_owned(),
            ("request", action) => action.to_owned(),
            (noun, action) => format!("{noun} {action}"),
        };
        let heading = format!(".SS \"postern {words} ").replace('-', "\\-");
        assert!(page.contains(&heading), "{heading}");
    }
    assert!(!page.contains("tell\\-operators"), "what is hidden is no command of a person's");
}

#[test]
fn every_command_has_an_example_and_every_example_is_understood_as_its_command() {
    let programs = [(postern_agent::cli::command(), &POSTERN), (Cli::command(), &ADMIN)];
    for (mut command, page) in programs {
        command.build();
        let name = command.get_name().to_owned();
        let mut used = Vec::new();
        each(&command, &name, &mut |command, words| {
            let its = examples::of(page.examples, words, command);
            assert!(!its.is_empty(), "no example of {words}");
            used.extend(its);
        });
        used.sort_unstable();
        let mut all = page.examples.to_vec();
        all.sort_unstable();
        assert_eq!(used, all, "each example stands at one command");
        for line in page.examples {
            let read = command.clone().try_get_matches_from(examples::split(line));
            let read = read.unwrap_or_else(|error| panic!("{line}: {error}"));
            let (mut words, mut at) = (name.clone(), &read);
            while let Some((next, below)) = at.subcommand() {
                words = format!("{words} {next}");
                at = below;
            }
            assert!(line.starts_with(&words), "{line} is read as {words}");
        }
    }
}

#[test]
fn every_verb_names_the_command_that_asks_for_it() {
    let page = page("docs/postern-policy.5.md");
    for verb in postern_policy::VerbId::ALL {
        let asked = examples::of_verb(*verb);
        assert_eq!(asked.is_none(), verb.name() == "agent.note", "{}", verb.name());
        assert!(page.contains(&format!("| `{}` | ", verb.name())));
    }
}

#[test]
fn packs_page_has_every_key_and_kind_with_an_example() {
    let page = page("docs/postern-packs.7.md");
    check_tables(&page, &blocks(&page, "toml"), &tables::pack());
    let kinds = tables::variable_kinds();
    let names = kinds.iter().map(|(name, _, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(keys_below(&page, "Kinds of variables"), names);
    let example = blocks(&page, "toml");
    let pack = postern_admin::packs::pack::Pack::parse(&example).expect("the example is a pack");
    assert_eq!(pack.variables.len(), 3);
    for (name, _, value) in kinds {
        let values = if name == "choice" { "values = [\"ask\"]\n" } else { "" };
        let text = format!(
            "[pack]\nname = \"x\"\nversion = 1\nsummary = \"x\"\n\n[[variable]]\nname = \"v\"\nkind = \"{name}\"\nquestion = \"?\"\n{values}default = [\"{value}\"]\n"
        );
        postern_admin::packs::pack::Pack::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// The rows of all tables of a page, the heading above each with them.
fn rows(text: &str) -> Vec<(String, Vec<String>)> {
    let mut heading = String::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix('#') {
            title.trim_start_matches('#').trim().clone_into(&mut heading);
        } else if let Some(title) = line
            .strip_prefix("`[")
            .filter(|rest| !rest.starts_with('['))
            .and_then(|rest| rest.split(']').next())
        {
            title.clone_into(&mut heading);
        }
        if let Some(cells) = line.strip_prefix("| `").and_then(|rest| rest.strip_suffix(" |")) {
            let cells = cells.split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
            rows.push((heading.clone(), cells));
        }
    }
    rows
}

/// The first cells of the rows below a heading.
fn keys_below(text: &str, heading: &str) -> Vec<String> {
    let rows = rows(text).into_iter().filter(|(above, _)| above == heading);
    rows.map(|(_, cells)| cells[0].trim_end_matches('`').to_owned()).collect()
}

/// All fenced blocks of a language as one text.
fn blocks(text: &str, language: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.collect::<Vec<_>>().join("\n")
}

/// Compares the keys below each heading with those of the code, and finds each in an example.
fn check_tables(page: &str, examples: &str, tables: &[(&str, Vec<String>)]) {
    for (heading, known) in tables {
        let mut known = known.clone();
        let mut listed = keys_below(page, heading);
        known.sort();
        listed.sort();
        assert_eq!(listed, known, "below {heading:?}");
        for key in known {
            let is_shown = [
                format!("{key} = "),
                format!("{key}: "),
                format!("{key}:\n"),
                format!("[{key}]"),
                format!("{key}]"),
            ];
            assert!(
                is_shown.iter().any(|form| examples.contains(form.as_str())),
                "no example of {heading}: {key}"
            );
        }
    }
}

#[test]
fn policy_page_has_every_key_and_an_example_of_it() {
    let page = page("docs/postern-policy.5.md");
    let examples = blocks(&page, "toml");
    check_tables(&page, &examples, &tables::policy());
    let kinds = keys_below(&page, "Kinds of parameters");
    assert_eq!(kinds, tables::kinds());
    for kind in kinds {
        assert!(examples.contains(&format!("kind = \"{kind}\"")), "no example of kind {kind}");
    }
}

#[test]
fn examples_of_the_policy_page_are_a_valid_policy() {
    let errors = tables::compile(&blocks(&page("docs/postern-policy.5.md"), "toml")).1;
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn defaults_of_the_policy_page_change_nothing_when_written() {
    let page = page("docs/postern-policy.5.md");
    let examples = blocks(&page, "toml");
    // Examples of a rule need not hold with another value.
    let is_tested = |line: &&str| !line.starts_with("matches = ") && !line.starts_with("does_not_match = ");
    let examples = examples.lines().filter(is_tested).collect::<Vec<_>>().join("\n");
    let mut checked = 0;
    for (heading, cells) in rows(&page) {
        let [key, _, default, _] = cells.as_slice() else { continue };
        let key = key.trim_end_matches('`');
        // `50; 0 for upgrades`: the first is that of the first example.
        let default = default.split(';').next().unwrap_or_default().trim_matches('`');
        if default.parse::<toml::Value>().is_err() {
            continue;
        }
        let line = format!("\n{key} = ");
        // The first example below the table's heading: another table may have a key of the same name.
        let above = page.split_once(&format!("# {heading}\n")).expect("a heading").0;
        let passed = blocks(above, "toml").matches(&line).count();
        let Some((at, _)) = examples.match_indices(&line).nth(passed) else { continue };
        let (head, rest) = (&examples[..at], &examples[at + line.len()..]);
        let tail = rest.split_once('\n').map_or("", |(_, tail)| tail);
        let (written, wrong) = tables::compile(&format!("{head}{line}{default}\n{tail}"));
        let (omitted, missing) = tables::compile(&format!("{head}\n{tail}"));
        assert!(wrong.is_empty() && missing.is_empty(), "{heading}: {key}: {wrong:?} {missing:?}");
        assert_eq!(written, omitted, "{key} = {default} is not the default");
        checked += 1;
    }
    assert!(checked >= 30, "only {checked} defaults were checked");
}

#[test]
fn agent_page_has_every_key_with_its_default_and_an_example() {
    let page = page("docs/postern-agent.toml.5.md");
    let examples = blocks(&page, "toml");
    let tables = tables::agent();
    let keys = tables.iter().map(|(name, keys)| (*name, keys.iter().map(|(key, _)| key.clone()).collect()));
    check_tables(&page, &examples, &keys.collect::<Vec<_>>());
    for (heading, keys) in tables {
        for (key, default) in keys {
            let row = rows(&page)
                .into_iter()
                .find(|(above, cells)| above == heading && cells[0].trim_end_matches('`') == key);
            let (_, cells) = row.expect(&key);
            if let Some(default) = default {
                assert_eq!(cells[2].trim_matches('`'), default, "[{heading}] {key}");
            }
        }
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("agent.toml");
    std::fs::write(&file, examples).expect("written");
    postern_agent::config::read_under(&file, []).expect("a valid configuration");
}

#[test]
fn shell_rules_page_has_every_key_and_an_example_of_it() {
    let page = page("docs/postern-shell-rules.5.md");
    let examples = blocks(&page, "yaml");
    check_tables(&page, &examples, &tables::shell_rules());
    postern_agent::shell_policy::Rules::with("the page", &examples).expect("valid rules");
}

#[test]
fn every_code_has_an_example_and_each_of_the_agents_own_a_row() {
    let rows = tables::all_codes();
    for (code, meaning) in &rows {
        assert!(meaning.contains("such as "), "{code}: {meaning}");
        assert_eq!(rows.iter().filter(|(other, _)| other == code).count(), 1, "{code} twice");
    }
    let mut files = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent/src")];
    let mut found = BTreeSet::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for call in text.split("AgentError::new(").skip(1) {
            let Some(rest) = call.trim_start().strip_prefix('"') else { continue };
            found.insert(rest.split('"').next().unwrap_or_default().to_owned());
        }
    }
    assert!(found.len() > 20, "{found:?}");
    for code in found {
        assert!(rows.iter().any(|(known, _)| *known == code), "no row for {code}");
    }
}
