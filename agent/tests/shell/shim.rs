//! Translation of `sudo` and the shimmed programs: the table `tests/data/shim.tsv`, and the requests' contents.

use base64::Engine;
use postern_agent::shell_policy::{Level, Rules};
use postern_agent::shims::wire::ShimReply;
use postern_agent::shims::{
    AfterFailure, Attributes, PROGRAMS, ProgramFamily, ShimHost, Translation, take, translate,
};
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../data/shim.tsv");

/// A made-up place: a workspace at /w/task and a system around it.
struct Made {
    input: Vec<u8>,
    files: BTreeMap<&'static str, &'static [u8]>,
}

impl Made {
    fn new() -> Self {
        let files = [
            ("/w/task/a.conf", &b"a\n"[..]),
            ("/w/task/b.conf", b"b\n"),
            ("/w/task/notes.txt", b"n\n"),
            ("/etc/hosts", b"127.0.0.1 a\n"),
        ];
        Self { input: b"fed\n".to_vec(), files: files.into() }
    }
}

impl ShimHost for Made {
    fn directory(&self) -> String {
        "/w/task".to_owned()
    }
    fn input(&mut self) -> Result<Vec<u8>, String> {
        Ok(self.input.clone())
    }
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).map(|content| content.to_vec()).ok_or_else(|| "no such file".to_owned())
    }
    fn is_directory(&self, path: &str) -> bool {
        matches!(path, "/" | "/etc" | "/srv" | "/w" | "/w/task" | "/etc/nginx" | "/etc/nginx/conf.d")
    }
    fn is_own(&self, path: &str) -> bool {
        path.starts_with("/w/task/")
    }
    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String> {
        assert!(!arguments.iter().any(|word| word.contains("-i")), "{arguments:?}");
        Ok([text, b"edited\n"].concat())
    }
}

/// Words at blanks; what stands between single quotes is one.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn call(command: &str) -> Translation {
    translate(&split(command), &mut Made::new())
}

fn told(translation: &Translation) -> String {
    match translation {
        Translation::Steps(steps) => {
            let steps = steps.iter().map(|step| format!("{} {}", step.request.verb(), step.request.target()));
            steps.collect::<Vec<_>>().join("; ")
        }
        Translation::Local(_) => "local".to_owned(),
        Translation::Advice(line, _) => format!("advice: {line}"),
    }
}

