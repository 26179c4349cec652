use Revision::*;

use super::*;

fn begin(ours: Revisions) -> Negotiation {
    Negotiation::begin(ours, None).0
}

fn supports(versions: &[&str]) -> DiscoverResult {
    let versions: Vec<_> = versions.iter().map(|name| (*name).to_owned()).collect();
    DiscoverResult::new(versions, ServerCapabilities::new())
}

fn unsupported(versions: &[&str]) -> Option<ErrorObject> {
    let data = serde_json::json!({"supported": versions, "requested": "2026-07-28"});
    Some(ErrorObject::new(-32022, "unsupported").data(data))
}

fn initialized(version: &str) -> InitializeResult {
    InitializeResult::new(
        version,
        ServerCapabilities::new(),
        Implementation::new("s", "0"),
    )
}

fn agreed(step: &Step) -> Option<Revision> {
    match step {
        Step::Agreed(agreement) => Some(agreement.revision),
        _ => None,
    }
}

// proves: PV-4
#[test]
fn the_likely_era_is_tried_first() {
    let first = |ours, known| Negotiation::begin(ours, known).1;
    let all = Revisions::ALL;
    assert_eq!(first(all, None), Step::Discover(V2026_07_28));
    assert_eq!(
        first(all, Some(Era::Stateless)),
        Step::Discover(V2026_07_28)
    );
    assert_eq!(
        first(all, Some(Era::Handshake)),
        Step::Initialize(V2025_11_25)
    );
    let old = Revisions::until(V2025_06_18);
    assert_eq!(first(old, None), Step::Initialize(V2025_06_18));
    let new = Revisions::only(V2026_07_28);
    assert_eq!(
        first(new, Some(Era::Handshake)),
        Step::Discover(V2026_07_28)
    );
    assert!(matches!(first(Revisions::NONE, None), Step::Failed(_)));
}

#[test]
fn a_stateless_server_is_discovered() {
    let mut negotiation = begin(Revisions::ALL);
    let step =
        negotiation.on_discover(supports(&["2026-07-28", "2025-11-25", "2099-01-01"]), false);
    assert_eq!(agreed(&step), Some(V2026_07_28));
    // What comes later has no effect.
    assert_eq!(
        negotiation.on_discover(supports(&["2026-07-28"]), false),
        Step::Wait
    );
    assert_eq!(
        negotiation.on_initialize(initialized("2025-11-25")),
        Step::Wait
    );
    assert_eq!(negotiation.on_probe_timeout(), Step::Wait);
}

#[test]
fn a_server_that_lists_old_revisions_is_initialized() {
    for listed in [["2025-06-18", "2024-11-05"], ["2025-06-18", "2099-01-01"]] {
        let mut by_result = begin(Revisions::ALL);
        assert_eq!(
            by_result.on_discover(supports(&listed), false),
            Step::Initialize(V2025_06_18)
        );
        let mut by_error = begin(Revisions::ALL);
        let step = by_error.on_discover_error(unsupported(&listed));
        assert_eq!(step, Step::Initialize(V2025_06_18));
    }
}

// proves: F-LC-08, F-LC-04
#[test]
fn nothing_in_common_names_both_lists() {
    let mut negotiation = begin(Revisions::ALL);
    let Step::Failed(error) = negotiation.on_discover(supports(&["2099-01-01"]), false) else {
        panic!();
    };
    assert!(error.is_permanent());
    assert_eq!(
        error.to_string(),
        "no common protocol version (client: 2024-11-05, 2025-03-26, 2025-06-18, \
         2025-11-25, 2026-07-28; server: 2099-01-01)"
    );
    let (mut old, _) = Negotiation::begin(Revisions::only(V2024_11_05), None);
    let step = old.on_initialize(initialized("2025-11-25"));
    assert!(matches!(step, Step::Failed(error) if error.is_permanent()));
    // `initialize` never leads to the stateless era.
    let (mut both, _) = Negotiation::begin(Revisions::ALL, Some(Era::Handshake));
    assert!(matches!(
        both.on_initialize(initialized("2026-07-28")),
        Step::Failed(_)
    ));
}

