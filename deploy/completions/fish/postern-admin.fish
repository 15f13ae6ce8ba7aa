# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_postern_admin_global_optspecs
    string join \n h/help V/version
end

function __fish_postern_admin_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_postern_admin_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_postern_admin_using_subcommand
    set -l cmd (__fish_postern_admin_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c postern-admin -n "__fish_postern_admin_needs_command" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -s V -l version -d 'Print version'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "init" -d 'Set Postern up: people, packs, model, audit key, and a first task'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "policy" -d 'Check, compare, explain and accept policies'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "pack" -d 'Add reviewed rules for a service to the policy'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "status" -d 'State of the recorder, and whether the policy files match the accepted policy'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "doctor" -d 'Check what Postern needs of this host, and name the command that mends each fault'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "backup" -d 'Write the policy\'s files, sign-offs and the log\'s tip to one file, to be kept elsewhere'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "restore" -d 'Put back the policy of a backup, as `policy apply` accepts it, and compare the log with the backup\'s tip'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "pending" -d 'What waits for a person to agree'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "show" -d 'Show what would be agreed to'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "approve" -d 'Show a request\'s text and ask whether it may run'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "deny" -d 'Refuse a request; the same request is refused for an hour'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "watch" -d 'Follow what comes to wait and how it ends, until Ctrl-C'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "pause" -d 'Let nothing new begin until `resume`; what has begun goes on'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "resume" -d 'Let requests begin again'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "undo" -d 'Undo a request, all of a task or all since a time, newest first'
complete -c postern-admin -n "__fish_postern_admin_needs_command" -f -a "audit" -d 'Read and verify the audit log'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l tasks -d 'Who gives the agent tasks: users with commas between them, or `none`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l approve -d 'Who approves, undoes and pauses: users, or `none`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l look -d 'Who only reads the policy and the audit log: users, or `none`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l packs -d 'Which packs the policy gets, or `none`; see `pack list`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l set -d 'A value of a pack\'s variable' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l model -d 'Which model makes the steps of a task' -r -f -a "none\t'No model: the built-in planner, which understands plain orders'
ollama\t'Ollama on this host'
llama.cpp\t'llama.cpp\'s server on this host'
openai\t'An endpoint with the chat completions of `OpenAI`'
anthropic\t'Anthropic\'s'"
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l model-name -d 'The model\'s name there [default: the first that the endpoint names]' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l model-url -d 'Where the endpoint answers [default: the provider\'s address, or its usual port on loopback]' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l model-key -d 'The file with the endpoint\'s key: root\'s or the agent\'s, mode 0600' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l key -d 'Whether the audit log\'s key is made now, which takes a terminal' -r -f -a "now\t'It is shown once, and typed back in part'
later\t'By `audit keygen`'"
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -l yes -d 'Do not ask whether the policy is to be applied'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "check" -d 'Check the files without changing anything'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "facts" -d 'Print what the lint knows of this host, as JSON for `check --facts`'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "apply" -d 'Accept the files in /etc/postern, all or nothing'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "diff" -d 'What one policy grants and the other does not, each with an example'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "explain" -d 'What the helper would decide about a request, by which rule, and what the nearest rules lack'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "report" -d 'What the agent can do on this host: every grant with risk, limits, use, and who may approve'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "suggest" -d 'Rules for what the audit log says was refused for lack of one, to be read, narrowed and added by a person'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and not __fish_seen_subcommand_from check facts apply diff explain report suggest sign-off" -f -a "sign-off" -d 'Say that you have read the policy: its digest and your name are kept'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from check" -l facts -d 'Check against this host, as `policy facts` described it' -r -F
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from check" -l strict -d 'Warnings are errors'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from check" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from check" -l sarif -d 'SARIF 2.1.0, for code review tools'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from check" -l after-packages -d 'Check the accepted policy against this host and write warnings to the journal; for apt\'s hook'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from facts" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from apply" -l yes -d 'Do not ask'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from apply" -l accepted -d 'Only write the units and mounts of the policy that is accepted already, as this version has them'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from diff" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from diff" -l exit-code -d 'Exit with 1 if there is a change in effect'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l client -d 'Who asks [default: the only client, or the one of user postern]' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l policy -d 'A policy.toml, or a directory laid out like /etc/postern [default: the accepted policy]' -r -F
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l bytes -d 'Bytes of new content' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l from -d 'The new content, which is read and no more' -r -F
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l mode -d 'Mode asked for, such as 0644' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l owner -d 'Owner asked for' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l group -d 'Group asked for' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l now -d 'With unit.enable, disable and mask: at once as well'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l all -d 'With package.upgrade: every installed package'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from report" -l format -d 'For a terminal, for a ticket, or one page that needs no network' -r -f -a "text\t'A terminal'
md\t'Markdown'
html\t'One self-contained page'"
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from report" -l host -d 'The host\'s name in the report [default: this host\'s]' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from report" -l policy -d 'A policy.toml, or a directory laid out like /etc/postern [default: the accepted policy]' -r -F
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from report" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l since -d 'Only records since then: 90s, 10m, 1h or 2d ago, or a time in UTC such as 2026-11-21 or "2026-11-21 04:13"' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l until -d 'Only records before then' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l event -d 'Only records of this event, such as begin, end or refused' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l client -d 'Only records of this client: its name, or the uid that the kernel reported' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l person -d 'Only records that are for this person, by name or uid, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l verb -d 'Only records of this verb' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l rule -d 'Only records in which this rule decided' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l request -d 'Only records of this request; the beginning of an id will do' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l task -d 'Only records of this task, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l decision -d 'Only records with this decision: allow, ask or deny' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l outcome -d 'Only records that ended so: a status such as done or failed, or a code such as `no_grant`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -l boot -d 'Only records of this boot'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from suggest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from sign-off" -l note -d 'What was looked at, or a ticket' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from sign-off" -l files -d 'Sign the files in /etc/postern before they are applied, instead of the accepted policy'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from sign-off" -l yes -d 'Do not ask'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand policy; and __fish_seen_subcommand_from sign-off" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -f -a "list" -d 'Every pack: whether it is added, on which releases it was run, and whether this host has what it is for'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -f -a "show" -d 'What a pack asks, grants and leaves out'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -f -a "add" -d 'Ask for a pack\'s values, write its rules to /etc/postern/policy.d, and apply the policy'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -f -a "remove" -d 'Remove a pack\'s file and apply the policy'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -f -a "diff" -d 'How a pack\'s file differs from what the installed pack makes of the same values'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and not __fish_seen_subcommand_from list show add remove diff update" -f -a "update" -d 'Take up what the installed packs say now, and apply the policy'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from list" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from show" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from add" -l set -d 'A variable\'s value; several with commas between them. With several packs: PACK.NAME=VALUE' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from add" -l yes -d 'Do not ask: defaults for what --set does not give, and the policy is applied'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from add" -l discard-edits -d 'Write over a pack\'s file that was edited; it stays beside it as FILE.before'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from remove" -l set -d 'A variable\'s value; several with commas between them. With several packs: PACK.NAME=VALUE' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from remove" -l yes -d 'Do not ask: defaults for what --set does not give, and the policy is applied'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from remove" -l discard-edits -d 'Write over a pack\'s file that was edited; it stays beside it as FILE.before'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from diff" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from update" -l set -d 'A variable\'s value; several with commas between them. With several packs: PACK.NAME=VALUE' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from update" -l yes -d 'Do not ask: defaults for what --set does not give, and the policy is applied'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from update" -l discard-edits -d 'Write over a pack\'s file that was edited; it stays beside it as FILE.before'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pack; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand status" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand status" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand doctor" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand restore" -l yes -d 'Do not ask'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pending" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pending" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand show" -l json -d 'One JSON object: the text and the digest of the order'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand show" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand approve" -l task -d 'All that waits of this task' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand approve" -l digest -d 'Do not ask: the order with this digest (`sha256` of `show --json`) was reviewed' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand approve" -l reason -d 'For the record' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand approve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand deny" -l task -d 'All that waits of this task' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand deny" -l reason -d 'Why; the client and its model are told' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand deny" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand watch" -l json -d 'One JSON object a line'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand watch" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pause" -l reason -d 'Why, for `status` and for those who are refused meanwhile' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand pause" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand resume" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand undo" -l task -d 'All requests of a task' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand undo" -l since -d 'All requests since so long ago, such as 90s, 10m, 1h or 2d' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand undo" -l dry-run -d 'Only show what would be undone'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand undo" -l yes -d 'Do not ask'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and not __fish_seen_subcommand_from show summary export verify keygen" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and not __fish_seen_subcommand_from show summary export verify keygen" -f -a "show" -d 'Show records, oldest first'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and not __fish_seen_subcommand_from show summary export verify keygen" -f -a "summary" -d 'How often what was asked for, by whom, under which rule, and what was refused'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and not __fish_seen_subcommand_from show summary export verify keygen" -f -a "export" -d 'Records as other systems read them'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and not __fish_seen_subcommand_from show summary export verify keygen" -f -a "verify" -d 'Prove that no record was changed, cut out, added or moved'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and not __fish_seen_subcommand_from show summary export verify keygen" -f -a "keygen" -d 'Make the key that the log is sealed with, and show it once'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l since -d 'Only records since then: 90s, 10m, 1h or 2d ago, or a time in UTC such as 2026-11-21 or "2026-11-21 04:13"' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l until -d 'Only records before then' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l event -d 'Only records of this event, such as begin, end or refused' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l client -d 'Only records of this client: its name, or the uid that the kernel reported' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l person -d 'Only records that are for this person, by name or uid, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l verb -d 'Only records of this verb' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l rule -d 'Only records in which this rule decided' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l request -d 'Only records of this request; the beginning of an id will do' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l task -d 'Only records of this task, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l decision -d 'Only records with this decision: allow, ask or deny' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l outcome -d 'Only records that ended so: a status such as done or failed, or a code such as `no_grant`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l last -d 'Only the last N that fit [default: all; 10 with --follow]' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l boot -d 'Only records of this boot'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'The records as the log has them, one JSON object a line'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -s f -l follow -d 'Go on with what is recorded from now on, until Ctrl-C'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l since -d 'Only records since then: 90s, 10m, 1h or 2d ago, or a time in UTC such as 2026-11-21 or "2026-11-21 04:13"' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l until -d 'Only records before then' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l event -d 'Only records of this event, such as begin, end or refused' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l client -d 'Only records of this client: its name, or the uid that the kernel reported' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l person -d 'Only records that are for this person, by name or uid, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l verb -d 'Only records of this verb' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l rule -d 'Only records in which this rule decided' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l request -d 'Only records of this request; the beginning of an id will do' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l task -d 'Only records of this task, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l decision -d 'Only records with this decision: allow, ask or deny' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l outcome -d 'Only records that ended so: a status such as done or failed, or a code such as `no_grant`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l boot -d 'Only records of this boot'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from summary" -s h -l help -d 'Print help'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l since -d 'Only records since then: 90s, 10m, 1h or 2d ago, or a time in UTC such as 2026-11-21 or "2026-11-21 04:13"' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l until -d 'Only records before then' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l event -d 'Only records of this event, such as begin, end or refused' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l client -d 'Only records of this client: its name, or the uid that the kernel reported' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l person -d 'Only records that are for this person, by name or uid, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l verb -d 'Only records of this verb' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l rule -d 'Only records in which this rule decided' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l request -d 'Only records of this request; the beginning of an id will do' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l task -d 'Only records of this task, as the client claims' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l decision -d 'Only records with this decision: allow, ask or deny' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l outcome -d 'Only records that ended so: a status such as done or failed, or a code such as `no_grant`' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l format -d 'For what it is exported' -r -f -a "cef\t'`ArcSight` Common Event Format, version 0'
rfc5424\t'Syslog messages with structured data, after RFC 5424'"
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -l boot -d 'Only records of this boot'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -s f -l follow -d 'Go on with what is recorded from now on, until Ctrl-C'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from verify" -l key -d 'Check the seals with the key that `audit keygen` showed, read from this file, `-` for standard input' -r -F
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from verify" -l public -d 'Check the signatures: the public key that `audit keygen` or an earlier verification printed' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from verify" -l tip -d 'A tip that an earlier verification printed and that was kept elsewhere' -r
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from verify" -l journal -d 'Compare with the lines that root writes into the journal before each effect'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from verify" -l json -d 'One JSON object'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c postern-admin -n "__fish_postern_admin_using_subcommand audit; and __fish_seen_subcommand_from keygen" -s h -l help -d 'Print help'
