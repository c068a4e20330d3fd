//! The directory of a project among omp's sessions.

use crate::dialect::home::{Destination, ProjectPaths};
use std::path::Path;

pub(super) fn destination(paths: &ProjectPaths<'_>) -> Destination {
    Destination::Directory(paths.root.join(bucket(paths.cwd, paths.home, paths.temp)))
}

/// Returns the name of a project's directory: `-project` below the home directory, `-tmp-project` below the
/// directory for temporary files, `--path--` elsewhere.
fn bucket(cwd: &Path, home: Option<&Path>, temp: &Path) -> String {
    let joined = |path: &Path| path.to_string_lossy().replace(['/', '\\', ':'], "-");
    let below = |root: &Path| cwd.strip_prefix(root).ok().map(joined);
    if let Some(rest) = home.and_then(below) {
        return format!("-{rest}");
    }
    match below(temp) {
        Some(rest) if rest.is_empty() => "-tmp".to_owned(),
        Some(rest) => format!("-tmp-{rest}"),
        None => format!("--{}--", joined(cwd).trim_start_matches('-')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_named_after_the_path_below_home() {
        let bucket = |cwd: &str| bucket(Path::new(cwd), Some(Path::new("/h")), Path::new("/tmp"));
        assert_eq!(bucket("/h/a/b"), "-a-b");
        assert_eq!(bucket("/tmp"), "-tmp");
        assert_eq!(bucket("/tmp/x"), "-tmp-x");
        assert_eq!(bucket("/srv/x"), "--srv-x--");
    }
}
