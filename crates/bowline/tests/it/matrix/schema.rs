//! Every line against the schema file of its revision: messages must match their definition, and
//! have no member that it doesn't have.

mod tasks;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bowline::types::Revision;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::tap::{Line, Sender};

/// Returns what is wrong with the lines.
pub(crate) fn faults(revision: Revision, lines: &[Line]) -> Vec<String> {
    let file = FILES
        .iter()
        .find(|file| file.revision == revision)
        .expect("a file for every revision");
    let mut talk = Talk {
        file,
        asked: Vec::new(),
        faults: Vec::new(),
    };
    for line in lines {
        talk.line(line);
    }
    talk.faults
}

/// A conversation: answers are checked as what their requests asked for.
struct Talk {
    file: &'static File,
    /// Requests without an answer: who asked, the id, the method.
    asked: Vec<(Sender, Value, String)>,
    faults: Vec<String>,
}

impl Talk {
    fn line(&mut self, line: &Line) {
        match &line.value {
            Value::Array(parts) => {
                let is_answer = |part: &Value| part.get("method").is_none();
                if line.from != Sender::Tap && !parts.iter().all(is_answer) {
                    self.fault(line, "an array of our own has answers alone".to_owned());
                }
                for value in parts {
                    let (from, value) = (line.from, value.clone());
                    self.message(&Line { from, value });
                }
            }
            _ => self.message(line),
        }
    }

    fn message(&mut self, line: &Line) {
        let value = &line.value;
        let method = value["method"].as_str();
        match (method, value.get("id")) {
            (Some(method), Some(id)) => {
                self.asked.push((line.from, id.clone(), method.to_owned()));
                let side = match line.from {
                    Sender::Client => "ClientRequest",
                    Sender::Server => "ServerRequest",
                    // It may say what it likes.
                    Sender::Tap => return,
                };
                if line.from == Sender::Client && self.said_of_task(line, method) {
                    return;
                }
                self.check_method(line, side, method);
            }
            (Some(method), None) => {
                let side = match line.from {
                    Sender::Client => "ClientNotification",
                    Sender::Server => "ServerNotification",
                    Sender::Tap => return,
                };
                self.check_method(line, side, method);
                self.check_subscription_id(line, method);
            }
            (None, id) => {
                let id = id.cloned().unwrap_or(Value::Null);
                self.check_response(line, &id);
            }
        }
    }

    /// A request or a notification.
    fn check_method(&mut self, line: &Line, side: &str, method: &str) {
        let Some(definition) = self.file.message(side, method) else {
            return self.fault(line, format!("{method} is no {side}"));
        };
        let mut value = line.value.clone();
        if let Value::Object(members) = &mut value
            && !self.file.has_member(&definition, "jsonrpc")
        {
            // Older files describe messages without their envelope.
            members.remove("jsonrpc");
            members.remove("id");
        }
        self.check(line, &definition, &value);
        self.check(line, "JSONRPCMessage", &line.value);
    }

