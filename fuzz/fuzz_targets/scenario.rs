// SPDX-License-Identifier: MIT OR Apache-2.0
//! libFuzzer's way into [`lasthop_fuzz::scenario`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lasthop_fuzz::scenario(data));
