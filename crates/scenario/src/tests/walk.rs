// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wrong value in any key of the schema is refused by that key's own path.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{parse, schema};

/// A walk over all keys of the schema.
struct Walk {
    definitions: Value,
    types: usize,
    domains: usize,
    /// The numbers that may have any value.
    unbounded: BTreeSet<String>,
}

impl Walk {
    /// What a schema stands for: a reference is followed, and what may be missing is taken as there.
    fn resolve(&self, schema: &Value) -> Value {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let definition = self.definitions[name.trim_start_matches("#/$defs/")].clone();
            // What stands beside the reference is of the key.
            let domain = schema.get("domain").map(|domain| ("domain".to_owned(), domain.clone()));
            let mut keys = definition.as_object().cloned().unwrap_or_default();
            keys.extend(domain);
            return keys.into();
        }
        match schema.get("anyOf").and_then(Value::as_array) {
            Some(options) => {
                let mut inner = self.resolve(&options[0]);
                if let Some(domain) = schema.get("domain") {
                    inner["domain"] = domain.clone();
                }
                inner
            }
            None => schema.clone(),
        }
    }

    /// Some value that will do.
    fn sample(&self, schema: &Value) -> Value {
        let schema = self.resolve(schema);
        if let Some(name) = schema.get("const") {
            return name.clone();
        }
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
            return self.sample(&variants[0]);
        }
        match kind_of(&schema) {
            "object" => {
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let keys = required.iter().filter_map(Value::as_str);
                keys.map(|key| (key.to_owned(), self.sample(&schema["properties"][key]))).collect::<Map<_, _>>().into()
            }
            "array" => json!([self.sample(&schema["items"])]),
            "integer" => json!(1),
            "number" => json!(0.5),
            "boolean" => json!(true),
            _ => match schema.get("units").and_then(Value::as_str).and_then(|units| units.split(',').next()) {
                Some("as a size") => json!("10 kB"),
                Some(unit) => json!(format!("1000 {unit}")),
                None => json!("name"),
            },
        }
    }

    /// Refuses wrong values of what `schema` describes, which `put` puts at `path` into an otherwise right file.
    fn visit(&mut self, schema: &Value, path: &str, put: &dyn Fn(Value) -> Value) {
        let schema = self.resolve(schema);
        let wrong =
            if kind_of(&schema) == "string" || schema.get("oneOf").is_some() { json!(7) } else { json!("wrong") };
        refuses(path, put(wrong));
        self.types += 1;
        if schema.get("units").is_some() {
            refuses(path, put(json!("wrong")));
        }
        if schema.get("domain").is_some() {
            self.domains += 1;
            let outside = outside(&schema);
            let refused = outside.iter().filter(|value| refusal(&put((*value).clone())).0 == path);
            assert!(refused.count() > 0, "{path}: {outside:?} are all accepted, or refused elsewhere");
        } else if ["number", "integer"].contains(&kind_of(&schema)) {
            self.unbounded.insert(path.to_owned());
        }
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
            for variant in variants.iter().filter(|variant| variant.get("properties").is_some()) {
                self.keys(variant, path, put);
            }
        } else if kind_of(&schema) == "object" {
            self.keys(&schema, path, put);
        } else if kind_of(&schema) == "array" {
            self.visit(&schema["items"], &format!("{path}[0]"), &|item| put(json!([item])));
        }
    }

    fn keys(&mut self, schema: &Value, path: &str, put: &dyn Fn(Value) -> Value) {
        let table = self.sample(schema);
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.visit(property, &inner, &|value| {
                let mut table = table.clone();
                table[key] = value;
                put(table)
            });
        }
    }
}

fn kind_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => types[0].as_str().unwrap_or_default(),
        of => of.as_str().unwrap_or_default(),
    }
}

/// Values that the domain leaves out: those past a bound, or quantities of which one is too small or too large.
fn outside(schema: &Value) -> Vec<Value> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let past = [
        number("minimum").map(|least| least - 1.0),
        number("exclusiveMinimum"),
        number("maximum").map(|most| most + 1.0),
        number("exclusiveMaximum"),
    ];
    let past: Vec<Value> = past
        .into_iter()
        .flatten()
        .map(|value| if kind_of(schema) == "integer" { json!(value as i64) } else { json!(value) })
        .collect();
    match schema.get("units").and_then(Value::as_str) {
        Some("as a size, or packets") => vec![json!("0 B"), json!("0 packets")],
        Some(units) => ["0", "1000000"]
            .iter()
            .flat_map(|number| units.split(", ").map(move |unit| json!(format!("{number} {unit}"))))
            .collect(),
        None if kind_of(schema) == "string" => vec![json!("")],
        None => past,
    }
}

/// The path of the key that is refused in a file, and the whole line.
fn refusal(file: &Value) -> (String, String) {
    let text = toml::to_string(file).unwrap();
    match parse(&text) {
        Ok(_) => (String::new(), format!("accepted:\n{text}")),
        Err(error) => (error.path.clone(), error.to_string()),
    }
}

fn refuses(path: &str, file: Value) {
    let (key, line) = refusal(&file);
    assert_eq!(key, path, "{line}");
    assert!(line.starts_with(path), "{line}");
}

#[test]
fn a_wrong_value_in_any_key_is_refused_by_its_path() {
    let schema = schema();
    let mut walk = Walk { definitions: schema["$defs"].clone(), types: 0, domains: 0, unbounded: BTreeSet::new() };
    let whole = walk.sample(&schema);
    parse(&toml::to_string(&whole).unwrap()).unwrap();
    walk.keys(&schema, "", &|file| file);
    assert!(walk.types > 500 && walk.domains > 250, "{} keys, {} domains", walk.types, walk.domains);
    let any = ["flow[0].receiver.quick_acks", "seed"];
    assert_eq!(walk.unbounded, any.map(str::to_owned).into());
}
