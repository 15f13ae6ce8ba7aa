//! The offline planner: what it understands, and that it refuses the rest by name.

use postern_agent::offline_planner::plan;
use postern_agent::protocol::tool::Tool;

fn words(task: &str) -> Vec<String> {
    plan(task).unwrap_or_else(|e| panic!("{task}: {e}")).iter().map(Tool::describe).collect()
}

#[test]
fn understands_plain_orders() {
    let vectors: &[(&str, &[&str])] = &[
        ("install nginx-light", &["install nginx-light"]),
        ("Install nginx.", &["install nginx"]),
        ("please install the package nginx", &["install nginx"]),
        ("install nginx and curl", &["install nginx, curl"]),
        ("install nginx, curl and g++", &["install nginx, curl, g++"]),
        ("install the packages nginx, curl, and git please", &["install nginx, curl, git"]),
        ("install nginx=1.22.1-9+deb12u1", &["install nginx=1.22.1-9+deb12u1"]),
        ("install libstdc++6 and start nginx", &["install libstdc++6", "start nginx.service"]),
        (
            "install, enable and start nginx",
            &["install nginx", "enable nginx.service", "start nginx.service"],
        ),
        ("remove telnet and purge exim4", &["remove telnet", "purge exim4"]),
        ("uninstall apache2", &["remove apache2"]),
        ("update", &["update the package lists"]),
        (
            "update the package lists, then upgrade all packages",
            &["update the package lists", "upgrade all packages"],
        ),
        ("upgrade openssl", &["upgrade openssl"]),
        ("restart nginx", &["restart nginx.service"]),
        ("restart the nginx service", &["restart nginx.service"]),
        ("reload nginx.service; stop apache2", &["reload nginx.service", "stop apache2.service"]),
        (
            "stop and disable apache2 and bluetooth",
            &[
                "stop apache2.service",
                "stop bluetooth.service",
                "disable apache2.service",
                "disable bluetooth.service",
            ],
        ),
        ("enable nginx at boot and start it", &["enable nginx.service", "start nginx.service"]),
        ("start apt-daily.timer", &["start apt-daily.timer"]),
        ("start getty@tty2", &["start getty@tty2.service"]),
        ("status of nginx", &["status of nginx.service"]),
        ("show the status of nginx", &["status of nginx.service"]),
        ("restart nginx and show its status", &["restart nginx.service", "status of nginx.service"]),
        ("is nginx running?", &["status of nginx.service"]),
        ("check whether nginx is running", &["status of nginx.service"]),
        ("is nginx running and enabled", &["status of nginx.service"]),
        ("is curl installed", &["show the package curl"]),
        ("make sure nginx is running", &["make sure nginx.service is running"]),
        ("make sure that the nginx service is running now", &["make sure nginx.service is running"]),
        (
            "make sure nginx is installed and running",
            &["make sure nginx is installed", "make sure nginx.service is running"],
        ),
        (
            "ensure nginx and redis are running",
            &["make sure nginx.service is running", "make sure redis.service is running"],
        ),
        ("make sure curl is installed", &["make sure curl is installed"]),
        ("make sure apache2 is not running", &["stop apache2.service"]),
        ("make sure nginx is enabled at boot", &["enable nginx.service"]),
        ("make sure telnetd is not installed", &["remove telnetd"]),
        ("read /etc/hostname", &["read /etc/hostname"]),
        ("show the file /etc/hostname and read /etc/hosts", &["read /etc/hostname", "read /etc/hosts"]),
        ("show package nginx", &["show the package nginx"]),
        ("delete /srv/old.txt", &["remove /srv/old.txt"]),
        ("start nginx\nread /etc/hosts", &["start nginx.service", "read /etc/hosts"]),
        ("install 'start' and 'test'", &["install start, test"]),
        ("Could you please restart nginx for me", &["restart nginx.service"]),
        ("write 'x' to /srv/a and read it", &["write 2 bytes to /srv/a", "read /srv/a"]),
    ];
    for (task, steps) in vectors {
        assert_eq!(words(task), *steps, "{task}");
    }
}

