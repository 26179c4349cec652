//! The schema files, and validators for their definitions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use bowline_types::Revision;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// A schema file.
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) revision: Revision,
    /// The name of the keyword that holds the definitions: `definitions` or `$defs`.
    keyword: &'static str,
    dialect: String,
    /// The definitions as in the file.
    pub(crate) definitions: Map<String, Value>,
    /// The definitions as the specification means them.
    corrected: Map<String, Value>,
    /// Cached validators, since building one goes over the whole file.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// Corrects errors of schema.json: it was generated from schema.ts by a tool that turns `number`
/// into `integer` and drops `null` where several types are allowed. In the prose and in schema.ts,
/// `JSONValue` is any JSON value and form numbers are any numbers.
fn correct(definitions: &mut Map<String, Value>) {
    if let Some(value) = definitions.get_mut("JSONValue") {
        *value = json!({});
    }
    if let Some(result) = definitions.get_mut("ElicitResult") {
        let field = &mut result["properties"]["content"]["additionalProperties"];
        let shipped = json!(["string", "integer", "boolean"]);
        let types = match field.get_mut("anyOf") {
            Some(alternatives) => &mut alternatives[1]["type"],
            None => &mut field["type"],
        };
        assert_eq!(*types, shipped, "the schema file has changed");
        *types = json!(["string", "number", "boolean"]);
    }
}

/// The files of the five revisions, and of the tasks extension, which belongs to the last of them.
pub(crate) static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let mut files: Vec<_> = Revision::ALL
        .into_iter()
        .map(|revision| File::load(revision.as_str(), revision))
        .collect();
    files.push(File::load("ext-tasks", Revision::V2026_07_28));
    files
});

impl File {
    fn load(name: &'static str, revision: Revision) -> Self {
        let path = format!("{}/../../schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut schema: Value = serde_json::from_str(&text).unwrap();
        let keyword = ["definitions", "$defs"]
            .into_iter()
            .find(|keyword| schema.get(keyword).is_some())
            .expect("a schema file has definitions");
        let Value::Object(definitions) = schema[keyword].take() else {
            panic!("{name}: definitions are not an object");
        };
        let dialect = schema["$schema"].as_str().unwrap().to_owned();
        let mut corrected = definitions.clone();
        correct(&mut corrected);
        Self {
            name,
            revision,
            keyword,
            dialect,
            definitions,
            corrected,
            validators: Mutex::default(),
        }
    }

    /// Returns a validator for one corrected definition.
    pub(crate) fn validator(&self, definition: &str) -> Arc<Validator> {
        let mut made = self.validators.lock().unwrap();
        if let Some(validator) = made.get(definition) {
            return Arc::clone(validator);
        }
        let schema = json!({
            "$schema": self.dialect,
            self.keyword: self.corrected,
            "$ref": format!("#/{}/{definition}", self.keyword),
        });
        let validator = Arc::new(jsonschema::validator_for(&schema).unwrap());
        made.insert(definition.to_owned(), Arc::clone(&validator));
        validator
    }

    /// Returns the name of the definition that a schema refers to.
    pub(crate) fn referred<'v>(&self, schema: &'v Value) -> Option<&'v str> {
        let reference = schema.get("$ref")?.as_str()?;
        reference
            .strip_prefix("#/")?
            .strip_prefix(self.keyword)?
            .strip_prefix('/')
    }

    /// Returns the schema behind any number of references.
    pub(crate) fn resolve<'v>(&'v self, mut schema: &'v Value) -> &'v Value {
        while let Some(name) = self.referred(schema) {
            schema = &self.definitions[name];
        }
        schema
    }
}

/// Returns why an instance is invalid, in one line.
pub(crate) fn first_error(validator: &Validator, instance: &Value) -> Option<String> {
    let error = validator.iter_errors(instance).next()?;
    Some(format!("{}: {error}", error.instance_path()))
}
