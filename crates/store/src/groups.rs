use crate::StoreError;
use futures_util::future::BoxFuture;
use records::Group;

/// Named audiences.
pub trait Groups {
    /// Inserts or replaces. Resolves to the new version.
    fn put_group<'a>(&'a self, account: &'a str, group: Group) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Replaces one if its version is still `version`; resolves to the new version, or to nothing if it is
    /// another by now (or there is none).
    fn replace_group<'a>(
        &'a self,
        account: &'a str,
        group: Group,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<u64>, StoreError>>;
    /// One of them, with its version.
    fn group<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(Group, u64)>, StoreError>>;
    /// In key order.
    fn groups_after<'a>(
        &'a self,
        account: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Group>, StoreError>>;
    /// Removes one. False if there was none.
    fn delete_group<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Is there such a group, defined or only named by its members?
    fn group_exists<'a>(&'a self, account: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