#[test]
fn understands_orders_beyond_the_everyday_ones() {
    let vectors: &[(&str, &[&str])] = &[
        ("mask bluetooth and unmask cups", &["mask bluetooth.service", "unmask cups.service"]),
        ("stop and mask bluetooth", &["stop bluetooth.service", "mask bluetooth.service"]),
        ("make sure bluetooth is stopped and masked", &["stop bluetooth.service", "mask bluetooth.service"]),
        ("make sure cups is not masked", &["unmask cups.service"]),
        (
            "try-restart nginx; reset-failed nginx",
            &["try-restart nginx.service", "reset-failed nginx.service"],
        ),
        ("daemon-reload, then restart nginx", &["let systemd read its units again", "restart nginx.service"]),
        ("reload systemd", &["let systemd read its units again"]),
        ("reload systemd-resolved", &["reload systemd-resolved.service"]),
        ("hold nginx and unhold curl, git", &["hold nginx", "unhold curl, git"]),
        ("autoremove", &["remove the packages that nothing needs any more"]),
        (
            "remove nginx and remove the unused packages",
            &["remove nginx", "remove the packages that nothing needs any more"],
        ),
        ("repair the packages", &["repair the packages"]),
        ("list /etc/nginx and /srv", &["list /etc/nginx", "list /srv"]),
        ("list the files in /srv", &["list /srv"]),
        ("create the directory /srv/x", &["make the directory /srv/x"]),
        (
            "mkdir /srv/x and write 'a' to /srv/x/a",
            &["make the directory /srv/x", "write 2 bytes to /srv/x/a"],
        ),
        ("set the mode of /srv/x to 640", &["set the mode of /srv/x to 0640"]),
        (
            "write 'a' to /srv/x and set the mode of it to 0600",
            &["write 2 bytes to /srv/x", "set the mode of /srv/x to 0600"],
        ),
        ("set the owner of the file /srv/x to www-data:adm", &["set the owner of /srv/x to www-data:adm"]),
        (
            "apply the patch '--- a/srv/x\n+++ b/srv/x\n@@ -1 +1 @@\n-a\n+b' and restart nginx",
            &["patch /srv/x", "restart nginx.service"],
        ),
        ("undo the last change", &["undo the last change"]),
        ("undo 019AAAAA-0000 and restart nginx", &["undo 019aaaaa-0000", "restart nginx.service"]),
    ];
    for (task, steps) in vectors {
        assert_eq!(words(task), *steps, "{task}");
    }
}

#[test]
fn understands_the_main_job() {
    let task = "install nginx-light, write 'hello from postern' to /var/www/html/index.html and make sure nginx is running";
    let content = "hello from postern\n".to_owned();
    let steps = vec![
        Tool::PkgInstall { name: "nginx-light".into() },
        Tool::WriteFile { path: "/var/www/html/index.html".into(), content },
        Tool::EnsureRunning { name: "nginx.service".into() },
    ];
    assert_eq!(plan(task), Ok(steps));
}

#[test]
fn keeps_quoted_text_as_it_stands() {
    let vectors = [
        ("write 'a, b and c; then d' to /srv/x", "a, b and c; then d\n"),
        ("write \"it's fine\" to /srv/x", "it's fine\n"),
        ("write 'it's fine' to /srv/x", "it's fine\n"),
        ("write 'say \"stop nginx\"' into the file /srv/x", "say \"stop nginx\"\n"),
        ("write “smart, quotes” to /srv/x", "smart, quotes\n"),
        ("write ‘it’s’ to /srv/x", "it’s\n"),
        ("write „unten, oben“ to /srv/x", "unten, oben\n"),
        ("write «entre, eux» to /srv/x", "entre, eux\n"),
        ("write `a\\nb` to /srv/x", "a\\nb\n"),
        ("write 'one\ntwo\n' to /srv/x", "one\ntwo\n"),
        ("write '' to /srv/x", ""),
        ("write the text '  padded ' to /srv/x", "  padded \n"),
        ("write hello to /srv/x", "hello\n"),
        ("write hello from postern to /srv/x", "hello from postern\n"),
        ("write  two  blanks to /srv/x", "two  blanks\n"),
        ("put 'x' in /srv/x", "x\n"),
        ("create /srv/x with 'x'", "x\n"),
        ("create the file /srv/x with the content 'x'", "x\n"),
        ("write '.' to '/srv/x'", ".\n"),
    ];
    for (task, content) in vectors {
        let step = Tool::WriteFile { path: "/srv/x".into(), content: content.into() };
        assert_eq!(plan(task), Ok(vec![step]), "{task}");
    }
    assert_eq!(
        words("write 'a' to /srv/a and 'b' to /srv/b"),
        ["write 2 bytes to /srv/a", "write 2 bytes to /srv/b"]
    );
}

