//! The programs that start another, with the options that tell where it begins.

use super::options::Options;
use super::script::Power;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Treatment of the outer command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Nothing that a rule need look at.
    Transparent,
    /// It is a command of its own, for rules to judge.
    Judged,
}

/// Where a wrapper's command stands.
#[derive(Clone, Copy)]
pub enum Holds {
    /// After so many operands.
    Command(usize),
    /// In the value of these options, else after so many operands.
    Script(&'static str, usize),
    /// All operands, joined by blanks.
    Joined,
}

/// One such program.
pub struct Wrapper {
    pub frame: Frame,
    pub power: Option<Power>,
    pub options: Options,
    pub holds: Holds,
}

const SHELL: &str = "c e u x i l s f v n o: --norc --noprofile --posix --login";

/// name; options; what it holds; frame; whom the command runs as.
pub static WRAPPERS: LazyLock<HashMap<&'static str, Wrapper>> = LazyLock::new(|| {
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
            "n S E H k v b A P u: g: h: p: C: D: --validate --non-interactive --stdin --preserve-env --set-home --user= \
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
