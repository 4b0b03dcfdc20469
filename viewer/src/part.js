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
    this.capacity = capacity;
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

  finish() {
    for (const geometry of [this.surface, this.feature, this.wire, this.points]) if (geometry) setInstances(geometry, this.count);
    for (const [name] of INSTANCE) this.attributes[name].needsUpdate = true;
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
