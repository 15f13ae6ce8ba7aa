//! Values of variables: what is let through, and how it is put into a pack.

use postern_admin::packs::pack::Pack;
use postern_admin::packs::variable::{Kind, Variable, split};
use postern_admin::packs::{Values, fill};

fn variable(kind: Kind) -> Variable {
    Variable {
        name: "v".to_owned(),
        kind,
        question: "?".to_owned(),
        many: true,
        default: Vec::new(),
        example: Vec::new(),
        values: vec!["allow".to_owned(), "ask".to_owned()],
    }
}

#[test]
fn lets_values_of_the_kind_through_and_no_others() {
    let cases: &[(Kind, &[&str], &[&str])] = &[
        (Kind::Choice, &["allow", "ask"], &["deny", "", "ALLOW"]),
        (
            Kind::Directory,
            &["/var/www/html", "/srv/a-b_c.d"],
            &["var", "/", "/a/../b", "/a b", "/a//b", "/a/*"],
        ),
        (Kind::File, &["/var/log/app.log", "/etc/apt/sources.list:3"], &["a.log", "/var/log/*.log"]),
        (Kind::Name, &["app", "data-1"], &["-x", ".x", "a/b", "a b"]),
        (Kind::Pattern, &["app*", "dev-*", "deploy"], &["-x", "a/b", "app?", "[a]", "a b"]),
        (Kind::User, &["alice", "www-data"], &["Alice!", "0"]),
        (Kind::Hostname, &["localhost", "deb.example.org"], &["Deb", "127.0.0.1", "a_b"]),
        (Kind::Domain, &["example.org"], &["localhost", "example.org."]),
        (Kind::Email, &["admin@example.org", "a.b+c@example.org"], &["admin", "a@b", "a b@example.org"]),
        (Kind::Port, &["1", "65535"], &["0", "65536", "080", "x"]),
        (Kind::Cidr, &["10.0.0.0/8", "2001:db8::/32"], &["10.0.0.0", "10.0.0.0/33", "0.0.0.0/0", "::/0"]),
        (Kind::Package, &["nginx-light", "g++"], &["nginx_light", "a b"]),
        (Kind::Unit, &["nginx.service", "postgresql@15-main.service"], &["nginx", "a\\x20b.service"]),
        (Kind::Client, &["agent", "ci-1"], &["Agent", "a_b", ""]),
    ];
    for (kind, good, bad) in cases {
        let of = |value: &&str| variable(*kind).check(&[(*value).to_owned()]);
        for value in *good {
            assert_eq!(of(value), Ok(()), "{kind:?}");
        }
        for value in *bad {
            assert!(of(value).is_err(), "{kind:?}: {value:?}");
        }
    }
}

#[test]
fn no_kind_takes_a_value_that_means_something_to_toml_a_list_or_an_option() {
    let kinds = [
        Kind::Choice,
        Kind::Directory,
        Kind::File,
        Kind::Name,
        Kind::Pattern,
        Kind::Email,
        Kind::Unit,
        Kind::Client,
    ];
    for kind in kinds {
        for value in [
            "a\"",
            "a'",
            "a\\",
            "a,b",
            "a#",
            "${x}",
            "a{",
            "a\nb",
            "a\tb",
            "-a",
            "+a",
            "a b",
            "é",
            "",
            &"a".repeat(300),
        ] {
            let mut variable = variable(kind);
            variable.values.push(value.to_owned());
            assert!(variable.check(&[value.to_owned()]).is_err(), "{kind:?}: {value:?}");
        }
    }
}

#[test]
fn several_values_are_taken_only_where_the_variable_has_several() {
    let two = split("a, b");
    assert_eq!(two, ["a", "b"]);
    let mut one = variable(Kind::Name);
    assert_eq!(one.check(&two), Ok(()));
    one.many = false;
    assert!(one.check(&two).is_err());
    assert!(one.check(&[]).is_err());
    assert_eq!(split("  "), Vec::<String>::new());
}

const PACK: &str = r#"
[pack]
name = "p"
version = 3
summary = "a pack"

[[variable]]
name = "names"
kind = "name"
many = true
question = "Which?"
default = ["a", "b"]

[[variable]]
name = "where"
kind = "directory"
question = "Where?"
default = ["/srv/x"]

# Why ${where} (a comment of the body)
[[command]]
name = "p-run" # "quoted ${where}"
argv = ["/usr/bin/x", "key=${where}", 'it''s', "say \"${where}\""]

[[rule]]
id = "p-rule"
names = ["x", "${names}.${names}"]
where = "${where}/${names}"
"#;

fn values(pairs: &[(&str, &[&str])]) -> Values {
    let value = |(name, values): &(&str, &[&str])| {
        ((*name).to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
    };
    pairs.iter().map(value).collect()
}

#[test]
fn a_variable_with_several_values_becomes_several_texts_of_its_list() {
    let pack = Pack::parse(PACK).unwrap();
    let filled =
        fill(&pack, &values(&[("client", &["agent"]), ("names", &["a", "b"]), ("where", &["/srv/y"])]))
            .unwrap();
    assert!(filled.starts_with("# Why /srv/y (a comment of the body)\n[[command]]\n"), "{filled}");
    assert!(filled.contains(r#"name = "p-run" # "quoted /srv/y""#), "{filled}");
    assert!(filled.contains(r#""key=/srv/y", 'it''s', "say \"/srv/y\"""#), "{filled}");
    assert!(filled.contains(r#"names = ["x", "a.a", "a.b", "b.a", "b.b"]"#), "{filled}");
    assert!(filled.contains(r#"where = "/srv/y/a", "/srv/y/b""#), "{filled}");
}

#[test]
fn missing_wrong_and_unknown_values_are_refused() {
    let pack = Pack::parse(PACK).unwrap();
    for given in [
        values(&[("names", &["a"]), ("where", &["/srv/y"])]),
        values(&[("client", &["agent"]), ("names", &["a"]), ("where", &["srv"])]),
        values(&[("client", &["agent"]), ("names", &["a"]), ("where", &["/srv/y"]), ("other", &["x"])]),
    ] {
        assert!(fill(&pack, &given).is_err(), "{given:?}");
    }
}

#[test]
fn what_is_no_pack_is_refused() {
    let broken = [
        PACK.replace("name = \"p\"", "name = \"P p\""),
        PACK.replace("version = 3", "version = 3\nunknown = 1"),
        PACK.replace("kind = \"name\"", "kind = \"nothing\""),
        PACK.replace("default = [\"a\", \"b\"]", "default = [\"-a\"]"),
        PACK.replace("default = [\"a\", \"b\"]", ""),
        PACK.replace("name = \"where\"", "name = \"names\""),
        PACK.replace("name = \"where\"", "name = \"client\""),
        "x".repeat(300 * 1024),
    ];
    for text in broken {
        assert!(Pack::parse(&text).is_err(), "{}", text.get(..200).unwrap_or(&text));
    }
    let why = Pack::parse(&PACK.replace("version = 3", "version = 3\nsumary = \"x\"")).unwrap_err();
    assert!(
        why.starts_with("line ")
            && why.contains("unknown field `sumary`: did you mean `summary`? (permitted: "),
        "{why}"
    );
    let unknown =
        values(&[("client", &["agent"]), ("names", &["a"]), ("where", &["/srv/y"]), ("name", &["x"])]);
    let why = fill(&Pack::parse(PACK).unwrap(), &unknown).unwrap_err();
    assert!(why.contains("unknown variable \"name\": did you mean `names`? (permitted: "), "{why}");
}
