//! What exactly a named command runs.

use crate::audit::Json;
use crate::context::Context;
use crate::verb::Planned;
use postern_policy::{Consent, Facts};
use postern_proto::v1 as wire;

/// A named command with its parameters filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlan {
    /// Its name.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The user that it runs as.
    pub user: String,
    /// Its sandbox in words.
    pub sandbox: &'static str,
    /// Most seconds that it runs.
    pub timeout_s: u64,
    /// What its row adds to the sandbox, a line each.
    pub also: Vec<String>,
    /// The command that takes it back; empty = none.
    pub reverse: String,
}

impl Planned for CommandPlan {
    fn facts(&self) -> Facts {
        Facts::None
    }

    fn wire(&self, _: &Context, _: Consent) -> wire::Plan {
        let step =
            wire::CommandStep { name: self.name.clone(), argv: self.argv.clone(), user: self.user.clone() };
        wire::Plan { command: Some(step), ..wire::Plan::default() }
    }

    fn json(&self) -> Json {
        let also = self.also.iter().map(String::as_str);
        let json = Json::new().text("name", &self.name).texts("argv", self.argv.iter().map(String::as_str));
        Json::new().object(
            "command",
            &json.text("user", &self.user).text("sandbox", self.sandbox).texts("also", also),
        )
    }

    /// One line an argument, quoted, so that a person sees where each begins and ends.
    fn text(&self) -> Vec<u8> {
        let (user, sandbox, seconds) = (&self.user, self.sandbox, self.timeout_s);
        let arguments = self.argv.iter().map(|argument| format!("argument {argument:?}\n"));
        let head = format!("run {} as {user}, sandbox {sandbox}, for {seconds} s at most\n", self.name);
        let also = self.also.iter().map(|line| format!("{line}\n"));
        let reverse = (!self.reverse.is_empty()).then(|| format!("command {} takes it back\n", self.reverse));
        std::iter::once(head).chain(arguments).chain(also).chain(reverse).collect::<String>().into_bytes()
    }
}
