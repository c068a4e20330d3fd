//! Damages session files as crashes, editors, merges and faulty programs do.
//!
//! Every mutation is a small, seeded change of bytes. The model decides what the result means.

use crate::rng::Rng;

/// Lines that are not entries, and one that is.
const STRAYS: &[&[u8]] = &[
    b"42",
    b"null",
    b"[1]",
    b"\"text\"",
    b"{}",
    b"{\"x\":1}",
    b"{not json",
    b"",
    b"   \t ",
    b"\r",
    b"\xEF\xBB\xBF",
    b"\0\0\0\0\0\0\0\0",
    b"<<<<<<< HEAD",
    b"\xFF\xFE\xFA",
    b"{\"type\":\"session\",\"version\":3,\"id\":\"intruder\",\"cwd\":\"/\"}",
    b"{\"type\":\"title\",\"title\":\"no id, no parent\"}",
    b"{\"type\":\"label\",\"id\":\"stray-1\",\"parentId\":\"nobody\",\"targetId\":\"nobody\",\"label\":\"x\"}",
    b"{\"type\":\"leaf\",\"id\":\"stray-2\",\"parentId\":null,\"targetId\":\"nobody\"}",
    b"{\"id\":\"stray-3\",\"parentId\":\"stray-3\",\"type\":\"custom\",\"timestamp\":\"never\"}",
    b"{ \"type\" : \"custom\", \"id\" : 7, \"parentId\" : \"\", \"timestamp\" : 1767258000000 }",
];

/// Changes `bytes` in one random way. The name of the change is for failure messages.
pub fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) -> &'static str {
    match rng.below(16) {
        0 => {
            bytes.truncate(rng.index(bytes.len() + 1));
            "truncated"
        }
        1 => {
            let end = bytes.len();
            bytes.truncate(end - rng.index(end.min(400) + 1));
            "end cut off"
        }
        2 => {
            let start = rng.index(bytes.len() + 1);
            let end = (start + 1 + rng.index(300)).min(bytes.len());
            bytes.drain(start.min(end)..end);
            "bytes cut out"
        }
        3 => {
            for _ in 0..1 + rng.below(3) {
                let place = rng.index(bytes.len());
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << rng.below(8);
                }
            }
            "bits flipped"
        }
        4 => {
            let place = rng.index(bytes.len());
            if let Some(byte) = bytes.get_mut(place) {
                *byte = *rng.pick(b"\0\n\r\"\\{}[],: \x7F\x80\xC3\xFF0a");
            }
            "byte replaced"
        }
        5 => {
            if let Some((_, end)) = line(bytes, rng)
                && end < bytes.len()
            {
                bytes.remove(end);
            }
            "newline deleted"
        }
        6 => {
            copy_line(bytes, rng);
            "line duplicated"
        }
        7 => {
            swap_lines(bytes, rng);
            "lines swapped"
        }
        8 | 9 => {
            let stray = *rng.pick(STRAYS);
            insert_line(bytes, rng, stray);
            "stray line inserted"
        }
        10 => {
            if let Some((_, end)) = line(bytes, rng) {
                bytes.insert(end, b'\r');
            }
            "carriage return"
        }
        11 => {
            let place = rng.index(bytes.len() + 1);
            bytes.splice(place..place, [0xC3, 0x28, 0xFF]);
            "bytes that are no UTF-8"
        }
        12 => {
            let place = rng.index(bytes.len() + 1);
            bytes.insert(place, b'\n');
            "newline inserted"
        }
        13 => {
            relink(bytes, rng);
            "parent changed"
        }
        14 => {
            rename(bytes, rng);
            "id taken by another"
        }
        _ => {
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            "last newline removed"
        }
    }
}

/// Returns where a random line begins and ends.
fn line(bytes: &[u8], rng: &mut Rng) -> Option<(usize, usize)> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'\n' {
            lines.push((start, at));
            start = at + 1;
        }
    }
    if start < bytes.len() {
        lines.push((start, bytes.len()));
    }
    let place = rng.index(lines.len());
    lines.get(place).copied()
}

fn insert_line(bytes: &mut Vec<u8>, rng: &mut Rng, text: &[u8]) {
    let at = line(bytes, rng).map_or(0, |(start, _)| start);
    bytes.splice(at..at, text.iter().copied().chain([b'\n']));
}

fn copy_line(bytes: &mut Vec<u8>, rng: &mut Rng) {
    if let Some((start, end)) = line(bytes, rng) {
        let copy = bytes[start..end].to_vec();
        insert_line(bytes, rng, &copy);
    }
}

fn swap_lines(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (rng.index(lines.len()), rng.index(lines.len()));
    if !lines.is_empty() {
        lines.swap(a, b);
    }
    *bytes = lines.concat();
}

/// Returns the values of a key that is written as agents write it.
fn values(bytes: &[u8], key: &str) -> Vec<(usize, usize)> {
    let key = format!("\"{key}\":\"");
    let mut found = Vec::new();
    for at in 0..bytes.len().saturating_sub(key.len()) {
        if bytes[at..].starts_with(key.as_bytes()) {
            let start = at + key.len();
            let length = bytes[start..].iter().take_while(|&&byte| byte != b'"').count();
            found.push((start, start + length));
        }
    }
    found
}

/// Makes an entry the child of another: a later one, itself, or none.
fn relink(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let (parents, ids) = (values(bytes, "parentId"), values(bytes, "id"));
    if parents.is_empty() || ids.is_empty() {
        return;
    }
    let (start, end) = *rng.pick(&parents);
    let (from, to) = *rng.pick(&ids);
    let parent = if rng.chance(0.1) { b"nobody".to_vec() } else { bytes[from..to].to_vec() };
    bytes.splice(start..end, parent);
}

/// Gives an entry the id of another.
fn rename(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let ids = values(bytes, "id");
    if ids.is_empty() {
        return;
    }
    let (start, end) = *rng.pick(&ids);
    let (from, to) = *rng.pick(&ids);
    let id = bytes[from..to].to_vec();
    bytes.splice(start..end, id);
}
