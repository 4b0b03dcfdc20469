// Starts the viewer: finds its data, loads, and keeps the picture and the data up to date.
import * as THREE from 'three';
import { App } from './app.js';
import { connect } from './input.js';
import { buildPage } from './layout.js';
import { EmbeddedSource, HttpSource } from './source.js';

const LIVE_MS = 30, WRITTEN_MS = 300, QUIET_MS = 2000;

// The fragment of a link sets the view: #step=130&body=3&color=force&contacts=0&shadows=0&theme=light&view=35,18&at=0,0,1,0.5&play=1
function applyLink(app) {
  const link = new URLSearchParams(location.hash.slice(1));
  if (link.has('theme')) app.setTheme(link.get('theme') === 'light' ? 'light' : 'dark');
  if (link.has('color')) app.setMode(['speed', 'force', 'strain', 'stress'].includes(link.get('color')) ? link.get('color') : 'body');
  for (const what of ['contacts', 'edges', 'wire', 'shadows']) if (link.has(what)) app.setShow(what, link.get(what) !== '0');
  if (link.has('view')) {
    const [azimuth, elevation] = link.get('view').split(',').map((degrees) => (Number(degrees) * Math.PI) / 180);
    if (Number.isFinite(azimuth) && Number.isFinite(elevation)) app.orbit.look(azimuth, elevation);
    app.orbit.jump();
  }
  if (link.has('at')) {
    const [x, y, z, radius] = link.get('at').split(',').map(Number);
    if ([x, y, z].every(Number.isFinite) && radius > 0) app.orbit.frame(new THREE.Vector3(x, y, z), radius, true);
  }
  const body = Number(link.get('body'));
  if (body >= 1 && body <= app.meta.bodies.name.length) app.choose({ body: body - 1 });
  if (link.has('step')) app.scrub(Number(link.get('step')) * app.player.dt);
  if (link.get('play') === '1' && !app.meta.live) app.toggle();
}

function fitCanvas(app) {
  const { view } = app.elements;
  const fit = () => {
    app.stage.resize(Math.max(1, view.clientWidth), Math.max(1, view.clientHeight), Math.min(2, devicePixelRatio || 1));
    app.touch();
  };
  new ResizeObserver(fit).observe(view);
  fit();
}

function keepDrawing(app) {
  let before = performance.now();
  const tick = (now) => {
    requestAnimationFrame(tick); // first, so that a failing picture is not the last one
    app.draw(Math.min(0.25, (now - before) / 1000));
    before = now;
  };
  requestAnimationFrame(tick);
}

async function keepFollowing(app) {
  for (;;) {
    const pause = app.meta.live ? LIVE_MS : app.status.writing ? WRITTEN_MS : QUIET_MS;
    await new Promise((resolve) => { setTimeout(resolve, document.hidden ? 1000 : pause); });
    try {
      await app.refresh();
      if (app.lost) app.say('');
      app.lost = false;
    } catch {
      if (!app.lost) app.say('The server does not answer: is abd view still running?', true);
      app.lost = true;
    }
  }
}

async function start() {
  const embedded = EmbeddedSource.present();
  const source = embedded ? new EmbeddedSource() : new HttpSource();
  const elements = buildPage();
  elements.strip.hidden = innerHeight < 560;
  try {
    const app = new App(source, elements);
    window.abdViewer = app;
    fitCanvas(app);
    await app.load();
    connect(app);
    applyLink(app);
    elements.loading.classList.add('done');
    keepDrawing(app);
    if (!embedded) keepFollowing(app);
  } catch (error) {
    elements.loading.classList.add('failed');
    elements.loading.querySelector('p').textContent = error.message;
  }
}

start();