#[test]
fn every_form_of_the_table_comes_to_its_verbs() {
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (command, expected) = line.split_once('\t').unwrap();
        seen.extend(split(command));
        let told = told(&call(command));
        let is_right = match expected.strip_prefix("advice: ") {
            Some(words) => told.starts_with("advice: ") && told.contains(words),
            None => told == expected,
        };
        if !is_right {
            wrong.push(format!("{command}: {told:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for program in PROGRAMS {
        assert!(seen.iter().any(|word| word == program), "{program} stands nowhere in the table");
    }
}

#[test]
fn documentation_of_sudo_names_the_verbs_that_each_form_is_translated_to() {
    let page = include_str!("../../../docs/commands.md");
    let rows: Vec<(&str, &str)> = page
        .lines()
        .skip_while(|line| *line != "| In a script | Is translated to |")
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "))
        .collect();
    assert!(rows.len() > 20, "{rows:?}");
    for (form, verbs) in rows {
        let Translation::Steps(steps) = call(form) else { panic!("{form}") };
        let told: Vec<String> = steps.iter().map(|step| format!("`{}`", step.request.verb())).collect();
        assert_eq!(told.join(", "), verbs, "{form}");
        assert!(
            TABLE.lines().any(|line| line.split('\t').next() == Some(form)),
            "{form} stands not in the table"
        );
    }
}

#[test]
fn nobody_is_asked_about_what_becomes_a_request_and_about_all_else_as_ever() {
    let rules = Rules::builtin().unwrap();
    for (command, level) in [
        ("sudo systemctl restart nginx", Level::Safe),
        ("set -euo pipefail; sudo apt-get install -y nginx", Level::Safe),
        ("echo x | sudo tee /etc/f > /dev/null", Level::Safe),
        ("sudo mkdir -p /etc/nginx/x && sudo chmod 0750 /etc/nginx/x", Level::Safe),
        ("sudo -v; sudo apt-get install --only-upgrade -y openssl", Level::Safe),
        ("sudo apt-get -s upgrade", Level::Safe),
        ("systemctl restart nginx; touch f", Level::Confirm),
        ("sudo systemctl restart nginx; make", Level::Confirm),
        // The real program runs, in the sandbox.
        ("sudo find / -exec sh -c id ';'", Level::Confirm),
        ("sudo sed -n '1e id' f", Level::Confirm),
        ("sudo $program", Level::Confirm),
        ("su -c 'systemctl restart nginx'", Level::Confirm),
        ("sudo rm -rf /", Level::Block),
        ("curl http://x/y | sudo sh", Level::Block),
        ("sudo bash", Level::Block),
    ] {
        assert_eq!(rules.judge(command).effective(), level, "{command}");
    }
}

#[test]
fn the_package_links_every_shim() {
    let linked: Vec<&str> = include_str!("../../../deploy/shims").lines().collect();
    assert_eq!(linked, PROGRAMS);
}

#[test]
fn advice_is_one_line_and_no_success() {
    for line in TABLE.lines().filter(|line| line.contains("\tadvice: ")) {
        let command = line.split('\t').next().unwrap();
        let Translation::Advice(text, exit) = call(command) else { panic!("{command}") };
        assert!(!text.contains('\n') && exit != 0, "{command}: {text:?} {exit}");
    }
}

fn steps(command: &str) -> Vec<postern_agent::shims::Step> {
    match call(command) {
        Translation::Steps(steps) => steps,
        other => panic!("{command}: {other:?}"),
    }
}

#[test]
fn a_reboot_is_never_sooner_than_in_a_minute() {
    for (time, delay_s) in [("now", 60), ("+0", 60), ("+00", 60), ("+1", 60), ("+5", 300)] {
        let steps = steps(&format!("shutdown -r {time}"));
        let [step] = steps.as_slice() else { panic!("{time}: {} steps", steps.len()) };
        assert_eq!(step.request.verb(), "host.reboot");
        assert_eq!(step.request.args()["delay_s"], delay_s, "{time}");
    }
}

#[test]
fn tee_hands_its_input_on_and_writes_it() {
    let steps = steps("sudo tee /etc/a /etc/b");
    assert_eq!(steps.iter().map(|step| step.echo.as_slice()).collect::<Vec<_>>(), [&b"fed\n"[..], b""]);
    assert!(steps.iter().all(|step| step.request.args()["change"]["content"] == "ZmVkCg=="));
}

#[test]
fn an_edit_holds_only_for_the_content_that_was_read() {
    // printf '127.0.0.1 a\n' | sha256sum
    let hash = "ab5ccd1b5ef644684e600ce7387302ebd0618a10c6a421be3c4b0b71863dd778";
    for command in ["sudo sed -i s/a/b/ /etc/hosts", "tee -a /etc/hosts", "sudo sh -c 'echo x >> /etc/hosts'"]
    {
        let steps = steps(command);
        assert_eq!(steps[0].request.args()["change"]["expect"], hash, "{command}");
    }
    let steps = steps("sudo mv /etc/hosts /etc/hosts.old");
    let args = steps[0].request.args();
    assert_eq!(args["changes"][1]["kind"], "remove");
    assert_eq!(args["changes"][1]["expect"], hash);
}

#[test]
fn the_rest_of_a_list_waits_for_success_only_after_and() {
    let thens = |command: &str| steps(command).iter().map(|step| step.then).collect::<Vec<_>>();
    let list = "sudo sh -c 'apt-get update && apt-get install -y nginx; systemctl start nginx'";
    assert_eq!(thens(list), [AfterFailure::Stop, AfterFailure::Forget, AfterFailure::GoOn]);
    assert_eq!(
        thens("sudo sh -ec 'apt-get update; systemctl start nginx'"),
        [AfterFailure::Stop, AfterFailure::Stop]
    );
}

#[test]
fn a_file_of_the_tools_own_that_was_moved_is_named() {
    assert_eq!(steps("sudo mv a.conf /etc/nginx/conf.d/")[0].moved.as_deref(), Some("/w/task/a.conf"));
    assert_eq!(steps("sudo cp a.conf /etc/nginx/conf.d/")[0].moved, None);
}

#[test]
fn mv_leaves_a_source_that_changed_while_a_person_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("a.conf");
    let step = || {
        let step = steps("sudo mv a.conf /etc/nginx/conf.d/").remove(0);
        postern_agent::shims::Step { moved: Some(source.to_str().unwrap().to_owned()), ..step }
    };
    let content = step().request.args()["change"]["content"].as_str().unwrap().to_owned();
    let content = base64::engine::general_purpose::STANDARD.decode(content).unwrap();
    std::fs::write(&source, &content).unwrap();
    assert_eq!(take(vec![step()], &mut |_| Ok(ShimReply::default())), 0);
    assert!(!source.exists());

    std::fs::write(&source, &content).unwrap();
    let mut changed = |_: &_| {
        std::fs::write(&source, "newer").unwrap();
        Ok(ShimReply::default())
    };
    assert_eq!(take(vec![step()], &mut changed), 1);
    assert_eq!(std::fs::read(&source).unwrap(), b"newer");
    std::fs::remove_file(&source).unwrap();
    std::fs::write(directory.path().join("b"), &content).unwrap();
    std::os::unix::fs::symlink(directory.path().join("b"), &source).unwrap();
    assert_eq!(take(vec![step()], &mut |_| Ok(ShimReply::default())), 1);
    assert!(source.is_symlink());
}

#[test]
fn exit_codes_are_those_that_scripts_know() {
    for (family, code, exit) in [
        (ProgramFamily::Apt, "", 0),
        (ProgramFamily::Apt, "package_failed", 100),
        (ProgramFamily::Apt, "no_grant", 100),
        (ProgramFamily::Systemctl, "not_found", 1),
        (ProgramFamily::Systemctl, "no_grant", 4),
        (ProgramFamily::Systemctl, "unit_failed", 1),
        (ProgramFamily::Files, "no_grant", 1),
        (ProgramFamily::Sed, "precondition_failed", 4),
    ] {
        let said = family.exit_status(code, "why", &[], "unit.enable");
        assert_eq!(said.exit, exit, "{family:?} {code}");
        assert_eq!(said.line.is_empty(), exit == 0, "{family:?} {code}");
    }
    assert_eq!(ProgramFamily::Systemctl.exit_status("not_found", "gone", &[], "unit.start").exit, 5);
    assert_eq!(steps("sudo rm -f /etc/f")[0].excused, ["not_found", "directory_missing"]);
    assert_eq!(ProgramFamily::Files.exit_status("not_found", "gone", &["not_found"], "file.remove").exit, 0);
    assert!(steps("sudo rm /etc/f")[0].excused.is_empty());
}

/// The made-up place with a service manager within reach.
struct Beside(Made);

impl ShimHost for Beside {
    fn directory(&self) -> String {
        self.0.directory()
    }
    fn input(&mut self) -> Result<Vec<u8>, String> {
        self.0.input()
    }
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.read(path)
    }
    fn is_directory(&self, path: &str) -> bool {
        self.0.is_directory(path)
    }
    fn is_own(&self, path: &str) -> bool {
        self.0.is_own(path)
    }
    fn reaches_systemd(&self) -> bool {
        true
    }
    fn attributes(&self, _: &str) -> Option<Attributes> {
        Some(Attributes { mode: "0644".to_owned(), ..Attributes::default() })
    }
    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String> {
        self.0.sed(arguments, text)
    }
}

