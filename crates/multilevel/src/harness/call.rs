//! An operation of any type, as the harness handles it: executed, described, written down.

use super::recorder::Recorder;
use crate::operation::{Inverse, LockRequests, Operation, Recorded};
use crate::pages::Pages;
use std::fmt::{self, Debug};
use std::rc::Rc;

/// An operation of any type, to be tested. A strategy for the harness makes it.
///
/// ```
/// # use sardonyx_multilevel::{Area, Operation, Pages, Stop};
/// use proptest::prelude::*;
/// use sardonyx_multilevel::harness::Call;
///
/// #[derive(Debug)]
/// struct Get(u64);
/// # impl Operation for Get {
/// #     type Output = u8;
/// #     type Error = Stop;
/// #     fn execute(&self, pages: &mut dyn Pages) -> Result<u8, Stop> {
/// #         let page = pages.page(Area(0), self.0)?;
/// #         Ok(pages.read(page)?[0])
/// #     }
/// # }
///
/// fn operations() -> impl Strategy<Value = Call> {
///     (0u64..4).prop_map(|place| Call::of(Get(place)))
/// }
/// ```
#[derive(Clone)]
pub struct Call(Rc<dyn AnyOperation>);

/// The result of an operation, as far as it can be compared.
#[derive(Clone)]
pub(crate) struct Done {
    /// Its output, as `Debug` shows it.
    pub output: String,
    pub inverse: Option<Inverse>,
}

trait AnyOperation {
    fn describe(&self) -> String;
    fn locks(&self, locks: &mut LockRequests);
    /// The error as text.
    fn execute(&self, pages: &mut dyn Pages) -> Result<Done, String>;
    /// Writes it down and reads it again; an error names the fault.
    fn round_trip(&self) -> Result<(), String>;
}

struct Any<O>(O);

/// One that can be written down.
struct Written<O>(O);

impl Call {
    /// A call of an operation. Its output is compared in the form of `Debug`.
    pub fn of<O>(operation: O) -> Call
    where
        O: Operation + Debug + 'static,
        O::Output: Debug,
    {
        Call(Rc::new(Any(operation)))
    }

    /// A call of an operation that can be encoded: that is tested, too.
    pub fn recorded<O>(operation: O) -> Call
    where
        O: Recorded + Debug + 'static,
        O::Output: Debug,
    {
        Call(Rc::new(Written(operation)))
    }

    /// The locks that it asks for before it begins.
    pub(crate) fn locks(&self) -> LockRequests {
        let mut locks = LockRequests::default();
        self.0.locks(&mut locks);
        locks
    }

    pub(crate) fn execute(&self, pages: &mut Recorder<'_>) -> Result<Done, String> {
        self.0.execute(pages)
    }

    pub(crate) fn round_trip(&self) -> Result<(), String> {
        self.0.round_trip()
    }
}

impl Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.describe())
    }
}

fn execute<O: Operation>(operation: &O, pages: &mut dyn Pages) -> Result<Done, String>
where
    O::Output: Debug,
{
    let (output, inverse) = operation
        .execute_with_inverse(pages)
        .map_err(|error| error.to_string())?;
    Ok(Done {
        inverse,
        output: format!("{output:?}"),
    })
}

impl<O: Operation + Debug> AnyOperation for Any<O>
where
    O::Output: Debug,
{
    fn describe(&self) -> String {
        format!("{:?}", self.0)
    }

    fn locks(&self, locks: &mut LockRequests) {
        self.0.locks(locks);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Done, String> {
        execute(&self.0, pages)
    }

    fn round_trip(&self) -> Result<(), String> {
        Ok(())
    }
}

impl<O: Recorded + Debug + 'static> AnyOperation for Written<O>
where
    O::Output: Debug,
{
    fn describe(&self) -> String {
        format!("{:?}", self.0)
    }

    fn locks(&self, locks: &mut LockRequests) {
        self.0.locks(locks);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Done, String> {
        execute(&self.0, pages)
    }

    fn round_trip(&self) -> Result<(), String> {
        let written = Inverse::of(&self.0);
        let again = decode::<O>(written.bytes())?.describe();
        let this = self.describe();
        match again == this {
            true => Ok(()),
            false => Err(format!("the bytes of {this} are read as {again}")),
        }
    }
}

/// Reads an operation, which must be written as it was read.
pub(crate) fn decode<O: Recorded + Debug + 'static>(bytes: &[u8]) -> Result<Inverting, String> {
    let name = O::NAME;
    let operation = O::decode(bytes)
        .ok_or_else(|| format!("{name:?} does not read its own bytes: {bytes:?}"))?;
    let again = Inverse::of(&operation);
    if again.bytes() != bytes {
        let again = again.bytes();
        return Err(format!(
            "{name:?} reads {bytes:?} as {operation:?}, and writes that as {again:?}"
        ));
    }
    Ok(Inverting(Box::new(operation)))
}

/// An operation that was read from its bytes, to be executed as an inverse: its output is not used.
pub(crate) struct Inverting(Box<dyn AnyInverse>);

trait AnyInverse {
    fn describe(&self) -> String;
    fn locks(&self, locks: &mut LockRequests);
    fn execute(&self, pages: &mut dyn Pages) -> Result<(), String>;
}

impl<O: Recorded + Debug> AnyInverse for O {
    fn describe(&self) -> String {
        format!("{self:?}")
    }

    fn locks(&self, locks: &mut LockRequests) {
        Operation::locks(self, locks);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), String> {
        let outcome = Operation::execute(self, pages);
        outcome.map(drop).map_err(|error| error.to_string())
    }
}

impl Inverting {
    pub fn describe(&self) -> String {
        self.0.describe()
    }

    pub fn locks(&self) -> LockRequests {
        let mut locks = LockRequests::default();
        self.0.locks(&mut locks);
        locks
    }

    pub fn execute(&self, pages: &mut Recorder<'_>) -> Result<(), String> {
        self.0.execute(pages)
    }
}
