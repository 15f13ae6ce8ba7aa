//! Commands that a rule may run, or that check what it writes.

use super::gather::SOCKETS;
use super::glob::matches;
use super::grant::{Grant, LintFinding, shorten};
use super::input::Input;
use super::reach::{self, HARMLESS, is_below};
use super::table::{self, CAPABILITIES, ENVIRONMENT, ESCAPING, PROGRAMS, lists};
use crate::finding::Class;
use postern_policy::VerbId;
use postern_proto::root::v1::{Command, Parameter, ParameterKind, Sandbox};

/// Sockets over which everybody may ask something, and root anything.
const OPEN_SOCKETS: [&str; 3] = ["/run/dbus/system_bus_socket", "/run/snapd.socket", "/run/systemd/private"];

/// Why a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The client asks for it.
    Requested,
    /// It checks what the client writes.
    Validator,
}

/// A command and the rule by which it runs.
struct GrantedCommand<'a> {
    rule: &'a Grant<'a>,
    command: &'a Command,
    role: Role,
    /// The rules by which files are written.
    writers: &'a [&'a Grant<'a>],
}

pub(super) fn check<'a>(input: &Input<'a>, rules: &'a [Grant<'a>], found: &mut Vec<LintFinding>) {
    if input.rules.commands.is_empty() {
        return;
    }
    let writers: Vec<_> = rules.iter().filter(|rule| rule.writes()).collect();
    for rule in rules {
        for command in &input.rules.commands {
            let is_asked = rule.has_verb(&[VerbId::CommandRun])
                && rule.rule.commands.iter().any(|name| matches(name, &command.name));
            let role = match (is_asked, rule.rule.validate == command.name) {
                (true, _) => Role::Requested,
                (false, true) => Role::Validator,
                (false, false) => continue,
            };
            let granted = GrantedCommand { rule, command, role, writers: &writers };
            granted.identity(found);
            granted.arguments(found);
            granted.environment(found);
            granted.paths(found);
            granted.sockets(found);
        }
    }
}