    /// Notifications of a subscription carry its id (SB-4), and none is sent without one.
    fn check_subscription_id(&mut self, line: &Line, method: &str) {
        let is_change = method.ends_with("/list_changed") || method.ends_with("/updated");
        if self.file.revision != Revision::V2026_07_28 || !is_change {
            return;
        }
        let id = &line.value["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        let mut asked = self.asked.iter();
        if !asked.any(|(_, of, method)| of == id && method == "subscriptions/listen") {
            self.fault(
                line,
                "it belongs to no subscription that is open".to_owned(),
            );
        }
    }

    fn check_response(&mut self, line: &Line, id: &Value) {
        let is_to_server = line.from != Sender::Server;
        let place = self
            .asked
            .iter()
            .position(|(from, of, _)| of == id && (*from == Sender::Server) == is_to_server);
        if line.from == Sender::Tap {
            return;
        }
        if id.is_null() && self.file.revision < Revision::V2025_11_25 {
            // These files demand an id where there is none that could be known.
            return;
        }
        self.check(line, "JSONRPCMessage", &line.value);
        let method = place.map(|place| self.asked.remove(place).2);
        match (line.value.get("error"), method) {
            (Some(error), method) => {
                if method.is_none() && !id.is_null() {
                    self.fault(line, "it answers nothing".to_owned());
                }
                let failure = self.file.either("JSONRPCError", "JSONRPCErrorResponse");
                self.check(line, failure, &line.value);
                let code = error["code"].as_i64().unwrap_or_default();
                if !self.file.may_refuse_with(code) {
                    self.fault(line, format!("{code} is no code of this revision"));
                }
            }
            (None, Some(method)) => self.result(line, &method),
            (None, None) => self.fault(line, "it answers nothing".to_owned()),
        }
    }

    fn result(&mut self, line: &Line, method: &str) {
        if self.result_of_task(line, method) {
            return;
        }
        let result = &line.value["result"];
        let is_stateless = self.file.revision == Revision::V2026_07_28;
        let kinds = [json!("complete"), json!("input_required")];
        if is_stateless && !kinds.contains(&result["resultType"]) {
            self.fault(line, "its type is unknown".to_owned());
        }
        if result["resultType"] == "input_required" {
            // MR-2.
            if !["tools/call", "prompts/get", "resources/read"].contains(&method) {
                self.fault(line, format!("{method} can't ask"));
            }
            return self.check(line, "InputRequiredResult", result);
        }
        let sides = ["ClientRequest", "ServerRequest"];
        let request = sides
            .iter()
            .find_map(|side| self.file.message(side, method));
        let Some(request) = request else {
            return self.fault(line, format!("{method} has no result"));
        };
        let named = format!("{}Result", request.trim_end_matches("Request"));
        let definition = if self.file.definitions.contains_key(&named) {
            named
        } else {
            "EmptyResult".to_owned()
        };
        self.check(line, &definition, result);
        if definition == "EmptyResult" && result.as_object().is_none_or(|object| !object.is_empty())
        {
            self.fault(line, "it should be empty".to_owned());
        }
    }

    fn check(&mut self, line: &Line, definition: &str, value: &Value) {
        self.check_in(self.file, line, definition, value);
    }

    fn check_in(&mut self, file: &File, line: &Line, definition: &str, value: &Value) {
        let validator = file.validator(definition);
        let errors = validator.iter_errors(value);
        let errors: Vec<_> = errors
            .map(|error| format!("{definition}{}: {error}", error.instance_path()))
            .collect();
        for error in errors {
            self.fault(line, error);
        }
    }

    fn fault(&mut self, line: &Line, words: String) {
        let words = format!("{words}\n      in {:?}: {}", line.from, line.value);
        self.faults.push(words);
    }
}

struct File {
    revision: Revision,
    keyword: &'static str,
    dialect: String,
    definitions: Map<String, Value>,
    /// Making one goes over the whole file.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

static FILES: LazyLock<Vec<File>> =
    LazyLock::new(|| Revision::ALL.into_iter().map(File::load).collect());

impl File {
    fn load(revision: Revision) -> Self {
        Self::read(revision.as_str(), revision)
    }

    fn read(name: &str, revision: Revision) -> Self {
        let path = format!("{}/../../schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect(&path);
        let mut schema: Value = serde_json::from_str(&text).expect("JSON");
        let mut keywords = ["definitions", "$defs"].into_iter();
        let keyword = keywords.find(|keyword| schema.get(keyword).is_some());
        let keyword = keyword.expect("a schema file has definitions");
        let Value::Object(mut definitions) = schema[keyword].take() else {
            panic!("{path}: definitions are no object");
        };
        correct(&mut definitions);
        for (name, definition) in &mut definitions {
            if !is_open(name) {
                close(definition);
            }
        }
        Self {
            revision,
            keyword,
            dialect: schema["$schema"].as_str().expect("a dialect").to_owned(),
            definitions,
            validators: Mutex::default(),
        }
    }

    fn validator(&self, definition: &str) -> Arc<Validator> {
        let validators = self.validators.lock();
        let mut validators = validators.unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = validators.get(definition) {
            return Arc::clone(validator);
        }
        let schema = json!({
            "$schema": self.dialect,
            self.keyword: self.definitions,
            "$ref": format!("#/{}/{definition}", self.keyword),
        });
        let validator = Arc::new(jsonschema::validator_for(&schema).expect(definition));
        validators.insert(definition.to_owned(), Arc::clone(&validator));
        validator
    }

    /// The definition of a message that one side may send.
    fn message(&self, side: &str, method: &str) -> Option<String> {
        let all = self.definitions.get(side)?;
        if all["properties"]["method"]["const"] == method {
            return Some(side.to_owned());
        }
        let names = all["anyOf"].as_array()?.iter();
        let names = names.filter_map(|reference| reference["$ref"].as_str());
        let mut names = names.filter_map(|path| path.rsplit('/').next());
        let name =
            names.find(|name| self.definitions[*name]["properties"]["method"]["const"] == method);
        name.map(str::to_owned)
    }

    fn has_member(&self, definition: &str, member: &str) -> bool {
        let properties = &self.definitions[definition]["properties"];
        properties.get(member).is_some()
    }

    fn either(&self, one: &'static str, other: &'static str) -> &'static str {
        if self.definitions.contains_key(one) {
            one
        } else {
            other
        }
    }

