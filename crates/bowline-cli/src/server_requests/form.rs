//! A form that the user fills in, field by field.

use bowline_types::Map;
use bowline_types::elicitation::{ElicitFormParams, ElicitResult, ElicitValue, FormSchema};

use crate::server_requests::form_field::{Field, shown_value};
use crate::server_requests::prompter::{Input, Prompter, cut, show_text, unknown_command};

/// Asks for the fields that are missing in `given`, and shows all of them for review before they
/// are sent.
pub(super) async fn fill(
    prompter: &mut impl Prompter,
    server: &str,
    form: &ElicitFormParams,
    given: Map<ElicitValue>,
) -> ElicitResult {
    let schema = &form.requested_schema;
    prompter.show(&format!("{server} asks you to fill in a form:"));
    show_text(prompter, &form.message);
    prompter.show(HELP);
    let dialog = FormDialog {
        schema,
        filled: given,
    };
    dialog.run(prompter).await.unwrap_or_else(|refusal| refusal)
}

/// A form that is being filled in.
struct FormDialog<'a> {
    schema: &'a FormSchema,
    filled: Map<ElicitValue>,
}

impl FormDialog<'_> {
    /// Asks all fields. The error is a result too: it ends the dialog early.
    async fn run(mut self, prompter: &mut impl Prompter) -> Result<ElicitResult, ElicitResult> {
        if let Some(name) = unanswerable_field(self.schema, &self.filled) {
            prompter.show(&format!(
                "the form can't be filled in: {} is required but has no choices",
                cut(name)
            ));
            return Err(ElicitResult::cancel());
        }
        let mut is_second_pass = false;
        loop {
            for field in fields(self.schema) {
                if is_second_pass || self.filled.get(field.name).is_none() {
                    self.ask_field(prompter, field).await?;
                }
            }
            let filled = match self.schema.fill(self.filled.clone()) {
                Ok(filled) => filled,
                Err(error) => {
                    // For example a field that is required and not in the form.
                    prompter.show(&format!("the form can't be filled in: {error}"));
                    return Err(ElicitResult::cancel());
                }
            };
            if review(prompter, self.schema, &filled).await? {
                return Ok(ElicitResult::accept(filled));
            }
            is_second_pass = true;
        }
    }

    /// Asks for one field until the value is valid.
    async fn ask_field(
        &mut self,
        prompter: &mut impl Prompter,
        field: Field<'_>,
    ) -> Result<(), ElicitResult> {
        let before = self.filled.get(field.name).cloned();
        let default = before.or_else(|| field.schema.default_value());
        for line in field.description_lines(default.as_ref()) {
            prompter.show(&line);
        }
        let name = cut(field.name);
        loop {
            let text = match read_input(prompter, &format!("{name}> ")).await? {
                Some(text) => text,
                None if default.is_none() && field.is_required => {
                    prompter.show(&format!("{name} is required"));
                    continue;
                }
                None => {
                    if let Some(default) = default {
                        self.filled.insert(field.name, default);
                    }
                    return Ok(());
                }
            };
            match field.parse(&text) {
                Ok(value) => {
                    self.filled.insert(field.name, value);
                    return Ok(());
                }
                Err(reason) => prompter.show(&format!("{name} {reason}")),
            }
        }
    }
}

/// Returns a required field that no input can satisfy, since it has no choices and no default.
fn unanswerable_field<'a>(schema: &'a FormSchema, filled: &Map<ElicitValue>) -> Option<&'a str> {
    let mut unanswerable = fields(schema).filter(|field| {
        let has_none = field
            .schema
            .choices()
            .is_some_and(|choices| choices.is_empty());
        let is_open = field.is_required && filled.get(field.name).is_none();
        has_none && is_open && field.schema.default_value().is_none()
    });
    unanswerable.next().map(|field| field.name)
}

/// Shows what will be sent. Returns `true` if it should be sent, `false` if the fields should be
/// asked again.
async fn review(
    prompter: &mut impl Prompter,
    schema: &FormSchema,
    filled: &Map<ElicitValue>,
) -> Result<bool, ElicitResult> {
    // With a single field there is nothing to review: it has just been typed.
    if schema.properties.len() == 1 {
        return Ok(true);
    }
    for (name, value) in filled {
        prompter.show(&format!("  {} = {}", cut(name), cut(&shown_value(value))));
    }
    loop {
        let Some(text) = read_input(prompter, "send this? (y)es, (e)dit> ").await? else {
            continue;
        };
        match text.to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "e" | "edit" => return Ok(false),
            _ => prompter.show("answer y or e, !decline or !cancel"),
        }
    }
}

/// Reads a text, or `None` for an empty line. Commands end the form.
async fn read_input(
    prompter: &mut impl Prompter,
    prompt: &str,
) -> Result<Option<String>, ElicitResult> {
    loop {
        match Input::parse(prompter.ask(prompt).await) {
            Input::Text(text) => return Ok(Some(text)),
            Input::Empty => return Ok(None),
            Input::Decline => return Err(ElicitResult::decline()),
            Input::Cancel => return Err(ElicitResult::cancel()),
            Input::Command(command) => prompter.show(&unknown_command(&command)),
        }
    }
}

/// Returns the fields of a form, in order.
pub(super) fn fields(schema: &FormSchema) -> impl Iterator<Item = Field<'_>> {
    let is_required = |name: &str| {
        schema
            .required
            .iter()
            .flatten()
            .any(|required| required == name)
    };
    let properties = schema.properties.iter();
    properties.map(move |(name, field)| Field {
        name,
        schema: field,
        is_required: is_required(name),
    })
}

