//! Where a version comes from. The answers are those of apt 2.6 and 3.0.

use std::fs;

use crate::support::{World, transaction};
use postern_proto::link::Kind;

const DEB822: &str = "# ours\nTypes: deb deb-src\nURIs: https://deb.example.org/debian\nSuites: stable\nSigned-By: /usr/share/keyrings/a.gpg\n\nTypes: deb\nEnabled: no\nURIs: https://off.example.org/\nSuites: ./\n";

/// A machine with three configured indexes, two of them in `one.sources`, and this file as the first.
fn world(file: &str, table: &str) -> World {
    let world = World::new(Vec::new());
    let one = world.path("one.sources");
    fs::write(&one, file).unwrap();
    let two = world.path("two.list");
    fs::write(&two, "# x\ndeb [ arch=amd64 signed-by=/etc/apt/keyrings/b.asc ] http://b.example.org/x ./\n")
        .unwrap();
    let (one, two) = (one.display(), two.display());
    world.script(
        "apt-get",
        &format!(
            "case $1 in
             indextargets) printf '%s\\t%s\\t%s\\n' \
                 {one}:1 https://deb.example.org/debian 'https://deb.example.org/debian stable/main amd64 Packages' \
                 {one}:1 https://deb.example.org/debian 'https://deb.example.org/debian stable/contrib amd64 Packages' \
                 {two}:2 http://b.example.org/x 'http://b.example.org/x ./ Packages' ;;
             *) echo 'Inst hello (2 Debian:12/stable [amd64])' ;;
             esac"
        ),
    );
    world.script("apt-cache", &format!("case $1 in policy) cat <<'END'\n{table}\nEND\n;; esac"));
    world
}

/// Sources that the probe reports for the version, without the test directory's name.
fn sources(world: &World) -> Vec<String> {
    let reply = world.probe(Kind::ProbePackages, &transaction("package.install", &["hello"]));
    let directory = world.path("").display().to_string();
    reply.packages().steps[0].sources.iter().map(|source| source.replace(&directory, "")).collect()
}

const ONE: &str = "hello:
  Installed: (none)
  Candidate: 2
  Version table:
     2 500
        500 https://deb.example.org/debian stable/main amd64 Packages
     1 500
        500 http://b.example.org/x ./ Packages
 *** 0.9 100
        100 /var/lib/dpkg/status";

#[test]
fn ties_a_version_to_the_configured_entry_and_not_to_a_label() {
    let world = world(DEB822, ONE);
    assert_eq!(sources(&world), ["one.sources:1 https://deb.example.org/debian /usr/share/keyrings/a.gpg"]);
    let argv = world.noted("apt-cache", "argv").join(" ");
    assert!(argv.contains("policy -o APT::Cmd::Pattern-Only=true -- hello:native"), "{argv}");
    assert!(world.noted("apt-get", "argv").contains(&"Created-By: Packages".to_owned()));
}

#[test]
fn names_every_source_that_offers_the_same_version() {
    let both = ONE.replace("     1 500\n", "");
    let world = world(DEB822, &both);
    assert_eq!(
        sources(&world),
        [
            "one.sources:1 https://deb.example.org/debian /usr/share/keyrings/a.gpg",
            "two.list:2 http://b.example.org/x /etc/apt/keyrings/b.asc"
        ]
    );
    // Also where apt takes the two for different packages of one version.
    let twice = ONE.replace("     1 500\n", "     2 500\n");
    assert_eq!(sources(&self::world(DEB822, &twice)).len(), 2);
}

#[test]
fn names_no_source_where_one_of_them_is_unknown() {
    for table in [
        "",
        &ONE.replace("hello:", "hello:i386:"),
        &ONE.replace("hello:", "hell:"),
        &ONE.replace("     2 500", "     3 500"),
        &ONE.replace("stable/main", "stable/other"),
        // One that is known and one that is not.
        &ONE.replace("     1 500\n", "").replace("http://b.example.org/x ./", "http://c.example.org/x ./"),
    ] {
        assert!(sources(&world(DEB822, table)).is_empty(), "{table}");
    }
}

#[test]
fn names_keys_only_where_every_entry_of_the_file_does() {
    let keys = |file: &str| sources(&world(file, ONE))[0].rsplit_once(' ').unwrap().1.to_owned();
    let two = "\n\nTypes: deb\nURIs: https://x.example.org/\nSuites: ./\n";
    for (file, wanted) in [
        (DEB822.to_owned(), "/usr/share/keyrings/a.gpg"),
        (format!("{DEB822}{two}Signed-By: /b.gpg\n"), "/b.gpg,/usr/share/keyrings/a.gpg"),
        (format!("{DEB822}{two}signed-by:\n /b.gpg,\n /c.gpg\n"), "/b.gpg,/c.gpg,/usr/share/keyrings/a.gpg"),
        (format!("{DEB822}{two}"), "-"),
        (format!("{DEB822}{two}").replace("\n\n", "\n \n"), "-"),
        (DEB822.replace("Enabled: no\n", ""), "-"),
        (DEB822.replace("Signed-By:", "#Signed-By:"), "-"),
        (DEB822.replace("/usr/share/keyrings/a.gpg", "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n x"), "-"),
        (DEB822.replacen("Suites:", "Trusted: yes\nSuites:", 1), "-"),
        (DEB822.replacen("Suites:", "Allow-Insecure: 1\nSuites:", 1), "-"),
        (DEB822.replacen("Suites:", "trusted: no\nSuites:", 1), "/usr/share/keyrings/a.gpg"),
        (String::new(), "-"),
    ] {
        assert_eq!(keys(&file), wanted, "{file}");
    }
}

#[test]
fn keys_of_the_old_form_are_read_line_by_line() {
    let keys = |list: &str| {
        let world = world(DEB822, &ONE.replace("     1 500\n", ""));
        fs::write(world.path("two.list"), list).unwrap();
        sources(&world)[1].rsplit_once(' ').unwrap().1.to_owned()
    };
    let good = "deb [arch=amd64 signed-by=/b.asc] http://b.example.org/x ./";
    for (list, wanted) in [
        (good.to_owned(), "/b.asc"),
        (format!("# deb http://off.example.org ./\n\n{good} # [trusted=yes]"), "/b.asc"),
        (format!("{good}\ndeb-src [ signed-by=/c.asc ] http://b.example.org/x ./"), "/b.asc,/c.asc"),
        (format!("{good}\ndeb http://c.example.org ./"), "-"),
        (good.replace("arch=amd64", "trusted=yes"), "-"),
        (good.replace("arch=amd64", "allow-insecure=yes"), "-"),
    ] {
        assert_eq!(keys(&list), wanted, "{list}");
    }
}

#[test]
fn refuses_answers_of_apt_that_it_does_not_understand() {
    for table in [
        ONE.replace("     1 500", "   garbage"),
        format!("{ONE}\nW: a warning"),
        ONE.replace("  Installed: (none)", "  Held: no"),
    ] {
        let world = world(DEB822, &table);
        let reply = world.probe(Kind::ProbePackages, &transaction("package.install", &["hello"]));
        assert_eq!(reply.code(), "package_failed", "{table}");
    }
}
