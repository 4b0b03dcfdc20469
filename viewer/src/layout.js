// The page's elements. Only fixed markup is set by innerHTML; data of a run is set as text.

const ICONS = {
  play: '<path d="M7 4.5v15l12-7.5z" fill="currentColor"/>',
  pause: '<path d="M7 4.5h3.4v15H7zM13.6 4.5H17v15h-3.4z" fill="currentColor"/>',
  first: '<path d="M6 5v14M19 5.5v13L9 12z"/>',
  last: '<path d="M18 5v14M5 5.5v13L15 12z"/>',
  back: '<path d="M15 5.5L8 12l7 6.5"/>',
  forth: '<path d="M9 5.5l7 6.5-7 6.5"/>',
  loop: '<path d="M4 12a6 6 0 0 1 6-6h8M15 3l3 3-3 3M20 12a6 6 0 0 1-6 6H6M9 21l-3-3 3-3"/>',
  frame: '<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"/><circle cx="12" cy="12" r="2.5"/>',
  follow: '<circle cx="12" cy="12" r="6"/><path d="M12 2v5M12 17v5M2 12h5M17 12h5"/>',
  contacts: '<path d="M12 21V9M7.5 13L12 8.500l4.500 4.500" /><circle cx="12" cy="4.500" r="1.800" fill="currentColor"/><path d="M4 21h16"/>',
  edges: '<path d="M12 3l8 4.500v9L12 21l-8-4.500v-9zM12 12l8-4.500M12 12v9M12 12L4 7.500"/>',
  wire: '<path d="M3 20L12 4l9 16zM7.500 12h9M7.500 12L12 20l4.500-8"/>',
  shadows: '<circle cx="12" cy="9" r="5.500"/><path d="M5 19.500c3-1.600 11-1.600 14 0"/>',
  section: '<path d="M4 17L15 3l5 4L9 21z"/><path d="M2 12h20" stroke-dasharray="2 2.500"/>',
  theme: '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/>',
  plots: '<path d="M3 20h18M5 16l4.500-6 4 3.500L20 5"/>',
  help: '<circle cx="12" cy="12" r="9"/><path d="M9.300 9.300a2.700 2.700 0 1 1 3.900 2.500c-.8.400-1.200 1-1.200 1.900M12 16.800v.2"/>',
  hide: '<path d="M3 12s3.500-6 9-6 9 6 9 6-3.500 6-9 6-9-6-9-6z"/><path d="M4 20L20 4"/>',
  close: '<path d="M6 6l12 12M18 6L6 18"/>',
  reset: '<path d="M5 12a7 7 0 1 1 2 5M5 19v-5h5"/>',
};

export const icon = (name) => `<svg viewBox="0 0 24 24" aria-hidden="true">${ICONS[name]}</svg>`;
const button = (id, name, title, extra = '') =>
  `<button type="button" id="${id}" class="icon ${extra}" title="${title}" aria-label="${title}">${icon(name)}</button>`;

