//! Programs that start another: what they start is judged, not only they.

use super::options::{Order, Parsed};
use super::script::{Certainty, Flow, Input, Power, Simple, Word};
use super::wrappers::{Holds, WRAPPERS, Wrapper};

/// What stands inside a command.
pub enum Inside {
    /// Nothing: the command is what it says.
    Nothing,
    /// Other commands, and whether the outer one is nothing but their frame.
    Commands(Frame, Vec<Simple>),
    /// Texts that a shell will read.
    Scripts(Frame, Vec<(Word, Power)>),
    /// Something, but its options do not tell where it begins.
    Unclear,
}

/// What the outer command adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Nothing that a rule need look at.
    Transparent,
    /// It is a command of its own, for rules to judge.
    Judged,
}

<<<<<<< HEAD
/// Where a wrapper's command stands.
#[derive(Clone, Copy)]
enum Holds {
    /// After so many operands.
    Command(usize),
    /// In the value of these options, else after so many operands.
    Script(&'static str, usize),
    /// All operands, joined by blanks.
    Joined,
}

struct Wrapper {
    frame: Frame,
    power: Option<Power>,
    options: Options,
    holds: Holds,
}

const SHELL: &str = "c e u x i l s f v n o: --norc --noprofile --posix --login";

/// name; options; what it holds; frame; whom the command runs as.
static WRAPPERS: LazyLock<HashMap<&'static str, Wrapper>> = LazyLock::new(|| {
    use Frame::{Judged, Transparent};
    use Holds::{Command, Joined, Script};
    let root = Some(Power::Root);
    [
        ("env", "i 0 v u: --ignore-environment --unset=", Command(0), Transparent, None),
        ("nice", "n: # --adjustment=", Command(0), Transparent, None),
        ("ionice", "c: n: t --class= --classdata= --ignore", Command(0), Transparent, None),
        (
            "timeout",
            "k: s: v --kill-after= --signal= --preserve-status --foreground --verbose",
            Command(1),
            Transparent,
            None,
        ),
        ("nohup", "", Command(0), Transparent, None),
        ("setsid", "c f w --ctty --fork --wait", Command(0), Judged, None),
        ("stdbuf", "i: o: e: --input= --output= --error=", Command(0), Transparent, None),
        ("time", "p v", Command(0), Transparent, None),
        ("command", "p", Command(0), Transparent, None),
        ("builtin", "", Command(0), Transparent, None),
        ("exec", "c l a:", Command(0), Judged, None),
        ("chrt", "b f i o r --batch --fifo --idle --other --rr", Command(1), Transparent, None),
        ("taskset", "a c --all-tasks --cpu-list", Command(1), Transparent, None),
        ("busybox", "", Command(0), Transparent, None),
        ("toybox", "", Command(0), Transparent, None),
        ("catchsegv", "", Command(0), Transparent, None),
        ("unbuffer", "p", Command(0), Transparent, None),
        (
            "sudo",
            "n S E H k b A P u: g: h: p: C: D: --non-interactive --stdin --preserve-env --set-home --user= \
         --group= --chdir=",
            Command(0),
            Judged,
            root,
        ),
        ("doas", "n L u: C:", Command(0), Judged, root),
        ("pkexec", "--user= --disable-internal-agent --keep-cwd", Command(0), Judged, root),
        (
            "su",
            "l m p f P c: s: g: G: --login --command= --shell= --preserve-environment --pty",
            Script("c command", usize::MAX),
            Judged,
            root,
        ),
        (
            "runuser",
            "l m p f P c: s: g: G: u: --login --command= --shell= --user=",
            Script("c command", 0),
            Judged,
            root,
        ),
        (
            "setpriv",
            "--reuid= --regid= --clear-groups --init-groups --no-new-privs --inh-caps= --bounding-set=",
            Command(0),
            Judged,
            root,
        ),
        ("chroot", "--userspec= --groups= --skip-chdir", Command(1), Judged, root),
        (
            "unshare",
            "m u i n p U C T f r c --mount --net --pid --user --fork --map-root-user --mount-proc",
            Command(0),
            Judged,
            root,
        ),
        (
            "nsenter",
            "a t: m u i n p U C --all --target= --mount --net --pid --user",
            Command(0),
            Judged,
            root,
        ),
        (
            "systemd-run",
            "p: u: d t P G q --property= --unit= --scope --user --pty --pipe --wait --collect --quiet \
         --slice= --uid= --gid= --on-calendar= --on-active= --setenv= --no-block --remain-after-exit",
            Command(0),
            Judged,
            root,
        ),
        (
            "flock",
            "s x e u n o w: E: c: F --shared --exclusive --nonblock --close --timeout= --command=",
            Script("c command", 1),
            Judged,
            None,
        ),
        (
            "watch",
            "b c d e g p t n: --interval= --differences --no-title --errexit --chgexit",
            Joined,
            Judged,
            None,
        ),
        ("eval", "", Joined, Judged, None),
        (
            "script",
            "a e f q c: --append --return --flush --quiet --command=",
            Script("c command", usize::MAX),
            Judged,
            None,
        ),
        ("strace", "f t T v y c e: o: p: s: u: --follow-forks --output= --trace=", Command(0), Judged, None),
        ("ltrace", "f S c e: o: p: s:", Command(0), Judged, None),
        (
            "xargs",
            "0 r t p x a: d: E: e I: i L: l n: P: s: --null --no-run-if-empty --verbose --max-args= \
         --max-procs= --replace= --delimiter= --arg-file= --max-lines=",
            Command(0),
            Judged,
            None,
        ),
        ("parallel", "0 k j: a: X m --jobs= --keep-order --null --will-cite", Joined, Judged, None),
        (
            "ssh",
            "4 6 A a C f N n q T t v x i: l: p: o: F: J: L: R: D: b: c: E: e: m: w:",
            Script("", 1),
            Judged,
            Some(Power::Own),
        ),
        ("trap", "", Script("", 0), Judged, None),
        ("sh", SHELL, Script("c", usize::MAX), Transparent, None),
        ("bash", SHELL, Script("c", usize::MAX), Transparent, None),
        ("dash", SHELL, Script("c", usize::MAX), Transparent, None),
        ("ash", SHELL, Script("c", usize::MAX), Transparent, None),
        ("zsh", SHELL, Script("c", usize::MAX), Transparent, None),
        ("ksh", SHELL, Script("c", usize::MAX), Transparent, None),
        ("mksh", SHELL, Script("c", usize::MAX), Transparent, None),
        ("fish", SHELL, Script("c", usize::MAX), Transparent, None),
    ]
    .into_iter()
    .map(|(name, options, holds, frame, power)| {
        (name, Wrapper { frame, power, options: Options::new(options), holds })
    })
    .collect()
});

