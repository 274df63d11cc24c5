// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of the network namespace that the calling thread is in.

use std::fs;

use crate::error::{Attempt, Error};

/// Sets `net.KEY`, its parts separated by slashes, in the calling thread's network namespace.
///
/// # Errors
/// If there is no such setting, or the kernel does not take this value.
pub fn set(key: &str, value: &str) -> Result<(), Error> {
    fs::write(format!("/proc/sys/net/{key}"), value).attempt(&format!("set net.{} to {value}", key.replace('/', ".")))
}

/// The value of `net.KEY`, its parts separated by slashes, where it is to be read.
pub fn get(key: &str) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/sys/net/{key}")).ok()?.trim().to_owned())
}

/// Whether the kernel has IPv6.
pub fn has_v6() -> bool {
    fs::exists("/proc/sys/net/ipv6").unwrap_or(false)
}

/// The congestion controls that the kernel has.
///
/// # Errors
/// If it does not tell.
pub fn congestion_controls() -> Result<Vec<String>, Error> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = fs::read_to_string(path).attempt(&format!("read {path}"))?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_not_there_is_named() {
        let error = set("ipv4/no_such_setting", "1").unwrap_err().to_string();
        assert!(error.starts_with("cannot set net.ipv4.no_such_setting to 1: "), "{error}");
    }

    #[test]
    fn every_kernel_has_reno() {
        assert!(congestion_controls().unwrap().contains(&"reno".to_owned()));
    }
}
