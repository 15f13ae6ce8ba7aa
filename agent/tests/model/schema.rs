//! As much of JSON Schema as the service's document uses.

use serde_json::Value;

/// Returns the differences of a value from a schema of the document.
pub fn violations(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let target = document.pointer(name.trim_start_matches('#')).expect(name);
        return violations(document, target, value);
    }
    let mut wrong = Vec::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        wrong.extend(violations(document, part, value));
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[key].as_array() {
            let fits = choices.iter().filter(|choice| violations(document, choice, value).is_empty()).count();
            if fits == 0 {
                wrong.push(format!("{value} is none of {key}"));
            }
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_of = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the document has a type {other}"),
    };
    if !types.is_empty() && !types.iter().any(|kind| is_of(kind)) {
        wrong.push(format!("{value} is not {types:?}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong.push(format!("{value} is not one of {words:?}"));
    }
    if let Some(members) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                wrong.push(format!("{name} is missing"));
            }
        }
        for (name, member) in members {
            match &schema["properties"][name] {
                Value::Null if schema["additionalProperties"] == false => {
                    wrong.push(format!("{name} is extra"));
                }
                Value::Null => {}
                own => wrong.extend(violations(document, own, member)),
            }
        }
    }
    for item in value.as_array().into_iter().flatten() {
        wrong.extend(violations(document, &schema["items"], item));
    }
    wrong
}
