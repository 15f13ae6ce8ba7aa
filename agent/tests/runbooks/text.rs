//! What a file may say, and the line of what it may not.

use crate::{RESTART, parse};

#[test]
fn a_runbook_becomes_a_plan() {
    let runbook = parse(RESTART).unwrap();
    let plan = serde_json::to_value(runbook.plan(&runbook.samples()).unwrap()).unwrap();
    assert_eq!(plan["goal"], "runbook try: A try (unit=app.service)");
    assert_eq!(plan["commands"][1]["command"], "systemctl restart app.service");
    assert_eq!((&plan["commands"][1]["read_only"], &plan["requires_root"]), (&false.into(), &true.into()));
    assert_eq!(plan["verification_commands"][0]["args"]["name"], "app.service");
}

/// The rest of a file after two lines, the line of its fault, and a part of why.
const REFUSED: &[(&str, u64, &str)] = &[
    ("steps: []\n", 0, "there are none"),
    ("more: 1\nsteps: ['true']\n", 3, "unknown field"),
    ("step: ['true']\n", 3, "unknown field `step`: did you mean `steps`? (permitted: "),
    (
        "steps:\n  - {tool: servise, args: {}}\n",
        4,
        "unknown variant `servise`: did you mean `service`? (permitted: ",
    ),
    ("steps:\n  - 'true'\n  - 'true; reboot'\n", 5, "only a shell"),
    ("steps:\n  - 'true'\n  - rm -rf /\n", 5, "never run"),
    ("steps:\n  - {tool: no_such, args: {}}\n", 4, "unknown variant"),
    ("steps:\n  - {tool: shell, args: {cmd: 'a | b'}}\n", 4, "the tool shell reads a script"),
    ("steps:\n  - {tool: service, args: {action: start, name: a, more: 1}}\n", 4, "unknown field"),
    ("steps:\n  - {command: systemctl stop a, read_only: true}\n", 4, "would change something"),
    ("preflight:\n  - systemctl restart a\nsteps: ['true']\n", 4, "a check changes nothing"),
    ("steps:\n  - 'echo ${unit}'\n", 4, "unknown parameter \"unit\" (none is defined)"),
    ("steps:\n  - 'echo ${Unit}'\n", 4, "begins no placeholder"),
    (
        "parameters:\n  - {name: a, kind: unit, about: A}\nsteps: ['echo ${a}']\n",
        4,
        "needs a default or an example",
    ),
    (
        "parameters:\n  - {name: a, kind: unit, about: A, example: '; rm'}\nsteps: ['echo ${a}']\n",
        4,
        "no name of a unit",
    ),
    (
        "parameters:\n  - {name: a, kind: no, about: A, example: b}\nsteps: ['echo ${a}']\n",
        4,
        "unknown variant",
    ),
    ("parameters:\n  - {name: a, kind: unit, about: A, example: b}\nsteps: ['true']\n", 0, "a is not used"),
    ("when:\n  tasks:\n    - '(('\nsteps: ['true']\n", 5, "unclosed group"),
    ("when:\n  tasks:\n    - '(a{1,500}){1,500}'\nsteps: ['true']\n", 5, "size limit"),
    ("steps:\n  - 'echo \u{202e}x'\n", 4, "control or invisible"),
    ("steps:\n  - \"echo \\u202ex\"\n", 4, "control or invisible"),
    ("steps:\n  - 'true'\nsteps:\n  - 'true'\n", 5, "duplicate"),
    ("steps:\n  - {tool: service, args: {action: status, action: stop, name: a}}\n", 4, "duplicate"),
    ("steps:\n  - {tool: runbook, args: {name: other}}\n", 4, "a runbook is no step of another plan"),
    ("steps:\n  - 'true'\n---\nsteps: ['reboot']\n", 6, "multiple YAML documents"),
    ("steps: !!binary dHJ1ZQ==\n", 3, ""),
    ("steps:\n  - 'grep {{secret:db}} /etc/hosts ${no}'\n", 4, "unknown parameter \"no\""),
    (
        "parameters:\n  - {name: a, kind: text, about: A, example: b}\nsteps:\n  - {tool: run_command, args: {name: x, params: {'${a}': y}}}\n",
        6,
        "not the name of one",
    ),
    (
        "parameters:\n  - {name: a, kind: text, about: A, example: service}\nsteps:\n  - {tool: '${a}', args: {}}\n",
        6,
        "unknown variant",
    ),
];

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let mut wrong = Vec::new();
    for (rest, line, why) in REFUSED {
        let fault = parse(rest).expect_err(rest);
        if fault.line != *line || !fault.why.contains(why) {
            wrong.push(format!("{rest}: {fault:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// On a stack as small as that of a thread of the agent.
#[test]
fn deep_nesting_is_refused() {
    let parsing = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
            for depth in [100, 1000, 10_000] {
                let text = format!("steps:\n  - {}x{}\n", open.repeat(depth), close.repeat(depth));
                assert!(parse(&text).is_err(), "{open} {depth}");
            }
        }
        let indented: String = (0..300).flat_map(|depth| [" ".repeat(depth), "a:\n".to_owned()]).collect();
        assert!(parse(&indented).is_err());
    });
    parsing.unwrap().join().unwrap();
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..9 {
        let before = format!("*a{}, ", at - 1).repeat(10);
        text = format!("{text}a{at}: &a{at} [{before}]\n");
    }
    let begun = std::time::Instant::now();
    assert!(parse(&text).is_err());
    assert!(begun.elapsed().as_secs() < 5);
}
