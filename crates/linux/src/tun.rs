// SPDX-License-Identifier: MIT OR Apache-2.0
//! TUN: the device between a kernel and whoever reads its packets.
//!
//! A kernel hands over what TCP has written in one piece, and we split it into packets of the MTU: the kernel would do no
//! other, only slower. Joining packets that leave together, as network cards do, is an option.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use tun_rs::{DeviceBuilder, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

use crate::error::{Attempt, Error};

/// What stands in front of a packet in its buffer: the header by which pieces larger than the MTU are announced.
pub const HEADROOM: usize = VIRTIO_NET_HDR_LEN;

/// The longest IP packet.
const LONGEST: usize = 65_535;
/// The least payload of a segment that Linux sends.
const LEAST_SEGMENT: usize = 48;

/// A TUN device of the namespace in which it was opened. Threads may share it.
pub struct TunDevice {
    tun: SyncDevice,
}

/// Packets that leave together by one device, to be joined.
#[derive(Default)]
pub struct Joining {
    table: GROTable,
    leaving: Vec<Vec<u8>>,
}

impl Joining {
    /// Keeps a packet, in a buffer with [`HEADROOM`], for [`TunDevice::write_joined`].
    pub fn keep(&mut self, bytes: Vec<u8>) {
        self.leaving.push(bytes);
    }
}

/// Splits what kernels hand over; one serves all devices.
pub struct Splitter {
    piece: Vec<u8>,
    packets: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    /// Length of a buffer.
    room: usize,
    /// Buffers that are free.
    pool: Vec<Vec<u8>>,
}

impl Splitter {
    /// One for packets of at most `mtu` bytes.
    pub fn new(mtu: u16) -> Self {
        let most = LONGEST / LEAST_SEGMENT;
        let room = HEADROOM + usize::from(mtu);
        Self {
            piece: vec![0; HEADROOM + LONGEST],
            packets: vec![vec![0; room]; most],
            sizes: vec![0; most],
            room,
            pool: vec![],
        }
    }

    /// Takes back a buffer that is free.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.pool.push(buffer);
    }

    /// Takes back several, and leaves none.
    pub fn recycle_all(&mut self, buffers: &mut Vec<Vec<u8>>) {
        self.pool.append(buffers);
    }
}

impl TunDevice {
    /// Makes one called `name`, for packets of at most `mtu` bytes.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn open(name: &str, mtu: u16) -> Result<Self, Error> {
        let open = || {
            let builder = DeviceBuilder::new().name(name).mtu(mtu).offload(true);
            let tun = builder.enable(false).build_sync()?;
            tun.set_nonblocking(true)?;
            Ok::<_, io::Error>(tun)
        };
        let tun = open().attempt("open a TUN device (/dev/net/tun)")?;
        Ok(Self { tun })
    }

    /// Gives the next piece from the kernel, packet by packet in buffers with [`HEADROOM`]; false if there is none now.
    ///
    /// # Errors
    /// The kernel's, if the device is gone.
    pub fn read(&self, splitter: &mut Splitter, mut take: impl FnMut(Vec<u8>)) -> io::Result<bool> {
        let Splitter { piece, packets, sizes, room, pool } = splitter;
        let count = match self.tun.recv_multiple(piece, packets, sizes, HEADROOM) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for (slot, &size) in packets.iter_mut().zip(sizes.iter()).take(count) {
            let mut fresh = pool.pop().unwrap_or_default();
            fresh.resize(*room, 0);
            let mut bytes = mem::replace(slot, fresh);
            bytes.truncate(HEADROOM + size);
            bytes[..HEADROOM].fill(0);
            take(bytes);
        }
        Ok(true)
    }

    /// Hands a packet to the kernel, from a buffer with [`HEADROOM`].
    ///
    /// # Errors
    /// The kernel's, if it does not take the packet.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.tun.send(bytes).map(|_| ())
    }

    /// Hands over what has been kept, joined as far as it goes together; the buffers, which are free then, go to `free`.
    ///
    /// # Errors
    /// The kernel's, if it does not take a packet.
    pub fn write_joined(&self, kept: &mut Joining, free: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let mut sent = Ok(0);
        // The library takes at most so many at once.
        for some in kept.leaving.chunks_mut(usize::from(u16::MAX)) {
            sent = sent.and(self.tun.send_multiple(&mut kept.table, some, HEADROOM));
        }
        free.append(&mut kept.leaving);
        sent.map(|_| ())
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as `self.tun` is.
        unsafe { BorrowedFd::borrow_raw(self.tun.as_raw_fd()) }
    }
}

impl std::fmt::Debug for TunDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TunDevice").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Joining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joining").field("leaving", &self.leaving.len()).finish_non_exhaustive()
    }
}
