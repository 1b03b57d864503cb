//! The `ResourceSlice`s that are known, by pool.

use std::collections::{BTreeMap, BTreeSet};

use super::objects::{AllocationResult, ResourceSlice};
use crate::read::described::Attributes;

/// The `ResourceSlice`s that are known: of a node, of a driver or of a whole cluster.
#[derive(Debug, Clone, Default)]
pub struct Slices {
    by_name: BTreeMap<String, ResourceSlice>,
    /// (Driver, pool) → the names of its slices.
    pools: BTreeMap<(String, String), BTreeSet<String>>,
}

/// What slices say of a device.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup<'a> {
    /// The driver's attributes.
    Found(&'a Attributes),
    /// No slice of the pool is known.
    NoPool,
    /// The pool's newest generation does not have it.
    NotInPool {
        generation: i64,
        /// How many of its slices are known, and how many there are.
        slices: (usize, i64),
    },
}

impl Slices {
    /// Takes a slice in place of what was known of its name. Whether that changes anything.
    pub fn put(&mut self, slice: ResourceSlice) -> bool {
        if self.by_name.get(&slice.name) == Some(&slice) {
            return false;
        }
        self.remove(&slice.name);
        self.pools
            .entry(pool(&slice))
            .or_default()
            .insert(slice.name.clone());
        self.by_name.insert(slice.name.clone(), slice);
        true
    }

    /// Forgets a slice. Whether it was known.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(slice) = self.by_name.remove(name) else {
            return false;
        };
        let pool = pool(&slice);
        if let Some(names) = self.pools.get_mut(&pool) {
            names.remove(name);
            if names.is_empty() {
                self.pools.remove(&pool);
            }
        }
        true
    }

    /// Forgets the slices whose names `keep` does not want. Whether any was.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) -> bool {
        let names: Vec<String> = self.by_name.keys().cloned().collect();
        let mut changed = false;
        for name in names.iter().filter(|name| !keep(name)) {
            changed |= self.remove(name);
        }
        changed
    }

    /// What the newest generation of the device's pool says of it.
    pub(super) fn find(&self, result: &AllocationResult) -> Lookup<'_> {
        static NOTHING: Attributes = Attributes::new();
        let pool = (result.driver.clone(), result.pool.clone());
        let slices = || {
            let names = self.pools.get(&pool).into_iter().flatten();
            names
                .filter_map(|name| self.by_name.get(name))
                .map(|slice| &slice.spec)
        };
        let Some(generation) = slices().map(|spec| spec.pool.generation).max() else {
            return Lookup::NoPool;
        };
        let newest = || slices().filter(move |spec| spec.pool.generation == generation);
        let found = newest()
            .flat_map(|spec| spec.devices.iter().flatten())
            .find(|device| device.name == result.device);
        match found {
            Some(device) => Lookup::Found(device.attributes.as_ref().unwrap_or(&NOTHING)),
            None => Lookup::NotInPool {
                generation,
                slices: (
                    newest().count(),
                    newest()
                        .map(|spec| spec.pool.resource_slice_count)
                        .max()
                        .unwrap_or_default(),
                ),
            },
        }
    }
}

fn pool(slice: &ResourceSlice) -> (String, String) {
    (slice.spec.driver.clone(), slice.spec.pool.name.clone())
}

#[cfg(test)]
mod tests {
    use super::super::read_slices;
    use super::*;

    fn slice(name: &str, pool: (&str, i64, i64), devices: &[&str]) -> ResourceSlice {
        let (pool, generation, count) = pool;
        let devices: Vec<String> = devices
            .iter()
            .map(|device| {
                format!(r#"{{"name":"{device}","attributes":{{"of":{{"string":"{name}"}}}}}}"#)
            })
            .collect();
        let text = format!(
            r#"{{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"{name}"}},"spec":{{"driver":"d",
            "pool":{{"name":"{pool}","generation":{generation},"resourceSliceCount":{count}}},"devices":[{}]}}}}"#,
            devices.join(",")
        );
        read_slices("s", text.as_bytes()).unwrap().remove(0)
    }

    fn found(slices: &Slices, device: &str) -> Result<String, String> {
        let result = AllocationResult {
            driver: "d".into(),
            pool: "p".into(),
            device: device.into(),
            ..AllocationResult::default()
        };
        match slices.find(&result) {
            Lookup::Found(attributes) => Ok(format!("{:?}", attributes["of"])),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn the_newest_generation_of_the_same_pool_counts() {
        let mut slices = Slices::default();
        assert_eq!(found(&slices, "x"), Err("NoPool".into()));
        slices.put(slice("elsewhere", ("q", 9, 1), &["x"]));
        assert_eq!(found(&slices, "x"), Err("NoPool".into()));
        slices.put(slice("old", ("p", 1, 1), &["x", "gone"]));
        assert!(found(&slices, "x").unwrap().contains("old"));
        // One of two slices of the next generation is known.
        slices.put(slice("new-a", ("p", 2, 2), &["y"]));
        let missing = "NotInPool { generation: 2, slices: (1, 2) }";
        assert_eq!(found(&slices, "x"), Err(missing.into()));
        slices.put(slice("new-b", ("p", 2, 2), &["x"]));
        assert!(found(&slices, "x").unwrap().contains("new-b"));
        let gone = "NotInPool { generation: 2, slices: (2, 2) }";
        assert_eq!(found(&slices, "gone"), Err(gone.into()));
    }

    #[test]
    fn a_slice_may_change_its_pool_and_go() {
        let mut slices = Slices::default();
        assert!(slices.put(slice("s", ("p", 1, 1), &["x"])));
        assert!(!slices.put(slice("s", ("p", 1, 1), &["x"])));
        assert!(slices.put(slice("s", ("q", 1, 1), &["x"])));
        assert_eq!(found(&slices, "x"), Err("NoPool".into()));
        assert!(slices.put(slice("s", ("p", 1, 1), &["x"])));
        assert!(slices.put(slice("t", ("p", 0, 1), &["x"])));
        assert!(slices.retain(|name| name == "t"));
        assert!(found(&slices, "x").unwrap().contains('t'));
        assert!(slices.remove("t"));
        assert!(!slices.remove("t"));
        assert!(slices.pools.is_empty());
    }
}
