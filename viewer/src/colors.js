// Colours of bodies and their legends.

const RAMP = ['#2c2a6b', '#2f5aa8', '#2390a5', '#3dbb83', '#a3d65c', '#f7e25b'].map(parse);
const HEAT = ['#39405c', '#6a3f7d', '#b13f6f', '#e8604c', '#f9a74b', '#fdeaa0'].map(parse);

export function parse(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

export function ramp(t, table = RAMP) {
  const x = Math.max(0, Math.min(1, Number.isFinite(t) ? t : 0)) * (table.length - 1);
  const k = Math.min(table.length - 2, Math.floor(x)), f = x - k;
  return [0, 1, 2].map((c) => table[k][c] + f * (table[k + 1][c] - table[k][c]));
}

export const heat = (t) => ramp(t, HEAT);

// The same from a table, written to an array at an index: for loops over bodies or contacts in each picture.
const SHADES = 255;
const tabulate = (table) => Float32Array.from({ length: 3 * (SHADES + 1) }, (_, k) => ramp(Math.floor(k / 3) / SHADES, table)[k % 3]);
export const RAMP_TABLE = tabulate(RAMP), HEAT_TABLE = tabulate(HEAT);
export function paint(table, t, out, at) {
  const k = 3 * Math.round(SHADES * (t > 0 ? Math.min(1, t) : 0));
  out[at] = table[k]; out[at + 1] = table[k + 1]; out[at + 2] = table[k + 2];
}

const css = (rgb) => `rgb(${rgb.map((c) => Math.round(255 * c)).join(' ')})`;
export const gradient = (table) =>
  `linear-gradient(90deg, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map((t) => css(table === 'heat' ? heat(t) : ramp(t))).join(', ')})`;

// Quantities that can colour bodies. value(frame, body) is a number; log ones span decades.
export const MODES = {
  body: { title: 'Body' },
  speed: {
    title: 'Speed', unit: 'm/s', table: 'ramp',
    value: ({ velocity: v }, b) => Math.sqrt(v[6 * b] ** 2 + v[6 * b + 1] ** 2 + v[6 * b + 2] ** 2),
  },
  force: { title: 'Contact force', unit: 'N', table: 'heat', log: true, floor: 1e-3, value: (frame, b, app) => app.forces.ofBody[b] },
  strain: { title: 'Deviation from rigidity', unit: '', table: 'heat', log: true, floor: 1e-3, value: (frame, b) => frame.strain[b] },
  stress: { title: 'Stress (von Mises)', unit: 'Pa', table: 'heat', value: (frame, b) => frame.bodyStress[b] },
};

// The range of a mode: grows with the values shown, and is reset with each run.
export class Range {
  constructor() { this.clear(); }
  clear() { this.least = Infinity; this.most = 0; }

  see(mode, frame, motion, app) {
    for (let b = 0; b < motion.length; b++) {
      if (motion[b] !== 0) continue;
      const value = mode.value(frame, b, app);
      if (value > this.most) this.most = value;
      if (value > 0 && value < this.least) this.least = value;
    }
  }

  ends(mode) {
    if (!(this.most > 0)) return [0, 1];
    if (!mode.log) return [0, this.most];
    return [Math.max(this.least, this.most * (mode.floor ?? 1e-6)), this.most];
  }

  // Returns the function from a value to its position in the range, 0 to 1.
  placer(mode) {
    const [low, high] = this.ends(mode);
    if (!mode.log) return (value) => value / high;
    const decades = Math.log(high / low);
    return (value) => (high > low && value > 0 ? Math.log(value / low) / decades : value > 0 ? 1 : 0);
  }
}

// Formats a number with few digits.
export function tidy(value, digits = 3) {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value).replace('-', '−');
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, power] = value.toExponential(digits - 1).split('e');
    return `${mantissa.replace('-', '−')}e${power.replace('+', '').replace('-', '−')}`;
  }
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(places, 6)).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '').replace('-', '−');
}

// A force in N, or in kN from 1000 N on.
export const force = (newtons) => (newtons >= 1e6 ? `${tidy(newtons / 1e6, 2)} MN` : newtons >= 1e3 ? `${tidy(newtons / 1e3, 2)} kN` : `${tidy(newtons, 2)} N`);

export function count(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 0 : 1)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(value >= 1e5 ? 0 : 1)}k`;
  return String(value);
}