#[test]
fn refuses_and_names_what_it_does_not_understand() {
    let vectors = [
        ("frobnicate the widget", "frobnicate the widget"),
        ("install nginx, frobnicate the widget", "frobnicate the widget"),
        ("install nginx and reboot", "reboot"),
        ("install nginx then curl", "curl"),
        ("install nginx. Curl too", "Curl too"),
        ("install nginx but do not start it", "nginx but do not start it"),
        ("don't install nginx", "don't install nginx"),
        ("do not install nginx", "do not install nginx"),
        ("never stop nginx", "never stop nginx"),
        ("install nginx quickly", "nginx quickly"),
        ("install nginx curl", "nginx curl"),
        ("install", "install"),
        ("stop nginx if it is broken", "nginx if it is broken"),
        ("start nginx at boot", "at boot"),
        ("update nginx", "update nginx"),
        ("update packages", "update packages"),
        ("upgrade", "upgrade"),
        ("show nginx", "show nginx"),
        ("install nginx-light and make sure it is running", "it is running"),
        ("start it", "start it"),
        ("make sure nginx is fast", "is fast"),
        ("make sure nginx is running on port 80", "on port 80"),
        ("install ../nginx", "install ../nginx"),
        ("install nginx-", "install nginx-"),
        ("install --force nginx", "--force nginx"),
        ("install -y", "install -y"),
        ("install x.deb/../../y", "install x.deb/../../y"),
        ("restart ../nginx", "restart ../nginx"),
        ("restart nginx*", "restart nginx*"),
        ("read hosts", "read hosts"),
        ("write 'x' to index.html", "index.html"),
        ("write 'x'", "'x'"),
        ("write hello and goodbye to /srv/x", "hello"),
        ("write 'x' to /srv/x with mode 0644", "with mode 0644"),
        ("write 'never closed to /srv/x", "'never closed to /srv/x"),
        ("run rm -rf /", "run rm -rf /"),
        ("install nginx && rm -rf /", "rm -rf /"),
        ("install nginx; rm -rf /", "rm -rf /"),
        ("make sure it is running", "it is running"),
        ("", ""),
        ("  , and then .", ", and then ."),
        ("undo", "undo"),
        ("apply the patch", "patch"),
        ("apply the patch in /srv/x.diff", "in /srv/x.diff"),
        ("apply the patch 'hello'", "'hello'"),
        ("apply the settings", "apply the settings"),
        ("undo it", "undo it"),
        ("undo bad", "undo bad"),
        ("undo the last two changes", "undo the last two changes"),
        ("list packages", "packages"),
        ("set the mode of /srv/x", "/srv/x"),
        ("set the mode of /srv/x to 0999", "0999"),
        ("set the mode of /srv/x to u+s", "u+s"),
        ("set the owner of /srv/x to a:b:c", "a:b:c"),
        ("set swappiness to 10", "set swappiness to 10"),
        ("mkdir srv", "srv"),
        ("mask ../x", "mask ../x"),
        ("repair nginx", "repair nginx"),
    ];
    for (task, words) in vectors {
        match plan(task) {
            Ok(steps) => panic!("{task:?} became {steps:?}"),
            Err(why) => assert_eq!(why.words, words, "{task:?}: {why}"),
        }
    }
}

