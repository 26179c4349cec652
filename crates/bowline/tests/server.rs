//! Our client and our server against each other.

mod server {
    mod basics;
    mod handlers;
    mod support;
}
