// The viewer: its state and the redraw after changes.
import * as THREE from 'three';
import { Orbit } from './camera.js';
import { HEAT_TABLE, MODES, RAMP_TABLE, Range, count, paint, parse, tidy } from './colors.js';
import { Controls } from './controls.js';
import { Forces } from './forces.js';
import { readContact } from './inspector.js';
import { Player } from './player.js';
import { uniforms } from './shade.js';
import { MANY_TRIANGLES, Stage, isAbsent } from './stage.js';
import { CONTACT_WORDS, Reports, contactStore, frameStore, growFrame, jointStore } from './store.js';
import { applyTheme, preferredTheme } from './theme.js';

const MESH_BATCH = 8e6;

export class App {
  constructor(source, elements) {
    Object.assign(this, { source, elements });
    this.theme = preferredTheme();
    applyTheme(this.theme);
    this.stage = new Stage(elements.view);
    this.orbit = new Orbit(this.stage.camera, elements.view);
    this.orbit.onMove = () => this.touch();
    this.reports = new Reports();
    this.mode = 'body';
    this.ranges = Object.fromEntries(Object.keys(MODES).map((name) => [name, new Range()]));
    this.chosen = null;       // {body} or {contact}
    this.following = false;
    this.section = { on: false, axis: 0, place: 0.5, flip: false };
    this.status = { paused: false };
    this.controls = new Controls(this);
  }

  // ---- Loading ----

  async load() {
    this.meta = await this.source.meta();
    this.player = new Player(this.meta.dt || 1);
    this.contacts = contactStore(this.source, () => this.touch());
    this.orbit.setUp(new THREE.Vector3(...this.meta.up));
    this.takeBodies();
    for await (const mesh of this.meshes(this.meta)) this.stage.addMesh(...mesh);
    await this.refresh();
    if (!this.player.count) throw new Error('This run has no frames yet.');
    await this.loadFirst();
    this.describe();
    document.body.classList.toggle('live', this.meta.live);
    this.player.tail = this.meta.live || this.status.writing;
  }

  // What depends on the number of bodies and joints.
  takeBodies() {
    const { bodies, joints } = this.meta, hidden = this.stage.hidden;
    this.frames = frameStore(this.source, this.meta, (from, n) => this.arrived(from, n), () => this.catchUp());
    this.joints = joints?.length ? jointStore(this.source, joints.length, () => this.touch()) : undefined;
    this.stage.setBodies(bodies, new THREE.Vector3(...this.meta.up));
    if (hidden) this.stage.hidden.set(hidden);
    this.forces = new Forces(bodies.name.length);
    this.baseColors = Float32Array.from(bodies.color.flatMap(parse));
  }

  // Bodies or joints came or went in a run that is written or simulated. Camera, time and choice stay.
  async changeBodies() {
    const before = { meta: this.meta, frames: this.frames }, meta = await this.source.meta(), fetched = [];
    for await (const mesh of this.meshes(meta)) fetched.push(mesh);
    this.meta = meta;
    this.stage.clear();
    this.takeBodies();
    fetched.forEach((mesh) => this.stage.addMesh(...mesh));
    const more = meta.bodies.name.length >= before.meta.bodies.name.length;
    if (more) this.frames.adopt(before.frames, (frame) => growFrame(frame, meta));
    if (this.joints) this.joints.count = this.frames.count;
    if (!before.meta.bodies.born && !this.orbit.touched) this.frameAll([...this.frames.items.values()].slice(-64), false);
    this.describe();
    this.onChange?.();
    this.touch();
  }

  // The meshes as the stage takes them.
  async* meshes({ meshes, bodies }) {
    const size = (m) => 12 * m.vertices + 12 * m.triangles + 8 * m.wires;
    const large = bodies.mesh.reduce((sum, m) => sum + meshes[m].triangles, 0) > MANY_TRIANGLES;
    for (let first = 0; first < meshes.length;) {
      let end = first, bytes = 0;
      while (end < meshes.length && (end === first || bytes + size(meshes[end]) < MESH_BATCH)) bytes += size(meshes[end++]);
      const buffer = await this.source.meshes(first, end - first);
      let at = 0;
      for (let m = first; m < end; m++) {
        const { vertices, triangles, wires } = meshes[m];
        const vertex = new Float32Array(buffer, at, 3 * vertices);
        const triangle = new Uint32Array(buffer, at + 12 * vertices, 3 * triangles);
        const wire = new Uint32Array(buffer, at + 12 * vertices + 12 * triangles, 2 * wires);
        yield [m, meshes[m], vertex, triangle, wire, large];
        at += size(meshes[m]);
      }
      first = end;
    }
  }