const HELP: &str = "an empty line takes the default or omits the field; \
    !decline declines, !cancel or Ctrl-D cancels";

#[cfg(test)]
mod tests {
    use bowline_types::elicitation::ElicitAction;
    use bowline_types::{Revision, Wire};

    use super::*;
    use crate::server_requests::prompter::script::{Script, now};

    const NAME: &str = r#"{"type":"object","required":["name"],
        "properties":{"name":{"type":"string","maxLength":4}}}"#;
    const TWO: &str = r#"{"type":"object","required":["age"],"properties":{
        "age":{"type":"integer"},"sails":{"type":"boolean","default":true},
        "why":{"type":"string"}}}"#;

    /// Returns what is sent and what is shown.
    fn filled(schema: &str, given: Map<ElicitValue>, lines: &[&str]) -> (String, String) {
        let schema = FormSchema::from_json(schema).unwrap();
        let form = ElicitFormParams::new("Who are you?\nReally?", schema);
        let mut prompter = Script::of(lines);
        let answer = now(fill(&mut prompter, "demo", &form, given));
        assert_eq!(prompter.rest(), 0, "{}", prompter.seen);
        let content = answer
            .content
            .map(|values| values.to_json(Revision::LATEST).unwrap().to_string());
        let sent = match answer.action {
            ElicitAction::Accept => content.unwrap(),
            other => {
                assert_eq!(content, None);
                other.as_str().to_owned()
            }
        };
        (sent, prompter.seen)
    }

    // proves: FT-8
    #[test]
    fn a_form_is_asked_field_by_field_and_checked_at_once() {
        let (sent, seen) = filled(NAME, Map::default(), &["", "Augusta", "!help", "Ada"]);
        assert_eq!(sent, r#"{"name":"Ada"}"#);
        let expected = format!(
            "demo asks you to fill in a form:\n  | Who are you?\n  | Really?\n{HELP}\n\
             name (text, at most 4 characters, required)\n\
             name> \nname is required\n\
             name> Augusta\nname must have at most 4 characters\n\
             name> !help\nunknown command !help; for text that begins with !, write !!help\n\
             name> Ada\n"
        );
        assert_eq!(seen, expected);
    }

    // proves: FT-8
    #[test]
    fn all_of_it_is_shown_before_it_is_sent_and_can_be_changed() {
        let lines = [
            "x", "36", "", "", "", "maybe", "e", "", "no", "because", "yes",
        ];
        let (sent, seen) = filled(TWO, Map::default(), &lines);
        assert_eq!(sent, r#"{"age":36,"sails":false,"why":"because"}"#);
        let review = "  age = 36\n  sails = yes\nsend this? (y)es, (e)dit> \n\
             send this? (y)es, (e)dit> maybe\nanswer y or e, !decline or !cancel\n";
        assert!(seen.contains(review), "{seen}");
        // The first input is the default of the second pass.
        assert!(seen.contains("age (integer, required)\n  default: 36\n"));
    }

    #[test]
    fn decline_and_cancel_end_the_form_at_any_prompt() {
        for (lines, expected) in [
            (&["!decline"][..], "decline"),
            (&["36", "!cancel"], "cancel"),
            (&["36", ""], "cancel"),
            (&["36", "", "", "!decline"], "decline"),
            (&[], "cancel"),
        ] {
            assert_eq!(filled(TWO, Map::default(), lines).0, expected);
        }
    }

    #[test]
    fn preset_answers_are_not_asked_for() {
        let given = Map::from([("age", 36)]);
        let (sent, seen) = filled(TWO, given, &["", "so", "y"]);
        assert_eq!(sent, r#"{"age":36,"sails":true,"why":"so"}"#);
        assert!(!seen.contains("age>"), "{seen}");
    }

    #[test]
    fn a_form_without_fields_is_a_question_and_one_that_has_no_answer_is_cancelled() {
        let empty = r#"{"type":"object","properties":{}}"#;
        assert_eq!(filled(empty, Map::default(), &["y"]).0, "{}");
        assert_eq!(filled(empty, Map::default(), &["!decline"]).0, "decline");
        let odd = r#"{"type":"object","properties":{},"required":["x"]}"#;
        let (sent, seen) = filled(odd, Map::default(), &[]);
        assert_eq!(sent, "cancel");
        assert!(seen.contains("can't be filled in: the field `x` is missing"));
    }

    // proves: FT-8
    #[test]
    fn a_field_without_a_choice_is_not_asked_for_without_end() {
        let form = |choices: &str, required: &str| {
            format!(
                r#"{{"type":"object","required":[{required}],"properties":{{
                "why":{{"type":"string"}},"it":{{"type":"string",{choices}}}}}}}"#
            )
        };
        for none in [r#""enum":[]"#, r#""oneOf":[]"#] {
            let (sent, seen) = filled(&form(none, "\"it\""), Map::default(), &[]);
            assert_eq!(sent, "cancel");
            let warning = "can't be filled in: it is required but has no choices";
            assert!(seen.contains(warning), "{seen}");
            // An optional field is left out.
            let (sent, _) = filled(&form(none, ""), Map::default(), &["so", "", "y"]);
            assert_eq!(sent, r#"{"why":"so"}"#);
        }
    }
}
