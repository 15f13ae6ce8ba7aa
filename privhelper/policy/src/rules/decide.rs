//! The decision: the strictest rule wins; no match or an error is a refusal.

use super::accepted::Policy;
use super::decision::Decision;
use super::element::Element;
use super::flags::package_flags;
use super::grant::Grant;
use super::hours::times;
use super::object::{Object, RequiredGrant};
use super::rule::Rule;
use crate::accounts::Identity;
use crate::error::{Code, Denied};
use crate::facts::{Action, Facts, PackageStep, all_names};
use crate::types::{TargetPath, UnitName};
use crate::verb_id::VerbId;
use std::sync::Arc;

impl Policy {
    /// Decides every element of a request for itself; the request gets the strictest.
    ///
    /// # Errors
    /// The missing grant, computed from the request alone: it never depends on the state of the host.
    pub fn decide(&self, who: &Identity, grants: &[RequiredGrant]) -> Result<Grant, Denied> {
        let clients = self.client_indexes(who);
        if clients.is_empty() {
            return Err(Denied::new(Code::UnknownClient, "this user is no client of the policy"));
        }
        if grants.is_empty() {
            return Err(Denied::new(Code::NoGrant, "the request names nothing"));
        }
        let patched = grants.iter().filter(|(verb, _)| *verb == VerbId::FilePatch).count();
        let times = times(who.unix_s, grants);
        let mut elements = Vec::with_capacity(grants.len());
        for (verb, object) in grants.iter().filter(|(verb, _)| !verb.is_open()) {
            let rules = self.element(&clients, who, &times, *verb, object, patched)?;
            elements.push(Element { verb: *verb, object: object.without_content(), rules });
        }
        let least = grants.iter().map(|(_, object)| object.least()).max().unwrap_or(Decision::Allow);
        Ok(Grant { flags: package_flags(&elements), elements, least })
    }

    /// Checks that nothing of a request is protected: all that is decided of an operator's undo.
    ///
    /// # Errors
    /// `protected`.
    pub fn check_protected(&self, grants: &[RequiredGrant]) -> Result<(), Denied> {
        grants.iter().try_for_each(|(verb, object)| self.protect.check_object(*verb, object))
    }

    /// Whether the same client may also do `verb` to `object` without asking: for what an answer may contain.
    pub fn grants(&self, who: &Identity, verb: VerbId, object: &Object) -> bool {
        let (clients, times) = (self.client_indexes(who), [who.unix_s]);
        let rules = self.element(&clients, who, &times, verb, object, 0).unwrap_or_default();
        rules.first().is_some_and(|rule| rule.decision == Decision::Allow)
    }

    /// Decides the facts. Of the rules of each element at least one must hold. A unit must be granted under its
    /// canonical id too; of the aliases that the request does not name, only rules that deny or ask count. Of an upgrade of
    /// all, each package that changes must be granted.
    ///
    /// # Errors
    /// The first limit that fails, `protected`, or `no_grant` for what the request did not name.
    pub fn decide_facts(&self, grant: Grant, who: &Identity, facts: &Facts) -> Result<Grant, Denied> {
        self.protect.check_facts(facts)?;
        let clients = self.client_indexes(who);
        let facts = &grant.marked(facts);
        let Grant { mut elements, flags, least } = grant;
        self.check_along(&clients, &elements, facts)?;
        for (verb, object) in implied(&elements, facts)? {
            self.protect.check_object(verb, &object)?;
            let is_alias = matches!(facts, Facts::Unit(unit) if unit.state.id != object.name());
            let is_for = |rule: &Arc<Rule>| rule.selects(verb, &object) && rule.is_for(who);
            let is_strict = |rule: &Arc<Rule>| rule.decision != Decision::Allow && is_for(rule);
            if !is_alias || self.rules_for(&clients, verb).any(is_strict) {
                let rules = self.element(&clients, who, &[who.unix_s], verb, &object, 0);
                let rules = rules.map_err(|why| own_name(facts, why))?;
                elements.push(Element { verb, object, rules });
            }
        }
        let created = created(&elements, facts);
        for (index, element) in elements.iter_mut().enumerate() {
            let (verb, object) = (element.verb, &element.object);
            element.rules = fit(std::mem::take(&mut element.rules), |rule| {
                if created.contains(&index) {
                    rule.holds_new_file(verb, object)?;
                }
                rule.holds_facts(verb, facts, flags, &self.wire.sources)
            })?;
        }
        Ok(Grant { elements, flags, least })
    }

    /// Checks that no rule denies what would change along with the request: other units, under each of their names, and
    /// packages that it does not name.
    fn check_along(&self, clients: &[usize], elements: &[Element], facts: &Facts) -> Result<(), Denied> {
        match facts {
            Facts::None | Facts::Files(_) => {}
            Facts::Unit(unit) => {
                for other in &unit.affected {
                    for name in all_names(&other.state) {
                        let object = Object::unit(UnitName::new_or_template(name)?);
                        self.not_denied(clients, elements, &other.verbs(), &object)?;
                    }
                }
            }
            Facts::Packages(packages) => {
                let along = |step: &&PackageStep| step.action != Action::Configure && !step.asked;
                for step in packages.steps.iter().filter(along) {
                    let also = [VerbId::PackageRemove, step.action.verb()];
                    self.not_denied(clients, elements, &also, &Object::package(step.name.clone()))?;
                }
            }
        }
        Ok(())
    }

