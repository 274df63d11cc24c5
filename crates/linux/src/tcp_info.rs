// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel tells of a connection, and what it is told beyond the library's options.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_void, socklen_t};

/// The kernel's `struct tcp_info` (linux/tcp.h) up to what is read of it. An older kernel leaves the end zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    state_and_flags: [u8; 8],
    rto: u32,
    ato: u32,
    /// Segment size \[B\].
    pub snd_mss: u32,
    rcv_mss: u32,
    unacked_to_reordering_1: [u32; 5],
    times: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    /// Smoothed round-trip time \[µs\].
    pub rtt_us: u32,
    rttvar: u32,
    /// Slow-start threshold \[segments\].
    pub snd_ssthresh: u32,
    /// Congestion window \[segments\].
    pub snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// Retransmitted segments.
    pub total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    /// Payload acknowledged \[B\].
    pub bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    /// Segments with payload sent.
    pub data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    /// Payload sent, retransmissions counted \[B\].
    pub bytes_sent: u64,
    /// Payload retransmitted \[B\].
    pub bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    /// The window that the peer advertises \[B\].
    pub snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    /// Time-outs of the retransmission timer (Linux 6.7).
    pub total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

impl TcpInfo {
    /// Asks the kernel.
    ///
    /// # Errors
    /// If the socket is not of TCP.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut info = MaybeUninit::<Self>::zeroed();
        let mut length = size_of::<Self>() as socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `info`.
        let status = unsafe {
            let into = info.as_mut_ptr().cast::<c_void>();
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into, &mut length)
        };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: all of `info` was zero, which is a value of every field, and the kernel writes whole fields.
        Ok(unsafe { info.assume_init() })
    }
}

/// Bounds the window \[B\] that connections of this socket advertise (TCP_WINDOW_CLAMP).
///
/// # Errors
/// If the socket is not of TCP.
pub fn bound_window(socket: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: the kernel reads one `c_int`.
    let status = unsafe {
        let from = (&raw const bytes).cast::<c_void>();
        let length = size_of::<c_int>() as socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, from, length)
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes in what has come to a TCP socket, without a look at it; how many bytes, and 0 at the end.
///
/// # Errors
/// If nothing has come yet, or the connection has failed.
pub fn discard(socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP throws the bytes away and writes nothing.
    let count = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn fields_stand_where_the_kernel_has_them() {
        // From linux/tcp.h: eight bytes of small fields, then 24 words of 4 B, then words of 8 B where they fit.
        assert_eq!(offset_of!(TcpInfo, snd_cwnd), 80);
        assert_eq!(offset_of!(TcpInfo, total_retrans), 100);
        assert_eq!(offset_of!(TcpInfo, bytes_acked), 120);
        assert_eq!(offset_of!(TcpInfo, bytes_sent), 200);
        assert_eq!(offset_of!(TcpInfo, snd_wnd), 228);
        assert_eq!(offset_of!(TcpInfo, total_rto), 240);
    }
}
