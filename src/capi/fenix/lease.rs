//! Values that all threads know and one at a time uses.
//!
//! A value is taken out while it is used. The lock is held only for the lookup: never while ranks communicate, and never
//! while a value is dropped. Nothing runs at the end of the process, since a static is not dropped.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values by their keys; `None` while one is in use.
pub(in crate::capi) struct Leases<K, V>(Mutex<BTreeMap<K, Option<Box<V>>>>);

// SAFETY: only the thread that holds the lease touches a value. Besides memory of their own, values hold handles of MPI and
// addresses of the user, which mean the same in every thread.
unsafe impl<K: Send, V> Sync for Leases<K, V> {}

/// Why there is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capi) enum Unavailable {
    Absent,
    InUse,
}

/// A value in use. Dropping the lease puts it back, or removes its key if the value is gone.
pub(in crate::capi) struct Lease<K: Ord + Clone + 'static, V: 'static> {
    leases: &'static Leases<K, V>,
    key: K,
    pub(in crate::capi) value: Option<Box<V>>,
}

impl<K: Ord + Clone, V> Leases<K, V> {
    pub(in crate::capi) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<K, Option<Box<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::capi) fn contains(&self, key: &K) -> bool {
        self.locked().contains_key(key)
    }

    pub(in crate::capi) fn keys(&self) -> Vec<K> {
        self.locked().keys().cloned().collect()
    }

    pub(in crate::capi) fn lease(&'static self, key: K) -> Result<Lease<K, V>, Unavailable> {
        match self.lease_or_reserve(key)? {
            Lease { value: None, .. } => Err(Unavailable::Absent),
            lease => Ok(lease),
        }
    }

    /// Reserves a new key for this thread, which fills in the value.
    pub(in crate::capi) fn lease_or_reserve(
        &'static self,
        key: K,
    ) -> Result<Lease<K, V>, Unavailable> {
        let mut values = self.locked();
        let value = match values.get_mut(&key) {
            Some(value) => Some(value.take().ok_or(Unavailable::InUse)?),
            None => {
                values.insert(key.clone(), None);
                None
            }
        };
        drop(values);
        Ok(Lease {
            leases: self,
            key,
            value,
        })
    }
}

impl<K: Ord + Clone, V> Drop for Lease<K, V> {
    fn drop(&mut self) {
        let mut values = self.leases.locked();
        match self.value.take() {
            Some(value) => values.insert(self.key.clone(), Some(value)),
            None => values.remove(&self.key),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_value_is_used_by_one_at_a_time_in_any_thread() {
        static VALUES: Leases<i32, Vec<i32>> = Leases::new();
        assert_eq!(VALUES.lease(1).err(), Some(Unavailable::Absent));
        let mut first = VALUES.lease_or_reserve(1).unwrap();
        assert_eq!(VALUES.lease(1).err(), Some(Unavailable::InUse));
        first.value = Some(Box::new(vec![7]));
        drop(first);
        let other = thread::spawn(|| {
            let mut lease = VALUES.lease(1).unwrap();
            lease.value.as_mut().unwrap().push(8);
        });
        other.join().unwrap();
        let mut last = VALUES.lease(1).unwrap();
        assert_eq!(last.value.take(), Some(Box::new(vec![7, 8])));
        drop(last);
        assert!(!VALUES.contains(&1) && VALUES.keys().is_empty());
    }

    #[test]
    fn a_reserved_key_without_a_value_is_free_again() {
        static VALUES: Leases<(), i32> = Leases::new();
        drop(VALUES.lease_or_reserve(()).unwrap());
        assert_eq!(VALUES.lease(()).err(), Some(Unavailable::Absent));
    }
}
