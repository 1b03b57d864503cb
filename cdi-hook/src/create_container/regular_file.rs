//! Reading a regular file of a known greatest size.

use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use rustix::io::Errno;

/// Reads all of an open file.
///
/// `None`: it is no regular file, or has more than `limit` bytes.
pub(crate) fn read(file: &OwnedFd, limit: usize) -> Result<Option<Vec<u8>>, Errno> {
    let stat = rustix::fs::fstat(file)?;
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || size > limit {
        return Ok(None);
    }
    // One byte more than the size shows the end in the same call, and growth in the next.
    let mut bytes = vec![0_u8; size + 1];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..)
        && !rest.is_empty()
    {
        match rustix::io::read(file, rest) {
            Ok(0) => {
                bytes.truncate(filled);
                return Ok(Some(bytes));
            }
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    // It grew while it was read.
    Ok(None)
}
