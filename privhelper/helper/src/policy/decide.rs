//! The decision: strictest wins, no match is no, and any error is no.

use super::{Object, Peer, Policy, Rule, command, describe};
use crate::error::{Code, Refusal};
use crate::plan::{Action, Subject, UnitState};
use crate::types::UnitName;
use crate::verb_id::VerbId;
use postern_proto::v1 as wire;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// How long a request waits for a person where no rule says it: as the policy's own default.
const UNSAID_TTL: Duration = Duration::from_secs(15 * 60);

/// What a rule decides. The order is strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Done without asking.
    Allow,
    /// Done when a person agrees.
    Ask,
    /// Never.
    Deny,
}

impl Decision {
    /// As messages hold it.
    #[must_use]
    pub const fn wire(self) -> wire::Decision {
        match self {
            Self::Allow => wire::Decision::Allow,
            Self::Ask => wire::Decision::Ask,
            Self::Deny => wire::Decision::Deny,
        }
    }

    /// The word in policies and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The proof that the policy lets a request of verb `V` through. Only this module makes one:
///
/// ```compile_fail
/// use postern_helper::policy::Authorized;
/// let forged: Authorized<()> = Authorized { verb: std::marker::PhantomData, elements: Vec::new(), least: postern_helper::policy::Decision::Allow };
/// ```
#[derive(Debug)]
pub struct Authorized<V> {
    verb: PhantomData<fn(V)>,
    /// For each element its verb and the rules that let it through and whose limits hold, in the policy's order.
    elements: Vec<(VerbId, Vec<Arc<Rule>>)>,
    /// What it is at least, whatever the rules say: a person approved what would be undone.
    least: Decision,
}

impl<V> Authorized<V> {
    /// The rules that are used: the first of each element.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.elements.iter().filter_map(|(_, rules)| rules.first())
    }

    /// The rule that is named: the first of those that decide. Empty for verbs that are open.
    #[must_use]
    pub fn rule_id(&self) -> &str {
        let decision = self.decision();
        let decides = self.rules().find(|rule| rule.decision == decision).or_else(|| self.rules().next());
        decides.map_or("", |rule| rule.id.as_str())
    }

    /// The strictest decision of the rules used. Verbs that are open are allowed.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.rules().map(|rule| rule.decision).max().unwrap_or(Decision::Allow).max(self.least)
    }

    /// How many people must agree: the most that any rule asks for that lets it through.
    #[must_use]
    pub fn approvers(&self) -> u32 {
        self.asking().map(|rule| rule.approvers).max().unwrap_or(1)
    }

    /// How long the request waits for them: the shortest that any of these says.
    #[must_use]
    pub fn approval_ttl(&self) -> Duration {
        self.asking().map(|rule| rule.approval_ttl).min().unwrap_or(UNSAID_TTL)
    }

    /// Rules that allow say neither, also where a person must agree whatever they say.
    fn asking(&self) -> impl Iterator<Item = &Arc<Rule>> {
        let all = self.elements.iter().flat_map(|(_, rules)| rules);
        all.filter(|rule| rule.decision == Decision::Ask)
    }

    /// The longest wait for locks and jobs: the shortest of the rules used; a minute for open verbs.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.rules().map(|rule| rule.timeout).min().unwrap_or(Duration::from_secs(60))
    }

    /// The leave of an operator, whom no rule grants anything: what they take back was decided before.
    pub(crate) const fn of_operator() -> Self {
        Self { verb: PhantomData, elements: Vec::new(), least: Decision::Allow }
    }
}

impl Policy {
    /// Step 4: decides every object of a request for itself, each with its verb; the request gets the strictest.
    ///
    /// # Errors
    /// The refusal, which says what is missing from the request alone and never what exists.
    pub fn decide<V>(&self, peer: Peer, wishes: &[(VerbId, Object)]) -> Result<Authorized<V>, Refusal> {
        let clients = self.places_of(peer);
        if clients.is_empty() {
            return Err(Refusal::new(Code::UnknownClient, "this user is no client of the policy"));
        }
        if wishes.is_empty() {
            return Err(Refusal::new(Code::NoGrant, "the request names nothing"));
        }
        let patched = wishes.iter().filter(|(verb, _)| *verb == VerbId::FilePatch).count();
        let mut elements = Vec::with_capacity(wishes.len());
        for (verb, object) in wishes.iter().filter(|(verb, _)| !verb.is_open()) {
            let rules = self.element(&clients, *verb, object, patched)?;
            elements.push((*verb, rules));
        }
        let least = wishes.iter().map(|(_, object)| object.least()).max().unwrap_or(Decision::Allow);
        Ok(Authorized { verb: PhantomData, elements, least })
    }

    /// Whether the same client may also do `verb` to `object`: for what an answer may tell.
    #[must_use]
    pub fn grants(&self, peer: Peer, verb: VerbId, object: &Object) -> bool {
        let rules = self.element(&self.places_of(peer), verb, object, 0).unwrap_or_default();
        rules.first().is_some_and(|rule| rule.decision == Decision::Allow)
    }

    /// Lines of a unit's journal that the same client may see without asking anybody, under all the unit's names.
    #[must_use]
    pub fn journal_lines(&self, peer: Peer, unit: &UnitState) -> u32 {
        let clients = self.places_of(peer);
        let lines = |name: &str| -> Option<u32> {
            let object = Object::Unit(UnitName::new(name).ok()?);
            let rules = self.element(&clients, VerbId::UnitStatus, &object, 0).ok()?;
            rules.iter().filter(|rule| rule.decision == Decision::Allow).map(|rule| rule.journal_lines).max()
        };
        unit.all_names().into_iter().map(|name| lines(name).unwrap_or(0)).min().unwrap_or(0)
    }

