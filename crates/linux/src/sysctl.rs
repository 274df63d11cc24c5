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

/// All processors that this process may use, as the kernel writes a mask; none if there is only one.
pub fn processors() -> Option<String> {
    let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).ok()?;
    let is_set = |processor| allowed.is_set(processor).unwrap_or(false);
    let words = (0..nix::sched::CpuSet::count().div_ceil(32))
        .map(|word| (0..32).filter(|bit| is_set(32 * word + bit)).fold(0u32, |bits, bit| bits | 1 << bit));
    let words: Vec<u32> = words.collect();
    let several = words.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
    several.then(|| mask(&words))
}

/// Words of 32 bits, the lowest first, as the kernel writes a mask: the highest first, in hexadecimal.
fn mask(words: &[u32]) -> String {
    let highest = words.iter().rposition(|word| *word != 0).unwrap_or(0);
    let words: Vec<String> = words[..=highest].iter().rev().map(|word| format!("{word:x}")).collect();
    words.iter().enumerate().fold(String::new(), |text, (i, word)| match i {
        0 => word.clone(),
        _ => format!("{text},{word:0>8}"),
    })
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
    fn a_mask_has_the_highest_processors_first() {
        assert_eq!(mask(&[3, 0, 0]), "3");
        assert_eq!(mask(&[0x8000_0001, 0xf]), "f,80000001");
        assert_eq!(mask(&[1, 1]), "1,00000001");
    }

    #[test]
    fn every_kernel_has_reno() {
        assert!(congestion_controls().unwrap().contains(&"reno".to_owned()));
    }
}
