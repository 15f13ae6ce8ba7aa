//! Reads the record once and groups it.

use super::groups::{Ids, percentile};
use super::report::{
    ENTRY_LIMIT, FailingTasks, Insights, MissingGrant, REPEATED, RepeatedApproval, RepeatedTask, StepTimes,
};
use crate::protocol::owner::Owner;
use crate::protocol::step::StepResult;
use crate::protocol::task::{Task, TaskStatus};
use crate::protocol::tool_request::request;
use crate::store::{RequestRow, Store, TaskRow, word};
use std::collections::{BTreeMap, BTreeSet};

/// Codes of refusals that a person or a deny rule decided.
const DENIED: [&str; 3] = ["not_approved", "denied_recently", "denied"];
/// Characters of a summary and of an order that are shown.
const TEXT_LIMIT: usize = 200;

/// The groups of one kind, by verb and target.
type ByRequest<T> = BTreeMap<(String, String), T>;

/// Groups of the requests and tasks that were read so far.
#[derive(Default)]
struct Gathered {
    tasks: usize,
    /// By status, cause and step.
    failing: BTreeMap<(String, String, String), (Ids, Option<FailingTasks>)>,
    missing: ByRequest<Ids>,
    /// With the rule of the newest one.
    approved: ByRequest<(Ids, String)>,
    denied: BTreeSet<(String, String)>,
    /// Times of work and of waits.
    times: BTreeMap<String, (Vec<u64>, Vec<u64>)>,
    /// By what they changed: with the words of the newest one.
    done: BTreeMap<Vec<String>, (Ids, String)>,
}

/// Reports on what somebody may see of the record since a time.
///
/// # Errors
/// The record cannot be read.
pub fn gather(store: &Store, who: Owner, since_unix_s: Option<u64>) -> Result<Insights, String> {
    let is_since =
        |id: &str| since_unix_s.is_none_or(|since| made_unix_s(id).is_some_and(|made| made >= since));
    let mut all = Gathered::default();
    store.each_request(who, |request| {
        // A denial counts whenever and to whomever it was said.
        if DENIED.contains(&&*request.code) {
            all.denied.insert((request.verb, request.target));
        } else if request.is_visible && is_since(&request.id) && !request.verb.is_empty() {
            all.request(request);
        }
    })?;
    store.each_ended_task(who, |row| {
        if is_since(&row.task.id) {
            all.task(row);
        }
    })?;
    Ok(all.report(since_unix_s))
}

impl Gathered {
    fn request(&mut self, row: RequestRow) {
        let RequestRow { id, verb, target, code, decision, rule, took_ms, .. } = row;
        if let Some((work, waited)) = took_ms {
            let (works, waits) = self.times.entry(verb.clone()).or_default();
            works.push(work);
            waits.extend((waited > 0).then_some(waited));
        }
        if code == "no_grant" {
            self.missing.entry((verb, target)).or_default().add(id);
        } else if decision == "ask" {
            let (ids, newest) = self.approved.entry((verb, target)).or_default();
            if ids.add(id) {
                *newest = rule;
            }
        }
    }

    fn task(&mut self, TaskRow { task, commands }: TaskRow) {
        self.tasks += 1;
        for (kind, took) in commands {
            self.times.entry(kind).or_default().0.push(took);
        }
        match task.status {
            TaskStatus::Completed => self.completed(&task),
            TaskStatus::Partial
            | TaskStatus::Failed
            | TaskStatus::Refused
            | TaskStatus::OutOfBudget
            | TaskStatus::NeedsPerson => self.failed(&task),
            // Its person ended it.
            TaskStatus::Cancelled | TaskStatus::Queued | TaskStatus::Running | TaskStatus::Waiting => {}
        }
    }

    fn failed(&mut self, task: &Task) {
        let (cause, step) = cause(task);
        let (ids, newest) = self.failing.entry((word(task.status), cause.clone(), step.clone())).or_default();
        if ids.add(task.id.clone()) {
            *newest = Some(FailingTasks {
                status: task.status,
                next: next(&cause, &task.id),
                cause,
                step,
                count: 0,
                task: task.id.clone(),
                summary: shortened(&task.summary),
            });
        }
    }

    fn completed(&mut self, task: &Task) {
        if task.changes.is_empty() || task.runbook.is_some() {
            return;
        }
        let changes = task.changes.iter().map(|change| format!("{} {}", change.verb, change.target));
        let changes = changes.map(|change| change.trim_end().to_owned()).collect();
        let (ids, words) = self.done.entry(changes).or_default();
        if ids.add(task.id.clone()) {
            *words = shortened(&task.task);
        }
    }

