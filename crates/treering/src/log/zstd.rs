//! Compressed sessions: unpacked once, then read like any other file.
//!
//! Some agents compress sessions that are no longer written to (`.jsonl.zst`). Reading needs to jump
//! back and forth, which a compressed stream cannot do, so its content goes to a file of our own. That
//! file has no name by the time the first byte is written: nobody else can open it, and it is gone
//! when we are, however we end.
//!
//! Memory is bounded by the window of the stream (at most 128 MiB, as for the `zstd` command), not
//! by its content. What cannot be unpacked to the end is an error: half a session would look like a
//! whole one.

use crate::fs::{self, File};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Whether a file that begins like this is compressed.
pub(crate) fn is_packed(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// The content of a compressed file, in a file without a name; `None` if it is not compressed.
pub(crate) fn unpack(file: &File) -> io::Result<Option<File>> {
    let mut first = Vec::with_capacity(MAGIC.len());
    Packed::new(file).take(MAGIC.len() as u64).read_to_end(&mut first)?;
    if !is_packed(&first) {
        return Ok(None);
    }
    let mut source = BufReader::new(Packed::new(file));
    let mut target = fs::nameless()?;
    let unpacked = decompress(&mut source, &mut target);
    // The decoder cannot tell a file that cannot be read from one that makes no sense.
    match source.into_inner().failed {
        Some(error) => return Err(error),
        None => unpacked?,
    }
    target.rewind()?;
    Ok(Some(target))
}

/// The packed file from its start, whatever its cursor says: others may share it.
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

/// Decompresses a compressed session (`.jsonl.zst`), frame after frame; checksums are checked. For whoever
/// makes such files and wants to know that they can be read.
pub fn decompress(source: &mut impl BufRead, target: &mut impl Write) -> io::Result<()> {
    let mut decoder = FrameDecoder::new();
    while !source.fill_buf()?.is_empty() {
        match decoder.reset(&mut *source) {
            Ok(()) => frame(&mut decoder, source, target)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => skip(source, u64::from(length))?,
            Err(error) => return Err(damaged(error)),
        }
    }
    target.flush()
}

/// Unpacks the frame whose header was just read.
fn frame(
    decoder: &mut FrameDecoder,
    source: &mut impl BufRead,
    target: &mut impl Write,
) -> io::Result<()> {
    let mut length = 0;
    while !decoder.is_finished() {
        decoder
            .decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(damaged)?;
        length += drain(decoder, target)?;
    }
    length += drain(decoder, target)?;
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

/// Writes out what the decoder no longer needs itself.
fn drain(decoder: &mut FrameDecoder, target: &mut impl Write) -> io::Result<u64> {
    decoder.collect_to_writer(target).map(|length| length as u64)
}

/// Passes over a frame that holds something else.
fn skip(source: &mut impl BufRead, length: u64) -> io::Result<()> {
    match io::copy(&mut source.take(length), &mut io::sink())? {
        passed if passed == length => Ok(()),
        _ => Err(damaged("it ends too early")),
    }
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

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_open_the_content() {
        let about = unpack(&file(&BY_ZSTD)).unwrap().unwrap().metadata().unwrap();
        assert_eq!((about.links, about.mode & 0o777), (0, 0o600));
    }
}
