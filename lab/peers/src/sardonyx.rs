//! Sardonyx: the same tables and history; a group is one batch of a procedure's requests, waited
//! for.
//!
//! Each request is a transaction of its own, as in every engine that could undo one alone; the wait is for the whole
//! group, as for the others. The log is prepared in full before the clock runs.

use std::path::Path;

use sardonyx::procedures::Registered;
use sardonyx::{Options, Tables};
use sardonyx_benchmark::debit_credit::load::load;
use sardonyx_benchmark::debit_credit::model::Sums;
use sardonyx_benchmark::debit_credit::proof::{Proof, prove};
use sardonyx_benchmark::debit_credit::requests::{Request, Scale};
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_benchmark::debit_credit::transaction::{DebitCredit, Numbered};
use sardonyx_lab::product::Product;

use crate::peer::{Failure, Peer};

const LOG_BYTES: u64 = 1 << 30;

pub(crate) struct Sardonyx {
    database: Tables,
    schema: Schema,
    procedure: Registered<DebitCredit>,
    lines: u64,
}

impl Product for Sardonyx {
    fn name() -> &'static str {
        "Sardonyx"
    }

    fn settings() -> &'static str {
        "Durability::Durable, adaptive group commit, log 1 GiB, defaults else"
    }
}

impl Peer for Sardonyx {
    fn open(directory: &Path, scale: Scale) -> Result<Self, Failure> {
        let options = Options::new()
            .log_bytes_max(LOG_BYTES)
            .log_bytes_prepared(LOG_BYTES);
        let database = options.open_tables(directory.join("bank.sdx"))?;
        let schema = Schema::of(&database)?;
        if database
            .read(|view| view.count(schema.branches))
            .expect("open")
            == 0
        {
            load(&database, &schema, &scale, |_| {})?;
        }
        let procedure = database.register(DebitCredit::new(schema))?;
        let mut peer = Sardonyx {
            database,
            schema,
            procedure,
            lines: 0,
        };
        peer.lines = peer.history_lines()?;
        Ok(peer)
    }

    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure> {
        let batch = (self.lines..)
            .zip(requests)
            .map(|(transaction, &request)| Numbered {
                transaction,
                request,
            })
            .collect();
        let outcomes = self
            .database
            .submit_batch(&self.procedure, batch, 0)
            .wait()?;
        self.lines += requests.len() as u64;
        outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(())
    }

    fn sums(&mut self) -> Result<Sums, Failure> {
        Ok(self.proof()?.sums)
    }

    fn history_lines(&mut self) -> Result<u64, Failure> {
        Ok(self.proof()?.rows)
    }
}

impl Sardonyx {
    /// The contents of the database. The caller compares them with the requests.
    fn proof(&self) -> Result<Proof, Failure> {
        Ok(prove(&self.database, &self.schema, &[], 0)?)
    }
}
