//! Every verb of the helper is in a model's reach, each by one tool, with arguments that are exactly those of its action.

use crate::common::{Place, Play, Seen, completed, ended, refused, unit};
use crate::server::Server;
use crate::tasks::{calls, configure};
use postern_agent::llm::reply_parser::{Code, read_native};
use postern_agent::llm::tools::{ALL, TASK};
use postern_proto::v1::{self, Mode, Status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Calls of all tools that ask the helper, with the verb that each comes to.
fn asked() -> Vec<(&'static str, Value, &'static str)> {
    let mut asked = vec![
        ("read_file", json!({ "path": "/etc/hosts" }), "file.read"),
        ("apply_patch", json!({ "diff": "--- /dev/null\n+++ b/etc/x\n@@ -0,0 +1 @@\n+x\n" }), "file.patch"),
        ("unit_journal", json!({ "name": "nginx" }), "unit.status"),
        ("units_reload", json!({}), "unit.daemon-reload"),
        ("reboot", json!({ "delay_minutes": 5 }), "host.reboot"),
        ("reboot", json!({ "cancel": true }), "host.reboot"),
        ("run_command", json!({ "name": "rotate" }), "command.run"),
        ("package", json!({ "action": "upgrade" }), "package.upgrade"),
        ("package", json!({ "action": "list_upgrades" }), "package.upgrade"),
    ];
    for (action, verb) in [
        ("install", "package.install"),
        ("remove", "package.remove"),
        ("purge", "package.purge"),
        ("upgrade", "package.upgrade"),
        ("hold", "package.hold"),
        ("unhold", "package.unhold"),
        ("show", "package.show"),
    ] {
        asked.push(("package", json!({ "action": action, "names": ["nginx"] }), verb));
    }
    for (action, verb) in
        [("autoremove", "package.autoremove"), ("update", "package.update"), ("repair", "package.repair")]
    {
        asked.push(("package", json!({ "action": action }), verb));
    }
    for (action, verb) in [
        ("status", "unit.status"),
        ("start", "unit.start"),
        ("stop", "unit.stop"),
        ("restart", "unit.restart"),
        ("reload", "unit.reload"),
        ("enable", "unit.enable"),
        ("disable", "unit.disable"),
        ("try_restart", "unit.try-restart"),
        ("reset_failed", "unit.reset-failed"),
        ("mask", "unit.mask"),
        ("unmask", "unit.unmask"),
    ] {
        asked.push(("service", json!({ "action": action, "name": "nginx" }), verb));
    }
    for (args, verb) in [
        (
            json!({ "action": "write", "path": "/etc/x", "content": "x", "mode": "0600", "owner": "root:adm" }),
            "file.write",
        ),
        (json!({ "action": "mkdir", "path": "/srv/x", "mode": "0750", "owner": "www-data" }), "file.mkdir"),
        (json!({ "action": "mkdir", "path": "/srv/x" }), "file.mkdir"),
        (json!({ "action": "set_mode", "path": "/srv/x", "mode": "0640" }), "file.set-mode"),
        (json!({ "action": "set_owner", "path": "/srv/x", "owner": ":adm" }), "file.set-owner"),
        (json!({ "action": "remove", "path": "/srv/x" }), "file.remove"),
        (json!({ "action": "list", "path": "/srv" }), "file.list"),
    ] {
        asked.push(("file", args, verb));
    }
    asked.push(("service", json!({ "action": "stop", "name": "nginx" }), "unit.stop"));
    asked.push(("undo", json!({}), "request.undo"));
    asked
}

/// `file.set-mode` as the rpc `FileSetMode`.
fn rpc(verb: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    verb.split(['.', '-']).map(word).collect()
}

#[test]
fn every_verb_is_reached_by_a_call() {
    let reached: BTreeSet<&str> = asked().into_iter().map(|(_, _, verb)| verb).collect();
    // Grants are in the prompt, and outcomes in the results of calls. A person keeps a change that may have locked people out,
    // and no model does.
    let known = ["policy.describe", "request.result", "request.keep"];
    let missing: Vec<_> = postern_agent::VERBS
        .iter()
        .filter(|verb| !reached.contains(**verb) && !known.contains(verb))
        .collect();
    assert_eq!(missing, Vec::<&&str>::new());
    for tool in TASK {
        let actions = tool.schema()["properties"]["action"]["enum"].as_array().cloned().unwrap_or_default();
        for action in actions {
            let is_asked =
                asked().iter().any(|(name, args, _)| *name == tool.name && args["action"] == action);
            assert!(is_asked, "{} {action}", tool.name);
        }
    }
}

#[tokio::test]
async fn each_call_becomes_the_request_of_its_action() {
    let asked = asked();
    let finish = calls("finish", &json!({ "outcome": "done", "summary": "seen" }));
    let plays = asked.iter().map(|(tool, args, _)| calls(tool, args)).chain([finish]).collect();
    let server = Server::start(plays).await;
    let place = Place::new();
    configure(&place, &server);
    let text = std::fs::read_to_string(&place.host.config).unwrap();
    std::fs::write(&place.host.config, text + "[limits]\nsteps = 100\nchanges = 100\n").unwrap();
    let policy = Arc::new(|seen: &Seen| match seen.rpc.as_str() {
        // A missing file may be written.
        "FileRead" => vec![refused("not_found")],
        // The one tool that is offered only where the policy grants it.
        "PolicyDescribe" => {
            let grant = v1::Grant {
                verbs: vec!["host.reboot".to_owned()],
                decision: v1::Decision::Allow.into(),
                ..v1::Grant::default()
            };
            let description = v1::Description { client: "agent".to_owned(), grants: vec![grant] };
            vec![completed(v1::Completed {
                status: Status::Done.into(),
                description: Some(description),
                ..v1::Completed::default()
            })]
        }
        "UnitStop" => vec![unit(Status::Done, "nginx.service", "inactive", "dead")],
        _ => vec![ended(Status::Done, "")],
    });
    let helper = place.helper(vec![Play::Decide(policy)]);
    place.serve();
    let ran = place.run(&["run", "do all of it", "--json"]).await;
    let seen = helper.seen();
    let mut left = seen.iter().map(|seen| (seen.rpc.clone(), seen.meta().mode()));
    for (tool, args, verb) in &asked {
        let mode = if args["action"] == "list_upgrades" { Mode::Preview } else { Mode::Execute };
        let wanted = (rpc(verb), mode);
        assert!(left.any(|seen| seen == wanted), "{tool} {args} is not {wanted:?}: {}", ran.err);
    }
    let of = |rpc: &str| seen.iter().find(|seen| seen.rpc == rpc).unwrap();
    let write = of("FileWrite").decode::<v1::FileWriteRequest>().change.unwrap();
    assert_eq!([&write.mode, &write.owner, &write.group], ["0600", "root", "adm"]);
    let mkdir = of("FileMkdir").decode::<v1::FileMkdirRequest>();
    assert_eq!([&mkdir.mode, &mkdir.owner, &mkdir.group], ["0750", "www-data", ""]);
    assert!(of("PackageUpgrade").decode::<v1::PackageUpgradeRequest>().all);
    assert_eq!(of("UnitStatus").decode::<v1::UnitStatusRequest>().journal_lines, 50);
}

#[test]
fn an_argument_of_another_action_is_refused_and_named() {
    for (tool, args, why) in [
        ("package", json!({ "action": "update", "names": ["nginx"] }), "names"),
        ("package", json!({ "action": "install" }), "names"),
        ("package", json!({ "action": "remove", "names": [] }), "names is empty"),
        ("package", json!({ "action": "remove", "names": [" "] }), "blank"),
        ("package", json!({ "action": "downgrade", "names": ["nginx"] }), "downgrade"),
        ("package", json!({ "action": 3, "names": ["nginx"] }), "action is no string"),
        ("package", json!({ "action": { "update": null } }), "action is no string"),
        ("package", json!({ "names": ["nginx"] }), "action"),
        ("file", json!({ "action": "set_mode", "path": "/srv/x" }), "mode"),
        ("file", json!({ "action": "remove", "path": "/srv/x", "mode": "0600" }), "mode"),
        ("file", json!({ "action": "remove", "path": "" }), "blank"),
        ("file", json!({ "action": "write", "path": "/srv/x" }), "content"),
        ("file", json!({ "action": "mkdir", "path": "/srv/x", "mode": null }), "null"),
        ("service", json!({ "action": "edit", "name": "nginx" }), "edit"),
    ] {
        let malformed = read_native(tool, &args.to_string(), ALL).call.unwrap_err();
        assert_eq!(malformed.code, Code::BadArgs, "{tool} {args}");
        assert!(malformed.why.contains(why), "{tool} {args}: {}", malformed.why);
    }
}
