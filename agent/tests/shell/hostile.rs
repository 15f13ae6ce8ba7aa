//! Texts that are written to break whoever reads them. The seeds are fixed: every run tries the same texts.

use postern_agent::shell_parser::LONGEST;
use postern_agent::shell_policy::{Level, Rules};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers that are the same at every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// The judge outlives its reader's panics, so they are counted where they happen.
fn panics() -> &'static AtomicUsize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    std::panic::set_hook(Box::new(|info| {
        // A test that fails elsewhere panics too.
        COUNT
            .fetch_add(usize::from(std::thread::current().name() == Some("shell-reader")), Ordering::Relaxed);
        eprintln!("{info}");
    }));
    &COUNT
}

const PIECES: &[&str] = &[
    "ls",
    "rm",
    "-rf",
    "/",
    "/etc/shadow",
    "x",
    "$",
    "${",
    "}",
    "$(",
    ")",
    "(",
    "((",
    "))",
    "{",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "<",
    ">",
    ">>",
    "<<",
    "<<<",
    "<<-",
    "<(",
    ">(",
    ">&",
    "&>",
    "2>&1",
    "EOF",
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "until",
    "case",
    "esac",
    "function",
    "f()",
    "[[",
    "]]",
    "[",
    "]",
    "!",
    "=",
    "a=",
    "a[",
    "+=",
    "#",
    "~",
    "*",
    "?",
    "{a,b}",
    "{1..9}",
    "$'",
    "$\"",
    "${x:-",
    "${x#",
    "${!x}",
    "$((",
    "$[",
    "sudo",
    "env",
    "-S",
    "xargs",
    "-I{}",
    "sh",
    "-c",
    "find",
    "-exec",
    "\\;",
    "{}",
    "+",
    "timeout",
    "eval",
    "trap",
    "curl",
    "--",
    "-",
    "é",
    "\u{1f980}",
    "\t",
    " ",
    "  ",
    "0",
    "%",
    "@",
    "^",
    ",",
    ".",
    "..",
    ":",
    "time",
    "coproc",
    "select",
    "\r",
];

#[test]
fn no_arrangement_of_a_shells_own_words_makes_the_judge_panic() {
    let rules = Rules::builtin().unwrap();
    let panics = panics();
    let mut numbers = Numbers(1);
    for _ in 0..4_000 {
        let mut text = String::new();
        for _ in 0..numbers.below(24) {
            text.push_str(PIECES[numbers.below(PIECES.len())]);
            if numbers.below(3) > 0 {
                text.push(' ');
            }
        }
        let decision = rules.judge(&text);
        assert!(decision.score <= 100, "{text:?}");
        assert_eq!(decision.level == Level::Safe, decision.score == 0, "{text:?}");
        assert_eq!(panics.load(Ordering::Relaxed), 0, "{text:?}");
    }
}

#[test]
fn no_text_makes_the_judge_panic() {
    let rules = Rules::builtin().unwrap();
    let panics = panics();
    let mut numbers = Numbers(2);
    for _ in 0..2_000 {
        let text: String = (0..numbers.below(60))
            .filter_map(|_| char::from_u32(u32::try_from(numbers.next() % 0x300).unwrap()))
            .collect();
        let _ = rules.judge(&text);
        assert_eq!(panics.load(Ordering::Relaxed), 0, "{text:?}");
    }
}

#[test]
fn every_way_of_nesting_ends_soon_and_is_never_safe() {
    let rules = Rules::builtin().unwrap();
    let pairs = [
        ("(", ")"),
        ("((", "))"),
        ("{ ", ";}"),
        ("$(", ")"),
        ("`", "`"),
        ("\"$(", ")\""),
        ("${x:-", "}"),
        ("$((", "))"),
        ("if ls;then ", ";fi"),
        ("while ", ";do ls;done"),
        ("case x in x)", ";;esac"),
        ("[[ ", " ]]"),
        ("! ", ""),
        ("<(", ")"),
        ("a[", "]=1"),
        ("'", "'"),
        ("\"", "\""),
        ("\\", ""),
        ("sh -c ", ""),
        ("sudo ", ""),
        ("eval ", ""),
        ("f(){ ", ";}"),
        ("for i in ", ";do ls;done"),
        ("x|", ""),
        ("x&&", ""),
        ("<<A ", ""),
        ("{a,", "}"),
        ("$[", "]"),
    ];
    for (open, close) in pairs {
        for depth in [3, 40, 59, 61, 200, 10_000] {
            let text = format!("{}frob{}", open.repeat(depth), close.repeat(depth));
            let decision = rules.judge(&text);
            assert!(decision.level >= Level::Confirm, "{open:?} {depth}");
            assert!(text.len() <= LONGEST || decision.level == Level::Block, "{open:?} {depth}");
        }
    }
}

