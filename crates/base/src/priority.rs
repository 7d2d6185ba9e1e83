//! Threads that stand behind all others: what takes long and is waited for by nobody else must not take processors from
//! what is waited for.
//!
//! The lowest niceness is not enough where processors are few: on two of them an endless loop at nice 19 takes a third of
//! the transactions beside it, and in the scheduler's idle class an eighth (docs/papers.md).

use std::io;

/// Puts this thread into the scheduler's idle class: it runs where no other thread wants to. It cannot come back without a
/// right that processes seldom have. On other systems than Linux nothing happens.
///
/// # Errors
/// What the system says; the thread goes on as it was.
///
/// ```
/// let behind = std::thread::spawn(sardonyx_base::priority::stand_behind_all);
/// behind.join().expect("it does not panic")?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn stand_behind_all() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let parameter = libc::sched_param { sched_priority: 0 };
        // SAFETY: the system reads the parameter during the call and keeps no address of it; the class is that of the
        // calling thread alone (0), so that nobody else's memory or locks are touched.
        let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameter) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stands_behind_and_others_do_not() {
        // SAFETY: it reads the calling thread's class and touches no memory.
        let class = || unsafe { libc::sched_getscheduler(0) };
        let before = class();
        let behind = std::thread::spawn(move || stand_behind_all().map(|()| class()));
        let behind = behind.join().expect("it does not panic");
        assert_eq!(behind.expect("it is allowed"), libc::SCHED_IDLE);
        assert_eq!(class(), before);
    }
}
