//! The decision: the strictest rule wins; no match or an error is a refusal.

use super::accepted::Policy;
use super::decision::Decision;
use super::describe;
use super::element::Element;
use super::flags::package_flags;
use super::grant::Grant;
use super::object::{Object, RequiredGrant};
use super::rule::Rule;
use crate::accounts::Identity;
use crate::error::{Code, Denied};
use crate::facts::{Action, Facts, all_names};
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
        let mut elements = Vec::with_capacity(grants.len());
        for (verb, object) in grants.iter().filter(|(verb, _)| !verb.is_open()) {
            let rules = self.element(&clients, *verb, object, patched)?;
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
    #[must_use]
    pub fn grants(&self, who: &Identity, verb: VerbId, object: &Object) -> bool {
        let rules = self.element(&self.client_indexes(who), verb, object, 0).unwrap_or_default();
        rules.first().is_some_and(|rule| rule.decision == Decision::Allow)
    }

    /// Decides the facts. Of the rules of each element at least one must hold. A unit must be granted under its
    /// canonical id and every alias too; of an upgrade of all, each package that changes.
    ///
    /// # Errors
    /// The first limit that fails, `protected`, or `no_grant` for what the request did not name.
    pub fn decide_facts(&self, grant: Grant, who: &Identity, facts: &Facts) -> Result<Grant, Denied> {
        self.protect.check_facts(facts)?;
        let clients = self.client_indexes(who);
        let facts = &grant.marked(facts);
        let Grant { mut elements, flags, least } = grant;
        match facts {
            Facts::None | Facts::Files(_) => {}
            Facts::Unit(unit) => {
                for other in &unit.affected {
                    for name in all_names(&other.state) {
                        let object = Object::unit(UnitName::new_or_template(name)?);
                        self.not_denied(&clients, &elements, &other.verbs(), &object)?;
                    }
                }
                // Each name counts like one that was asked for, with its rule's limits and strictness.
                let mut aliases = Vec::new();
                for alias in all_names(&unit.state) {
                    for Element { verb, object, .. } in &elements {
                        let Object::Unit { name, journal_lines } = object else { continue };
                        if name.as_str() != alias {
                            let (name, journal_lines) = (UnitName::new(alias)?, *journal_lines);
                            let object = Object::Unit { name, journal_lines };
                            let rules = self.element(&clients, *verb, &object, 0)?;
                            aliases.push(Element { verb: *verb, object, rules });
                        }
                    }
                }
                elements.extend(aliases);
            }
            Facts::Packages(packages) => {
                for step in
                    packages.steps.iter().filter(|step| step.action != Action::Configure && !step.asked)
                {
                    let object = Object::Package { name: step.name.clone(), version: None };
                    let also = [VerbId::PackageRemove, step.action.verb()];
                    self.not_denied(&clients, &elements, &also, &object)?;
                }
                let all = elements.iter().filter(|element| element.object == Object::AllPackages);
                let mut upgraded = Vec::new();
                for Element { verb, .. } in all {
                    for step in packages.steps.iter().filter(|step| step.action == Action::Upgrade) {
                        let object = Object::Package { name: step.name.clone(), version: None };
                        let rules = self.element(&clients, *verb, &object, 0)?;
                        upgraded.push(Element { verb: *verb, object, rules });
                    }
                }
                elements.extend(upgraded);
            }
        }
        let created = created(&elements, facts);
        for (index, element) in elements.iter_mut().enumerate() {
            let (verb, object) = (element.verb, &element.object);
            element.rules = fit(std::mem::take(&mut element.rules), |rule| {
                if created.contains(&index) {
                    rule.holds_new_file(verb, object)?;
                }
                rule.holds_facts(verb, facts, flags, self.sources())
            })?;
        }
        Ok(Grant { elements, flags, least })
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
        verb: VerbId,
        object: &Object,
        patched: usize,
    ) -> Result<Vec<Arc<Rule>>, Denied> {
        self.protect.check_object(verb, object)?;
        let selected =
            self.rules_for(clients, verb).filter(|rule| rule.selects(verb, object)).collect::<Vec<_>>();
        let strictest = selected.iter().map(|rule| rule.decision).max();
        let mut rules = selected.into_iter().filter(|rule| Some(rule.decision) == strictest).cloned();
        match strictest {
            None => Err(self.no_grant(clients, verb, object)),
            Some(Decision::Deny) => {
                let id = rules.next().map_or_else(String::new, |rule| rule.id.clone());
                Err(Denied::new(Code::Denied, format!("rule {id} denies {}", verb.name())))
            }
            Some(Decision::Allow | Decision::Ask) => {
                self.check_arguments(object)?;
                fit(rules.collect(), |rule| {
                    rule.holds(object)?;
                    rule.holds_verb(verb, patched)
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

    /// The answer outside the grant: the same for objects that exist and objects that do not.
    fn no_grant(&self, clients: &[usize], verb: VerbId, object: &Object) -> Denied {
        Denied {
            granted_nearby: describe::nearby(self, clients, verb),
            missing: format!("{} {}", verb.name(), object.name()).trim_end().to_owned(),
            ..Denied::new(Code::NoGrant, format!("no rule grants {} of this", verb.name()))
        }
    }
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
