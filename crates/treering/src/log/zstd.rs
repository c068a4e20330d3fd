//! Compressed sessions (`.jsonl.zst`).
//!
//! Some agents compress sessions that are no longer written to. Reading needs random access, which
//! a compressed stream does not have, so opening one decompresses it to a temporary file. That file
//! has no name when the first byte is written: no other process can open it, and the system removes
//! it when this process ends for any reason.
//!
//! A few kilobytes can decompress to terabytes, so there are [limits](UnpackLimits) on the size of
//! the content, checked after every block of at most 128 KiB. Memory is bounded by the window of
//! the stream (at most 128 MiB, as for the `zstd` command). A stream that cannot be decompressed to
//! its end is an error: half a session would look like a complete one. Only lists use a [prefix],
//! which they mark as partial.

use crate::fs::{self, File};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Limits on the size of the content of a compressed session.
///
/// ```
/// let limits = treering::storage::UnpackLimits::default();
/// assert_eq!((limits.size, limits.ratio), (4 << 30, 1000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackLimits {
    /// The largest content, in bytes.
    pub size: u64,
    /// The largest ratio of content to compressed bytes. It does not apply to the first 64 MiB.
    pub ratio: u64,
}

impl UnpackLimits {
    /// Returns the defaults.
    pub fn new() -> Self {
        UnpackLimits::default()
    }

    /// Sets the largest content, in bytes.
    #[must_use]
    pub fn size(self, size: u64) -> Self {
        UnpackLimits { size, ..self }
    }

    /// Sets the largest ratio of content to compressed bytes.
    #[must_use]
    pub fn ratio(self, ratio: u64) -> Self {
        UnpackLimits { ratio, ..self }
    }
}

impl UnpackLimits {
    /// Content up to this size is accepted at any ratio.
    const ANY_RATIO: u64 = 64 << 20;

    /// Limits only the size, for a file that is trusted.
    pub fn of_size(size: u64) -> Self {
        UnpackLimits { size, ratio: u64::MAX }
    }

    /// Fails if `length` bytes of content from `packed` compressed bytes are too many.
    fn check(self, length: u64, packed: u64) -> io::Result<()> {
        if length > self.size {
            return Err(too_large(format_args!("{} bytes", self.size)));
        }
        if length > packed.saturating_mul(self.ratio).max(Self::ANY_RATIO) {
            return Err(too_large(format_args!("{} times its size", self.ratio)));
        }
        Ok(())
    }
}

impl Default for UnpackLimits {
    fn default() -> Self {
        UnpackLimits { size: 4 << 30, ratio: 1000 }
    }
}

/// Returns whether a file that begins with `first` is compressed.
pub(crate) fn is_packed(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// Decompresses a file to a file without a name; `None` if it is not compressed.
pub(crate) fn unpack(file: &File) -> io::Result<Option<File>> {
    let mut first = Vec::with_capacity(MAGIC.len());
    let mut source = Packed::new(file);
    let read = (&mut source).take(MAGIC.len() as u64).read_to_end(&mut first);
    read.map_err(|error| source.failed.take().unwrap_or(error))?;
    if !is_packed(&first) {
        return Ok(None);
    }
    let mut source = BufReader::new(Packed::new(file));
    let mut target = fs::nameless()?;
    let unpacked = decompress(&mut source, &mut target, UnpackLimits::default());
    // The decoder does not distinguish a file that cannot be read from one that is damaged.
    match source.into_inner().failed {
        Some(error) => return Err(error),
        None => unpacked?,
    }
    target.rewind()?;
    Ok(Some(target))
}

/// The beginning of the content of a compressed file.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) bytes: Vec<u8>,
    /// Whether this is all of the content. If not, the last line may be incomplete.
    pub(super) is_whole: bool,
}

/// Decompresses the beginning of a file in memory: at least `length` bytes if it has that many, and
/// at most one block more.
pub(super) fn prefix(file: &File, length: usize) -> io::Result<Prefix> {
    // Compression never makes a block larger by more than its header. A stream that takes more
    // bytes than this for so little content consists of empty blocks, and is not read to its end.
    let most = (length as u64).saturating_mul(2).max(1 << 20);
    let mut packed = Packed::new(file);
    let mut source = BufReader::new((&mut packed).take(most));
    let unpacked = prefix_of(&mut source, length);
    let is_at_most = source.get_ref().limit() == 0;
    match packed.failed {
        Some(error) => Err(error),
        None => unpacked.map(|found| Prefix { is_whole: found.is_whole && !is_at_most, ..found }),
    }
}

