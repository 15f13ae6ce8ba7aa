//! The commands that README and `docs/` show work, in their order, on an installed system.

use std::fs;
use std::path::{Path, PathBuf};

use postern_tests::{Installed, Output, Release, on_each_release};

on_each_release!(commands_of_the_documentation_work);

/// A member of `postern-users`, and of `postern-operators` once approvals.md has said so.
const PERSON: &str = "you";

/// Grants that the pages need beside the demonstration's policy.
const RULES: &str = r#"
[[rule]]
id = "asked-notes"
client = "agent"
verbs = ["file.write"]
directories = ["/var/www/html"]
files = ["*.txt"]
decision = "ask"
justification = "a person looks at the text"
accept_risk = { "*" = "a test" }

[[rule]]
id = "patches"
client = "agent"
verbs = ["file.patch"]
directories = ["/var/www/html"]
files = ["*.html"]
decision = "allow"
justification = "site content"
accept_risk = { "*" = "a test" }
"#;

/// The files that the pages read, in the person's home directory.
const FILES: &str = r#"
useradd --create-home --groups postern-users you
mkdir -p /var/www/html
cd /home/you
cat > my.diff <<'END'
--- a/var/www/html/a.html
+++ b/var/www/html/a.html
@@ -1 +1 @@
-one
\ No newline at end of file
+two
END
echo '{"tool": "finish", "args": {"outcome": "answered", "summary": "nothing to do"}}' > reply.txt
"#;

/// Words of a page that are filled in, with the script (run as root) that prints the value.
const PLACEHOLDERS: [(&str, &str); 5] = [
    (
        "ID",
        r#"waiting() { postern-admin pending --json | grep -o '"approval_id":"[0-9a-f]*' | head -n 1 | cut -d'"' -f4; }
        [ -n "$(waiting)" ] || systemd-run --quiet --uid=you --collect \
            postern file write "/var/www/html/$(date +%N).txt" --content note
        for _ in $(seq 200); do [ -z "$(waiting)" ] || break; sleep 0.05; done
        waiting"#,
    ),
    (
        "HEX",
        r#"postern-admin show --json "$(postern-admin pending --json | grep -o '"approval_id":"[0-9a-f]*' | head -n 1 | cut -d'"' -f4)" |
            grep -o '"sha256":"[0-9a-f]*' | tail -n 1 | cut -d'"' -f4"#,
    ),
    (
        "REQUEST",
        r#"grep -o '"event":"end".*"request_id":"[0-9a-f-]*' /var/log/postern/audit.jsonl | tail -n 1 | sed 's/.*"//'"#,
    ),
    (
        "SCHEDULE",
        r#"runuser -u you -- postern schedule --json | grep -o '"id":"[0-9a-f-]*' | head -n 1 | cut -d'"' -f4"#,
    ),
    (
        "TASK",
        r#"runuser -u you -- postern tasks --json | grep -o '"id":"[0-9a-f-]*' | head -n 1 | cut -d'"' -f4"#,
    ),
];

/// What README shows within its sentences, how it is run here, and its exit code.
const WITHIN: [(&str, &str, i32); 7] = [
    // Without a terminal it names the flags that lack, and does nothing; with one it is a test of its own.
    ("sudo postern-admin init", "sudo postern-admin init", 2),
    ("postern-admin pack list", "sudo postern-admin pack list", 0),
    ("postern mcp", "postern mcp < /dev/null", 0),
    ("postern exec -- COMMAND", "postern exec -- systemctl status dbus", 0),
    ("postern-admin pending", "sudo postern-admin pending", 0),
    (
        "postern undo last",
        "postern file write /var/www/html/undone.html --content one && postern undo last && test ! -e /var/www/html/undone.html",
        0,
    ),
    ("postern-admin pause", "sudo postern-admin pause && postern-admin resume", 0),
];

