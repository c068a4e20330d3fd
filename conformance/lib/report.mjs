// Counts what a check did and tells about differences.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const SHOWN = 5;

export class Report {
  scripts = 0;
  contexts = 0;
  failed = 0;
  constructor(check) {
    this.check = check;
  }

  /** Runs one script; `story` is filled in by the script and printed if it fails. Returns whether it passed. */
  async run(name, script) {
    const story = { operations: [], files: [] };
    this.scripts++;
    try {
      const compared = await script(story);
      this.contexts += compared;
      return true;
    } catch (error) {
      this.failed++;
      if (this.failed <= SHOWN) console.error(this.#tell(name, story, error));
      else if (this.failed === SHOWN + 1) console.error(`${this.check}: further differences are counted, not shown`);
      return false;
    }
  }

  #tell(name, story, error) {
    const told = error.constructor.name === "Difference" ? error.message : (error.stack ?? String(error));
    // Long operations are cut short on the screen; the file beside the session has all of them.
    if (story.dir) writeFileSync(join(story.dir, "operations.jsonl"), story.operations.map((op) => `${JSON.stringify(op)}\n`).join(""));
    return [
      `\n--- ${this.check}: ${name}`,
      ...story.operations.map((op, i) => `  ${i + 1}. ${JSON.stringify(op).slice(0, 240)}`),
      ...story.files.map((file) => `file kept: ${file}`),
      told,
      `again: conformance/run.sh --check ${this.check}${story.seed === undefined ? "" : ` --seed ${story.seed} --scripts 1`}\n---`,
    ].join("\n");
  }

  summary() {
    return `${this.check}: ${this.scripts} scripts, ${this.contexts} contexts compared, ${this.failed} differences`;
  }
}

/** Calls `work` for every item, `width` of them at a time. */
export async function inParallel(items, width, work) {
  const queue = items[Symbol.iterator]();
  await Promise.all(Array.from({ length: width }, async () => {
    for (const item of queue) await work(item);
  }));
}
