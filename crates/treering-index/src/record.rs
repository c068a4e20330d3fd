//! Encodes and decodes the cache's record of one file. Decoding trusts nothing: invalid bytes are
//! not a record.

use std::path::{Path, PathBuf};
use treering::SessionId;
use treering::catalog::SessionInfo;

/// A cached result of reading a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CachedFile {
    /// The file is a session with this summary.
    Session(Box<SessionInfo>),
    /// The file is not a session, for this reason.
    NoSession(String),
}

impl CachedFile {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let info = match self {
            CachedFile::NoSession(reason) => {
                out.push(0);
                return put_bytes(out, reason.as_bytes());
            }
            CachedFile::Session(info) => info,
        };
        out.push(1);
        put_bytes(out, info.agent.name().as_bytes());
        for text in [info.id.as_str(), &info.cwd, &info.first_message] {
            put_bytes(out, text.as_bytes());
        }
        for text in [&info.name, &info.parent_session] {
            put_option(out, text.as_ref(), |out, text| put_bytes(out, text.as_bytes()));
        }
        put_u64(out, info.modified.cast_unsigned());
        let SessionInfo { message_count, entry_count, branch_count, .. } = **info;
        let SessionInfo { compaction_count, finding_count, .. } = **info;
        let counts = [message_count, entry_count, branch_count, compaction_count, finding_count];
        counts.into_iter().for_each(|count| put_u64(out, count as u64));
        put_u64(out, info.size);
        put_option(out, info.created, |out, time| put_u64(out, time.cast_unsigned()));
        put_option(out, info.tokens, put_u64);
        put_option(out, info.cost, |out, cost| put_u64(out, cost.to_bits()));
        put_option(out, info.is_partial.then_some(()), |_, ()| {});
    }

    pub(crate) fn read(bytes: &[u8], path: &Path) -> Option<Self> {
        let mut reader = ValueReader::new(bytes);
        let known = match reader.byte()? {
            0 => CachedFile::NoSession(reader.text()?),
            1 => CachedFile::Session(Box::new(reader.info(path)?)),
            _ => return None,
        };
        reader.is_empty().then_some(known)
    }
}

pub(crate) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends bytes with their length. Nothing here is too long for a `u32`; if it were, decoding
/// would fail.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_option<T>(out: &mut Vec<u8>, value: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Reads values from bytes, one after the other.
#[derive(Debug)]
pub(crate) struct ValueReader<'a>(&'a [u8]);

impl<'a> ValueReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        ValueReader(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of bytes left.
    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Option<usize> {
        self.u64()?.try_into().ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn text(&mut self) -> Option<String> {
        std::str::from_utf8(self.bytes()?).ok().map(str::to_owned)
    }

    /// Reads an optional value; the outer `None` means that the bytes are invalid.
    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    fn info(&mut self, path: &Path) -> Option<SessionInfo> {
        let agent = std::str::from_utf8(self.bytes()?).ok()?.parse().ok()?;
        let mut info = SessionInfo::new(path, agent, SessionId::of_file(self.text()?));
        info.cwd = self.text()?;
        info.first_message = self.text()?;
        info.name = self.option(Self::text)?;
        info.parent_session = self.option(Self::text)?;
        info.modified = self.u64()?.cast_signed();
        info.message_count = self.count()?;
        info.entry_count = self.count()?;
        info.branch_count = self.count()?;
        info.compaction_count = self.count()?;
        info.finding_count = self.count()?;
        info.size = self.u64()?;
        info.created = self.option(Self::u64)?.map(u64::cast_signed);
        info.tokens = self.option(Self::u64)?;
        info.cost = self.option(Self::u64)?.map(f64::from_bits);
        info.is_partial = self.option(|_| Some(()))?.is_some();
        Some(info)
    }
}

#[cfg(unix)]
pub(crate) fn path_bytes(path: &Path) -> Option<&[u8]> {
    Some(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

#[cfg(unix)]
pub(crate) fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    Some(path.into())
}

/// Returns a path as text; a path that is not UTF-8 is not cached.
#[cfg(not(unix))]
pub(crate) fn path_bytes(path: &Path) -> Option<&[u8]> {
    path.to_str().map(str::as_bytes)
}

#[cfg(not(unix))]
pub(crate) fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::Dialect;

    fn info() -> SessionInfo {
        let id = SessionId::of_file("id");
        let mut info = SessionInfo::new("/p/s.jsonl", Dialect::ClaudeCode, id);
        info.cwd = "/p".into();
        info.name = Some("Tea".into());
        info.created = Some(-1);
        info.modified = i64::MAX;
        (info.message_count, info.entry_count, info.branch_count) = (3, 4, 2);
        (info.compaction_count, info.finding_count) = (5, 1);
        (info.tokens, info.cost) = (Some(u64::MAX), Some(0.25));
        info.first_message = "héllo\n".into();
        info.size = 77;
        info
    }

    fn read(bytes: &[u8]) -> Option<CachedFile> {
        CachedFile::read(bytes, Path::new("/p/s.jsonl"))
    }

    #[test]
    fn reads_what_it_wrote_and_nothing_else() {
        let (some, mut bare) = (info(), info());
        (bare.name, bare.created, bare.tokens, bare.cost) = (None, None, None, None);
        bare.parent_session = Some("/elsewhere".into());
        bare.is_partial = true;
        let all = [some, bare].map(|info| CachedFile::Session(Box::new(info)));
        for known in all.into_iter().chain([CachedFile::NoSession("it is empty".into())]) {
            let mut bytes = Vec::new();
            known.write(&mut bytes);
            assert_eq!(read(&bytes).as_ref(), Some(&known));
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), None, "cut at {end}");
            }
            bytes.push(0);
            assert_eq!(read(&bytes), None, "something follows");
        }
    }
}
