//! Every shipped pack is a policy that lints clean and whose power was read by a person.

use super::{STARTER, shipped};
use crate::support::TestHost;
use postern_admin::finding::Class;
use postern_admin::finding::Severity;
use postern_admin::host::Host;
use postern_admin::packs::{
    Values, file_name,
    pack::{self, Pack},
    text,
    variable::{Kind, Variable},
};
use postern_admin::policy::Compiled;
use postern_admin::policy::Purpose;
use postern_admin::policy::apply::load;
use postern_admin::policy::finding::Finding;
use postern_admin::policy::source::Owner;
use postern_policy::VerbId;
use postern_proto::root::v1::{Command, Decision, Sandbox};
use std::collections::BTreeSet;

fn packs() -> Vec<Pack> {
    let host = TestHost::new(STARTER);
    let (packs, wrong) = pack::all(&Host { packs: shipped(), ..host.host.clone() }).unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(packs.len() >= 8);
    packs
}

/// The values that a pack is tested with.
fn examples(pack: &Pack) -> Values {
    pack.variables.iter().map(|variable| (variable.name.clone(), variable.examples().to_vec())).collect()
}

/// The starter policy with these packs, filled with their examples.
fn compiled(packs: &[&Pack], mut change: impl FnMut(&Pack, &mut Values)) -> (Vec<Finding>, Compiled) {
    let host = TestHost::new(STARTER);
    for pack in packs {
        let mut values = examples(pack);
        change(pack, &mut values);
        host.write(&format!("policy.d/{}", file_name(&pack.about.name)), text(pack, &values).unwrap());
    }
    let (_, findings, compiled) = load(&host.host.etc, Owner::Anybody, Purpose::Review, &host.host);
    let shown = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    (findings, compiled.unwrap_or_else(|| panic!("{shown}")))
}

/// The commands of a policy that the packs bring.
fn own<'a>(compiled: &'a Compiled, pack: &Pack) -> impl Iterator<Item = &'a Command> {
    let prefix = format!("{}-", pack.about.name.split('-').next().unwrap());
    compiled.rules.commands.iter().filter(move |command| command.name.starts_with(&prefix))
}

fn is_unaccepted(finding: &Finding) -> bool {
    finding.accepted.is_none() && finding.severity != Severity::Note
}

#[test]
fn lints_without_a_finding_that_is_not_accepted_with_a_reason() {
    for pack in packs() {
        let (findings, _) = compiled(&[&pack], |_, _| {});
        let left = findings
            .iter()
            .filter(|finding| is_unaccepted(finding))
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        assert!(left.is_empty(), "{}:\n{}", pack.about.name, left.join("\n"));
        for reason in findings.iter().filter_map(|finding| finding.accepted.as_ref()) {
            assert!(reason.split(' ').count() >= 4, "{}: {reason:?} is no reason", pack.about.name);
        }
    }
}

#[test]
fn all_packs_together_are_one_policy_without_a_new_finding() {
    let packs = packs();
    let (findings, _) = compiled(&packs.iter().collect::<Vec<_>>(), |_, _| {});
    let left =
        findings.iter().filter(|finding| is_unaccepted(finding)).map(ToString::to_string).collect::<Vec<_>>();
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn a_pack_works_with_each_of_its_choices() {
    for pack in packs() {
        for variable in &pack.variables {
            for word in &variable.values {
                let (findings, _) = compiled(&[&pack], |_, values| {
                    values.insert(variable.name.clone(), vec![word.clone()]);
                });
                let left = findings
                    .iter()
                    .filter(|finding| is_unaccepted(finding))
                    .map(ToString::to_string)
                    .collect::<Vec<_>>();
                assert!(
                    left.is_empty(),
                    "{} {}={word}:\n{}",
                    pack.about.name,
                    variable.name,
                    left.join("\n")
                );
            }
        }
    }
}

/// Another value than those of the pack, for a variable that is no choice.
fn another(variable: &Variable) -> Option<&'static str> {
    Some(match variable.kind {
        Kind::Directory => "/srv/another",
        Kind::File if variable.name.ends_with("entries") => "/etc/apt/sources.list.d/another.sources",
        Kind::File => "/var/log/another.log",
        Kind::Name | Kind::Pattern => "another",
        Kind::User | Kind::Group => "games",
        Kind::Hostname | Kind::Domain => "another.example.org",
        Kind::Email => "another@example.org",
        Kind::Port => "8443",
        Kind::Cidr => "172.16.0.0/12",
        Kind::Package => "tree",
        Kind::Unit => "another.service",
        Kind::Choice | Kind::Client => return None,
    })
}

