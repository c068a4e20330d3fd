// Compiled with --strict, never run: the declarations say what programs need.
import { type CompactionPlan, type Context, type Entry, openStore, Session, type SessionInfo, TreeringError } from "treering";
import { type SessionEntry, SessionManager, setCompatibility } from "treering/pi";

export async function everything(): Promise<void> {
  using session = Session.inMemory("/project");
  const id: string = session.appendMessageSync({ role: "user", content: "hello", timestamp: 1 });
  const context: Context = await session.context({ at: id, signal: AbortSignal.timeout(1000) });
  session.on("change", (change) => change.entries.map((entry) => entry.length));
  // @ts-expect-error There is no such event.
  session.on("chang", () => undefined);
  for (const entry of session) ((entry: Entry) => entry.id)(entry);
  for await (const change of session.changes()) change.isOwn satisfies boolean;
  const plan = await session.planCompaction();
  if (plan.status === "ready") ((ready: CompactionPlan) => ready.firstKept)(plan);
  // @ts-expect-error A plan that is not ready has no requests.
  else plan.historyRequest;
  await using other = await Session.open("/file");
  await session.cherryPick({ first: id, last: id }, { from: other });
  const store = await openStore("/directory");
  for await (const info of store.sessions()) ((info: SessionInfo) => info.path)(info);
  try {
    session.branchSync(null);
  } catch (error) {
    if (error instanceof TreeringError) error.code satisfies string;
  }
  context.messages.length satisfies number;
}

export async function pi(): Promise<void> {
  setCompatibility({ navigation: "memory" });
  // @ts-expect-error There is no such behavior.
  setCompatibility("pi-7");
  const manager = SessionManager.create("/project");
  const entry: SessionEntry | undefined = manager.getEntry("1");
  if (entry?.type === "compaction") entry.firstKeptEntryId satisfies string;
  for (const info of await SessionManager.listAll()) info.modified satisfies Date;
}
