//! A policy as keys with their values, as a person reads them.

use postern_policy::window_words;
use postern_proto::root::v1 as root;

/// One key as a person reads it: a list, of which elements may differ, or one value.
pub type Fact = (&'static str, Vec<String>);

/// Keys and values in one line.
#[must_use]
pub fn words(facts: &[Fact]) -> String {
    let shown = facts.iter().filter(|(_, values)| !values.is_empty());
    shown.map(|(key, values)| format!("{key} {}", values.join(" "))).collect::<Vec<_>>().join("; ")
}

/// The user or group of a client.
#[must_use]
pub fn client(client: &root::Client) -> Vec<Fact> {
    vec![("user", some(&client.user)), ("group", some(&client.group))]
}

fn some(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text.to_owned()] }
}

fn flag(flag: bool) -> Vec<String> {
    if flag { vec!["true".to_owned()] } else { Vec::new() }
}

fn number(number: u64) -> Vec<String> {
    if number == 0 { Vec::new() } else { vec![number.to_string()] }
}

fn time(seconds: u64) -> Vec<String> {
    if seconds == 0 { Vec::new() } else { vec![duration(seconds)] }
}

/// The facts of a rule, in which every name of a definition is followed by the definition.
#[must_use]
pub fn resolved(rule: &root::Rule, definitions: &[(String, Vec<Fact>)]) -> Vec<Fact> {
    let mut facts = self::rule(rule);
    for (key, values) in &mut facts {
        let what = match *key {
            "sources" => "source",
            "validate" | "commands" => "command",
            _ => continue,
        };
        for value in values {
            let name = format!("{what} {value}");
            if let Some((_, facts)) = definitions.iter().find(|(known, _)| *known == name) {
                *value = format!("{value} ({})", words(facts));
            }
        }
    }
    facts
}

/// `[[source]]` and `[[command]]`, every field of them.
#[must_use]
pub fn definitions(rules: &root::Rules) -> Vec<(String, Vec<Fact>)> {
    let sources = rules.sources.iter().map(|source| {
        let root::Source { name, entries, hosts, signed_by } = source;
        let facts =
            vec![("entries", entries.clone()), ("hosts", hosts.clone()), ("signed_by", signed_by.clone())];
        (format!("source {name}"), facts)
    });
    let commands =
        rules.commands.iter().map(|command| (format!("command {}", command.name), self::command(command)));
    sources.chain(commands).collect()
}

/// The facts of the command of this name; nothing if there is none.
#[must_use]
pub fn defined(name: &str, rules: &root::Rules) -> Vec<Fact> {
    let command = rules.commands.iter().find(|command| command.name == name);
    command.map_or_else(Vec::new, self::command)
}

fn command(command: &root::Command) -> Vec<Fact> {
    let root::Command {
        name: _,
        argv,
        parameters,
        reverse,
        user,
        sandbox: _,
        scratch,
        capabilities,
        cwd,
        env,
        timeout_s,
        output_bytes,
        network,
        write,
        description,
        no_effect,
        sockets,
        loads,
    } = command;
    vec![
        ("argv", argv.clone()),
        ("params", parameters.iter().map(parameter).collect()),
        ("reverse", some(reverse)),
        ("user", some(user)),
        ("sandbox", vec![enum_word(command.sandbox().as_str_name(), "SANDBOX_")]),
        ("scratch", scratch.clone()),
        ("capabilities", capabilities.clone()),
        ("cwd", some(cwd)),
        ("env", env.clone()),
        ("timeout", time(*timeout_s)),
        ("output", number(*output_bytes)),
        ("network", flag(*network)),
        ("write", write.clone()),
        ("sockets", sockets.clone()),
        ("loads", loads.clone()),
        ("description", some(description)),
        ("effect", no_effect.then(|| "false".to_owned()).into_iter().collect()),
    ]
}

fn parameter(parameter: &root::Parameter) -> String {
    let root::Parameter { name, kind: _, values, min, max, directories, files, within, unchecked, meanings } =
        parameter;
    let kind = enum_word(parameter.kind().as_str_name(), "PARAMETER_KIND_");
    let range = if (*min, *max) == (0, 0) { String::new() } else { format!(" {min} to {max}") };
    let lists = [values, directories, files, within, meanings]
        .map(|list| list.iter().flat_map(|text| [" ", text]).collect::<String>());
    let check = if *unchecked { " unchecked" } else { "" };
    format!("{name}={kind}{range}{}{check}", lists.concat())
}

fn enum_word(name: &str, prefix: &str) -> String {
    name.trim_start_matches(prefix).to_lowercase()
}