#[test]
fn takes_other_values_than_its_examples_and_several_where_it_asks_for_several() {
    for pack in packs() {
        for is_added in [false, true] {
            let (findings, _) = compiled(&[&pack], |pack, values| {
                for (variable, value) in pack.variables.iter().filter_map(|one| Some((one, another(one)?))) {
                    let values = values.get_mut(&variable.name).unwrap();
                    if !(is_added && variable.many) {
                        values.clear();
                    }
                    values.push(value.to_owned());
                }
            });
            // A reason for a finding that these values do not have is no harm.
            let left = findings.iter().filter(|one| is_unaccepted(one)).map(ToString::to_string);
            let left = left.filter(|text| !text.contains("this rule has no such finding"));
            assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{}", pack.about.name);
        }
    }
}

/// Grants without a person's approval that the table of the lint knows as root or as trust, each read and found bounded by
/// what its reason says. Everything else of these classes asks.
const BOUNDED: &[(&str, &str)] = &[
    ("updates-restarts-due", "command-as-root"),
    ("tls-certbot-look", "command-as-root"),
    ("tls-certbot-issue", "command-as-root"),
    ("firewall-nft-look", "command-as-root"),
    ("logs-look", "command-as-root"),
    ("logs-journal-vacuum", "command-as-root"),
    ("diagnostics-journal-of-the-host", "command-as-root"),
    ("disk-space-clean", "command-as-root"),
    ("fail2ban-look", "command-as-root"),
    ("mariadb-look", "command-as-root"),
    ("network-resolved-cache", "command-as-root"),
];

#[test]
fn nothing_that_amounts_to_root_is_allowed_without_a_person() {
    let mut seen: BTreeSet<&(&str, &str)> = BTreeSet::new();
    for pack in packs() {
        let (findings, compiled) = compiled(&[&pack], |_, _| {});
        let decision = |id: &str| compiled.rules.rules.iter().find(|rule| rule.id == id).unwrap().decision();
        for finding in &findings {
            let is_root = matches!(finding.class, Some(Class::Code | Class::Trust));
            let Some(rule) = finding.rules.first().filter(|_| is_root) else { continue };
            if decision(rule) == Decision::Allow {
                let known = BOUNDED.iter().find(|known| **known == (rule.as_str(), finding.id));
                assert!(known.is_some(), "{rule} allows without a person: {finding}");
                seen.extend(known);
            }
        }
        // A rule that writes a service's configuration in /etc without `lines` asks, whatever its class.
        for rule in compiled.rules.rules.iter().filter(|rule| rule.decision() == Decision::Allow) {
            let writes = rule.verbs.iter().any(|verb| verb == "file.write" || verb == "file.patch");
            let is_outside = rule.directories.iter().any(|place| place.starts_with("/etc/"));
            assert!(
                !writes || !is_outside || !rule.lines.is_empty(),
                "{} writes {:?} freely",
                rule.id,
                rule.directories
            );
        }
    }
    let stale = BOUNDED.iter().filter(|known| !seen.contains(known)).collect::<Vec<_>>();
    assert!(stale.is_empty(), "these are allowed by no pack any more: {stale:?}");
}

#[test]
fn changes_that_can_lock_people_out_are_taken_back_unless_somebody_keeps_them() {
    // Reverts to the network's own configuration and loads at boot: neither puts a rule in force.
    const LASTING: [&str; 2] = ["network-resolved-revert", "firewall-nft-boot"];
    // Lets people in. Its opposite would shut out also whoever was let in before: neither a deadline nor its client may run it.
    const OPENING: &str = "firewall-ufw-open";
    // Their clients keep a load, and with it the files; they undo the files.
    const LOADS: [&str; 2] = ["firewall-nft-load", "sshd-options-reload"];
    let packs = packs();
    let of = |name: &str| packs.iter().find(|pack| pack.about.name == name).unwrap();
    for pack in ["firewall-nft", "firewall-ufw", "sshd-options", "network-resolved"].map(of) {
        let (_, compiled) = compiled(&[pack], |_, _| {});
        let is_change = |rule: &&postern_proto::root::v1::Rule| {
            let names = rule.commands.iter();
            let rows = names.filter_map(|name| compiled.rules.commands.iter().find(|row| row.name == *name));
            let verbs = rule.verbs.iter().filter_map(|name| VerbId::from_name(name));
            let is_read = rows.clone().count() > 0 && rows.clone().all(|row| row.no_effect);
            !is_read && verbs.into_iter().any(VerbId::is_effect)
        };
        for rule in compiled.rules.rules.iter().filter(is_change) {
            let id = rule.id.as_str();
            // A flush of the cache changes no setting.
            if LASTING.contains(&id) || id == "network-resolved-cache" {
                assert_eq!(rule.keep_within_s, 0, "{id}");
                continue;
            }
            if id == OPENING {
                let opens =
                    ["allow", "allow-first", "delete-deny"].map(|name| format!("firewall-ufw-{name}"));
                assert_eq!(rule.commands, opens);
                assert_eq!((rule.keep_within_s, rule.verbs.as_slice()), (0, &["command.run".to_owned()][..]));
                continue;
            }
            let is_load = LOADS.contains(&id);
            assert_eq!(rule.keep_within_s, 120, "{id}");
            let is_undone_by_its_client = rule.verbs.iter().any(|verb| verb == "request.undo");
            assert_eq!(is_undone_by_its_client, !is_load, "{id}");
            // Each directory in which something may be written is one that the load's row names.
            let loads = compiled.rules.commands.iter().filter(|row| LOADS.contains(&row.name.as_str()));
            let loaded = loads.flat_map(|row| row.loads.clone()).collect::<Vec<_>>();
            assert!(rule.directories.iter().all(|directory| loaded.contains(directory)), "{id}: {loaded:?}");
        }
        assert!(pack.about.hazards.iter().any(|hazard| hazard.contains("`postern keep ID`")));
    }
}

