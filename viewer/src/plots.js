// The strip of plots of every step's report, coupled with the time slider.
import { tidy } from './colors.js';
import { setText } from './layout.js';
import { sheetColors } from './theme.js';

const STAGES = ['candidates', 'distances', 'assembly', 'solve', 'ccd', 'line_search', 'rest'];
const TERMS = ['kinetic', 'gravity', 'elastic', 'contact', 'friction', 'joint', 'soft'];
const HUES = ['#5b9dff', '#f0a64b', '#4fc38a', '#e8637a', '#a98bf0', '#4cc3d9', '#9aa3b2'];

const PLOTS = [
  { title: 'Newton iterations', series: [{ column: 'iterations', hue: HUES[0] }], fill: true },
  { title: 'Contacts', series: [{ column: 'contacts', hue: HUES[2] }], fill: true },
  { title: 'Smallest distance', unit: 'm', log: true, series: [{ column: 'min_distance', hue: HUES[1] }] },
  {
    title: 'Energy', unit: 'J',
    series: TERMS.map((column, k) => ({ column, name: column, hue: HUES[k], fromStart: column === 'gravity' })),
  },
  {
    title: 'Time per step', unit: 'ms', stack: true,
    series: STAGES.map((name, k) => ({ column: `seconds_${name}`, name: name.replace('_', ' '), hue: HUES[k], scale: 1e3 })),
  },
];

// Extremes of a series in each column of pixels.
function envelope(values, times, length, view, columns) {
  const low = new Float64Array(columns).fill(NaN), high = new Float64Array(columns).fill(NaN);
  for (let r = 0; r < length; r++) {
    const x = Math.floor(((times[r] - view.from) / (view.to - view.from)) * columns);
    const value = values(r);
    if (x < 0 || x > columns || Number.isNaN(value)) continue;
    const at = Math.min(x, columns - 1);
    if (!(low[at] <= value)) low[at] = value;
    if (!(high[at] >= value)) high[at] = value;
  }
  return { low, high };
}

class Plot {
  constructor(description, parent, onScrub) {
    Object.assign(this, description);
    this.root = document.createElement('figure');
    this.root.className = 'plot';
    this.root.innerHTML = '<figcaption><span class="plot-title"></span><output></output></figcaption><div class="curves"><canvas></canvas><i></i></div><div class="plot-key"></div>';
    this.root.querySelector('.plot-title').textContent = this.unit ? `${this.title} [${this.unit}]` : this.title;
    this.output = this.root.querySelector('output');
    this.key = this.root.querySelector('.plot-key');
    this.canvas = this.root.querySelector('canvas');
    this.cursor = this.root.querySelector('.curves i');
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', this.title);
    parent.append(this.root);
    this.listen(onScrub);
  }

