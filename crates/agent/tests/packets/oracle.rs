// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may become of a packet, by what another parser than the programs' says it is.

use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{Icmpv4Type, Icmpv6Type, LaxNetSlice, LaxSlicedPacket, SlicedPacket, TransportSlice};
use lasthop_agent::mode::Mode;

/// Whether a frame is TCP, whole and well formed up to its ports, as etherparse reads it.
fn is_plain_tcp(frame: &[u8]) -> bool {
    let Ok(packet) = SlicedPacket::from_ethernet(frame) else { return false };
    matches!(packet.transport, Some(TransportSlice::Tcp(_))) && !packet.is_ip_payload_fragmented()
}

/// Whether it has a price in one of the two places, as etherparse reads it. What comes behind may be anything.
fn has_price(frame: &[u8]) -> bool {
    match LaxSlicedPacket::from_ethernet(frame).map(|packet| packet.net) {
        Ok(Some(LaxNetSlice::Ipv4(ip))) => ip.header().options().starts_with(&[158, 8, 0x4c, 0x50]),
        Ok(Some(LaxNetSlice::Ipv6(ip))) => ip.extensions().slice().get(1..4) == Some(&[0, 0x3e, 4]),
        _ => false,
    }
}

/// Whether it says that a packet was too big.
fn is_too_big(frame: &[u8]) -> bool {
    match LaxSlicedPacket::from_ethernet(frame).map(|packet| packet.transport) {
        Ok(Some(TransportSlice::Icmpv4(icmp))) => {
            matches!(
                icmp.icmp_type(),
                Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded { .. })
            )
        }
        Ok(Some(TransportSlice::Icmpv6(icmp))) => matches!(icmp.icmp_type(), Icmpv6Type::PacketTooBig { .. }),
        _ => false,
    }
}

/// Says what is wrong with what a program made of a frame; whether it changed it, if nothing is.
pub(crate) fn judge(mode: Mode, program: &str, frame: &[u8], left: &[u8]) -> Result<bool, &'static str> {
    let grown = left.len() as i64 - frame.len() as i64;
    if left == frame {
        return Ok(false);
    }
    // Prices are anybody's, and are ours to overwrite and to take out.
    let may_change = is_plain_tcp(frame)
        || (program == "to_client" && has_price(frame))
        || (mode == Mode::Ap && program == "to_server" && is_too_big(frame));
    match (mode, program) {
        _ if !may_change => Err("what is not plain TCP has changed"),
        (Mode::Proxy, "to_client") => Err("what goes to clients has changed"),
        (Mode::Ap, "to_client") if grown == 8 || (grown == 0 && has_price(frame)) => Ok(true),
        (Mode::Client, "to_client") if grown == -8 && has_price(frame) => Ok(true),
        (_, "to_server") if grown == 0 => {
            let changed = (0..frame.len()).filter(|&i| left[i] != frame[i]).count();
            // A window, the MSS of a SYN, or an MTU, and the checksum.
            if changed <= 4 { Ok(true) } else { Err("more than a field has changed") }
        }
        _ => Err("its length has changed"),
    }
}
