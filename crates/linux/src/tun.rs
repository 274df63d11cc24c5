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

/// A TUN device of the namespace in which it was opened.
pub struct TunDevice {
    tun: SyncDevice,
    joining: Option<Box<Joining>>,
}

/// Packets that leave together, to be joined.
#[derive(Default)]
struct Joining {
    table: GROTable,
    leaving: Vec<Vec<u8>>,
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
}

impl TunDevice {
    /// Makes one called `name`, for packets of at most `mtu` bytes; it `joins` those that leave together, or does not.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn open(name: &str, mtu: u16, joins: bool) -> Result<Self, Error> {
        let open = || {
            let builder = DeviceBuilder::new().name(name).mtu(mtu).offload(true);
            let tun = builder.enable(false).build_sync()?;
            tun.set_nonblocking(true)?;
            Ok::<_, io::Error>(tun)
        };
        let tun = open().attempt("open a TUN device (/dev/net/tun)")?;
        Ok(Self { tun, joining: joins.then(Box::default) })
    }

    /// Gives the next piece from the kernel, packet by packet in buffers with [`HEADROOM`]; false if there is none now.
    ///
    /// # Errors
    /// The kernel's, if the device is gone.
    pub fn read(&mut self, splitter: &mut Splitter, mut take: impl FnMut(Vec<u8>)) -> io::Result<bool> {
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

    /// Hands a packet to the kernel, or keeps it for [`flush`](Self::flush) if such are joined. The buffer comes back when
    /// it is free.
    ///
    /// # Errors
    /// The kernel's, if it does not take the packet.
    pub fn write(&mut self, bytes: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        match &mut self.joining {
            None => self.tun.send(&bytes).map(|_| Some(bytes)),
            Some(joining) => {
                joining.leaving.push(bytes);
                Ok(None)
            }
        }
    }

    /// Hands over what has been kept.
    ///
    /// # Errors
    /// The kernel's, if it does not take a packet.
    pub fn flush(&mut self, splitter: &mut Splitter) -> io::Result<()> {
        let Some(joining) = &mut self.joining else { return Ok(()) };
        if joining.leaving.is_empty() {
            return Ok(());
        }
        let mut sent = Ok(0);
        // The library takes at most so many at once.
        for some in joining.leaving.chunks_mut(usize::from(u16::MAX)) {
            sent = sent.and(self.tun.send_multiple(&mut joining.table, some, HEADROOM));
        }
        joining.leaving.drain(..).for_each(|buffer| splitter.recycle(buffer));
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
        f.debug_struct("Device").field("joins", &self.joining.is_some()).finish_non_exhaustive()
    }
}
