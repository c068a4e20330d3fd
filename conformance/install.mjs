// node install.mjs CACHE_DIR: puts the pinned pi packages into the cache, once.
//
// Only the session managers are needed, so each package is unpacked on its own, without the many dependencies
// of the whole agent. That also lets pi 1.5.0 run on node 20, and not all of its dependencies are published.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = [
  {
    dir: "pi-0.73.1",
    spec: "@mariozechner/pi-coding-agent@0.73.1",
    integrity: "sha512-gXQh3SaZmWTfVMc4Ao5+LGbVeKvzyO7tolok0nLsZgq9nGjZx/EEU3NM8C+qUnB4Nvs2rswG5qOVgLzQkq0fHQ==",
  },
  {
    dir: "pi-1.5.0",
    spec: "@earendil-works/pi-coding-agent@1.5.0",
    integrity: "sha512-xNDZ5kqowO6Z03FS2gwAkPEGk1ssxVcYKQ6qZId84mFEvwACvvyc2l0vAMOS+c5zvxLRMLBE9r4y44IGYkMJaQ==",
  },
  {
    dir: "pi-ai-1.5.0",
    spec: "@earendil-works/pi-ai@1.5.0",
    integrity: "sha512-VeWxNqTHSqRCf8AcY/6kvNwh+neRL6MPxZPePVztIQy6qqK9MR/YoCSN/ZgDnIyCD3pqEXgRyQbzk4KV4uvjbg==",
  },
];
const LIBRARIES = ["cross-spawn@7.0.6", "uuid@14.0.3"];

const cache = process.argv[2];
const pins = JSON.stringify([PACKAGES, LIBRARIES]);
const stamp = join(cache, "installed.json");
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== pins) install();
linkPiAi();

function install() {
  rmSync(stamp, { force: true });
  writeFileSync(join(cache, "package.json"), '{"private":true}\n');
  npm("install", "--ignore-scripts", "--no-audit", "--no-fund", ...LIBRARIES);
  for (const wanted of PACKAGES) unpack(wanted);
  writeFileSync(stamp, pins);
}

function unpack({ dir, spec, integrity }) {
  const [packed] = JSON.parse(npm("pack", "--json", "--ignore-scripts", spec));
  if (packed.integrity !== integrity) throw new Error(`${spec} is not the pinned package: ${packed.integrity}`);
  const fresh = join(cache, `${dir}.new`);
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh);
  execFileSync("tar", ["-xzf", packed.filename, "-C", fresh, "--strip-components=1"], { cwd: cache });
  rmSync(join(cache, dir), { recursive: true, force: true });
  renameSync(fresh, join(cache, dir));
  rmSync(join(cache, packed.filename));
}

// pi 1.5's session manager and compaction take some functions from pi-ai, whose own entry point needs packages
// that are not published. This stands in for that entry point and hands on the real functions. Nothing here calls
// a model.
function linkPiAi() {
  const at = join(cache, "node_modules", "@earendil-works", "pi-ai");
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), '{"name":"@earendil-works/pi-ai","type":"module","exports":{".":"./index.js","./compat":"./compat.js"}}\n');
  const real = "../../../pi-ai-1.5.0/dist/utils";
  writeFileSync(join(at, "index.js"), ["transcript", "uuid", "text", "retry"].map((m) => `export * from "${real}/${m}.js";\n`).join(""));
  writeFileSync(join(at, "compat.js"), 'export const completeSimple = () => { throw new Error("there is no model here"); };\n');
}

function npm(...args) {
  return execFileSync("npm", args, { cwd: cache, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
