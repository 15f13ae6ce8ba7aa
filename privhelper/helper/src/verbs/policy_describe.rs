//! `policy.describe`: what this client may do.

use crate::audit::Json;
use crate::context::Context;
use crate::error::{Invalid, Stop};
use crate::leave::{Done, Looked};
use crate::policy::{Authorized, Object, Rule, Selector};
use crate::verb::{NoPlan, Verb, Wish};
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;

/// No arguments.
#[derive(Debug)]
pub struct Describe;

impl Verb for Describe {
    type Wire = wire::PolicyDescribeRequest;
    type Plan = NoPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::PolicyDescribe;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        (wire.meta, Ok(Self))
    }

    fn wishes(&self) -> Vec<Wish> {
        vec![(Self::ID, Object::Nothing)]
    }

    fn args(&self) -> Json {
        Json::new()
    }

    fn plan(&self, _: &Context, _: &Authorized<Self>) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context, _: &Authorized<Self>, _: &NoPlan, _: &Looked) -> Result<Done, Stop> {
        let grants = cx.policy.rules_of(cx.peer).map(|rule| grant(rule)).collect();
        let description = Some(wire::Description { client: cx.record.client_name.clone(), grants });
        let status = wire::Status::Done.into();
        Ok(Done {
            completed: wire::Completed { status, description, ..Default::default() },
            undo: Json::new(),
        })
    }
}

/// One rule as its client may know it: no text of the operator's, no word of other clients.
fn grant(rule: &Rule) -> wire::Grant {
    let mut grant = wire::Grant {
        verbs: strings(rule.verbs.iter().map(|verb| verb.name())),
        decision: rule.decision.wire().into(),
        rate: rule.rate.map_or_else(String::new, |rate| format!("{}/{}s", rate.count, rate.window.as_secs())),
        ..wire::Grant::default()
    };
    match &rule.selector {
        Selector::Nothing => {}
        Selector::Packages(patterns) => {
            grant.packages = strings(patterns);
            if rule.verbs.contains(&VerbId::PackageInstall) {
                grant.limits.push(format!("max_new_packages = {}", rule.max_new_packages));
                grant.limits.extend(rule.versions.iter().map(|version| format!("versions = {version}")));
            }
        }
        Selector::Units(patterns) => {
            grant.units = strings(patterns);
            if rule.allow_cascade {
                grant.limits.push("allow_cascade = true".to_owned());
            }
        }
        Selector::Files { directories, depth, files } => {
            grant.directories = strings(directories);
            grant.files = strings(files);
            grant.modes = strings(&rule.modes);
            grant.max_bytes = rule.max_bytes;
            grant.limits.push(format!("depth = {depth}"));
        }
    }
    grant
}

fn strings<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}
