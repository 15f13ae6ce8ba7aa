//! Reads from the log's records which elements of requests were refused for lack of a rule, and which a person refused or approved.

use super::limits::Limits;
use crate::explain::request::{Element, FileTarget, Target};
use crate::policy::keys::Kind;
use postern_policy::VerbId;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most elements that are kept, so that a tampered log cannot fill the memory.
const MOST: usize = 10_000;
/// Codes of refusals that a person or a deny rule decided.
const DENIED: [&str; 3] = ["not_approved", "denied_recently", "denied"];

/// The records that a suggestion rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Refusals for lack of a rule: the rule asks a person.
    Refusals,
    /// Approvals by people: the rule takes their place.
    Approvals,
}

/// An element of a request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The client's names, joined by `+`.
    pub client: String,
    /// The verb and its object.
    pub element: Element,
    /// Limits that the request needs.
    pub limits: Limits,
}

impl Wanted {
    /// `agent: unit.restart nginx.service`.
    pub fn words(&self) -> String {
        let Element { verb, target } = &self.element;
        format!("{}: {} {}", self.client, verb.name(), target.words()).trim_end().to_owned()
    }

    /// Each name of the client with the object: a denial of a package is one of all its versions.
    fn denials(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let object = match &self.element.target {
            Target::Package(name, _) => name.clone(),
            other => other.words(),
        };
        self.client.split('+').map(move |name| (name.to_owned(), object.clone()))
    }

    fn key(&self) -> (String, &'static str, String, &Limits) {
        (self.client.clone(), self.element.verb.name(), self.element.target.words(), &self.limits)
    }
}

impl Ord for Wanted {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Wanted {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Collects from records.
#[derive(Debug, Default)]
pub struct Seen {
    wanted: BTreeSet<Wanted>,
    records: u64,
    /// How often people approved an element, and under which rules.
    approved: BTreeMap<Wanted, (u64, BTreeSet<String>)>,
    /// Name of a client, and object, of what somebody refused.
    denied: BTreeSet<(String, String)>,
    /// The objects of requests that wait, until a person decides.
    waiting: BTreeMap<String, Vec<(String, String)>>,
}

impl Seen {
    /// Takes a record. `is_chosen`: the filter lets it through; a denial counts in any case. Returns what was taken of it.
    pub fn take(&mut self, record: &Value, is_chosen: bool) -> Option<Basis> {
        let mut taken = None;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (event, code) = (text(&record["event"]), text(&record["outcome"]["code"]));
        let id = text(&record["request_id"]);
        let objects = |wanted: Vec<Wanted>| wanted.iter().flat_map(Wanted::denials).collect::<Vec<_>>();
        match event.as_str() {
            "refused" if code == "no_grant" && is_chosen => {
                let wanted = wanted(record);
                self.records += 1;
                taken = Some(Basis::Refusals);
                if self.wanted.len() + wanted.len() <= MOST {
                    self.wanted.extend(wanted);
                }
            }
            "begin" | "served" if is_approved(record) && is_chosen => {
                self.approve(record);
                taken = Some(Basis::Approvals);
            }
            "refused" if DENIED.contains(&code.as_str()) => self.denied.extend(objects(wanted(record))),
            // More than a recorder lets wait: they count as denied, so that no denial is missed.
            "pending" if self.waiting.len() >= MOST => self.denied.extend(objects(wanted(record))),
            "pending" => {
                self.waiting.insert(id.clone(), objects(wanted(record)));
            }
            "approval" if text(&record["outcome"]["status"]) == "denied" => {
                self.denied.extend(self.waiting.remove(&id).unwrap_or_default());
            }
            _ => {}
        }
        // A first approval does not end the wait where two are needed.
        if !matches!(event.as_str(), "pending" | "approval") {
            self.waiting.remove(&id);
        }
        taken
    }

    fn approve(&mut self, record: &Value) {
        let rule = record["rule"].as_str().unwrap_or_default();
        for one in wanted(record) {
            if self.approved.len() < MOST || self.approved.contains_key(&one) {
                let (count, rules) = self.approved.entry(one).or_default();
                *count += 1;
                rules.insert(rule.to_owned());
            }
        }
    }

