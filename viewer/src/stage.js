// The picture: bodies as instances of their meshes with full affine matrices, coarser versions for distant ones, the
// ground, marks of contacts, shadows, and picking.
import * as THREE from 'three';
import { coarser, meshLines, meshRadius, moveShape, smoothMesh } from './geometry.js';
import { CONTACT_ID } from './forces.js';
import { Marks } from './marks.js';
import { NO_LINES, Part, addMesh } from './part.js';
import { groundMaterial, makeMaterials, uniforms } from './shade.js';

const SHADOW_SIZE = 2048;
const MANY_TRIANGLES = 1.5e6;     // beyond this, far bodies are drawn coarser

// Whether a body is not in a frame: its pose is 0, which draws nothing.
export function isAbsent(frame, body) {
  const p = frame.pose, o = 12 * body;
  return p[o + 3] === 0 && p[o + 4] === 0 && p[o + 5] === 0;
}

export class Stage {
  constructor(canvas) {
    const context = canvas.getContext('webgl2', { antialias: true, alpha: false, powerPreference: 'high-performance' });
    if (!context) throw new Error('This browser offers no WebGL 2, which the viewer needs.');
    this.renderer = new THREE.WebGLRenderer({ canvas, context, antialias: true });
    this.renderer.autoClear = false;
    this.materials = makeMaterials();
    this.scene = new THREE.Scene();
    this.shadowScene = new THREE.Scene();
    this.pickScene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
    this.sunCamera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
    this.focus = { center: new THREE.Vector3(), radius: 1 };
    this.show = { edges: true, wire: false, shadows: true, contacts: true };
    this.groups = [];   // for each mesh: its bodies and parts
    this.soft = [];     // bodies whose vertices move
    this.grounds = [];
    this.size = { width: 1, height: 1 };
    this.made = [];     // objects of bodies, with their scenes
    this.makeTargets();
    this.makeBack();
    this.marks = new Marks(this.materials);
  }

  makeTargets() {
    const nearest = { minFilter: THREE.NearestFilter, magFilter: THREE.NearestFilter };
    this.shadowTarget = new THREE.WebGLRenderTarget(SHADOW_SIZE, SHADOW_SIZE, nearest);
    this.shadowTarget.depthTexture = new THREE.DepthTexture(SHADOW_SIZE, SHADOW_SIZE, THREE.UnsignedIntType);
    uniforms.shadowMap.value = this.shadowTarget.depthTexture;
    this.pickTarget = new THREE.WebGLRenderTarget(1, 1, nearest);
  }

