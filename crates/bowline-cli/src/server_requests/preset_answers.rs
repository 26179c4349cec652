//! Answers that were given on the command line, and how they apply to a request.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, anyhow};
use bowline_types::elicitation::{ElicitResult, ElicitValue, FormSchema};
use bowline_types::{Map, Revision, Wire};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::failure::{message_with_causes, usage};
use crate::server_requests::args::ServerRequestArgs;

/// The answers of the command line.
#[derive(Debug, Default)]
pub(super) struct PresetAnswers {
    answers: Vec<PresetAnswer>,
    accepts_defaults: bool,
    pub(super) accepts_urls: bool,
    pub(super) declines: bool,
    samples: Vec<String>,
    /// The number of sampling requests so far.
    sampled: AtomicUsize,
    /// The keys that a form had as a field.
    used: Mutex<BTreeSet<String>>,
}

/// An `--answer` option, and the key in it.
#[derive(Debug)]
struct PresetAnswer {
    key: String,
    word: String,
}

/// The result of applying the preset answers to a form.
#[derive(Debug, PartialEq)]
pub(super) enum FormOutcome {
    /// The form is answered.
    Answered(ElicitResult),
    /// The preset answers are not enough or not valid.
    Unanswered {
        preset: Map<ElicitValue>,
        reason: UnansweredReason,
    },
}

/// The reason why a form is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UnansweredReason {
    /// Fields are missing; these are their names.
    Incomplete(Vec<String>),
    /// A value is not valid for the form.
    Invalid(String),
}

impl PresetAnswers {
    /// Parses the options.
    ///
    /// # Errors
    ///
    /// An `--answer` option is not valid.
    pub(super) fn parse(args: &ServerRequestArgs) -> anyhow::Result<Self> {
        let answers = args.answer.iter().map(|word| PresetAnswer::parse(word));
        Ok(Self {
            answers: answers.collect::<anyhow::Result<_>>()?,
            accepts_defaults: args.accept_defaults,
            accepts_urls: args.accept_urls,
            declines: args.decline,
            samples: args.sample.clone(),
            ..Self::default()
        })
    }

    /// Returns the text for the next sampling request.
    pub(super) fn next_sample(&self) -> Option<&str> {
        let last = self.samples.len().checked_sub(1)?;
        let next = self.sampled.fetch_add(1, Ordering::Relaxed);
        Some(&self.samples[next.min(last)])
    }

    /// Applies the answers to a form. `has_prompter` is `true` if the user can be asked for what is
    /// missing.
    pub(super) fn form_outcome(&self, form: &FormSchema, has_prompter: bool) -> FormOutcome {
        if self.declines {
            return FormOutcome::Answered(ElicitResult::decline());
        }
        let given = match self.form_content(form) {
            Ok(given) => given,
            Err(error) => {
                let reason = UnansweredReason::Invalid(message_with_causes(&error));
                return FormOutcome::Unanswered {
                    preset: Map::default(),
                    reason,
                };
            }
        };
        let is_given = |name: &str| given.get(name).is_some();
        let fields = form.properties.iter().map(|(name, _)| name);
        let missing: Vec<_> = fields.filter(|name| !is_given(name)).collect();
        // The user is asked for optional fields too.
        let is_enough =
            self.accepts_defaults || missing.is_empty() || !has_prompter && !given.is_empty();
        match form.fill(given.clone()) {
            Ok(filled) if is_enough => FormOutcome::Answered(ElicitResult::accept(filled)),
            Err(error) if is_given(error.field()) => FormOutcome::Unanswered {
                preset: Map::default(),
                reason: UnansweredReason::Invalid(error.to_string()),
            },
            Ok(_) | Err(_) => {
                let reason = UnansweredReason::Incomplete(self.missing_fields(form, &missing));
                FormOutcome::Unanswered {
                    preset: given,
                    reason,
                }
            }
        }
    }

