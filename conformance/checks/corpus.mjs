// Files of four generations of pi, with pi's own results for them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mustEqual, sha256 } from "../lib/compare.mjs";

export async function check({ treering, corpus }, report) {
  if (!corpus || !existsSync(corpus)) {
    console.error("corpus: SKIPPED, there is no directory of sample sessions");
    return;
  }
  for (const folder of readdirSync(corpus).filter((name) => name.startsWith("pi-")).sort()) {
    for (const name of readdirSync(join(corpus, folder)).filter((n) => n.endsWith(".expect.json")).sort()) {
      const file = join(corpus, folder, name.replace(/\.expect\.json$/, ".jsonl"));
      const expected = JSON.parse(readFileSync(join(corpus, folder, name), "utf8"));
      await report.run(`${folder}/${name}`, (story) => {
        story.files = [file];
        return compare(treering, file, expected);
      });
    }
  }
}

async function compare(treering, file, expected) {
  const tree = await treering.tree(file);
  // Version 1 has no ids: the expectation counts lines, and the tree is one chain in file order.
  const byLine = expected.ids?.startsWith("line index");
  const lines = new Map(tree.map((n, i) => [n.id, String(i + 1)]));
  const name = (id) => (byLine ? lines.get(id) : id);
  const id = (wanted) => (byLine ? tree[Number(wanted) - 1].id : wanted);

  const same = (what, found, wanted) => mustEqual(what, found, wanted, [treering.name, expected.oracle]);
  same("number of entries", tree.length, expected.entries);
  same("leaf", tree.filter((n) => n.leaf).map((n) => name(n.id)), [expected.leaf]);
  same("labels", Object.fromEntries(tree.filter((n) => n.label).map((n) => [name(n.id), n.label])), expected.labels);
  same("roots", tree.filter((n) => n.depth === 0).map((n) => name(n.id)), expected.tree.roots);
  same("tree in pre-order", tree.map((n) => name(n.id)), expected.tree.preorder);

  let compared = 0;
  for (const [leaf, wanted] of Object.entries(expected.contexts)) {
    const at = `at leaf ${leaf}`;
    const onPath = await path(treering, file, id(leaf), byLine, tree);
    same(`path ${at}`, onPath.map(name), wanted.ids_on_path);
    const found = await treering.context(file, id(leaf));
    if (wanted.messages) same(`messages ${at}`, found.messages, wanted.messages);
    same(`messages ${at}`, { roles: found.messages.map((m) => m.role), sha256: sha256(found.messages) }, { roles: wanted.roles, sha256: wanted.messages_sha256 });
    same(`settings ${at}`, { thinkingLevel: found.thinkingLevel, model: found.model }, { thinkingLevel: wanted.thinkingLevel, model: wanted.model });
    compared++;
  }
  return compared;
}

async function path(treering, file, leaf, byLine, tree) {
  const log = await treering.log(file, leaf);
  // The original entries of version 1 have no ids to look at: the chain is as long as the path says.
  return byLine ? tree.slice(0, log.length).map((n) => n.id) : log.map((e) => e.id);
}
