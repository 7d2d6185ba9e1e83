//! A SIGSEGV that is not the recipe's own reaches the previous handler.

use std::ffi::{c_int, c_void};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use sardonyx_lab::floor::libxac::Recipe;

const PAGE: usize = 4_096;

static FOREIGN_PAGE: AtomicUsize = AtomicUsize::new(0);
static FOREIGN_FAULTS: AtomicUsize = AtomicUsize::new(0);

/// The host program's handler: opens its own page.
extern "C" fn host_handler(_: c_int, information: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel, or the handler that passes the signal on, gives a SIGSEGV's siginfo.
    let address = unsafe { (*information).si_addr() };
    let page = FOREIGN_PAGE.load(SeqCst);
    if address.addr() & !(PAGE - 1) != page {
        // SAFETY: always allowed; another address would fault for ever.
        unsafe { libc::abort() };
    }
    FOREIGN_FAULTS.fetch_add(1, SeqCst);
    // SAFETY: the page is this test's own mapping.
    unsafe {
        libc::mprotect(
            page as *mut c_void,
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
        )
    };
}

/// A mapped page without rights.
fn closed_page() -> *mut i32 {
    // SAFETY: a new mapping at an address that the kernel chooses.
    let page = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(null_mut(), PAGE, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

/// Tells [`child`] whether to install the host program's handler.
const HOST_HANDLER: &str = "SARDONYX_TEST_HOST_HANDLER";

/// A child process of the tests below, since a handler is the whole process's; by itself it does nothing.
#[test]
#[ignore = "a child process: started by the tests below"]
fn child() {
    let Some(with_host) = std::env::var_os(HOST_HANDLER) else {
        return;
    };
    let with_host = with_host == "installed";
    // An unhandled signal comes back for ever; that must fail, not hang.
    let limit = libc::rlimit {
        rlim_cur: 10,
        rlim_max: 10,
    };
    // SAFETY: the call reads one struct rlimit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_CPU, &limit) }, 0);
    let page = closed_page();
    FOREIGN_PAGE.store(page.addr(), SeqCst);
    if with_host {
        // SAFETY: zeros are a valid sigaction; the handler has the signature of SA_SIGINFO.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            action.sa_sigaction =
                host_handler as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &action, null_mut()), 0);
        }
    }
    let mut recipe = Recipe::new(4).unwrap();
    assert_eq!(recipe.write_transaction(4).unwrap().signals, 8);
    // SAFETY: the page is mapped; the test is about its missing rights.
    unsafe { page.write_volatile(5) };
    assert_eq!(recipe.read_transaction(4).unwrap().signals, 4);
    // SAFETY: as above.
    let found = unsafe { page.read_volatile() };
    assert_eq!((found, FOREIGN_FAULTS.load(SeqCst)), (5, 1));
}

fn run_child(with_host: bool) -> std::process::ExitStatus {
    let handler = if with_host { "installed" } else { "absent" };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "foreign_fault::child"]);
    command.env(HOST_HANDLER, handler).output().unwrap().status
}

#[test]
fn the_host_programs_handler_gets_its_own_faults() {
    let status = run_child(true);
    assert!(status.success(), "{status}");
}

#[test]
fn without_one_a_wild_access_ends_the_process() {
    assert_eq!(run_child(false).signal(), Some(libc::SIGSEGV));
}
