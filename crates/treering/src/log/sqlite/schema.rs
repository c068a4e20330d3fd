//! The schema: the tables and indexes, and the names of the columns.

use super::btree;
use super::pages::Pages;
use std::io;

/// A table of a database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(super) name: String,
    /// The number of the root page of the table's tree.
    pub(super) root: u32,
    /// The names of the columns, in order.
    pub(super) columns: Vec<String>,
    /// The column that is the id of the row.
    pub(super) id_column: Option<usize>,
    /// The first columns of the indexes, and the root pages of their trees.
    indexes: Vec<(String, u32)>,
    /// The column that SQLite creates the first index for, because its values are unique.
    key: Option<String>,
}

impl Table {
    /// Returns whether the table has all of these columns.
    pub(crate) fn has_columns(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.columns.iter().any(|column| column == name))
    }

    /// Returns the root page of an index that begins with a column.
    pub(super) fn index_on(&self, column: &str) -> Option<u32> {
        self.indexes.iter().find(|(first, _)| first == column).map(|(_, root)| *root)
    }
}

/// Reads the schema. Tables that are not supported are left out.
pub(super) fn tables(pages: &Pages) -> io::Result<Vec<Table>> {
    let columns = ["type", "name", "tbl_name", "rootpage", "sql"].map(str::to_owned).to_vec();
    let schema = Table { root: 1, columns, ..Table::default() };
    let (mut tables, mut indexes) = (Vec::new(), Vec::new());
    btree::rows(pages, &schema, |row| {
        let kind = row.text("type")?;
        let name = row.text("name")?.unwrap_or_default().into_owned();
        let root = row.integer("rootpage")?.and_then(|root| u32::try_from(root).ok());
        let Some(root) = root.filter(|root| *root > 0) else { return Ok(()) };
        let sql = row.text("sql")?;
        match (kind.as_deref(), sql) {
            (Some("table"), Some(sql)) => tables.extend(table(name, root, &sql)),
            (Some("index"), sql) => {
                let of = row.text("tbl_name")?.unwrap_or_default().into_owned();
                indexes.push((of, name, root, sql.map(|sql| first_column(&sql))));
            }
            _ => {}
        }
        Ok(())
    })?;
    for (of, name, root, column) in indexes {
        for table in tables.iter_mut().filter(|table: &&mut Table| table.name == of) {
            // An index without a statement was created by SQLite for a constraint of the table.
            let is_for_key = || name == format!("sqlite_autoindex_{of}_1");
            let of_key = || table.key.clone().filter(|_| is_for_key());
            let column = column.clone().unwrap_or_else(of_key);
            table.indexes.extend(column.map(|column| (column, root)));
        }
    }
    Ok(tables)
}

/// Returns a table from the statement that created it.
fn table(name: String, root: u32, sql: &str) -> Option<Table> {
    let (items, rest) = items(sql)?;
    if rest.iter().any(|word| word.eq_ignore_ascii_case("without")) {
        return None;
    }
    let mut table = Table { name, root, ..Table::default() };
    let is = |word: &Word, text: &str| !word.is_quoted && word.text.eq_ignore_ascii_case(text);
    let is_unique = |word: &&Word| is(word, "unique") || is(word, "primary");
    let constraints = items.iter().flatten().filter(is_unique).count();
    for words in items {
        let [name, rest @ ..] = &*words else { continue };
        if ["constraint", "primary", "unique", "check", "foreign"].iter().any(|key| is(name, key)) {
            continue;
        }
        let is_key = rest.windows(2).any(|pair| is(&pair[0], "primary") && is(&pair[1], "key"));
        if is_key && rest.first().is_some_and(|kind| kind.text.eq_ignore_ascii_case("integer")) {
            table.id_column = Some(table.columns.len());
        } else if is_key
            && constraints == 1
            && !rest.iter().any(|w| is(w, "desc") || is(w, "collate"))
        {
            table.key = Some(name.text.clone());
        }
        table.columns.push(name.text.clone());
    }
    Some(table)
}

