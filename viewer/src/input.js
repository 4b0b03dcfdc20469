// Pointer, keys and buttons.
import * as THREE from 'three';

const SPEEDS = [0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10];
const COLORS = ['body', 'speed', 'force', 'strain', 'stress'];

// ---- Choosing and pulling ----

function pickAt(app, event) { return app.stage.pick(event.offsetX, event.offsetY); }

function chooseAt(app, event) {
  const hit = pickAt(app, event);
  if (hit?.contact !== undefined && app.contactsHere) app.choose(app.contactChoice(hit.contact));
  else app.choose(hit?.body !== undefined ? { body: hit.body } : null);
}

// The intersection of the pointer's ray with the plane through a point that faces the camera.
function pullTarget(app, event, through) {
  const { camera, size } = app.stage;
  const far = new THREE.Vector3((2 * event.offsetX) / size.width - 1, 1 - (2 * event.offsetY) / size.height, 0.5).unproject(camera);
  const direction = far.sub(camera.position).normalize();
  const facing = camera.getWorldDirection(new THREE.Vector3());
  const t = through.clone().sub(camera.position).dot(facing) / direction.dot(facing);
  return camera.position.clone().addScaledVector(direction, t);
}

function sendPull(app) {
  const { body, rest, target } = app.pulling;
  app.pulling.sent = performance.now();
  app.command({ do: 'drag', body: body + 1, point: rest.toArray(), target: target.toArray() });
}

function beginPull(app, event) {
  if (!app.meta.live || event.button !== 0 || event.shiftKey || event.ctrlKey || !event.isPrimary) return;
  const hit = pickAt(app, event);
  if (hit?.body === undefined || app.meta.bodies.motion[hit.body] !== 0) return;
  if (!app.player.tail) app.toTail();
  app.orbit.enabled = false;
  app.pulling = { body: hit.body, rest: app.stage.rest(hit.body, hit.point), through: hit.point, target: hit.point, pointer: event.pointerId };
  app.elements.view.classList.add('pulling');
  sendPull(app);
  app.touch();
}

function movePull(app, event) {
  if (!app.pulling || event.pointerId !== app.pulling.pointer) return;
  app.pulling.target = pullTarget(app, event, app.pulling.through);
  if (performance.now() - app.pulling.sent > 30) sendPull(app);
  app.touch();
}

function endPull(app) {
  app.orbit.enabled = true;
  if (!app.pulling) return;
  app.pulling = null;
  app.elements.view.classList.remove('pulling');
  app.command({ do: 'release' });
  app.touch();
}

function connectPointer(app) {
  const { view, hint } = app.elements;
  let start = null, hovered = 0;
  // Runs before the camera's handler.
  view.parentElement.addEventListener('pointerdown', (event) => { if (event.target === view) beginPull(app, event); }, true);
  view.addEventListener('pointerdown', (event) => {
    view.focus({ preventScroll: true });
    hint.style.opacity = 0;
    start = { x: event.clientX, y: event.clientY, at: performance.now() };
    if (app.pulling) view.setPointerCapture(event.pointerId);
    else view.classList.add('turning');
  });
  view.addEventListener('pointermove', (event) => {
    movePull(app, event);
    if (event.buttons || event.pointerType !== 'mouse' || performance.now() - hovered < 90 || app.stage.drawn > 3e6) return;
    hovered = performance.now();
    const hit = pickAt(app, event);
    view.classList.toggle('over', Boolean(hit));
    hint.style.opacity = hit ? 1 : 0;
    if (!hit) return;
    hint.textContent = hit.contact !== undefined ? 'contact' : app.meta.bodies.name[hit.body];
    hint.style.transform = `translate(${event.offsetX + 14}px, ${event.offsetY + 14}px)`;
  });
  view.addEventListener('pointerleave', () => { hint.style.opacity = 0; });
  view.addEventListener('pointerup', (event) => {
    view.classList.remove('turning');
    const still = start && Math.hypot(event.clientX - start.x, event.clientY - start.y) < 5 && performance.now() - start.at < 600;
    endPull(app);
    if (still && event.button === 0) chooseAt(app, event);
    start = null;
  });
  view.addEventListener('pointercancel', () => endPull(app));
  view.addEventListener('dblclick', (event) => {
    const hit = pickAt(app, event);
    if (hit?.point) app.orbit.wanted.target.copy(hit.point);
    app.touch();
  });
}

// Chooses the body of a name, or the first whose name contains the words, and centres it.
function find(app, words) {
  const names = app.meta.bodies.name, low = words.trim().toLowerCase();
  if (!low) return;
  let body = names.findIndex((name) => name.toLowerCase() === low);
  if (body < 0) body = names.findIndex((name) => name.toLowerCase().includes(low));
  if (body < 0) {
    app.say(`No body is called “${words}”.`);
    return;
  }
  app.showBody(body);
  app.choose({ body });
  if (app.stage.pose) app.orbit.wanted.target.copy(app.stage.center(body));
}

