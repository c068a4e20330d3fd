// node --import register.mjs …: pi's module `session-manager` is treering/pi from now on.
import { register } from "node:module";

register("./hooks.mjs", import.meta.url, { data: { replacement: import.meta.resolve("treering/pi"), log: process.env.TREERING_HOOK_LOG } });
