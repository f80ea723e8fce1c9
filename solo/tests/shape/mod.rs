//! The part of JSON Schema that the schemas use: does a document fit, and how a schema grows to take one more.

use serde_json::{Map, Value, json};
use std::path::Path;

/// Keywords that are understood; any other one would be a constraint that nobody checks.
const KEYWORDS: [&str; 14] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "const",
    "enum",
    "anyOf",
    "$comment",
];

/// Fields whose keys are names that a user or a chip gives.
const MAPS: [&str; 3] = ["counts", "counts_late", "files"];

/// Puts down every keyword that is not understood.
pub(crate) fn examine(schema: &Value, place: &str, faults: &mut Vec<String>) {
    let Value::Object(of) = schema else { return };
    for (key, value) in of {
        match key.as_str() {
            "properties" | "$defs" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    examine(inner, &format!("{place}.{name}"), faults);
                }
            }
            "items" | "additionalProperties" => examine(value, place, faults),
            "anyOf" => value.as_array().into_iter().flatten().for_each(|one| examine(one, place, faults)),
            known if KEYWORDS.contains(&known) => {}
            other => faults.push(format!("{place}: nobody checks `{other}`")),
        }
    }
}

/// Puts down where a document does not fit.
pub(crate) fn fits(schema: &Value, document: &Value, place: &str, faults: &mut Vec<String>) {
    check(schema, schema, document, place, faults);
}

fn check(root: &Value, schema: &Value, document: &Value, place: &str, faults: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix('#').unwrap_or(reference);
        let target = root.pointer(name).unwrap_or_else(|| panic!("{place}: {reference} leads nowhere"));
        return check(root, target, document, place, faults);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let one = |one: &Value| {
            let mut found = Vec::new();
            check(root, one, document, place, &mut found);
            found.is_empty()
        };
        if !any.iter().any(one) {
            faults.push(format!("{place}: fits none of {} forms", any.len()));
        }
        return;
    }
    if let Some(value) = schema.get("const").filter(|value| *value != document) {
        faults.push(format!("{place}: {document} instead of {value}"));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(document)) {
        faults.push(format!("{place}: {document} is none of {}", schema["enum"]));
    }
    let types = types_of(schema);
    let found = type_of(document);
    let as_number = found == "integer" && types.iter().any(|one| one == "number");
    if !types.is_empty() && !types.iter().any(|one| one == found) && !as_number {
        faults.push(format!("{place}: {found} instead of {}", types.join(" or ")));
    }
    match document {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                check(root, &schema["items"], item, &format!("{place}[{at}]"), faults);
            }
        }
        Value::Object(fields) => object(root, schema, fields, place, faults),
        _ => {}
    }
}

fn object(root: &Value, schema: &Value, fields: &Map<String, Value>, place: &str, faults: &mut Vec<String>) {
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(required) {
            faults.push(format!("{place}: `{required}` is not there"));
        }
    }
    for (key, value) in fields {
        let place = format!("{place}.{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(of), _) => check(root, of, value, &place, faults),
            (None, Value::Bool(false)) => faults.push(format!("{place}: not in the schema")),
            (None, of) => check(root, of, value, &place, faults),
        }
    }
}

fn types_of(schema: &Value) -> Vec<String> {
    match &schema["type"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(some) => some.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

fn type_of(document: &Value) -> &'static str {
    match document {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Widens a stored schema to what is written now.
pub(crate) fn bless(path: &Path, name: &str, version: u64, samples: &[Value]) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    for sample in samples {
        widen(&mut schema, sample, "");
    }
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(format!("solo {name}"));
    if samples.iter().all(|sample| sample["format"] == name) && !samples.is_empty() {
        schema["properties"]["format"] = json!({ "const": name });
        schema["properties"]["schema"] = json!({ "const": version });
    }
    std::fs::write(path, pretty(&schema, 0) + "\n").unwrap();
}

fn widen(schema: &mut Value, sample: &Value, key: &str) {
    if schema.get("$ref").is_some() || schema.get("const").is_some() || schema.get("anyOf").is_some() {
        return;
    }
    if schema.get("$comment").is_some() {
        // A field of which nothing but its absence was ever seen takes anything; more of that says nothing new.
        if sample.is_null() {
            return;
        }
        *schema = json!({ "type": "null" });
    }
    let mut types = types_of(schema);
    let fresh = !types.iter().any(|one| one == "object");
    let found = type_of(sample).to_owned();
    if found == "number" {
        types.retain(|one| one != "integer");
    }
    let known = types.contains(&found) || found == "integer" && types.iter().any(|one| one == "number");
    if !known {
        types.push(found);
    }
    types.sort();
    schema["type"] = if types.len() == 1 { json!(types[0]) } else { json!(types) };
    match sample {
        Value::Array(items) => {
            if schema.get("items").is_none() {
                schema["items"] = json!({});
            }
            items.iter().for_each(|item| widen(&mut schema["items"], item, ""));
        }
        Value::Object(fields) if MAPS.contains(&key) => {
            if schema.get("additionalProperties").is_none() {
                schema["additionalProperties"] = json!({});
            }
            fields.values().for_each(|value| widen(&mut schema["additionalProperties"], value, ""));
        }
        Value::Object(fields) => {
            schema["additionalProperties"] = json!(false);
            let known = schema["required"].as_array().cloned().unwrap_or_default();
            let keeps = |name: &Value| name.as_str().is_some_and(|name| fields.contains_key(name));
            schema["required"] = match fresh {
                true => fields.keys().map(|name| json!(name)).collect(),
                false => known.into_iter().filter(keeps).collect(),
            };
            for (name, value) in fields {
                if schema["properties"].get(name).is_none() {
                    schema["properties"][name] = json!({});
                }
                widen(&mut schema["properties"][name], value, name);
            }
        }
        _ => {}
    }
}

/// What fits into a line is one.
fn pretty(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    match value {
        _ if line.len() + 2 * depth <= 110 => line,
        Value::Object(fields) => {
            let inner: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{indent}{}: {}", json!(key), pretty(value, depth + 1)))
                .collect();
            format!("{{\n{}\n{close}}}", inner.join(",\n"))
        }
        Value::Array(items) => {
            let inner: Vec<String> =
                items.iter().map(|item| format!("{indent}{}", pretty(item, depth + 1))).collect();
            format!("[\n{}\n{close}]", inner.join(",\n"))
        }
        _ => line,
    }
}
