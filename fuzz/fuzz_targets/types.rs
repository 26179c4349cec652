//! Any text as a type of the protocol. The first byte says which; the rest is the text.
//!
//! What can be decoded can be encoded for a revision or not, and what is encoded is decoded again as
//! what it was.

#![no_main]

use std::fmt::Debug;

use bowline_types::method::notifications::*;
use bowline_types::method::requests::*;
use bowline_types::method::{NotificationMethod, RequestMethod};
use bowline_types::wire::check as check_shape;
use bowline_types::{ErrorObject, RawJsonRef, Revision, Wire};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((selector, text)) = data.split_first() else {
        return;
    };
    let index = usize::from(selector.wrapping_sub(b'0')) % CHECKS.len();
    if let Ok(text) = std::str::from_utf8(text) {
        CHECKS[index](text);
    }
});

/// New ones go to the end, so that the corpus keeps its meaning.
const CHECKS: &[fn(&str)] = &[
    params_of::<CallTool>,
    result_of::<CallTool>,
    params_of::<Initialize>,
    result_of::<Initialize>,
    result_of::<Discover>,
    params_of::<ListTools>,
    result_of::<ListTools>,
    result_of::<ListResources>,
    result_of::<ListResourceTemplates>,
    params_of::<ReadResource>,
    result_of::<ReadResource>,
    result_of::<ListPrompts>,
    params_of::<GetPrompt>,
    result_of::<GetPrompt>,
    params_of::<Complete>,
    result_of::<Complete>,
    params_of::<CreateMessage>,
    result_of::<CreateMessage>,
    params_of::<Elicit>,
    result_of::<Elicit>,
    result_of::<ListRoots>,
    params_of::<SetLevel>,
    params_of::<Listen>,
    result_of::<Listen>,
    params_of::<GetTask>,
    result_of::<GetTask>,
    result_of::<GetTaskPayload>,
    result_of::<ListTasks>,
    params_of::<UpdateTask>,
    result_of::<ListSkills>,
    result_of::<GetSkill>,
    result_of::<ReadDirectory>,
    params_with::<Cancelled>,
    params_with::<Progress>,
    params_with::<LoggingMessage>,
    params_with::<ResourceUpdated>,
    params_with::<ElicitationComplete>,
    params_with::<TaskStatus>,
    params_with::<Tasks>,
    params_with::<Acknowledged>,
    check::<ErrorObject>,
];

fn params_of<R: RequestMethod<Params: Debug + PartialEq>>(text: &str) {
    check::<R::Params>(text);
}

fn result_of<R: RequestMethod<Result: Debug + PartialEq>>(text: &str) {
    check::<R::Result>(text);
}

fn params_with<N: NotificationMethod<Params: Debug + PartialEq>>(text: &str) {
    check::<N::Params>(text);
}

/// Whether it is a page without some of its items, which are not written again. A text in it that
/// only looks so makes no difference.
fn has_left_out(value: &impl Debug) -> bool {
    let shown = format!("{value:?}");
    shown.contains("SkippedItems {") && !shown.contains("SkippedItems { count: 0,")
}

fn check<T: Wire + Debug + PartialEq>(text: &str) {
    if let Ok(json) = RawJsonRef::parse(text) {
        for revision in Revision::ALL {
            check_shape(json, T::SHAPE, revision);
        }
    }
    let Ok(value) = T::from_json(text) else {
        return;
    };
    // Reading is more lenient than saying, so even this may fail.
    if let Ok(lossless) = value.to_lossless_json() {
        let again = T::from_json(lossless.as_str()).expect("what was written is readable");
        // Values that are kept as text are equal when their texts are, and the encoder may
        // write white space between tokens differently.
        if !text.contains([' ', '\t', '\n', '\r']) && !has_left_out(&value) {
            assert_eq!(again, value, "{lossless}");
        }
        assert_eq!(again.to_lossless_json().as_ref(), Ok(&lossless));
    }

    for revision in Revision::ALL {
        // What can't be encoded has a reason and leaves no trace.
        let mut out = Vec::new();
        let Ok(json) = value.to_json(revision) else {
            assert!(value.encode_into(revision, &mut out).is_err() && out.is_empty());
            continue;
        };
        // The revision may lack something; what it has is written and read without a change.
        let known = T::from_json(json.as_str()).expect("what was written is readable");
        let again = known
            .to_json(revision)
            .expect("what was written can be written again");
        assert_eq!(again, json, "{revision}");
    }
}