    /// Returns the elements refused for lack of a rule and denied by nobody, and the number of their records.
    #[must_use]
    pub fn refused(self) -> (BTreeSet<Wanted>, u64) {
        let Self { mut wanted, records, denied, .. } = self;
        wanted.retain(|one| !one.denials().any(|denial| denied.contains(&denial)));
        (wanted, records)
    }

    /// Returns the elements that people approved at least so often and nobody denied, how often each, and the rules that asked.
    #[must_use]
    pub fn approved(self, least: u64) -> (BTreeMap<Wanted, u64>, BTreeSet<String>) {
        let Self { approved, denied, .. } = self;
        let (mut elements, mut rules) = (BTreeMap::new(), BTreeSet::new());
        for (one, (count, asked)) in approved {
            if count >= least && !one.denials().any(|denial| denied.contains(&denial)) {
                elements.insert(one, count);
                rules.extend(asked);
            }
        }
        (elements, rules)
    }
}

/// Whether people approved the request of a record.
fn is_approved(record: &Value) -> bool {
    record["decision"] == "ask" && record["approval"]["uids"].as_array().is_some_and(|uids| !uids.is_empty())
}

/// The elements of a record's request; none if it is none that this program knows.
fn wanted(record: &Value) -> Vec<Wanted> {
    let Some(verb) = record["verb"].as_str().and_then(VerbId::from_name) else { return Vec::new() };
    let Some(client) = record["client"]["name"].as_str().filter(|name| !name.is_empty()) else {
        return Vec::new();
    };
    let (args, mut limits) = (&record["args"], Limits::default());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let one = |verb, target, limits| Wanted {
        client: client.to_owned(),
        element: Element { verb, target },
        limits,
    };
    match Kind::of(verb) {
        Some(Kind::Packages) if args["all"] == true => vec![one(verb, Target::AllPackages, limits)],
        Some(Kind::Packages) => {
            let plain = list(&args["names"]).into_iter().map(|name| Target::Package(text(&name), None));
            let with_version = list(&args["packages"]).into_iter().map(|package| {
                let version = Some(text(&package["version"])).filter(|version| !version.is_empty());
                Target::Package(text(&package["name"]), version)
            });
            plain.chain(with_version).map(|target| one(verb, target, limits.clone())).collect()
        }
        Some(Kind::Units) => {
            limits.journal_lines = args["journal_lines"].as_u64().unwrap_or_default();
            let unit = text(&args["unit"]);
            let at_once = (args["now"] == true).then_some(match verb {
                VerbId::UnitEnable => VerbId::UnitStart,
                _ => VerbId::UnitStop,
            });
            let verbs = std::iter::once(verb).chain(at_once);
            verbs.map(|verb| one(verb, Target::Unit(unit.clone()), limits.clone())).collect()
        }
        Some(Kind::Files) => {
            let changes = list(&args["changes"]);
            let changes = if changes.is_empty() { vec![args.clone()] } else { changes };
            let number = changes.len() as u64;
            changes
                .iter()
                .map(|change| one(verb, file(change), Limits::of_file(verb, change, number)))
                .collect()
        }
        Some(Kind::Commands) => {
            // The log has no values of parameters, since some are secrets.
            let parameters =
                list(&args["parameters"]).iter().map(|name| (text(name), String::new())).collect();
            vec![one(verb, Target::Command(text(&args["name"]), parameters), limits)]
        }
        Some(Kind::Nothing) => vec![one(verb, Target::Nothing, limits)],
        None => Vec::new(),
    }
}

fn file(change: &Value) -> Target {
    let text = |key: &str| change[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Target::File(FileTarget {
        path: text("path").unwrap_or_default(),
        bytes: change["size"].as_u64().unwrap_or_default(),
        content: None,
        mode: text("mode"),
        owner: text("owner"),
        group: text("group"),
    })
}
