//! The system calls themselves, each with why it is sound.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Sets a socket option that is one integer.
pub fn set_int(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the option's value is a live integer, and its length is told.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a socket option that is one integer.
pub fn get_int(socket: &impl AsRawFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets, those of a live integer, and the length itself.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length)
    };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Has the sockets of one port chosen by a program (`SO_ATTACH_REUSEPORT_CBPF`).
pub fn choose_by(socket: &impl AsRawFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `len` instructions, which live beyond the call, and changes none.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a clock.
pub fn clock(which: libc::clockid_t) -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the kernel fills the struct; where it refuses the clock, zeros stay, which are valid.
    let time = unsafe {
        libc::clock_gettime(which, time.as_mut_ptr());
        time.assume_init()
    };
    Duration::new(time.tv_sec.max(0).unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Sleeps until `CLOCK_MONOTONIC` shows `until`; a signal ends it early.
pub fn sleep_until(until: Duration) {
    let until = libc::timespec {
        tv_sec: libc::time_t::try_from(until.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(until.subsec_nanos() as i32),
    };
    // SAFETY: it reads one live struct and, being absolute, writes none.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut());
    }
}

/// Lets this thread's timers end no later than `ns` after their time (`PR_SET_TIMERSLACK`).
pub fn set_timer_slack(ns: libc::c_ulong) {
    // SAFETY: it takes integers alone. A kernel that does not know it leaves the slack as it was.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, ns, 0, 0, 0);
    }
}