  // Fetches new frames, and the status of a live simulation. A call during another one ends with it.
  refresh() {
    return (this.refreshing ??= this.update().finally(() => { this.refreshing = undefined; }));
  }

  // The source has other frames or bodies than known. A failure is that of the next regular refresh too, which reports it.
  catchUp() { this.refresh().then(() => this.touch(), () => {}); }

  async update() {
    const status = await this.source.status();
    const before = this.status;
    this.status = status;
    if (this.player.count && status.generation !== before.generation) location.reload(); // another run has this name
    if (status.epoch !== before.epoch || status.frames < this.player.count) this.rewind();
    if (status.changes !== this.meta.changes) await this.changeBodies();
    if (status.frames > this.player.count) {
      const steps = new Float64Array(await this.source.steps(this.player.count));
      this.player.grow(steps);
      for (const store of [this.frames, this.contacts, this.joints]) if (store) store.count = this.player.count;
      while (this.reports.add(await this.source.reports(this.reports.last('step') ?? -1)) >= 20000);
      this.touch();
    }
    if (status.error !== before.error) this.say(status.error, true);
    if (status.paused !== before.paused || status.writing !== before.writing) this.touch();
  }

  rewind() {
    if (!this.player.count) return;
    const { tail } = this.player;
    this.player.clear();
    this.player.tail = tail;
    this.reports.clear();
    for (const store of [this.frames, this.contacts, this.joints]) store?.clear();
    Object.values(this.ranges).forEach((range) => range.clear());
    this.forces.clear();
  }

  async loadFirst() {
    let wanted, tries = 20; // bodies may come and go meanwhile
    do {
      await this.refreshing;
      const last = this.player.count - 1;
      wanted = [...new Set([0, last >> 1, last])];
      for (const index of wanted) {
        this.frames.want(index);
        await Promise.all(this.frames.pending.values());
      }
      if (this.frames.failure) throw this.frames.failure;
    } while (--tries && !wanted.every((index) => this.frames.get(index)));
    this.frameAll(wanted.map((index) => this.frames.get(index)).filter(Boolean), true);
  }

  // The ball around the moving bodies of these frames, except a few that are far away.
  frameAll(frames, hard) {
    const { motion } = this.meta.bodies, points = [];
    const anyMoves = motion.some((m) => m === 0), changes = Boolean(this.meta.bodies.born);
    const isGround = new Set(this.stage.grounds.map((ground) => ground.body));
    let inFirst = 0;
    for (const frame of frames) {
      for (let b = 0; b < motion.length; b++) {
        if ((anyMoves && motion[b] !== 0 && !changes) || isGround.has(b) || isAbsent(frame, b)) continue;
        points.push([frame.pose[12 * b], frame.pose[12 * b + 1], frame.pose[12 * b + 2], this.stage.radius[b]]);
      }
      inFirst ||= points.length;
    }
    if (changes) inFirst = points.length; // few bodies are there at first, and most of them come to the same places
    if (!points.length) inFirst = points.push([0, 0, 0, 1]);
    // Around the bodies of the first frame, and those of the others that stayed near.
    const first = points.slice(0, inFirst);
    const middle = [0, 1, 2].map((k) => { const all = first.map((p) => p[k]).sort((a, b) => a - b); return all[all.length >> 1]; });
    const reach = (p) => Math.hypot(p[0] - middle[0], p[1] - middle[1], p[2] - middle[2]) + p[3];
    const usual = first.map(reach).sort((a, b) => a - b)[Math.floor(0.9 * (first.length - 1))];
    const kept = points.filter((p, k) => reach(p) <= (k < first.length ? 2.5 : 1.15) * usual);
    const most = (value) => kept.reduce((sofar, p) => Math.max(sofar, value(p)), -Infinity);
    const center = new THREE.Vector3(...[0, 1, 2].map((k) => 0.5 * (most((p) => p[k] + p[3]) - most((p) => p[3] - p[k]))));
    const radius = most((p) => Math.hypot(p[0] - center.x, p[1] - center.y, p[2] - center.z) + p[3]) || 1;
    Object.assign(this.stage.focus, { center, radius });
    const sizes = [...this.stage.radius].filter((r, b) => motion[b] === 0).sort((a, b) => a - b);
    this.arrowLength = Math.max(0.03 * radius, Math.min(0.3 * radius, 1.8 * (sizes[sizes.length >> 1] ?? radius)));
    this.orbit.frame(center, radius, hard);
    this.touch();
  }