impl GrantedCommand<'_> {
    fn add(&self, id: &'static str, class: Class, what: &str, how: &str, found: &mut Vec<LintFinding>) {
        let name = &self.command.name;
        let what = match self.role {
            Role::Requested => format!("run command {name}, {what}"),
            Role::Validator => format!("have validator {name} read what it writes, {what}"),
        };
        found.push(self.rule.finding(id, class, name, &what, how));
    }

    fn program(&self) -> &str {
        self.command.argv.first().map_or("", String::as_str)
    }

    /// As whom it runs, and how confined.
    fn identity(&self, found: &mut Vec<LintFinding>) {
        if self.command.user == "root" {
            match self.role {
                Role::Requested => {
                    let how = "every bug in it runs as root";
                    self.add("command-as-root", Class::Code, "which runs as root", how, found);
                }
                Role::Validator => {
                    let how = "a parser of root then reads what the agent wrote: give it another user if it can do without";
                    self.add("validator-as-root", Class::Combined, "which runs as root", how, found);
                }
            }
        }
        if self.command.sandbox() == Sandbox::None {
            let how = "it sees and reaches everything that its user does";
            // Names and numbers say little to a program; free text may be an order.
            let is_free = self.chosen().iter().any(|parameter| is_free(parameter.kind()));
            let class = if is_free { Class::Code } else { Class::Combined };
            self.add("command-without-sandbox", class, "which runs without a sandbox", how, found);
        }
        // A validator may own its scratch files: it can write nothing else.
        let is_strong = |name: &&String| {
            lists(CAPABILITIES, name) || (self.role == Role::Requested && name.as_str() == "CAP_CHOWN")
        };
        let strong: Vec<_> = self.command.capabilities.iter().filter(is_strong).cloned().collect();
        if !strong.is_empty() {
            let what = format!("which has {}", shorten(&strong));
            // The sandbox is read-only, without devices, other processes or new mounts: it leaves these their power.
            let escapes = |name: &String| lists(ESCAPING, name);
            let is_open = self.command.sandbox() == Sandbox::None || strong.iter().any(escapes);
            let (class, how) = if is_open {
                (Class::Code, "such a capability is equivalent to root")
            } else {
                (
                    Class::Combined,
                    "such a capability is equivalent to root as far as the sandbox lets it reach",
                )
            };
            self.add("command-capabilities", class, &what, how, found);
        }
    }

    /// The parameters in its arguments that the client chooses.
    fn chosen(&self) -> Vec<&Parameter> {
        let is_used = |parameter: &&Parameter| {
            let form = format!("{{{}}}", parameter.name);
            self.command.argv.iter().any(|argument| argument.contains(&form))
        };
        let is_bounded = |parameter: &Parameter| {
            matches!(
                parameter.kind(),
                ParameterKind::Enum
                    | ParameterKind::Int
                    | ParameterKind::Size
                    | ParameterKind::Port
                    | ParameterKind::Timezone
            )
        };
        let is_chosen = |parameter: &&Parameter| {
            is_used(parameter) && !is_bounded(parameter) && !self.is_listed(parameter)
        };
        self.command.parameters.iter().filter(is_chosen).collect()
    }

    /// The arguments that the client chooses.
    fn arguments(&self, found: &mut Vec<LintFinding>) {
        let used = self.chosen();
        let of = |wanted: fn(ParameterKind) -> bool| used.iter().find(|parameter| wanted(parameter.kind()));
        let base = self.program().rsplit('/').next().unwrap_or_default();
        if lists(PROGRAMS, base) {
            let how = format!("{base} runs programs or writes files as its arguments say");
            let written = used.iter().find(|parameter| self.is_written(parameter));
            if let Some(free) = of(is_free).or(written) {
                let what = match free.kind() {
                    ParameterKind::Path => format!("with a file that the agent writes as {:?}", free.name),
                    _ => format!("with any text as {:?}", free.name),
                };
                self.add("program-runs-programs", Class::Code, &what, &how, found);
            } else if let Some(named) = of(is_name) {
                let what = match named.kind() {
                    ParameterKind::Path => {
                        format!("with a path below {} as {:?}", named.directories.join(" or "), named.name)
                    }
                    _ => format!("with a name of its choice as {:?}", named.name),
                };
                self.add("program-takes-names", Class::Combined, &what, &how, found);
            }
        } else if let Some(text) = of(|kind| kind == ParameterKind::Text) {
            let what = format!("with any text as {:?}", text.name);
            let how = format!(
                "whether {base} takes such a text for an option or an order, this policy cannot know"
            );
            self.add("free-text-argument", Class::Combined, &what, &how, found);
        }
        for parameter in used.iter().filter(|parameter| parameter.kind() == ParameterKind::Path) {
            if let Some(directory) =
                parameter.directories.iter().find(|place| parameter.unchecked || !is_below(place, &HARMLESS))
            {
                let what = format!("with a path below {directory} as {:?}", parameter.name);
                let how = format!("what {base} does with a file of the host is not bounded by any file rule");
                self.add("path-argument", Class::Combined, &what, &how, found);
            }
        }
    }

    /// Whether the rule lists the parameter's values one by one, so that the client chooses nothing else.
    fn is_listed(&self, parameter: &Parameter) -> bool {
        let mut grants = self.rule.rule.parameters.iter().filter(|grant| grant.name == parameter.name);
        let is_literal = |patterns: &Vec<String>| patterns.iter().all(|pattern| !pattern.contains('*'));
        grants.any(|grant| !grant.patterns.is_empty() && is_literal(&grant.patterns))
    }

    /// Whether a rule writes files that this parameter can name.
    fn is_written(&self, parameter: &Parameter) -> bool {
        let is_here = |directory: &String| {
            let everything = format!("{directory}/*");
            self.writers.iter().any(|rule| reach::from(rule.rule, &everything).is_some())
        };
        let is_of_host = parameter.kind() == ParameterKind::Path && !parameter.unchecked;
        is_of_host && parameter.directories.iter().any(is_here)
    }

    /// Sockets of daemons that do whatever they are told, as root.
    fn sockets(&self, found: &mut Vec<LintFinding>) {
        let real = |path: &str| path.replacen("/var/run/", "/run/", 1);
        let is_root = |path: &&String| {
            let path = real(path);
            let is_part = |known: &&&str| is_below(&path, &[**known]) || is_below(known, &[path.as_str()]);
            SOCKETS.iter().chain(&OPEN_SOCKETS).any(|known| is_part(&known))
        };
        if let Some(path) = self.command.sockets.iter().find(is_root) {
            let what = format!("which connects to {path}");
            let how = "the daemon behind it does as root what it is told: the arguments alone bound that";
            self.add("command-socket", Class::Combined, &what, how, found);
        }
    }

    /// Variables that choose code.
    fn environment(&self, found: &mut Vec<LintFinding>) {
        let chooses = |setting: &&String| {
            let name = setting.split('=').next().unwrap_or_default();
            lists(ENVIRONMENT, name)
        };
        if let Some(setting) = self.command.env.iter().find(chooses) {
            let what = format!("with {setting} in its environment");
            let how = "that variable decides which code the program loads or runs";
            self.add("command-environment", Class::Code, &what, how, found);
        }
    }

    /// Programs and inputs in directories that others can write, and directories that it may write itself.
    fn paths(&self, found: &mut Vec<LintFinding>) {
        let mut read: Vec<String> =
            self.command.argv.iter().filter(|argument| argument.starts_with('/')).cloned().collect();
        let cwd = self.command.cwd.as_str();
        if !matches!(cwd, "" | "/") {
            read.push(format!("{cwd}/**"));
        }
        for path in read {
            let writer = self.writers.iter().find_map(|rule| Some((rule, reach::from(rule.rule, &path)?)));
            let what = format!("which uses {path}");
            if let Some((writer, directory)) = writer {
                let how = format!("{} writes there, below {directory}", writer.name());
                let before = found.len();
                self.add("writable-program", Class::Code, &what, &how, found);
                found[before..].iter_mut().for_each(|finding| finding.rules.push(writer.index));
            } else if path == self.program() && is_below(&path, &HARMLESS) {
                let how = "that is a place for files of users and services, which may change it";
                self.add("writable-program", Class::Code, &what, how, found);
            }
        }
        let everything = ["*".to_owned()];
        for row in table::writes() {
            let reached = |place: &&String| {
                row.paths.iter().any(|entry| reach::reaches(place, u32::MAX, &everything, entry))
            };
            if let Some(place) = self.command.write.iter().find(reached) {
                let what = format!("which may write below {place}");
                self.add("command-writes", Class::Combined, &what, row.how, found);
                return;
            }
        }
    }
}

/// Kinds whose values say nearly anything.
fn is_free(kind: ParameterKind) -> bool {
    matches!(kind, ParameterKind::Text | ParameterKind::Secret | ParameterKind::Unspecified)
}

/// Kinds whose values are names that the client chooses.
fn is_name(kind: ParameterKind) -> bool {
    matches!(
        kind,
        ParameterKind::Name
            | ParameterKind::Path
            | ParameterKind::User
            | ParameterKind::Group
            | ParameterKind::Hostname
            | ParameterKind::Domain
            | ParameterKind::Ip
            | ParameterKind::Cidr
            | ParameterKind::Package
            | ParameterKind::Unit
    )
}
