//! What the compiler says about handlers that are none: words that help.
//!
//! `TRYBUILD=overwrite cargo test -p bowline --test it ui` accepts what it says now.

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