  describe() {
    const { meta, elements } = this, bodies = meta.bodies.name.length;
    document.title = `${meta.scene_name || 'run'} – abd`;
    elements.name.textContent = meta.scene_name || 'run';
    const triangles = this.stage.totalTriangles(meta.meshes);
    elements.facts.textContent = `${count(bodies)} ${bodies === 1 ? 'body' : 'bodies'} · ${count(triangles)} triangles · dt ${tidy(1e3 * meta.dt)} ms`;
  }

  arrived(from, n) {
    for (const name of ['speed', 'strain', 'stress']) {
      for (let k = from; k < from + n; k += Math.max(1, n >> 3)) {
        const frame = this.frames.get(k);
        if (frame) this.ranges[name].see(MODES[name], frame, this.meta.bodies.motion, this);
      }
    }
    this.touch();
  }

  get hasContacts() { return this.meta.contacts === '1'; }

  // ---- Time ----

  scrub(time) {
    const index = this.player.nearest(time);
    this.player.show(index);
    this.player.tail = (this.meta.live || this.status.writing) && index === this.player.count - 1;
    this.touch();
  }

  stepBy(frames) {
    this.player.playing = false;
    this.scrub(this.player.timeOf(this.player.locate().index + frames));
  }

  toggle() {
    if (this.meta.live) return this.command({ do: this.status.paused ? 'play' : 'pause' });
    this.player.playing = !this.player.playing;
    if (this.player.playing) {
      this.player.tail = false;
      if (this.player.time >= this.player.end) this.player.time = this.player.start;
    }
    return this.touch();
  }

  toTail() {
    this.player.tail = true;
    this.player.playing = false;
    this.player.time = this.player.end;
    this.touch();
  }

  setSpeed(speed) {
    this.player.speed = speed;
    if (this.meta.live) this.command({ do: 'speed', value: speed });
  }

  async command(command) {
    try {
      await this.source.control(command);
    } catch (error) {
      this.say(error.message, true);
    }
  }

  // ---- View options ----

  touch() { this.changed = true; }

  // Whether the picture is final: nothing moves and nothing is being loaded. For tests, and to save work.
  get settled() {
    const stores = [this.frames, this.contacts, this.joints];
    return this.resting && !this.changed && !stores.some((store) => store?.pending.size);
  }

  say(text, bad = false) {
    const { notice } = this.elements;
    notice.hidden = !text;
    notice.textContent = text || '';
    notice.classList.toggle('bad', bad);
    clearTimeout(this.silence);
    if (text && !bad) this.silence = setTimeout(() => { notice.hidden = true; }, 3500);
  }

  setMode(mode) {
    this.mode = mode;
    this.elements.colors.value = mode;
    if (mode === 'force' && !this.hasContacts) this.say('This run has no contacts recorded: run it with --contacts.');
    this.touch();
  }

  setShow(what, on) {
    this.stage.show[what] = on;
    if (what === 'contacts' && on && !this.hasContacts) this.say('This run has no contacts recorded: run it with --contacts.');
    this.touch();
  }

  setTheme(name) {
    this.theme = name;
    applyTheme(name);
    this.touch();
  }

  setSection(change) {
    Object.assign(this.section, change);
    const { on, axis, place, flip } = this.section, { center, radius } = this.stage.focus;
    const normal = new THREE.Vector3();
    normal.setComponent(axis, flip ? -1 : 1);
    const at = center.getComponent(axis) + (2 * place - 1) * 1.05 * radius;
    uniforms.section.value.set(normal.x, normal.y, normal.z, flip ? -at : at);
    uniforms.sectionOn.value = on ? 1 : 0;
    this.touch();
  }

  choose(what) {
    this.chosen = what;
    if (what?.body === undefined) this.following = false;
    this.touch();
  }

  // Goes to the first frame of a body that is not there now.
  showBody(body) {
    if (!this.frame || !isAbsent(this.frame, body)) return;
    const first = this.player.steps.findIndex((step) => step >= (this.meta.bodies.born?.[body] ?? 0));
    if (first >= 0) this.scrub(this.player.timeOf(first));
    this.pose();
  }

  contactChoice(k) { return { contact: k, data: readContact(this.contactsHere, k), frame: this.shownIndex }; }

  follow(on = !this.following) {
    if (on && this.chosen?.body === undefined) {
      this.say('Choose a body first: click on it.');
      return;
    }
    this.following = on;
    if (on) this.orbit.wanted.target.copy(this.stage.center(this.chosen.body));
    this.touch();
  }

  hide(body, hidden = true) {
    if (body === null) this.stage.hidden.fill(0);
    else this.stage.hidden[body] = hidden ? 1 : 0;
    this.touch();
  }

  // ---- Each picture ----

