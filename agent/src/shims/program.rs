//! The program behind every name in `/usr/libexec/postern/shims`, inside the sandbox: `sudo` and its like.
//!
//! It has no power and no socket. It translates what it was called with, asks the agent over the descriptor that the
//! call inherited, and ends as the program would that it stands for. It is this same binary under another name, and
//! goes its way before anything else is set up.

use super::wire::{ANSWER, ShimReply, VARIABLE, packets};
use super::{AfterFailure, PROGRAMS, ShimHost, Step, Translation, translate};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the real programs stand.
const DIRECTORIES: &[&str] = &["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// The most bytes of a file or of standard input: what a request may write.
const CONTENT: u64 = 8 << 20;

/// Does what the program would do by whose name this one was called; its exit code. `None` if it was called by a name
/// of its own.
#[must_use]
pub fn called(argv: &[OsString]) -> Option<u8> {
    let name = Path::new(argv.first()?).file_name()?.to_str()?.to_owned();
    if !PROGRAMS.contains(&name.as_str()) {
        return None;
    }
    let words: Option<Vec<String>> = argv.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(mut words) = words else {
        return Some(say(&format!("{name}: a word is not UTF-8; no request takes it"), 1));
    };
    // Called by its whole path, such as `$(command -v sed)` gives, it would find itself again in the real one's place.
    words[0].clone_from(&name);
    Some(match translate(&words, &mut Here) {
        Translation::Local(words) => run(&words),
        Translation::Advice(line, exit) => say(&line, exit),
        Translation::Steps(steps) => take(steps),
    })
}

/// One line for people and models.
fn say(line: &str, exit: u8) -> u8 {
    let _ = writeln!(io::stderr(), "{}", line.replace(postern_text::is_hostile, " "));
    exit
}

/// Becomes the real program.
fn run(words: &[String]) -> u8 {
    let Some((name, arguments)) = words.split_first() else { return 0 };
    let found =
        DIRECTORIES.iter().map(|directory| Path::new(directory).join(name)).find(|path| path.is_file());
    match found {
        // A name with a slash in it says where it is by itself: joining leaves an absolute one alone.
        Some(path) => say(&format!("{name}: {}", Command::new(path).args(arguments).exec()), 126),
        None => say(&format!("{name}: command not found"), 127),
    }
}

/// Takes the steps in turn; the exit code as the program's or the script's would be.
fn take(steps: Vec<Step>) -> u8 {
    let mut exit = 0;
    let mut is_skipped = false;
    for step in steps {
        if !is_skipped {
            exit = match one(&step) {
                0 => exit,
                failed => failed,
            };
        }
        match step.then {
            AfterFailure::Stop => is_skipped |= exit != 0,
            AfterFailure::Forget => (exit, is_skipped) = (0, false),
            AfterFailure::GoOn => {}
        }
    }
    exit
}

fn one(step: &Step) -> u8 {
    let mut stdout = io::stdout();
    if stdout.write_all(&step.echo).and_then(|()| stdout.flush()).is_err() {
        return step.family.failure();
    }
    let ShimReply { code, message, unit, .. } =
        ask(step).unwrap_or_else(|why| ShimReply::no("unreachable", why));
    let said = step.family.exit_status(&code, &message, step.excused);
    if said.exit != 0 {
        return say(&said.line, said.exit);
    }
    if let (Some((look, is_quiet)), Some(unit)) = (step.look, &unit) {
        let (text, exit) = look.output(unit);
        let _ = stdout.write_all(if is_quiet { b"" } else { text.as_bytes() });
        return exit;
    }
    match &step.moved {
        Some(moved) => {
            fs::remove_file(moved).map_or_else(|error| say(&format!("{moved}: {error}"), 1), |()| 0)
        }
        None => 0,
    }
}

/// Asks the agent, one shim of the call at a time.
fn ask(step: &Step) -> Result<ShimReply, String> {
    let number: RawFd = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok()).ok_or(
        "this command was given no way to the helper: let `sudo` stand in the command's own text, not in a file",
    )?;
    let tag = std::process::id();
    let packets = packets(&step.request, tag)?;
    // Answers on the descriptor are for whoever reads first.
    let turn = workspace().and_then(|path| File::open(path).ok());
    if let Some(turn) = &turn {
        turn.lock().map_err(|error| format!("cannot wait for other requests: {error}"))?;
    }
    let lost = |error: Errno| format!("the agent does not listen: {error}");
    for packet in packets {
        again(|| send(number, &packet, MsgFlags::MSG_NOSIGNAL)).map_err(lost)?;
    }
    let mut bytes = vec![0; ANSWER];
    loop {
        let length = again(|| recv(number, &mut bytes, MsgFlags::empty())).map_err(lost)?;
        let answer: ShimReply = serde_json::from_slice(bytes.get(..length).unwrap_or_default())
            .map_err(|_| "the agent does not answer any more".to_owned())?;
        // Another one is that of a shim that was ended before it came.
        if answer.tag == tag {
            return Ok(answer);
        }
    }
}

fn again<T>(mut work: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match work() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// The task's own directory, as the sandbox says.
fn workspace() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

fn bounded(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = from.take(CONTENT + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if read as u64 > CONTENT { Err(format!("more than {CONTENT} bytes")) } else { Ok(bytes) }
}

/// The place of this process.
struct Here;

impl ShimHost for Here {
    fn directory(&self) -> String {
        std::env::current_dir().ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_default()
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        bounded(io::stdin().lock()).map_err(|why| format!("standard input: {why}"))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        bounded(File::open(path).map_err(|error| error.to_string())?)
    }

    fn is_directory(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn is_own(&self, path: &str) -> bool {
        let path = Path::new(path);
        let own = workspace().into_iter().chain(["/tmp", "/var/tmp"].map(PathBuf::from));
        own.into_iter().any(|own| path.starts_with(&own) && path != own)
    }

    fn sed(&self, arguments: &[String], text: &[u8]) -> Result<Vec<u8>, String> {
        // Without the commands that write files or start programs.
        let mut sed = Command::new("/usr/bin/sed");
        sed.arg("--sandbox")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = sed.spawn().map_err(|error| format!("cannot start sed: {error}"))?;
        let input = child.stdin.take();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                // A sed that quits early reads no more.
                let _ = input.map(|mut input| input.write_all(text));
            });
            child.wait_with_output()
        });
        let output = output.map_err(|error| format!("sed: {error}"))?;
        if output.status.success() {
            return bounded(output.stdout.as_slice());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.lines().next().unwrap_or("sed failed").to_owned())
    }
}
