// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device between a kernel and the network.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use tun_rs::{DeviceBuilder, GROTable, IDEAL_BATCH_SIZE, SyncDevice, VIRTIO_NET_HDR_LEN};

use crate::error::{Attempt, Error};

/// The name of the device in every namespace.
pub(crate) const NAME: &str = "lasthop";

/// The longest IP packet.
const LONGEST: usize = 65_535;

/// A TUN device of the namespace in which it was opened.
pub(crate) struct Device {
    tun: SyncDevice,
    mtu: usize,
    offload: Option<Box<Offload>>,
}

/// What it takes to exchange packets larger than the MTU with the kernel: they come in and are split, and those of one
/// flow that leave together are joined.
struct Offload {
    original: Vec<u8>,
    parts: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    table: GROTable,
    leaving: Vec<Vec<u8>>,
}

impl Device {
    /// Opens it, with room for `queue` packets that the kernel hands over.
    pub(crate) fn open(mtu: u16, queue: u32, offload: bool) -> Result<Self, Error> {
        let open = || {
            let builder = DeviceBuilder::new().name(NAME).mtu(mtu).tx_queue_len(queue).offload(offload);
            let tun = builder.enable(false).build_sync()?;
            tun.set_nonblocking(true)?;
            Ok::<_, io::Error>(tun)
        };
        let tun = open().attempt("open a TUN device (/dev/net/tun)")?;
        let offload = offload.then(|| {
            Box::new(Offload {
                original: vec![0; VIRTIO_NET_HDR_LEN + LONGEST],
                parts: vec![vec![0; LONGEST]; IDEAL_BATCH_SIZE],
                sizes: vec![0; IDEAL_BATCH_SIZE],
                table: GROTable::default(),
                leaving: vec![],
            })
        });
        Ok(Self { tun, mtu: usize::from(mtu), offload })
    }

    /// Hands over the next packets from the kernel, each at most of the MTU, in buffers from `buffer`; none if there is
    /// nothing now.
    pub(crate) fn read(
        &mut self,
        mut buffer: impl FnMut() -> Vec<u8>,
        mut take: impl FnMut(Vec<u8>),
    ) -> io::Result<Option<()>> {
        let Some(offload) = &mut self.offload else {
            let mut bytes = buffer();
            bytes.resize(self.mtu, 0);
            return unless_blocked(self.tun.recv(&mut bytes)).map(|length| {
                length.map(|length| {
                    bytes.truncate(length);
                    take(bytes);
                })
            });
        };
        let Offload { original, parts, sizes, .. } = &mut **offload;
        let Some(count) = unless_blocked(self.tun.recv_multiple(original, parts, sizes, 0))? else { return Ok(None) };
        for (part, &size) in parts.iter().zip(sizes.iter()).take(count) {
            let mut bytes = buffer();
            bytes.clear();
            bytes.extend_from_slice(&part[..size]);
            take(bytes);
        }
        Ok(Some(()))
    }

    /// Hands a packet to the kernel, or keeps it for [`flush`](Self::flush) if such may be joined. The buffer comes back
    /// when it is free.
    pub(crate) fn write(&mut self, bytes: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        match &mut self.offload {
            None => self.tun.send(&bytes).map(|_| Some(bytes)),
            Some(offload) => {
                let mut framed = Vec::with_capacity(VIRTIO_NET_HDR_LEN + LONGEST);
                framed.resize(VIRTIO_NET_HDR_LEN, 0);
                framed.extend_from_slice(&bytes);
                offload.leaving.push(framed);
                Ok(Some(bytes))
            }
        }
    }

    /// Hands over what has been kept.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(offload) = &mut self.offload
            && !offload.leaving.is_empty()
        {
            let Offload { table, leaving, .. } = &mut **offload;
            let sent = self.tun.send_multiple(table, leaving, VIRTIO_NET_HDR_LEN);
            leaving.clear();
            sent?;
        }
        Ok(())
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as `self.tun` is.
        unsafe { BorrowedFd::borrow_raw(self.tun.as_raw_fd()) }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("mtu", &self.mtu).field("offload", &self.offload.is_some()).finish()
    }
}

fn unless_blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