    /// Returns the names of the fields that must be given: the required ones without a default, or
    /// all if there are none.
    fn missing_fields(&self, form: &FormSchema, missing: &[&str]) -> Vec<String> {
        let required = form.required.iter().flatten();
        let has_no_default = |name: &str| {
            let field = form.properties.get(name);
            field.is_none_or(|field| field.default_value().is_none())
        };
        let needed =
            required.filter(|name| missing.contains(&name.as_str()) && has_no_default(name));
        let needed: Vec<String> = needed.take(MAX_NAMES).cloned().collect();
        if !needed.is_empty() {
            return needed;
        }
        let first = missing.iter().take(MAX_NAMES);
        first.map(|&name| name.into()).collect()
    }

    /// Returns the answers for a form, converted to its schema.
    fn form_content(&self, form: &FormSchema) -> anyhow::Result<Map<ElicitValue>> {
        let mut words = Vec::new();
        for PresetAnswer { key, word } in &self.answers {
            if form.properties.get(key).is_some() {
                self.used().insert(key.clone());
                words.push(word.clone());
            }
        }
        if words.is_empty() {
            return Ok(Map::default());
        }
        let schema = form.to_json(Revision::LATEST)?;
        let mut schema: Value = serde_json::from_str(schema.as_str())?;
        // The form itself applies defaults, so that fields that have one are not missing.
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
        let arguments = Arguments::read(&words, &schema, &mut io::empty())?;
        let arguments = serde_json::to_string(&arguments)?;
        Map::from_json(&arguments).context("cannot encode the answers")
    }

    /// Returns the answers whose key no form had as a field.
    pub(super) fn unused(&self) -> Vec<&str> {
        let used = self.used();
        let keys = self.answers.iter().map(|word| word.key.as_str());
        keys.filter(|key| !used.contains(*key)).collect()
    }

    fn used(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PresetAnswer {
    fn parse(word: &str) -> anyhow::Result<Self> {
        let hint = "write --answer key=value, or --answer key:=json";
        let Some((key, value)) = word.split_once('=') else {
            return Err(usage(anyhow!("the answer `{word}` has no ="), hint));
        };
        let key = key.strip_suffix(':').unwrap_or(key);
        if key.is_empty() {
            return Err(usage(anyhow!("the answer `{word}` has no key"), hint));
        }
        if value == "@-" {
            // The server would wait for stdin, which may be the terminal.
            let error = anyhow!("the answer `{word}` can't come from stdin");
            return Err(usage(error, "name a file"));
        }
        Ok(Self {
            key: key.to_owned(),
            word: word.to_owned(),
        })
    }
}

/// The number of fields that a warning names.
const MAX_NAMES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::ExitStatus;
    use crate::failure::Failure;

    const FORM: &str = r#"{"type":"object","required":["name","age"],"properties":{
        "name":{"type":"string"},"age":{"type":"integer","default":3,"maximum":150},
        "tags":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}"#;

    fn given(answers: &[&str]) -> PresetAnswers {
        let answer = answers.iter().map(|&answer| answer.to_owned()).collect();
        let args = ServerRequestArgs {
            answer,
            ..ServerRequestArgs::default()
        };
        PresetAnswers::parse(&args).unwrap()
    }

    /// Formats the outcome of a form.
    fn fate(given: &PresetAnswers, has_prompter: bool) -> String {
        let form = FormSchema::from_json(FORM).unwrap();
        let content =
            |values: &Map<ElicitValue>| values.to_json(Revision::LATEST).unwrap().to_string();
        match given.form_outcome(&form, has_prompter) {
            FormOutcome::Answered(answer) => match &answer.content {
                Some(filled) => content(filled),
                None => answer.action.as_str().to_owned(),
            },
            FormOutcome::Unanswered { preset, reason } => {
                format!("{reason:?} {}", content(&preset))
            }
        }
    }

