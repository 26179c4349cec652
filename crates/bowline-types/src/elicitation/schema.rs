//! The fields of a form: the subset of JSON Schema that elicitation uses.

use std::borrow::Cow;

use crate::json::{DecodeError, Number, Reader};

wire_union! {
    /// The schema of a form field.
    pub enum PrimitiveSchema decided by field_kind, "`type`, `enum`, `oneOf` and `items`", else legacy_titled_enum, keeps invalid {
        /// A string.
        String(StringSchema) = "string";
        /// A number.
        Number(NumberSchema) = "number";
        /// A boolean.
        Boolean(BooleanSchema) = "boolean";
        /// A single choice.
        UntitledSingleSelect(UntitledSingleSelectEnumSchema) = "single select";
        /// A single choice with titles.
        TitledSingleSelect(TitledSingleSelectEnumSchema) = "titled single select",
            in since(V2025_11_25);
        /// A multiple choice.
        UntitledMultiSelect(UntitledMultiSelectEnumSchema) = "multi select", in since(V2025_11_25);
        /// A multiple choice with titles.
        TitledMultiSelect(TitledMultiSelectEnumSchema) = "titled multi select",
            in since(V2025_11_25);
        /// A single choice with titles, as in 2025-06-18.
        LegacyTitledEnum(LegacyTitledEnumSchema) = "legacy titled enum";
    }
}

impl PrimitiveSchema {
    /// Creates a field for a string.
    pub fn string() -> Self {
        StringSchema::new().into()
    }

    /// Creates a field for a number.
    pub fn number() -> Self {
        NumberSchema::new(NumberType::Number).into()
    }

    /// Creates a field for an integer.
    pub fn integer() -> Self {
        NumberSchema::new(NumberType::Integer).into()
    }

    /// Creates a field for a boolean.
    pub fn boolean() -> Self {
        BooleanSchema::new().into()
    }

    /// Creates a field for a single choice.
    pub fn one_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<_> = values.into_iter().map(Into::into).collect();
        UntitledSingleSelectEnumSchema::new(values).into()
    }

    /// Creates a field for a multiple choice. Since 2025-11-25.
    pub fn some_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<_> = values.into_iter().map(Into::into).collect();
        UntitledMultiSelectEnumSchema::new(EnumItems::new(values)).into()
    }
}

wire_struct! {
    /// A field for a string.
    pub struct StringSchema [since(V2025_06_18)] {
        @required "type" = "string";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The minimum number of characters.
        opt min_length: i64 = "minLength";
        /// The maximum number of characters.
        opt max_length: i64 = "maxLength";
        /// The format of the string.
        opt format: StringFormat = "format";
        /// The initial value.
        opt default: String = "default", in since(V2025_11_25);
    }
}

wire_choice! {
    /// Formats of strings.
    pub enum StringFormat {
        /// An e-mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A date.
        Date = "date",
        /// A date and time.
        DateTime = "date-time",
    }
}

wire_struct! {
    /// A field for a number.
    pub struct NumberSchema [since(V2025_06_18)] {
        /// The type of the number.
        req number_type: NumberType = "type";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The minimum value.
        opt minimum: Number = "minimum";
        /// The maximum value.
        opt maximum: Number = "maximum";
        /// The initial value.
        opt default: Number = "default", in since(V2025_11_25);
    }
}

wire_choice! {
    /// Types of numbers.
    pub enum NumberType {
        /// Any number.
        Number = "number",
        /// An integer.
        Integer = "integer",
    }
}

wire_struct! {
    /// A field for a boolean.
    pub struct BooleanSchema [since(V2025_06_18)] {
        @required "type" = "boolean";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The initial value.
        opt default: bool = "default";
    }
}

wire_struct! {
    /// A field for a single choice.
    pub struct UntitledSingleSelectEnumSchema [since(V2025_06_18)] {
        @required "type" = "string";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The choices.
        req values: Vec<String> = "enum";
        /// The initial choice.
        opt default: String = "default", in since(V2025_11_25);
    }
}

wire_struct! {
    /// A field for a single choice with titles. New in 2025-11-25; for 2025-06-18 it is written as
    /// a [`LegacyTitledEnumSchema`].
    pub struct TitledSingleSelectEnumSchema [since(V2025_11_25)] {
        @required "type" = "string";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The choices.
        req options: Vec<EnumOption> = "oneOf";
        /// The initial choice.
        opt default: String = "default";
    }
}

wire_struct! {
    /// A choice with a title.
    pub struct EnumOption [since(V2025_11_25)] {
        /// The value of the choice.
        req value: String = "const";
        /// The display name of the choice.
        req title: String = "title";
    }
}

wire_struct! {
    /// A field for a multiple choice. New in 2025-11-25.
    pub struct UntitledMultiSelectEnumSchema [since(V2025_11_25)] {
        @required "type" = "array";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The choices.
        req items: EnumItems = "items";
        /// The minimum number of choices.
        opt min_items: i64 = "minItems";
        /// The maximum number of choices.
        opt max_items: i64 = "maxItems";
        /// The initial choices.
        opt default: Vec<String> = "default";
    }
}

