//! Texts of a site for every model: the files `prompt.d/*.md` beside agent.toml, in the order of their names.

use nix::unistd::geteuid;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most bytes of all files together: every request to a model carries them.
const LIMIT: usize = 16 << 10;

/// The site's words for the end of the instructions. A file that cannot be used is left out, and the journal says why.
#[must_use]
pub fn read(directory: &Path) -> String {
    let mut text = String::new();
    let files = match files(directory) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return text,
        Err(error) => {
            complain(directory, &error.to_string());
            return text;
        }
    };
    for path in files {
        match content(&path) {
            Ok(content) if text.len() + content.len() > LIMIT => {
                complain(&path, &format!("with the files before it it is longer than {LIMIT} bytes"));
            }
            Ok(content) => {
                text.push('\n');
                text.push_str(content.trim_end());
            }
            Err(why) => complain(&path, &why),
        }
    }
    if text.is_empty() { text } else { format!("\nFrom those who administer this site:{text}\n") }
}

fn complain(path: &Path, why: &str) {
    tracing::error!(event = "prompt", "{} is not in use: {why}", path.display());
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the content of a file that nobody but root or this user could write. The owner is checked on the open file.
fn content(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let facts = file.metadata().map_err(|error| error.to_string())?;
    if !facts.is_file() || ![0, geteuid().as_raw()].contains(&facts.uid()) || facts.mode() & 0o022 != 0 {
        return Err("it is no file that only root can write".to_owned());
    }
    let mut text = String::new();
    file.take(LIMIT as u64 + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}
