//! Templates that are expanded (RFC 6570, 3.2) and matched again: the values come back.

use super::super::UriTemplate;

/// A variable with its length, if it has one, and its value.
type Variable = (String, Option<usize>, Value);

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    /// Exploded.
    List(Vec<String>),
}

/// Expands an expression, as the algorithm of the RFC's section 3.2 does.
fn expand(operator: char, variables: &[Variable]) -> String {
    let (first, separator, is_named, may_be_reserved) = match operator {
        '+' => ("", ",", false, true),
        '#' => ("#", ",", false, true),
        '.' => (".", ".", false, false),
        '/' => ("/", "/", false, false),
        ';' => (";", ";", true, false),
        '?' => ("?", "&", true, false),
        '&' => ("&", "&", true, false),
        _ => ("", ",", false, false),
    };
    let values = variables.iter().map(|(name, most, value)| {
        let encoded = |text: &String| encode(text, may_be_reserved);
        let texts = match (value, most) {
            (Value::Text(text), Some(most)) => encoded(&text.chars().take(*most).collect()),
            (Value::Text(text), None) => encoded(text),
            (Value::List(list), _) => list.iter().map(encoded).collect::<Vec<_>>().join(separator),
        };
        if is_named {
            format!("{name}={texts}")
        } else {
            texts
        }
    });
    let values: Vec<String> = values.collect();
    format!("{first}{}", values.join(separator))
}

fn encode(text: &str, may_be_reserved: bool) -> String {
    let mut encoded = String::new();
    for character in text.chars() {
        let is_plain = character.is_ascii_alphanumeric() || "-._~".contains(character);
        let is_reserved = may_be_reserved && ":/?#[]@!$&'()*+,;=".contains(character);
        if is_plain || is_reserved {
            encoded.push(character);
        } else {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    encoded
}

/// Numbers that look random (SplitMix64), from a seed that a failure prints.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).expect("it is below")
    }

    fn text(&mut self, alphabet: &str) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let length = 1 + self.below(6);
        let letters = (0..length).map(|_| alphabet[self.below(alphabet.len())]);
        letters.collect()
    }
}

/// A template under construction, with a URI that follows it and the values in that.
#[derive(Default)]
struct World {
    template: String,
    uri: String,
    expected: Vec<(String, String)>,
    names: usize,
}

/// What is encoded wherever it stands, and what isn't.
const ANY: &str = "ab.9-_~é€𝄞 /?#&,;:=%+@{}\"";
/// The same where dots separate values.
const NO_DOTS: &str = "ab9-_~é€𝄞 /?#&,;:=%+@{}\"";
/// What `{+name}` leaves alone, and what it doesn't; nothing that would begin another part.
const RESERVED: &str = "ab/:@!$'()*+=é€ ";

impl World {
    fn expression(&mut self, random: &mut Random, operator: char, names: usize, alphabet: &str) {
        let mut variables = Vec::new();
        for _ in 0..names {
            self.names += 1;
            let name = format!("v{}.x-{}", self.names, self.names % 7);
            let most = (random.below(4) == 0).then(|| 1 + random.below(6));
            variables.push((name, most, Value::Text(random.text(alphabet))));
        }
        self.add(operator, &variables);
    }

    fn list(&mut self, random: &mut Random, operator: char, alphabet: &str) {
        self.names += 1;
        let list = (0..=random.below(4)).map(|_| random.text(alphabet));
        let value = Value::List(list.collect());
        self.add(operator, &[(format!("l{}", self.names), None, value)]);
    }

    fn add(&mut self, operator: char, variables: &[Variable]) {
        let texts = variables
            .iter()
            .map(|(name, most, value)| match (value, most) {
                (Value::List(_), _) => format!("{name}*"),
                (Value::Text(_), Some(most)) => format!("{name}:{most}"),
                (Value::Text(_), None) => name.clone(),
            });
        let texts: Vec<String> = texts.collect();
        let operator_text = operator.to_string();
        self.template += &format!("{{{}{}}}", operator_text.trim(), texts.join(","));
        self.uri += &expand(operator, variables);
        let expected = variables.iter().map(|(name, most, value)| {
            let value = match (value, operator) {
                (Value::List(list), '/') => list.join("/"),
                (Value::List(list), _) => list.join(","),
                (Value::Text(text), _) => text.chars().take(most.unwrap_or(9999)).collect(),
            };
            (name.clone(), value)
        });
        self.expected.extend(expected);
    }

    fn literal(&mut self, text: &str) {
        self.template += text;
        self.uri += text;
    }

    fn random(random: &mut Random) -> Self {
        let mut world = Self::default();
        world.literal("x://host/");
        // Only one may contain slashes: with two the end of the first would be ambiguous.
        let mut may_have_slashes = true;
        for _ in 0..random.below(4) {
            let names = 1 + random.below(3);
            match random.below(7) {
                0 => world.expression(random, ' ', names, ANY),
                1 => world.expression(random, '/', names, ANY),
                2 => world.expression(random, ';', names, ANY),
                3 => world.list(random, ' ', ANY),
                4 if may_have_slashes => {
                    may_have_slashes = false;
                    world.list(random, '/', ANY);
                }
                5 if may_have_slashes => {
                    may_have_slashes = false;
                    world.expression(random, '+', names, RESERVED);
                }
                _ => world.expression(random, '.', names, NO_DOTS),
            }
            world.literal(["/", "/and/"][random.below(2)]);
        }
        if random.below(2) == 0 {
            let names = 1 + random.below(3);
            world.expression(random, '?', names, ANY);
        }
        if random.below(3) == 0 {
            let names = 1 + random.below(3);
            world.expression(random, '#', names, RESERVED);
        }
        world
    }
}

#[test]
fn variables_of_an_expanded_template_are_matched() {
    for seed in 0..20_000 {
        let world = World::random(&mut Random(seed));
        let (text, uri) = (&world.template, &world.uri);
        let template = UriTemplate::parse(text);
        let template = template.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = template.matches(uri);
        assert_eq!(found, Some(world.expected), "seed {seed}: {text} {uri}");
    }
}

#[test]
fn examples_of_the_rfc_come_back() {
    let text = |name: &str, value: &str| (name.to_owned(), None, Value::Text(value.to_owned()));
    let colours = ["red", "green", "blue"].map(str::to_owned).to_vec();
    let list = || vec![("list".to_owned(), None, Value::List(colours.clone()))];
    let both = || vec![text("x", "1024"), text("y", "768")];
    let hello = || text("hello", "Hello World!");
    for (operator, variables, expected) in [
        (' ', vec![hello()], "Hello%20World%21"),
        ('+', vec![text("path", "/foo/bar")], "/foo/bar"),
        (' ', both(), "1024,768"),
        (
            '#',
            vec![text("x", "1024"), hello()],
            "#1024,Hello%20World!",
        ),
        ('.', both(), ".1024.768"),
        (
            '/',
            vec![text("var", "value"), text("x", "1024")],
            "/value/1024",
        ),
        ('/', list(), "/red/green/blue"),
        (' ', list(), "red,green,blue"),
        (';', both(), ";x=1024;y=768"),
        ('?', both(), "?x=1024&y=768"),
        ('&', both(), "&x=1024&y=768"),
    ] {
        let mut world = World::default();
        world.add(operator, &variables);
        assert_eq!(world.uri, expected);
        let template = UriTemplate::parse(&world.template).expect("a template");
        let found = template.matches(&world.uri);
        assert_eq!(found, Some(world.expected), "{}", world.template);
    }
}