    fn report(self, since_unix_s: Option<u64>) -> Insights {
        let mut left_out = 0;
        let Self { tasks, failing, missing, approved, denied, times, done } = self;
        let failing = failing
            .into_values()
            .filter_map(|(ids, newest)| newest.map(|newest| FailingTasks { count: ids.count(), ..newest }));
        let is_denied = |key: &(String, String)| denied.contains(key);
        let missing = missing.into_iter().filter(|(key, _)| !is_denied(key)).map(|((verb, target), ids)| {
            let next = format!("postern-admin policy suggest --request {}", ids.newest());
            MissingGrant { verb, target, count: ids.count(), request_ids: ids.list(), next }
        });
        let approved =
            approved.into_iter().filter(|(key, (ids, _))| !is_denied(key) && ids.count() >= REPEATED);
        let approved = approved.map(|((verb, target), (ids, rule))| approval(verb, target, &ids, rule));
        let done = done.into_iter().filter(|(_, (ids, _))| ids.count() >= REPEATED);
        let done = done.map(|(changes, (ids, words))| RepeatedTask {
            task: ids.newest().to_owned(),
            words,
            count: ids.count(),
            changes,
            next: format!("postern runbook from-task {}", ids.newest()),
        });
        Insights {
            version: 1,
            since_unix_s,
            tasks,
            failing_tasks: most(failing.collect(), |one| one.count, &mut left_out),
            missing_grants: most(missing.collect(), |one| one.count, &mut left_out),
            slow_steps: most(times.into_iter().map(step_times).collect(), |one| one.p90_ms, &mut left_out),
            repeated_approvals: most(approved.collect(), |one| one.count, &mut left_out),
            repeated_tasks: most(done.collect(), |one| one.count, &mut left_out),
            left_out,
        }
    }
}

/// The entries with the most first, no more than the limit. Those with the same number keep their order.
fn most<T, N: Ord>(mut all: Vec<T>, number: impl Fn(&T) -> N, left_out: &mut usize) -> Vec<T> {
    all.sort_by_key(|one| std::cmp::Reverse(number(one)));
    *left_out += all.len().saturating_sub(ENTRY_LIMIT);
    all.truncate(ENTRY_LIMIT);
    all
}

fn approval(verb: String, target: String, ids: &Ids, rule: String) -> RepeatedApproval {
    let no_rule = match &*verb {
        "file.write" | "file.patch" => {
            "each content was read before it was approved, and a rule knows no content"
        }
        _ => "",
    };
    let next = format!("postern-admin policy suggest --approved {}", ids.count());
    let next = if no_rule.is_empty() { next } else { String::new() };
    let (count, request_ids) = (ids.count(), ids.list());
    RepeatedApproval { verb, target, rule, count, request_ids, no_rule: no_rule.to_owned(), next }
}

fn step_times((kind, (mut works, mut waits)): (String, (Vec<u64>, Vec<u64>))) -> StepTimes {
    works.sort_unstable();
    waits.sort_unstable();
    StepTimes {
        kind,
        count: works.len(),
        median_ms: percentile(&works, 50),
        p90_ms: percentile(&works, 90),
        max_ms: percentile(&works, 100),
        waits: waits.len(),
        median_wait_ms: percentile(&waits, 50),
    }
}

/// Why a task did not complete: the code and the kind of the step that decided.
fn cause(task: &Task) -> (String, String) {
    if task.is_interrupted() {
        return ("interrupted".to_owned(), String::new());
    }
    let not_made = task.not_done().first().copied();
    let failed = || task.results.iter().find(|result| !result.code().is_empty());
    match not_made.or_else(failed) {
        Some(result) => (result.code().to_owned(), kind(result)),
        None => ("none".to_owned(), String::new()),
    }
}

/// The verb of a step, or the name of the agent's own tool.
fn kind(result: &StepResult) -> String {
    request(&result.tool).map_or_else(|| result.tool.name(), |request| request.verb().to_owned())
}

/// The command to go on with.
fn next(cause: &str, task: &str) -> String {
    match cause {
        "interrupted" => format!("postern tasks resume {task}"),
        "no_grant" => format!("postern-admin policy suggest --task {task}"),
        code if DENIED.contains(&code) => format!("postern-admin audit show --task {task}"),
        "approval_expired" => "postern-admin watch".to_owned(),
        "unreachable" => "postern doctor".to_owned(),
        _ => format!("postern tasks show {task}"),
    }
}

/// The first line of a text, bounded.
fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// When an id of version 7 was made.
fn made_unix_s(id: &str) -> Option<u64> {
    Some(uuid::Uuid::parse_str(id).ok()?.get_timestamp()?.to_unix().0)
}
