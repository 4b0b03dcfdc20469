// Geometry with many instances, as the stage draws it.
import * as THREE from 'three';

export function shapeGeometry(shape) {
  const geometry = new THREE.InstancedBufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(shape.position, 3));
  if (shape.normal) geometry.setAttribute('normal', new THREE.BufferAttribute(shape.normal, 3));
  geometry.setIndex(new THREE.BufferAttribute(shape.index, 1));
  return geometry;
}

export function dynamicAttribute(count, size) {
  const attribute = new THREE.InstancedBufferAttribute(new Float32Array(count * size), size);
  attribute.usage = 35048; // DYNAMIC_DRAW
  return attribute;
}

// Sends the first items of an attribute, not all there is room for.
export function upload(attribute, items) {
  const count = items * attribute.itemSize;
  if (attribute.addUpdateRange) {       // three since release 159
    attribute.clearUpdateRanges();
    attribute.addUpdateRange(0, count);
  } else {
    attribute.updateRange = { offset: 0, count };
  }
  if (count) attribute.needsUpdate = true;
}

export function setInstances(geometry, count) {
  geometry.instanceCount = count;      // three since release 117
  geometry.maxInstancedCount = count;  // and before
}

const INSTANCE = [['iRow0', 4], ['iRow1', 4], ['iRow2', 4], ['iColor', 4], ['iId', 1], ['iSize', 1]];
export const NO_LINES = { feature: new Uint32Array(0), all: new Uint32Array(0) };

// One mesh at one level of detail: its surface, its lines, and the instances drawn with it.
export class Part {
  constructor(shape, lines, vertex, capacity) {
    this.attributes = Object.fromEntries(INSTANCE.map(([name, size]) => [name, dynamicAttribute(capacity, size)]));
    const { iRow0, iRow1, iRow2, iColor, iId, iSize } = this.attributes;
    this.arrays = [iRow0, iRow1, iRow2, iColor, iId, iSize].map((attribute) => attribute.array);
    this.count = 0;
    this.triangles = shape ? shape.index.length / 3 : 0;
    this.surface = shape && this.instanced(shapeGeometry(shape));
    this.feature = lines.feature.length ? this.instanced(shapeGeometry({ position: vertex, index: lines.feature })) : null;
    this.wire = lines.all.length ? this.instanced(shapeGeometry({ position: vertex, index: lines.all })) : null;
    this.points = lines.points?.length ? this.instanced(shapeGeometry({ position: vertex, index: lines.points })) : null;
  }

  instanced(geometry) {
    for (const [name] of INSTANCE) geometry.setAttribute(name, this.attributes[name]);
    setInstances(geometry, 0);
    return geometry;
  }

  // Adds a body as the next instance: its pose p at o as rows, its colour.
  put(p, o, colors, body, size) {
    const k = this.count++, at = 4 * k, from = 4 * body, [r0, r1, r2, color, id, sizes] = this.arrays;
    r0[at] = p[o + 3]; r0[at + 1] = p[o + 6]; r0[at + 2] = p[o + 9]; r0[at + 3] = p[o];
    r1[at] = p[o + 4]; r1[at + 1] = p[o + 7]; r1[at + 2] = p[o + 10]; r1[at + 3] = p[o + 1];
    r2[at] = p[o + 5]; r2[at + 1] = p[o + 8]; r2[at + 2] = p[o + 11]; r2[at + 3] = p[o + 2];
    color[at] = colors[from]; color[at + 1] = colors[from + 1]; color[at + 2] = colors[from + 2]; color[at + 3] = colors[from + 3];
    id[k] = body + 1;
    sizes[k] = size;
  }

  finish() {
    for (const geometry of [this.surface, this.feature, this.wire, this.points]) if (geometry) setInstances(geometry, this.count);
    for (const [name] of INSTANCE) upload(this.attributes[name], this.count);
  }
}

export function addMesh(scene, Type, geometry, material, order = 0) {
  const object = new Type(geometry, material);
  object.frustumCulled = false;
  object.matrixAutoUpdate = false;
  object.renderOrder = order;
  scene.add(object);
  return object;
}