  makeBack() {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3));
    addMesh(this.scene, THREE.Mesh, geometry, this.materials.back, -10);
  }

  // ---- Meshes ----

  add(scene, Type, geometry, material, order) {
    const object = addMesh(scene, Type, geometry, material, order);
    this.made.push({ scene, object });
    return object;
  }

  // Removes all bodies.
  clear() {
    for (const { scene, object } of this.made) {
      scene.remove(object);
      object.geometry.dispose();
    }
    this.made = [];
    this.groups = [];
    this.soft = [];
    this.grounds = [];
    this.pose = undefined;
  }

  setBodies(bodies, up) {
    this.bodies = bodies;
    this.up = up.clone();
    uniforms.up.value.copy(up);
    const n = bodies.name.length;
    this.color = new Float32Array(4 * n);
    this.hidden = new Uint8Array(n);
    this.byMesh = [];
    for (let b = 0; b < n; b++) (this.byMesh[bodies.mesh[b]] ??= []).push(b);
    this.radius = new Float32Array(n);
    this.large = false; // whether the scene has very many triangles
    this.placeSun();
  }

  placeSun() {
    const side = new THREE.Vector3(Math.abs(this.up.x) < 0.9 ? 1 : 0, Math.abs(this.up.x) < 0.9 ? 0 : 1, 0);
    side.addScaledVector(this.up, -side.dot(this.up)).normalize();
    const third = new THREE.Vector3().crossVectors(this.up, side);
    uniforms.sun.value.copy(this.up).multiplyScalar(1.25).addScaledVector(side, 0.75).addScaledVector(third, -0.55).normalize();
  }

  totalTriangles(meshes) {
    return this.byMesh.reduce((sum, list, m) => sum + (list ? list.length * meshes[m].triangles : 0), 0);
  }

  // vertex, triangle, wires of mesh m as received.
  addMesh(m, description, vertex, triangle, wires, large) {
    const list = this.byMesh[m];
    this.large = large;
    if (!list) return;
    const radius = meshRadius(vertex);
    for (const b of list) this.radius[b] = radius;
    if (description.half_space) {
      this.addGround(vertex, triangle, list);
      return;
    }
    const group = { list, radius, levels: [], closed: description.closed };
    this.groups.push(group);
    if (description.soft) {
      this.addSoft(group, vertex.slice(), triangle, wires, description.closed);
      return;
    }
    if (triangle.length) {
      group.levels.push(this.makePart(vertex, triangle, list.length, description.closed));
      for (const cells of large && triangle.length > 240 ? [10, 6, 4] : []) {
        const rough = coarser(vertex, triangle, cells);
        if (rough.triangle.length && rough.triangle.length < 0.6 * 3 * group.levels[group.levels.length - 1].triangles) {
          group.levels.push(this.makePart(rough.vertex, rough.triangle, list.length, false, NO_LINES));
        }
      }
    }
    if (wires.length) group.wires = this.makeWires(vertex, wires, list.length);
  }

  // A soft body has its own mesh, which moves; vertices are in the order of the bodies.
  addSoft(group, vertex, triangle, wires, closed) {
    this.soft.push({ body: group.list[0], vertex, ...this.softParts(group, vertex, triangle, wires, closed) });
    this.soft.sort((a, b) => a.body - b.body);
  }

  softParts(group, vertex, triangle, wires, closed) {
    if (!triangle.length) { // a rod
      group.wires = this.makeWires(vertex, wires, 1);
      return { part: group.wires, shape: null };
    }
    const shape = smoothMesh(vertex, triangle);
    const part = this.makePart(vertex, triangle, 1, closed, meshLines(vertex, triangle), shape);
    part.surface.setAttribute('tint', new THREE.BufferAttribute(new Float32Array(shape.position.length), 3));
    group.levels.push(part);
    return { shape, part };
  }

  moveSoft(a, b, at) {
    let start = 0;
    for (const { body, vertex, shape, part } of this.soft) {
      const mixes = b && at > 0 && !isAbsent(a, body) && !isAbsent(b, body);
      for (let k = 0; k < vertex.length; k++) {
        const x = a.soft[start + k];
        vertex[k] = mixes ? x + at * (b.soft[start + k] - x) : x;
      }
      start += vertex.length;
      if (shape) moveShape(shape, vertex);
      for (const geometry of [part.surface, part.feature, part.wire]) {
        if (geometry) geometry.attributes.position.needsUpdate = true;
      }
      if (shape) part.surface.attributes.normal.needsUpdate = true;
    }
  }

  // Colours every vertex of the soft bodies by its value; without values by the colours of the bodies.
  paintSoft(values, map) {
    if (!values && !this.painted) return;
    this.painted = Boolean(values);
    let start = 0;
    for (const { vertex, shape, part } of this.soft) {
      const colors = [];
      if (!shape) { // lines have their body's colour
        start += vertex.length / 3;
        continue;
      }
      const { tint } = part.surface.attributes;
      for (let k = 0; values && k < vertex.length / 3; k++) colors.push(map(values[start + k]));
      start += vertex.length / 3;
      tint.array.fill(0);
      if (values) shape.source.forEach((v, k) => tint.array.set(colors[v], 3 * k));
      tint.needsUpdate = true;
    }
  }

  makePart(vertex, triangle, capacity, closed, lines = meshLines(vertex, triangle), shape = smoothMesh(vertex, triangle)) {
    const part = new Part(shape, lines, vertex, capacity);
    this.add(this.scene, THREE.Mesh, part.surface, closed ? this.materials.closed : this.materials.open);
    this.add(this.shadowScene, THREE.Mesh, part.surface, this.materials.shadow);
    this.add(this.pickScene, THREE.Mesh, part.surface, this.materials.pick);
    if (part.feature) part.featureObject = this.add(this.scene, THREE.LineSegments, part.feature, this.materials.line, 5);
    if (part.wire) part.wireObject = this.add(this.scene, THREE.LineSegments, part.wire, this.materials.line, 5);
    return part;
  }

  makeWires(vertex, wires, capacity) {
    const all = [], points = []; // a wire from a vertex to itself is a point
    for (let k = 0; k < wires.length; k += 2) {
      if (wires[k] === wires[k + 1]) points.push(wires[k]);
      else all.push(wires[k], wires[k + 1]);
    }
    const part = new Part(null, { ...NO_LINES, all: new Uint32Array(all), points: new Uint32Array(points) }, vertex, capacity);
    for (const [Type, geometry] of [[THREE.LineSegments, part.wire], [THREE.Points, part.points]]) {
      if (!geometry) continue;
      this.add(this.scene, Type, geometry, this.materials.wireBody, 4);
      this.add(this.shadowScene, Type, geometry, this.materials.shadow);
      this.add(this.pickScene, Type, geometry, this.materials.pick);
    }
    return part;
  }

  addGround(vertex, triangle, list) {
    const corner = [0, 1, 2].map((k) => new THREE.Vector3(...vertex.slice(3 * triangle[k], 3 * triangle[k] + 3)));
    for (const body of list) {
      const plane = { planePoint: { value: new THREE.Vector3() }, planeU: { value: new THREE.Vector3(1, 0, 0) },
        planeV: { value: new THREE.Vector3(0, 1, 0) }, planeSize: { value: 1 }, planeFade: { value: 1 } };
      const geometry = new THREE.BufferGeometry();
      const square = [-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, -1, 0, 1, 1, 0, -1, 1, 0];
      geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(square), 3));
      const object = this.add(this.scene, THREE.Mesh, geometry, groundMaterial(plane), 2);
      this.grounds.push({ body, corner, plane, object, at: new THREE.Vector3(), normal: new THREE.Vector3() });
    }
  }

  // ---- A frame ----

  // Mixes two frames' poses: at = 0 gives a, 1 gives b.
  setPose(a, b, at) {
    const length = a.pose.length;
    this.pose ??= new Float32Array(length);
    this.pose.set(a.pose);
    for (let o = 0; b && at > 0 && o < length; o += 12) {
      if (isAbsent(a, o / 12) || isAbsent(b, o / 12)) continue;
      for (let k = o; k < o + 12; k++) this.pose[k] += at * (b.pose[k] - a.pose[k]);
    }
    this.moveSoft(a, b, at);
    for (const ground of this.grounds) this.placeGround(ground);
  }

  point(body, X, out = new THREE.Vector3()) {
    const p = this.pose, o = 12 * body;
    return out.set(
      p[o] + p[o + 3] * X.x + p[o + 6] * X.y + p[o + 9] * X.z,
      p[o + 1] + p[o + 4] * X.x + p[o + 7] * X.y + p[o + 10] * X.z,
      p[o + 2] + p[o + 5] * X.x + p[o + 8] * X.y + p[o + 11] * X.z);
  }

  center(body, out = new THREE.Vector3()) { return out.fromArray(this.pose, 12 * body); }

  // Rest coordinates of a world point of a body.
  rest(body, x) {
    const p = this.pose, o = 12 * body;
    const matrix = new THREE.Matrix4().set(
      p[o + 3], p[o + 6], p[o + 9], p[o], p[o + 4], p[o + 7], p[o + 10], p[o + 1],
      p[o + 5], p[o + 8], p[o + 11], p[o + 2], 0, 0, 0, 1);
    const inverse = matrix.invert ? matrix.clone().invert() : new THREE.Matrix4().getInverse(matrix);
    return x.clone().applyMatrix4(inverse);
  }

  placeGround(ground) {
    const [a, b, c] = ground.corner.map((X) => this.point(ground.body, X));
    ground.at.copy(a);
    const u = b.clone().sub(a).normalize();
    ground.normal.crossVectors(u, c.clone().sub(a)).normalize();
    // Grid lines along the world's axes if the plane contains them.
    const axis = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((v) => new THREE.Vector3(...v))
      .sort((v, w) => Math.abs(v.dot(ground.normal)) - Math.abs(w.dot(ground.normal)))[0];
    axis.addScaledVector(ground.normal, -axis.dot(ground.normal)).normalize();
    ground.plane.planeU.value.copy(axis);
    ground.plane.planeV.value.crossVectors(ground.normal, axis);
  }

  // The level of detail of a body, by the pixels it covers.
  level(group, body, eye, scale) {
    const last = group.levels.length - 1;
    if (last < 1) return 0;
    const o = 12 * body, p = this.pose, x = p[o] - eye.x, y = p[o + 1] - eye.y, z = p[o + 2] - eye.z;
    const pixels = (group.radius * scale) / Math.max(Math.sqrt(x * x + y * y + z * z) - group.radius, 1e-6);
    return Math.min(last, pixels > 34 ? 0 : pixels > 14 ? 1 : pixels > 6 ? 2 : 3);
  }

  // Whether a body, or its shadow, may be visible. Used only if there are very many bodies.
  inSight(body, e, projection) {
    const p = this.pose, o = 12 * body, x = p[o], y = p[o + 1], z = p[o + 2], r = 3 * this.radius[body];
    const w = e[3] * x + e[7] * y + e[11] * z + e[15];
    return w > -r && Math.abs(e[0] * x + e[4] * y + e[8] * z + e[12]) < w + r * (1 + projection[0])
      && Math.abs(e[1] * x + e[5] * y + e[9] * z + e[13]) < w + r * (1 + projection[5]);
  }

  fillParts() {
    const scale = this.size.height / (2 * Math.tan((this.camera.fov * Math.PI) / 360));
    const sight = new THREE.Matrix4().copy(this.camera.projectionMatrix).multiply(this.camera.matrixWorldInverse);
    this.drawn = 0;
    for (const group of this.groups) {
      for (const part of group.levels) part.count = 0;
      if (group.wires) group.wires.count = 0;
      for (const body of group.list) {
        if (this.hidden[body] || (this.large && !this.inSight(body, sight.elements, this.camera.projectionMatrix.elements))) continue;
        const level = group.levels[this.level(group, body, this.camera.position, scale)];
        level?.put(this.pose, 12 * body, this.color, body, group.radius);
        group.wires?.put(this.pose, 12 * body, this.color, body, group.radius);
      }
      for (const part of group.levels) {
        part.finish();
        this.drawn += part.count * part.triangles;
      }
      group.wires?.finish();
    }
  }

  // ---- Drawing ----

  resize(width, height, ratio) {
    this.size = { width, height };
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    uniforms.screen.value.set(width * ratio, height * ratio);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  drawShadows(target) {
    const radius = Math.min(1.6 * this.focus.radius, 1.5 * this.camera.position.distanceTo(target) + 1e-9) || 1;
    const texel = (2 * radius) / SHADOW_SIZE, sun = uniforms.sun.value, camera = this.sunCamera;
    const depth = 4 * this.focus.radius + 2 * radius;
    camera.left = -radius; camera.right = radius; camera.top = radius; camera.bottom = -radius;
    camera.near = 0; camera.far = 2 * depth;
    camera.up.set(sun.y, sun.z, sun.x);
    const center = this.snapped(target, sun, texel);
    camera.position.copy(center).addScaledVector(sun, depth);
    camera.lookAt(center);
    camera.updateMatrixWorld();
    camera.updateProjectionMatrix();
    const bias = new THREE.Matrix4().set(0.5, 0, 0, 0.5, 0, 0.5, 0, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 1);
    uniforms.shadowMatrix.value.copy(bias).multiply(camera.projectionMatrix).multiply(camera.matrixWorldInverse);
    uniforms.shadowTexel.value = texel;
    const map = uniforms.shadowMap.value;
    uniforms.shadowMap.value = null; // not read while it is written
    this.renderer.setRenderTarget(this.shadowTarget);
    this.renderer.clear();
    this.renderer.render(this.shadowScene, camera);
    this.renderer.setRenderTarget(null);
    uniforms.shadowMap.value = map;
  }

  // The centre of the shadow map moves by whole texels, so that the edges of shadows do not flicker.
  snapped(target, sun, texel) {
    const x = new THREE.Vector3(sun.y, sun.z, sun.x).cross(sun).normalize(), y = new THREE.Vector3().crossVectors(sun, x);
    const a = Math.round(target.dot(x) / texel) * texel, b = Math.round(target.dot(y) / texel) * texel;
    return new THREE.Vector3().addScaledVector(x, a).addScaledVector(y, b).addScaledVector(sun, target.dot(sun));
  }

  prepareGrounds(target) {
    const distance = this.camera.position.distanceTo(target);
    const reach = 14 * Math.max(this.focus.radius, 0.6 * distance);
    uniforms.gridStep.value = 10 ** Math.round(Math.log10(Math.max(distance * 0.4, 1e-9)));
    for (const { plane, at, normal, object, body } of this.grounds) {
      const height = target.clone().sub(at).dot(normal);
      plane.planePoint.value.copy(target).addScaledVector(normal, -height);
      plane.planeSize.value = reach;
      plane.planeFade.value = reach;
      object.visible = !this.hidden[body];
    }
  }

  draw(target) {
    const camera = this.camera, distance = camera.position.distanceTo(target);
    camera.near = Math.max(distance * 0.004, 1e-6);
    camera.far = distance * 4 + 40 * this.focus.radius;
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    uniforms.eye.value.copy(camera.position);
    uniforms.pixel.value = (2 * Math.tan((camera.fov * Math.PI) / 360)) / this.size.height;
    this.fillParts();
    this.prepareGrounds(target);
    uniforms.shadowOn.value = this.show.shadows ? 1 : 0;
    if (this.show.shadows) this.drawShadows(target);
    uniforms.wire.value = this.show.wire ? 1 : 0;
    for (const group of this.groups) {
      for (const part of group.levels) {
        if (part.featureObject) part.featureObject.visible = this.show.edges && !this.show.wire;
        if (part.wireObject) part.wireObject.visible = this.show.wire;
      }
    }
    this.renderer.clear();
    this.renderer.render(this.scene, camera);
    this.renderer.clearDepth(); // marks are visible through bodies
    this.renderer.render(this.marks.scene, camera);
  }

  // ---- Picking ----

  readPixel(x, y, depth) {
    const camera = this.camera, { width, height } = this.size, pixel = new Uint8Array(4);
    uniforms.pickDepth.value = depth ? 1 : 0;
    camera.setViewOffset(width, height, Math.floor(x), Math.floor(y), 1, 1);
    this.renderer.setRenderTarget(this.pickTarget);
    this.renderer.setClearColor(0x000000, 0);
    this.renderer.clear();
    this.renderer.render(this.pickScene, camera);
    if (this.show.contacts && !depth) {
      this.renderer.clearDepth();
      this.renderer.render(this.marks.pickScene, camera);
    }
    this.renderer.readRenderTargetPixels(this.pickTarget, 0, 0, 1, 1, pixel);
    this.renderer.setRenderTarget(null);
    camera.clearViewOffset();
    return pixel;
  }

  // The object at a position of the canvas: {body, point} or {contact} or null.
  pick(x, y) {
    const [r, g, b, a] = this.readPixel(x, y, false);
    const id = r + 256 * g + 65536 * b;
    if (!a || !id) return null;
    if (id >= CONTACT_ID) return { contact: id - CONTACT_ID };
    const d = this.readPixel(x, y, true);
    const depth = (d[0] + d[1] / 255 + d[2] / 65025 + d[3] / 16581375) / 255;
    const point = new THREE.Vector3((2 * x) / this.size.width - 1, 1 - (2 * y) / this.size.height, 2 * depth - 1);
    return { body: id - 1, point: point.unproject(this.camera) };
  }
}

export { MANY_TRIANGLES };