    /// Step 5: the plan against the limits. Of the rules of each element at least one must hold. A unit must be
    /// granted under its canonical id and every alias too; of an upgrade of all, each package that changes.
    ///
    /// # Errors
    /// The first limit that fails, `protected`, or `no_grant` for what the request did not name.
    pub fn decide_plan<V>(
        &self,
        peer: Peer,
        authorized: Authorized<V>,
        wishes: &[(VerbId, Object)],
        plan: &Subject<'_>,
    ) -> Result<Authorized<V>, Refusal> {
        self.protect.check_plan(plan)?;
        let clients = self.places_of(peer);
        let Authorized { mut elements, least, .. } = authorized;
        match plan {
            Subject::Nothing | Subject::NewFiles(_) => {}
            Subject::Unit(unit) => {
                for other in &unit.cascade {
                    let object = Object::Unit(UnitName::new(&other.state.id)?);
                    self.not_denied(&clients, wishes, VerbId::UnitStop, &object)?;
                }
                // Each name counts like one that was asked for, with its rule's limits and strictness.
                for name in unit.state.all_names() {
                    let object = Object::Unit(UnitName::new(name)?);
                    let others = |named: &Object| matches!(named, Object::Unit(_)) && *named != object;
                    for (verb, _) in wishes.iter().filter(|(_, named)| others(named)) {
                        elements.push((*verb, self.element(&clients, *verb, &object, 0)?));
                    }
                }
            }
            Subject::Packages(packages) => {
                for step in
                    packages.steps.iter().filter(|step| step.action != Action::Configure && !step.asked)
                {
                    let object = Object::Package { name: step.name.clone(), version: None };
                    for also in [VerbId::PackageRemove, step.action.verb()] {
                        self.not_denied(&clients, wishes, also, &object)?;
                    }
                }
                for (verb, _) in wishes.iter().filter(|(_, object)| *object == Object::AllPackages) {
                    for step in packages.steps.iter().filter(|step| step.action == Action::Upgrade) {
                        let object = Object::Package { name: step.name.clone(), version: None };
                        elements.push((*verb, self.element(&clients, *verb, &object, 0)?));
                    }
                }
            }
        }
        let named = wishes.iter().filter(|(verb, _)| !verb.is_open()).map(|(_, object)| Some(object));
        for ((verb, rules), object) in elements.iter_mut().zip(named.chain(std::iter::repeat(None))) {
            *rules = fit(std::mem::take(rules), |rule| rule.holds_plan(*verb, object, plan, &self.sources))?;
        }
        Ok(Authorized { verb: PhantomData, elements, least })
    }

    /// What a rule denies by name does not come along with something else either, neither by the request's verbs nor
    /// by `also`, which is what coming along may mean.
    fn not_denied(
        &self,
        clients: &[usize],
        wishes: &[(VerbId, Object)],
        also: VerbId,
        object: &Object,
    ) -> Result<(), Refusal> {
        let denies = |verb: VerbId| {
            let mut rules = self.rules_for(clients, verb);
            rules.find(|rule| rule.decision == Decision::Deny && rule.selects(verb, object))
        };
        match wishes.iter().map(|(verb, _)| *verb).chain([also]).find_map(denies) {
            Some(rule) => {
                let why = format!("rule {} denies {}, which would come along", rule.id, object.name());
                Err(Refusal::new(Code::Denied, why))
            }
            None => Ok(()),
        }
    }

    /// CONTRACTS 5, point 3: the strictest decision among the rules that select the object; of the rules with
    /// that decision at least one must hold its limits. A broken limit never falls through to a weaker rule.
    fn element(
        &self,
        clients: &[usize],
        verb: VerbId,
        object: &Object,
        patched: usize,
    ) -> Result<Vec<Arc<Rule>>, Refusal> {
        self.protect.check_object(verb, object)?;
        let selected =
            self.rules_for(clients, verb).filter(|rule| rule.selects(verb, object)).collect::<Vec<_>>();
        let strictest = selected.iter().map(|rule| rule.decision).max();
        let mut rules = selected.into_iter().filter(|rule| Some(rule.decision) == strictest).cloned();
        match strictest {
            None => Err(self.no_grant(clients, verb, object)),
            Some(Decision::Deny) => {
                let id = rules.next().map_or_else(String::new, |rule| rule.id.clone());
                Err(Refusal::new(Code::Denied, format!("rule {id} denies {}", verb.name())))
            }
            Some(Decision::Allow | Decision::Ask) => {
                command::check(self, object)?;
                fit(rules.collect(), |rule| {
                    rule.holds(object)?;
                    rule.holds_verb(verb, patched)
                })
            }
        }
    }

    /// The one answer outside the grant: the same for what exists and what does not.
    fn no_grant(&self, clients: &[usize], verb: VerbId, object: &Object) -> Refusal {
        Refusal {
            granted_nearby: describe::nearby(self, clients, verb),
            missing: format!("{} {}", verb.name(), object.name()).trim_end().to_owned(),
            ..Refusal::new(Code::NoGrant, format!("no rule grants {} of this", verb.name()))
        }
    }
}

/// The rules that hold. If none does, why the first does not.
fn fit(
    rules: Vec<Arc<Rule>>,
    holds: impl Fn(&Rule) -> Result<(), Refusal>,
) -> Result<Vec<Arc<Rule>>, Refusal> {
    let mut fit = Vec::new();
    let mut broken = None;
    for rule in rules {
        match holds(&rule) {
            Ok(()) => fit.push(rule),
            Err(why) => broken = broken.or(Some(why)),
        }
    }
    match broken {
        Some(why) if fit.is_empty() => Err(why),
        _ => Ok(fit),
    }
}
