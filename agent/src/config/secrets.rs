//! `[secrets.NAME]`: a secret that a model can use without seeing it, and the calls it may stand in.

use super::values::{AbsolutePath, SecretRef};
use regex::Regex;
use serde::{Deserialize, Serialize};

/// The verbs and the tools whose calls can carry a secret: what is written to a file, and the parameters of a command.
const VERBS: &[&str] = &["file.write", "command.run"];
const TOOLS: &[&str] = &["write_file", "file", "run_command"];

/// One secret's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Where it is kept.
    pub source: SecretRef,
    /// The verbs whose requests it may stand in.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// The tools whose calls it may stand in.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The files it may be written to; `*` is any part of a name, `**` any part of a path.
    #[serde(default)]
    pub paths: Vec<AbsolutePath>,
    /// The parameters of a command that may carry it.
    #[serde(default)]
    pub parameters: Vec<String>,
    /// The hosts that the parameters of a command may name beside it; `*` is any part of a name. Absent = any.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Where a secret would go.
#[derive(Clone, Copy, Debug)]
pub enum Location<'p> {
    /// Into this file.
    File(&'p str),
    /// Into this parameter of a command, beside all of them.
    Command(&'p str, &'p [(&'p str, &'p str)]),
}

impl Row {
    /// # Errors
    /// The row names no call, or one that cannot carry a secret.
    pub fn whole(&self) -> Result<(), String> {
        let known = |given: &[String], known: &[&str]| {
            let unknown = given.iter().find(|word| !known.contains(&word.as_str()));
            unknown.map_or(Ok(()), |word| {
                Err(format!("{word:?} cannot carry a secret: only {} can", known.join(" and ")))
            })
        };
        known(&self.verbs, VERBS)?;
        known(&self.tools, TOOLS)?;
        let names = |word: &str| self.verbs.iter().chain(&self.tools).any(|named| named == word);
        if self.verbs.is_empty() && self.tools.is_empty() {
            return Err("a secret that no call may carry: give verbs or tools".to_owned());
        }
        if (names("command.run") || names("run_command")) && self.parameters.is_empty() {
            return Err("say in parameters which ones of a command may carry the secret".to_owned());
        }
        if (names("file.write") || names("write_file")) && self.paths.is_empty() {
            return Err("say in paths which files the secret may be written to".to_owned());
        }
        Ok(())
    }

    /// # Errors
    /// Why the secret may not go there.
    pub fn may_go(&self, tool: &str, verb: &str, place: Location<'_>) -> Result<(), String> {
        let is_named =
            self.verbs.iter().any(|named| named == verb) || self.tools.iter().any(|named| named == tool);
        if !is_named {
            return Err(format!("its row names neither {verb} nor {tool}"));
        }
        match place {
            Location::File(path) => {
                let is_plain = path.starts_with('/')
                    && !path.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."));
                let fits = self.paths.iter().any(|pattern| fits(&pattern.to_string(), path, "/"));
                if is_plain && fits { Ok(()) } else { Err(format!("its row does not name {path:?}")) }
            }
            Location::Command(name, _) if !self.parameters.iter().any(|known| known == name) => {
                Err(format!("its row does not name the parameter {name:?}"))
            }
            Location::Command(..) if self.hosts.is_empty() => Ok(()),
            Location::Command(_, parameters) => {
                let hosts: Vec<&str> = parameters.iter().filter_map(|(_, text)| host(text)).collect();
                // A secret in a name goes to whoever answers for names.
                let fits = |host: &&str| {
                    !host.contains("{{secret:") && self.hosts.iter().any(|pattern| fits(pattern, host, ""))
                };
                match hosts.iter().find(|host| !fits(host)) {
                    Some(host) => Err(format!("its row does not name the host {host:?}")),
                    None if hosts.is_empty() => Err("no parameter names a host of its row".to_owned()),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The host of a URL, or a text that a program could take for one: a name with a dot, an address, a name with a port. A
/// file's name looks the same; a row that wants such parameters names them too.
fn host(text: &str) -> Option<&str> {
    let is_url = text.contains("://");
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let bare = authority.replace("{{secret:", "").replace("}}", "");
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let has_port = bare.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
    let is_name = (bare.contains('.') || has_port || bare.matches(':').count() > 1)
        && !bare.contains(char::is_whitespace);
    if !is_url && (!is_name || text.starts_with(['/', '.'])) {
        return None;
    }
    let host = authority.rsplit('@').next()?;
    Some(host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(host, _)| host))
}

/// Whether a text fits a pattern: `*` does not go over the separator, `**` does.
fn fits(pattern: &str, text: &str, separator: &str) -> bool {
    let part = if separator.is_empty() { ".*".to_owned() } else { format!("[^{separator}]*") };
    let quoted = regex::escape(pattern).replace(r"\*\*", ".*").replace(r"\*", &part);
    Regex::new(&format!("^(?s:{quoted})$")).is_ok_and(|pattern| pattern.is_match(text))
}
