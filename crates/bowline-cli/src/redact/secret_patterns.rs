//! Patterns of secrets.

/// Returns `true` if a value with this name is secret: `--api-key`, `GITHUB_TOKEN`, `clientSecret`,
/// `--authtoken`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    words
        .iter()
        .any(|word| SECRET_WORDS.contains(&word.as_str()) || is_secret_compound(word))
}

/// Returns `true` if one of our own variables is secret, by its name or its value.
pub(crate) fn is_secret_variable(name: &str, value: &str) -> bool {
    !PLACES.contains(&name) && (is_secret_name(name) || is_secret(value))
}

/// Returns `true` if a text looks secret: it begins as keys of well-known services do, or has a
/// random run of letters and digits.
pub(super) fn is_secret(text: &str) -> bool {
    if is_private_key(text) {
        return true;
    }
    let mut parts = text.split(|c: char| c.is_whitespace() || "\"',;=:@/?&".contains(c));
    parts.any(|part| has_known_beginning(part) || is_uuid(part) || has_random_run(part))
}

/// Returns `true` for a private key in PEM format.
pub(super) fn is_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY")
}

/// Returns `true` if the words that name a secret are written as one.
fn is_secret_compound(word: &str) -> bool {
    SECRET_ENDS.iter().any(|end| word.ends_with(end)) && !NO_KEYS.contains(&word)
}

fn has_known_beginning(text: &str) -> bool {
    let known = KNOWN_BEGINNINGS.iter();
    let mut rest = known.filter_map(|beginning| text.strip_prefix(beginning));
    // The prefix is followed by the key itself; alone it may be the beginning of a word.
    rest.any(|rest| rest.len() >= SHORTEST_REST)
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Returns `true` for a long run of mixed letters and digits.
fn has_random_run(text: &str) -> bool {
    let mut runs = text.split(|c: char| !c.is_ascii_alphanumeric());
    runs.any(|run| {
        run.len() >= SHORTEST_RUN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

/// Splits a name into words, in lower case: at `-`, `_` and `.`, and where lower case meets upper
/// case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for character in name.chars() {
        let is_word = character.is_alphanumeric();
        if !is_word || was_small && character.is_uppercase() {
            words.push(String::new());
        }
        if is_word && let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
        was_small = character.is_lowercase();
    }
    words
}

const SECRET_WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pin",
    "pwd",
    "secret",
    "secrets",
    "sig",
    "signature",
    "token",
    "tokens",
];

/// The endings of compounds that name a secret.
const SECRET_ENDS: &[&str] = &["key", "passphrase", "passwd", "password", "secret", "token"];

/// Words with such an ending that do not name a secret.
const NO_KEYS: &[&str] = &[
    "donkey", "flunkey", "hickey", "hockey", "hokey", "jockey", "jokey", "lackey", "malarkey",
    "mickey", "monkey", "okey", "pokey", "smokey", "turkey", "valkey", "whiskey",
];

/// Variables with paths, parts of which are in every message about a file. The first one names a
/// password elsewhere.
const PLACES: &[&str] = &["PWD", "OLDPWD", "HOME", "PATH"];

/// The prefixes that services give their keys.
const KNOWN_BEGINNINGS: &[&str] = &[
    "AIza",
    "AKIA",
    "ASIA",
    "SG.",
    "dop_v1_",
    "eyJ",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
    "lin_api_",
    "ntn_",
    "npm_",
    "pk_live_",
    "pk_test_",
    "pypi-",
    "rk_live_",
    "secret_",
    "shpat_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "sntrys_",
    "tvly-",
    "whsec_",
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
    "ya29.",
];

/// The minimum length of a key after its prefix.
const SHORTEST_REST: usize = 8;

/// Runs with fewer letters and digits are names, versions and dates.
const SHORTEST_RUN: usize = 20;
