// Seeded random numbers: the same seed gives the same script everywhere.
export class Random {
  #state;
  constructor(seed) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0;
    for (let i = 0; i < 4; i++) this.next();
  }
  /** A number in [0, 1). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  }
  /** An integer in [low, high]. */
  int(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }
  chance(probability) {
    return this.next() < probability;
  }
  of(list) {
    return list[this.int(0, list.length - 1)];
  }
  /** A key of `weights`, as often as its weight says. */
  weighted(weights) {
    let left = this.next() * Object.values(weights).reduce((a, b) => a + b, 0);
    for (const [key, weight] of Object.entries(weights)) {
      left -= weight;
      if (left < 0) return key;
    }
    return Object.keys(weights)[0];
  }
  hex(length) {
    let out = "";
    while (out.length < length) out += this.int(0, 15).toString(16);
    return out;
  }
  shuffle(list) {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }
}