    /// Codes of JSON-RPC and of the revision.
    fn may_refuse_with(&self, code: i64) -> bool {
        match (self.revision, code) {
            (_, -32700 | -32603..=-32600) => true,
            (Revision::V2026_07_28, -32022..=-32020) => true,
            (Revision::V2025_11_25, -32042) => true,
            (Revision::V2026_07_28, _) => false,
            (_, -32002) => true,
            (_, _) => false,
        }
    }
}

/// Corrects what schema.json has wrong: see the same in the tests of `bowline-types`.
fn correct(definitions: &mut Map<String, Value>) {
    if let Some(value) = definitions.get_mut("JSONValue") {
        *value = json!({});
    }
    if let Some(result) = definitions.get_mut("ElicitResult") {
        let field = &mut result["properties"]["content"]["additionalProperties"];
        let types = match field.get_mut("anyOf") {
            Some(alternatives) => &mut alternatives[1]["type"],
            None => &mut field["type"],
        };
        *types = json!(["string", "number", "boolean"]);
    }
}

/// Definitions with more members than they name.
fn is_open(name: &str) -> bool {
    name.ends_with("MetaObject") || name.starts_with("JSONRPC")
}

/// Forbids members that a schema doesn't name, where it doesn't say otherwise.
fn close(schema: &mut Value) {
    let Value::Object(members) = schema else {
        return;
    };
    let is_part = members.contains_key("allOf");
    if members.contains_key("properties")
        && !members.contains_key("additionalProperties")
        && !is_part
    {
        members.insert("additionalProperties".to_owned(), json!(false));
    }
    for keyword in ["anyOf", "oneOf"] {
        let alternatives = members.get_mut(keyword).and_then(Value::as_array_mut);
        alternatives.into_iter().flatten().for_each(close);
    }
    if let Some(items) = members.get_mut("items") {
        close(items);
    }
    let properties = members.get_mut("properties");
    let properties = properties.and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if name == "params"
            && let Some(members) = property
                .get_mut("properties")
                .and_then(Value::as_object_mut)
        {
            // Older files name it in the base of all parameters only.
            members.entry("_meta").or_insert(json!({"type": "object"}));
        }
        // Schemas are the user's own, and `_meta` is open.
        if !["_meta", "inputSchema", "outputSchema"].contains(&name.as_str()) {
            close(property);
        }
    }
}

/// What is not of its revision is found: a member, a method, a direction, a code.
#[test]
fn faults_are_found() {
    let by = |from, value| Line { from, value };
    let result = |result| {
        let asked =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        vec![by(Sender::Client, asked), by(Sender::Server, answer)]
    };
    let one = |from, value| vec![by(from, value)];
    let [first, .., before, last] = Revision::ALL;
    let text = json!([{"type": "text", "text": ""}]);
    let structured = json!({"content": text, "structuredContent": {}});
    let sound = json!({"content": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": ""}});
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    for (revision, lines, is_fine) in [
        (before, result(structured.clone()), true),
        (first, result(structured), false),
        (before, result(sound.clone()), true),
        (first, result(sound), false),
        (
            before,
            result(json!({"content": text, "resultType": "complete"})),
            false,
        ),
        (before, one(Sender::Server, ping.clone()), true),
        (last, one(Sender::Server, ping), false),
        (before, one(Sender::Server, change.clone()), true),
        (before, one(Sender::Client, change.clone()), false),
        (last, one(Sender::Server, change), false),
        (before, one(Sender::Server, error.clone()), false),
        (
            before,
            vec![
                by(Sender::Tap, asked.clone()),
                by(Sender::Server, error.clone()),
            ],
            true,
        ),
        (
            last,
            vec![by(Sender::Tap, asked), by(Sender::Server, error)],
            false,
        ),
    ] {
        let faults = faults(revision, &lines);
        assert_eq!(
            faults.is_empty(),
            is_fine,
            "{revision}: {lines:?}: {faults:?}"
        );
    }
}
