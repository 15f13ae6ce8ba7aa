//! The interpreter that a script names in its first line, as execve(2) reads it.

/// Directories of interpreters that are the system's own.
const DIRECTORIES: &[&str] = &["/bin/", "/usr/bin/"];
/// Those whose grammar is read before a text is run.
const READ: &[&str] = &["sh", "dash", "bash"];

/// The words that a script is to be started with, ahead of `-c`; `None` where it names no interpreter.
///
/// # Errors
/// It names one whose language nobody reads here.
pub fn interpreter(text: &str) -> Result<Option<Vec<String>>, String> {
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else { return Ok(None) };
    let mut words = line.split_whitespace();
    let named = words.next().unwrap_or_default();
    let named = if named == "/usr/bin/env" { words.next().unwrap_or_default() } else { named };
    let name = DIRECTORIES.iter().find_map(|directory| named.strip_prefix(directory)).unwrap_or(named);
    if !READ.contains(&name) {
        return Err(format!(
            "a script for {name:?} is not run as a command: only sh, dash and bash are read here; write it to a file \
             and give the command that starts it"
        ));
    }
    Ok(Some([format!("/bin/{name}")].into_iter().chain(words.map(str::to_owned)).collect()))
}
