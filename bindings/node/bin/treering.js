#!/usr/bin/env node
// Runs the command `treering` that is packed with the package, or the one that TREERING_BIN names.
"use strict";
const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const { join } = require("node:path");

const name = process.platform === "win32" ? "treering.exe" : "treering";
const packed = join(__dirname, "..", "prebuilds", `${process.platform}-${process.arch}`, name);
const program = process.env.TREERING_BIN || packed;
if (!existsSync(program)) {
  console.error(
    `treering: there is no command for ${process.platform}-${process.arch} in this package; ` +
      "build it with `cargo install treering-cli`, and name it in TREERING_BIN",
  );
  process.exit(127);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends its signals to the command as well, which decides what they mean.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`treering: cannot run ${program}: ${error.message}`);
  process.exit(126);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});
