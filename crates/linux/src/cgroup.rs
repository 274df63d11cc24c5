// SPDX-License-Identifier: MIT OR Apache-2.0
//! What control groups withhold from this process.

use std::fs;
use std::path::{Path, PathBuf};

/// How long the quotas of this process's control groups have kept processes from the processor \[s\], the most of any of
/// them; none where no quota is reckoned.
pub fn throttled_s() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let (root, group) = cpu_group(&groups)?;
    let own = group.strip_prefix("/").unwrap_or(group);
    let above = own.ancestors().filter_map(|group| fs::read_to_string(root.join(group).join("cpu.stat")).ok());
    above.filter_map(|stat| throttled(&stat)).reduce(f64::max)
}

/// The folder of this process's control group in the second version's hierarchy, if that is mounted.
pub fn unified() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    unified_of(&groups, &mounts).filter(|folder| folder.is_dir())
}

fn unified_of(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        words.next().filter(|_| words.next() == Some("cgroup2"))
    })?;
    Some(Path::new(root).join(own))
}

/// Where the processor's control groups are mounted, and ours among them; of the second version, or of the first.
fn cpu_group(groups: &str) -> Option<(PathBuf, &Path)> {
    let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let first = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"));
    match first {
        Some((controllers, group)) => {
            let named = ["/sys/fs/cgroup/cpu", &format!("/sys/fs/cgroup/{controllers}")].map(PathBuf::from);
            Some((named.into_iter().find(|root| root.exists())?, Path::new(group)))
        }
        None => {
            let (_, group) = lines().find(|(controllers, _)| controllers.is_empty())?;
            Some((PathBuf::from("/sys/fs/cgroup"), Path::new(group)))
        }
    }
}

/// The time in a `cpu.stat` \[s\].
fn throttled(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", value) => Some(value.trim().parse::<f64>().ok()? / 1e6),
        ("throttled_time", value) => Some(value.trim().parse::<f64>().ok()? / 1e9),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_the_time() {
        assert_eq!(throttled("usage_usec 5\nnr_throttled 3\nthrottled_usec 1500000\n"), Some(1.5));
        assert_eq!(throttled("nr_periods 9\nnr_throttled 3\nthrottled_time 2500000000\n"), Some(2.5));
        assert_eq!(throttled("usage_usec 5\n"), None);
    }

    #[test]
    fn the_unified_hierarchy_is_where_it_is_mounted() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let found = |groups| unified_of(groups, mounts);
        assert_eq!(found("4:memory:/x\n0::/a/b\n"), Some("/sys/fs/cgroup/unified/a/b".into()));
        assert_eq!(found("4:memory:/x\n"), None);
        assert_eq!(unified_of("0::/\n", "proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn the_second_version_is_where_the_first_has_no_processor() {
        let (root, group) = cpu_group("1:name=systemd:/x\n0::/user.slice/a b\n").unwrap();
        assert_eq!((root.as_path(), group), (Path::new("/sys/fs/cgroup"), Path::new("/user.slice/a b")));
        assert_eq!(cpu_group("1:name=systemd:/x\n"), None);
    }
}