=======
>>>>>>> wip-shell
/// Whether a program is a shell.
pub fn is_shell(name: &str) -> bool {
    WRAPPERS.get(name).is_some_and(|wrapper| {
        matches!(wrapper.holds, Holds::Script("c", usize::MAX)) && wrapper.frame == Frame::Transparent
    })
}

/// What a command has inside.
pub fn inside(command: &Simple) -> Inside {
    let name = command.program();
    if name == "find" {
        return find(command);
    }
    let Some(wrapper) = WRAPPERS.get(name) else { return Inside::Nothing };
    let arguments = command.arguments();
    if name == "command" && arguments.first().is_some_and(|w| w.is("-v") || w.is("-V")) {
        return Inside::Nothing;
    }
    if is_shell(name) {
        return shell(wrapper, command);
    }
    let Some(parsed) = wrapper.options.parse(arguments, Order::OptionsFirst) else { return Inside::Unclear };
    let power = wrapper.power.unwrap_or(command.power);
    let script = |names: &str| {
        let mut values = parsed.options.iter().filter(|(o, _)| names.split(' ').any(|name| name == o));
        values.find_map(|(_, value)| value.and_then(|value| word_of(arguments, value)))
    };
    match wrapper.holds {
        Holds::Script(names, skip) => match script(names) {
            Some(script) => Inside::Scripts(wrapper.frame, vec![(script, power)]),
            None if names.is_empty() => joined(wrapper.frame, arguments, &parsed, skip, power),
            None if skip == usize::MAX => Inside::Nothing,
            None => command_after(name, wrapper.frame, command, &parsed, skip, power),
        },
        Holds::Joined => joined(wrapper.frame, arguments, &parsed, 0, power),
        Holds::Command(skip) => command_after(name, wrapper.frame, command, &parsed, skip, power),
    }
}

