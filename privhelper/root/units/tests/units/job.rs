//! Package transactions in units of their own: started once, found again after a crash, forgotten when acknowledged.

use crate::support::{AGENT, World, hex, rule};
use postern_proto::root::v1::{Decision, Order, Outcome, RootExecute, Rule};
use postern_proto::v1::event::Kind;
use postern_proto::v1::{Completed, Package, PackageInstallRequest, Status, Stream};
use prost::Message;

fn world() -> (World, Order) {
    let rule = Rule {
        packages: vec!["hello".to_owned()],
        max_new_packages: 50,
        ..rule("packages", Decision::Allow, &["package.install"], &[])
    };
    let world = World::new(vec![rule], Vec::new());
    let packages = vec![Package { name: "hello".to_owned(), version: String::new() }];
    let body = PackageInstallRequest { meta: None, packages }.encode_to_vec();
    let order = world.order(AGENT, "package.install", body, None);
    (world, order)
}

fn directory(world: &World, order: &Order) -> std::path::PathBuf {
    let id = hex(order);
    world.host.root.state.join("jobs").join(id)
}

/// The outcome that the job's program would write, in the job's directory when its unit starts.
fn writes_outcome(world: &World, order: &Order) {
    let completed = Completed { status: Status::Done.into(), ..Completed::default() };
    let outcome =
        Outcome { verb: "package.install".to_owned(), completed: Some(completed), ..Outcome::default() };
    std::fs::write(world.path("outcome.pb"), outcome.encode_to_vec()).unwrap();
    let to = directory(world, order);
    world.act(&format!("cp {} {}/outcome.pb", world.path("outcome.pb").display(), to.display()));
}

#[test]
fn starts_the_unit_of_the_order_and_answers_with_the_outcome_of_the_job() {
    let (world, order) = world();
    writes_outcome(&world, &order);
    let reply = world.execute(&order);
    assert_eq!(reply.outcome().completed.as_ref().unwrap().status(), Status::Done);
    let id = hex(&order);
    assert_eq!(world.acts(), [format!("start --no-ask-password --quiet -- postern-packages@{id}.service")]);
    let record = std::fs::read(directory(&world, &order).join("order.pb")).unwrap();
    assert_eq!(RootExecute::decode(record.as_slice()).unwrap().order, order.encode_to_vec());
}

#[test]
fn passes_progress_on_while_the_job_runs_as_it_was_written() {
    let (world, order) = world();
    writes_outcome(&world, &order);
    let act = std::fs::read_to_string(world.path("act.sh")).unwrap();
    let status = directory(&world, &order).join("status");
    world.act(&format!("printf 'pmstatus:a:1:b\\nhalf a line' >{}; {act}", status.display()));
    let sent = world.execute(&order).events.into_iter().map(|event| {
        let Kind::Output(output) = event else { panic!("{event:?}") };
        assert_eq!(output.stream(), Stream::Unspecified);
        output.data
    });
    assert_eq!(sent.collect::<Vec<_>>().concat(), b"pmstatus:a:1:b\nhalf a line");
}

#[test]
fn starts_an_order_once() {
    let (world, order) = world();
    writes_outcome(&world, &order);
    world.execute(&order);
    assert_eq!(world.execute(&order).code(), "request_id_conflict");
    assert_eq!(world.acts().len(), 1);
}

#[test]
fn tells_what_became_of_an_order_until_it_is_acknowledged() {
    let (world, order) = world();
    assert_eq!(world.outcomes(&order).state, "unknown");
    writes_outcome(&world, &order);
    world.execute(&order);
    let reply = world.outcomes(&order);
    assert_eq!(reply.state, "ended");
    assert_eq!(Outcome::decode(reply.outcome.as_slice()).unwrap().verb, "package.install");
    world.acknowledge(&order);
    assert_eq!(world.outcomes(&order).state, "unknown");
    assert!(!directory(&world, &order).exists());
}

#[test]
fn a_job_that_ended_without_an_outcome_is_interrupted() {
    let (world, order) = world();
    world.act("printf 'Result=success\\n' >\"$here/units/$unit\"");
    let completed = world.execute(&order).outcome().completed.clone().unwrap();
    assert_eq!((completed.status(), completed.code.as_str()), (Status::Interrupted, "interrupted"));
    assert_eq!(completed.rule, "packages");
}

#[test]
fn waits_for_a_job_that_outlives_its_systemctl() {
    let (world, order) = world();
    writes_outcome(&world, &order);
    let act = std::fs::read_to_string(world.path("act.sh")).unwrap();
    world.act(&format!(
        "printf 'ActiveState=activating\\n' >\"$here/units/$unit\"; \
         (sleep 0.3; {act}; printf 'ActiveState=inactive\\n' >\"$here/units/$unit\") >/dev/null 2>&1 & exit 1"
    ));
    assert_eq!(world.execute(&order).outcome().completed.as_ref().unwrap().status(), Status::Done);
}

#[test]
fn an_error_while_a_job_runs_is_no_refusal_and_its_outcome_is_found_later() {
    let (world, order) = world();
    writes_outcome(&world, &order);
    let act = std::fs::read_to_string(world.path("act.sh")).unwrap();
    world.act(&format!("mv \"$here/systemctl\" \"$here/away\"; {act}"));
    let reply = world.execute(&order);
    assert!(reply.outcome.is_none() && reply.close.is_none(), "{reply:?}");
    std::fs::rename(world.path("away"), world.path("systemctl")).unwrap();
    assert_eq!(world.outcomes(&order).state, "ended");
}
