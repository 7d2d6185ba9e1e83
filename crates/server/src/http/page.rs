//! The page: one file that loads nothing else, and the policy that enforces this.
//!
//! The policy has the hashes of the page's script and style and allows nothing else to run. Names of tables and texts
//! of statements are inserted as text, never as markup. If one were inserted as markup, the policy would keep it from
//! running.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use std::sync::LazyLock;

pub const PAGE: &str = include_str!("page.html");

/// The Content-Security-Policy of the page.
pub static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |of: &str| {
        let hash = digest(&SHA256, of.as_bytes());
        format!("'sha256-{}'", BASE64_STANDARD.encode(hash))
    };
    let script = hash(between("<script>", "</script>"));
    let style = hash(between("<style>", "</style>"));
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

fn between(begin: &str, end: &str) -> &'static str {
    let inside = PAGE.split_once(begin).map(|(_, rest)| rest);
    let inside = inside.and_then(|rest| rest.split_once(end));
    inside.map_or("", |(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stands_alone_and_makes_no_markup_of_data() {
        for (begin, end) in [("<script>", "</script>"), ("<style>", "</style>")] {
            assert!(between(begin, end).len() > 1000, "{begin}");
            assert_eq!(PAGE.matches(begin).count(), 1, "{begin}");
        }
        let elsewhere = ["https://", "src=", "@import", "url(h", "url(/"];
        let markup = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ];
        let inline = [" style=", " onclick=", " onload="];
        for wrong in elsewhere.into_iter().chain(markup).chain(inline) {
            assert!(!PAGE.contains(wrong), "{wrong}");
        }
        assert!(!POLICY.contains("unsafe"));
    }
}
