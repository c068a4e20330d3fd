//! Compresses and decompresses files without loss: the result is read again before it counts.
//!
//! The new name appears only when the file is complete, and the old file is removed only after
//! that, so that one of the two is complete at any time. The new file keeps the time and the
//! permissions of the old one.

use ruzstd::encoding::{CompressionLevel, FrameCompressor};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;
use treering::internal::fs::{self, Access, File, NewFile};
use treering::storage::UnpackLimits;

/// Is called with the number of bytes that were read, and the number of all bytes.
type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Compresses `file` to `target`. The source is not removed.
pub(super) fn pack(file: &File, target: &Path, progress: Progress<'_>) -> io::Result<()> {
    make(file, target, |new| {
        compress(ProgressReader::new(rewound(file)?, progress)?, new)?;
        let mut packed = BufReader::new(rewound(new)?);
        let mut same =
            CompareWriter::new(BufReader::new(ProgressReader::new(rewound(file)?, progress)?));
        // This fails for a file that could not be decompressed later.
        treering::storage::decompress(&mut packed, &mut same, UnpackLimits::default())?;
        same.finish()
    })
}

/// Decompresses `file` to `target`, within limits. The source is not removed.
pub(super) fn unpack(
    file: &File,
    target: &Path,
    limits: UnpackLimits,
    progress: Progress<'_>,
) -> io::Result<()> {
    make(file, target, |new| {
        let mut out = BufWriter::with_capacity(1 << 20, new);
        let packed = ProgressReader::new(rewound(file)?, progress)?;
        treering::storage::decompress(&mut BufReader::new(packed), &mut out, limits)?;
        out.flush()
    })
}

fn rewound(mut file: &File) -> io::Result<&File> {
    file.rewind()?;
    Ok(file)
}

/// Creates a file that appears complete or not at all, and must not exist. It has the time, the
/// owner and the permissions of `source`.
fn make(
    source: &File,
    target: &Path,
    fill: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    if fs::exists(target) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let new = NewFile::beside(target)?;
    fill(new.file()?)?;
    new.file()?.set_attributes(&source.metadata()?)?;
    new.publish().map(drop)
}

fn compress(source: ProgressReader<'_, '_>, target: &File) -> io::Result<()> {
    let mut compressor = FrameCompressor::new(CompressionLevel::Fastest);
    compressor.set_source(DeferredErrors::new(BufReader::new(source)));
    compressor.set_drain(DeferredErrors::new(BufWriter::with_capacity(1 << 20, target)));
    compressor.compress();
    let source = compressor.take_source().and_then(|source| source.failed);
    let Some(mut drain) = compressor.take_drain() else { return Ok(()) };
    match source.or(drain.failed) {
        Some(error) => Err(error),
        None => drain.inner.flush(),
    }
}

/// A reader of a file that reports its progress.
struct ProgressReader<'a, 'b> {
    file: &'a File,
    done: u64,
    total: u64,
    progress: &'a mut (dyn FnMut(u64, u64) + 'b),
}

impl<'a, 'b> ProgressReader<'a, 'b> {
    fn new(file: &'a File, progress: &'a mut (dyn FnMut(u64, u64) + 'b)) -> io::Result<Self> {
        Ok(ProgressReader { file, done: 0, total: file.size()?, progress })
    }
}

impl Read for ProgressReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.done += length as u64;
        (self.progress)(self.done, self.total);
        Ok(length)
    }
}

/// Keeps errors until the compressor is done, because it cannot report them.
struct DeferredErrors<T> {
    inner: T,
    failed: Option<io::Error>,
}

impl<T> DeferredErrors<T> {
    fn new(inner: T) -> Self {
        DeferredErrors { inner, failed: None }
    }
}

impl<T: Read> Read for DeferredErrors<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = Some(error);
                    return Ok(0);
                }
                read => return read,
            }
        }
    }
}

impl<T: Write> Write for DeferredErrors<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.inner.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that compares the bytes with those of a reader.
struct CompareWriter<R> {
    expected: R,
    buffer: Vec<u8>,
}

impl<R: Read> CompareWriter<R> {
    fn new(expected: R) -> Self {
        CompareWriter { expected, buffer: Vec::new() }
    }

    /// Fails if the reader has more bytes than were compared.
    fn finish(mut self) -> io::Result<()> {
        match self.expected.read(&mut [0; 1])? {
            0 => Ok(()),
            _ => Err(differs()),
        }
    }
}

impl<R: Read> Write for CompareWriter<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.resize(bytes.len(), 0);
        self.expected.read_exact(&mut self.buffer).map_err(|_| differs())?;
        match self.buffer == bytes {
            true => Ok(bytes.len()),
            false => Err(differs()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether two files have the same bytes.
pub fn is_same(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::open(a, Access::Read)?, fs::open(b, Access::Read)?);
    if a.size()? != b.size()? {
        return Ok(false);
    }
    let mut same = CompareWriter::new(BufReader::with_capacity(1 << 16, b));
    let mut source = BufReader::with_capacity(1 << 16, a);
    match io::copy(&mut source, &mut same).and_then(|_| same.finish()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        Err(error) => Err(error),
    }
}

fn differs() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the compressed copy does not read the same")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(bytes: &[u8]) -> u64 {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), bytes).unwrap();
        pack(&fs::open(&at("a"), Access::Read).unwrap(), &at("a.zst"), &mut |_, _| {}).unwrap();
        unpack(
            &fs::open(&at("a.zst"), Access::Read).unwrap(),
            &at("b"),
            UnpackLimits::default(),
            &mut |_, _| {},
        )
        .unwrap();
        assert_eq!(std::fs::read(at("b")).unwrap(), bytes);
        assert!(is_same(&at("a"), &at("b")).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary file is left");
        std::fs::metadata(at("a.zst")).unwrap().len()
    }

    #[test]
    fn any_bytes_come_back() {
        there_and_back(b"");
        there_and_back(b"x");
        let noise: Vec<u8> =
            (0..300_000_u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
        there_and_back(&noise);
        let line = br#"{"type":"message","id":"a1","message":{"role":"user","content":"hello"}}"#;
        let text = line.repeat(10_000);
        assert!(there_and_back(&text) < text.len() as u64 / 20);
    }

    #[test]
    fn files_that_differ_are_not_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [("a", "one"), ("b", "two"), ("c", "three")] {
            std::fs::write(at(name), text).unwrap();
        }
        assert!(!is_same(&at("a"), &at("b")).unwrap());
        assert!(!is_same(&at("a"), &at("c")).unwrap());
        let mut same = CompareWriter::new(&b"abc"[..]);
        same.write_all(b"ab").unwrap();
        assert!(same.finish().is_err());
    }
}
