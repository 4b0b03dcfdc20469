// End-to-end tests of the viewer, see browser.sh. Every test opens a page, does what a person would do, and looks at
// pixels and at what the page says. A message on the console, other than a plain log, fails the test it came in.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { crowd } from './crowd.mjs';

const [abd, source, out, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(join(source, 'viewer/'))('playwright-core');
// Small where it does not matter: the pictures are drawn without a graphics card here.
const WIDE = { width: 1280, height: 720 }, SMALL = { width: 760, height: 460 }, PHONE = { width: 390, height: 780 };

// ---- Scenes and servers ----

const scene = {
  version: 1, name: 'test', dt: 0.01, steps: 60, contact: { friction: 0.5 },
  bodies: [
    { name: 'ground', shape: 'ground' },
    { name: 'low <b>box</b>', shape: 'box', size: [1, 1, 0.4], position: [0, 0, 0.25] },
    { name: 'ball', shape: 'sphere', radius: 0.3, position: [0.1, 0, 1.2], density: 2000 },
    { name: 'ring', shape: 'torus', radius: 0.3, tube: 0.08, position: [-0.9, 0.2, 0.9], euler_degrees: [70, 0, 0] },
  ],
};
const file = (name) => join(out, name);
writeFileSync(file('scene.json'), JSON.stringify(scene));

function run(...args) {
  const result = spawnSync(abd, args, { encoding: 'utf8' });
  assert.equal(result.status, 0, `abd ${args.join(' ')}: ${result.stderr}`);
}

// Starts `abd view` and gives its address.
const children = new Set();
process.on('exit', () => { for (const child of children) child.kill(); });
async function view(...args) {
  const child = spawn(abd, ['view', ...args, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  const address = await new Promise((resolve, reject) => {
    child.stdout.once('data', (text) => resolve(String(text).trim()));
    child.once('exit', (code) => reject(new Error(`abd view ended with code ${code}`)));
  });
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  return { address, stop: () => new Promise((resolve) => { child.once('exit', resolve); child.kill('SIGTERM'); }) };
}

// ---- A page ----

const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
});

async function open(address, { size = SMALL, touch = false, live = false, prepare = () => {} } = {}) {
  const context = await browser.newContext({ viewport: size, hasTouch: touch, colorScheme: 'dark' });
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (message) => { if (message.type() !== 'log') page.complaints.push(`${message.type()}: ${message.text()}`); });
  page.on('pageerror', (error) => page.complaints.push(error.stack));
  await prepare(page);
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector('#loading.done, #loading.failed'), null, { timeout: 60000 });
  const failure = await page.evaluate(() => document.querySelector('#loading.failed p')?.textContent);
  assert.equal(failure, undefined, failure);
  if (live) await page.waitForFunction(() => abdViewer.drawings > 0);
  else await settle(page);
  return page;
}

// Until nothing is left to draw.
const settle = (page) => page.waitForFunction(() => abdViewer.settled, null, { polling: 50, timeout: 60000 });

async function close(page, name) {
  await page.screenshot({ path: file(`${name}.png`) });
  assert.deepEqual(page.complaints, [], `${name}: messages on the console`);
  await page.context().close();
}

// The scene's pixels as a short text, to be compared.
const pixels = async (page) => createHash('sha1').update(await page.locator('#view').screenshot()).digest('hex');

// Plays until a time in between has come, and stops there.
const playUntil = (page, from, to) => page.waitForFunction(([a, b]) => {
  const { player } = abdViewer, there = player.playing && player.time > a && player.time < b;
  if (there) abdViewer.toggle();
  return there;
}, [from, to], { polling: 20, timeout: 60000 });

