//! Tools whose form is what is tested: defaults (SEP-1034) and choices (SEP-1330).

use bowline::server::{Context, Server, ToolError};
use bowline::types::elicitation::{
    BooleanSchema, ElicitFormParams, EnumItems, EnumOption, FormSchema, LegacyTitledEnumSchema,
    NumberSchema, NumberType, PrimitiveSchema, StringSchema, TitledEnumItems,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};

use crate::client_input::user_response;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(
            "test_elicitation_sep1034_defaults",
            "Asks the user with a form of fields with defaults",
            defaults,
        )
        .tool(
            "test_elicitation_sep1330_enums",
            "Asks the user with a form of choices",
            choices,
        )
}

async fn defaults(cx: Context) -> Result<String, ToolError> {
    let states = ["active", "inactive", "pending"].map(str::to_owned);
    let fields: [(&str, PrimitiveSchema); 5] = [
        ("name", StringSchema::new().default("John Doe").into()),
        (
            "age",
            NumberSchema::new(NumberType::Integer).default(30).into(),
        ),
        (
            "score",
            NumberSchema::new(NumberType::Number).default(95.5).into(),
        ),
        (
            "status",
            UntitledSingleSelectEnumSchema::new(states)
                .default("active")
                .into(),
        ),
        ("verified", BooleanSchema::new().default(true).into()),
    ];
    let form = ElicitFormParams::new("Please check these values", FormSchema::new(fields));
    let answer = cx.elicit("defaults", form).await?;
    Ok(user_response(&answer))
}

async fn choices(cx: Context) -> Result<String, ToolError> {
    let values = || ["option1", "option2", "option3"].map(str::to_owned);
    let titled = || {
        [
            EnumOption::new("value1", "First Option"),
            EnumOption::new("value2", "Second Option"),
            EnumOption::new("value3", "Third Option"),
        ]
    };
    let legacy = LegacyTitledEnumSchema::new(["opt1", "opt2", "opt3"].map(str::to_owned));
    let names = ["Option One", "Option Two", "Option Three"].map(str::to_owned);
    let fields: [(&str, PrimitiveSchema); 5] = [
        (
            "untitledSingle",
            UntitledSingleSelectEnumSchema::new(values()).into(),
        ),
        (
            "titledSingle",
            TitledSingleSelectEnumSchema::new(titled()).into(),
        ),
        ("legacyEnum", legacy.value_names(names).into()),
        (
            "untitledMulti",
            UntitledMultiSelectEnumSchema::new(EnumItems::new(values())).into(),
        ),
        (
            "titledMulti",
            TitledMultiSelectEnumSchema::new(TitledEnumItems::new(titled())).into(),
        ),
    ];
    let form = ElicitFormParams::new("Please choose", FormSchema::new(fields));
    let answer = cx.elicit("choices", form).await?;
    Ok(user_response(&answer))
}
