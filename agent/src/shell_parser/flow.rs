//! Data flow of a script: the source of the bytes of a word.

use super::script::{Flow, Word};

/// Programs whose output comes from elsewhere.
const DOWNLOADERS: &[&str] = &[
    "curl", "wget", "fetch", "aria2c", "nc", "ncat", "netcat", "socat", "ftp", "tftp", "sftp", "scp", "lynx",
    "links", "w3m", "http", "https", "httpie", "ssh", "telnet",
];
/// Programs whose output no longer looks like what it is.
const DECODERS: &[&str] =
    &["base64", "base32", "basenc", "xxd", "openssl", "uudecode", "gpg", "rev", "tr", "zcat", "gunzip"];

/// Derives the flow of a command's output from its words. A name counts anywhere: it may be behind a wrapper or in
/// a nested script.
pub fn flow(words: &[Word]) -> Flow {
    let mut flow = words.iter().fold(Flow::default(), |flow, word| flow | word.flow);
    for word in words {
        let edges = |c: char| c.is_whitespace() || "/;|&()`'\"<>$=".contains(c);
        for name in word.text.split(edges) {
            flow.is_downloaded |= DOWNLOADERS.contains(&name);
            flow.is_decoded |= DECODERS.contains(&name);
        }
    }
    flow
}
