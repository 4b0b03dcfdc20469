// Meshes for drawing: normals split at creases, feature lines, and coarser versions for distant bodies.

const CREASE = Math.cos((32 * Math.PI) / 180);

function faceNormals(vertex, triangle) {
  const normal = new Float32Array(triangle.length);
  for (let t = 0; t < triangle.length; t += 3) {
    const a = 3 * triangle[t], b = 3 * triangle[t + 1], c = 3 * triangle[t + 2];
    const ux = vertex[b] - vertex[a], uy = vertex[b + 1] - vertex[a + 1], uz = vertex[b + 2] - vertex[a + 2];
    const vx = vertex[c] - vertex[a], vy = vertex[c + 1] - vertex[a + 1], vz = vertex[c + 2] - vertex[a + 2];
    normal[t] = uy * vz - uz * vy;
    normal[t + 1] = uz * vx - ux * vz;
    normal[t + 2] = ux * vy - uy * vx;
  }
  return normal;
}

function unit(normal) {
  const out = normal.slice();
  for (let k = 0; k < out.length; k += 3) {
    const length = Math.hypot(out[k], out[k + 1], out[k + 2]) || 1;
    out[k] /= length; out[k + 1] /= length; out[k + 2] /= length;
  }
  return out;
}

// Squared sine below which a triangle has no area in single precision.
const FLAT = 1e-12;

function isFlat(vertex, triangle, normal, t) {
  let longest = 0;
  for (let k = 0; k < 3; k++) {
    const a = 3 * triangle[t + k], b = 3 * triangle[t + ((k + 1) % 3)];
    longest = Math.max(longest, Math.hypot(vertex[b] - vertex[a], vertex[b + 1] - vertex[a + 1], vertex[b + 2] - vertex[a + 2]));
  }
  return !(Math.hypot(normal[t], normal[t + 1], normal[t + 2]) > Math.sqrt(FLAT) * longest * longest);
}

// Triangles by edge, of those edges that belong to a triangle without area.
function trianglesAtEdges(triangle, flat, count) {
  const key = (a, b) => (a < b ? a * count + b : b * count + a);
  const at = new Map();
  const edge = (t, k) => key(triangle[t + k], triangle[t + ((k + 1) % 3)]);
  for (const t of flat) for (let k = 0; k < 3; k++) at.set(edge(t, k), []);
  for (let t = 0; t < triangle.length; t += 3) {
    for (let k = 0; k < 3; k++) at.get(edge(t, k))?.push(t);
  }
  return (t) => [0, 1, 2].flatMap((k) => at.get(edge(t, k)));
}

// Unit normals of all triangles. One without area has no normal of its own and takes that of a neighbour.
function unitNormals(vertex, triangle, area) {
  const normal = unit(area);
  let flat = [];
  for (let t = 0; t < triangle.length; t += 3) if (isFlat(vertex, triangle, area, t)) flat.push(t);
  if (!flat.length) return normal;
  const neighbours = trianglesAtEdges(triangle, flat, vertex.length / 3), open = new Set(flat);
  for (let before = 0; before !== flat.length; ) {
    before = flat.length;
    flat = flat.filter((t) => {
      const from = neighbours(t).find((other) => !open.has(other));
      if (from === undefined) return true;
      for (let k = 0; k < 3; k++) normal[t + k] = normal[from + k];
      open.delete(t);
      return false;
    });
  }
  return normal;
}

// A vertex is split into one per group of faces around it that meet at less than the crease angle.
export function smoothMesh(vertex, triangle) {
  const area = faceNormals(vertex, triangle), face = unitNormals(vertex, triangle, area);
  const first = new Int32Array(vertex.length / 3).fill(-1); // of each vertex: its first copy, then a linked list
  const position = [], normal = [], lead = [], next = [], source = [];
  const index = new Uint32Array(triangle.length);
  for (let corner = 0; corner < triangle.length; corner++) {
    const v = triangle[corner], f = corner - (corner % 3);
    let copy = first[v];
    while (copy >= 0 && face[f] * lead[3 * copy] + face[f + 1] * lead[3 * copy + 1] + face[f + 2] * lead[3 * copy + 2] < CREASE) {
      copy = next[copy];
    }
    if (copy < 0) {
      copy = next.length;
      next.push(first[v]);
      first[v] = copy;
      position.push(vertex[3 * v], vertex[3 * v + 1], vertex[3 * v + 2]);
      lead.push(face[f], face[f + 1], face[f + 2]);
      normal.push(1e-30 * face[f], 1e-30 * face[f + 1], 1e-30 * face[f + 2]); // if all its faces are without area
      source.push(v);
    }
    for (let k = 0; k < 3; k++) normal[3 * copy + k] += area[f + k];
    index[corner] = copy;
  }
  return { position: new Float32Array(position), normal: unit(new Float32Array(normal)), index, source: new Uint32Array(source) };
}

