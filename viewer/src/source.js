// The source of the data: a server, or the page itself. Both answer the same requests with the same bytes; docs/viewer.md
// describes the layout.

import { frameStride } from './store.js';

export class HttpSource {
  async bytes(path) {
    const answer = await fetch(`api/${path}`);
    if (!answer.ok) throw new Error((await answer.text()).trim() || `${path}: status ${answer.status}`);
    return answer.arrayBuffer();
  }

  async json(path) {
    return JSON.parse(new TextDecoder().decode(await this.bytes(path)));
  }

  meta() { return this.json('meta'); }
  status() { return this.json('status'); }
  steps(from) { return this.bytes(`steps?from=${from}`); }
  meshes(from, count) { return this.bytes(`meshes?from=${from}&count=${count}`); }
  frames(from, count, changes) { return this.bytes(`frames?from=${from}&count=${count}&changes=${changes}`); }
  contacts(from, count) { return this.bytes(`contacts?from=${from}&count=${count}`); }
  joints(from, count) { return this.bytes(`joints?from=${from}&count=${count}`); }
  reports(after) { return this.bytes(`reports?after=${after}`); }

  async control(command) {
    const answer = await fetch('api/control', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(command),
    });
    if (!answer.ok) throw new Error((await answer.text()).trim());
  }
}

function fromBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Decodes packed frames: the four bytes of every word are in four planes, and each frame's words are the exclusive or with
// those of the previous frame.
function unpackFrames(planes, stride) {
  const words = planes.length / 4;
  const out = new Uint32Array(words);
  for (let k = 0; k < words; k++) {
    out[k] = planes[k] | (planes[words + k] << 8) | (planes[2 * words + k] << 16) | (planes[3 * words + k] << 24);
  }
  const step = stride / 4;
  for (let k = step; k < words; k++) out[k] ^= out[k - step];
  return out.buffer;
}

export class EmbeddedSource {
  constructor() {
    this.elements = Object.fromEntries([...document.querySelectorAll('script[id^="abd-"]')].map((e) => [e.id.slice(4), e]));
    this.description = JSON.parse(this.elements.meta.textContent);
    this.sections = {};
  }

  static present() { return document.getElementById('abd-meta') !== null; }

  async section(name) {
    if (!this.sections[name]) {
      const element = this.elements[name];
      let bytes = element ? fromBase64(element.textContent) : new Uint8Array(0);
      if (element?.dataset.packing?.includes('deflate')) bytes = await inflate(bytes);
      this.sections[name] = element?.dataset.packing?.includes('planes')
        ? unpackFrames(bytes, Number(element.dataset.stride)) : bytes.buffer;
      delete this.elements[name];
    }
    return this.sections[name];
  }

  async meta() { return this.description; }
  async status() { return { generation: 0, changes: this.description.changes, frames: this.description.frames, writing: false }; }
  async steps(from) { return (await this.section('steps')).slice(8 * from); }
  async reports(after) { return after < 0 ? this.section('reports') : new ArrayBuffer(0); }

  async meshes(from, count) {
    const size = (k) => { const m = this.description.meshes[k]; return 12 * m.vertices + 12 * m.triangles + 8 * m.wires; };
    let start = 0, end = 0;
    for (let k = 0; k < from; k++) start += size(k);
    end = start;
    for (let k = from; k < from + count && k < this.description.meshes.length; k++) end += size(k);
    return (await this.section('meshes')).slice(start, end);
  }

  async frames(from, count) {
    const stride = frameStride(this.description);
    return (await this.section('frames')).slice(from * stride, (from + count) * stride);
  }

  // Sections of records of different lengths: each frame's begins with its count.
  async records(name, words, from, count) {
    const whole = new DataView(await this.section(name));
    const starts = (this.starts ??= {})[name] ?? (this.starts[name] = [0]);
    while (starts.length <= from + count && starts[starts.length - 1] < whole.byteLength) {
      const at = starts[starts.length - 1];
      starts.push(at + 4 + 4 * words * whole.getUint32(at, true));
    }
    const last = starts.length - 1;
    return whole.buffer.slice(starts[Math.min(from, last)], starts[Math.min(from + count, last)]);
  }

  contacts(from, count) { return this.records('contacts', 14, from, count); }
  joints(from, count) { return this.records('joints', 17, from, count); }
  async control() { throw new Error('this page shows a recording'); }
}
