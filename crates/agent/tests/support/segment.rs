// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments of one connection, as frames.

pub(crate) const CLIENT: [u8; 4] = [10, 1, 0, 2];
pub(crate) const SERVER: [u8; 4] = [10, 2, 0, 2];
pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;

pub(crate) fn sum(mut total: u32, bytes: &[u8]) -> u32 {
    for pair in bytes.chunks(2) {
        total += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    total
}

pub(crate) fn folded(mut total: u32) -> u16 {
    while total >> 16 > 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// The sum over a TCP segment and its pseudo-header: 0 where the checksum is right.
pub(crate) fn unsummed(frame: &[u8]) -> u16 {
    let tcp = &frame[34..];
    folded(sum(sum(6 + tcp.len() as u32, &frame[26..34]), tcp))
}

pub(crate) struct Segment<'a> {
    pub(crate) from: [u8; 4],
    pub(crate) to: [u8; 4],
    pub(crate) ports: (u16, u16),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) options: &'a [u8],
    pub(crate) payload: usize,
}

impl Segment<'_> {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let length = 40 + self.options.len() + self.payload;
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        frame.extend((length as u16).to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(self.from);
        frame.extend(self.to);
        let header = folded(sum(0, &frame[14..34]));
        frame[24..26].copy_from_slice(&header.to_be_bytes());
        frame.extend(self.ports.0.to_be_bytes());
        frame.extend(self.ports.1.to_be_bytes());
        frame.extend(self.seq.to_be_bytes());
        frame.extend(self.ack.to_be_bytes());
        frame.extend([((20 + self.options.len()) as u8) << 2, self.flags]);
        frame.extend(self.window.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(self.options);
        frame.extend(vec![7; self.payload]);
        let sum = unsummed(&frame);
        frame[50..52].copy_from_slice(&sum.to_be_bytes());
        frame
    }
}

pub(crate) const OPTIONS: [u8; 8] = [2, 4, 0x05, 0xb4, 1, 3, 3, 7];

pub(crate) fn from_client(seq: u32, ack: u32, flags: u8, window: u16, options: &[u8]) -> Segment<'_> {
    Segment { from: CLIENT, to: SERVER, ports: (4000, 80), seq, ack, flags, window, options, payload: 0 }
}

pub(crate) fn from_server(seq: u32, ack: u32, flags: u8, options: &[u8], payload: usize) -> Segment<'_> {
    Segment { from: SERVER, to: CLIENT, ports: (80, 4000), seq, ack, flags, window: 500, options, payload }
}
