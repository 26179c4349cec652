//! What looks like a secret.

/// Whether what has this name is secret: `--api-key`, `GITHUB_TOKEN`, `clientSecret`,
/// `--authtoken`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    words
        .iter()
        .any(|word| SECRET_WORDS.contains(&word.as_str()) || is_secret_compound(word))
}

/// Whether a variable of our own is secret, by its name or by its look.
pub(crate) fn is_secret_variable(name: &str, value: &str) -> bool {
    !PLACES.contains(&name) && (is_secret_name(name) || is_secret(value))
}

/// Whether a text is secret by its look: it begins as keys of well-known services do, or it
/// has a run of letters and digits that nobody would choose as a word.
pub(super) fn is_secret(text: &str) -> bool {
    if is_private_key(text) {
        return true;
    }
    let mut parts = text.split(|c: char| c.is_whitespace() || "\"',;=:@/?&".contains(c));
    parts.any(|part| has_known_beginning(part) || is_uuid(part) || has_random_run(part))
}

/// Whether a key is written out.
pub(super) fn is_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY")
}

/// Whether words that name a secret are written as one.
fn is_secret_compound(word: &str) -> bool {
    SECRET_ENDS.iter().any(|end| word.ends_with(end)) && !NO_KEYS.contains(&word)
}

fn has_known_beginning(text: &str) -> bool {
    let known = KNOWN_BEGINNINGS.iter();
    let mut rest = known.filter_map(|beginning| text.strip_prefix(beginning));
    // What follows is the key itself; alone they may be the beginning of a word.
    rest.any(|rest| rest.len() >= SHORTEST_REST)
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// A long run of letters and digits, both of them, as keys are made.
fn has_random_run(text: &str) -> bool {
    let mut runs = text.split(|c: char| !c.is_ascii_alphanumeric());
    runs.any(|run| {
        run.len() >= SHORTEST_RUN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

/// The words of a name, in lower case: at `-`, `_` and `.`, and where small letters meet
/// capitals.
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

/// How words end that are a compound with the name of a secret.
const SECRET_ENDS: &[&str] = &["key", "passphrase", "passwd", "password", "secret", "token"];

/// Words that end like one and have no key in them.
const NO_KEYS: &[&str] = &[
    "donkey", "flunkey", "hickey", "hockey", "hokey", "jockey", "jokey", "lackey", "malarkey",
    "mickey", "monkey", "okey", "pokey", "smokey", "turkey", "valkey", "whiskey",
];

/// Variables that say where things are, in which every message about a file has a part. The
/// first one is a password as the name of anything else.
const PLACES: &[&str] = &["PWD", "OLDPWD", "HOME", "PATH"];

/// How keys begin at services that mark them.
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

/// What follows a beginning has at least as many bytes when it is a key.
const SHORTEST_REST: usize = 8;

/// Runs with fewer letters and digits are names, versions and dates.
const SHORTEST_RUN: usize = 20;
