//! Secrets, fetched from where the configuration says that they are kept.

use super::values::SecretRef;
use nix::unistd::geteuid;
use secrecy::SecretString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longer than any key.
const LIMIT: u64 = 64 << 10;

/// Fetches a secret; a line break at its end is no part of it.
///
/// # Errors
/// It is not there, is empty, or others may read it. The text never has the secret in it.
pub fn fetch(secret: &SecretRef) -> Result<SecretString, String> {
    let text = match secret {
        SecretRef::Credential(name) => {
            let directory = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or_else(|| {
                format!("there is no credential {name:?}: set LoadCredential={name}:/PATH in the unit")
            })?;
            // systemd has made it readable for this unit alone.
            read(&Path::new(&directory).join(name))?
        }
        SecretRef::File(path) => private(path)?,
        SecretRef::Env(name) => {
            std::env::var(name).map_err(|_| format!("the environment has no variable {name} in UTF-8"))?
        }
    };
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(format!("what {secret} holds is no key: it is empty or has control characters"));
    }
    Ok(SecretString::from(text.to_owned()))
}

/// The content of a file that nobody but its owner may read, looked at on the open file.
fn private(path: &Path) -> Result<String, String> {
    let name = path.display();
    let file = File::open(path).map_err(|e| format!("cannot read {name}: {e}"))?;
    let facts = file.metadata().map_err(|e| format!("cannot read {name}: {e}"))?;
    if !facts.is_file() || ![0, geteuid().as_raw()].contains(&facts.uid()) {
        return Err(format!("{name} is no file of root or of this user"));
    }
    if facts.mode() & 0o077 != 0 {
        return Err(format!("others may read {name}: make it 0600"));
    }
    limited(file, path)
}

fn read(path: &Path) -> Result<String, String> {
    limited(File::open(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?, path)
}

fn limited(file: File, path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = file.take(LIMIT + 1).read_to_string(&mut text);
    let length = read.map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    if length as u64 > LIMIT {
        return Err(format!("{} is longer than {LIMIT} bytes", path.display()));
    }
    Ok(text)
}