#[test]
fn refuses_more_steps_than_a_task_has() {
    let task = vec!["start nginx"; 25].join("; ");
    assert_eq!(plan(&task).map(|steps| steps.len()), Ok(25));
    assert!(plan(&format!("{task}; start nginx")).is_err());
}

#[test]
fn shows_steps_as_tools_with_exact_arguments() {
    let json = |task: &str| serde_json::to_value(plan(task).unwrap()).unwrap();
    assert_eq!(
        json("install nginx, restart nginx and read /etc/hosts"),
        serde_json::json!([
            { "tool": "pkg_install", "args": { "name": "nginx" } },
            { "tool": "service", "args": { "action": "restart", "name": "nginx.service" } },
            { "tool": "read_file", "args": { "path": "/etc/hosts" } },
        ])
    );
    assert_eq!(
        json("remove nginx, mask nginx and undo the last change"),
        serde_json::json!([
            { "tool": "package", "args": { "action": "remove", "names": ["nginx"] } },
            { "tool": "service", "args": { "action": "mask", "name": "nginx.service" } },
            { "tool": "undo", "args": { "request_id": "last" } },
        ])
    );
    let content = "x\n";
    assert_eq!(
        json("write 'x' to /srv/x"),
        serde_json::json!([{ "tool": "write_file", "args": { "path": "/srv/x", "content": content } }])
    );
}

#[test]
fn takes_hostile_text_without_a_panic() {
    let pieces =
        ["'", "\"", "“", "’", " ", ",", ".", "…", "to", "/", "write", "é", "\u{202e}", "it", "is", "\n", "="];
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut task = String::new();
        for _ in 0..8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            task.push_str(pieces[usize::try_from(seed >> 33).unwrap() % pieces.len()]);
        }
        let _ = plan(&task);
    }
}

#[test]
fn refuses_what_could_be_meant_otherwise() {
    for task in [
        "read /etc/hosts and save it to /srv/hosts",
        "put the config in /etc/nginx/nginx.conf",
        "save a copy of /etc/fstab to /etc/fstab.bak",
        "write /etc/a to /etc/b",
        "put the line '10.0.0.1 db' in /etc/hosts",
        "remove the service nginx",
        "hold the service nginx",
        "mask the package nginx",
        "remove the nginx unit",
        "stop the package nginx",
        "delete the file nginx",
        "read /etc/a and /etc/b and write 'x' to it",
        "install nginx and curl, then remove it",
        "stop nginx and apache2 and start it",
        "make sure redis and nginx are not installed and enabled",
        "make sure redis is not installed and running",
        "restart nginx and its",
        "start now",
        "stop everything",
        "remove nginx and them",
        "remove /srv/..",
        "write 'x' to /srv/..",
        "remove /srv/a/...",
        "write 'x' to /srv/../etc/passwd",
        "read /srv//a",
    ] {
        assert!(plan(task).is_err(), "{task}: {:?}", plan(task));
    }
    for task in [
        "remove the package nginx",
        "remove the file /srv/a",
        "delete /srv/a.",
        "stop the nginx service",
        "install the nginx service",
        "install nginx and curl, then remove them",
        "read /etc/a and write 'x' to it",
        "make sure nginx is not running and not enabled",
        "write hello world to /srv/a",
        "write the text 'x' to /srv/a",
        "write 'it' to /srv/a",
        "is nginx running?",
    ] {
        assert!(plan(task).is_ok(), "{task}: {:?}", plan(task));
    }
}

#[test]
fn a_task_of_too_many_steps_is_refused_before_they_are_made() {
    let verbs = "stop, ".repeat(300);
    let names = "ab,".repeat(300);
    assert!(plan(&format!("{verbs}stop {names}ab")).is_err());
    assert!(plan(&format!("make sure {names}ab is running and enabled and installed")).is_err());
    assert!(plan(&"stop a, ".repeat(100_000)).is_err());
}
