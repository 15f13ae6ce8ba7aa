//! `doctor`: what works, and what mends the rest.

use super::session::Session;
use crate::client::agent::AgentClient;
use crate::client::helper::Helper;
use crate::client::pending_request::AttemptError;
use crate::client::transport::Transport;
use crate::inspect::doctor::{Check, State, groups, host};
use crate::protocol::args::Nothing;
use crate::protocol::event::Event;
use crate::protocol::exit::Exit;
use crate::protocol::mode::Mode;
use crate::protocol::request::Request;
use crate::service;
use crate::shell_policy::Rules;
use hyper::Method;
use serde_json::{Value, json};
use std::io::ErrorKind;

impl Session<'_> {
    pub(super) async fn doctor(&mut self) -> Exit {
        let mut checks = vec![groups::check()];
        let direct = Transport::Helper(Helper::new(&self.host.helper_socket));
        let (health, helper) = if self.global.direct {
            (None, Some(service::probe(&direct).await))
        } else {
            let (agent, health) = self.agent_check().await;
            checks.push(agent);
            let helper = health.as_ref().and_then(|health| health["helper"].as_str()).map(str::to_owned);
            (health, helper)
        };
        let is_reached = helper.is_some();
        checks.push(helper_check(helper.as_deref()));
        let is_there = helper.as_deref() == Some("ok");
        checks.push(if is_there { self.policy_check().await } else { unasked("policy", is_reached) });
        checks.push(model_check(health.as_ref()));
        checks.push(self.rules_check());
        checks.extend(host::checks(&self.host.system));
        self.report(&checks, is_there)
    }

    async fn agent_check(&self) -> (Check, Option<Value>) {
        const NAME: &str = "agent";
        let agent = AgentClient::new(&self.host.agent_socket);
        let check = match agent.call(Method::GET, "/health", None).await {
            Ok(answer) => {
                let check = match answer.body["agent"].as_str() {
                    Some("ok") => Check::ok(NAME, format!("answers at {}", agent.path().display())),
                    Some(why) => {
                        let mend = "postern config check   # as root; then systemctl restart postern-agent";
                        Check::wrong(NAME, why, mend)
                    }
                    None => Check::wrong(NAME, "does not tell its health", "systemctl restart postern-agent"),
                };
                return (check, Some(answer.body));
            }
            Err(lost) => {
                let mend = match &lost {
                    AttemptError::Closed(ErrorKind::PermissionDenied, _) => "see groups",
                    AttemptError::Closed(ErrorKind::NotFound, _) => {
                        "systemctl enable --now postern-agent.socket"
                    }
                    AttemptError::Closed(..) => "systemctl restart postern-agent.socket",
                    AttemptError::Midway(_) => "systemctl restart postern-agent",
                };
                Check::wrong(NAME, lost.explain("agent", agent.path(), "postern-users"), mend)
            }
        };
        (check, None)
    }

    /// The policy in force, as the one who asks the helper may know it.
    async fn policy_check(&self) -> Check {
        const NAME: &str = "policy";
        let apply = "postern-admin policy check && postern-admin policy apply   # as root";
        let ask = self.prepare(Request::PolicyDescribe(Nothing {}), Mode::Execute);
        match self.transport().ask(&ask, &mut |_| {}).await.end {
            Event::Completed(done) => match &done.description {
                Some(found) if found.grants.is_empty() => {
                    Check::wrong(NAME, format!("grants nothing to {}", found.client), apply)
                }
                Some(found) => {
                    let (count, client) = (found.grants.len(), &found.client);
                    Check::ok(NAME, format!("in force, with {count} rules for {client}: postern can"))
                }
                None => Check::unknown(NAME, "the helper does not describe it"),
            },
            Event::Refused(refused) => {
                Check::wrong(NAME, format!("{}: {}", refused.code, refused.message), apply)
            }
            Event::Error(fault) => Check::wrong(NAME, format!("{}: {}", fault.code, fault.message), apply),
            Event::Accepted(_) | Event::Waiting(_) | Event::Progress(_) | Event::Output(_) => {
                Check::unknown(NAME, "the helper does not describe it")
            }
        }
    }

    /// The rules for the agent's own commands: with a wrong file none runs.
    fn rules_check(&self) -> Check {
        const NAME: &str = "rules";
        let path = self.host.shell_rules();
        if std::fs::File::open(&path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            return Check::unknown(NAME, format!("{} is not for this user to read", path.display()));
        }
        match Rules::load(&path) {
            Ok(rules) => {
                Check::ok(NAME, format!("{} rules for commands: postern shell rules", rules.count()))
            }
            Err(why) => Check::wrong(
                NAME,
                why,
                "postern config check   # as root; then systemctl restart postern-agent",
            ),
        }
    }

    fn report(&mut self, checks: &[Check], is_there: bool) -> Exit {
        let is_wrong = checks.iter().any(|check| check.state == State::Wrong);
        if self.global.json.is_some() {
            self.console.json(&json!({ "checks": checks }));
        } else {
            for check in checks {
                let word = match check.state {
                    State::Ok => "ok",
                    State::Wrong => "wrong",
                    State::Unknown => "?",
                };
                self.console.result(&format!("{:<9} {word:<6} {}\n", check.check, check.detail));
                if let Some(mend) = &check.mend {
                    self.console.result(&format!("{:>16} {mend}\n", "->"));
                }
            }
        }
        match (is_wrong, is_there) {
            (_, false) => Exit::Unreachable,
            (true, true) => Exit::Failed,
            (false, true) => Exit::Done,
        }
    }
}

fn helper_check(helper: Option<&str>) -> Check {
    const NAME: &str = "helper";
    match helper {
        Some("ok") => Check::ok(NAME, "decides"),
        Some(why) if why.starts_with("unreachable") || why.starts_with("no answer") => {
            Check::wrong(NAME, why, "systemctl restart postern-helper.socket postern-broker.service")
        }
        Some(why) if why.starts_with("audit_unavailable") => {
            Check::wrong(NAME, why, "df /var/log/postern; journalctl -u postern-audit")
        }
        Some(why) => Check::wrong(NAME, why, "journalctl -u postern-broker; postern-admin status"),
        None => unasked(NAME, false),
    }
}

fn model_check(health: Option<&Value>) -> Check {
    const NAME: &str = "model";
    match health.map(|health| health["llm"].as_str().unwrap_or_default()) {
        None => unasked(NAME, false),
        Some("ok") => Check::ok(NAME, "answers"),
        Some("off") => Check::ok(NAME, "none is configured: plain orders are understood"),
        Some(why) => {
            Check::wrong(NAME, why, "postern model test   # as root; then [model] in /etc/postern/agent.toml")
        }
    }
}

fn unasked(check: &'static str, is_reached: bool) -> Check {
    Check::unknown(
        check,
        if is_reached { "the helper does not work" } else { "nobody to ask before the agent answers" },
    )
}
