// Orbiting: turn, shift and zoom around a target with mouse, touch and keys, any direction up; with easing.
import * as THREE from 'three';

const EASE = 14; // 1/s

export class Orbit {
  constructor(camera, element) {
    Object.assign(this, { camera, element });
    this.target = new THREE.Vector3();
    this.wanted = { target: new THREE.Vector3(), azimuth: 0.6, elevation: 0.32, distance: 5 };
    this.now = { azimuth: 0.6, elevation: 0.32, distance: 5 };
    this.pointers = new Map();
    this.enabled = true;
    this.setUp(new THREE.Vector3(0, 0, 1));
    element.addEventListener('pointerdown', (event) => this.down(event));
    element.addEventListener('pointermove', (event) => this.move(event));
    for (const type of ['pointerup', 'pointercancel']) element.addEventListener(type, (event) => this.lift(event));
    element.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    element.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  setUp(up) {
    this.up = up.clone().normalize();
    const east = new THREE.Vector3(Math.abs(this.up.x) < 0.9 ? 1 : 0, Math.abs(this.up.x) < 0.9 ? 0 : 1, 0);
    this.east = east.addScaledVector(this.up, -east.dot(this.up)).normalize();
    this.north = new THREE.Vector3().crossVectors(this.up, this.east);
    this.camera.up.copy(this.up);
  }

  frame(center, radius, hard) {
    const half = (this.camera.fov * Math.PI) / 360, narrow = Math.min(1, this.camera.aspect);
    this.wanted.target.copy(center);
    this.wanted.distance = (0.98 * radius) / Math.sin(Math.atan(Math.tan(half) * narrow));
    if (hard) this.jump();
  }

  jump() {
    this.target.copy(this.wanted.target);
    for (const key of ['azimuth', 'elevation', 'distance']) this.now[key] = this.wanted[key];
    this.place();
  }

  look(azimuth, elevation) { Object.assign(this.wanted, { azimuth, elevation }); }

  place() {
    const { azimuth, elevation, distance } = this.now;
    this.camera.position.copy(this.target)
      .addScaledVector(this.east, distance * Math.cos(elevation) * Math.sin(azimuth))
      .addScaledVector(this.north, -distance * Math.cos(elevation) * Math.cos(azimuth))
      .addScaledVector(this.up, distance * Math.sin(elevation));
    this.camera.lookAt(this.target);
    this.camera.updateMatrixWorld();
  }

  // Moves towards the goal; true while it still moves.
  update(seconds) {
    const blend = 1 - Math.exp(-EASE * seconds);
    let moved = 0;
    for (const key of ['azimuth', 'elevation', 'distance']) {
      const change = (this.wanted[key] - this.now[key]) * blend;
      this.now[key] += change;
      moved += Math.abs(change) / (key === 'distance' ? this.now.distance : 1);
    }
    const shift = this.wanted.target.clone().sub(this.target).multiplyScalar(blend);
    this.target.add(shift);
    moved += shift.length() / this.now.distance;
    this.place();
    return moved > 1e-5;
  }

  // Shifts the target and its goal with a body that moved.
  carry(shift) {
    this.target.add(shift);
    this.wanted.target.add(shift);
  }

  turn(dx, dy) {
    this.wanted.azimuth -= dx * 0.006;
    this.wanted.elevation = Math.max(-1.55, Math.min(1.55, this.wanted.elevation + dy * 0.006));
  }

  shift(dx, dy) {
    const scale = (2 * this.now.distance * Math.tan((this.camera.fov * Math.PI) / 360)) / this.element.clientHeight;
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const above = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    this.wanted.target.addScaledVector(right, -dx * scale).addScaledVector(above, dy * scale);
  }

  // Zooms towards the pointer: the point under it stays there.
  zoom(factor, x, y) {
    const before = this.wanted.distance;
    this.wanted.distance = Math.max(1e-4, before * factor);
    if (x === undefined) return;
    const gain = 1 - this.wanted.distance / before;
    const half = Math.tan((this.camera.fov * Math.PI) / 360) * before;
    const nx = (2 * x) / this.element.clientWidth - 1, ny = 1 - (2 * y) / this.element.clientHeight;
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const above = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    this.wanted.target.addScaledVector(right, gain * nx * half * this.camera.aspect).addScaledVector(above, gain * ny * half);
  }

  // ---- Events ----

  down(event) {
    this.touched = true;
    if (!this.enabled) return;
    this.element.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY, button: event.button });
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    if (!this.enabled) { // something else uses the pointer
      this.pointers.clear();
      return;
    }
    const dx = event.offsetX - before.x, dy = event.offsetY - before.y;
    if (this.pointers.size === 1) {
      if (before.button === 0 && !event.shiftKey && !event.ctrlKey) this.turn(dx, dy);
      else this.shift(dx, dy);
    } else if (this.pointers.size === 2) {
      this.pinch(event, before, dx, dy);
    }
    before.x = event.offsetX;
    before.y = event.offsetY;
    this.onMove?.();
  }

  pinch(event, before, dx, dy) {
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
    const was = Math.hypot(before.x - other.x, before.y - other.y);
    const is = Math.hypot(event.offsetX - other.x, event.offsetY - other.y);
    if (was > 0 && is > 0) this.zoom(was / is, (event.offsetX + other.x) / 2, (event.offsetY + other.y) / 2);
    this.shift(dx / 2, dy / 2);
  }

  lift(event) { this.pointers.delete(event.pointerId); }

  wheel(event) {
    event.preventDefault();
    this.touched = true;
    const lines = event.deltaMode === 1 ? 16 : 1;
    this.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.0016), event.offsetX, event.offsetY);
    this.onMove?.();
  }
}
