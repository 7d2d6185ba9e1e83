//! The layout of the stages on threads.

/// The layout of the stages on threads. The results are the same; the costs are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A thread for each stage (the TPK paper's configurations B and C): for enough processors.
    Pipelined {
        /// Threads of the input stage, at least 1.
        input_threads: usize,
        /// Threads of the output stage, at least 1.
        output_threads: usize,
    },
    /// Input, execution and output run on the submitting thread; logging and checkpointing have threads
    /// (the TPK paper's configuration A). It is for few processors, since it saves every context switch
    /// that is not needed.
    Coalesced,
    /// No threads at all: logging and checkpointing, too, run on the committing thread. The work is a
    /// function of the calls alone, so a run can be replayed (I11).
    Threadless,
}

impl Shape {
    /// The shape for so many processors: five stages want at least four.
    pub fn for_processors(processors: usize) -> Shape {
        if processors >= 4 {
            Shape::Pipelined {
                input_threads: 1,
                output_threads: 1,
            }
        } else {
            Shape::Coalesced
        }
    }

    /// The shape for the processors of this machine.
    pub fn of_this_machine() -> Shape {
        Shape::for_processors(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// True if logging and checkpointing have threads of their own.
    pub fn is_threaded(self) -> bool {
        self != Shape::Threadless
    }
}
