//! agent.toml and the environment over it.

use postern_agent::config::{self, Config, secret, values::SecretRef};
use secrecy::ExposeSecret;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

/// Reads a configuration from a file and environment variables.
fn read(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.toml");
    std::fs::write(&path, text).unwrap();
    let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    config::read_under(&path, variables).map_err(|why| why.replace(path.to_str().unwrap(), "agent.toml"))
}

#[test]
fn the_example_that_is_installed_shows_the_defaults() {
    let example = include_str!("../../../deploy/agent.toml");
    let is_key = |line: &str| line.starts_with(|c: char| c == '[' || c.is_ascii_lowercase());
    let lines = example.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| is_key(line));
    let shown: Vec<&str> = lines.filter(|line| !line.starts_with("hook")).collect();
    assert_eq!(shown.iter().filter(|line| line.contains(" = ")).count(), 32, "{shown:#?}");
    assert_eq!(read(&shown.join("\n"), &[]), read("", &[]));
    assert_eq!(read(example, &[]).unwrap(), Config::default());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        ("[model]\nprovider = \"gpt\"\n", "agent.toml:2: unknown variant `gpt`"),
        ("[model]\nmodel = \"x\"\n", "agent.toml:2: unknown field `model`"),
        ("[retry]\n\nbackoff_base = \"0s\"\n", "agent.toml:3: \"0s\" is no time above 0"),
        ("[retry]\nmax_attempts = -1\n", "agent.toml:2: invalid value: integer `-1`, expected u32"),
        ("[limits]\nsteps = 0\n", "agent.toml:2: invalid value: integer `0`, expected a nonzero u32"),
        (
            "[limits]\nmisformat = 5\n",
            "agent.toml:2: unknown field `misformat`: did you mean `misformats`? (permitted: ",
        ),
        ("[http]\ntcp = \"0.0.0.0:9000\"\n", "agent.toml:2: \"0.0.0.0:9000\" is no loopback address"),
        ("[http]\ntcp = \"127.0.0.1:9000\"\n", "agent.toml: tcp needs a token"),
        ("[tools]\nread_roots = [\"/srv/../etc\"]\n", "agent.toml:2: \"/srv/../etc\" is no absolute path"),
        ("[tools]\nprofile = \"all\"\n", "agent.toml:2: unknown variant `all`"),
        ("[log]\nlevel = \"loud\"\n", "agent.toml:2: unknown variant `loud` (permitted: "),
        ("[model]\nprovider = \"anthropic\"\n", "agent.toml: the provider anthropic needs a model"),
        ("[model]\nbase_url = \"ftp://x\"\n", "agent.toml:2: the base URL must begin with http"),
        ("[model]\nprovider = \"scripted\"\n", "agent.toml: the provider scripted needs its replies"),
        (
            "[model.extra]\nbody = { messages = [] }\n",
            "agent.toml: [model.extra] body: \"messages\" is the agent's own",
        ),
        (
            "[model.extra]\nheaders = { Authorization = \"x\" }\n",
            "agent.toml: [model.extra] headers: \"Authorization\"",
        ),
        ("[model.extra]\ntop_p = 1\n", "agent.toml:2: unknown field `top_p`"),
        ("[model.price]\ninput = -1\noutput = 2\n", "agent.toml:2: -1 is no price of a million tokens"),
        (
            "[models]\n",
            "agent.toml:1: unknown field `models`: did you mean `model`? (permitted: approvals, model, ",
        ),
        ("[retry]\nmax_attempts = 1\nmax_attempts = 2\n", "agent.toml:3: duplicate key"),
    ] {
        let why = read(text, &[]).unwrap_err();
        assert!(why.starts_with(expected), "{text}: {why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    for text in [
        "[model]\nkey = \"sk-hunter2\"\n",
        "[model]\nkey = \"file:hunter2\"\n",
        "[model]\nbase_url = \"https://me:hunter2@example.invalid\"\n",
        "[model]\nbase_url = \"https://example.invalid/?key=hunter2\"\n",
    ] {
        let why = read(text, &[]).unwrap_err();
        assert!(why.starts_with("agent.toml:2: ") && !why.contains("hunter2"), "{why}");
    }
    let why = read("", &[("POSTERN_MODEL_KEY", "hunter2")]).unwrap_err();
    assert!(why.starts_with("POSTERN_MODEL_KEY: ") && !why.contains("hunter2"), "{why}");
}

