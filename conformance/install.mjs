// node install.mjs CACHE_DIR: puts the pinned packages into the cache, once.
//
// Only the session managers are needed, so each package of pi is unpacked on its own, without the many dependencies
// of the whole agent. That also lets pi 1.5.2 run on node 20, and not all of its dependencies are published.
// Chimera depends on nothing. omp's session manager imports much of omp, so all of it is installed, with the bun it runs on.
//
// Without pi the exit code is 1. Another agent that cannot be installed is named; main.mjs then says which checks that costs.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stampOf } from "./lib/peers.mjs";

const PACKAGES = [
  {
    dir: "pi-0.73.1",
    spec: "@mariozechner/pi-coding-agent@0.73.1",
    integrity: "sha512-gXQh3SaZmWTfVMc4Ao5+LGbVeKvzyO7tolok0nLsZgq9nGjZx/EEU3NM8C+qUnB4Nvs2rswG5qOVgLzQkq0fHQ==",
  },
  {
    dir: "pi-1.5.2",
    spec: "@earendil-works/pi-coding-agent@1.5.2",
    integrity: "sha512-mUWI04rqF1Vd/m1q+Ps1XeWsTXEVvRUnsmRa83I3Dzua0Tx5bYS93imeqtIfrXf7PkkaR6ERz+AuQhIJlom5yA==",
  },
  {
    dir: "pi-ai-1.5.2",
    spec: "@earendil-works/pi-ai@1.5.2",
    integrity: "sha512-2tWPSnV3qzfiDIY3aWluBag3vC++Vs+VsXt/UquSU5onPMohPih72FUhIhaqmDdMYubOgB3Byl9uF4Vk40JLvQ==",
  },
];
const LIBRARIES = ["cross-spawn@7.0.6", "uuid@14.0.3"];

const CHIMERA = "chimera-run==0.9.2.3 --hash=sha256:aaedbcb05646f60ebb249389722f418390ebcd79dce317eefed95db1f0e33193";
const OMP = {
  "@oh-my-pi/pi-coding-agent@18.2.3": "sha512-wc0JUWHoFiimpsn6JpC2aotZkB3gKzm7tunSAHcr1Kou8uVjt+WZIvGGcZMEFHIgEkX0NlNyHcbIL4NS/08n5Q==",
  "bun@1.4.4": "sha512-hj0ASdG6PNjLZGFAXktWb3Uaj/dcv/1wCsIttoEXADNIQBsGjTr+5uLKYbrDkuc7NT0Tkj4yPIqJI2jDxXdvVg==",
};

const cache = process.argv[2];
once(join(cache, "installed.json"), [PACKAGES, LIBRARIES], installPi);
linkPiAi();
for (const [agent, pins, install] of [["chimera", CHIMERA, installChimera], ["omp", OMP, installOmp]]) {
  try {
    once(stampOf(cache, agent), pins, install);
  } catch (error) {
    console.error(`CONFORMANCE NOT CHECKED: ${agent} could not be installed: ${error.message}`);
  }
}

/** Installs unless the stamp says that these very packages are there. */
function once(stamp, pins, install) {
  const wanted = JSON.stringify(pins);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(stamp, { force: true });
  install();
  writeFileSync(stamp, wanted);
}

function installPi() {
  writeFileSync(join(cache, "package.json"), '{"private":true}\n');
  npm(cache, "install", "--ignore-scripts", "--no-audit", "--no-fund", ...LIBRARIES);
  for (const wanted of PACKAGES) unpack(wanted);
}

function installChimera() {
  const dir = fresh("chimera");
  run("python3", "-m", "venv", dir);
  const pins = join(dir, "requirements.txt");
  writeFileSync(pins, `${CHIMERA}\n`);
  run(join(dir, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", pins);
}

function installOmp() {
  const dir = fresh("omp");
  writeFileSync(join(dir, "package.json"), '{"private":true}\n');
  npm(dir, "install", "--no-audit", "--no-fund", "--loglevel=error", ...Object.keys(OMP));
  const { packages } = JSON.parse(readFileSync(join(dir, "package-lock.json"), "utf8"));
  for (const [spec, integrity] of Object.entries(OMP)) {
    const found = packages[`node_modules/${spec.replace(/@[^@]*$/, "")}`]?.integrity;
    if (found !== integrity) throw new Error(`${spec} is not the pinned package: ${found}`);
  }
}

function fresh(name) {
  const dir = join(cache, name);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir);
  return dir;
}

function unpack({ dir, spec, integrity }) {
  const [packed] = JSON.parse(npm(cache, "pack", "--json", "--ignore-scripts", spec));
  if (packed.integrity !== integrity) throw new Error(`${spec} is not the pinned package: ${packed.integrity}`);
  const unpacked = fresh(`${dir}.new`);
  execFileSync("tar", ["-xzf", packed.filename, "-C", unpacked, "--strip-components=1"], { cwd: cache });
  rmSync(join(cache, dir), { recursive: true, force: true });
  renameSync(unpacked, join(cache, dir));
  rmSync(join(cache, packed.filename));
}

// pi 1.5's session manager and compaction take some functions from pi-ai, whose own entry point needs packages
// that are not published. This file replaces that entry point and exports the real functions. Nothing here calls
// a model.
function linkPiAi() {
  const at = join(cache, "node_modules", "@earendil-works", "pi-ai");
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), '{"name":"@earendil-works/pi-ai","type":"module","exports":{".":"./index.js","./compat":"./compat.js"}}\n');
  const real = "../../../pi-ai-1.5.2/dist/utils";
  writeFileSync(join(at, "index.js"), ["transcript", "uuid", "text", "retry"].map((m) => `export * from "${real}/${m}.js";\n`).join(""));
  writeFileSync(join(at, "compat.js"), 'export const completeSimple = () => { throw new Error("there is no model here"); };\n');
}

function npm(cwd, ...args) {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function run(program, ...args) {
  execFileSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
}
