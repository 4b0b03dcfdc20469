// A run of very many bodies that never was: answers to what the page asks (docs/viewer.md, "The data"), so that the page can be
// timed with more than a test could simulate. Rings of 448 triangles in a cube, turning; contacts between neighbours.

const SEGMENTS = 28, SIDES = 8, FRAMES = 4;

function ring() {
  const vertex = [], triangle = [], at = (s, t) => (s % SEGMENTS) * SIDES + (t % SIDES);
  for (let s = 0; s < SEGMENTS; s++) {
    for (let t = 0; t < SIDES; t++) {
      const a = (2 * Math.PI * s) / SEGMENTS, b = (2 * Math.PI * t) / SIDES, r = 0.3 + 0.1 * Math.cos(b);
      vertex.push(r * Math.cos(a), r * Math.sin(a), 0.1 * Math.sin(b));
      triangle.push(at(s, t), at(s + 1, t), at(s + 1, t + 1), at(s, t), at(s + 1, t + 1), at(s, t + 1));
    }
  }
  return { vertex: new Float32Array(vertex), triangle: new Uint32Array(triangle) };
}

const place = (b, side) => [b % side, Math.floor(b / side) % side, Math.floor(b / (side * side))].map((k) => 0.9 * k);

function frame(index, bodies, side) {
  const stride = 16 + 8 * Math.ceil((76 * bodies) / 8), buffer = new ArrayBuffer(stride);
  new Float64Array(buffer, 0, 2).set([index, 0.01 * index]);
  const pose = new Float32Array(buffer, 16, 12 * bodies), velocity = new Float32Array(buffer, 16 + 48 * bodies, 6 * bodies);
  for (let b = 0; b < bodies; b++) {
    const a = 0.1 * index + b, c = Math.cos(a), s = Math.sin(a);
    pose.set([...place(b, side), c, s, 0, -s, c, 0, 0, 0, 1], 12 * b);
    velocity.set([0, 0, b % 7, 0, 0, 10], 6 * b);
  }
  return Buffer.from(buffer);
}

function contacts(index, bodies, each, side) {
  const count = each * bodies, buffer = new ArrayBuffer(4 + 56 * count), view = new DataView(buffer);
  view.setUint32(0, count, true);
  for (let k = 0; k < count; k++) {
    const a = Math.floor(k / each), at = 4 + 56 * k, force = 1 + ((k * 7 + index) % 50);
    [a + 1, ((a + 1) % bodies) + 1, 0].forEach((value, i) => view.setUint32(at + 4 * i, value, true));
    [...place(a, side), 0, 0, 1, 1e-3, force, 0.1 * force, 0, 0].forEach((value, i) => view.setFloat32(at + 12 + 4 * i, value, true));
  }
  return Buffer.from(buffer);
}

// Gives the function from an address to its answer.
export function crowd(bodies, contactsEach) {
  const side = Math.ceil(Math.cbrt(bodies)), { vertex, triangle } = ring(), list = (value) => Array.from({ length: bodies }, (_, b) => value(b));
  const meta = {
    format: 1, live: false, dt: 0.01, up: [0, 0, 1], contacts: contactsEach ? '1' : '0', scene_name: 'crowd', joints: [],
    meshes: [{ vertices: vertex.length / 3, triangles: triangle.length / 3, wires: 0, closed: true, half_space: false, name: 'ring' }],
    bodies: { name: list((b) => `ring ${b + 1}`), mesh: list(() => 0), motion: list(() => 0), mass: list(() => 1), color: list((b) => (b % 2 ? '#c08040' : '#4080c0')) },
  };
  const range = (url, make) => {
    const from = Number(url.searchParams.get('from')), end = Math.min(FRAMES, from + Number(url.searchParams.get('count') ?? 1));
    return Buffer.concat(Array.from({ length: Math.max(0, end - from) }, (_, k) => make(from + k)));
  };
  const answers = {
    meta: () => Buffer.from(JSON.stringify(meta)),
    status: () => Buffer.from(JSON.stringify({ frames: FRAMES, last_step: FRAMES - 1, generation: 0, writing: false })),
    steps: (url) => Buffer.from(new Float64Array(Array.from({ length: FRAMES }, (_, k) => k).slice(Number(url.searchParams.get('from')))).buffer),
    meshes: () => Buffer.concat([Buffer.from(vertex.buffer), Buffer.from(triangle.buffer)]),
    frames: (url) => range(url, (k) => frame(k, bodies, side)),
    contacts: (url) => range(url, (k) => contacts(k, bodies, contactsEach, side)),
    reports: () => Buffer.alloc(0),
  };
  return (address) => {
    const url = new URL(address);
    return answers[url.pathname.replace('/api/', '')](url);
  };
}