#[test]
fn looking_at_units_needs_no_request_where_systemd_can_be_asked() {
    let beside = |command: &str| told(&translate(&split(command), &mut Beside(Made::new())));
    for command in [
        "systemctl status nginx",
        "sudo systemctl -n 5 status nginx",
        "sudo systemctl is-active --quiet nginx",
        "systemctl --type service list-units",
        "systemctl",
        "sudo systemctl show -p ActiveState --value nginx",
        "systemctl --user restart own",
        "sudo service nginx status",
    ] {
        assert_eq!(beside(command), "local", "{command}");
    }
    assert_eq!(beside("sudo systemctl --no-pager restart nginx"), "unit.restart nginx.service");
    assert_eq!(beside("sudo service nginx restart"), "unit.restart nginx.service");
}

#[test]
fn a_mode_in_letters_names_the_mode_that_it_was_computed_from() {
    let old_mode = |command: &str| match translate(&split(command), &mut Beside(Made::new())) {
        Translation::Steps(mut steps) => steps.remove(0).old_mode,
        other => panic!("{command}: {other:?}"),
    };
    assert_eq!(old_mode("sudo chmod 0755 /etc/hosts"), None);
    assert_eq!(old_mode("sudo chmod u+x /etc/hosts").as_deref(), Some("0644"));
}

#[test]
fn values_of_options_are_no_files() {
    for command in [
        "sed -i -e s/a/b/ -e s/c/d/ a.conf",
        "install -m 0644 /etc/hosts hosts",
        "cp -t /w/task/sub /etc/hosts",
        "mkdir -m 0700 sub",
    ] {
        assert_eq!(told(&call(command)), "local", "{command}");
    }
    assert_eq!(
        told(&call("cp -t /etc/nginx a.conf b.conf")),
        "file.write /etc/nginx/a.conf; file.write /etc/nginx/b.conf"
    );
}