/// Returns the first column of an index from the statement that created it; `None` if the index is
/// on an expression, is partial, or has another order than that of the bytes.
fn first_column(sql: &str) -> Option<String> {
    let (items, rest) = items(sql)?;
    match &**items.first()? {
        [name] if rest.is_empty() => Some(name.text.clone()),
        _ => None,
    }
}

/// A word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    is_quoted: bool,
}

/// Returns the words of each item in the first parentheses of a statement, and the words after
/// them. The content of nested parentheses is reduced to the word `(`.
fn items(sql: &str) -> Option<(Vec<Vec<Word>>, Vec<String>)> {
    let (mut depth, mut items, mut rest) = (0_usize, vec![Vec::new()], Vec::new());
    let mut was_inside = false;
    let mut chars = sql.chars().peekable();
    while let Some(char) = chars.next() {
        let word = match char {
            '-' if chars.peek() == Some(&'-') => {
                chars.by_ref().find(|char| *char == '\n');
                continue;
            }
            '/' if chars.peek() == Some(&'*') => {
                let mut before = ' ';
                for char in chars.by_ref().skip(1) {
                    if (before, char) == ('*', '/') {
                        break;
                    }
                    before = char;
                }
                continue;
            }
            '"' | '`' | '\'' | '[' => {
                let end = if char == '[' { ']' } else { char };
                let mut text = String::new();
                while let Some(char) = chars.next() {
                    if char == end {
                        // A doubled quote is part of the name.
                        if end == ']' || chars.peek() != Some(&end) {
                            break;
                        }
                        chars.next();
                    }
                    text.push(char);
                }
                Word { text, is_quoted: true }
            }
            '(' => {
                depth += 1;
                was_inside |= depth == 1;
                if depth == 2 {
                    items.last_mut()?.push(Word { text: "(".to_owned(), is_quoted: true });
                }
                continue;
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                continue;
            }
            ',' if depth == 1 => {
                items.push(Vec::new());
                continue;
            }
            char if char.is_alphanumeric() || char == '_' => {
                let mut text = String::from(char);
                while let Some(char) = chars.next_if(|char| char.is_alphanumeric() || *char == '_')
                {
                    text.push(char);
                }
                Word { text, is_quoted: false }
            }
            _ => continue,
        };
        match (depth, was_inside) {
            (0, true) => rest.push(word.text),
            (1, _) => items.last_mut()?.push(word),
            _ => {}
        }
    }
    was_inside.then_some((items, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(sql: &str) -> (Vec<String>, Option<usize>) {
        let table = table("t".to_owned(), 2, sql).unwrap();
        (table.columns, table.id_column)
    }

    #[test]
    fn columns_are_named_in_many_ways() {
        let sql = "CREATE TABLE `t` (`id` text PRIMARY KEY, \"a \"\"b\" int, -- , x\n [c d] real \
                   DEFAULT (1, 2), e /* , y */ text, CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES u(`id`))";
        assert_eq!(columns(sql), (["id", "a \"b", "c d", "e"].map(str::to_owned).to_vec(), None));
        let sql =
            "CREATE TABLE t(a text, id integer not null primary key autoincrement, 'check' x)";
        assert_eq!(columns(sql), (["a", "id", "check"].map(str::to_owned).to_vec(), Some(1)));
        assert_eq!(columns("CREATE TABLE t(a INT PRIMARY KEY)").1, None, "only INTEGER is the id");
    }

    #[test]
    fn tables_and_indexes_of_other_forms_are_left_out() {
        assert!(table("t".into(), 2, "CREATE TABLE t(a PRIMARY KEY) WITHOUT ROWID").is_none());
        assert!(table("t".into(), 2, "CREATE VIRTUAL TABLE t USING x").is_none());
        let first = |sql: &str| first_column(sql);
        assert_eq!(first("CREATE INDEX i ON t (`a`,b)").as_deref(), Some("a"));
        for sql in [
            "CREATE INDEX i ON t(a DESC)",
            "CREATE INDEX i ON t(a COLLATE NOCASE)",
            "CREATE INDEX i ON t(lower(a))",
            "CREATE INDEX i ON t(a) WHERE b > 1",
        ] {
            assert_eq!(first(sql), None, "{sql}");
        }
    }
}