    /// Checks that no rule denies this object as a side effect of another: neither by the request's verbs nor by `also`, the
    /// verbs of the side effect.
    fn not_denied(
        &self,
        clients: &[usize],
        elements: &[Element],
        also: &[VerbId],
        object: &Object,
    ) -> Result<(), Denied> {
        let denies = |verb: VerbId| {
            let mut rules = self.rules_for(clients, verb);
            rules.find(|rule| rule.decision == Decision::Deny && rule.selects(verb, object))
        };
        match elements.iter().map(|element| element.verb).chain(also.iter().copied()).find_map(denies) {
            Some(rule) => {
                let why = format!("rule {} denies {}, which would come along", rule.id, object.name());
                Err(Denied::new(Code::Denied, why))
            }
            None => Ok(()),
        }
    }

    /// Decides one element: the strictest decision among the rules that select the object; of the rules with
    /// that decision at least one must hold its limits. A broken limit never falls through to a weaker rule.
    fn element(
        &self,
        clients: &[usize],
        who: &Identity,
        times: &[u64],
        verb: VerbId,
        object: &Object,
        patched: usize,
    ) -> Result<Vec<Arc<Rule>>, Denied> {
        self.protect.check_object(verb, object)?;
        let selects = |rule: &&Arc<Rule>| rule.selects(verb, object) && rule.is_for(who);
        let selected = self.rules_for(clients, verb).filter(selects).collect::<Vec<_>>();
        let strictest = selected.iter().map(|rule| rule.decision).max();
        let mut rules = selected.into_iter().filter(|rule| Some(rule.decision) == strictest).cloned();
        match strictest {
            None => Err(no_grant(verb, object)),
            Some(Decision::Deny) => {
                let id = rules.next().map_or_else(String::new, |rule| rule.id.clone());
                Err(Denied::new(Code::Denied, format!("rule {id} denies {}", verb.name())))
            }
            Some(Decision::Allow | Decision::Ask) => {
                self.check_arguments(object)?;
                let rules = rules.collect::<Vec<_>>();
                // No other rule steps in: without a session they could agree to their own request.
                rules.iter().try_for_each(|rule| rule.holds_asker(who))?;
                fit(rules, |rule| {
                    rule.holds(object)?;
                    rule.holds_verb(verb, patched)?;
                    self.holds_hours(rule, times)
                })
            }
        }
    }

    /// Checks a command's arguments once a rule has granted it by name: before that nothing about it is disclosed.
    fn check_arguments(&self, object: &Object) -> Result<(), Denied> {
        let Object::Command { name, arguments } = object else { return Ok(()) };
        let unknown = || Denied::new(Code::NotFound, format!("the policy has no command named {name}"));
        self.command(name.as_str()).ok_or_else(unknown)?.check(arguments)
    }
}

/// The answer outside the grant: the same for objects that exist and objects that do not.
fn no_grant(verb: VerbId, object: &Object) -> Denied {
    let missing = format!("{} {}", verb.name(), object.name()).trim_end().to_owned();
    Denied { missing, ..Denied::new(Code::NoGrant, format!("no rule grants {} of this", verb.name())) }
}

/// The refusal of what the facts add. Of a unit that is its own name, for which the request has an alias.
fn own_name(facts: &Facts, why: Denied) -> Denied {
    let Facts::Unit(unit) = facts else { return why };
    let message = format!("the unit is an alias of {}, which no rule grants", unit.state.id);
    if why.code == Code::NoGrant { Denied { message, ..why } } else { why }
}

/// The grants that the facts require besides those of the request, with the limits and strictness of their rules: of each
/// alias of its unit, and of each package that an upgrade of all changes.
fn implied(elements: &[Element], facts: &Facts) -> Result<Vec<RequiredGrant>, Denied> {
    let mut implied = Vec::new();
    for Element { verb, object, .. } in elements {
        match (object, facts) {
            (Object::Unit { name, journal_lines }, Facts::Unit(unit)) => {
                for alias in all_names(&unit.state).into_iter().filter(|alias| *alias != name.as_str()) {
                    // The journal is the unit's own: what a wide rule says of its lines under an alias is no limit.
                    let journal_lines = if *alias == *unit.state.id { *journal_lines } else { 0 };
                    implied.push((*verb, Object::Unit { name: UnitName::new(alias)?, journal_lines }));
                }
            }
            (Object::AllPackages, Facts::Packages(packages)) => {
                let upgraded = packages.steps.iter().filter(|step| step.action == Action::Upgrade);
                implied.extend(upgraded.map(|step| (*verb, Object::package(step.name.clone()))));
            }
            _ => {}
        }
    }
    Ok(implied)
}

/// The indexes of the elements that create a file or directory. The removal of a path that does not exist is none.
fn created(elements: &[Element], facts: &Facts) -> Vec<usize> {
    let Facts::Files(files) = facts else { return Vec::new() };
    let creates = |element: &Element| {
        let is_new = |path: &TargetPath| files.iter().any(|file| file.path == *path && file.old.is_none());
        let is_removed = |path: &TargetPath| {
            elements.iter().any(|other| other.verb == VerbId::FileRemove && other.object.is_file(path))
        };
        matches!(element.verb, VerbId::FileWrite | VerbId::FilePatch | VerbId::FileMkdir)
            && element.object.path().is_some_and(|path| is_new(path) && !is_removed(path))
    };
    elements.iter().enumerate().filter(|(_, element)| creates(element)).map(|(index, _)| index).collect()
}

/// The rules that hold. If none does, why the first does not.
fn fit(rules: Vec<Arc<Rule>>, holds: impl Fn(&Rule) -> Result<(), Denied>) -> Result<Vec<Arc<Rule>>, Denied> {
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
