//! What a client is told that it may do.

use crate::common::{CLIENT_UID, World, accept_whole, meta, rule, site_rules, strings, write_request};
use postern_proto::root::v1 as root;
use postern_proto::v1 as wire;

fn world(rules: root::Rules) -> World {
    let mut world = World::new(|_| Vec::new());
    std::fs::write(world.path("state/policy/accepted.pb"), accept_whole(rules)).unwrap();
    world.restart();
    world
}

fn grants(rules: root::Rules) -> Vec<wire::Grant> {
    let request = wire::PolicyDescribeRequest { meta: meta(wire::Mode::Execute) };
    let answer = world(rules).connect(CLIENT_UID).ask("Helper/PolicyDescribe", &request);
    answer.completed().description.clone().unwrap().grants
}

fn command() -> root::Command {
    let parameter = |name: &str, kind: root::ParameterKind| root::Parameter {
        name: name.to_owned(),
        kind: kind.into(),
        ..root::Parameter::default()
    };
    root::Command {
        name: "grow".to_owned(),
        parameters: vec![
            parameter("name", root::ParameterKind::Name),
            parameter("size", root::ParameterKind::Size),
        ],
        argv: strings(&["/usr/sbin/secret-tool", "{name}", "{size}"]),
        ..root::Command::default()
    }
}

#[test]
fn tells_commands_with_their_parameters_and_the_limits_of_every_rule() {
    let params = vec![root::ParameterGrant { name: "size".to_owned(), patterns: strings(&["1*", "2*"]) }];
    let rules = vec![
        root::Rule { commands: strings(&["gr*"]), parameters: params, ..rule("grow", &["command.run"]) },
        root::Rule {
            decision: root::Decision::Ask.into(),
            approvers: 2,
            approval_ttl_s: 900,
            packages: strings(&["nginx*"]),
            sources: strings(&["debian"]),
            allow_removals: true,
            ..rule("web", &["package.upgrade", "request.undo"])
        },
        root::Rule {
            directories: strings(&["/srv/x"]),
            files: strings(&["*"]),
            lines: strings(&["a = *"]),
            validate: "agrees".to_owned(),
            allow_create: false,
            ..rule("files", &["file.patch"])
        },
        root::Rule {
            decision: root::Decision::Deny.into(),
            units: strings(&["ssh.service"]),
            ..rule("never", &["unit.stop"])
        },
    ];
    let grants = grants(root::Rules { rules, commands: vec![command()], ..root::Rules::default() });
    assert_eq!(grants[0].commands, ["grow name=<name such as data-1> size=<size such as 512M: 1*|2*>"]);
    assert_eq!(grants[1].verbs, ["package.upgrade", "request.undo"]);
    assert_eq!(grants[1].decision(), wire::Decision::Ask);
    for limit in [
        "approvers = 2",
        "approval_ttl = 900s",
        "max_new_packages = 50",
        "allow_removals = true",
        "sources = debian",
    ] {
        assert!(grants[1].limits.iter().any(|told| told == limit), "{limit} {:?}", grants[1]);
    }
    for limit in ["depth = 1", "max_files = 20", "allow_create = false", "lines = a = *", "validate = agrees"]
    {
        assert!(grants[2].limits.iter().any(|told| told == limit), "{limit} {:?}", grants[2]);
    }
    assert_eq!(
        (grants[3].decision(), grants[3].limits.len(), grants[3].max_bytes),
        (wire::Decision::Deny, 0, 0)
    );
    // How a command is run is the operator's business.
    assert!(!format!("{grants:?}").contains("secret-tool"));
}

#[test]
fn tells_nothing_of_rules_and_commands_that_do_not_concern_the_client() {
    let other = root::Client { name: "other".to_owned(), user: "root".to_owned(), group: String::new() };
    let of_other = |rule: root::Rule| root::Rule { client: "other".to_owned(), ..rule };
    let rules = vec![
        of_other(root::Rule { commands: strings(&["grow"]), ..rule("grow", &["command.run"]) }),
        of_other(root::Rule { units: strings(&["hidden.service"]), ..rule("hidden", &["unit.stop"]) }),
        root::Rule {
            units: strings(&["own.service"]),
            journal_lines: 20,
            ..rule("own", &["unit.stop", "unit.status"])
        },
    ];
    let rules =
        root::Rules { clients: vec![other], rules, commands: vec![command()], ..root::Rules::default() };
    let grants = grants(rules);
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].units, ["own.service"]);
    assert!(grants[0].limits.iter().any(|limit| limit == "journal_lines = 20"));
    let said = format!("{grants:?}");
    assert!(!said.contains("hidden") && !said.contains("grow"), "{said}");
}

#[test]
fn a_listed_line_and_a_validator_are_limits_of_a_real_write() {
    let world = World::new(|at| {
        site_rules(at).into_iter().map(|rule| root::Rule { lines: strings(&["a = *"]), ..rule }).collect()
    });
    let path = world.text("site/a.html");
    let answer =
        world.connect(CLIENT_UID).ask("Helper/FileWrite", &write_request(&path, b"a = 1\n", "absent"));
    assert_eq!(answer.completed().status(), wire::Status::Done);
    let answer =
        world.connect(CLIENT_UID).ask("Helper/FileWrite", &write_request(&path, b"a = 1\nsecret\n", "any"));
    assert_eq!(answer.refused().code, "limit_exceeded");
    assert!(!answer.refused().message.contains("secret"));
    assert_eq!(std::fs::read(&path).unwrap(), b"a = 1\n");

    let world = World::new(|at| {
        site_rules(at).into_iter().map(|rule| root::Rule { validate: "agrees".to_owned(), ..rule }).collect()
    });
    let path = world.text("site/a.html");
    let answer = world.connect(CLIENT_UID).ask("Helper/FileWrite", &write_request(&path, b"a", "absent"));
    assert_eq!(answer.refused().code, "unsupported");
    assert!(!std::path::Path::new(&path).exists());
}
