//! Texts for a client's model: how to use the tools, and two orders that people give often.

use super::connection::Connection;
use crate::protocol::event::AgentError;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

const DIAGNOSE: &str = "diagnose_unit";
const INSTALL: &str = "install_and_configure";

/// Returns the instructions sent at initialization.
pub fn instructions(connection: &Connection) -> String {
    let mut text = "Administers this Debian host. Each tool sends a typed request to a helper that does only what the \
        host's policy grants to this user; what each tool is granted is in its description and in postern://policy. \
        Use these tools in place of sudo. \
        A refusal names what is missing: do not try to get around it, tell the person. \
        dry_run shows the decision and the plan and changes nothing. \
        An answer with status \"waiting\" goes on without you; request_result waits for its outcome. If it waits for \
        an operator, tell the person the command in approval.command: nobody can approve it from here. \
        An answer with `undo` can be taken back with that id."
        .to_owned();
    if let Some(notice) = connection.notice() {
        text = format!("{text} Note: {notice}.");
    }
    text
}

/// The prompts.
pub fn list() -> Vec<Prompt> {
    let needed = |name: &str, about: &str| {
        PromptArgument::new(name).with_description(about.to_owned()).with_required(true)
    };
    vec![
        Prompt::new(
            DIAGNOSE,
            Some("Find out why a unit does not work, and change nothing."),
            Some(vec![needed("unit", "The unit, such as nginx.")]),
        ),
        Prompt::new(
            INSTALL,
            Some("Install a package and configure it, each step shown before it is done."),
            Some(vec![
                needed("package", "The package, such as nginx-light."),
                needed("goal", "What it shall do, in a sentence."),
            ]),
        ),
    ]
}

/// One prompt with its arguments filled in.
///
/// # Errors
/// There is no such prompt, or an argument is missing.
pub fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, AgentError> {
    let argument = |key: &str| match arguments.get(key).and_then(|value| value.as_str()) {
        Some(text) if !text.trim().is_empty() => Ok(text),
        _ => Err(AgentError::new("invalid_argument", format!("the prompt {name} needs {key}"))),
    };
    let text = match name {
        DIAGNOSE => format!(
            "Find out why the unit {} of this host does not work. Look at its status, its journal and the \
             configuration files that the messages name. Change nothing. Say what is wrong, what shows it, and the \
             smallest change that repairs it.",
            argument("unit")?
        ),
        INSTALL => format!(
            "Install the package {} on this host and configure it: {}. Begin with postern://policy and with a dry run \
             of the installation. Read a configuration file before you change it, and change it with apply_patch. \
             Reload or restart the unit and look at its status. If something is refused, stop and say what is missing. \
             At the end list the request ids of all changes, so that they can be taken back.",
            argument("package")?,
            argument("goal")?
        ),
        _ => {
            let why = postern_text::unknown("prompt", name, [DIAGNOSE, INSTALL]);
            return Err(AgentError::new("invalid_argument", why));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
