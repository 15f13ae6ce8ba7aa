//! kill -9 of recorder, postern-files and postern-units in the middle of orders: nothing is doubled, nothing is
//! unrecorded, and no file is half written.

use postern_corridor::{
    CLIENT_UID, Processes, World, changing, eventually, meta, names, rule, strings, write_request,
};
use postern_policy::types::Digest;
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Kills of each program.
const KILLS: u64 = 10;

/// What became of a request, asked for until somebody knows.
fn settled(processes: &Processes, id: &str, answer: &postern_corridor::Answer) -> wire::Completed {
    let mut last = answer.events.last().and_then(|event| event.kind.clone());
    for _ in 0..400 {
        match last {
            Some(Kind::Completed(completed)) if completed.code != "timeout" => return completed,
            Some(Kind::Refused(refused)) if refused.code == "unknown_request" => {
                return wire::Completed {
                    status: Status::Failed.into(),
                    code: refused.code,
                    ..Default::default()
                };
            }
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
        let asked = wire::RequestResultRequest { meta: meta(Mode::Execute), of: id.to_owned() };
        let answer = processes.connect(CLIENT_UID).ask("Helper/RequestResult", &asked);
        last = answer.events.last().and_then(|event| event.kind.clone());
    }
    panic!("nobody knows what became of {id}");
}

/// Checks the chain, and that each request that began ended once; returns the events of each request.
fn checked(lines: &[String]) -> HashMap<String, Vec<String>> {
    let mut prev = Digest::ZERO.to_string();
    let mut events = HashMap::<String, Vec<String>>::new();
    for line in lines {
        // A line that a kill tore stays, and is recorded as torn.
        let Some((signed, hash)) = line.rsplit_once(",\"hash\":\"") else { continue };
        assert!(signed.ends_with(&format!(",\"prev\":\"{prev}\"")), "{line}");
        assert_eq!(hash, format!("{}\"}}", Digest::of(&[signed.as_bytes()])), "{line}");
        hash.trim_end_matches("\"}").clone_into(&mut prev);
        let record: Value = serde_json::from_str(line).unwrap();
        let event = record["event"].as_str().unwrap().to_owned();
        if ["begin", "end", "interrupted"].contains(&event.as_str()) {
            events.entry(record["request_id"].as_str().unwrap().to_owned()).or_default().push(event);
        }
    }
    events
}

fn has_all_ends(lines: &[String]) -> bool {
    checked(lines).values().all(|events| events.len() == 2)
}

/// Kills the programs in turn until the work is done.
fn killing(processes: &Processes, programs: &[usize], work: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                // Neither in step with the requests nor with each other.
                std::thread::sleep(Duration::from_millis(11 + round * 37 % 83));
                if is_over.load(Ordering::Relaxed) || round >= KILLS * programs.len() as u64 {
                    return;
                }
                processes.kill(programs[usize::try_from(round).unwrap() % programs.len()]);
            }
        });
        work();
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn kills_leave_every_write_whole_once_and_recorded() {
    let world = World::new(|at| vec![changing(at)]);
    let processes = Processes::new(env!("CARGO_BIN_EXE_corridor-program"), world);
    let world = &processes.world;
    let mut outcomes = Vec::new();
    killing(&processes, &[0, 1], || {
        for number in 0..40 {
            let path = world.text(&format!("site/{number}"));
            let request = write_request(&path, format!("content of {number}").as_bytes(), "absent");
            let id = request.meta.as_ref().unwrap().request_id.clone();
            let answer = processes.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
            outcomes.push((number, id.clone(), settled(&processes, &id, &answer)));
        }
    });
    eventually("every begin has its end", || has_all_ends(&processes.log()));
    let events = checked(&processes.log());
    let mut done = 0;
    for (number, id, completed) in outcomes {
        let content = fs::read_to_string(world.path(&format!("site/{number}"))).ok();
        let whole = format!("content of {number}");
        if completed.status() == Status::Done {
            done += 1;
            assert_eq!(content.as_ref(), Some(&whole), "{id}");
            assert_eq!(events[&id], ["begin", "end"]);
        } else if !events.contains_key(&id) {
            assert_eq!(content, None, "{id} is not recorded: {completed:?}");
        }
        assert!(content.is_none_or(|content| content == whole), "{id}");
    }
    assert!(done > 5, "only {done} were done");
    // The next start of postern-files takes up what was under way.
    processes.kill(1);
    let request = write_request(&world.text("site/last"), b"x", "any");
    processes.connect(CLIENT_UID).ask("Helper/FileWrite", &request);
    let left =
        names(&world.path("site")).into_iter().filter(|name| name.starts_with('.')).collect::<Vec<_>>();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn kills_change_no_unit_twice_and_lose_no_record() {
    let world =
        World::new(|_| vec![root::Rule { units: strings(&["a@*.service"]), ..rule("a", &["unit.restart"]) }]);
    world.systemctl(&format!(
        "for unit; do :; done
         case $1 in show) printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=active\\n' $unit $unit;;
         restart) echo $unit >>{}/restarts;; esac",
        world.text("")
    ));
    let processes = Processes::new(env!("CARGO_BIN_EXE_corridor-program"), world);
    let mut outcomes = Vec::new();
    killing(&processes, &[0, 2], || {
        for number in 0..30 {
            let unit = format!("a@{number}.service");
            let request = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: unit.clone() };
            let id = request.meta.as_ref().unwrap().request_id.clone();
            let answer = processes.connect(CLIENT_UID).ask("Helper/UnitRestart", &request);
            outcomes.push((unit, id.clone(), settled(&processes, &id, &answer)));
        }
    });
    eventually("every begin has its end", || has_all_ends(&processes.log()));
    let events = checked(&processes.log());
    let restarts = fs::read_to_string(processes.world.path("restarts")).unwrap_or_default();
    let mut done = 0;
    for (unit, id, completed) in outcomes {
        let count = restarts.lines().filter(|line| *line == unit).count();
        assert!(count <= 1, "{unit} was restarted {count} times");
        if completed.status() == Status::Done {
            done += 1;
            assert_eq!((count, events[&id].as_slice()), (1, &["begin".to_owned(), "end".to_owned()][..]));
        }
        assert!(count == 0 || events.contains_key(&id), "{unit} was restarted and is not recorded");
    }
    assert!(done > 5, "only {done} were done");
}
