//! Lines that a user types at a prompt.

use super::connection::Standing;

/// A line, or a key that ends one.
pub enum Typed {
    Line(String),
    /// Ctrl-C: the typed text is discarded.
    #[cfg_attr(
        not(feature = "shell"),
        expect(dead_code, reason = "only an editor hears it")
    )]
    Forget,
    /// Ctrl-D: the end.
    End,
}

/// The prompt: the state of the transaction, and if a statement has begun.
pub fn prompt(standing: Standing, is_blank: bool) -> String {
    let mark = match standing {
        Standing::Idle => "",
        Standing::Open => "*",
        Standing::Failed => "!",
    };
    let end = if is_blank { "=>" } else { "->" };
    format!("sardonyx{mark}{end} ")
}