/// The tables that are no rules.
#[must_use]
pub fn tables(rules: &root::Rules) -> [(String, Vec<Fact>); 5] {
    let root::AuditLimits {
        max_bytes,
        keep_files,
        tip_interval_s,
        keep_days,
        max_days,
        records_per_minute,
        records_per_hour,
    } = rules.audit.unwrap_or_default();
    let audit = vec![
        ("max_bytes", number(max_bytes)),
        ("keep_files", number(u64::from(keep_files))),
        ("tip_interval", time(tip_interval_s)),
        ("keep_days", number(u64::from(keep_days))),
        ("max_days", number(u64::from(max_days))),
        ("records_per_minute", number(u64::from(records_per_minute))),
        ("records_per_hour", number(u64::from(records_per_hour))),
    ];
    let root::UndoLimits { max_bytes, max_count, max_age_s } = rules.undo.unwrap_or_default();
    let undo = vec![
        ("max_bytes", number(max_bytes)),
        ("max_count", number(u64::from(max_count))),
        ("max_age", time(max_age_s)),
    ];
    let root::ApprovalLimits { max_pending, max_pending_per_client } = rules.approvals.unwrap_or_default();
    let approvals = vec![
        ("max_pending", number(u64::from(max_pending))),
        ("max_pending_per_client", number(u64::from(max_pending_per_client))),
    ];
    let root::Protect { packages, units, paths } = rules.protect.clone().unwrap_or_default();
    let protect = vec![("packages", packages), ("units", units), ("paths", paths)];
    let zone = vec![("zone", some(&rules.zone))];
    let named = [
        ("[audit]", audit),
        ("[undo]", undo),
        ("[approvals]", approvals),
        ("[protect]", protect),
        ("time of `hours`", zone),
    ];
    named.map(|(name, facts)| (name.to_owned(), facts))
}

/// Every field of a rule: the pattern names all of them, so that a new field cannot be forgotten here.
#[must_use]
pub fn rule(rule: &root::Rule) -> Vec<Fact> {
    let root::Rule {
        id: _,
        client,
        verbs,
        decision: _,
        rate_count,
        rate_window_s,
        timeout_s,
        approval_ttl_s,
        approvers,
        packages,
        versions,
        max_new_packages,
        allow_upgrades,
        allow_removals,
        allow_downgrades,
        recommends,
        sources,
        new_packages,
        units,
        allow_cascade,
        journal_lines,
        directories,
        depth,
        files,
        max_bytes,
        modes,
        owners,
        groups,
        max_files,
        allow_create,
        lines,
        validate,
        no_undo_copy,
        as_user,
        comments,
        commands,
        parameters,
        hours,
        keep_within_s,
        people,
        approvers_exclude_asker,
        person_rate_count,
        person_rate_window_s,
    } = rule;
    let decision = match rule.decision() {
        root::Decision::Allow => "allow",
        root::Decision::Deny => "deny",
        root::Decision::Ask => "ask",
        root::Decision::Unspecified => "nothing",
    };
    let rate = |count: u32, window_s: u64| {
        (count > 0).then(|| format!("{count}/{}", duration(window_s))).into_iter().collect()
    };
    vec![
        ("decision", vec![decision.to_owned()]),
        ("client", vec![client.clone()]),
        ("verbs", verbs.clone()),
        ("packages", packages.clone()),
        ("units", units.clone()),
        ("directories", directories.clone()),
        ("files", files.clone()),
        ("depth", number(u64::from(*depth))),
        ("rate", rate(*rate_count, *rate_window_s)),
        ("people", people.clone()),
        ("person_rate", rate(*person_rate_count, *person_rate_window_s)),
        ("timeout", time(*timeout_s)),
        ("hours", hours.iter().map(window_words).collect()),
        ("keep_within", time(*keep_within_s)),
        ("approval_ttl", time(*approval_ttl_s)),
        ("approvers", number(u64::from(*approvers))),
        ("approvers_exclude_asker", flag(*approvers_exclude_asker)),
        ("versions", versions.clone()),
        ("max_new_packages", number(u64::from(*max_new_packages))),
        ("allow_upgrades", flag(*allow_upgrades)),
        ("allow_removals", flag(*allow_removals)),
        ("allow_downgrades", flag(*allow_downgrades)),
        ("recommends", flag(*recommends)),
        ("allow_cascade", flag(*allow_cascade)),
        ("journal_lines", number(u64::from(*journal_lines))),
        ("max_bytes", number(*max_bytes)),
        ("modes", modes.clone()),
        ("owners", owners.clone()),
        ("groups", groups.clone()),
        ("max_files", number(u64::from(*max_files))),
        ("allow_create", flag(*allow_create)),
        ("sources", sources.clone()),
        ("new_packages", flag(*new_packages)),
        ("lines", lines.clone()),
        ("comments", flag(*comments)),
        ("validate", some(validate)),
        ("keep_for_undo", no_undo_copy.then(|| "false".to_owned()).into_iter().collect()),
        ("as", some(as_user)),
        ("commands", commands.clone()),
        ("params", parameters.iter().map(|p| format!("{}={}", p.name, p.patterns.join("|"))).collect()),
    ]
}

/// Seconds in the largest unit that divides them.
fn duration(seconds: u64) -> String {
    let units = [(24 * 3600, "d"), (3600, "h"), (60, "m")];
    let unit = units.iter().find(|(length, _)| seconds.is_multiple_of(*length));
    unit.map_or_else(|| format!("{seconds}s"), |(length, name)| format!("{}{name}", seconds / length))
}
