// Loaded frames and contacts near the playhead: a run may be far larger than memory.

const MOST_BYTES = 600e6;
const BLOCK_BYTES = 3e6;

// Fetches ranges of items by index, caches them, drops those far from the playhead.
class RangeStore {
  constructor(fetchRange, itemBytes, onArrival, onNothing) {
    Object.assign(this, { fetchRange, itemBytes, onArrival, onNothing });
    this.items = new Map();
    this.pending = new Map();   // block -> promise
    this.count = 0;             // number of items at the source
    this.epoch = 0;
    this.latest = -1;
    this.failure = null;
    this.block = Math.max(1, Math.min(64, Math.floor(BLOCK_BYTES / itemBytes)));
    this.capacity = Math.max(4 * this.block, Math.floor(MOST_BYTES / itemBytes));
  }

  get(index) { return this.items.get(index); }

  // The newest item loaded, for following the end; -1 if there is none.
  newest() {
    while (this.latest >= 0 && !this.items.has(this.latest)) this.latest--;
    return this.latest;
  }

  // Takes over the items of a store whose frames have fewer bodies.
  adopt(other, convert) {
    for (const [index, item] of other.items) this.items.set(index, convert(item));
    Object.assign(this, { count: other.count, latest: other.latest });
  }

  clear() {
    this.items.clear();
    this.pending.clear();
    this.count = 0;
    this.latest = -1;
    this.epoch++;
  }

  // Begins to fetch the block of an item.
  want(index) {
    if (index < 0 || index >= this.count || this.items.has(index)) return;
    const block = Math.floor(index / this.block);
    if (this.pending.has(block) || this.pending.size >= 3) return;
    let from = block * this.block;
    const end = Math.min(from + this.block, this.count);
    while (from < end && this.items.has(from)) from++;
    const epoch = this.epoch;
    const request = this.fetchRange(from, end - from).then((items) => {
      if (epoch !== this.epoch) return;
      items.forEach((item, k) => this.items.set(from + k, item));
      this.latest = Math.max(this.latest, from + items.length - 1);
      this.trim(index);
      this.failure = null;
      if (items.length) this.onArrival(from, items.length);
      else this.onNothing?.();
    }).catch((error) => { this.failure = error; }).finally(() => {
      if (epoch === this.epoch) this.pending.delete(block);
    });
    this.pending.set(block, request);
  }

  trim(center) {
    if (this.items.size <= this.capacity) return;
    const far = [...this.items.keys()].sort((a, b) => Math.abs(b - center) - Math.abs(a - center));
    far.slice(0, this.items.size - this.capacity).forEach((index) => this.items.delete(index));
  }

  // The item and the next ones.
  ahead(index, blocks = 2) {
    this.want(index);
    for (let k = 1; k <= blocks; k++) this.want(index + k * this.block);
  }

  // Loaded ranges [first, last], for the slider.
  held() {
    const ranges = [];
    for (let k = 0; k < this.count; k += this.block) {
      if (!this.items.has(k)) continue;
      const end = Math.min(k + this.block, this.count);
      if (ranges.length && ranges[ranges.length - 1][1] === k) ranges[ranges.length - 1][1] = end;
      else ranges.push([k, end]);
    }
    return ranges;
  }
}

const softVertices = (meta) => meta.meshes.reduce((sum, mesh) => sum + (mesh.soft ? mesh.vertices : 0), 0);

// Bytes of one frame: poses, velocities and strains of the bodies, then the vertices of the soft ones, then stresses there.
export function frameStride(meta) {
  return 16 + 8 * Math.ceil((meta.bodies.name.length * 76 + 16 * softVertices(meta)) / 8);
}

// The largest stress in each body; NaN if it is not soft.
function bodyStress(meta, stress) {
  let at = 0;
  return Float32Array.from(meta.bodies.mesh, (mesh) => {
    const { soft, vertices } = meta.meshes[mesh];
    if (!soft) return NaN;
    let most = 0;
    for (const end = at + vertices; at < end; at++) most = Math.max(most, stress[at]);
    return most;
  });
}

