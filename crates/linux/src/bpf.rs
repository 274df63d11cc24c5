// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of the kernel at a device: links that go with their last descriptor.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Which packets of a device a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcHook {
    /// Those that come in.
    Ingress = 46,
    /// Those that are about to be queued.
    Egress = 47,
}

const BPF_PROG_QUERY: libc::c_long = 16;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_LINK_GET_FD_BY_ID: libc::c_long = 30;
const BPF_LINK_DETACH: libc::c_long = 34;

/// The head of `union bpf_attr` for a new link. What follows it is zero: in front of no other program, behind none.
#[repr(C)]
struct LinkCreate {
    program: u32,
    device: u32,
    direction: u32,
    flags: u32,
    relative: u32,
    pad: u32,
    revision: u64,
}

/// The head of `union bpf_attr` for a question.
#[repr(C)]
struct Query {
    device: u32,
    direction: u32,
    flags: u32,
    attach_flags: u32,
    programs: u64,
    count: u32,
    pad: u32,
    program_flags: u64,
    links: u64,
    link_flags: u64,
    revision: u64,
}

/// Puts a program at a device of the calling thread's network namespace, behind those that are there (tcx, Linux 6.6). It
/// leaves when the descriptor is closed, as it is when its process ends in whatever way.
///
/// # Errors
/// The kernel's: `EPERM` without `CAP_NET_ADMIN` and `CAP_BPF`, `EINVAL` before Linux 6.6.
pub fn attach(program: BorrowedFd<'_>, device: u32, direction: TcHook) -> io::Result<OwnedFd> {
    let request = LinkCreate {
        program: program.as_raw_fd() as u32,
        device,
        direction: direction as u32,
        flags: 0,
        relative: 0,
        pad: 0,
        revision: 0,
    };
    let size = size_of::<LinkCreate>();
    // SAFETY: the kernel reads `size` bytes of `request`, which has the layout of this command's part of `union bpf_attr`.
    let descriptor = unsafe { libc::syscall(libc::SYS_bpf, BPF_LINK_CREATE, &raw const request, size) };
    match i32::try_from(descriptor) {
        // SAFETY: a descriptor that the kernel has just made, and nobody else knows of.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The head of `union bpf_attr` for what is said of one number.
#[repr(C)]
struct Numbered {
    number: u32,
    pad: [u32; 2],
}

fn numbered(command: libc::c_long, number: u32) -> io::Result<libc::c_long> {
    let request = Numbered { number, pad: [0; 2] };
    let size = size_of::<Numbered>();
    // SAFETY: the kernel reads `size` bytes of `request`, which has the layout of these commands' part of `union bpf_attr`.
    let found = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const request, size) };
    if found < 0 { Err(io::Error::last_os_error()) } else { Ok(found) }
}

/// Undoes the link of this number, whoever holds it.
///
/// # Errors
/// The kernel's: `ENOENT` if there is none, `EOPNOTSUPP` for links of congestion controls before Linux 6.11.
pub fn detach(link: u32) -> io::Result<()> {
    let held = hold(link)?;
    numbered(BPF_LINK_DETACH, held.as_raw_fd() as u32).map(drop)
}

/// Whether there is a link of this number.
pub fn is_link(link: u32) -> bool {
    hold(link).is_ok()
}

fn hold(link: u32) -> io::Result<OwnedFd> {
    let descriptor = i32::try_from(numbered(BPF_LINK_GET_FD_BY_ID, link)?).map_err(io::Error::other)?;
    // SAFETY: a descriptor that the kernel has just made, and nobody else knows of.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The numbers of the programs at a device.
///
/// # Errors
/// The kernel's: `EINVAL` before Linux 6.6.
pub fn attached(device: u32, direction: TcHook) -> io::Result<Vec<u32>> {
    // The kernel lets at most 64 be attached.
    let mut programs = [0u32; 64];
    let mut request = Query {
        device,
        direction: direction as u32,
        flags: 0,
        attach_flags: 0,
        programs: programs.as_mut_ptr() as u64,
        count: 64,
        pad: 0,
        program_flags: 0,
        links: 0,
        link_flags: 0,
        revision: 0,
    };
    let size = size_of::<Query>();
    // SAFETY: the kernel reads and writes `size` bytes of `request`, which has the layout of this command's part of
    // `union bpf_attr`, and writes at most `count` numbers to `programs`.
    let status = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_QUERY, &raw mut request, size) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(programs[..(request.count as usize).min(programs.len())].to_vec())
}