const PAGE = `
<header>
  <div class="brand"><b>abd</b><span id="name"></span></div>
  <div id="facts"></div>
  <input id="find" type="search" list="names" placeholder="Find a body" aria-label="Find a body" autocomplete="off" title="Find a body (/)"><datalist id="names"></datalist>
  <nav class="tools" aria-label="Display">
    <label class="choice"><span>Colour</span><select id="colors" aria-label="Colour by">
      <option value="body">by body</option><option value="speed">by speed</option>
      <option value="force">by contact force</option><option value="strain">by deviation from rigidity</option>
      <option value="stress">by stress of soft bodies</option></select></label>
    <span class="gap"></span>
    ${button('frame', 'frame', 'Show everything (A)')}
    ${button('follow', 'follow', 'Follow the chosen body (F)')}
    <span class="gap"></span>
    ${button('contacts', 'contacts', 'Contacts and forces (C)')}
    ${button('edges', 'edges', 'Edges (E)')}
    ${button('wire', 'wire', 'Wireframe (W)')}
    ${button('shadows', 'shadows', 'Shadows (S)')}
    ${button('section', 'section', 'Section plane (X)')}
    <span class="gap"></span>
    ${button('plots', 'plots', 'Plots (P)')}
    ${button('theme', 'theme', 'Dark or light (T)')}
    ${button('help', 'help', 'Keys and help (?)')}
  </nav>
</header>
<main>
  <canvas id="view" tabindex="0" aria-label="The scene"></canvas>
  <div id="notice" role="status" hidden></div>
  <form id="cutter" class="card" hidden>
    <div class="segments" role="group" aria-label="Axis"><button type="button" data-axis="0">X</button><button type="button" data-axis="1">Y</button><button type="button" data-axis="2">Z</button></div>
    <input id="cut" type="range" min="0" max="1000" value="500" aria-label="Place of the section plane">
    <button type="button" id="flip" class="text">Flip</button>
  </form>
  <div id="legend" class="card" hidden><div class="legend-title"></div><div class="legend-bar"></div><div class="legend-ends"><span></span><span></span><span></span></div><div class="legend-more"></div></div>
  <aside id="inspector" class="card" hidden>
    <div class="inspector-head"><i class="swatch"></i><h2></h2>${button('close', 'close', 'Close (Esc)', 'small')}</div>
    <dl></dl>
    <div class="inspector-tools"><button type="button" class="text" id="inspect-follow">Follow</button><button type="button" class="text" id="inspect-hide">Hide</button><button type="button" class="text" id="show-all" hidden>Show all</button></div>
  </aside>
  <div id="hint"></div>
  <div id="loading"><div class="spinner"></div><p>Loading</p></div>
</main>
<footer>
  <div class="transport">
    <div class="buttons">
      ${button('reset', 'reset', 'Restart (Shift+R)', 'live-only')}
      ${button('first', 'first', 'First frame (Home)')}
      ${button('back', 'back', 'One frame back (←)')}
      ${button('play', 'play', 'Play or pause (Space)', 'primary')}
      ${button('forth', 'forth', 'One frame on (→)')}
      ${button('last', 'last', 'Last frame (End)')}
      ${button('loop', 'loop', 'Repeat (L)', 'recorded-only')}
    </div>
    <canvas id="slider" role="slider" tabindex="0" aria-label="Time" aria-valuemin="0"></canvas>
    <output id="time"><span></span><small class="of"></small><small class="step"></small></output>
    <label class="choice"><select id="speed" aria-label="Speed"><option value="0.02">1/50×</option><option value="0.1">1/10×</option><option value="0.25">1/4×</option><option value="0.5">1/2×</option><option value="1" selected>1×</option><option value="2">2×</option><option value="5">5×</option><option value="10">10×</option></select></label>
    <button type="button" id="tail" class="chip" hidden><i></i><span>Live</span></button>
  </div>
  <div id="strip"></div>
</footer>
<dialog id="keys"><h2>Keys and gestures</h2><div class="keys-grid"></div><form method="dialog"><button class="text">Close</button></form></dialog>`;

const KEYS = [
  ['drag', 'turn'], ['right drag, Shift drag', 'shift'], ['wheel, pinch', 'zoom to the pointer'], ['click, tap', 'choose a body or contact'],
  ['double click', 'centre on a body'], ['drag a body (live)', 'pull it'], ['Space', 'play, pause'], ['← →', 'one frame; with Shift ten'],
  ['Home, End', 'first, last frame'], ['[ ]', 'slower, faster'], ['L', 'repeat'], ['1 2 3 4 5', 'colour by body, speed, force, deviation, stress'],
  ['A', 'show everything'], ['/', 'find a body by its name'], ['F', 'follow the chosen body'], ['H, Shift H', 'hide the chosen body, show all'], ['C', 'contacts and forces'],
  ['E, W, S', 'edges, wireframe, shadows'], ['X', 'section plane'], ['P', 'plots'], ['T', 'dark or light'],
  ['Shift R, N (live)', 'restart, one step'], ['Esc', 'let go'],
];

// Builds the page and returns its elements by id.
export function buildPage() {
  document.body.innerHTML = PAGE;
  const elements = {};
  for (const element of document.querySelectorAll('[id]')) elements[element.id] = element;
  const grid = elements.keys.querySelector('.keys-grid');
  for (const [key, meaning] of KEYS) {
    const name = document.createElement('kbd'), text = document.createElement('span');
    name.textContent = key;
    text.textContent = meaning;
    grid.append(name, text);
  }
  return elements;
}

// Changes the page only if the value changed.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Rows of the inspector: [label, value, unit]; a row without a value is a heading. If only values changed, only they are
// written.
export function fillRows(list, rows) {
  const shape = rows.map(([label, , unit]) => `${label}|${unit}`).join();
  const values = rows.filter(([, value]) => value !== undefined).map(([, value]) => value);
  if (list.dataset.shape === shape) {
    list.querySelectorAll('dd span').forEach((element, k) => setText(element, values[k]));
    return;
  }
  list.dataset.shape = shape;
  list.replaceChildren(...rows.flatMap(([label, value, unit]) => {
    const term = document.createElement('dt');
    term.textContent = label;
    if (value === undefined) {
      term.className = 'heading';
      return [term];
    }
    const data = document.createElement('dd'), number = document.createElement('span');
    number.textContent = value;
    data.classList.toggle('together', value.includes('\u2002'));
    data.append(number);
    if (unit) {
      const small = document.createElement('small');
      small.textContent = ` ${unit}`;
      data.append(small);
    }
    return [term, data];
  }));
}
