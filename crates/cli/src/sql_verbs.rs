//! The verbs that know SQL: the server, its shell and the verbs that move rows; `without_sql` replaces it in a build
//! without the feature `sql`.

use crate::serve::Stuck;
use sardonyx_command::exit::Exit;
use sardonyx_server::configuration::ConfigurationError;
use sardonyx_server::{OptionsError, ServerError};

pub use crate::changes::Arguments as Changes;
pub use crate::export::Arguments as Export;
pub use crate::import::Arguments as Import;
pub use crate::password::Arguments as Password;
pub use crate::rows::Arguments as Rows;
pub use crate::schema::Arguments as Schema;
pub use crate::serve::Arguments as Serve;
pub use crate::sql::Arguments as Sql;
pub use crate::top::Arguments as Top;

/// Enables the check of tables' conditions in SQL, for each verb that writes rows.
pub fn enforce_checks() {
    sardonyx_sql::enforce_checks();
}

/// The exit code of a server's errors.
pub fn exit_of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if cause.is::<Stuck>() {
        return Some(Exit::Stuck);
    }
    let of_nodes = cause.downcast_ref::<ServerError>();
    let is_usage = cause.is::<ConfigurationError>()
        || cause.is::<OptionsError>()
        || matches!(of_nodes, Some(ServerError::OfNodes));
    is_usage.then_some(Exit::Usage)
}
