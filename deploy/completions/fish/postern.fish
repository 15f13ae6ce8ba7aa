# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_postern_global_optspecs
    string join \n dry-run json= q/quiet v/verbose timeout= reason= request-id= direct h/help V/version
end

function __fish_postern_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_postern_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_postern_using_subcommand
    set -l cmd (__fish_postern_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c postern -n "__fish_postern_needs_command" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_needs_command" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_needs_command" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_needs_command" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_needs_command" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_needs_command" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_needs_command" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_needs_command" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_needs_command" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_needs_command" -s V -l version -d 'Print version'
complete -c postern -n "__fish_postern_needs_command" -f -a "run" -d 'Run a task in plain words'
complete -c postern -n "__fish_postern_needs_command" -f -a "plan" -d 'Show the plan that a task would come to, do nothing: the model\'s, or without one the offline planner\'s'
complete -c postern -n "__fish_postern_needs_command" -f -a "tasks" -d 'Tasks of yours that the agent knows'
complete -c postern -n "__fish_postern_needs_command" -f -a "schedule" -d 'Tasks of yours that begin by themselves: see `postern run --at`'
complete -c postern -n "__fish_postern_needs_command" -f -a "runbook" -d 'Runbooks: reviewed procedures that run as plans, without a model'
complete -c postern -n "__fish_postern_needs_command" -f -a "kb" -d 'The knowledge base: documents that you and your tasks can search'
complete -c postern -n "__fish_postern_needs_command" -f -a "insights" -d 'Report on your tasks: why they failed, which grants were missing, which steps were slow, what was approved again and again'
complete -c postern -n "__fish_postern_needs_command" -f -a "package" -d 'Packages'
complete -c postern -n "__fish_postern_needs_command" -f -a "pkg" -d 'Packages'
complete -c postern -n "__fish_postern_needs_command" -f -a "service" -d 'Units of systemd; a name without suffix is a service'
complete -c postern -n "__fish_postern_needs_command" -f -a "unit" -d 'Units of systemd; a name without suffix is a service'
complete -c postern -n "__fish_postern_needs_command" -f -a "host" -d 'The host as a whole'
complete -c postern -n "__fish_postern_needs_command" -f -a "file" -d 'Files'
complete -c postern -n "__fish_postern_needs_command" -f -a "command" -d 'Run a command that the policy names'
complete -c postern -n "__fish_postern_needs_command" -f -a "can" -d 'List your grants; with a command, say whether it is granted'
complete -c postern -n "__fish_postern_needs_command" -f -a "undo" -d 'Undo one of your requests'
complete -c postern -n "__fish_postern_needs_command" -f -a "keep" -d 'Keep a change that would be taken back. Run it in a new login: Postern checks only that this user\'s processes can still connect to it'
complete -c postern -n "__fish_postern_needs_command" -f -a "result" -d 'The recorded outcome of one of your requests'
complete -c postern -n "__fish_postern_needs_command" -f -a "health" -d 'Whether agent and helper work'
complete -c postern -n "__fish_postern_needs_command" -f -a "doctor" -d 'Check agent and helper on this host, and name the command that mends each fault'
complete -c postern -n "__fish_postern_needs_command" -f -a "config" -d 'The agent\'s configuration, /etc/postern/agent.toml'
complete -c postern -n "__fish_postern_needs_command" -f -a "model" -d 'Models: what they answer with'
complete -c postern -n "__fish_postern_needs_command" -f -a "shell" -d 'The agent\'s own commands'
complete -c postern -n "__fish_postern_needs_command" -f -a "mcp" -d 'The MCP server: offers what the policy grants this user as tools to any agent'
complete -c postern -n "__fish_postern_needs_command" -f -a "exec" -d 'Run a program whose `sudo`, `apt-get`, `systemctl` and so on become requests of this user\'s: puts /usr/lib/postern/shims first in PATH and sets `NoNewPrivileges`. It is no sandbox'
complete -c postern -n "__fish_postern_needs_command" -f -a "serve" -d 'The service behind agent.sock'
complete -c postern -n "__fish_postern_needs_command" -f -a "tell-operators" -d 'Write on operators\' terminals that a request waits: what postern-announce@.service does'
complete -c postern -n "__fish_postern_using_subcommand run" -l plan -d 'Carry out this plan: a file as `postern plan --json` prints it; - reads standard input' -r -F
complete -c postern -n "__fish_postern_using_subcommand run" -l at -d 'Not now, but at these times: a calendar event of systemd.time(7), such as "daily 02:00" or "Mon 06:30 Europe/Berlin"' -r
complete -c postern -n "__fish_postern_using_subcommand run" -l every -d 'Not now, but each time that this long has passed, such as 15m or 1d; at least one minute' -r
complete -c postern -n "__fish_postern_using_subcommand run" -l on-failed -d 'Not now, but each time that this unit enters the state "failed"' -r
complete -c postern -n "__fish_postern_using_subcommand run" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand run" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand run" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand run" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand run" -l continue -d 'Go on with what your last task left: what it did, what failed, what remained'
complete -c postern -n "__fish_postern_using_subcommand run" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand run" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand run" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand run" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand run" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand plan" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand plan" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand plan" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand plan" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand plan" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand plan" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand plan" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand plan" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand plan" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -f -a "list" -d 'All of them, the newest first'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -f -a "show" -d 'One task with its results'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -f -a "answer" -d 'Answer what a task asks'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -f -a "resume" -d 'Go on with a task that the end of the agent interrupted'
complete -c postern -n "__fish_postern_using_subcommand tasks; and not __fish_seen_subcommand_from list show answer resume cancel" -f -a "cancel" -d 'End a task; what has begun is not undone'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l replies -d 'The model\'s replies as they came, with known secrets taken out; those of the host\'s newest eight tasks are kept'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from answer" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tasks; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -f -a "list" -d 'All of them, the oldest first'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -f -a "show" -d 'One schedule with the tasks of its runs'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -f -a "pause" -d 'Begin no more runs; one that is at work goes on'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -f -a "resume" -d 'Begin runs again'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -f -a "remove" -d 'Remove it; the tasks of its runs are kept'
complete -c postern -n "__fish_postern_using_subcommand schedule; and not __fish_seen_subcommand_from list show pause resume remove run-now" -f -a "run-now" -d 'Begin a run now and follow it to its end'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand schedule; and __fish_seen_subcommand_from run-now" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -f -a "list" -d 'All of them, and whether the policy grants their steps to you'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -f -a "show" -d 'One runbook: its parameters, steps and notes'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -f -a "check" -d 'Check a runbook\'s text, and whether the policy grants each step: exit 0 granted, 4 with approval, 3 not granted'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -f -a "from-task" -d 'Draft a runbook from what a task did; it is printed, for a person to review'
complete -c postern -n "__fish_postern_using_subcommand runbook; and not __fish_seen_subcommand_from list show check from-task run" -f -a "run" -d 'Carry out a runbook as a plan, without a model'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from from-task" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l at -d 'Not now, but at these times: a calendar event of systemd.time(7), such as "daily 02:00" or "Mon 06:30 Europe/Berlin"' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l every -d 'Not now, but each time that this long has passed, such as 15m or 1d; at least one minute' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l on-failed -d 'Not now, but each time that this unit enters the state "failed"' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand runbook; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -f -a "add" -d 'Add documents: Markdown, text, logs, manual pages, also gzipped; of a directory all that are below it'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -f -a "list" -d 'Your documents, the logs of your tasks and the site\'s notes'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -f -a "remove" -d 'Remove a document of yours'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -f -a "search" -d 'Find parts of documents: yours, the site\'s, and the documentation of this host'
complete -c postern -n "__fish_postern_using_subcommand kb; and not __fish_seen_subcommand_from add list remove search status" -f -a "status" -d 'Number and size of the documents that you can find'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l name -d 'The name to keep one document under, such as the URL that it comes from' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l limit -d 'Most results, 20 or fewer' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from search" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand kb; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand insights" -l since -d 'Only what began since then: 90s, 10m, 1h or 7d ago, or a time in UTC such as 2026-11-21' -r
complete -c postern -n "__fish_postern_using_subcommand insights" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand insights" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand insights" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand insights" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand insights" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand insights" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand insights" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand insights" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand insights" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "install" -d 'Install packages'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "remove" -d 'Remove packages, keep their configuration'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "purge" -d 'Remove packages and their configuration'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "autoremove" -d 'Remove packages that nothing needs any more'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "update" -d 'Refresh the package lists'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "upgrade" -d 'Bring packages to their newest version'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "hold" -d 'Keep packages at their version'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "unhold" -d 'Let packages change again'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "repair" -d 'Finish what an interrupted transaction left behind'
complete -c postern -n "__fish_postern_using_subcommand package; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "show" -d 'Look at packages'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from purge" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from autoremove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l all -d 'All packages'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from upgrade" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from hold" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from unhold" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand package; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "install" -d 'Install packages'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "remove" -d 'Remove packages, keep their configuration'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "purge" -d 'Remove packages and their configuration'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "autoremove" -d 'Remove packages that nothing needs any more'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "update" -d 'Refresh the package lists'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "upgrade" -d 'Bring packages to their newest version'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "hold" -d 'Keep packages at their version'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "unhold" -d 'Let packages change again'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "repair" -d 'Finish what an interrupted transaction left behind'
complete -c postern -n "__fish_postern_using_subcommand pkg; and not __fish_seen_subcommand_from install remove purge autoremove update upgrade hold unhold repair show" -f -a "show" -d 'Look at packages'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from purge" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from autoremove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l all -d 'All packages'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from upgrade" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from hold" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from unhold" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand pkg; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "status" -d 'Look at a unit'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "start" -d 'Start a unit'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "stop" -d 'Stop a unit'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "restart" -d 'Stop and start a unit'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "reload" -d 'Let a unit read its configuration again'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "try-restart" -d 'Restart a unit if it runs'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "reset-failed" -d 'Forget that a unit failed'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "enable" -d 'Start a unit at boot'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "disable" -d 'Do not start a unit at boot'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "mask" -d 'Let nothing start a unit'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "unmask" -d 'Let a masked unit be started again'
complete -c postern -n "__fish_postern_using_subcommand service; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "daemon-reload" -d 'Let systemd read its units again'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l lines -d 'The last lines of its journal, if the policy grants them' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from restart" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reload" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from try-restart" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from reset-failed" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l now -d 'At once as well, not only at boot'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from enable" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l now -d 'At once as well, not only at boot'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from disable" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l now -d 'At once as well, not only at boot'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from mask" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from unmask" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand service; and __fish_seen_subcommand_from daemon-reload" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "status" -d 'Look at a unit'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "start" -d 'Start a unit'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "stop" -d 'Stop a unit'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "restart" -d 'Stop and start a unit'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "reload" -d 'Let a unit read its configuration again'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "try-restart" -d 'Restart a unit if it runs'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "reset-failed" -d 'Forget that a unit failed'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "enable" -d 'Start a unit at boot'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "disable" -d 'Do not start a unit at boot'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "mask" -d 'Let nothing start a unit'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "unmask" -d 'Let a masked unit be started again'
complete -c postern -n "__fish_postern_using_subcommand unit; and not __fish_seen_subcommand_from status start stop restart reload try-restart reset-failed enable disable mask unmask daemon-reload" -f -a "daemon-reload" -d 'Let systemd read its units again'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l lines -d 'The last lines of its journal, if the policy grants them' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from restart" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reload" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from try-restart" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from reset-failed" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l now -d 'At once as well, not only at boot'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from enable" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l now -d 'At once as well, not only at boot'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from disable" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l now -d 'At once as well, not only at boot'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from mask" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from unmask" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand unit; and __fish_seen_subcommand_from daemon-reload" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand host; and not __fish_seen_subcommand_from reboot" -f -a "reboot" -d 'Reboot it after a delay, with a warning to people who are logged in'
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l delay -d 'How long from now, in whole minutes, such as 5m' -r
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l cancel -d 'Cancel the reboot that this client has scheduled'
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand host; and __fish_seen_subcommand_from reboot" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "read" -d 'Print a file'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "list" -d 'List a directory'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "write" -d 'Make a file hold what stdin, --from or --content says'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "patch" -d 'Apply a unified diff from stdin or --from, to all its files or to none'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "edit" -d 'Change a file in your editor ($VISUAL, $EDITOR): on a private copy, written back if nobody else wrote meanwhile'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "remove" -d 'Remove a file'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "mkdir" -d 'Make a directory'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "set-mode" -d 'Set a file\'s mode'
complete -c postern -n "__fish_postern_using_subcommand file; and not __fish_seen_subcommand_from read list write patch edit remove mkdir set-mode set-owner" -f -a "set-owner" -d 'Set a file\'s owner'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l offset -d 'From this byte on; negative counts from the end' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l limit -d 'At most so many bytes; 0 = what the rule grants' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from read" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l from -d 'Take the content from this file' -r -F
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l content -d 'The content' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l mode -d 'Octal, such as 0644' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l owner -d 'A user\'s name' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l group -d 'A group\'s name' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l expect -d 'Expected current content: a SHA-256, "absent" or "any"' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from write" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l from -d 'Take the diff from this file' -r -F
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l exclude -d 'Leave this file out; may be given several times' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -s i -l interactive -d 'Show each file\'s part and ask on the terminal whether it is sent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from patch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from edit" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l expect -d 'Expected current content: a SHA-256 or "any"' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l mode -d 'Octal, such as 0644' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l owner -d 'A user\'s name' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l group -d 'A group\'s name' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from mkdir" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-mode" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand file; and __fish_seen_subcommand_from set-owner" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand command" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand command" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand command" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand command" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand command" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand command" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand command" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand command" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand command" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand can" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand can" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand can" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand can" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand can" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand can" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand can" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand can" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand can" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand undo" -l task -d 'All changes of this task, the newest first; units that took them up are reloaded' -r
complete -c postern -n "__fish_postern_using_subcommand undo" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand undo" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand undo" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand undo" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand undo" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand undo" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand undo" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand undo" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand undo" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand keep" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand keep" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand keep" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand keep" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand keep" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand keep" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand keep" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand keep" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand keep" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand result" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand result" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand result" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand result" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand result" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand result" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand result" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand result" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand result" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand health" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand health" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand health" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand health" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand health" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand health" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand health" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand health" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand health" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand doctor" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand doctor" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand doctor" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand doctor" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand doctor" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand doctor" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand doctor" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand doctor" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -f -a "check" -d 'Look for errors'
complete -c postern -n "__fish_postern_using_subcommand config; and not __fish_seen_subcommand_from check show" -f -a "show" -d 'Print what is in use as JSON'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -f -a "read" -d 'Parse a model\'s reply from stdin, and print its call or the error\'s code'
complete -c postern -n "__fish_postern_using_subcommand model; and not __fish_seen_subcommand_from read test" -f -a "test" -d 'Try the endpoint of [model] in agent.toml and say what it can do'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l corpus -d 'Read a JSON Lines file of rows {id, text, expect, multiple} instead and count the rows that hold' -r -F
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from read" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l provider -d 'The kind of endpoint' -r -f -a "offline\t'No model: plain imperative orders'
openai\t'An endpoint of the form of `OpenAI`\'s chat completions'
anthropic\t'An endpoint of the form of Anthropic\'s messages'
scripted\t'Replies from a file, one after the other: for trying without a model'"
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l base-url -d 'Where it answers' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l name -d 'The model\'s name there' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l key -d 'Where its key is kept, as in agent.toml' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand model; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -f -a "check" -d 'Say what would be done with a command, run nothing: exit 0 SAFE, 4 CONFIRM, 3 BLOCK'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -f -a "rules" -d 'Print the rules that commands are judged by, the built-in ones and those of the file, as a file of rules'
complete -c postern -n "__fish_postern_using_subcommand shell; and not __fish_seen_subcommand_from check rules run" -f -a "run" -d 'Run a command in the agent\'s sandbox; `sudo` and its like in it become requests'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l rules -d 'Rules in place of /etc/postern/shell-rules.yaml' -r -F
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l rules -d 'Rules in place of /etc/postern/shell-rules.yaml' -r -F
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from rules" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand shell; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l wait -d 'A call without an outcome after this time answers "waiting", with an id to ask again' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l listen -d 'Listen on a Unix socket, by streamable HTTP, for this user alone' -r -F
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand mcp; and not __fish_seen_subcommand_from install" -f -a "install" -d 'Add the server to an agent\'s own configuration; the old file is kept'
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l scope -d 'For this user, or for everybody who works in the current directory' -r -f -a "user\t'The person, in all projects'
project\t'Everybody who works in the current directory'"
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l uninstall -d 'Remove the server from there'
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand mcp; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern -n "__fish_postern_using_subcommand exec" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand exec" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand exec" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand exec" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand exec" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand exec" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand exec" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand exec" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand exec" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand serve" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand serve" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand serve" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand serve" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand serve" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand serve" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand serve" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand serve" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand serve" -s h -l help -d 'Print help'
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -l json -d 'Print one JSON object at the end; with =lines one for every event' -r -f -a "object\t''
lines\t''"
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -l timeout -d 'Wait at most so long for locks, jobs and approval, such as 90s or 5m' -r
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -l reason -d 'Why, for the audit log' -r
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -l request-id -d 'The request\'s own id (UUIDv7): asked again under it, the helper acts once' -r
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -l dry-run -d 'Show what would be done, change nothing'
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -s q -l quiet -d 'No progress and no hints'
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -s v -l verbose -d 'Say what each request to a model holds and what was used so far, in tokens'
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -l direct -d 'Ask the helper itself, as this user, not through the agent'
complete -c postern -n "__fish_postern_using_subcommand tell-operators" -s h -l help -d 'Print help'
