//! Example command lines for the manual pages: at least one for every command, each understood by its program's grammar.

use clap::Command;
use postern_policy::VerbId;

/// Examples of `postern`.
pub const POSTERN: &[&str] = &[
    "postern run 'install nginx-light and make sure nginx is running'",
    "postern run --at 'daily 02:00' 'upgrade all packages'",
    "postern plan 'mask bluetooth'",
    "postern tasks list",
    "postern tasks show 019ab3",
    "postern tasks answer 019ab3 yes",
    "postern tasks resume 019ab3",
    "postern tasks cancel 019ab3",
    "postern tasks",
    "postern schedule",
    "postern schedule list",
    "postern schedule show 3f2a",
    "postern schedule pause 3f2a",
    "postern schedule resume 3f2a",
    "postern schedule remove 3f2a",
    "postern schedule run-now 3f2a",
    "postern runbook",
    "postern runbook list",
    "postern runbook show nginx-502",
    "postern runbook check unit-fails unit=nginx.service",
    "postern runbook from-task 019ab3",
    "postern runbook run unit-fails unit=nginx.service",
    "postern kb add /srv/notes/backup.md",
    "postern kb list",
    "postern kb remove backup.md",
    "postern kb search 'how is the backup made'",
    "postern kb status",
    "postern insights --since 30d",
    "postern package install nginx-light",
    "postern package remove nginx-light",
    "postern package purge nginx-light",
    "postern package autoremove",
    "postern package update",
    "postern package upgrade openssl libssl3",
    "postern package hold nginx-light",
    "postern package unhold nginx-light",
    "postern package repair",
    "postern package show nginx-light",
    "postern service status nginx --lines 20",
    "postern service start nginx",
    "postern service stop nginx",
    "postern service restart nginx",
    "postern service reload nginx",
    "postern service try-restart nginx",
    "postern service reset-failed nginx",
    "postern service enable nginx --now",
    "postern service disable nginx",
    "postern service mask bluetooth",
    "postern service unmask bluetooth",
    "postern service daemon-reload",
    "postern host reboot --delay 5m",
    "postern host reboot --cancel",
    "postern file read /etc/nginx/nginx.conf",
    "postern file list /var/www/html",
    "postern file write /var/www/html/index.html --content '<p>open'",
    "postern file patch --from site.diff",
    "postern file edit /etc/nginx/conf.d/site.conf",
    "postern file remove /var/www/html/old.html",
    "postern file mkdir /var/www/html/img",
    "postern file set-mode /var/www/html/index.html 0644",
    "postern file set-owner /var/www/html/img www-data:www-data",
    "postern command logs-journal-vacuum-size keep=200M",
    "postern can package install nginx-light",
    "postern undo last",
    "postern undo --task 019ab3",
    "postern keep 019ab3f0",
    "postern result 019ab3f0",
    "postern health",
    "postern doctor",
    "postern config check",
    "postern config show",
    "postern model read --corpus replies.jsonl",
    "postern model test",
    "postern shell check 'rm -rf /srv/cache'",
    "postern shell rules",
    "postern shell run 'du -sh /var/log'",
    "postern mcp",
    "postern mcp install claude",
    "postern exec -- ansible-playbook site.yml",
    "postern serve",
];

/// Examples of `postern-admin`.
pub const ADMIN: &[&str] = &[
    "postern-admin init",
    "postern-admin policy check",
    "postern-admin policy check ./policy --facts facts.json --sarif",
    "postern-admin policy facts",
    "postern-admin policy apply",
    "postern-admin policy diff accepted",
    "postern-admin policy explain unit.reload nginx",
    "postern-admin policy report --format html",
    "postern-admin policy suggest --since 7d",
    "postern-admin policy rehearse 'reload nginx'",
    "postern-admin policy sign-off --note CHG-7",
    "postern-admin pack list",
    "postern-admin pack show web-nginx",
    "postern-admin pack add web-nginx --set root=/srv/shop",
    "postern-admin pack remove web-nginx",
    "postern-admin pack diff web-nginx",
    "postern-admin pack update",
    "postern-admin status",
    "postern-admin doctor",
    "postern-admin metrics --output /var/lib/prometheus/node-exporter/postern.prom",
    "postern-admin backup /root/postern.backup",
    "postern-admin restore /root/postern.backup",
    "postern-admin pending",
    "postern-admin show 4f1c",
    "postern-admin approve 4f1c",
    "postern-admin deny 4f1c",
    "postern-admin watch",
    "postern-admin pause --reason 'an incident'",
    "postern-admin resume",
    "postern-admin undo --since 2h",
    "postern-admin audit show --since 1h --decision deny",
    "postern-admin audit summary --since 7d",
    "postern-admin audit export --format cef",
    "postern-admin audit verify --key key.txt",
    "postern-admin audit keygen",
];

/// The examples of a command by its words, such as `postern package install`. A command with subcommands has those that
/// name none of them.
#[must_use]
pub fn of(all: &'static [&'static str], words: &str, command: &Command) -> Vec<&'static str> {
    let is_its = |line: &&&str| {
        let rest = line.strip_prefix(words).filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let next = rest.map(|rest| rest.split_whitespace().next().unwrap_or_default());
        next.is_some_and(|next| command.find_subcommand(next).is_none())
    };
    all.iter().filter(is_its).copied().collect()
}

/// How a person asks for a verb; none for the agent's own.
#[must_use]
pub fn of_verb(verb: VerbId) -> Option<&'static str> {
    let name = verb.name();
    let words = match name {
        "command.run" => "postern command ".to_owned(),
        "policy.describe" => "postern can ".to_owned(),
        "agent.note" => return None,
        _ => match name.split_once('.') {
            Some(("unit", action)) => format!("postern service {action}"),
            Some(("request", action)) => format!("postern {action}"),
            Some((noun, action)) => format!("postern {noun} {action}"),
            None => return None,
        },
    };
    POSTERN.iter().copied().find(|line| line.starts_with(&words))
}

/// An example as words, quoted as a shell has them: by `'` or not at all.
///
/// # Panics
/// For a quote that is not closed.
#[must_use]
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    assert!(line.matches('\'').count().is_multiple_of(2), "{line}");
    words
}
