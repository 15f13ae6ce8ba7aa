//! Plans through the whole agent, with a scripted model and a scripted helper: one file of tests/scenarios/plans each.

use crate::common::{Place, Play, completed, ended, refused, unit};
use crate::plans::{asked, post, until_asked, until_ended};
use crate::server::{self, Server};
use crate::tasks::{calls, configure};
use postern_proto::v1::{self, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// A scenario, as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// The behaviour that it holds fast.
    pins: String,
    /// The body of `POST /execute`.
    order: Value,
    /// The helper's answers, in order.
    helper: Vec<Answer>,
    /// The model's calls, in order; without any there is no model.
    #[serde(default)]
    model: Vec<Call>,
    /// The person's answers, in order.
    #[serde(default)]
    person: Vec<Word>,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Done,
    Undoable,
    Failed(String),
    Refused(String),
    Unit(String),
    Content(String),
}

/// A plan, or another call.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Call {
    Plan(Value),
    Call { tool: String, args: Value },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Yes,
    No,
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    status: String,
    /// The helper's rpcs.
    asked: Vec<String>,
    /// How often the model was asked.
    #[serde(default)]
    requests: usize,
    /// Parts of the summary.
    #[serde(default)]
    summary: Vec<String>,
    /// Parts of the warnings.
    #[serde(default)]
    warnings: Vec<String>,
    /// Parts of the last request to the model.
    #[serde(default)]
    told: Vec<String>,
    /// The kinds of the questions.
    #[serde(default)]
    questions: Vec<String>,
    /// The commands of the plan at the end.
    #[serde(default)]
    commands: Vec<String>,
}

fn play(answer: Answer) -> Play {
    let event = match answer {
        Answer::Done => ended(Status::Done, ""),
        Answer::Undoable => {
            let status = Status::Done.into();
            completed(v1::Completed { status, undoable: true, ..v1::Completed::default() })
        }
        Answer::Failed(code) => ended(Status::Failed, &code),
        Answer::Refused(code) => refused(&code),
        Answer::Unit(active) => unit(Status::Done, "nginx.service", &active, "x"),
        Answer::Content(text) => {
            let stream = v1::Stream::Content.into();
            let read = v1::Output { stream, data: text.into_bytes(), truncated: false };
            return Play::Events(vec![v1::event::Kind::Output(read), ended(Status::Done, "")]);
        }
    };
    Play::Events(vec![event])
}

fn reply(call: Call) -> server::Play {
    match call {
        Call::Plan(plan) => calls("plan", &json!({ "plan": plan })),
        Call::Call { tool, args } => calls(&tool, &args),
    }
}

async fn run(scenario: Scenario) -> Result<(), String> {
    let Scenario { pins, mut order, helper, model, person, expect } = scenario;
    let over = server::Play::Answer(400, &[], "the scenario is over".to_owned());
    let has_model = !model.is_empty();
    let server = Server::start(model.into_iter().map(reply).chain([over]).collect()).await;
    let place = Place::new();
    if has_model {
        configure(&place, &server);
    }
    let helper = place.helper(helper.into_iter().map(play).collect());
    place.serve();
    order["wait"] = false.into();
    order["interactive"] = (!person.is_empty()).into();
    let answer = post(&place, "/execute", &order).await;
    let id = answer["id"].as_str().ok_or_else(|| format!("{pins}: {answer}"))?.to_owned();
    let mut questions = Vec::new();
    for (word, number) in person.into_iter().zip(1..) {
        let task = until_asked(&place, &id, number).await;
        questions.push(task["question"]["kind"].as_str().unwrap_or_default().to_owned());
        let body = match word {
            Word::Yes => json!({ "question": number, "answer": "yes" }),
            Word::No => json!({ "question": number, "answer": "no" }),
            Word::Text(text) => json!({ "question": number, "answer": "text", "text": text }),
        };
        post(&place, &format!("/tasks/{id}/answer"), &body).await;
    }
    let task = until_ended(&place, &id).await;
    let told = server.seen().last().map(|seen| seen.body["messages"].to_string()).unwrap_or_default();
    let told = told.replace("\\\\", "\\").replace("\\\"", "\"");
    let summary = task["summary"].as_str().unwrap_or_default();
    let commands = task["plan"]["commands"].as_array().into_iter().flatten();
    let commands: Vec<&str> = commands.filter_map(|step| step["command"].as_str()).collect();
    let mut wrong = Vec::new();
    for (what, is_so) in [
        ("status", task["status"] == expect.status.as_str()),
        ("asked", asked(&helper) == expect.asked),
        ("requests", server.seen().len() == expect.requests),
        ("summary", expect.summary.iter().all(|part| summary.contains(part))),
        ("warnings", expect.warnings.iter().all(|part| task["warnings"].to_string().contains(part))),
        ("told", expect.told.iter().all(|part| told.contains(part))),
        ("questions", questions == expect.questions),
        ("commands", expect.commands.is_empty() || commands == expect.commands),
    ] {
        if !is_so {
            wrong.push(what);
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let rpcs = asked(&helper);
    Err(format!(
        "{pins}: {wrong:?} differ: {rpcs:?}, {questions:?}, {} requests, {task}, {told}",
        server.seen().len()
    ))
}

/// By way of JSON, where a word with a value is an object with one member.
fn read(text: &str) -> Result<Scenario, String> {
    let mut yaml: serde_yaml_ng::Value = serde_yaml_ng::from_str(text).map_err(|e| e.to_string())?;
    yaml.apply_merge().map_err(|e| e.to_string())?;
    let json: Value = serde_yaml_ng::from_value(yaml).map_err(|e| e.to_string())?;
    serde_json::from_value(json).map_err(|e| e.to_string())
}

#[tokio::test]
async fn every_scenario_of_a_plan_ends_as_it_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios/plans");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        count += 1;
        match read(&text) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(scenario) => wrong.extend(run(scenario).await.err().map(|why| format!("{name}: {why}"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 15, "{count} scenarios");
}
