// Forces at the contacts and joints of the current frame: sums for each body, the scale of arrows, the arrows.
import { HEAT_TABLE, paint } from './colors.js';
import { readJoint } from './inspector.js';
import { CONTACT_WORDS } from './store.js';

// Ids of marks from here on are contacts. They are far below 2^24, so that shaders, which interpolate them, can round them.
export const CONTACT_ID = 1 << 20;
const GREY = [0.45, 0.47, 0.5], GREEN = [0.35, 0.85, 0.6], WHITE = [1, 1, 1];
const FORCE = 10, NORMAL = 6, FRICTION = 11, POINT = 3; // words of a contact

export class Forces {
  constructor(bodyCount) {
    this.ofBody = new Float32Array(bodyCount);
    this.rgb = new Float32Array(3);
    this.clear();
  }

  clear() {
    this.scale = 0;      // [N] of an arrow of usual length: above nearly all forces so far
    this.contacts = undefined;
  }

  // Sets the contacts of a frame, or null; does nothing if they are set already.
  see(contacts) {
    if (this.contacts === contacts) return;
    this.contacts = contacts;
    this.ofBody.fill(0);
    this.most = 0;       // [N] of this frame's
    if (!contacts?.count) return;
    const { f32, u32, count } = contacts, all = new Float32Array(count);
    for (let k = 0, at = 0; k < count; k++, at += CONTACT_WORDS) {
      const force = f32[at + FORCE];
      this.ofBody[u32[at] - 1] += force;
      this.ofBody[u32[at + 1] - 1] += force;
      all[k] = force;
    }
    all.sort();
    this.most = all[count - 1];
    this.scale = Math.max(this.scale, all[Math.floor(0.97 * (count - 1))]);
  }

  // Arrows: the force on the first body, or on the chosen one if it is one of the two.
  markContacts(marks, chosen, length) {
    const { contacts, rgb } = this;
    if (!contacts) return;
    const { f32, u32, count } = contacts, body = chosen?.body, most = 2.5 * length, full = this.scale || 1;
    for (let k = 0, at = 0; k < count; k++, at += CONTACT_WORDS) {
      const onSecond = u32[at + 1] - 1 === body, force = f32[at + FORCE];
      if (body !== undefined && !onSecond && u32[at] - 1 !== body) {
        marks.add(f32, at + POINT, 0, 0, 0, GREY, 0.017 * length, CONTACT_ID + k, false);
        continue;
      }
      const sign = (onSecond ? -length : length) / full;
      let x = sign * (f32[at + NORMAL] * force + f32[at + FRICTION]);
      let y = sign * (f32[at + NORMAL + 1] * force + f32[at + FRICTION + 1]);
      let z = sign * (f32[at + NORMAL + 2] * force + f32[at + FRICTION + 2]);
      const long = Math.sqrt(x * x + y * y + z * z), cut = long > most ? most / long : 1;
      x *= cut; y *= cut; z *= cut;
      paint(HEAT_TABLE, 0.35 + 0.45 * Math.min(1, force / full), rgb, 0); // up to orange: yellow is invisible on light backgrounds
      marks.add(f32, at + POINT, x, y, z, rgb, 0.034 * length, CONTACT_ID + k, chosen?.contact === k);
    }
  }

  // The chosen body's joints: positions and axes.
  markJoints(marks, body, joints, readings, length) {
    if (body === undefined || !readings) return;
    joints.forEach((joint, k) => {
      if (!joint.bodies.includes(body) || joint.type === 'gear' || k >= readings.count) return;
      const { point, axis } = readJoint(readings, k), [x, y, z] = axis.map((part) => part * length);
      if (!axis.some((part) => part)) return; // not in this frame
      marks.add(point, 0, x, y, z, GREEN, 0.03 * length, 0, false);
    });
  }

  // The pull on a body: from the gripped point to the pointer.
  markPull(marks, from, to, length) {
    marks.add(from.toArray(), 0, to.x - from.x, to.y - from.y, to.z - from.z, WHITE, 0.02 * length, 0, true);
  }
}