#[test]
fn every_rule_has_examples_and_every_command_a_rule() {
    for pack in packs() {
        let (_, compiled) = compiled(&[&pack], |_, _| {});
        let rules = pack.body.split("[[rule]]").skip(1).collect::<Vec<_>>();
        for rule in &rules {
            let speaks_of_something =
                !["package.update", "package.autoremove", "package.repair", "host.reboot", "users-keys-read"]
                    .iter()
                    .any(|verb| rule.contains(verb));
            let has = rule.contains("\nmatches = ") || rule.contains("\ndoes_not_match = ");
            assert!(has || !speaks_of_something, "{}: a rule without examples:{rule}", pack.about.name);
        }
        for command in own(&compiled, &pack) {
            let is_granted = compiled
                .rules
                .rules
                .iter()
                .any(|rule| rule.commands.contains(&command.name) || rule.validate == command.name);
            assert!(is_granted, "{}: nothing grants {}", pack.about.name, command.name);
        }
        let clients = compiled.rules.rules.iter().filter(|rule| rule.client != "agent").count();
        assert_eq!(clients, 0, "{}", pack.about.name);
    }
}

#[test]
fn commands_are_programs_of_the_distribution_with_fixed_arguments() {
    const PLACES: [&str; 4] = ["/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/"];
    const SHELLS: [&str; 12] = [
        "sh",
        "bash",
        "dash",
        "env",
        "python3",
        "perl",
        "awk",
        "sed",
        "xargs",
        "find",
        "systemd-run",
        "sudo",
    ];
    for pack in packs() {
        let (_, compiled) = compiled(&[&pack], |_, _| {});
        for command in own(&compiled, &pack) {
            let program = command.argv.first().unwrap();
            let name = program.rsplit('/').next().unwrap();
            assert!(PLACES.iter().any(|place| program.starts_with(place)), "{program}");
            assert!(!SHELLS.contains(&name), "{program}");
            let is_validator = command.sandbox() == Sandbox::Validator;
            assert!(command.env.is_empty() || is_validator, "{}: an environment of its own", command.name);
            if command.sandbox() == Sandbox::None {
                assert!(command.capabilities.is_empty() && command.write.is_empty(), "{}", command.name);
            }
        }
    }
}

#[test]
fn names_of_rules_and_commands_begin_with_the_packs() {
    for pack in packs() {
        let (_, compiled) = compiled(&[&pack], |_, _| {});
        let prefix = pack.about.name.split('-').next().unwrap();
        let starters = ["look-at-units", "look-at-packages"];
        let rules = compiled.rules.rules.iter().map(|rule| rule.id.as_str());
        let names = compiled.rules.commands.iter().map(|command| command.name.as_str());
        let sources = compiled.rules.sources.iter().map(|source| source.name.as_str());
        for name in rules.chain(names).chain(sources).filter(|name| !starters.contains(name)) {
            assert!(name.starts_with(prefix), "{}: {name}", pack.about.name);
        }
    }
}

#[test]
fn a_listed_line_has_no_wildcard_before_its_last_word() {
    // `*` in a line takes anything, `;` and `/etc/shadow` included: only the rest of a line that begins as data may be free.
    for pack in packs() {
        let (_, compiled) = compiled(&[&pack], |_, _| {});
        for line in compiled.rules.rules.iter().flat_map(|rule| &rule.lines) {
            let stars = line.matches('*').count();
            assert!(stars == 0 || (stars == 1 && line.ends_with('*')), "{}: {line:?}", pack.about.name);
        }
    }
}