// Where a body's centre is on the screen.
const screenOf = (page, body) => page.evaluate((b) => {
  const { stage, elements } = abdViewer, p = stage.center(b).project(stage.camera), box = elements.view.getBoundingClientRect();
  return { x: box.left + ((p.x + 1) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height };
}, body);

const text = (page, selector) => page.locator(selector).innerText();

// ---- Tests ----

async function testPlayAndScrub(address) {
  const page = await open(`${address}#shadows=0`, { size: WIDE });
  assert.equal(await text(page, '#name'), 'test');
  assert.match(await text(page, '#facts'), /^4 bodies/);
  const first = await pixels(page);
  await page.keyboard.press('Space');
  await playUntil(page, 0.1, 0.5);
  await settle(page);
  assert.notEqual(await pixels(page), first, 'nothing moved while playing');
  const slider = await page.locator('#slider').boundingBox();
  await page.mouse.click(slider.x + 0.5 * slider.width, slider.y + slider.height / 2);
  await settle(page);
  const middle = await page.evaluate(() => abdViewer.frame.step);
  assert.ok(Math.abs(middle - 30) <= 1, `the middle of the slider shows step ${middle}`);
  assert.match(await text(page, '#time'), new RegExp(`step ${middle}`));
  await page.keyboard.press('ArrowRight');
  await settle(page);
  assert.equal(await page.evaluate(() => abdViewer.frame.step), middle + 1);
  await page.keyboard.press('Home');
  await settle(page);
  assert.equal(await pixels(page), first, 'the first frame looks different the second time');
  const plot = await page.locator('.plot canvas').first().boundingBox();
  await page.mouse.click(plot.x + 0.75 * plot.width, plot.y + 20);
  await settle(page);
  assert.ok(Math.abs((await page.evaluate(() => abdViewer.frame.step)) - 45) <= 1, 'a click into a plot goes there');
  await close(page, 'scrub');
}

async function testOrbitAndFollow(address) {
  const page = await open(`${address}#step=20&shadows=0`);
  const before = await pixels(page);
  await page.mouse.move(100, 300);
  await page.mouse.down();
  await page.mouse.move(220, 330, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  const turned = await pixels(page);
  assert.notEqual(turned, before, 'dragging did not turn');
  await page.mouse.wheel(0, -400);
  await settle(page);
  assert.notEqual(await pixels(page), turned, 'the wheel did not zoom');
  await page.evaluate(() => abdViewer.choose({ body: 2 }));
  await page.keyboard.press('f');
  await settle(page);
  const held = await screenOf(page, 2);
  await page.keyboard.press('End');
  await settle(page);
  const there = await screenOf(page, 2);
  assert.ok(Math.hypot(held.x - there.x, held.y - there.y) < 3, 'the followed body left its place on the screen');
  await close(page, 'follow');
}

async function testPick(address) {
  const page = await open(`${address}#step=60&contacts=0&shadows=0`);
  const ball = await screenOf(page, 2);
  await page.mouse.click(ball.x, ball.y);
  await settle(page);
  assert.equal(await text(page, '#inspector h2'), 'ball');
  const rows = await text(page, '#inspector dl');
  for (const word of ['Mass', 'Speed', 'Contacts', 'Deviation']) assert.ok(rows.includes(word), `no ${word} in: ${rows}`);
  assert.match(rows, /22\d kg/, 'the mass of the ball'); // 2000 kg/m^3 times 4/3 pi 0.3^3 m^3, a little less for its facets
  const low = await page.evaluate(() => { // a corner of its upper side
    const { camera } = abdViewer.stage;
    return camera.position.clone().set(-0.42, -0.42, 0.4).project(camera).toArray();
  });
  const box = await page.locator('#view').boundingBox();
  await page.mouse.click(box.x + ((low[0] + 1) / 2) * box.width, box.y + ((1 - low[1]) / 2) * box.height);
  await settle(page);
  assert.equal(await text(page, '#inspector h2'), 'low <b>box</b>', 'names are text, not markup');
  await page.keyboard.press('Escape');
  await settle(page);
  assert.equal(await page.locator('#inspector').isVisible(), false);
  await page.mouse.click(box.x + 20, box.y + 30);
  await page.keyboard.press('c');
  await settle(page);
  const contact = await page.evaluate(() => {
    const { stage, contactsHere, elements } = abdViewer, base = stage.camera.position.clone().fromArray(contactsHere.f32, 3).project(stage.camera);
    const r = elements.view.getBoundingClientRect();
    return { x: r.left + ((base.x + 1) / 2) * r.width, y: r.top + ((1 - base.y) / 2) * r.height };
  });
  await page.mouse.click(contact.x, contact.y);
  await settle(page);
  assert.equal(await text(page, '#inspector h2'), 'Contact');
  assert.match(await text(page, '#inspector dl'), /Normal force/);
  await close(page, 'pick');
}

async function testFind(address) {
  const page = await open(`${address}#shadows=0`, { size: WIDE });
  await page.keyboard.press('/');
  await page.keyboard.type('rin');
  await page.keyboard.press('Enter');
  await settle(page);
  assert.equal(await text(page, '#inspector h2'), 'ring');
  const there = await screenOf(page, 3), box = await page.locator('#view').boundingBox();
  assert.ok(Math.hypot(there.x - box.x - box.width / 2, there.y - box.y - box.height / 2) < 5, 'it is not in the middle');
  await page.keyboard.press('h');
  await settle(page);
  assert.equal(await page.locator('#inspector').isVisible(), false);
  assert.equal(await page.evaluate(() => abdViewer.stage.pick(...Object.values(abdViewer.stage.size).map((n) => n / 2))?.body === 3), false);
  await close(page, 'find');
}

async function testLooks(address) {
  const page = await open(`${address}#step=40&contacts=0`);
  const seen = new Map();
  const different = async (what) => {
    await settle(page);
    const now = await pixels(page), twin = [...seen].find(([, other]) => other === now);
    assert.equal(twin, undefined, `${what} looks like ${twin?.[0]}`);
    seen.set(what, now);
    await page.screenshot({ path: file(`look-${what.replace(/ /g, '-')}.png`) });
  };
  await different('plain');
  for (const mode of ['speed', 'force', 'strain']) {
    await page.selectOption('#colors', mode);
    await different(`colour ${mode}`);
    assert.equal(await page.locator('#legend').isVisible(), true);
    assert.ok((await text(page, '#legend')).length > 10);
  }
  await page.locator('#colors').blur();
  await page.keyboard.press('1');
  for (const [key, what] of [['c', 'contacts'], ['w', 'wireframe'], ['s', 'no shadows'], ['x', 'section'], ['t', 'light']]) {
    await page.keyboard.press(key);
    await different(what);
  }
  const strip = () => page.locator('#strip').isVisible();
  const shown = await strip();
  await page.keyboard.press('p');
  await settle(page);
  assert.equal(await strip(), !shown);
  await page.keyboard.press('?');
  assert.equal(await page.locator('#keys').isVisible(), true);
  await close(page, 'help');
}

async function testPhone(address) {
  const page = await open(`${address}#step=60`, { size: PHONE, touch: true });
  const spot = await screenOf(page, 3);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= PHONE.width, `the page is ${wide} pixels wide`);
  const before = await pixels(page);
  await page.touchscreen.tap(40, 300);
  await page.touchscreen.tap(spot.x + 2, spot.y);
  await page.locator('#play').tap();
  await playUntil(page, 0.05, 0.5);
  await settle(page);
  assert.notEqual(await pixels(page), before);
  await close(page, 'phone');
}

async function testGrowing() {
  run('run', file('scene.json'), '-o', file('growing.abd'), '-n', '5', '-q', '-f');
  const server = await view(file('growing.abd'));
  const page = await open(`${server.address}#shadows=0`);
  assert.equal(await page.evaluate(() => abdViewer.player.count), 6);
  const before = await pixels(page);
  const writer = spawn(abd, ['run', file('growing.abd'), '--resume', '-n', '150', '-q']);
  const ended = new Promise((resolve) => { writer.once('exit', resolve); });
  await page.waitForFunction(() => abdViewer.player.count > 20, null, { timeout: 60000 });
  await ended;
  await page.waitForFunction(() => abdViewer.player.count === 151, null, { timeout: 60000 });
  await page.keyboard.press('End');
  await settle(page);
  assert.notEqual(await pixels(page), before, 'the page did not follow the run');
  assert.equal(await page.evaluate(() => abdViewer.reports.length), 150);
  await close(page, 'growing');
  await server.stop();
}

async function testLive() {
  const server = await view(file('scene.json'));
  const page = await open(`${server.address}#shadows=0`, { live: true });
  await page.waitForFunction(() => abdViewer.player.count > 10, null, { timeout: 60000 });
  await page.keyboard.press('Space');
  await page.waitForFunction(() => abdViewer.status.paused);
  await settle(page);
  const paused = await page.evaluate(() => abdViewer.player.count);
  await page.keyboard.press('n');
  await page.waitForFunction((n) => abdViewer.player.count > n, paused);
  await page.keyboard.press('Space');
  await page.waitForFunction(() => abdViewer.player.count > 70, null, { timeout: 60000 });
  const spot = await screenOf(page, 2);
  const height = () => page.evaluate(() => abdViewer.stage.center(2).z);
  const before = await height();
  await page.mouse.move(spot.x, spot.y);
  await page.mouse.down();
  await page.mouse.move(spot.x, spot.y - 120, { steps: 8 });
  await page.waitForFunction((z) => abdViewer.stage.center(2).z > z + 0.25, before, { timeout: 60000 });
  await page.screenshot({ path: file('live-pull.png') });
  await page.mouse.up();
  await page.waitForFunction((z) => abdViewer.stage.center(2).z < z + 0.15, before, { timeout: 60000 });
  await page.keyboard.press('Space');
  await page.waitForFunction(() => abdViewer.status.paused);
  await page.keyboard.press('Shift+R');
  await page.waitForFunction(() => abdViewer.status.epoch === 1 && abdViewer.player.count === 1, null, { timeout: 60000 });
  await close(page, 'live');
  await server.stop();
}

// Bodies that come and go: in a run, and while it is simulated, without loading the page again.
async function testChanges() {
  const belt = {
    version: 1, name: 'belt', dt: 0.01, steps: 120,
    bodies: [
      { name: 'belt', shape: 'box', size: [2, 0.4, 0.1], position: [0, 0, -0.05], motion: 'static', surface_velocity: [0.5, 0, 0] },
      { name: 'part', shape: 'box', size: [0.1, 0.1, 0.1], position: [-0.8, 0, 0.06], velocity: [0.5, 0, 0], until: 0.7, copies: { count: 5, every: 0.25 } },
    ],
  };
  writeFileSync(file('belt.json'), JSON.stringify(belt));
  run('run', file('belt.json'), '-o', file('belt.abd'), '-q', '-f');
  let server = await view(file('belt.abd'));
  let page = await open(`${server.address}#step=0&shadows=0`, { size: WIDE });
  assert.match(await text(page, '#facts'), /^6 bodies/);
  const alive = () => page.evaluate(() => abdViewer.meta.bodies.name.filter((_, b) => abdViewer.stage.pose[12 * b + 3] !== 0).length);
  assert.equal(await alive(), 2);
  const first = await pixels(page);
  await page.keyboard.press('End');
  await settle(page);
  assert.equal(await alive(), 4, 'parts 3 to 5 are there at the end');
  assert.notEqual(await pixels(page), first);
  assert.deepEqual(await page.evaluate(() => [abdViewer.controls.changesAt.come.length, abdViewer.controls.changesAt.gone.length]), [4, 2]);
  await page.fill('#find', 'part-1');
  await page.keyboard.press('Enter');
  await settle(page);
  assert.equal(await page.evaluate(() => abdViewer.frame.step), 0, 'a part that is gone is shown at its first frame');
  await page.keyboard.press('End');
  await settle(page);
  assert.match(await text(page, '#inspector'), /not there now/);
  await close(page, 'changes');
  await server.stop();
  server = await view(file('belt.json'));
  page = await open(`${server.address}#shadows=0`, { live: true });
  await page.evaluate(() => { window.once = true; });
  await page.waitForFunction(() => abdViewer.meta.bodies.name.length === 6, null, { timeout: 60000 });
  await page.keyboard.press('Space');
  await page.waitForFunction(() => abdViewer.status.paused);
  await settle(page);
  assert.ok(await page.evaluate(() => window.once), 'the page was loaded again');
  await page.evaluate(() => abdViewer.scrub(abdViewer.meta.bodies.born[5] * abdViewer.player.dt));
  await settle(page);
  assert.ok(await page.evaluate(() => abdViewer.stage.pose[12 * 5 + 3] !== 0), 'the last part is not drawn');
  await page.keyboard.press('Shift+R');
  await page.waitForFunction(() => abdViewer.status.epoch === 1 && abdViewer.player.count === 1, null, { timeout: 60000 });
  await close(page, 'changes-live');
  await server.stop();
}

// A body comes while a page loads, between its status and its first frames, and another page has read the new bodies already.
async function testTwoPages() {
  const bodies = [0, 0.05].map((from, k) => ({ name: `box ${k + 1}`, shape: 'box', size: [0.2, 0.2, 0.2], position: [k, 0, 1], ...(from && { from }) }));
  writeFileSync(file('two.json'), JSON.stringify({ version: 1, name: 'two', dt: 0.01, steps: 60, bodies }));
  const server = await view(file('two.json'), '--paused');
  const status = async () => (await fetch(`${server.address}api/status`)).json();
  const go = async (steps) => {
    const before = await status(), headers = { 'Content-Type': 'application/json' };
    for (let k = 0; k < steps; k++) await fetch(`${server.address}api/control`, { method: 'POST', headers, body: '{"do": "step"}' });
    while ((await status()).last_step < before.last_step + steps) await new Promise((resolve) => { setTimeout(resolve, 20); });
  };
  let answers = 0;
  const prepare = (page) => page.route('**/api/frames*', async (route) => {
    if (!answers++) await go(10);
    await route.continue();
  });
  const page = await open(`${server.address}#shadows=0`, { live: true, prepare });
  await settle(page);
  assert.equal((await status()).last_step, 10);
  assert.equal(await page.evaluate(() => abdViewer.meta.bodies.name.length), 2);
  assert.equal(await page.evaluate(() => abdViewer.frame.step), 10);
  assert.ok(await page.evaluate(() => abdViewer.stage.pose[12 + 3] !== 0), 'the body that came is not drawn');
  await close(page, 'two-pages');
  await server.stop();
}

async function testFromDisk() {
  run('export', file('test.abd'), '-o', file('test.html'));
  const names = ['test.html'];
  if (existsSync(file('esbuild/viewer.js'))) {
    const html = readFileSync(file('test.html'), 'utf8');
    const start = html.lastIndexOf('<script>') + 8, end = html.lastIndexOf('</script>');
    writeFileSync(file('test-esbuild.html'), html.slice(0, start) + readFileSync(file('esbuild/viewer.js'), 'utf8') + html.slice(end));
    names.push('test-esbuild.html');
  } else {
    console.log('skipped: the page built with esbuild and libjs-three, which are not installed');
  }
  for (const name of names) {
    const page = await open(`file://${file(name)}#step=30&shadows=0`);
    assert.equal(await page.evaluate(() => abdViewer.player.count), 61);
    assert.equal(await page.evaluate(() => abdViewer.frame.step), 30);
    const ball = await screenOf(page, 2);
    await page.mouse.click(ball.x, ball.y);
    await settle(page);
    assert.equal(await text(page, '#inspector h2'), 'ball');
    assert.match(await text(page, '#inspector dl'), /Contact force/);
    const before = await pixels(page);
    await page.keyboard.press('Space');
    await playUntil(page, 0.35, 0.55);
    await settle(page);
    assert.notEqual(await pixels(page), before);
    await close(page, name.replace('.html', '-from-disk'));
  }
}

// A soft body's vertices move, from a server and from a page; the pictures of both agree with where they are.
async function testSoft() {
  const bodies = [{ name: 'ground', shape: 'ground' }, { name: 'jelly', shape: 'box', size: [1, 1, 1], cells: 2, position: [0, 0, 0.6],
    velocity: [0, 0, -3], soft: { young: 3e4 } }];
  writeFileSync(file('soft.json'), JSON.stringify({ version: 1, name: 'soft', dt: 0.01, steps: 20, bodies }));
  run('run', file('soft.json'), '-o', file('soft.abd'), '-q', '-f');
  run('export', file('soft.abd'), '-o', file('soft.html'));
  const served = await view(file('soft.abd'));
  const heights = [];
  for (const address of [served.address, `file://${file('soft.html')}`]) {
    const page = await open(`${address}#step=0&shadows=0`);
    const height = () => page.evaluate(() => {
      const { vertex } = abdViewer.stage.soft[0];
      let low = Infinity, high = -Infinity;
      for (let k = 2; k < vertex.length; k += 3) { low = Math.min(low, vertex[k]); high = Math.max(high, vertex[k]); }
      return high - low;
    });
    const before = await height(), first = await pixels(page);
    await page.keyboard.press('End');
    await settle(page);
    assert.ok(Math.abs(before - 1) < 1e-3, `it is ${before} m high at the start`);
    heights.push(await height());
    assert.ok(heights[heights.length - 1] < 0.97, `it is ${heights} m high after it fell`);
    assert.notEqual(await pixels(page), first, 'it looks as at the start');
    await close(page, address.startsWith('file') ? 'soft-from-disk' : 'soft');
  }
  assert.ok(Math.abs(heights[0] - heights[1]) < 1e-4, `heights ${heights}`);
  await served.stop();
}

// What the page's own thread has to do for a picture: there are 16.7 ms at 60 pictures a second, of which some are the browser's.
// Processor time, not the clock's; drawing, which a graphics card does elsewhere, is left out.
async function timePictures(address, bodies, contactsEach, link) {
  const context = await browser.newContext({ viewport: WIDE });
  const page = await context.newPage(), answer = crowd(bodies, contactsEach);
  await page.addInitScript(() => {
    window.calls = 0;
    for (const name of ['drawElementsInstanced', 'drawArraysInstanced', 'drawElements', 'drawArrays']) {
      WebGL2RenderingContext.prototype[name] = () => { window.calls++; };
    }
  });
  await page.route('**/api/*', (route) => route.fulfill({ body: answer(route.request().url()) }));
  await page.goto(address + link);
  await page.waitForFunction(() => document.querySelector('#loading.done'), null, { timeout: 60000 });
  await settle(page);
  const play = (count) => page.evaluate((n) => {
    const app = abdViewer, begun = window.calls;
    for (let k = 0; k < n; k++) {
      app.player.time = app.player.start + ((k % 10) / 10) * (app.player.end - app.player.start);
      app.touch();
      app.draw(0.016);
    }
    return { calls: (window.calls - begun) / n, drawn: app.stage.drawn, marks: app.stage.marks.count };
  }, count);
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => 1e3 * (await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
  await play(20);
  const before = await busy(), PICTURES = 60, did = await play(PICTURES);
  const ms = (await busy() - before) / PICTURES;
  console.log(`        ${bodies} bodies, ${did.marks} contacts: ${ms.toFixed(2)} ms, ${did.calls} draw calls, ${did.drawn} triangles for a picture`);
  await context.close();
  return { ms, ...did };
}

async function testSpeed(address) {
  const thousand = await timePictures(address, 1000, 4, '#color=force&body=40');
  assert.equal(thousand.marks, 4000);
  assert.ok(thousand.ms < 8, `${thousand.ms} ms for 1000 bodies, expected less than 8`);
  assert.ok(thousand.calls < 20, `${thousand.calls} draw calls for 1000 bodies, expected less than 20`);
  const many = await timePictures(address, 27645, 0, '#color=speed');
  assert.ok(many.ms < 16, `${many.ms} ms for 27645 bodies, expected less than 16`);
  assert.ok(many.drawn < 4e6 && many.drawn > 1e5, `${many.drawn} triangles are drawn of 12.4 million, expected fewer for what is far`);
}

// ---- All of them ----

run('run', file('scene.json'), '-o', file('test.abd'), '--contacts', '-q', '-f');
const server = await view(file('test.abd'));
const tests = [testPlayAndScrub, testOrbitAndFollow, testPick, testFind, testLooks, testPhone, testGrowing, testLive, testChanges, testTwoPages, testFromDisk, testSoft, testSpeed];
const wanted = process.env.VIEW_TEST;
let failed = 0;
for (const test of tests) {
  if (wanted && !test.name.includes(wanted)) continue;
  const begun = Date.now();
  try {
    await test(server.address);
    console.log(`ok      ${test.name}, ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${test.name}: ${error.stack}`);
  }
}
await browser.close();
await server.stop();
console.log(`${failed} failed; pictures are in ${out}`);
process.exit(failed ? 1 : 0);
