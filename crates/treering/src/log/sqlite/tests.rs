//! Tests of the reader of databases: with files that SQLite itself wrote, and with damaged ones.

use super::pages::Pages;
use super::wal::Checksum;
use super::{Database, Row, Value, read};
use proptest::prelude::*;
use std::io;
use std::path::Path;
use std::process::Command;

/// A database of pages of 512 bytes with an index, rows that overflow, and a write-ahead log that
/// holds its
/// newest rows: made by `make.py small`.
const SMALL: &[u8] = include_bytes!("testdata/small.db");
const SMALL_WAL: &[u8] = include_bytes!("testdata/small.db-wal");

fn shown(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Integer(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => (**text).into(),
        Value::Blob(bytes) => {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
        }
    }
}

/// Compares rows. A whole number in a column of type REAL is kept as an integer.
fn is_same(found: &serde_json::Value, expected: &serde_json::Value) -> bool {
    let (found, expected) = (found.as_array().unwrap(), expected.as_array().unwrap());
    let is_number = |a: &serde_json::Value, b: &serde_json::Value| {
        b.is_f64() && a.as_f64().is_some() && a.as_f64() == b.as_f64()
    };
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| a == b || is_number(a, b))
}

fn row(row: &Row<'_>, columns: &[String]) -> io::Result<serde_json::Value> {
    let values: io::Result<Vec<_>> =
        columns.iter().map(|column| Ok(shown(&row.value(column)?))).collect();
    Ok(values?.into())
}

/// Returns all rows of a table.
fn rows(database: &Database, name: &str) -> io::Result<Vec<serde_json::Value>> {
    let table = database.table(name).ok_or(io::ErrorKind::NotFound)?;
    let mut found = Vec::new();
    database.rows(table, |each| {
        found.push(row(each, &table.columns)?);
        Ok(())
    })?;
    Ok(found)
}

/// Returns the rows with a text in a column.
fn rows_with(database: &Database, name: &str, column: &str, text: &str) -> io::Result<Vec<i64>> {
    let table = database.table(name).ok_or(io::ErrorKind::NotFound)?;
    let mut found = Vec::new();
    database.rows_with(table, column, text, |row| {
        found.push(row.id());
        Ok(())
    })?;
    found.sort_unstable();
    Ok(found)
}

fn small(dir: &Path, database: &[u8], wal: Option<&[u8]>) -> std::path::PathBuf {
    let path = dir.join("small.db");
    std::fs::write(&path, database).unwrap();
    let log = dir.join("small.db-wal");
    match wal {
        Some(wal) => std::fs::write(log, wal).unwrap(),
        None => drop(std::fs::remove_file(log)),
    }
    path
}

#[test]
fn the_log_counts_as_far_as_its_transactions_are_finished() {
    let dir = tempfile::tempdir().unwrap();
    let names = |wal: Option<&[u8]>| -> Vec<String> {
        let path = small(dir.path(), SMALL, wal);
        let rows = read(&path, |database| rows(database, "part")).unwrap();
        rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect()
    };
    let (all, none) = (names(Some(SMALL_WAL)), names(None));
    assert!(all.len() > none.len() && all.starts_with(&none), "{all:?}");
    // Bytes after the last finished transaction are ignored.
    let torn = &SMALL_WAL[..SMALL_WAL.len() - 1];
    assert!(names(Some(torn)).len() < all.len());
    let mut followed = SMALL_WAL.to_vec();
    followed.extend([7; 2000]);
    assert_eq!(names(Some(&followed)), all);
    let mut flipped = SMALL_WAL.to_vec();
    flipped[40] ^= 1;
    assert_eq!(names(Some(&flipped)), none, "its first frame is damaged");
}