fn prefix_of(source: &mut impl BufRead, length: usize) -> io::Result<Prefix> {
    /// An empty last block and a checksum, which makes the decoder release its window.
    const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
    let (mut decoder, mut bytes) = (FrameDecoder::new(), Vec::new());
    while next_frame(&mut decoder, source)? {
        let start = bytes.len();
        let wanted = BlockDecodingStrategy::UptoBytes(length.saturating_sub(start).max(1));
        decoder.decode_blocks(&mut *source, wanted).map_err(undecodable)?;
        let is_finished = decoder.is_finished();
        if !is_finished {
            let all = BlockDecodingStrategy::All;
            decoder.decode_blocks(&END[..], all).map_err(undecodable)?;
        }
        drain(&mut decoder, &mut bytes)?;
        if !is_finished {
            return Ok(Prefix { bytes, is_whole: false });
        }
        verify(&decoder, (bytes.len() - start) as u64)?;
        if bytes.len() >= length && !source.fill_buf()?.is_empty() {
            return Ok(Prefix { bytes, is_whole: false });
        }
    }
    Ok(Prefix { bytes, is_whole: true })
}

/// A reader of the compressed file from its start, independent of the file's cursor, which may be
/// shared.
struct Packed<'a> {
    file: &'a File,
    at: u64,
    failed: Option<io::Error>,
}

impl<'a> Packed<'a> {
    fn new(file: &'a File) -> Self {
        Packed { file, at: 0, failed: None }
    }
}

impl Read for Packed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.file.read_at(self.at, buffer) {
            Ok(length) => {
                self.at += length as u64;
                Ok(length)
            }
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}

/// Counts the bytes that are read through it.
struct CountingReader<'a, R> {
    inner: &'a mut R,
    count: u64,
}

impl<R: BufRead> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count += length as u64;
        Ok(length)
    }
}

impl<R: BufRead> BufRead for CountingReader<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count += amount as u64;
        self.inner.consume(amount);
    }
}

/// Decompresses a compressed session (`.jsonl.zst`), frame after frame, and verifies its checksums.
///
/// # Errors
///
/// Fails with [`io::ErrorKind::FileTooLarge`] as soon as the content exceeds the limits, and with
/// [`io::ErrorKind::InvalidData`] if the stream is damaged. The content of `target` is then
/// unusable.
pub fn decompress(
    source: &mut impl BufRead,
    target: &mut impl Write,
    limits: UnpackLimits,
) -> io::Result<()> {
    let mut source = CountingReader { inner: source, count: 0 };
    let (mut decoder, mut done) = (FrameDecoder::new(), 0);
    while next_frame(&mut decoder, &mut source)? {
        let mut length = 0;
        while !decoder.is_finished() {
            let one = BlockDecodingStrategy::UptoBlocks(1);
            decoder.decode_blocks(&mut source, one).map_err(undecodable)?;
            length += drain(&mut decoder, target)?;
            limits.check(done + length, source.count)?;
        }
        // The rest of the window.
        length += drain(&mut decoder, target)?;
        done += length;
        limits.check(done, source.count)?;
        verify(&decoder, length)?;
    }
    target.flush()
}

/// Reads the header of the next frame, skipping frames without content; `false` at the end.
fn next_frame(decoder: &mut FrameDecoder, source: &mut impl BufRead) -> io::Result<bool> {
    while !source.fill_buf()?.is_empty() {
        match decoder.reset(&mut *source) {
            Ok(()) => return Ok(true),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => skip(source, u64::from(length))?,
            Err(error) => return Err(undecodable(error)),
        }
    }
    Ok(false)
}

/// Checks the frame that was just decompressed to `length` bytes.
fn verify(decoder: &FrameDecoder, length: u64) -> io::Result<()> {
    let stated = decoder.content_size();
    if stated != 0 && stated != length {
        return Err(damaged(format_args!("{length} bytes instead of {stated}")));
    }
    let checksum = decoder.get_checksum_from_data();
    if checksum.is_some() && checksum != decoder.get_calculated_checksum() {
        return Err(damaged("the checksum does not match"));
    }
    Ok(())
}

/// Writes the bytes that the decoder no longer needs.
fn drain(decoder: &mut FrameDecoder, target: &mut impl Write) -> io::Result<u64> {
    decoder.collect_to_writer(target).map(|length| length as u64)
}