wire_struct! {
    /// The choices of a [`UntitledMultiSelectEnumSchema`].
    pub struct EnumItems [since(V2025_11_25)] {
        @required "type" = "string";
        /// The choices.
        req values: Vec<String> = "enum";
    }
}

wire_struct! {
    /// A field for a multiple choice with titles. New in 2025-11-25.
    pub struct TitledMultiSelectEnumSchema [since(V2025_11_25)] {
        @required "type" = "array";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The choices.
        req items: TitledEnumItems = "items";
        /// The minimum number of choices.
        opt min_items: i64 = "minItems";
        /// The maximum number of choices.
        opt max_items: i64 = "maxItems";
        /// The initial choices.
        opt default: Vec<String> = "default";
    }
}

wire_struct! {
    /// The choices of a [`TitledMultiSelectEnumSchema`].
    pub struct TitledEnumItems [since(V2025_11_25)] {
        /// The choices.
        req options: Vec<EnumOption> = "anyOf";
    }
}

wire_struct! {
    /// A field for a single choice with titles in a separate list. The form of 2025-06-18, which
    /// later revisions still accept.
    pub struct LegacyTitledEnumSchema [since(V2025_06_18)] {
        @required "type" = "string";
        /// The display name of the field.
        opt title: String = "title";
        /// A description.
        opt description: String = "description";
        /// The choices.
        req values: Vec<String> = "enum";
        /// The display names, in the same order.
        opt value_names: Vec<String> = "enumNames";
        /// The initial choice.
        opt default: String = "default", in since(V2025_11_25);
    }
}

/// Returns the name of the variant. Fields have no tag; the kinds differ in these members.
fn field_kind(reader: &mut Reader<'_>) -> Result<Cow<'static, str>, DecodeError> {
    let has = |name| matches!(reader.peek_member(name), Ok(Some(_)));
    let items_have = |name| match reader.peek_member("items") {
        Ok(Some(items)) => matches!(items.reader().peek_member(name), Ok(Some(_))),
        Ok(None) | Err(_) => false,
    };
    Ok(match reader.peek_tag("type").ok().flatten().as_deref() {
        Some("string") if has("oneOf") => "titled single select",
        Some("string") if has("enumNames") => "legacy titled enum",
        Some("string") if has("enum") => "single select",
        Some("string") => "string",
        Some("number" | "integer") => "number",
        Some("boolean") => "boolean",
        Some("array") if items_have("anyOf") => "titled multi select",
        Some("array") if items_have("enum") => "multi select",
        _ => "",
    }
    .into())
}

/// Converts titles to the form of 2025-06-18, a separate list.
fn legacy_titled_enum(schema: &PrimitiveSchema) -> Option<LegacyTitledEnumSchema> {
    match schema {
        PrimitiveSchema::TitledSingleSelect(titled) => {
            let (values, names): (Vec<_>, Vec<_>) = titled
                .options
                .iter()
                .map(|option| (option.value.clone(), option.title.clone()))
                .unzip();
            Some(LegacyTitledEnumSchema {
                title: titled.title.clone(),
                description: titled.description.clone(),
                value_names: Some(names),
                ..LegacyTitledEnumSchema::new(values)
            })
        }
        PrimitiveSchema::String(_)
        | PrimitiveSchema::Number(_)
        | PrimitiveSchema::Boolean(_)
        | PrimitiveSchema::UntitledSingleSelect(_)
        | PrimitiveSchema::UntitledMultiSelect(_)
        | PrimitiveSchema::TitledMultiSelect(_)
        | PrimitiveSchema::LegacyTitledEnum(_)
        | PrimitiveSchema::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Revision, Wire};

    #[test]
    fn titled_choices_use_the_legacy_form_in_2025_06_18() {
        let field = PrimitiveSchema::from(
            TitledSingleSelectEnumSchema::new([EnumOption::new("r", "Red")]).default("r"),
        );
        assert_eq!(
            field.to_json(Revision::V2025_06_18).unwrap().as_str(),
            r#"{"type":"string","enum":["r"],"enumNames":["Red"]}"#
        );
        assert_eq!(
            field.to_json(Revision::V2025_11_25).unwrap().as_str(),
            r#"{"type":"string","oneOf":[{"const":"r","title":"Red"}],"default":"r"}"#
        );
        let several = PrimitiveSchema::some_of(["a"]);
        assert!(several.to_json(Revision::V2025_06_18).is_err());
    }

    #[test]
    fn every_field_is_recognized_and_others_are_kept() {
        for text in [
            r#"{"type":"string","minLength":1}"#,
            r#"{"type":"integer","default":3}"#,
            r#"{"type":"boolean","default":true}"#,
            r#"{"type":"string","enum":["a"]}"#,
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#,
            r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#,
            r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
        ] {
            let field = PrimitiveSchema::from_json(text).unwrap();
            assert!(!matches!(field, PrimitiveSchema::Other(_)), "{text}");
            assert_eq!(field.to_json(Revision::LATEST).unwrap().as_str(), text);
        }
        for text in [r#"{"type":"date"}"#, "{}", r#"{"type":"array"}"#] {
            let field = PrimitiveSchema::from_json(text).unwrap();
            assert!(matches!(field, PrimitiveSchema::Other(_)), "{text}");
        }
    }
}
