//! An interpreter of Lua: its state between two scripts. [`super::interpreter`] makes it, and runs scripts in it.

use super::digest::Digest;
use super::limits::Limits;
use mlua::{Function, Lua, Table};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct Interpreter {
    pub lua: Lua,
    pub run: Function,
    pub is_clean: Function,
    pub limits: Arc<Limits>,
    pub compiled: HashMap<Digest, Function>,
    /// Runs the code of a library. Returns its registrations.
    pub load: Function,
    /// Calls a function of a library.
    pub call: Function,
    /// Functions of libraries, by the digests of the libraries' codes.
    pub libraries: HashMap<Digest, Table>,
    /// Lua's parser (5.1.5) does not keep the name of the text that it reads from being collected: they are kept here.
    pub _names: [mlua::String; 2],
}
