//! Fills the agent's database with tasks, steps and requests.

use rusqlite::{Connection, params};
use serde_json::json;

/// An id of version 7 that was made at this millisecond.
fn id(number: u64, kind: u16) -> String {
    let time = uuid::Timestamp::from_unix_time(1_790_000_000 + number, 0, 0, 0);
    let mut bytes = *uuid::Uuid::new_v7(time).as_bytes();
    bytes[6..8].copy_from_slice(&(0x7000 | kind).to_be_bytes());
    bytes[8..].copy_from_slice(&(0x8000_0000_0000_0000 | number).to_be_bytes());
    uuid::Uuid::from_bytes(bytes).to_string()
}

/// Fills a store with tasks of so many steps each, in the order that `place` gives them.
pub fn fill(sql: &mut Connection, owner: &str, tasks: u64, steps: u64, order: impl Fn(u64) -> u64) {
    let sql = sql.transaction().unwrap();
    for task in (0..tasks).map(order) {
        let task_id = id(task, 1);
        let (status, verb) = if task % 3 == 0 { ("refused", "stop") } else { ("completed", "restart") };
        let unit = format!("unit-{}.service", task % 7);
        let changes = match status {
            "completed" => {
                json!([{ "request_id": id(task, 2), "verb": "unit.restart", "target": unit, "undo": null }])
            }
            _ => json!([]),
        };
        let record = json!({
            "id": task_id, "session": "", "task": format!("{verb} {unit}"), "status": status, "summary": "as it ended",
            "results": [], "changes": changes, "warnings": [], "usage": {},
        });
        sql.execute(
            "INSERT INTO tasks (id, owner, session, status, ordered, record) VALUES (?, ?, '', ?, '{}', ?)",
            params![task_id, owner, status, record.to_string()],
        )
        .unwrap();
        let seq = sql.last_insert_rowid();
        for step in 0..steps {
            let number = task * steps + step;
            let (code, decision) = match number % 5 {
                0 if status == "refused" => ("no_grant", ""),
                1 => ("", "ask"),
                _ => ("", "allow"),
            };
            let mut result = json!({
                "step": step + 1, "tool": "service", "args": { "action": verb, "name": unit }, "status": "ok", "exit_code": 0,
                "stdout": "x".repeat(400),
            });
            if code == "no_grant" {
                result["status"] = "refused".into();
                result["error"] = "no_grant: the policy grants nothing of the kind".into();
            }
            sql.execute(
                "INSERT INTO steps (task, number, result) VALUES (?, ?, ?)",
                params![seq, i64::try_from(step).unwrap(), result.to_string()],
            )
            .unwrap();
            let kept = "INSERT INTO requests
                (id, owner, is_undo, is_effect, state, task, step, verb, target, code, decision, rule, took_ms, waited_ms)
                VALUES (?, ?, 0, 1, 'done', ?, ?, ?, ?, ?, ?, 'web', ?, ?)";
            let took = (code.is_empty()).then_some(i64::try_from(number * 7919 % 10_007).unwrap());
            sql.execute(
                kept,
                params![
                    id(number, 3),
                    owner,
                    seq,
                    i64::try_from(step + 1).unwrap(),
                    format!("unit.{verb}"),
                    unit,
                    code,
                    decision,
                    took,
                    took.map(|took| if decision == "ask" { took / 2 } else { 0 })
                ],
            )
            .unwrap();
        }
    }
    sql.commit().unwrap();
}

/// This user as an owner.
pub fn own() -> String {
    format!("{{\"uid\":{}}}", nix::unistd::getuid().as_raw())
}