/// The commands of Postern between backticks of the page's sentences.
fn within(page: &str) -> Vec<&str> {
    let sentences = page.split("```").step_by(2);
    let codes = sentences.flat_map(|text| text.split('`').skip(1).step_by(2));
    codes
        .filter(|code| code.trim_start_matches("sudo ").starts_with("postern") && code.contains(' '))
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A command of a page and the exit code that the page names.
#[derive(Debug)]
struct Shown {
    command: String,
    code: i32,
}

/// The commands in fenced blocks with this opening line.
fn shown(page: &str, fence: &str) -> Vec<Shown> {
    let mut opened = None;
    let mut shown = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            opened = if opened.is_none() { Some(line) } else { None };
        } else if opened == Some(fence) && !line.trim().is_empty() {
            let (command, remark) = line.split_once(" #").unwrap_or((line, ""));
            let code =
                remark.trim().strip_prefix("exit ").and_then(|rest| rest.get(..1)).map_or(Ok(0), str::parse);
            shown.push(Shown { command: command.trim().to_owned(), code: code.expect(line) });
        }
    }
    shown
}

/// Runs a line as root after `sudo`, otherwise as the person, with placeholders filled in.
fn run(host: &Installed, line: &str) -> Output {
    let mut words = line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (placeholder, script) in PLACEHOLDERS {
        for word in words.iter_mut().filter(|word| *word == placeholder) {
            host.shell(script).ok().trim().clone_into(word);
            if word.is_empty() {
                *word = format!("NO-{placeholder}");
            }
        }
    }
    let line = words.join(" ");
    let (user, command) =
        line.strip_prefix("sudo ").map_or((PERSON, line.as_str()), |command| ("root", command));
    let script = format!("cd /home/you; export EDITOR='sed -i s/two/three/'; {command}");
    host.run(user, &["sh", "-c", &script])
}

fn commands_of_the_documentation_work(release: Release) {
    let host = Installed::as_shipped(release);
    let _ = host.shell(FILES).ok();
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let installed =
        readme.split_once("\n## Install it").and_then(|(_, rest)| rest.split_once("\n## How it works"));
    let installed = installed.expect("the sections on installation and use").0;
    let is_ours =
        |shown: &Shown| shown.command.starts_with("postern ") || shown.command.starts_with("postern-admin ");
    let of_postern = shown(installed, "```").into_iter().filter(is_ours);
    let of_postern = of_postern.collect::<Vec<_>>();
    assert!(of_postern.len() >= 9, "{of_postern:?}");
    let mut failed = Vec::new();
    for Shown { command, code } in of_postern {
        // README's second block is run by root; nobody is there to answer its question.
        let command = match command.strip_prefix("postern-admin ") {
            Some(rest) => format!("sudo postern-admin {}", rest.replace("apply", "apply --yes")),
            None => command,
        };
        let output = run(&host, &command);
        if output.code != code {
            failed.push(format!("README: {command}: exit {}, not {code}: {output}", output.code));
        }
    }

    host.accept_demo();
    host.grant(RULES);
    let mut pages = fs::read_dir(root().join("docs"))
        .expect("docs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect::<Vec<_>>();
    pages.sort();
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        // init asks at a terminal, and has a test of its own.
        let left_out = shown(&text, "```").into_iter().filter(is_ours).count();
        assert!(
            left_out == 0 || page.ends_with("init.md"),
            "{}: a fence without sh is run by nothing",
            page.display()
        );
        for Shown { command, code } in shown(&text, "```sh") {
            count += 1;
            let output = run(&host, &command);
            if output.code != code {
                failed.push(format!(
                    "{}: {command}: exit {}, not {code}: {output}",
                    page.display(),
                    output.code
                ));
            }
        }
    }
    assert!(count > 40, "{count} commands");
    let mut inside = within(&readme);
    inside.sort_unstable();
    inside.dedup();
    for command in inside {
        let listed = WITHIN.iter().find(|(shown, ..)| *shown == command);
        let (_, line, code) = listed.unwrap_or_else(|| panic!("README: `{command}` is run by nothing"));
        let output = run(&host, line);
        if output.code != *code {
            failed.push(format!("README: {line}: exit {}, not {code}: {output}", output.code));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
