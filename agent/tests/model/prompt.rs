//! The system prompt and the tools: complete, and small, since every request carries them.

use crate::common::{Place, Play, completed};
use crate::looks::told;
use crate::server::Server;
use crate::tasks::{calls, configure};
use postern_agent::llm::estimate::tokens;
use postern_proto::v1::{self, Decision, Status};
use serde_json::{Value, json};

/// A policy of 20 rules, as the helper describes it.
fn twenty_rules() -> v1::Description {
    let grant = |verbs: &[&str], decision: Decision| v1::Grant {
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        decision: decision.into(),
        ..v1::Grant::default()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let owners = ["owners = root", "groups = root"];
    let ask = ["approvers = 1", "approval_ttl = 900s"];
    let (allow, deny) = (Decision::Allow, Decision::Deny);
    let packages = |verbs: &[&str], names: &[&str], limits: &[&str]| v1::Grant {
        packages: words(names),
        limits: words(limits),
        ..grant(verbs, allow)
    };
    let units = |verbs: &[&str], names: &[&str], limits: &[&str]| v1::Grant {
        units: words(names),
        limits: words(limits),
        ..grant(verbs, allow)
    };
    let files = |verbs: &[&str], decision, directory: &str, files: &[&str], limits: &[&[&str]]| v1::Grant {
        directories: words(&[directory]),
        files: words(files),
        limits: words(&limits.concat()),
        max_bytes: 1 << 20,
        modes: words(&["0644"]),
        ..grant(verbs, decision)
    };
    let write: &[&str] = &["file.write", "file.patch"];
    let commands = v1::Grant {
        commands: words(&["rotate-logs name=<enum: nginx|apache2>", "add-user name=<user> shell=<path>"]),
        rate: "12/3600s".into(),
        ..grant(&["command.run"], allow)
    };
    let with_ask = |grant: v1::Grant| v1::Grant {
        decision: Decision::Ask.into(),
        limits: [grant.limits, words(&ask)].concat(),
        ..grant
    };
    let grants = vec![
        packages(&["package.show", "package.update"], &["*"], &[]),
        packages(
            &["package.install", "package.upgrade"],
            &["nginx*", "logrotate", "curl"],
            &["max_new_packages = 10"],
        ),
        with_ask(packages(&["package.remove"], &["nginx*"], &[])),
        with_ask(packages(&["package.upgrade"], &["*"], &["allow_upgrades = true"])),
        units(&["unit.status"], &["*"], &["journal_lines = 200"]),
        units(&["unit.start", "unit.restart", "unit.reload"], &["nginx.service", "cron.service"], &[]),
        with_ask(units(&["unit.stop", "unit.disable"], &["nginx.service"], &["allow_cascade = true"])),
        grant(&["unit.daemon-reload"], allow),
        files(&["file.read", "file.list"], allow, "/etc/nginx", &["*"], &[]),
        files(&["file.read"], allow, "/etc", &["hosts", "fstab", "resolv.conf"], &[]),
        files(
            write,
            allow,
            "/etc/nginx/conf.d",
            &["*.conf"],
            &[&owners, &["max_files = 20", "validate = nginx"]],
        ),
        files(write, allow, "/srv/www", &["*.html", "*.css"], &[&owners, &["max_files = 20"]]),
        files(
            write,
            Decision::Ask,
            "/etc/sysctl.d",
            &["60-*.conf"],
            &[&owners, &["max_files = 20", "lines = net.ipv4.*", "lines = vm.swappiness = *"], &ask],
        ),
        files(&["file.remove"], allow, "/etc/nginx/conf.d", &["*.conf"], &[&owners]),
        files(&["file.mkdir"], allow, "/srv/www", &["*"], &[&owners]),
        files(&["file.set-mode"], allow, "/srv/www", &["*"], &[]),
        commands,
        grant(&["request.undo"], allow),
        packages(&["package.remove", "package.purge"], &["openssh-server"], &[]),
        units(&["unit.stop"], &["ssh.service"], &[]),
    ];
    let last = grants.len() - 2;
    let of = |(at, grant): (usize, v1::Grant)| v1::Grant {
        decision: if at < last { grant.decision } else { deny.into() },
        ..grant
    };
    v1::Description { client: "agent".into(), grants: grants.into_iter().enumerate().map(of).collect() }
}

/// The first request to a model under that policy.
async fn asked(configure_more: &str) -> Value {
    let finish = calls("finish", &json!({ "outcome": "answered", "summary": "so" }));
    let server = Server::start(vec![finish]).await;
    let place = Place::new();
    configure(&place, &server);
    let text = std::fs::read_to_string(&place.host.config).unwrap();
    std::fs::write(&place.host.config, text + configure_more).unwrap();
    let status = Status::Done.into();
    let description = Some(twenty_rules());
    place.helper(vec![Play::Events(vec![completed(v1::Completed {
        status,
        description,
        ..Default::default()
    })])]);
    place.serve();
    place.run(&["run", "why is nginx slow?"]).await;
    server.seen()[0].body.clone()
}

#[tokio::test]
async fn instructions_and_tools_for_twenty_rules_are_at_most_2200_tokens() {
    let body = asked("").await;
    let system = body["messages"][0]["content"].as_str().unwrap();
    // The host is data, and differs.
    let instructions: String =
        system.lines().filter(|line| !line.starts_with("The host (data)")).collect::<Vec<_>>().join("\n");
    // Name, description and schema: what stands around them is each endpoint's own.
    let tools: Vec<&Value> = body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    let each: Vec<usize> = tools.iter().map(|tool| tokens(&tool.to_string())).collect();
    let (said, offered) = (tokens(&instructions), each.iter().sum::<usize>());
    assert!(said + offered <= 2200, "{said} + {offered} {each:?}:\n{instructions}\n{tools:#?}");
    // A tool's schema is not repeated in `finish`.
    let finish = tools.iter().find(|tool| tool["name"] == "finish").unwrap();
    let proof = &finish["parameters"]["properties"]["verify"]["items"]["properties"];
    assert_eq!(proof["args"]["properties"], Value::Null, "{proof}");
}

#[tokio::test]
async fn a_model_is_told_the_time_who_asks_and_what_its_commands_see() {
    for (profile, sees) in [
        ("", "/proc, /sys, /run, /var/log"),
        ("[tools]\nprofile = \"read_only\"\n", "not /proc, /run or /var (ps, ss, df, dpkg -l show nothing)"),
        ("[tools]\nprofile = \"workspace_write\"\n", "writes only in its own directory and /tmp"),
    ] {
        let body = asked(profile).await;
        let system = body["messages"][0]["content"].as_str().unwrap();
        let now = jiff::Zoned::now().strftime("Now: %A %Y-%m-%d").to_string();
        for words in [
            now.as_str(),
            "Asked by: root, not there: ask_person gets no answer. No operator is logged in.",
            sees,
            "sudo, apt-get, systemctl and their like in it become requests",
            "only whole lines like: net.ipv4.* | vm.swappiness = *",
            "nginx validates it before it takes effect",
        ] {
            assert!(system.contains(words), "{words}: {system}");
        }
        for words in ["owners = root", "approval_ttl", "max_files", "1.00 MiB", "mode 0644"] {
            assert!(!system.contains(words), "{words}: {system}");
        }
    }
    let body = asked("[tools]\nprofile = \"none\"\n").await;
    assert!(!body["messages"][0]["content"].as_str().unwrap().contains("\nshell: "), "no command is run");
}

#[tokio::test]
async fn a_refusal_is_told_once_with_a_few_of_the_grants_near_it() {
    let message = "no rule of agent's grants this";
    let refused = v1::Refused {
        code: "no_grant".into(),
        message: message.into(),
        missing: "command.run restore".into(),
        granted_nearby: (0..10).map(|number| format!("command.run command-{number}")).collect(),
        ..v1::Refused::default()
    };
    let place = Place::new();
    let refused = Play::Events(vec![v1::event::Kind::Refused(refused)]);
    let told = told(&place, &[("run_command", json!({ "name": "restore" }))], vec![refused]).await.remove(0);
    assert_eq!(told["error"], format!("no_grant: {message}"));
    assert_eq!(told.to_string().matches(message).count(), 1, "{told}");
    assert_eq!(told["refusal"]["missing"], "command.run restore");
    assert_eq!(told["refusal"]["granted_nearby"].as_array().unwrap().len(), 3);
}
