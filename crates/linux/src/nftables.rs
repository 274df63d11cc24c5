// SPDX-License-Identifier: MIT OR Apache-2.0
//! Masquerading: what comes from a range of addresses goes on under this host's own.
//!
//! Messages of nf_tables (linux/netfilter/nf_tables.h), in one batch that is taken as a whole or not at all.

use std::io;
use std::net::IpAddr;

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};

const NLMSG_ERROR: u16 = 2;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_DELTABLE: u16 = 2;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const NLA_F_NESTED: u16 = 0x8000;
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;
const NF_INET_POST_ROUTING: u32 = 4;
/// Where sources are rewritten (NF_IP_PRI_NAT_SRC).
const PRIORITY: u32 = 100;
const NFT_REG_1: u32 = 1;
const NFT_PAYLOAD_NETWORK_HEADER: u32 = 1;
const NFT_CMP_EQ: u32 = 0;
const CHAIN: &str = "postrouting";

/// A table of nf_tables in the namespace in which it was made; it goes with this, if this is dropped in the same one.
#[derive(Debug)]
pub struct Masquerade {
    table: String,
    family: u8,
}

impl Masquerade {
    /// Rewrites the source of what leaves this host and comes from the network of `address`, which are the first 16 bits of
    /// IPv4 and the first 64 of IPv6; by a table of this name, which takes the place of one that an earlier run has left.
    ///
    /// # Errors
    /// The kernel's, if it has no nf_tables or does not allow it.
    pub fn new(table: &str, address: IpAddr) -> io::Result<Self> {
        // Where in the header the source stands.
        let (family, offset, network) = match address {
            IpAddr::V4(v4) => (NFPROTO_IPV4, 12, v4.octets()[..2].to_vec()),
            IpAddr::V6(v6) => (NFPROTO_IPV6, 8, v6.octets()[..8].to_vec()),
        };
        let message = |kind, flags, attributes: &[u8]| message((kind, family), flags, attributes);
        // One that is not there cannot be removed, which is as well.
        let _ = send(&[message(NFT_MSG_DELTABLE, 0, &string(1, table))]);
        let hook = nested(4, &[number(1, NF_INET_POST_ROUTING), number(2, PRIORITY)].concat());
        let chain = [string(1, table), string(3, CHAIN), hook, string(7, "nat")].concat();
        let length = network.len() as u32;
        let place = [number(3, offset), number(4, length)].concat();
        let load = [number(1, NFT_REG_1), number(2, NFT_PAYLOAD_NETWORK_HEADER), place].concat();
        let compare = [number(1, NFT_REG_1), number(2, NFT_CMP_EQ), nested(3, &attribute(1, &network))].concat();
        let expressions = [expression("payload", &load), expression("cmp", &compare), expression("masq", &[])].concat();
        let rule = [string(1, table), string(2, CHAIN), nested(4, &expressions)].concat();
        send(&[
            message(NFT_MSG_NEWTABLE, NLM_F_CREATE, &string(1, table)),
            message(NFT_MSG_NEWCHAIN, NLM_F_CREATE, &chain),
            message(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, &rule),
        ])?;
        Ok(Self { table: table.to_owned(), family })
    }
}

impl Drop for Masquerade {
    fn drop(&mut self) {
        // What stays concerns addresses that nobody has; the next one of this name removes it.
        let _ = send(&[message((NFT_MSG_DELTABLE, self.family), 0, &string(1, &self.table))]);
    }
}

/// A message to nf_tables: its kind and family, flags beyond the usual, and its attributes.
fn message((kind, family): (u16, u8), flags: u16, attributes: &[u8]) -> (u16, u16, Vec<u8>) {
    let body = [&[family, 0, 0, 0], attributes].concat();
    (NFNL_SUBSYS_NFTABLES << 8 | kind, NLM_F_REQUEST | NLM_F_ACK | flags, body)
}

/// Sends messages as one batch and waits for the answer to each.
fn send(messages: &[(u16, u16, Vec<u8>)]) -> io::Result<()> {
    let frame = [&[0, 0][..], &NFNL_SUBSYS_NFTABLES.to_be_bytes()].concat();
    let begin = (NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, frame.clone());
    let end = (NFNL_MSG_BATCH_END, NLM_F_REQUEST, frame);
    let mut batch = vec![];
    for (number, (kind, flags, body)) in std::iter::once(&begin).chain(messages).chain([&end]).enumerate() {
        let length = 16 + body.len() as u32;
        batch.extend(length.to_ne_bytes());
        batch.extend(kind.to_ne_bytes());
        batch.extend(flags.to_ne_bytes());
        batch.extend((number as u32).to_ne_bytes());
        batch.extend([0; 4]);
        batch.extend(body);
        batch.resize(batch.len().next_multiple_of(4), 0);
    }
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&batch, 0)?;
    let mut answered = 0;
    while answered < messages.len() {
        let (answers, _) = socket.recv_from_full()?;
        for code in codes(&answers) {
            if code != 0 {
                return Err(io::Error::from_raw_os_error(-code));
            }
            answered += 1;
        }
    }
    Ok(())
}

/// The codes of the answers in a datagram from the kernel, which are not aligned to be read as messages of routing.
fn codes(mut answers: &[u8]) -> Vec<i32> {
    let mut codes = vec![];
    while let Some((header, _)) = answers.split_at_checked(20) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        if u16::from_ne_bytes([header[4], header[5]]) == NLMSG_ERROR {
            codes.push(i32::from_ne_bytes([header[16], header[17], header[18], header[19]]));
        }
        answers = answers.get(length.max(16).next_multiple_of(4)..).unwrap_or_default();
    }
    codes
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len() as u16;
    let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn nested(kind: u16, attributes: &[u8]) -> Vec<u8> {
    attribute(kind | NLA_F_NESTED, attributes)
}

fn string(kind: u16, text: &str) -> Vec<u8> {
    attribute(kind, &[text.as_bytes(), &[0]].concat())
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_be_bytes())
}

fn expression(name: &str, data: &[u8]) -> Vec<u8> {
    nested(1, &[string(1, name), nested(2, data)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_say_their_length_without() {
        assert_eq!(string(3, "ab"), [7, 0, 3, 0, b'a', b'b', 0, 0]);
        assert_eq!(number(1, 4), [8, 0, 1, 0, 0, 0, 0, 4]);
    }

    #[test]
    fn every_answer_of_a_datagram_is_read() {
        let answer =
            |code: i32| [&20u32.to_ne_bytes()[..], &NLMSG_ERROR.to_ne_bytes(), &[0; 10], &code.to_ne_bytes()].concat();
        assert_eq!(codes(&[answer(0), answer(-17)].concat()), [0, -17]);
        assert_eq!(codes(&[1, 2, 3]), Vec::<i32>::new());
    }
}
