// SPDX-License-Identifier: MIT OR Apache-2.0
//! What control groups withhold from this process, and one of its own for those of its threads that are to be told apart.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Attempt, Error};

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

/// What a group of ours is called, before the number of its process.
const OWN: &str = "lasthop-";

/// A control group below this process's, for some of its threads: what they open belongs to it. Gone with this, once they are.
///
/// It is threaded ("Control Group v2", Threads): the process itself stays where it is.
#[derive(Debug)]
pub struct OwnGroup {
    above: PathBuf,
    folder: PathBuf,
}

impl OwnGroup {
    /// One of this name below that of this process; those that killed processes have left are taken away.
    ///
    /// # Errors
    /// If cgroup2 is not mounted, or lets us make none.
    pub fn make(name: &str) -> Result<Self, Error> {
        let above = unified().ok_or_else(|| Error::new("wanted cgroup2 to be mounted"))?;
        sweep(&above);
        let folder = above.join(format!("{OWN}{}-{name}", std::process::id()));
        fs::create_dir(&folder).attempt(&format!("make {}", folder.display()))?;
        let own = Self { above, folder };
        let place = own.folder.join("cgroup.type");
        fs::write(&place, "threaded").attempt(&format!("write {}", place.display()))?;
        // Whether threads can join is known only when one has.
        drop(own.enter()?);
        Ok(own)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts the calling thread, and what it starts, into the group until what this gives is dropped.
    ///
    /// # Errors
    /// If the system does not let it.
    pub fn enter(&self) -> Result<Inside<'_>, Error> {
        join(&self.folder)?;
        Ok(Inside(self))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        // What stays behind, the next one takes away.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The calling thread is in a group.
#[derive(Debug)]
pub struct Inside<'a>(&'a OwnGroup);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let _ = join(&self.0.above);
    }
}

/// Puts the calling thread into a group.
fn join(folder: &Path) -> Result<(), Error> {
    let place = folder.join("cgroup.threads");
    fs::write(&place, "0").attempt(&format!("write {}", place.display()))
}

/// Takes away the groups of processes that are there no more.
fn sweep(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(OWN)?.split_once('-')?.0.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new("/proc").join(number.to_string()).exists()) {
            // One that has threads stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
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
    fn a_thread_joins_a_group_and_leaves_it() {
        let Ok(own) = OwnGroup::make("test") else {
            eprintln!("SKIPPED: cgroup2 lets us make no group");
            return;
        };
        let of_thread = || fs::read_to_string("/proc/thread-self/cgroup").unwrap();
        let name = own.folder().file_name().unwrap().to_str().unwrap().to_owned();
        let before = of_thread();
        let inside = own.enter().unwrap();
        assert!(of_thread().contains(&name), "{}", of_thread());
        assert!(std::thread::spawn(of_thread).join().unwrap().contains(&name));
        drop(inside);
        assert_eq!(of_thread(), before);
        let left = own.above.join(format!("{OWN}4194305-left"));
        fs::create_dir(&left).unwrap();
        let (folder, _other) = (own.folder().to_owned(), OwnGroup::make("other").unwrap());
        assert!(!left.exists() && folder.exists(), "only that of a process that is gone is taken away");
        drop(own);
        assert!(!folder.exists());
    }

    #[test]
    fn the_second_version_is_where_the_first_has_no_processor() {
        let (root, group) = cpu_group("1:name=systemd:/x\n0::/user.slice/a b\n").unwrap();
        assert_eq!((root.as_path(), group), (Path::new("/sys/fs/cgroup"), Path::new("/user.slice/a b")));
        assert_eq!(cpu_group("1:name=systemd:/x\n"), None);
    }
}
