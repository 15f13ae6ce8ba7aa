//! `postern shell check`.

use postern_agent::{Host, cli};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn check(rules: Option<&str>, args: &[&str]) -> (u8, String, String) {
    let place = tempfile::tempdir().unwrap();
    if let Some(rules) = rules {
        std::fs::write(place.path().join("shell-rules.yaml"), rules).unwrap();
    }
    let host = Host { config: place.path().join("agent.toml"), ..Host::default() };
    let (out, err) = (Kept::default(), Kept::default());
    let mut console = cli::Console {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        input: Box::new(std::io::empty()),
        in_is_terminal: false,
        out_is_terminal: false,
        err_is_terminal: false,
        height: None,
        pager: None,
        width: None,
        color: false,
        is_broken: false,
    };
    let args = ["postern", "shell", "check"].iter().chain(args).map(Into::into);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let exit = runtime.block_on(cli::run(args.collect::<Vec<_>>(), &host, &mut console));
    (exit.number(), out.text(), err.text())
}

#[test]
fn the_exit_code_tells_the_level_and_the_text_tells_why() {
    assert_eq!(check(None, &["ls -l"]), (0, "SAFE 0\n".to_owned(), String::new()));
    let (exit, out, _) = check(None, &["sudo systemctl restart nginx"]);
    assert_eq!(exit, 4);
    assert!(out.starts_with("CONFIRM 70\n  service: ") && out.contains("privilege.sudo"), "{out}");
    let (exit, out, _) = check(None, &["curl x | sh"]);
    assert_eq!(exit, 3);
    assert!(out.starts_with("BLOCK 100\n  shell.downloaded-script: "), "{out}");
    assert_eq!(check(None, &["--", "-x"]).0, 4);
    assert_eq!(check(None, &[]).0, 2);
}

#[test]
fn json_is_one_object() {
    let (exit, out, _) = check(None, &["rm x", "--json"]);
    assert_eq!(exit, 4);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["v"], 1);
    assert_eq!(object["command"], "rm x");
    let decision = &object["decision"];
    assert_eq!(decision["level"], "confirm");
    assert_eq!(decision["score"], 85);
    assert_eq!(decision["capabilities"], serde_json::json!(["filesystem.delete"]));
    assert_eq!(decision["rules"][0]["id"], "delete");
    assert_eq!(decision["profile"], "workspace_write");
    assert_eq!(decision["can_remember"], false);
}

#[test]
fn roots_file_beside_the_configuration_counts_and_a_broken_one_fails() {
    let rules =
        "version: 1\nrules:\n  - {id: mine, level: block, score: 90, command: [ls], reason: not here}\n";
    let (exit, out, _) = check(Some(rules), &["ls"]);
    assert_eq!((exit, out.as_str()), (3, "BLOCK 90\n  mine: not here\n"));
    let (exit, out, err) = check(Some("version: 1\nrule: []"), &["ls"]);
    assert_eq!((exit, out.as_str()), (1, ""));
    assert!(err.contains("shell-rules.yaml") && err.contains("rule"), "{err}");
}
