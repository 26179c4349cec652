//! Generates instances of a JSON Schema.

use serde_json::{Map, Value, json};

use super::choices::Choices;
use super::files::File;

pub(crate) struct FromSchema<'f, 'c, 'b> {
    pub(crate) file: &'f File,
    pub(crate) choices: &'c mut Choices<'b>,
    /// Returns `true` for definitions whose types keep unknown members.
    pub(crate) is_open: &'f dyn Fn(&str) -> bool,
    /// `true` while a part of an `allOf` is generated: the other parts may forbid the additional
    /// members that this part allows.
    pub(crate) is_part: bool,
}

impl FromSchema<'_, '_, '_> {
    pub(crate) fn definition(&mut self, name: &str) -> Value {
        let (file, is_part) = (self.file, self.is_part);
        let mut instance = self.instance(&file.definitions[name], 0);
        if let Value::Object(members) = &mut instance {
            // The schemas allow any string here; the prose defines the values.
            if let Some(result_type @ Value::String(_)) = members.get_mut("resultType") {
                *result_type = json!(match name {
                    "InputRequiredResult" => "input_required",
                    "CreateTaskResult" => "task",
                    _ => "complete",
                });
            }
            // Prose: an input round has input requests, a request state, or both.
            if name == "InputRequiredResult" && !members.contains_key("inputRequests") {
                members.entry("requestState").or_insert(json!(""));
            }
            if (self.is_open)(name) && !is_part && self.choices.one_in(3) {
                members.insert("x-unknown".into(), json!({"kept": [1, null]}));
            }
        }
        instance
    }

    fn instance(&mut self, schema: &Value, depth: usize) -> Value {
        if let Some(name) = self.file.referred(schema) {
            return self.definition(name);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return self.choices.pick(values).clone();
        }
        if let Some(Value::Array(alternatives)) = schema.get("anyOf") {
            let alternative = self.choices.pick(alternatives).clone();
            return self.instance(&alternative, depth);
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            let mut merged = Map::new();
            let outer = self.is_part;
            for part in parts {
                self.is_part = true;
                if let Value::Object(members) = self.instance(part, depth) {
                    merged.extend(members);
                }
            }
            self.is_part = outer;
            return Value::Object(merged);
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => self.choices.pick(kinds).as_str().unwrap().to_owned(),
            _ => return self.anything(depth),
        };
        self.of_type(&kind, schema, depth)
    }

    fn of_type(&mut self, kind: &str, schema: &Value, depth: usize) -> Value {
        match kind {
            "null" => Value::Null,
            "boolean" => json!(self.choices.one_in(2)),
            "string" => json!(self.string(schema)),
            "integer" => {
                let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
                let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
                json!(self.choices.integer().clamp(least, most))
            }
            "number" if schema.get("maximum").is_some() => {
                self.choices.pick(&[json!(0), json!(0.5), json!(1)]).clone()
            }
            "number" => {
                let numbers = [json!(0), json!(2.5), json!(-3), json!(1e300), json!(4.0)];
                self.choices.pick(&numbers).clone()
            }
            "array" => {
                let count = if depth > 4 { 0 } else { self.choices.below(3) };
                let items = &schema["items"];
                (0..count)
                    .map(|_| self.instance(items, depth + 1))
                    .collect()
            }
            "object" => self.object(schema, depth),
            other => panic!("a schema has the type {other:?}"),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let required = super::coverage::names(&schema["required"]);
        let mut members = Map::new();
        let properties = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let is_part = std::mem::replace(&mut self.is_part, false);
        for (name, property) in &properties {
            if required.contains(name.as_str()) || (depth < 8 && self.choices.one_in(2)) {
                members.insert(name.clone(), self.instance(property, depth + 1));
            }
        }
        let additional = match schema.get("additionalProperties") {
            Some(additional) => additional.clone(),
            // `{"type":"object"}` alone allows any object.
            None if properties.is_empty() => json!({}),
            None => return Value::Object(members),
        };
        if is_part {
            return Value::Object(members);
        }
        // `{"not":{}}` allows no members. The depth is limited.
        if additional.get("not").is_none() && depth < 4 {
            for key in ["extra", "io.x/\u{e9}"].iter().take(self.choices.below(3)) {
                members.insert((*key).into(), self.instance(&additional, depth + 1));
            }
        }
        Value::Object(members)
    }

    fn string(&mut self, schema: &Value) -> String {
        match schema["format"].as_str() {
            Some("uri") => self
                .choices
                .pick(&["file:///a", "https://example.com/?q=%20"])
                .to_string(),
            Some("uri-template") => "file:///{path}".into(),
            Some("byte") => self.choices.pick(&["", "AAAA"]).to_string(),
            _ => self.choices.text().into(),
        }
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.choices.below(7) {
            0 => json!(self.choices.text()),
            1 => json!(self.choices.integer()),
            2 => Value::Null,
            3 => json!(false),
            4 => json!(1.25),
            5 if depth < 4 => json!([self.anything(depth + 1)]),
            _ if depth < 4 => json!({"any": self.anything(depth + 1)}),
            _ => json!([]),
        }
    }
}
