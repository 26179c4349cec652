//! Small types that several features share: roles, annotations, icons, implementations.

use crate::json::Number;
use crate::revision::Revision;
use crate::wire::Shape;

wire_choice! {
    /// The author of a message in a conversation.
    pub enum Role {
        /// The user, or the application on behalf of the user.
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
        /// The audience that the content is meant for.
        opt audience: Vec<Role> = "audience";
        /// The importance, from 0 (optional) to 1 (required).
        hint priority: Number = "priority", when is_fraction, shaped &Shape::Fraction;
        /// The time of the last change, in ISO 8601.
        hint last_modified: String = "lastModified", in since(V2025_06_18);
        ..extras;
    }
}

wire_choice! {
    /// The background that an icon is designed for.
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
        /// The location: an `https:` or `data:` URI.
        req src: String = "src";
        /// The media type, if the source has none or a wrong one.
        opt mime_type: String = "mimeType";
        /// The sizes, such as `48x48` or `any`.
        opt sizes: Vec<String> = "sizes";
        /// The background that the icon is designed for; any background if absent.
        opt theme: IconTheme = "theme";
    }
}

wire_struct! {
    /// The name and version of a client or server.
    ///
    /// Meant for users and logs. Behaviour must never depend on it.
    pub struct Implementation {
        /// The programmatic name.
        req name: String = "name";
        /// The version.
        req version: String = "version";
        /// The display name.
        opt title: String = "title", in since(V2025_06_18);
        /// A description.
        opt description: String = "description", in since(V2025_11_25);
        /// Icons to display.
        hint icons: Vec<Icon> = "icons", in since(V2025_11_25);
        /// The home page.
        opt website_url: String = "websiteUrl", in since(V2025_11_25);
    }
}

/// Returns `true` for a valid priority. Numbers outside 0 to 1 are omitted.
pub(crate) fn is_fraction(number: &Number, _: Revision) -> bool {
    (0.0..=1.0).contains(&number.as_f64())
}