function connectFinder(app) {
  const { find: input, names } = app.elements;
  app.onChange = () => names.replaceChildren(...app.meta.bodies.name.slice(0, 1000).map((name) => {
    const option = document.createElement('option');
    option.value = name;
    return option;
  }));
  app.onChange();
  input.addEventListener('change', () => { find(app, input.value); input.value = ''; input.blur(); });
}

// ---- Buttons ----

function faster(app, by) {
  const now = SPEEDS.indexOf(Number(app.elements.speed.value));
  const speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, now + by))];
  app.elements.speed.value = String(speed);
  app.setSpeed(speed);
}

function nextFrame(app, by) {
  if (app.meta.live && by === 1 && app.player.tail) app.command({ do: 'step' });
  else app.stepBy(by);
}

function showAll(app) {
  app.following = false;
  app.hide(null);
  if (app.frame) app.frameAll([app.frame]);
}

function togglePlots(app) {
  app.elements.strip.hidden = !app.elements.strip.hidden;
  app.touch();
}

function connectButtons(app) {
  const { elements: e, stage } = app, on = (id, action) => e[id].addEventListener('click', action);
  e.colors.addEventListener('change', () => app.setMode(e.colors.value));
  e.speed.addEventListener('change', () => app.setSpeed(Number(e.speed.value)));
  for (const what of ['contacts', 'edges', 'wire', 'shadows']) on(what, () => app.setShow(what, !stage.show[what]));
  on('frame', () => showAll(app));
  on('follow', () => app.follow());
  on('inspect-follow', () => app.follow());
  on('inspect-hide', () => { app.hide(app.chosen.body); app.choose(null); });
  on('show-all', () => app.hide(null));
  on('section', () => app.setSection({ on: !app.section.on }));
  on('flip', () => app.setSection({ flip: !app.section.flip }));
  e.cut.addEventListener('input', () => app.setSection({ place: Number(e.cut.value) / 1000 }));
  e.cutter.querySelectorAll('[data-axis]').forEach((button) => {
    button.addEventListener('click', () => app.setSection({ axis: Number(button.dataset.axis) }));
  });
  on('plots', () => togglePlots(app));
  on('theme', () => app.setTheme(app.theme === 'dark' ? 'light' : 'dark'));
  on('help', () => e.keys.showModal());
  on('close', () => app.choose(null));
  on('play', () => app.toggle());
  on('first', () => { app.player.playing = false; app.scrub(app.player.start); });
  on('last', () => { app.player.playing = false; app.scrub(app.player.end); });
  on('back', () => nextFrame(app, -1));
  on('forth', () => nextFrame(app, 1));
  on('loop', () => { app.player.loop = !app.player.loop; app.touch(); });
  on('reset', () => { app.toTail(); app.command({ do: 'reset' }); });
  on('tail', () => app.toTail());
}

// ---- Keys ----

function keyActions(app) {
  const { elements: e, stage } = app, press = (id) => () => e[id].click();
  return {
    ' ': press('play'), ArrowLeft: (event) => nextFrame(app, event.shiftKey ? -10 : -1),
    ArrowRight: (event) => nextFrame(app, event.shiftKey ? 10 : 1), Home: press('first'), End: press('last'),
    '[': () => faster(app, -1), ']': () => faster(app, 1), l: press('loop'), a: press('frame'), f: press('follow'),
    c: press('contacts'), e: press('edges'), w: press('wire'), s: press('shadows'), x: press('section'), p: press('plots'),
    t: press('theme'), '?': press('help'), '/': () => e.find.focus(), n: () => { if (app.meta.live) app.command({ do: 'step' }); },
    h: () => { if (app.chosen?.body !== undefined) { app.hide(app.chosen.body); app.choose(null); } },
    H: () => app.hide(null), R: () => { if (app.meta.live) e.reset.click(); }, Escape: () => app.choose(null),
    ...Object.fromEntries(COLORS.map((mode, k) => [String(k + 1), () => app.setMode(mode)])),
  };
}

function connectKeys(app) {
  const actions = keyActions(app);
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || app.elements.keys.open) return;
    if (/^(SELECT|INPUT)$/.test(event.target.tagName) && event.key !== 'Escape') return;
    const action = actions[event.key];
    if (!action) return;
    if (event.key === ' ' && event.target.tagName === 'BUTTON') event.target.blur();
    event.preventDefault();
    action(event);
  });
}

export function connect(app) {
  connectPointer(app);
  connectFinder(app);
  connectButtons(app);
  connectKeys(app);
}
