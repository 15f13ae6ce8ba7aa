//! Credentials that are redacted before text is sent to a model.

use postern_agent::redaction::redact;
use serde_json::json;

/// Put together here, so that no scanner takes this file for a leak.
fn made(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn credentials_are_taken_out_whatever_their_shape() {
    let (known, used) = redact::shapes();
    assert_eq!(known, used, "every shape compiles");
    let block = made(&["-----BEGIN OPENSSH PRIVATE", " KEY-----\nhunter2\nhunter2\n"]);
    let letters = "hunter2hunter2hunter2hunter2hunter2xxxx";
    for secret in [
        format!("{block}-----END OPENSSH PRIVATE KEY-----\nafter"),
        block,
        "Authorization: Basic aHVudGVyMg==hunter2".to_owned(),
        "proxy: Bearer hunter2hunter2".to_owned(),
        "curl -H 'X-Api-Key: hunter2'".to_owned(),
        "postgres://app:hunter2@db/x".to_owned(),
        "CREATE USER a IDENTIFIED BY 'hunter2';".to_owned(),
        "DB_PASSWORD=hunter2".to_owned(),
        "  password: \"hun ter2 hunter2\"".to_owned(),
        "{\"api_key\": \"hunter2\\\" hunter2\", \"a\": 1}".to_owned(),
        "client-secret = 'hunter2'".to_owned(),
        "https://x/?access_token=hunter2&b=1".to_owned(),
        made(&["gh", "p_", letters]),
        made(&["github", "_pat_", letters]),
        made(&["sk", "-", letters]),
        made(&["xo", "xb-", letters]),
        made(&["ey", "J", letters, ".", letters, ".", letters]),
        made(&["AI", "za", &letters[..35]]),
    ] {
        let (clean, count) = redact::text(&secret);
        assert!(
            count >= 1 && clean.contains(redact::MARK) && !clean.contains("hunter2"),
            "{secret:?}: {clean:?}"
        );
    }
    let (clean, count) =
        redact::text(&made(&["AK", "IA", "ABCDEFGHIJKLMNOP ", &"0a".repeat(16), ".ABCDEFGHIJKLMNOP"]));
    assert_eq!((clean.as_str(), count), ("[REDACTED] [REDACTED]", 2));
}

#[test]
fn what_is_around_a_credential_stays() {
    let text = "listen 80;\nDB_PASSWORD=hunter2\nroot /srv; # see https://example.invalid/a:b@c\n";
    let expected = "listen 80;\nDB_PASSWORD=[REDACTED]\nroot /srv; # see https://example.invalid/a:b@c\n";
    assert_eq!(redact::text(text), (expected.to_owned(), 1));
    for plain in
        ["nginx is active (running)", "task-runner", "/etc/passwd", "sha256 of 1.2.3", "a: b\n", "ünd"]
    {
        assert_eq!(redact::text(plain), (plain.to_owned(), 0));
    }
    let mut value = json!({ "stdout": "password=hunter2", "list": [{ "error": "token: hunter2" }], "n": 1 });
    assert_eq!(redact::strings(&mut value), 2);
    assert!(!value.to_string().contains("hunter2"));
}

#[test]
fn what_was_taken_out_once_stays_as_it_is() {
    for shape in
        ["password=hunter22", "DB_TOKEN: 'abc def'", "Authorization: Bearer abcdefgh1234", "https://u:pw@h/"]
    {
        let once = redact::text(shape).0;
        assert_eq!(redact::text(&once).0, once, "{shape}");
    }
}
