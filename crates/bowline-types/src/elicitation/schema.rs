//! The fields of a form: the subset of JSON Schema that elicitation has.

use std::borrow::Cow;

use crate::json::{DecodeError, Number, Reader};

wire_union! {
    /// A field of a form.
    pub enum PrimitiveSchema decided by field_kind, "`type`, `enum`, `oneOf` and `items`", else legacy_titled_enum, keeps invalid {
        /// A text.
        String(StringSchema) = "string";
        /// A number.
        Number(NumberSchema) = "number";
        /// Yes or no.
        Boolean(BooleanSchema) = "boolean";
        /// One of several texts.
        UntitledSingleSelect(UntitledSingleSelectEnumSchema) = "single select";
        /// One of several texts, with titles for them.
        TitledSingleSelect(TitledSingleSelectEnumSchema) = "titled single select",
            in since(V2025_11_25);
        /// Some of several texts.
        UntitledMultiSelect(UntitledMultiSelectEnumSchema) = "multi select", in since(V2025_11_25);
        /// Some of several texts, with titles for them.
        TitledMultiSelect(TitledMultiSelectEnumSchema) = "titled multi select",
            in since(V2025_11_25);
        /// One of several texts, with titles in the way of 2025-06-18.
        LegacyTitledEnum(LegacyTitledEnumSchema) = "legacy titled enum";
    }
}

impl PrimitiveSchema {
    /// A text.
    pub fn string() -> Self {
        StringSchema::new().into()
    }

    /// Any number.
    pub fn number() -> Self {
        NumberSchema::new(NumberType::Number).into()
    }

    /// An integer.
    pub fn integer() -> Self {
        NumberSchema::new(NumberType::Integer).into()
    }

    /// Yes or no.
    pub fn boolean() -> Self {
        BooleanSchema::new().into()
    }

    /// One of several texts.
    pub fn one_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<_> = values.into_iter().map(Into::into).collect();
        UntitledSingleSelectEnumSchema::new(values).into()
    }

    /// Some of several texts. Since 2025-11-25.
    pub fn some_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<_> = values.into_iter().map(Into::into).collect();
        UntitledMultiSelectEnumSchema::new(EnumItems::new(values)).into()
    }
}

wire_struct! {
    /// A text.
    pub struct StringSchema [since(V2025_06_18)] {
        @required "type" = "string";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The least number of characters.
        opt min_length: i64 = "minLength";
        /// The greatest number of characters.
        opt max_length: i64 = "maxLength";
        /// What kind of text.
        opt format: StringFormat = "format";
        /// What stands in it at first.
        opt default: String = "default", in since(V2025_11_25);
    }
}

wire_choice! {
    /// Kinds of texts.
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
    /// A number.
    pub struct NumberSchema [since(V2025_06_18)] {
        /// Whether it must be an integer.
        req number_type: NumberType = "type";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The least value.
        opt minimum: Number = "minimum";
        /// The greatest value.
        opt maximum: Number = "maximum";
        /// What stands in it at first.
        opt default: Number = "default", in since(V2025_11_25);
    }
}

wire_choice! {
    /// Kinds of numbers.
    pub enum NumberType {
        /// Any number.
        Number = "number",
        /// An integer.
        Integer = "integer",
    }
}

wire_struct! {
    /// Yes or no.
    pub struct BooleanSchema [since(V2025_06_18)] {
        @required "type" = "boolean";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// What it is at first.
        opt default: bool = "default";
    }
}

wire_struct! {
    /// One of several texts.
    pub struct UntitledSingleSelectEnumSchema [since(V2025_06_18)] {
        @required "type" = "string";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The texts.
        req values: Vec<String> = "enum";
        /// The one that is chosen at first.
        opt default: String = "default", in since(V2025_11_25);
    }
}

wire_struct! {
    /// One of several texts, with titles for them. New in 2025-11-25; for 2025-06-18 it
    /// is written as a [`LegacyTitledEnumSchema`].
    pub struct TitledSingleSelectEnumSchema [since(V2025_11_25)] {
        @required "type" = "string";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The texts.
        req options: Vec<EnumOption> = "oneOf";
        /// The one that is chosen at first.
        opt default: String = "default";
    }
}

wire_struct! {
    /// A text to choose, with a title.
    pub struct EnumOption [since(V2025_11_25)] {
        /// The text that is chosen.
        req value: String = "const";
        /// What people see.
        req title: String = "title";
    }
}

wire_struct! {
    /// Some of several texts. New in 2025-11-25.
    pub struct UntitledMultiSelectEnumSchema [since(V2025_11_25)] {
        @required "type" = "array";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The texts.
        req items: EnumItems = "items";
        /// How many must be chosen.
        opt min_items: i64 = "minItems";
        /// How many may be chosen.
        opt max_items: i64 = "maxItems";
        /// Those that are chosen at first.
        opt default: Vec<String> = "default";
    }
}

wire_struct! {
    /// The texts of a [`UntitledMultiSelectEnumSchema`].
    pub struct EnumItems [since(V2025_11_25)] {
        @required "type" = "string";
        /// The texts.
        req values: Vec<String> = "enum";
    }
}

wire_struct! {
    /// Some of several texts, with titles for them. New in 2025-11-25.
    pub struct TitledMultiSelectEnumSchema [since(V2025_11_25)] {
        @required "type" = "array";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The texts.
        req items: TitledEnumItems = "items";
        /// How many must be chosen.
        opt min_items: i64 = "minItems";
        /// How many may be chosen.
        opt max_items: i64 = "maxItems";
        /// Those that are chosen at first.
        opt default: Vec<String> = "default";
    }
}

wire_struct! {
    /// The texts of a [`TitledMultiSelectEnumSchema`].
    pub struct TitledEnumItems [since(V2025_11_25)] {
        /// The texts.
        req options: Vec<EnumOption> = "anyOf";
    }
}

wire_struct! {
    /// One of several texts, with titles in a second list. The way of 2025-06-18, which
    /// later revisions still accept.
    pub struct LegacyTitledEnumSchema [since(V2025_06_18)] {
        @required "type" = "string";
        /// The field's name for people.
        opt title: String = "title";
        /// What it is for.
        opt description: String = "description";
        /// The texts.
        req values: Vec<String> = "enum";
        /// What people see, in the same order.
        opt value_names: Vec<String> = "enumNames";
        /// The one that is chosen at first.
        opt default: String = "default", in since(V2025_11_25);
    }
}

/// Which of the fields it is. They have no tag of their own; these are the members in
/// which they differ.
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

/// 2025-06-18 has titles in a list of their own.
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
    fn titles_take_the_old_form_for_2025_06_18() {
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
