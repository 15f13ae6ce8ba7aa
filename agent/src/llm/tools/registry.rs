//! Definition of a tool: a type that holds its name, arguments, limits and schema.

use super::call::Call;
use crate::inspect::READ_TIME;
use crate::redaction::{excerpt, redact};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::num::NonZeroUsize;
use std::time::Duration;

/// The most characters of all results in one request to a model.
pub const REQUEST_OUTPUT: usize = 60_000;

/// The most characters of one result, unless a tool's row says otherwise.
pub const OUTPUT: NonZeroUsize = NonZeroUsize::new(20_000).unwrap();

/// The time limit of a tool, unless its row says otherwise.
pub const TIME: Time = Time::Within(READ_TIME);

/// Time limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The agent, after so long.
    Within(Duration),
    /// The helper, by the policy's rule: an effect that has begun is not left alone.
    Rule,
    /// The person who is asked, or the task's own end.
    Task,
}

/// How secrets are taken out of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redaction {
    /// By the shapes of credentials.
    Whole,
    /// Besides, what may be part of a key: the result can begin in the middle of one.
    Excerpt,
}

/// Definition of a tool that is offered to models. No item has a default.
///
/// ```
/// use postern_agent::llm::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// const _: Tool = Tool::of::<Peek>();
/// ```
///
/// Without a time limit it is no tool:
/// ```compile_fail
/// use postern_agent::llm::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
///
/// Nor without an output budget:
/// ```compile_fail
/// use postern_agent::llm::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
///
/// Nor without redaction:
/// ```compile_fail
/// use postern_agent::llm::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
///
/// Nor without a schema:
/// ```compile_fail
/// use postern_agent::llm::tools::{Arguments, Call, OUTPUT, Redaction, TIME, Time, Tool};
/// # use std::num::NonZeroUsize;
/// #[derive(serde::Deserialize)]
/// struct Peek {}
/// impl Arguments for Peek {
///     const NAME: &'static str = "peek";
///     const ABOUT: &'static str = "Look.";
///     const TIME: Time = TIME;
///     const OUTPUT: NonZeroUsize = OUTPUT;
///     const REDACTION: Redaction = Redaction::Whole;
///     fn call(self) -> Call { unimplemented!() }
/// }
/// ```
pub trait Arguments: DeserializeOwned + JsonSchema {
    /// The tool's name, as the model has to write it.
    const NAME: &'static str;
    /// Its description for the model, one sentence.
    const ABOUT: &'static str;
    /// Time limit of a call.
    const TIME: Time;
    /// The most characters of a result.
    const OUTPUT: NonZeroUsize;
    /// How secrets are taken out of a result.
    const REDACTION: Redaction;
    /// The call with these arguments.
    fn call(self) -> Call;
}

/// One tool: there is none but of a type that says all of it.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Its name, as the model has to write it.
    pub name: &'static str,
    /// Time limit of a call.
    pub time: Time,
    /// The most characters of a result.
    pub output: NonZeroUsize,
    about: &'static str,
    redaction: Redaction,
    schema: fn() -> Schema,
    check: fn(Map<String, Value>) -> Result<Call, serde_json::Error>,
}

/// Why a name and arguments are no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCall {
    /// There is no such tool.
    UnknownTool,
    /// The arguments are not the tool's; why.
    BadArgs(String),
}

/// A type's schema in one piece: where it stands in another one, a reference would lead nowhere.
pub(crate) fn whole<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

impl Tool {
    /// The tool with these arguments.
    #[must_use]
    pub const fn of<T: Arguments>() -> Self {
        const { assert!(T::OUTPUT.get() <= REQUEST_OUTPUT, "more than one request to a model may hold") };
        Self {
            name: T::NAME,
            time: T::TIME,
            output: T::OUTPUT,
            about: T::ABOUT,
            redaction: T::REDACTION,
            schema: whole::<T>,
            check: |args| T::deserialize(Value::Object(args)).map(T::call),
        }
    }

    /// Returns its description for the model, one sentence.
    #[must_use]
    pub fn about(&self) -> &'static str {
        self.about.trim()
    }

    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = (self.schema)();
        // For people who collect schemas; a model has no use for them.
        schema.remove("$schema");
        schema.remove("title");
        schema.remove("description");
        let mut schema = schema.to_value();
        shorten(&mut schema);
        schema
    }

    /// Takes secrets out of a result; how many.
    pub fn redact(&self, result: &mut Value) -> usize {
        let parts = match self.redaction {
            Redaction::Whole => 0,
            Redaction::Excerpt => excerpt::strings(result),
        };
        parts + redact::strings(result)
    }
}

/// Leaves out of a schema what the check of the arguments says better, and writes the words of a set as a list: every
/// request to a model carries all schemas.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for key in ["format", "minLength", "minimum"] {
                // A member of that name is a schema itself.
                if members.get(key).is_some_and(|value| !value.is_object()) {
                    members.remove(key);
                }
            }
            // Its name says it.
            if members.get("description").is_some_and(|text| text == "-") {
                members.remove("description");
            }
            if let Some(words) = members.get("oneOf").and_then(words) {
                members.remove("oneOf");
                members.insert("type".to_owned(), "string".into());
                members.insert("enum".to_owned(), words);
            }
            members.values_mut().for_each(shorten);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The words of a choice between words.
fn words(choices: &Value) -> Option<Value> {
    let word = |choice: &Value| choice["const"].as_str().map(Value::from);
    choices.as_array()?.iter().map(word).collect()
}

/// Makes a call of a name and arguments.
///
/// # Errors
/// The tool is not among `tools`, or the arguments are not exactly its own.
pub fn check(tools: &[Tool], name: &str, args: Map<String, Value>) -> Result<Call, NoCall> {
    let tool = tools.iter().find(|tool| tool.name == name).ok_or(NoCall::UnknownTool)?;
    // By its number serde would take an action as well.
    if args.get("action").is_some_and(|action| !action.is_string()) {
        return Err(NoCall::BadArgs("action is no string".to_owned()));
    }
    (tool.check)(args).map_err(|error| NoCall::BadArgs(error.to_string()))
}
