//! Every change of files on a real system, in the helper's own unit, and its undo by the client and by an operator.

use postern_tests::{Installed, Output, Release, on_each_release};

on_each_release!(files_are_changed_and_taken_back);

const RULES: &str = r#"
[[rule]]
id = "test-site"
client = "agent"
verbs = ["file.read", "file.list", "file.write", "file.patch", "file.remove", "file.mkdir", "file.set-mode", "file.set-owner", "request.undo"]
directories = ["/srv/site"]
depth = 2
files = ["*"]
modes = ["0644", "0600", "0755"]
owners = ["root", "www-data"]
groups = ["root", "www-data"]
decision = "allow"
justification = "the files of this test"
accept_risk = { "*" = "a test" }
"#;

/// Files as a person left them, among them what no verb may touch.
const FILES: &str = "
mkdir -p /srv/site/pages /srv/site/mounted /srv/site/open
printf 'one\\ntwo\\nthree\\n' > /srv/site/pages/a
printf 'keep me\\n' > /srv/site/pages/b
chown www-data:www-data /srv/site/pages/b
chmod 0600 /srv/site/pages/b
chmod 0777 /srv/site/open
ln -s /etc/shadow /srv/site/pages/link
mount -t tmpfs -o mode=0755 none /srv/site/mounted
useradd --create-home --groups postern-operators oper
";

/// Everything in the directory with type, mode, owner and content.
const TREE: &str = "cd /srv/site/pages && for name in $(ls -A); do stat -c '%n %F %a %U:%G' \"$name\"; \
                    [ ! -f \"$name\" ] || [ -L \"$name\" ] || cat \"$name\"; done";

/// One file changes, one is new, one goes.
const DIFF: &str = "--- a/srv/site/pages/a
+++ b/srv/site/pages/a
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
--- /dev/null
+++ b/srv/site/pages/made
@@ -0,0 +1 @@
+made
--- a/srv/site/pages/b
+++ /dev/null
@@ -1 +0,0 @@
-keep me
";

fn ask(host: &Installed, arguments: &[&str]) -> Output {
    host.visitor(&[&["postern", "--json"], arguments].concat())
}

/// The id of a request that was done.
#[track_caller]
fn done(answer: &Output) -> String {
    let said = answer.json();
    assert_eq!(said["status"], "done", "{answer}");
    said["request_id"].as_str().expect("a request id").to_owned()
}

fn files_are_changed_and_taken_back(release: Release) {
    let host = Installed::on(release);
    let _ = host.shell(FILES).ok();
    host.grant(RULES);
    lists_and_refuses(&host);
    // Only this release's image has chattr(1).
    if release == Release::Bookworm {
        leaves_what_is_immutable(&host);
    }

    let tree = || host.shell(TREE).ok();
    let file = |arguments: &[&str]| ask(&host, &[&["file"], arguments].concat());
    let (a, dir) = ("/srv/site/pages/a", "/srv/site/pages/dir");
    let patch = format!("postern --json file patch <<'END'\n{DIFF}END\n");
    let changes: [&dyn Fn() -> Output; 7] = [
        &|| file(&["write", "/srv/site/pages/new", "--content", "hello"]),
        &|| host.visitor(&["sh", "-c", &patch]),
        &|| file(&["set-mode", a, "0600"]),
        &|| file(&["set-owner", a, "www-data:www-data"]),
        &|| file(&["mkdir", dir, "--mode", "0755"]),
        &|| file(&["set-owner", dir, "www-data"]),
        &|| file(&["remove", a]),
    ];
    let mut states = vec![tree()];
    let mut ids = Vec::new();
    for change in changes {
        ids.push(done(&change()));
        states.push(tree());
        assert_ne!(states[states.len() - 2], states[states.len() - 1]);
    }
    assert!(states[4].contains("a regular file 600 www-data:www-data\none\nTWO\nthree\n"), "{}", states[4]);
    assert!(states[7].contains("dir directory 755 www-data:root\n"), "{}", states[7]);
    assert!(states.iter().all(|state| !state.contains(".postern")), "something temporary is left");

    // The agent takes its own changes back, the last first, and no other way.
    let early = ask(&host, &["undo", &ids[2]]);
    assert_eq!(early.json()["code"], "undo_conflict", "{early}");
    for (id, before) in ids.iter().zip(&states).rev() {
        let _ = done(&ask(&host, &["undo", id]));
        assert_eq!(tree(), *before);
    }

    // An operator takes back a patch, and then that.
    let id = done(&changes[1]());
    let patched = tree();
    let undo = |id: &str| host.run("oper", &["postern-admin", "undo", "--yes", id]).ok();
    let _ = undo(&id);
    assert_eq!(tree(), states[0]);
    let log = host.shell("grep request.undo /var/log/postern/audit.jsonl | tail -1").ok();
    let own = log.split("\"request_id\":\"").nth(1).expect("an id of its own").split('"').next();
    let _ = undo(own.expect("an id of its own"));
    assert_eq!(tree(), patched);
    let _ = host.root(&["postern-admin", "audit", "verify"]).ok();
}

/// An immutable file, which root cannot change either, is left alone and named in the error.
fn leaves_what_is_immutable(host: &Installed) {
    let path = "/srv/site/pages/a";
    let before = host.shell(TREE).ok();
    let _ = host.root(&["chattr", "+i", path]).ok();
    let answers = [
        ask(host, &["file", "write", path, "--content", "x"]),
        ask(host, &["file", "remove", path]),
        ask(host, &["file", "set-mode", path, "0600"]),
    ];
    let _ = host.root(&["chattr", "-i", path]).ok();
    for answer in answers {
        let said = answer.json();
        assert_eq!((&said["status"], &said["code"]), (&"failed".into(), &"special_file".into()), "{answer}");
        assert!(said["message"].as_str().unwrap_or_default().contains("immutable"), "{answer}");
    }
    assert_eq!(host.shell(TREE).ok(), before);
}

/// Lists the directory, and checks refusals in it.
fn lists_and_refuses(host: &Installed) {
    let listed = ask(host, &["file", "list", "/srv/site/pages"]).json();
    let files = listed["result"]["files"].as_array().expect("files").clone();
    let of = |at: usize, key: &str| files[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [of(0, "path"), of(1, "path"), of(2, "path"), of(1, "mode"), of(1, "owner"), of(2, "type")],
        ["/srv/site/pages/a", "/srv/site/pages/b", "/srv/site/pages/link", "0600", "www-data", "symlink"]
    );
    for (arguments, code, word) in [
        (["read", "/srv/site/pages/link"], "special_file", "is a link to"),
        (["remove", "/srv/site/pages/link"], "special_file", "is a link to"),
        (["list", "/srv/site/mounted"], "unsafe_path", "another file system"),
        (["remove", "/srv/site/open/x"], "unsafe_path", "others than root can write"),
        (["mkdir", "/srv/site/none/x"], "directory_missing", "does not exist"),
        (["remove", "/srv/elsewhere"], "no_grant", "no rule grants"),
        (["mkdir", "/etc/sudoers.d"], "protected", "protected"),
    ] {
        let answer = ask(host, &[&["file"], arguments.as_slice()].concat());
        let said = answer.json();
        assert_eq!(said["code"], code, "{answer}");
        assert!(said["message"].as_str().unwrap_or_default().contains(word), "{answer}");
    }
}
