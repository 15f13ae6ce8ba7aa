//! Plans as the client and the audit log see them.

use crate::audit::Json;
use crate::context::Context;
use crate::verb::Planned;
use postern_policy::facts::{Origin, PackageStep, PackageTransaction, UnitFacts, UnitState};
use postern_policy::types::PackageName;
use postern_policy::{Consent, Facts};
use postern_proto::v1 as wire;

impl Planned for PackageTransaction {
    fn facts(&self) -> Facts {
        Facts::Packages(self.clone())
    }

    fn wire(&self, _: &Context, _: Consent) -> wire::Plan {
        wire::Plan {
            packages: self.steps.iter().map(PackageStep::wire).collect(),
            download_bytes: self.download_bytes,
            disk_bytes: self.disk_bytes,
            kept_back: self.kept_back.iter().map(ToString::to_string).collect(),
            ..wire::Plan::default()
        }
    }

    fn json(&self) -> Json {
        let steps = self.steps.iter().map(|step| {
            let json = Json::new().text("action", step.action.done()).text("name", step.name.as_str());
            json.text("arch", &step.arch)
                .text("old", &step.old)
                .text("new", &step.new)
                .texts(
                    "sources",
                    step.sources.iter().map(Origin::to_string).collect::<Vec<_>>().iter().map(String::as_str),
                )
                .flag("asked", step.asked)
        });
        let kept_back = self.kept_back.iter().map(PackageName::as_str);
        Json::new().objects("packages", steps).texts("kept_back", kept_back)
    }

    fn text(&self) -> Vec<u8> {
        let step = |step: &PackageStep| {
            let asked = if step.asked { "asked for" } else { "comes along" };
            let (name, arch, old, new) = (&step.name, &step.arch, or_none(&step.old), or_none(&step.new));
            let from =
                step.sources.iter().map(|source| format!(", from {source}")).collect::<Vec<_>>().concat();
            format!("{name} ({arch}) is {}: {old} -> {new}, {asked}{from}\n", step.action.done())
        };
        let kept_back = self.kept_back.iter().map(|name| format!("{name} is left as it is\n"));
        let (download, disk) = (self.download_bytes, self.disk_bytes);
        let steps = self.steps.iter().map(step).collect::<String>();
        let kept_back = kept_back.collect::<String>();
        format!("{steps}{kept_back}fetches {download} bytes, takes {disk} bytes of disk\n").into_bytes()
    }
}

fn or_none(version: &str) -> &str {
    if version.is_empty() { "none" } else { version }
}

impl Planned for UnitFacts {
    fn facts(&self) -> Facts {
        Facts::Unit(Box::new(self.clone()))
    }

    fn wire(&self, cx: &Context, consent: Consent) -> wire::Plan {
        let units = cx.policy.visible_steps(&cx.who, self, consent);
        wire::Plan { units, ..wire::Plan::default() }
    }

    fn json(&self) -> Json {
        let step = |(verb, unit, cause): (&str, &UnitState, &str)| {
            let json = Json::new().text("id", &unit.id).text("verb", verb);
            json.text("active", &unit.active)
                .text("enabled", &unit.enabled)
                .flag("cascade", !cause.is_empty())
        };
        Json::new().objects("units", steps(self).map(step))
    }

    fn text(&self) -> Vec<u8> {
        let step = |(verb, unit, cause): (&str, &UnitState, &str)| {
            let why = if cause.is_empty() { String::new() } else { format!("; it comes along ({cause})") };
            format!("{verb} {}, which is {} and {}{why}\n", unit.id, unit.active, or_none(&unit.enabled))
        };
        steps(self).map(step).collect::<String>().into_bytes()
    }
}

/// Everything that is done: what, to which unit, and why to units that are not named.
fn steps(facts: &UnitFacts) -> impl Iterator<Item = (&'static str, &UnitState, &str)> {
    let own = [Some(facts.action), facts.now].into_iter().flatten();
    let others = facts.affected.iter().map(|other| (other.word(), &other.state, other.cause.as_str()));
    own.map(|verb| (verb, &facts.state, "")).chain(others)
}
