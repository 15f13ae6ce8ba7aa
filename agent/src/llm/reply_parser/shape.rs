//! Recognises objects that are calls: the names that wire formats and common prompts give to tool and arguments.

use serde_json::{Map, Value};

/// Accepted names of the arguments' member.
pub const ARGS: [&str; 5] = ["args", "tool_args", "arguments", "parameters", "input"];

/// A call by its name, its arguments not looked at yet.
#[derive(Debug)]
pub struct Named {
    /// The tool; not empty.
    pub tool: String,
    /// Value of the arguments' member.
    pub args: Option<Value>,
}

/// The calls in an object; none if it is not shaped like one.
///
/// # Errors
/// Something stands twice under different names, so that readers differ on which counts.
pub fn calls(mut object: Map<String, Value>) -> Result<Vec<Named>, &'static str> {
    let function = object.remove("function");
    let listed = object.remove("tool_calls");
    let mut found = Vec::new();
    let mut sources = 0;
    if let Some(call) = direct(object)? {
        found.push(call);
        sources += 1;
    }
    if let Some(Value::Object(function)) = function
        && let Some(call) = direct(function)?
    {
        found.push(call);
        sources += 1;
    }
    if let Some(Value::Array(items)) = listed {
        let before = found.len();
        for item in items {
            let Value::Object(mut item) = item else { continue };
            let call = match item.remove("function") {
                Some(Value::Object(function)) => direct(function)?,
                Some(_) | None => direct(item)?,
            };
            found.extend(call);
        }
        sources += usize::from(found.len() > before);
    }
    if sources > 1 { Err("a call stands beside another one in the same object") } else { Ok(found) }
}

fn direct(mut object: Map<String, Value>) -> Result<Option<Named>, &'static str> {
    let args: Vec<&str> = ARGS.into_iter().filter(|key| object.contains_key(*key)).collect();
    let mut names: Vec<&str> =
        ["tool", "tool_name"].into_iter().filter(|key| object.contains_key(*key)).collect();
    // Much has a name; only beside arguments is it a tool's.
    if !args.is_empty() && object.contains_key("name") {
        names.push("name");
    }
    let [name] = names.as_slice() else {
        return if names.is_empty() { Ok(None) } else { Err("the tool is named twice") };
    };
    if args.len() > 1 {
        return Err("the arguments stand there twice");
    }
    match object.remove(*name) {
        Some(Value::String(tool)) if !tool.is_empty() => {
            Ok(Some(Named { tool, args: args.first().and_then(|key| object.remove(*key)) }))
        }
        _ => Ok(None),
    }
}