/// Skips a frame without content.
fn skip(source: &mut impl BufRead, length: u64) -> io::Result<()> {
    match io::copy(&mut source.take(length), &mut io::sink())? {
        passed if passed == length => Ok(()),
        _ => Err(damaged("it ends too early")),
    }
}

fn too_large(limit: impl Display) -> io::Error {
    let message = format!("the file is compressed (zstd) and its content is larger than {limit}");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// Returns the error about data that the decoder refuses. Its own messages are for programmers.
fn undecodable(error: FrameDecoderError) -> io::Error {
    damaged(match error {
        FrameDecoderError::ReadFrameHeaderError(_) => "it contains data in another format",
        _ => "it is incomplete, or its bytes have changed",
    })
}

fn damaged(why: impl Display) -> io::Error {
    let message = format!("the file is compressed (zstd) and damaged: {why}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// Two lines as the `zstd` command packs them, with a checksum.
    const BY_ZSTD: [u8; 48] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x23, 0x19, 0x01, 0x00, 0x7b, 0x22, 0x74, 0x79, 0x70, 0x65,
        0x22, 0x3a, 0x22, 0x73, 0x65, 0x73, 0x73, 0x69, 0x6f, 0x6e, 0x5f, 0x6d, 0x65, 0x74, 0x61,
        0x22, 0x7d, 0x0a, 0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0xa9, 0x22, 0x7d, 0x0a, 0x9a,
        0xd5, 0x0d, 0x6b,
    ];
    const LINES: &str = "{\"type\":\"session_meta\"}\n{\"a\":\"é\"}\n";

    fn file(bytes: &[u8]) -> File {
        let mut file = File::from(tempfile::tempfile().unwrap());
        file.write_all(bytes).unwrap();
        file
    }

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        unpack(&file(bytes))?.expect("packed").read_to_end(&mut out)?;
        Ok(out)
    }

    fn pack(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn lines(count: usize) -> Vec<u8> {
        let line = |at| format!("{{\"at\":{at},\"text\":\"{}\"}}\n", "word ".repeat(at % 90));
        (0..count).map(line).collect::<String>().into_bytes()
    }

    /// The memory of a process cannot be read at its beginning, like a damaged disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_be_read_fails_with_the_error_of_the_system() {
        let file = File::from(std::fs::File::open("/proc/self/mem").unwrap());
        assert_eq!(unpack(&file).unwrap_err().raw_os_error(), Some(libc::EIO));
    }

    #[test]
    fn what_the_command_packs_is_unpacked() {
        assert_eq!(unpacked(&BY_ZSTD).unwrap(), LINES.as_bytes());
    }

    #[test]
    fn a_plain_file_is_left_alone() {
        for bytes in [&b""[..], b"{", b"{\"type\":\"session\"}\n", &MAGIC[..3]] {
            assert!(unpack(&file(bytes)).unwrap().is_none(), "{bytes:?}");
            assert!(!is_packed(bytes));
        }
    }

    #[test]
    fn more_than_a_window_comes_out_whole() {
        let plain = lines(30_000);
        assert!(plain.len() > 6_000_000);
        assert!(unpacked(&pack(&plain)).unwrap() == plain);
    }

    #[test]
    fn frames_follow_each_other_and_foreign_ones_are_passed_over() {
        let mut bytes = pack(b"one\n");
        bytes.extend([0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, b'x', b'y', b'z']);
        bytes.extend(BY_ZSTD);
        bytes.extend(pack(b""));
        bytes.extend(pack(b"two\n"));
        bytes.extend([0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]);
        assert_eq!(unpacked(&bytes).unwrap(), format!("one\n{LINES}two\n").as_bytes());
        bytes.extend([0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1]);
        assert_eq!(unpacked(&bytes).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_cut_stream_is_an_error_wherever_it_is_cut() {
        let packed = pack(&lines(200));
        for whole in [&packed[..], &BY_ZSTD] {
            for cut in 4..whole.len() {
                let error = unpacked(&whole[..cut]).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "cut at {cut}");
                let message = error.to_string();
                assert!(message.contains("compressed") && message.contains("damaged"), "{message}");
            }
        }
    }

    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let mut bad = BY_ZSTD;
        for at in 4..bad.len() {
            for bit in 0..8 {
                bad[at] ^= 1 << bit;
                match unpacked(&bad) {
                    // Bits that mean nothing, or a flag whose loss changes no content.
                    Ok(content) => assert_eq!(content, LINES.as_bytes(), "byte {at} bit {bit}"),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidData),
                }
                bad[at] ^= 1 << bit;
            }
        }
        let garbage = [&BY_ZSTD[..], b"\nnot a frame"].concat();
        assert_eq!(unpacked(&garbage).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn the_cursor_of_the_packed_file_does_not_matter() {
        let mut packed = file(&BY_ZSTD);
        packed.seek(io::SeekFrom::Start(17)).unwrap();
        assert!(unpack(&packed).unwrap().is_some());
        assert_eq!(packed.stream_position().unwrap(), 17);
    }

    /// Returns a frame of `blocks` blocks of 128 KiB, all the same byte: four bytes each.
    fn bomb(blocks: usize) -> Vec<u8> {
        // Window of 128 KiB; no checksum, no content size.
        let mut bytes = [&MAGIC[..], &[0x00, 0x38]].concat();
        for at in 0..blocks {
            let is_last = u32::from(at + 1 == blocks);
            let header = is_last | 1 << 1 | (128 << 10) << 3;
            bytes.extend(&header.to_le_bytes()[..3]);
            bytes.push(b'0');
        }
        bytes
    }

    fn decompressed(bytes: &[u8], limits: UnpackLimits) -> (io::Result<()>, usize) {
        let (mut out, mut source) = (Vec::new(), bytes);
        (decompress(&mut source, &mut out, limits), out.len())
    }

    #[test]
    fn content_that_is_too_large_is_not_written_much_further_than_the_limit() {
        let packed = bomb(40);
        let limits = UnpackLimits { size: 1 << 20, ratio: u64::MAX };
        let (result, length) = decompressed(&packed, limits);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().ends_with("larger than 1048576 bytes"), "{error}");
        assert!(length <= (1 << 20) + (256 << 10), "{length}");
        let whole = UnpackLimits::of_size((40 * 128) << 10);
        assert!(
            matches!(decompressed(&packed, whole), (Ok(()), length) if length == (40 * 128) << 10)
        );
    }

    #[test]
    fn a_bomb_is_recognized_by_its_ratio_also_in_many_frames() {
        for packed in [bomb(600), bomb(10).repeat(60)] {
            let (result, length) = decompressed(&packed, UnpackLimits::default());
            let error = result.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            assert!(error.to_string().ends_with("larger than 1000 times its size"), "{error}");
            assert!(length as u64 <= UnpackLimits::ANY_RATIO + (256 << 10), "{length}");
            assert_eq!(unpacked(&packed).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        }
    }

    fn first(bytes: &[u8], length: usize) -> io::Result<Prefix> {
        prefix(&file(bytes), length)
    }

    #[test]
    fn a_prefix_is_the_beginning_of_the_content() {
        let plain = lines(3_000);
        for packed in [pack(&plain), plain.chunks(70_000).flat_map(pack).collect()] {
            for length in [0, 1, 4_000, 100_000, plain.len() - 1] {
                let found = first(&packed, length).unwrap();
                assert!(plain.starts_with(&found.bytes) && found.bytes.len() >= length);
                assert!(found.bytes.len() <= length + (256 << 10), "{length}");
                assert_eq!(found.is_whole, found.bytes.len() == plain.len(), "{length}");
            }
            let found = first(&packed, plain.len()).unwrap();
            assert!(found.is_whole && found.bytes == plain);
        }
        assert_eq!(first(&BY_ZSTD, 1 << 20).unwrap().bytes, LINES.as_bytes());
    }

    #[test]
    fn a_prefix_of_a_bomb_is_small_and_damage_in_it_is_found() {
        let found = first(&bomb(100_000), 1 << 20).unwrap();
        assert!(!found.is_whole && found.bytes.len() <= (1 << 20) + (128 << 10));
        // Blocks without content continue beyond the part that is read.
        let mut empty = bomb(1);
        empty.truncate(6);
        empty.extend([0, 0, 0].repeat(2 << 20));
        assert_eq!(first(&empty, 1 << 20).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let packed = pack(&lines(200));
        for cut in 4..packed.len() {
            let error = first(&packed[..cut], 1 << 20).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "cut at {cut}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_open_the_content() {
        let about = unpack(&file(&BY_ZSTD)).unwrap().unwrap().metadata().unwrap();
        assert_eq!((about.links, about.mode & 0o777), (0, 0o600));
    }
}
