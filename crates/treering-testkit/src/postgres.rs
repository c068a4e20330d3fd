//! PostgreSQL servers for tests, each in a temporary directory.
//!
//! A server belongs to the process that started it. A small guard process waits for the end of that process, stops the
//! server and removes its directory, also if the process was killed. PostgreSQL refuses to run as root, so a
//! test that runs as root starts it as the user `postgres`.

use crate::certificates::Certificates;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The longest time that a server may take to start or to end.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of ports on which a new server is tried.
const PORT_ATTEMPTS: usize = 4;

/// A running server with fsync on. All users of this machine can connect without a password.
#[derive(Debug)]
pub struct Server {
    installation: Installation,
    directory: PathBuf,
    port: u16,
    /// Ends the server when its input is closed.
    guard: Mutex<Option<Child>>,
}

/// The programs of PostgreSQL, and how they are run.
#[derive(Debug, Clone)]
struct Installation {
    programs: PathBuf,
    /// The command that changes the user, if it has to be changed.
    prefix: Vec<String>,
}

impl Installation {
    /// Finds PostgreSQL, or returns the reason why it cannot be used.
    fn find() -> Result<Self, String> {
        let mut places = Vec::new();
        if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
            places.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
        }
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
        versions.sort();
        places.extend(versions.into_iter().rev());
        let path = std::env::var_os("PATH").unwrap_or_default();
        places.extend(std::env::split_paths(&path));
        let is_complete = |place: &PathBuf| {
            ["initdb", "pg_ctl", "psql", "pg_basebackup"]
                .iter()
                .all(|name| place.join(name).is_file())
        };
        let programs = places.into_iter().find(is_complete).ok_or("PostgreSQL is not installed")?;
        let user = Command::new("id").arg("-u").output().map_err(|error| error.to_string())?;
        if String::from_utf8_lossy(&user.stdout).trim() != "0" {
            return Ok(Installation { programs, prefix: Vec::new() });
        }
        let ways: [&[&str]; 2] = [
            &["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"],
            &["runuser", "-u", "postgres", "--"],
        ];
        let works = |way: &&&[&str]| {
            let output = Command::new(way[0]).args(&way[1..]).args(["id", "-u"]).output();
            output.is_ok_and(|output| output.status.success())
        };
        let way = ways.iter().find(works).ok_or("there is no user postgres to run it as")?;
        let prefix = way.iter().map(|&word| word.to_owned()).collect();
        Ok(Installation { programs, prefix })
    }

    /// Returns a command that runs as the user of the server.
    fn command(&self, program: impl AsRef<Path>, directory: &Path) -> Command {
        let mut words = self.prefix.iter();
        let program = program.as_ref();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(program);
                command
            }
            None => Command::new(program),
        };
        // A setting of the caller must not reach the server or its clients.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command.current_dir(directory).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    fn program(&self, name: &str, directory: &Path) -> Command {
        self.command(self.programs.join(name), directory)
    }
}