  updateColors(frame) {
    const mode = MODES[this.mode], { color } = this.stage, range = this.ranges[this.mode], { motion } = this.meta.bodies;
    const table = mode.table === 'heat' ? HEAT_TABLE : RAMP_TABLE, base = this.baseColors;
    if (mode.value) range.see(mode, frame, motion, this);
    const place = mode.value && range.placer(mode);
    for (let b = 0; b < motion.length; b++) {
      const value = place ? mode.value(frame, b, this) : 0;
      if (!place) for (let i = 0; i < 3; i++) color[4 * b + i] = base[3 * b + i];
      else if (motion[b] === 1 || Number.isNaN(value)) { color[4 * b] = 0.5; color[4 * b + 1] = 0.52; color[4 * b + 2] = 0.56; }
      else paint(table, place(value), color, 4 * b);
      color[4 * b + 3] = this.chosen?.body === b ? 1 : 0;
    }
    this.stage.paintSoft(this.mode === 'stress' ? frame.stress : null, (value) => {
      const rgb = [0, 0, 0];
      paint(table, place(value), rgb, 0);
      return rgb;
    });
  }

  drawMarks() {
    const { marks, show } = this.stage, { forces, chosen, arrowLength: length } = this;
    marks.begin();
    if (show.contacts) forces.markContacts(marks, chosen, length);
    forces.markJoints(marks, chosen?.body, this.meta.joints ?? [], this.jointsHere, length);
    if (this.pulling) forces.markPull(marks, this.stage.point(this.pulling.body, this.pulling.rest), this.pulling.target, length);
    marks.finish();
  }

  // In each frame the chosen contact is the nearest one of the same two bodies.
  keepContact(index) {
    if (this.chosen?.contact === undefined || !this.contactsHere || this.chosen.frame === index) return;
    let best = null;
    for (let k = 0; k < this.contactsHere.count; k++) {
      const { u32 } = this.contactsHere, old = this.chosen.data;
      if (u32[CONTACT_WORDS * k] - 1 !== old.a || u32[CONTACT_WORDS * k + 1] - 1 !== old.b) continue;
      const c = readContact(this.contactsHere, k);
      const far = Math.hypot(...c.point.map((x, i) => x - old.point[i]));
      if (!best || far < best.far) best = { far, k, c };
    }
    this.chosen = best ? { contact: best.k, data: best.c, frame: index } : null;
  }

  get needsContacts() { return this.hasContacts && (this.stage.show.contacts || this.mode === 'force' || Boolean(this.chosen)); }

  // At the end of a growing run the newest frame is still being loaded: shows the newest one loaded.
  stayAtEnd() {
    const last = this.player.count - 1;
    this.frames.want(last);
    if (this.needsContacts) this.contacts.want(last);
    const here = Math.min(this.frames.newest(), this.needsContacts ? this.contacts.newest() : last);
    if (here >= 0) this.player.show(here);
  }

  // Sets the stage to the time; false while the frame is not loaded.
  pose() {
    if (this.player.tail) this.stayAtEnd();
    const { index, at } = this.player.locate();
    this.frames.ahead(index);
    if (at > 0) this.frames.want(index + 1);
    const frame = this.frames.get(index), next = at > 0 ? this.frames.get(index + 1) : null;
    if (!frame) return false;
    const shown = next && at > 0.5 ? index + 1 : index;
    const before = this.following && this.stage.pose ? this.stage.center(this.chosen.body) : null;
    this.stage.setPose(frame, next, at);
    if (before && isAbsent(frame, this.chosen.body)) this.following = false;
    else if (before) this.orbit.carry(this.stage.center(this.chosen.body).sub(before));
    this.frame = next && at > 0.5 ? next : frame;
    this.shownIndex = shown;
    if (this.needsContacts) this.contacts.ahead(shown, 1);
    this.contactsHere = this.needsContacts ? this.contacts.get(shown) : null;
    if (this.joints && this.chosen) this.joints.ahead(shown, 1);
    this.jointsHere = this.joints?.get(shown);
    return true;
  }

  draw(seconds) {
    const moved = this.player.advance(seconds, (k) => { this.frames.ahead(k); return Boolean(this.frames.get(k)); });
    const gliding = this.orbit.update(seconds);
    this.resting = !moved && !gliding && !this.changed;
    if (this.resting) return;
    this.changed = false;
    if (this.pose()) {
      this.forces.see(this.contactsHere);
      this.keepContact(this.shownIndex);
      this.updateColors(this.frame);
      this.drawMarks();
    }
    if (!this.stage.pose) return;
    this.orbit.place();
    this.stage.draw(this.orbit.target);
    this.drawings = (this.drawings ?? 0) + 1;
    this.controls.draw();
  }
}
