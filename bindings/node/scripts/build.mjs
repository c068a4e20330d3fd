// node scripts/build.mjs OUT TOOLS ADDON [COMMAND]: puts the npm package together in the directory OUT.
//
// TOOLS is a directory with TypeScript and the types of Node in its node_modules, ADDON the shared library that cargo
// built, COMMAND the program `treering`. The code is compiled to CommonJS once; the ESM entry points hand on the same
// objects, so a program that uses both has one `Session` class.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [out, tools, addon, command] = process.argv.slice(2).map((path) => resolve(path));
const source = join(dirname(fileURLToPath(import.meta.url)), "..");
const root = join(source, "..", "..");

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const name of ["package.json", "README.md"]) copyFileSync(join(source, name), join(out, name));
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(root, name), join(out, name));
cpSync(join(source, "bin"), join(out, "bin"), { recursive: true });
chmodSync(join(out, "bin", "treering.js"), 0o755);

const prebuilds = join(out, "prebuilds", `${process.platform}-${process.arch}`);
mkdirSync(prebuilds, { recursive: true });
copyFileSync(addon, join(prebuilds, "treering.node"));
if (command) {
  const program = join(prebuilds, process.platform === "win32" ? "treering.exe" : "treering");
  copyFileSync(command, program);
  chmodSync(program, 0o755);
}

const tsc = join(tools, "node_modules", "typescript", "bin", "tsc");
const typeRoots = join(tools, "node_modules", "@types");
execFileSync(process.execPath, [tsc, "-p", source, "--outDir", join(out, "dist"), "--typeRoots", typeRoots], { stdio: "inherit" });

const require = createRequire(import.meta.url);
const { exports } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
for (const entry of Object.values(exports).filter((entry) => entry.import)) {
  const module = join(out, entry.import.default);
  const common = `./${entry.require.default.split("/").at(-1)}`;
  const names = Object.keys(require(join(out, entry.require.default))).filter((name) => name !== "default");
  writeFileSync(module, `import common from ${JSON.stringify(common)};\nexport const { ${names.join(", ")} } = common;\n`);
  writeFileSync(join(out, entry.import.types), `export * from ${JSON.stringify(common)};\n`);
}
