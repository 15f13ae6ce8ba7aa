//! Which commands count as requests to the helper, about which nobody is asked, and which run as files in the sandbox.

use postern_agent::shell_policy::{Level, Rules};

fn effective(command: &str) -> Level {
    Rules::builtin().unwrap().judge(command).effective()
}

#[test]
fn asks_about_a_file_that_only_has_the_name_of_a_shim() {
    for command in [
        "./sudo x",
        "/srv/up/apt-get update",
        "/usr/bin/apt-get -c ./f update",
        "/usr/bin/systemctl restart nginx",
        "bin/dpkg --configure -a",
        "./sudo systemctl restart nginx",
        "env ./sudo apt-get update",
        "sh -c './sudo apt-get update'",
        "timeout 5 ./apt-get update",
        "~/sudo apt-get update",
        "$X/sudo apt-get update",
        // The shim starts the file itself where the work needs no root.
        "sudo /srv/up/cat f",
        "sudo /srv/up/rm f",
        "sudo ./apt-get update",
        "sudo /usr/bin/../../srv/up/rm f",
    ] {
        assert_eq!(effective(command), Level::Confirm, "{command}");
    }
}

#[test]
fn asks_where_the_shims_are_not_the_first_that_a_name_finds() {
    for command in [
        "env -i apt-get -c ./f update",
        "env --ignore-environment apt-get update",
        "env -u PATH apt-get update",
        "command -p apt-get -c ./f update",
        "exec -c apt-get update",
        "PATH=. sudo apt-get update",
        "PATH=.; sudo apt-get update",
        "export PATH=.; apt-get update",
        "for PATH in .; do sudo apt-get update; done",
        "for PATH do apt-get update; done",
        "env PATH=. apt-get update",
        "alias sudo=./x; sudo apt-get update",
        "hash -p ./x sudo; sudo apt-get update",
        "bash -lc 'apt-get update'",
        "read PATH; apt-get update",
        "unset PATH; apt-get update",
    ] {
        assert_eq!(effective(command), Level::Confirm, "{command}");
    }
}

#[test]
fn asks_about_wrappers_that_become_root_by_themselves() {
    for command in ["doas rm f", "pkexec rm f", "su -c 'rm f'", "chroot /x rm f", "unshare rm f"] {
        assert_eq!(effective(command), Level::Confirm, "{command}");
    }
}

#[test]
fn asks_nobody_about_what_the_shims_translate() {
    for command in [
        "sudo apt-get update",
        "'sudo' apt-get update",
        "sudo /usr/bin/apt-get update",
        "apt-get install -y nginx",
        "env DEBIAN_FRONTEND=noninteractive apt-get install -y nginx",
        "timeout 60 sudo systemctl restart nginx",
        "sh -c 'systemctl restart nginx'",
        "for unit in a b; do systemctl restart $unit; done",
        "sudo sh -c 'echo x > /etc/f'",
    ] {
        assert_eq!(effective(command), Level::Safe, "{command}");
    }
}

#[test]
fn judges_the_whole_command_of_find_exec() {
    for (command, level) in [
        ("find . -exec rm + -rf /etc \\;", Level::Block),
        ("find . -execdir rm + -rf /etc \\;", Level::Block),
        ("find . -ok rm {} + -rf /etc \\;", Level::Block),
        ("find . -exec rm -rf + / ';'", Level::Block),
        ("find . -exec echo {} + -exec rm -rf /etc \\;", Level::Block),
        ("find . -exec echo $X -exec rm -rf /etc \\;", Level::Block),
        ("find . -exec echo a{}b + -exec rm -rf /etc \\;", Level::Block),
        ("find . -exec rm -rf {} +", Level::Confirm),
        ("find . -exec cat {} + -o -name x", Level::Confirm),
    ] {
        assert_eq!(effective(command), level, "{command}");
    }
}