// The source sends nothing if bodies came or went since meta was read: onNothing then reads it again.
export function frameStore(source, meta, onArrival, onNothing) {
  const stride = frameStride(meta), bodyCount = meta.bodies.name.length, softCount = softVertices(meta);
  const read = async (from, count) => {
    const buffer = await source.frames(from, count, meta.changes);
    if (buffer.byteLength % stride || buffer.byteLength > count * stride) throw new Error('these frames have other bodies');
    const frames = [];
    for (let at = 0; at + stride <= buffer.byteLength; at += stride) {
      const [step, time] = new Float64Array(buffer, at, 2);
      const stress = new Float32Array(buffer, at + 16 + 76 * bodyCount + 12 * softCount, softCount);
      frames.push({
        step, time,
        pose: new Float32Array(buffer, at + 16, 12 * bodyCount),
        velocity: new Float32Array(buffer, at + 16 + 48 * bodyCount, 6 * bodyCount),
        strain: new Float32Array(buffer, at + 16 + 72 * bodyCount, bodyCount),
        soft: new Float32Array(buffer, at + 16 + 76 * bodyCount, 3 * softCount),
        stress, bodyStress: bodyStress(meta, stress),
      });
    }
    return frames;
  };
  return new RangeStore(read, stride, onArrival, onNothing);
}

// A frame of a run in which more bodies have come since. Bodies are never taken off the lists.
export function growFrame(frame, meta) {
  const bodies = meta.bodies.name.length, soft = softVertices(meta);
  const longer = (array, length) => { const out = new Float32Array(length); out.set(array); return out; };
  const stress = longer(frame.stress, soft);
  return {
    ...frame, pose: longer(frame.pose, 12 * bodies), velocity: longer(frame.velocity, 6 * bodies), strain: longer(frame.strain, bodies),
    soft: longer(frame.soft, 3 * soft), stress, bodyStress: bodyStress(meta, stress),
  };
}

// Records of equal size, preceded by their count in each frame; record k is at 4 * words * k in both views.
function recordStore(fetchRange, words, itemBytes, onArrival) {
  const read = async (from, count) => {
    const buffer = await fetchRange(from, count);
    const view = new DataView(buffer);
    const items = [];
    for (let at = 0; at + 4 <= buffer.byteLength;) {
      const records = view.getUint32(at, true);
      items.push({
        count: records,
        u32: new Uint32Array(buffer, at + 4, words * records),
        f32: new Float32Array(buffer, at + 4, words * records),
      });
      at += 4 + 4 * words * records;
    }
    return items;
  };
  return new RangeStore(read, itemBytes, onArrival);
}

export const CONTACT_WORDS = 14;
export const JOINT_WORDS = 17;
export const contactStore = (source, onArrival) =>
  recordStore((from, count) => source.contacts(from, count), CONTACT_WORDS, 60000, onArrival);
export const jointStore = (source, jointCount, onArrival) =>
  recordStore((from, count) => source.joints(from, count), JOINT_WORDS, 4 + 4 * JOINT_WORDS * jointCount, onArrival);

// The reports of all steps, as growing columns.
export class Reports {
  constructor() { this.clear(); }

  clear() {
    this.columns = {};
    this.length = 0;
    this.capacity = 0;
  }

  grow(names, rows) {
    if (this.length + rows <= this.capacity && names.every((name) => this.columns[name])) return;
    this.capacity = Math.max(1024, 2 * (this.length + rows));
    for (const name of names) {
      const old = this.columns[name];
      this.columns[name] = new Float64Array(this.capacity).fill(NaN);
      if (old) this.columns[name].set(old.subarray(0, this.length));
    }
  }

  // Adds an answer; returns its number of rows.
  add(buffer) {
    if (buffer.byteLength < 8) return 0;
    const length = new DataView(buffer).getUint32(0, true);
    const { columns } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const values = new Float64Array(buffer, 4 + length);
    const rows = Math.floor(values.length / columns.length);
    this.grow(columns, rows);
    columns.forEach((name, c) => {
      const column = this.columns[name];
      for (let r = 0; r < rows; r++) column[this.length + r] = values[r * columns.length + c];
    });
    this.length += rows;
    return rows;
  }

  last(name) { return this.length ? this.columns[name]?.[this.length - 1] : undefined; }

  // Row of a step by bisection; -1 if there is none.
  row(step) {
    const steps = this.columns.step;
    let low = 0, high = this.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (steps[middle] === step) return middle;
      if (steps[middle] < step) low = middle + 1; else high = middle - 1;
    }
    return -1;
  }
}
