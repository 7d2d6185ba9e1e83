//! Cutting TCP connections of another process from outside: its end is shut down, as if the network had failed.

use anyhow::Context;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use sardonyx_base::random::Random;
use std::net::{Shutdown, TcpStream};

/// Shuts down about half of a process's TCP connections, one way or both. Returns their number.
pub(crate) fn cut(process: u32, random: &mut Random) -> anyhow::Result<u64> {
    let pid = Pid::from_raw(process as i32).context("a process")?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let mut cut = 0;
    for entry in std::fs::read_dir(format!("/proc/{process}/fd"))? {
        let entry = entry?;
        let is_socket = std::fs::read_link(entry.path())
            .is_ok_and(|what| what.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|_| is_socket && random.below(2) == 0) else {
            continue;
        };
        // It may have been closed meanwhile.
        let Ok(socket) = pidfd_getfd(&handle, number, PidfdGetfdFlags::empty()) else {
            continue;
        };
        let stream = TcpStream::from(socket);
        // A listener has no peer, nor has a socket of another kind.
        if stream.peer_addr().is_ok() {
            let how = [Shutdown::Both, Shutdown::Read, Shutdown::Write][random.below(3) as usize];
            cut += u64::from(stream.shutdown(how).is_ok());
        }
    }
    Ok(cut)
}