    // proves: FT-8
    #[test]
    fn answers_are_converted_by_the_form() {
        let all = given(&["name=36", "age=36", "tags=a", "tags=b", "other=x"]);
        for has_prompter in [false, true] {
            let expected = r#"{"name":"36","age":36,"tags":["a","b"]}"#;
            assert_eq!(fate(&all, has_prompter), expected);
        }
        assert_eq!(all.unused(), ["other"]);
        // Without a user, defaults are enough; a user is asked for the rest.
        let some = given(&["name:=\"Ada\""]);
        assert_eq!(fate(&some, false), r#"{"name":"Ada","age":3}"#);
        let open = r#"Incomplete(["age", "tags"]) {"name":"Ada"}"#;
        assert_eq!(fate(&some, true), open);
        let defaults = PresetAnswers {
            accepts_defaults: true,
            ..given(&["name=Ada"])
        };
        assert_eq!(fate(&defaults, true), r#"{"name":"Ada","age":3}"#);
    }

    // proves: FT-8
    #[test]
    fn yes_no_and_whole_numbers_are_parsed() {
        let form = r#"{"type":"object","properties":{
            "sails":{"type":"boolean"},"age":{"type":"integer"}}}"#;
        let form = FormSchema::from_json(form).unwrap();
        for (sails, age, expected) in [
            ("sails=Yes", "age=36.0", r#"{"sails":true,"age":36}"#),
            ("sails=NO", "age=1e2", r#"{"sails":false,"age":100}"#),
        ] {
            let FormOutcome::Answered(answer) = given(&[sails, age]).form_outcome(&form, false)
            else {
                panic!("{sails} {age}");
            };
            let content = answer.content.unwrap().to_json(Revision::LATEST);
            assert_eq!(content.unwrap().as_str(), expected);
        }
    }

    // proves: FT-8
    #[test]
    fn missing_and_invalid_answers_are_reported() {
        let missing = r#"Incomplete(["name"]) {"#;
        assert_eq!(
            fate(&given(&["age=4"]), false),
            format!("{missing}\"age\":4}}")
        );
        assert_eq!(fate(&given(&["x=4"]), false), format!("{missing}}}"));
        let defaults = PresetAnswers {
            accepts_defaults: true,
            ..PresetAnswers::default()
        };
        assert_eq!(fate(&defaults, false), format!("{missing}}}"));
        for (answer, reason) in [
            ("age=old", "age: expected an integer, found `old`"),
            ("age=151", "the field `age` must be at most 150"),
            ("name:=7", "the field `name` must be a string"),
            ("tags=c", "tags: expected an array, "),
            ("name=@/no/such/file", "name: /no/such/file: "),
        ] {
            let found = fate(&given(&[answer]), false);
            let expected = format!("Invalid(\"{reason}");
            assert!(found.starts_with(&expected), "{found}");
        }
    }

    #[test]
    fn decline_applies_to_every_form() {
        let declines = PresetAnswers {
            declines: true,
            ..PresetAnswers::default()
        };
        assert_eq!(fate(&declines, true), "decline");
    }

    // proves: FT-4
    #[test]
    fn the_last_text_for_a_model_is_used_from_then_on() {
        let args = ServerRequestArgs {
            sample: vec!["a".into(), "b".into()],
            ..ServerRequestArgs::default()
        };
        let given = PresetAnswers::parse(&args).unwrap();
        let texts: Vec<_> = (0..3).filter_map(|_| given.next_sample()).collect();
        assert_eq!(texts, ["a", "b", "b"]);
        assert_eq!(PresetAnswers::default().next_sample(), None);
    }

    #[test]
    fn an_invalid_answer_is_a_usage_error() {
        for (word, expected) in [
            ("name", "the answer `name` has no ="),
            ("=x", "the answer `=x` has no key"),
            (":=x", "the answer `:=x` has no key"),
            ("a=@-", "the answer `a=@-` can't come from stdin"),
        ] {
            let args = ServerRequestArgs {
                answer: vec![word.to_owned()],
                ..ServerRequestArgs::default()
            };
            let error = PresetAnswers::parse(&args).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert_eq!(Failure::status_of(&error), ExitStatus::Usage);
        }
    }
}