/// A value of an option as a word; part of a word is as uncertain as the whole.
fn word_of(arguments: &[Word], value: &str) -> Option<Word> {
    let word = arguments.iter().find(|word| word.text.ends_with(value))?;
    Some(Word { text: value.to_owned(), ..word.clone() })
}

/// `sh -c SCRIPT`; a shell with a file or with standard input is for rules and facts to judge.
fn shell(wrapper: &Wrapper, command: &Simple) -> Inside {
    let arguments = command.arguments();
    let Some(parsed) = wrapper.options.parse(arguments, Order::OptionsFirst) else { return Inside::Unclear };
    if !parsed.options.iter().any(|(name, _)| name == "c") {
        return Inside::Nothing;
    }
    let odd = |name: &str| matches!(name, "i" | "l" | "login" | "s");
    let frame = if parsed.options.iter().any(|(name, _)| odd(name)) { Frame::Judged } else { wrapper.frame };
    match parsed.operands.first().and_then(|&at| arguments.get(at)) {
        Some(script) => Inside::Scripts(frame, vec![(script.clone(), command.power)]),
        None => Inside::Unclear,
    }
}

fn joined(frame: Frame, arguments: &[Word], parsed: &Parsed, skip: usize, power: Power) -> Inside {
    let words: Vec<&Word> = parsed.operands.iter().skip(skip).filter_map(|&at| arguments.get(at)).collect();
    if words.is_empty() {
        return Inside::Nothing;
    }
    let text = words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
    let certainty = words.iter().map(|w| w.certainty).max().unwrap_or(Certainty::Literal);
    let flow = words.iter().fold(Flow::default(), |flow, word| flow | word.flow);
    Inside::Scripts(frame, vec![(Word { text, certainty, flow }, power)])
}

fn command_after(
    name: &str,
    frame: Frame,
    command: &Simple,
    parsed: &Parsed,
    skip: usize,
    power: Power,
) -> Inside {
    let arguments = command.arguments();
    let mut rest: Vec<Word> =
        parsed.operands.iter().skip(skip).filter_map(|&at| arguments.get(at).cloned()).collect();
    let mut commands = Vec::new();
    // `env` and `sudo` take assignments before the command.
    while matches!(name, "env" | "sudo" | "doas") && rest.first().is_some_and(|w| is_assignment(&w.text)) {
        commands.push(command.with(vec![Word::literal("="), rest.remove(0)]));
    }
    if rest.is_empty() {
        return if commands.is_empty() { Inside::Nothing } else { Inside::Commands(frame, commands) };
    }
    let mut input = command.input.clone();
    if name == "xargs" {
        let marks: Vec<&str> = parsed
            .options
            .iter()
            .filter(|(o, _)| matches!(o.as_str(), "I" | "replace" | "i"))
            .map(|(_, value)| value.unwrap_or("{}"))
            .collect();
        if marks.is_empty() {
            rest.push(Word { flow: input.flow, ..Word::unknown() });
        }
        for mark in marks {
            replace(&mut rest, mark, input.flow);
        }
        input = Input::default();
    }
    commands.push(Simple { words: rest, input, power, depth: command.depth });
    Inside::Commands(frame, commands)
}

fn replace(words: &mut [Word], mark: &str, flow: Flow) {
    for word in words.iter_mut().filter(|word| word.text.contains(mark)) {
        let text = word.text.replace(mark, "$");
        *word = Word { text, certainty: Certainty::Unknown, flow: word.flow | flow };
    }
}

/// The commands of `find -exec` and its relatives.
fn find(command: &Simple) -> Inside {
    let mut commands = Vec::new();
    let mut arguments = command.arguments().iter();
    while let Some(word) = arguments.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let words = arguments.by_ref().take_while(|w| !w.is(";") && !w.is("+"));
        let mut words: Vec<Word> = words.cloned().collect();
        replace(&mut words, "{}", Flow::default());
        if !words.is_empty() {
            commands.push(command.with(words));
        }
    }
    if commands.is_empty() { Inside::Nothing } else { Inside::Commands(Frame::Judged, commands) }
}

/// `NAME=value`.
pub fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