#[test]
fn the_probe_is_sent_again_once_in_the_same_revision() {
    let mut negotiation = begin(Revisions::ALL);
    let again = negotiation.on_discover_error(unsupported(&["2026-07-28"]));
    assert_eq!(again, Step::Discover(V2026_07_28));
    let Step::Failed(error) = negotiation.on_discover_error(unsupported(&["2026-07-28"])) else {
        panic!();
    };
    assert!(error.is_permanent());
}

#[test]
fn any_other_error_means_initialize() {
    let errors = [
        Some(ErrorObject::new(-32601, "no such method")),
        Some(ErrorObject::new(-32602, "bad params")),
        Some(ErrorObject::new(-32600, "not initialized")),
        Some(ErrorObject::new(0, "")),
        // The code without what belongs to it.
        Some(ErrorObject::new(-32022, "whatever")),
        None,
    ];
    for error in errors {
        let mut negotiation = begin(Revisions::ALL);
        let step = negotiation.on_discover_error(error.clone());
        assert_eq!(step, Step::Initialize(V2025_11_25), "{error:?}");
        assert_eq!(
            agreed(&negotiation.on_initialize(initialized("2024-11-05"))),
            Some(V2024_11_05)
        );
    }
    // Only a stateless server has these.
    for code in [-32020, -32021] {
        let step = begin(Revisions::ALL).on_discover_error(Some(ErrorObject::new(code, "")));
        assert!(
            matches!(step, Step::Failed(NegotiationError::Refused(_))),
            "{code}"
        );
    }
}

#[test]
fn after_a_slow_probe_what_the_server_has_seen_counts() {
    let slow = || {
        let mut negotiation = begin(Revisions::ALL);
        assert_eq!(
            negotiation.on_probe_timeout(),
            Step::Initialize(V2025_11_25)
        );
        negotiation
    };
    let mut stateless = slow();
    assert_eq!(
        agreed(&stateless.on_discover(supports(&["2026-07-28"]), false)),
        Some(V2026_07_28)
    );
    assert_eq!(
        stateless.on_initialize(initialized("2025-11-25")),
        Step::Wait
    );
    // The server has seen `initialize`: how it answers that one decides.
    let mut both = slow();
    let found = supports(&["2026-07-28"]);
    assert_eq!(both.on_discover(found.clone(), true), Step::Wait);
    let step = both.on_initialize(initialized("2025-11-25"));
    assert_eq!(agreed(&step), Some(V2025_11_25));
    let refusals: [fn(&mut Negotiation) -> Step; 3] = [
        |negotiation| negotiation.on_initialize_error(ErrorObject::new(-32601, "")),
        |negotiation| negotiation.on_invalid_initialize("no answer".into()),
        |negotiation| negotiation.on_initialize(initialized("1999-01-01")),
    ];
    for refuse in refusals {
        let mut stateless = slow();
        assert_eq!(stateless.on_discover(found.clone(), true), Step::Wait);
        assert_eq!(agreed(&refuse(&mut stateless)), Some(V2026_07_28));
    }
    let mut handshake = slow();
    assert_eq!(handshake.on_discover_error(None), Step::Wait);
    assert_eq!(
        handshake.on_discover(supports(&["2026-07-28"]), false),
        Step::Wait
    );
    assert_eq!(
        agreed(&handshake.on_initialize(initialized("2025-11-25"))),
        Some(V2025_11_25)
    );
    let mut listed = slow();
    assert_eq!(
        listed.on_discover(supports(&["2025-11-25"]), false),
        Step::Wait
    );
    // A client of the new era alone goes on waiting.
    let mut new = begin(Revisions::only(V2026_07_28));
    assert_eq!(new.on_probe_timeout(), Step::Wait);
    assert_eq!(
        agreed(&new.on_discover(supports(&["2026-07-28"]), false)),
        Some(V2026_07_28)
    );
}

// proves: F-LC-03
#[test]
fn a_refused_handshake_is_permanent_only_for_its_revision() {
    let refused = |error| {
        let (mut negotiation, _) = Negotiation::begin(Revisions::until(V2025_11_25), None);
        match negotiation.on_initialize_error(error) {
            Step::Failed(error) => error,
            step => panic!("{step:?}"),
        }
    };
    assert!(!refused(ErrorObject::new(-32603, "busy")).is_permanent());
    assert!(!refused(unsupported(&["2025-11-25"]).unwrap()).is_permanent());
    assert!(refused(unsupported(&["2099-01-01"]).unwrap()).is_permanent());
}