/// Returns a port on which no program listens.
///
/// Systems assign ports from 32768 on to connections and to listeners without a given port. A server that is stopped and
/// started again needs the same port both times, so it gets a lower one, which no program takes in between.
fn free_port() -> u16 {
    loop {
        let random = RandomState::new().hash_one(std::process::id());
        let port = 15_000 + u16::try_from(random % 15_000).expect("less than 15,000");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Runs a command to its end and returns its output.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "{command:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

impl Server {
    /// Starts a server. Where PostgreSQL cannot be used, prints `SKIPPED` and the reason, and returns `None`.
    ///
    /// # Panics
    ///
    /// Panics if PostgreSQL is there but does not start.
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    pub fn start() -> Option<Server> {
        let installation = match Installation::find() {
            Ok(installation) => installation,
            Err(why) => {
                println!("SKIPPED: tests with PostgreSQL, because {why}");
                return None;
            }
        };
        let mut server = Server::prepare(installation);
        let data = server.data();
        let mut initdb = server.program("initdb");
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D"]);
        run(initdb.arg(&data)).expect("initdb");
        server.boot_on_a_free_port("");
        server.sql("postgres", "CREATE ROLE treering LOGIN");
        Some(server)
    }

    /// Makes a directory and the guard that removes it.
    fn prepare(installation: Installation) -> Server {
        let root = Path::new("/tmp");
        let mut mktemp = installation.command("mktemp", root);
        let directory = run(mktemp.args(["-d", "/tmp/treering-pg.XXXXXX"])).expect("mktemp");
        let directory = PathBuf::from(directory);
        // The server may be stopped by a signal, or be gone.
        let script = "read -r line
            pid=$(head -n 1 \"$1/data/postmaster.pid\" 2>/dev/null)
            if [ -n \"$pid\" ]; then kill -CONT \"$pid\"
              \"$2/pg_ctl\" -D \"$1/data\" -m immediate -t 10 stop || kill -KILL \"$pid\"; fi
            rm -rf \"$1\"; rm -rf \"$1\"";
        let mut guard = installation.command("sh", root);
        guard.args(["-c", script, "guard"]).arg(&directory).arg(&installation.programs);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut guard, 0);
        let guard = Mutex::new(Some(guard.spawn().expect("sh")));
        Server { installation, directory, port: 0, guard }
    }

    fn program(&self, name: &str) -> Command {
        self.installation.program(name, &self.directory)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Appends to the configuration of the server.
    fn configure(&self, more: &str) {
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\nfsync = on\n\
             max_connections = 120\nshared_buffers = 64MB\nmax_wal_size = 1GB\nlog_min_messages = fatal\n{more}",
            self.port,
            self.directory.display()
        );
        self.add_settings("postgresql.conf", &settings);
    }

    /// Appends to a file in the data directory, as the user of the server.
    fn add_settings(&self, file: &str, text: &str) {
        let mut tee = self.installation.command("tee", &self.directory);
        tee.arg("-a").arg(self.data().join(file)).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut tee = tee.spawn().expect("tee");
        tee.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("settings");
        assert!(tee.wait().expect("tee").success());
    }

    /// Writes a file that only the server can read into the data directory.
    fn write_secret(&self, file: &str, text: &str) {
        let mut shell = self.installation.command("sh", &self.directory);
        shell.args(["-c", "umask 077 && cat > \"$1\"", "sh"]).arg(self.data().join(file));
        let mut shell = shell.stdin(Stdio::piped()).spawn().expect("sh");
        shell.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a secret");
        assert!(shell.wait().expect("sh").success());
    }

    /// Offers TLS to new connections, with the certificate of a server.
    pub fn enable_tls(&self, certificates: &Certificates) {
        self.write_secret("server.crt", &certificates.certificate_pem);
        self.write_secret("server.key", &certificates.key_pem);
        self.sql("postgres", "ALTER SYSTEM SET ssl = on");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let until = Instant::now() + TIMEOUT;
        while self.sql("postgres", "SHOW ssl") != "on" {
            assert!(Instant::now() < until, "TLS cannot be enabled: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts a server that is not running, and waits until it answers.
    pub fn boot(&self) {
        assert!(self.try_boot(), "PostgreSQL did not start: {}", self.log());
    }

    /// Starts a server for the first time, on a port that no other program has, with more settings.
    fn boot_on_a_free_port(&mut self, more: &str) {
        for _ in 0..PORT_ATTEMPTS {
            self.port = free_port();
            // The last setting of a name counts.
            self.configure(more);
            if self.try_boot() {
                return;
            }
        }
        panic!("PostgreSQL did not start: {}", self.log());
    }

    /// Starts a server that is not running, waits until it answers, and returns `false` if it ended instead.
    fn try_boot(&self) -> bool {
        let mut start = self.program("pg_ctl");
        start.arg("-D").arg(self.data()).arg("-l").arg(self.directory.join("log"));
        start.args(["-w", "-t", "60", "start"]).stdout(Stdio::null()).stderr(Stdio::null());
        start.status().expect("pg_ctl").success()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Ends a server that is running: its clients are disconnected.
    pub fn stop(&self) {
        let mut stop = self.program("pg_ctl");
        stop.arg("-D").arg(self.data()).args(["-m", "fast", "-w", "-t", "60", "stop"]);
        run(&mut stop).expect("pg_ctl stop");
    }

    /// Returns the ids of the processes of the server, the first one first.
    fn processes(&self) -> Vec<String> {
        let mut head = self.installation.command("head", &self.directory);
        let first = run(head.args(["-n", "1"]).arg(self.data().join("postmaster.pid")));
        let first = first.expect("the server runs");
        let children = run(Command::new("ps").args(["-o", "pid=", "--ppid", &first]));
        let mut processes = vec![first];
        processes.extend(children.unwrap_or_default().split_whitespace().map(str::to_owned));
        processes
    }

    fn signal(&self, signal: &str) {
        let processes = self.processes();
        let mut kill = self.installation.command("kill", &self.directory);
        // A process may have ended in the meantime.
        let _ = kill.arg(signal).args(&processes).stderr(Stdio::null()).status().expect("kill");
    }

    /// Kills all processes of the server, as a power failure would.
    pub fn kill(&self) {
        let processes = self.processes();
        self.signal("-KILL");
        let until = Instant::now() + TIMEOUT;
        while processes.iter().any(|process| Path::new("/proc").join(process).exists()) {
            assert!(Instant::now() < until, "the processes of the server do not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Stops all processes of the server without ending them, so that nothing answers.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Resumes a server that was stopped by [`freeze`](Server::freeze).
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    /// Runs SQL as a superuser and returns the answer, one line for each row.
    ///
    /// # Panics
    ///
    /// Panics if the SQL fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.sql_as("postgres", database, sql).expect("psql")
    }

    /// Runs SQL as a role.
    pub fn sql_as(&self, role: &str, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.program("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h"]).arg(&self.directory);
        psql.args(["-p", &self.port.to_string(), "-U", role, "-d", database, "-c", sql]);
        run(&mut psql)
    }

    /// Creates a database that the role `treering` owns. It is no superuser.
    pub fn create_database(&self, name: &str) {
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER treering"));
    }

    /// Returns the address of a database for the role `treering`, over the network.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://treering@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the host and the port of the server.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the directory of the server's socket.
    pub fn socket_directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts a standby of this server, which from then on waits for it with every commit.
    pub fn start_standby(&self) -> Server {
        let mut standby = Server::prepare(self.installation.clone());
        let mut backup = standby.program("pg_basebackup");
        backup.args(["-U", "postgres", "-R", "-c", "fast", "-X", "stream", "--no-sync", "-h"]);
        backup.arg(&self.directory).args(["-p", &self.port.to_string(), "-D"]).arg(standby.data());
        run(&mut backup).expect("pg_basebackup");
        standby.boot_on_a_free_port("hot_standby = on\n");
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let until = Instant::now() + TIMEOUT;
        let is_synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        while self.sql("postgres", is_synchronous) != "1" {
            assert!(Instant::now() < until, "the standby does not follow: {}", standby.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        // Commits wait once the checkpointer has read the settings, which it does before a checkpoint.
        self.sql("postgres", "CHECKPOINT");
        standby
    }

    /// Makes a standby the primary. It waits for no standby of its own.
    pub fn promote(&self) {
        let mut promote = self.program("pg_ctl");
        promote.arg("-D").arg(self.data()).args(["-w", "-t", "60", "promote"]);
        run(&mut promote).expect("pg_ctl promote");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let guard = self.guard.get_mut().map(Option::take).unwrap_or_default();
        if let Some(mut guard) = guard {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}
