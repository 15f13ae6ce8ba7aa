//! What `systemctl show` says of units. Text in, data out.

use postern_policy::facts::UnitState;

/// The properties that are asked for.
pub const PROPERTIES: &str = "--property=Id,Names,LoadState,ActiveState,SubState,UnitFileState,Result,MainPID,\
StateChangeTimestamp,MemoryCurrent,ExecMainStatus,InvocationID,RequiredBy,BoundBy,ConsistsOf,PropagatesStopTo,Conflicts,ConflictedBy";

/// One unit with its neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its state.
    pub state: UnitState,
    /// Units that stop when it stops.
    pub stop_with: Vec<String>,
    /// Units that stop when it starts.
    pub conflicts: Vec<String>,
}

/// Reads the blocks of `Key=value` lines that `systemctl show` prints, one a unit.
#[must_use]
pub fn parse(text: &str) -> Vec<Shown> {
    text.split("\n\n").filter(|block| !block.trim().is_empty()).map(block).collect()
}

fn block(text: &str) -> Shown {
    let mut shown = Shown::default();
    let list = |value: &str| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let state = &mut shown.state;
        match key {
            "Id" => value.clone_into(&mut state.id),
            "Names" => state.names = list(value),
            "LoadState" => value.clone_into(&mut state.load),
            "ActiveState" => value.clone_into(&mut state.active),
            "SubState" => value.clone_into(&mut state.sub),
            "UnitFileState" => value.clone_into(&mut state.enabled),
            "Result" => value.clone_into(&mut state.result),
            "MainPID" => state.main_pid = value.parse().unwrap_or(0),
            "StateChangeTimestamp" => {
                let seconds: u64 = value.strip_prefix('@').and_then(|unix| unix.parse().ok()).unwrap_or(0);
                state.since_unix_us = seconds.saturating_mul(1_000_000);
            }
            // Not known is `[not set]`, or the largest number there is.
            "MemoryCurrent" => {
                state.memory_bytes = value.parse().ok().filter(|bytes| *bytes != u64::MAX).unwrap_or(0);
            }
            "ExecMainStatus" => state.exit_status = value.parse().unwrap_or(0),
            "InvocationID" => value.clone_into(&mut state.invocation),
            "RequiredBy" | "BoundBy" | "ConsistsOf" | "PropagatesStopTo" => {
                shown.stop_with.extend(list(value));
            }
            // Every unit conflicts with these, which start only when the host goes down.
            "Conflicts" | "ConflictedBy" => {
                let others = list(value)
                    .into_iter()
                    .filter(|name| name != "shutdown.target" && name != "umount.target");
                shown.conflicts.extend(others);
            }
            _ => {}
        }
    }
    shown.stop_with.sort();
    shown.stop_with.dedup();
    shown.conflicts.sort();
    shown.conflicts.dedup();
    shown
}
