// A clock that only moves when a script sets it. It replaces Date for everything in this process.
const START = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const RealDate = Date;
let now = START;

class ScriptDate extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now] : args));
  }
  static now() {
    return now;
  }
}

export const clock = {
  install: () => (globalThis.Date = ScriptDate),
  reset: () => (now = START),
  tick: (ms) => (now += ms),
};
