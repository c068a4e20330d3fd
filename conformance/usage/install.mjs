// node install.mjs CACHE_DIR: puts the pinned packages of ccusage into the cache, once.
//
// Version 20 is a program for each platform; version 18 is the last one that runs on node alone.
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const platform = `@ccusage/ccusage-${process.platform}-${process.arch}`;
const PINNED = {
  20: { specs: ["ccusage@20.0.24", `${platform}@20.0.24`], integrity: "sha512-sHq7axM0ucbFS4m5xFzS7NxYSmOP1+PSDup3nVb+pitI3eEuwEiGObhsXvu47DSvB2hHpEts/quA3/0EE5i1Zw==" },
  18: { specs: ["ccusage@18.0.11"], integrity: "sha512-QIFCY2gh06vjWelND1gDwJxrniAcNkPw0OHUhz985iE7FIEf738YVzxUKQMKhA2fO9CIJCz0dSpnyIufaKdjdA==" },
};

const cache = process.argv[2];
for (const [version, { specs, integrity }] of Object.entries(PINNED)) {
  const dir = join(cache, `ccusage-${version}`);
  const stamp = join(dir, "installed.json");
  const wanted = JSON.stringify([specs, integrity]);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) continue;
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), '{"private":true}\n');
  execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", ...specs], { cwd: dir, stdio: ["ignore", "ignore", "inherit"] });
  const { packages } = JSON.parse(readFileSync(join(dir, "package-lock.json"), "utf8"));
  const found = packages["node_modules/ccusage"]?.integrity;
  if (found !== integrity) throw new Error(`${specs[0]} is not the pinned package: ${found}`);
  const program = join(dir, "node_modules", platform, "bin", "ccusage");
  if (existsSync(program)) chmodSync(program, 0o755);
  writeFileSync(stamp, wanted);
}