// A shape of smoothMesh with its vertices moved; smooth edges stay smooth.
export function moveShape(shape, vertex) {
  const { position, normal, index, source } = shape;
  for (let k = 0; k < source.length; k++) {
    for (let i = 0; i < 3; i++) position[3 * k + i] = vertex[3 * source[k] + i];
  }
  const area = faceNormals(position, index);
  normal.fill(0);
  for (let corner = 0; corner < index.length; corner++) {
    const f = corner - (corner % 3);
    for (let i = 0; i < 3; i++) normal[3 * index[corner] + i] += area[f + i];
  }
  normal.set(unit(normal));
}

// Lines along all edges of triangles, and along those at which the surface ends or has a crease.
export function meshLines(vertex, triangle) {
  const face = unitNormals(vertex, triangle, faceNormals(vertex, triangle));
  const count = vertex.length / 3;
  const seen = new Map(); // edge -> face, -1 once it has a second one
  const all = [], feature = [];
  for (let corner = 0; corner < triangle.length; corner++) {
    const f = corner - (corner % 3), a = triangle[corner], b = triangle[f + ((corner + 1) % 3)];
    const key = a < b ? a * count + b : b * count + a;
    const other = seen.get(key);
    if (other === undefined) {
      seen.set(key, f);
      all.push(a, b);
    } else if (other >= 0) {
      seen.set(key, -1);
      const cosine = face[f] * face[other] + face[f + 1] * face[other + 1] + face[f + 2] * face[other + 2];
      if (cosine < CREASE) feature.push(a, b);
    }
  }
  for (const [key, f] of seen) if (f >= 0) feature.push(Math.floor(key / count), key % count);
  return { all: new Uint32Array(all), feature: new Uint32Array(feature) };
}

// Coarser mesh: all vertices in one cell of a grid are merged.
export function coarser(vertex, triangle, cells) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < vertex.length; k++) {
    low[k % 3] = Math.min(low[k % 3], vertex[k]);
    high[k % 3] = Math.max(high[k % 3], vertex[k]);
  }
  const size = Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2]) / cells || 1;
  const cell = new Map(), target = new Uint32Array(vertex.length / 3), sum = [], weight = [];
  for (let v = 0; v < target.length; v++) {
    const key = [0, 1, 2].reduce((sofar, k) => sofar * 4096 + Math.floor((vertex[3 * v + k] - low[k]) / size), 0);
    let id = cell.get(key);
    if (id === undefined) {
      id = weight.length;
      cell.set(key, id);
      sum.push(0, 0, 0);
      weight.push(0);
    }
    target[v] = id;
    weight[id]++;
    for (let k = 0; k < 3; k++) sum[3 * id + k] += vertex[3 * v + k];
  }
  const kept = [];
  for (let t = 0; t < triangle.length; t += 3) {
    const a = target[triangle[t]], b = target[triangle[t + 1]], c = target[triangle[t + 2]];
    if (a !== b && b !== c && a !== c) kept.push(a, b, c);
  }
  return { vertex: Float32Array.from(sum, (value, k) => value / weight[Math.floor(k / 3)]), triangle: new Uint32Array(kept) };
}

export function meshRadius(vertex) {
  let most = 0;
  for (let k = 0; k < vertex.length; k += 3) most = Math.max(most, vertex[k] ** 2 + vertex[k + 1] ** 2 + vertex[k + 2] ** 2);
  return Math.sqrt(most);
}

// An arrow along +z of length 1 (shaft, then head), or a ball: positions and normals.
export function arrowShape(sides = 10) {
  const position = [], normal = [], index = [];
  const ring = (radius, z, nz) => {
    for (let k = 0; k < sides; k++) {
      const a = (2 * Math.PI * k) / sides, scale = Math.sqrt(1 - nz * nz);
      position.push(radius * Math.cos(a), radius * Math.sin(a), z);
      normal.push(scale * Math.cos(a), scale * Math.sin(a), nz);
    }
  };
  const band = (from) => {
    for (let k = 0; k < sides; k++) {
      const a = from + k, b = from + ((k + 1) % sides);
      index.push(a, b, a + sides, b, b + sides, a + sides);
    }
  };
  // Radii are in units of the arrow's thickness, heights in its length; z beyond 1 is the head (see the shader).
  ring(0.35, 0, 0); ring(0.35, 1, 0); band(0);
  ring(0.35, 1, -0.99); ring(1, 1, -0.99); band(2 * sides);
  ring(1, 1, 0.4); ring(0.001, 2, 0.4); band(4 * sides);
  return { position: new Float32Array(position), normal: new Float32Array(normal), index: new Uint32Array(index) };
}

export function ballShape(rings = 8, sides = 12) {
  const position = [], index = [];
  for (let r = 0; r <= rings; r++) {
    for (let k = 0; k <= sides; k++) {
      const t = (Math.PI * r) / rings, a = (2 * Math.PI * k) / sides;
      position.push(Math.sin(t) * Math.cos(a), Math.sin(t) * Math.sin(a), Math.cos(t));
    }
  }
  for (let r = 0; r < rings; r++) {
    for (let k = 0; k < sides; k++) {
      const a = r * (sides + 1) + k, b = a + sides + 1;
      index.push(a, b, a + 1, b, b + 1, a + 1);
    }
  }
  return { position: new Float32Array(position), normal: new Float32Array(position), index: new Uint32Array(index) };
}
