//! Small types that many features share: roles, annotations, icons, implementations.

use crate::json::Number;
use crate::revision::Revision;
use crate::wire::Shape;

wire_choice! {
    /// Who speaks in a conversation.
    pub enum Role {
        /// The person, or the application in their name.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

wire_struct! {
    /// Hints on how a client may use a piece of content or a resource.
    ///
    /// ```
    /// use bowline_types::common::{Annotations, Role};
    ///
    /// let for_the_model = Annotations::new().audience([Role::Assistant]).priority(0.9);
    /// assert_eq!(for_the_model.priority.unwrap(), 0.9);
    /// ```
    pub struct Annotations {
        /// Who it is meant for.
        opt audience: Vec<Role> = "audience";
        /// How important it is, from 0, entirely optional, to 1, required.
        hint priority: Number = "priority", when is_fraction, shaped &Shape::Fraction;
        /// When it was last changed, in ISO 8601.
        hint last_modified: String = "lastModified", in since(V2025_06_18);
        ..extras;
    }
}

wire_choice! {
    /// The background that an icon is made for.
    pub enum IconTheme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

wire_struct! {
    /// An icon that a client may show. New in 2025-11-25.
    pub struct Icon [since(V2025_11_25)] {
        /// Where it is: an `https:` or `data:` URI.
        req src: String = "src";
        /// Its media type, when the source doesn't tell or tells wrong.
        opt mime_type: String = "mimeType";
        /// Sizes as `48x48`, or `any`.
        opt sizes: Vec<String> = "sizes";
        /// The background that it is made for; either when absent.
        opt theme: IconTheme = "theme";
    }
}

wire_struct! {
    /// Name and version of a client or server.
    ///
    /// For people and logs. It must never decide what a peer does.
    pub struct Implementation {
        /// The name for programs.
        req name: String = "name";
        /// The version.
        req version: String = "version";
        /// The name for people.
        opt title: String = "title", in since(V2025_06_18);
        /// What it does.
        opt description: String = "description", in since(V2025_11_25);
        /// Icons to show.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// Its home page.
        opt website_url: String = "websiteUrl", in since(V2025_11_25);
    }
}

/// What is not between 0 and 1 is no priority, and is left out.
pub(crate) fn is_fraction(number: &Number, _: Revision) -> bool {
    (0.0..=1.0).contains(&number.as_f64())
}