#[test]
fn a_document_that_ends_at_no_plain_word_is_not_read() {
    let rules = Rules::builtin().unwrap();
    for text in ["<<$(  ", "cat <<${x:-  ", "cat <<`a\nx", "cat <<- $(a\n", "ls; rm -rf / <<$(  "] {
        assert!(rules.judge(text).rules.iter().any(|hit| hit.id == "shell.parse"), "{text:?}");
    }
    assert_eq!(rules.judge("ls; rm -rf / <<$(  ").level, Level::Block);
    assert_eq!(rules.judge("cat <<'E'\na\nE").level, Level::Safe);
}

#[test]
fn a_megabyte_is_refused_unread() {
    let rules = Rules::builtin().unwrap();
    for text in ["a".repeat(1 << 20), "$(".repeat(1 << 19), "ls;".repeat(350_000)] {
        assert_eq!(rules.judge(&text).level, Level::Block);
        assert_eq!(rules.judge_argv(&[text]).level, Level::Block);
    }
}

/// The forbidden characters of an agent that administers other hosts; here every such command is asked about, with and without.
#[test]
fn a_command_for_another_host_is_asked_about_whatever_it_carries() {
    let rules = Rules::builtin().unwrap();
    for character in
        ["", "\n", "\r", "\0", "\\n", ";", "&", "|", "<", ">", "(", ")", "{", "}", "$", "`", "\\"]
    {
        for command in [
            format!("ssh web1 'id {character} id'"),
            format!("ssh root@web1 -- 'id {character}'"),
            format!("env LANG=C timeout 5 ssh web1 \"id {character}\""),
            // Outside of quotes, and in the host's name.
            format!("ssh web1 {character} id"),
            format!("ssh 'web{character}1' id"),
            format!("ssh \"root@web1{character}\" id"),
        ] {
            let decision = rules.judge(&command);
            assert!(decision.effective() >= Level::Confirm, "{command:?}: {}", decision.describe());
        }
        // Words that no shell reads: the character is one of the word.
        for words in [
            ["ssh".to_owned(), format!("web{character}1"), "id".to_owned()],
            ["ssh".to_owned(), "web1".to_owned(), format!("id{character}id")],
        ] {
            let decision = rules.judge_argv(&words);
            assert!(decision.effective() >= Level::Confirm, "{words:?}: {}", decision.describe());
        }
    }
}

/// A host whose key nobody checked may be anybody.
#[test]
fn a_command_that_takes_a_host_s_key_unseen_is_never_run() {
    let rules = Rules::builtin().unwrap();
    for command in [
        "ssh -o StrictHostKeyChecking=no web1 id",
        "ssh -oStrictHostKeyChecking=off web1 id",
        "ssh -o 'stricthostkeychecking accept-new' web1 id",
        "ssh -o StrictHostKeyChecking=ask -o UserKnownHostsFile=/dev/null web1 id",
        "scp -o GlobalKnownHostsFile=/dev/null a web1:",
        "sshpass -p x ssh -o StrictHostKeyChecking=no web1",
        "rsync -e 'ssh -o StrictHostKeyChecking=no' a web1:",
        "env A=1 timeout 5 sftp -o StrictHostKeyChecking=no web1",
    ] {
        let decision = rules.judge(command);
        assert_eq!(decision.effective(), Level::Block, "{command}: {}", decision.describe());
    }
    for command in ["ssh web1 id", "ssh -o StrictHostKeyChecking=yes web1 id", "ssh -o BatchMode=yes web1 id"]
    {
        assert_eq!(rules.judge(command).effective(), Level::Confirm, "{command}");
    }
}

/// The bench has the figure; this bound is one of a busy machine without optimization.
#[test]
fn a_command_is_judged_in_a_moment() {
    let rules = Rules::builtin().unwrap();
    let begin = std::time::Instant::now();
    for number in 0..1000 {
        let decision =
            rules.judge(&format!("env A={number} timeout 5 nice sh -c 'cat $(ls /etc/*.conf | head -n 1)'"));
        assert!(decision.level >= Level::Confirm);
    }
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "1,000 took {:?}", begin.elapsed());
}