#[test]
fn rows_are_found_by_an_index_and_without() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path(), SMALL, Some(SMALL_WAL));
    read(&path, |database| {
        let table = database.table("part").unwrap();
        assert!(table.index_on("session").is_some() && table.index_on("id").is_some());
        assert!(table.index_on("data").is_none());
        let all = rows(database, "part")?;
        for session in ["s1", "s2", "s0", ""] {
            let is_of = |row: &&serde_json::Value| row[1] == session;
            let expected = all.iter().filter(is_of).count();
            assert_eq!(rows_with(database, "part", "session", session)?.len(), expected);
        }
        assert_eq!(rows_with(database, "part", "id", "p003")?.len(), 1);
        let data = all[3][2].as_str().unwrap();
        assert_eq!(rows_with(database, "part", "data", data)?.len(), 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path(), b"{\"type\":\"session\"}\n", None);
    let error = read(&path, |_| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "it is not an SQLite database");
}

/// Reads everything in a database. Damage must never cause a panic or an endless loop.
fn look(dir: &Path, database: &[u8], wal: Option<&[u8]>) {
    let path = small(dir, database, wal);
    let _ = read(&path, |database| {
        for table in ["part", "session"] {
            let _ = rows(database, table);
            let _ = rows_with(database, table, "session", "s1");
            let _ = rows_with(database, table, "id", "p003");
        }
        Ok(())
    });
}

#[test]
fn damage_ends_in_errors() {
    let dir = tempfile::tempdir().unwrap();
    for at in (0..SMALL.len()).step_by(3) {
        let mut damaged = SMALL.to_vec();
        damaged[at] = [0, 0xFF, 1, 0x80, 5][at % 5];
        look(dir.path(), &damaged, None);
    }
    for at in (0..SMALL.len()).step_by(97) {
        look(dir.path(), &SMALL[..at], Some(SMALL_WAL));
    }
}

/// The root of `part` refers to itself, and each of its cells, too.
#[test]
fn a_cycle_of_pages_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = small(dir.path(), SMALL, None);
    let root = read(&path, |database| Ok(database.table("part").unwrap().root)).unwrap();
    let start = (root as usize - 1) * 512;
    let mut cycle = SMALL.to_vec();
    cycle[start..start + 512].fill(0);
    cycle[start] = 5;
    cycle[start + 4] = 100;
    cycle[start + 8..start + 12].copy_from_slice(&root.to_be_bytes());
    for cell in 0..100 {
        cycle[start + 12 + 2 * cell..][..2].copy_from_slice(&400_u16.to_be_bytes());
    }
    cycle[start + 400..start + 404].copy_from_slice(&root.to_be_bytes());
    let path = small(dir.path(), &cycle, None);
    let error = read(&path, |database| rows(database, "part")).unwrap_err();
    assert!(error.to_string().contains("cycle"), "{error}");
    let error = read(&path, |database| {
        let table = database.table("part").unwrap().clone();
        super::btree::row(&database.pages, &table, 1, |_| Ok(()))
    });
    assert!(error.unwrap_err().to_string().contains("cycle"));
}

/// A log whose checksums hold states a number of pages that neither it nor the file has.
#[test]
fn a_log_cannot_claim_pages_that_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut wal = SMALL_WAL[..32 + 24 + 512].to_vec();
    wal[36..40].copy_from_slice(&u32::MAX.to_be_bytes());
    let mut sum = Checksum { is_big_endian: wal[3] & 1 == 1, sums: (0, 0) };
    sum.add(&wal[..24]);
    sum.add(&wal[32..40]);
    sum.add(&wal[56..]);
    wal[48..52].copy_from_slice(&sum.sums.0.to_be_bytes());
    wal[52..56].copy_from_slice(&sum.sums.1.to_be_bytes());
    let pages = Pages::open(&small(dir.path(), SMALL, Some(&wal))).unwrap();
    assert_eq!(pages.readable() as usize, SMALL.len() / 512 + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_damage_ends_in_errors(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (mut database, mut wal) = (SMALL.to_vec(), SMALL_WAL.to_vec());
        for (index, byte) in &changes {
            let (at, len) = (index.index(database.len()), wal.len());
            database[at] = *byte;
            wal[at % len] ^= byte & 1;
        }
        look(dir.path(), &database, Some(&wal));
        look(dir.path(), &database, Some(SMALL_WAL));
        look(dir.path(), SMALL, Some(&wal));
    }
}

/// Databases that SQLite writes with many settings read as it reads them. Without Python and its
/// SQLite there is
/// nothing to compare with, and then only a run for continuous integration fails.
#[test]
fn databases_read_as_sqlite_reads_them() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/log/sqlite/testdata/make.py");
    let dir = tempfile::tempdir().unwrap();
    let made = Command::new("python3").arg(script).arg("random").arg(dir.path()).output();
    let is_made = made.as_ref().is_ok_and(|made| made.status.success());
    if !is_made && std::env::var_os("CI").is_none() {
        eprintln!("SKIPPED: comparing databases needs python3 with its module sqlite3");
        return;
    }
    let made = made.unwrap();
    assert!(is_made, "{}", String::from_utf8_lossy(&made.stderr));
    let mut count = 0;
    for line in String::from_utf8(made.stdout).unwrap().lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = dir.path().join(case["file"].as_str().unwrap());
        let name = case["settings"].to_string();
        read(&path, |database| {
            for (table, expected) in case["tables"].as_object().unwrap() {
                let (found, expected) = (rows(database, table)?, expected.as_array().unwrap());
                assert_eq!(found.len(), expected.len(), "{name} {table}");
                for (found, expected) in found.iter().zip(expected) {
                    assert!(is_same(found, expected), "{name} {table}: {found} is not {expected}");
                }
            }
            for (text, ids) in case["found"].as_object().unwrap() {
                let expected: Vec<i64> = serde_json::from_value(ids.clone()).unwrap();
                assert_eq!(rows_with(database, "a", "key", text)?, expected, "{name} {text}");
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        count += 1;
    }
    assert!(count >= 40);
}
