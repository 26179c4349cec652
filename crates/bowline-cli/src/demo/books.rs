//! Completion that depends on another argument: the titles are those of the author.

use bowline::server::{CompletionInput, Server, template};
use schemars::JsonSchema;
use serde::Deserialize;

const TEMPLATE: &str = "demo://books/{author}/{title}";

const BOOKS: [(&str, &str, u16); 5] = [
    ("ashley", "knots", 1944),
    ("conrad", "typhoon", 1902),
    ("conrad", "youth", 1898),
    ("melville", "moby-dick", 1851),
    ("melville", "typee", 1846),
];

pub(super) fn add_to(server: Server) -> Server {
    server
        .add_template(
            template(TEMPLATE, "book", read_book)
                .title("Book")
                .description("The year of publication of a book about the sea")
                .mime_type("text/plain"),
        )
        .completion(TEMPLATE, "author", complete_author)
        .completion(TEMPLATE, "title", complete_title)
        .prompt(
            "discuss",
            "Discusses a book about the sea",
            |Book { author, title }: Book| async move {
                format!("What is {title:?} by {author:?} about?")
            },
        )
        .completion("discuss", "author", complete_author)
        .completion("discuss", "title", complete_title)
}

#[derive(Deserialize, JsonSchema)]
struct Book {
    /// The author.
    author: String,
    /// The title.
    title: String,
}

async fn read_book(wanted: Book) -> Option<String> {
    let book = BOOKS
        .iter()
        .find(|(author, title, _)| *author == wanted.author && *title == wanted.title);
    book.map(|(author, title, year)| format!("{title} by {author}, {year}"))
}

async fn complete_author(typed: CompletionInput) -> Vec<&'static str> {
    let authors = BOOKS.iter().map(|(author, ..)| *author);
    let mut authors: Vec<_> = authors
        .filter(|author| author.starts_with(&typed.value))
        .collect();
    authors.dedup();
    authors
}

async fn complete_title(typed: CompletionInput) -> Vec<&'static str> {
    // The client sends the author if it is already known (since 2025-06-18).
    let known = typed.arguments.get("author");
    let books = BOOKS.iter().filter(|(author, title, _)| {
        known.is_none_or(|known| known == author) && title.starts_with(&typed.value)
    });
    books.map(|(_, title, _)| *title).collect()
}