  listen(onScrub) {
    const scrub = (event) => {
      const x = (event.offsetX / this.canvas.clientWidth) * (this.view.to - this.view.from) + this.view.from;
      onScrub(x);
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.held = true;
      scrub(event);
    });
    this.canvas.addEventListener('pointermove', (event) => { if (this.held) scrub(event); });
    for (const type of ['pointerup', 'pointercancel']) this.canvas.addEventListener(type, () => { this.held = false; });
  }

  present(reports) {
    return this.series.filter((s) => {
      const column = reports.columns[s.column];
      if (!column) return false;
      for (let r = 0; r < reports.length; r += Math.max(1, reports.length >> 8)) if (column[r] !== 0 && !Number.isNaN(column[r])) return true;
      return this.series.length === 1;
    });
  }

  reader(series, reports) {
    const column = reports.columns[series.column], scale = series.scale ?? 1;
    const zero = series.fromStart ? column?.[0] ?? 0 : 0; // a potential is relative to its first value
    return (r) => scale * (column[r] - zero);
  }

  // Curves, which change only with the data; the cursor is drawn over them.
  build(reports, view, theme) {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio)), height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.view = view;
    this.ratio = ratio;
    this.width = this.canvas.clientWidth;
    const shown = this.present(reports), pen = this.canvas.getContext('2d');
    pen.clearRect(0, 0, width, height);
    this.shown = shown;
    const times = reports.columns.time;
    if (times && shown.length) this.curves(pen, shown, reports, times, width, height, theme);
    this.writeKey(this.notable(shown, reports));
  }

  // The visible series, above a fiftieth of the largest somewhere; the largest first.
  notable(shown, reports) {
    const most = shown.map((s) => {
      const read = this.reader(s, reports);
      let size = 0;
      for (let r = 0; r < reports.length; r++) size = Math.max(size, Math.abs(read(r)) || 0);
      return size;
    });
    const least = 0.02 * Math.max(...most);
    return shown.map((s, k) => [s, most[k]]).filter(([, size]) => size >= least).sort((a, b) => b[1] - a[1]).map(([s]) => s);
  }

  // All series at a step, as lines of a tip.
  tip(reports, row) {
    if (row < 0 || this.shown.length < 2) return '';
    return this.shown.map((s) => `${s.name}  ${tidy(this.reader(s, reports)(row), 3)} ${this.unit ?? ''}`).join('\n');
  }

  curves(pen, shown, reports, times, width, height, theme) {
    let base = null;
    const readers = shown.map((s) => this.reader(s, reports));
    const stacked = readers.map((read) => {
      if (!this.stack) return read;
      const below = base;
      base = below ? (r) => below(r) + read(r) : read;
      return base;
    });
    const envelopes = stacked.map((read) => envelope(read, times, reports.length, this.view, width));
    let low = this.log ? Infinity : 0, high = -Infinity;
    for (const { low: l, high: h } of envelopes) {
      for (let x = 0; x < width; x++) {
        if (h[x] > high) high = h[x];
        if (l[x] < low && (!this.log || l[x] > 0)) low = l[x];
      }
    }
    if (!(high > low)) high = low + (Math.abs(low) || 1);
    const pad = 3 * this.ratio;
    const place = this.log ? (v) => Math.log(v / low) / Math.log(high / low) : (v) => (v - low) / (high - low);
    const y = (v) => height - pad - (height - 2 * pad) * place(v);
    this.gridLines(pen, width, height, low, high, y, theme);
    for (let k = envelopes.length - 1; k >= 0; k--) this.curve(pen, envelopes[k], shown[k].hue, y, height, width);
  }

  gridLines(pen, width, height, low, high, y, theme) {
    pen.strokeStyle = theme.line;
    pen.fillStyle = theme.faint;
    pen.font = `${10 * this.ratio}px system-ui, sans-serif`;
    pen.lineWidth = 1;
    for (const value of [low, high]) {
      const at = Math.round(y(value)) + 0.5;
      pen.beginPath();
      pen.moveTo(0, at);
      pen.lineTo(width, at);
      pen.stroke();
    }
    pen.textBaseline = 'top';
    pen.fillText(tidy(high, 2), 3 * this.ratio, y(high) + 2 * this.ratio);
    pen.textBaseline = 'bottom';
    if (low !== 0) pen.fillText(tidy(low, 2), 3 * this.ratio, y(low) - 2 * this.ratio);
  }

  curve(pen, { low, high }, hue, y, height, width) {
    pen.strokeStyle = pen.fillStyle = hue;
    pen.lineWidth = 1.4 * this.ratio;
    pen.lineJoin = 'round';
    pen.beginPath();
    let open = false, first = 0, last = 0;
    for (let x = 0; x < width; x++) {
      if (Number.isNaN(high[x])) continue;
      if (!open) { first = x; pen.moveTo(x, y(high[x])); }
      open = true;
      pen.lineTo(x, y(high[x]));
      if (low[x] !== high[x]) pen.lineTo(x, y(low[x]));
      last = x;
    }
    if (!open) return;
    if (this.fill || this.stack) {
      pen.save();
      pen.lineTo(last, height);
      pen.lineTo(first, height);
      pen.globalAlpha = this.stack ? 0.85 : 0.2;
      pen.fill();
      pen.restore();
      if (this.stack) return;
    }
    pen.stroke();
  }

  writeKey(shown) {
    const names = shown.length > 1 ? shown.map((s) => s.name).join() : '';
    if (this.keyed === names) return;
    this.keyed = names;
    this.key.replaceChildren(...(shown.length > 1 ? shown : []).map((s) => {
      const item = document.createElement('span');
      const dot = document.createElement('i');
      dot.style.background = s.hue;
      item.append(dot, s.name);
      return item;
    }));
  }

  draw(reports, time, row) {
    if (!this.shown) return;
    const at = (time - this.view.from) / (this.view.to - this.view.from);
    this.cursor.style.transform = `translateX(${(at * this.width).toFixed(1)}px)`;
    setText(this.output, row < 0 ? '' : this.reading(reports, row));
    const tip = this.tip(reports, row);
    if (this.root.title !== tip) this.root.title = tip;
  }

  reading(reports, row) {
    if (this.shown.length > 1 && !this.stack) {
      return tidy(this.shown.reduce((sum, s) => sum + (this.reader(s, reports)(row) || 0), 0));
    }
    return tidy(this.shown.reduce((sum, s) => sum + this.reader(s, reports)(row), 0));
  }
}

export class PlotStrip {
  constructor(parent, onScrub, onResize) {
    this.parent = parent;
    this.size = '';
    this.plots = PLOTS.map((description) => new Plot(description, parent, onScrub));
    // Cached, because reading the size in each picture would cause a layout of the page each time.
    new ResizeObserver(() => { this.size = `${parent.offsetWidth} ${parent.offsetHeight}`; onResize(); }).observe(parent);
  }

  // Redraws what changed: the curves when there are new reports, else only the cursor.
  draw(reports, view, time, step) {
    if (this.parent.hidden) return;
    const theme = sheetColors();
    const stamp = `${reports.length} ${view.to} ${this.size} ${theme.line}`;
    if (stamp !== this.stamp) {
      for (const plot of this.plots) plot.build(reports, view, theme);
      this.stamp = stamp;
    }
    const row = reports.row(step);
    for (const plot of this.plots) plot.draw(reports, time, row);
  }
}
