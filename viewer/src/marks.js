// Arrows and balls at contacts and joints: instances in buffers that grow with their number.
import * as THREE from 'three';
import { arrowShape, ballShape } from './geometry.js';
import { addMesh, dynamicAttribute, setInstances, shapeGeometry, upload } from './part.js';

const INSTANCE = [['iBase', 3], ['iVector', 3], ['iColor', 4], ['iThick', 1], ['iId', 1]];
const FIRST = 256;

export class Marks {
  constructor(materials) {
    this.materials = materials;
    this.scene = new THREE.Scene();
    this.pickScene = new THREE.Scene();
    this.count = 0;
    this.make(FIRST);
  }

  make(capacity) {
    for (const child of this.scene.children.slice()) { this.scene.remove(child); child.geometry.dispose(); }
    for (const child of this.pickScene.children.slice()) this.pickScene.remove(child);
    const before = this.attributes;
    this.attributes = Object.fromEntries(INSTANCE.map(([name, size]) => [name, dynamicAttribute(capacity, size)]));
    for (const name in before) this.attributes[name].array.set(before[name].array);
    this.capacity = capacity;
    const { arrow, ball, pickBall } = this.materials;
    this.geometry = [arrowShape(), ballShape()].map((shape) => {
      const geometry = shapeGeometry(shape);
      for (const name in this.attributes) geometry.setAttribute(name, this.attributes[name]);
      setInstances(geometry, 0);
      return geometry;
    });
    addMesh(this.scene, THREE.Mesh, this.geometry[0], arrow);
    addMesh(this.scene, THREE.Mesh, this.geometry[1], ball);
    addMesh(this.pickScene, THREE.Mesh, this.geometry[1], pickBall);
  }

  begin() { this.count = 0; }

  // An arrow from a base along a vector, with a ball at its foot; base and vector are read at an index of an array.
  add(base, at, x, y, z, color, thick, id, chosen) {
    if (this.count === this.capacity) this.make(2 * this.capacity);
    const k = this.count++, { iBase, iVector, iColor, iThick, iId } = this.attributes;
    for (let i = 0; i < 3; i++) {
      iBase.array[3 * k + i] = base[at + i];
      iColor.array[4 * k + i] = color[i];
    }
    iVector.array[3 * k] = x; iVector.array[3 * k + 1] = y; iVector.array[3 * k + 2] = z;
    iColor.array[4 * k + 3] = chosen ? 1 : 0;
    iThick.array[k] = thick;
    iId.array[k] = id;
  }

  finish() {
    for (const [name] of INSTANCE) upload(this.attributes[name], this.count);
    for (const geometry of this.geometry) setInstances(geometry, this.count);
  }
}
