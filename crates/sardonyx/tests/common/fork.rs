//! Real forks: a child made by the C library or by the raw system call runs a body. Its exit code shows if it was
//! content. A child that hangs is killed by its alarm and so is not content.

#![allow(dead_code, reason = "tests of other crates use a part of it")]

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A child that takes longer hangs, in seconds.
const CHILD_SECONDS: u32 = 20;

/// The way to fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fork {
    /// By the C library, which runs its handlers.
    Library,
    /// By the system call alone.
    Raw,
}

pub const FORKS: [Fork; 2] = [Fork::Library, Fork::Raw];

/// A child that was not waited for yet.
pub struct Child(libc::pid_t);

impl Fork {
    fn fork(self) -> libc::pid_t {
        // SAFETY: the child calls only the functions that the tests are about, and ends without returning from its
        // body's caller; the tests check that it needs no other threads.
        unsafe {
            match self {
                Fork::Library => libc::fork(),
                Fork::Raw => libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32,
            }
        }
    }

    /// Runs a body in a child, whose code is 0 if the body returns true.
    pub fn child(self, body: impl FnOnce() -> bool) -> Child {
        match self.fork() {
            0 => {
                // SAFETY: only this process is meant.
                unsafe { libc::alarm(CHILD_SECONDS) };
                end(catch_unwind(AssertUnwindSafe(body)).unwrap_or(false))
            }
            child if child > 0 => Child(child),
            _ => panic!("cannot fork: {}", std::io::Error::last_os_error()),
        }
    }

    /// Forks where it is called; true in the child, which is to call [`end`].
    pub fn here(self) -> Option<Child> {
        match self.fork() {
            0 => {
                // SAFETY: as above.
                unsafe { libc::alarm(CHILD_SECONDS) };
                None
            }
            child => Some(Child(child)),
        }
    }
}

/// Ends a child at once, without the exit handlers of its parent's libraries.
pub fn end(well: bool) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(i32::from(!well)) }
}

impl Child {
    pub fn kill(self) {
        // SAFETY: a child that was made here and not waited for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }

    /// Returns true if it ended by itself, and content.
    pub fn ends_content(self) -> bool {
        let mut status = 0;
        // SAFETY: waits for a child that was made here.
        unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }
}

/// A door between processes: one waits before it until the other opens it; either may be the child.
pub struct Door(PipeReader, PipeWriter);

impl Door {
    pub fn new() -> Door {
        let (reader, writer) = std::io::pipe().unwrap();
        Door(reader, writer)
    }

    /// Waits until it is open.
    pub fn wait(&self) {
        (&self.0).read_exact(&mut [0]).unwrap();
    }

    /// One waiting process goes on.
    pub fn open(&self) {
        (&self.1).write_all(b".").unwrap();
    }
}