#[test]
fn the_environment_stands_over_the_file() {
    let text = "[retry]\nmax_attempts = 1\nbackoff_max = \"1m\"\n";
    let variables = [
        ("POSTERN_RETRY_MAX_ATTEMPTS", "7"),
        ("POSTERN_MODEL_PROVIDER", "openai"),
        ("POSTERN_MODEL_BASE_URL", "http://127.0.0.1:8080/v1/"),
        ("POSTERN_MODEL_KEY", "env:A_KEY"),
        ("POSTERN_TOOLS_READ_ROOTS", "/srv,/var/www"),
        ("POSTERN_LIMITS_TIME", "90s"),
        ("POSTERN_LOG_FORMAT", "json"),
        ("POSTERN_OF_OTHERS", "1"),
        ("HOME", "/root"),
    ];
    let shown = serde_json::to_value(read(text, &variables).unwrap()).unwrap();
    assert_eq!(shown["retry"]["max_attempts"], 7);
    assert_eq!(shown["retry"]["backoff_max"], "1m");
    assert_eq!(shown["model"]["provider"], "openai");
    assert_eq!(shown["model"]["base_url"], "http://127.0.0.1:8080/v1");
    assert_eq!(shown["model"]["key"], "env:A_KEY");
    assert_eq!(shown["tools"]["read_roots"], serde_json::json!(["/srv", "/var/www"]));
    assert_eq!(shown["limits"]["time"], "1m 30s");
    assert_eq!(shown["log"]["format"], "json");
    for (variable, value, expected) in [
        (
            "POSTERN_RETRY_MAX_ATTEMPT",
            "1",
            "unknown key \"max_attempt\": did you mean `max_attempts`? (permitted: max_attempts, ",
        ),
        ("POSTERN_RETRY_MAX_ATTEMPTS", "many", "\"many\" is not a whole number"),
        (
            "POSTERN_MODEL_PROVIDER",
            "gpt",
            "unknown word \"gpt\" (permitted: offline, openai, anthropic, scripted)",
        ),
    ] {
        let why = read("", &[(variable, value)]).unwrap_err();
        assert!(why.starts_with(&format!("{variable}: {expected}")), "{why}");
    }
}

#[test]
fn a_key_file_that_others_may_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let reference = SecretRef::File(path.clone());
    assert!(secret::fetch(&reference).unwrap_err().contains("cannot read"));
    std::fs::write(&path, "hunter2\n").unwrap();
    for (mode, expected) in [(0o644, "make it 0600"), (0o640, "make it 0600"), (0o604, "make it 0600")] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let why = secret::fetch(&reference).unwrap_err();
        assert!(why.contains(expected) && !why.contains("hunter2"), "{why}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let secret = secret::fetch(&reference).unwrap();
    assert_eq!(secret.expose_secret(), "hunter2");
    assert!(!format!("{secret:?}").contains("hunter2"));
    std::fs::write(&path, "a\nX-Header: b\n").unwrap();
    assert!(secret::fetch(&reference).unwrap_err().contains("is no key"));
    std::fs::write(&path, "\n").unwrap();
    assert!(secret::fetch(&reference).unwrap_err().contains("is no key"));
    assert!(secret::fetch(&SecretRef::File(directory.path().to_owned())).unwrap_err().contains("is no file"));
    assert!(secret::fetch(&SecretRef::Env("POSTERN_NO_SUCH_KEY".into())).is_err());
}
