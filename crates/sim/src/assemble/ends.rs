// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a scenario's ends of TCP to those of the core.

use lasthop_core::tcp::{ReceiverConfig, Recovery, SenderConfig};
use lasthop_core::units::Bytes;

use super::HEADER;
use crate::scenario::{self, ReceiverSpec, ScenarioError, SenderSpec};

/// Payload of a flow's full segments.
pub(super) fn payload(flow: &scenario::FlowSpec) -> Result<Bytes, ScenarioError> {
    let keys = flow.sender.options().map(|options| options.own);
    if let Some(mss) = keys.and_then(|keys| keys.mss) {
        return Ok(mss);
    }
    let header = keys.and_then(|keys| keys.header).map_or(HEADER, Bytes::get);
    let (asking, _) = flow.sender.router_options();
    let headers = header + u64::from(flow.sender.timestamps_within() + asking);
    let packet = flow.packet;
    if packet.get() <= headers || packet.get() > 65_535 {
        let wanted = format!("{} B to 65535 B, {headers} of them headers", headers + 1);
        return Err(ScenarioError::refused("packet", format!("{packet:?}"), wanted));
    }
    Ok(Bytes::new(packet.get() - headers))
}

/// A sender with segments of `payload` bytes on a path of `queues` queues.
pub(super) fn sender(sender: &SenderSpec, payload: Bytes, queues: usize) -> SenderConfig {
    let keys = sender.options().map(|options| options.own);
    let defaults = SenderConfig::default();
    let (asking, _) = sender.router_options();
    sender.over(SenderConfig {
        mss: payload.get() as u32,
        header: keys.and_then(|keys| keys.header).map_or(defaults.header, |size| size.get() as u32) + asking,
        law: sender.law().unwrap_or_default(),
        queues: queues.min(usize::from(u8::MAX)) as u8,
        initial_ssthresh: keys.and_then(|keys| keys.initial_ssthresh).map(|amount| amount.in_bytes(payload)),
        window_limit: keys.and_then(|keys| keys.window_limit).map(|amount| amount.in_bytes(payload)),
        ..defaults
    })
}

/// The receiver of a connection with segments of `payload` bytes; it sends SACK blocks if the sender reads them.
pub(super) fn receiver(receiver: &ReceiverSpec, sender: &SenderSpec, payload: Bytes) -> ReceiverConfig {
    let defaults = ReceiverConfig::default();
    let rules = sender.over(SenderConfig::default());
    let (_, telling) = sender.router_options();
    receiver.over(ReceiverConfig {
        mss: payload.get() as u32,
        ack_size: defaults.ack_size + sender.timestamps_within() + telling,
        sack: rules.recovery == Recovery::Sack,
        dsack: rules.dsack,
        ..defaults
    })
}
