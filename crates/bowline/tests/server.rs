//! Our client and our server against each other.

mod server {
    mod asking;
    mod basics;
    mod faults;
    mod handlers;
    mod listening;
    mod support;
}
