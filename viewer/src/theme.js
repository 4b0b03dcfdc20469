// Dark and light: the style sheet's and the picture's colours together.
import { parse } from './colors.js';
import { uniforms } from './shade.js';

const THEMES = {
  dark: {
    backTop: '#2a313d', backBottom: '#12151a', ground: '#30353f', grid: '#778296', gridAlpha: 0.4, line: '#05070a', lineAlpha: 0.6,
    accent: '#58a6ff', sky: [0.42, 0.47, 0.56], bounce: [0.2, 0.19, 0.18], sun: 1.2,
  },
  light: {
    backTop: '#c3cfdd', backBottom: '#eef2f6', ground: '#d3dae3', grid: '#7c8ba0', gridAlpha: 0.4, line: '#1b2433', lineAlpha: 0.55,
    accent: '#1668dc', sky: [0.5, 0.53, 0.58], bounce: [0.32, 0.31, 0.3], sun: 0.92,
  },
};

export function preferredTheme() {
  let saved = null;
  try { saved = localStorage.getItem('abd-theme'); } catch { /* pages from disk may have no storage */ }
  return saved in THEMES ? saved : matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
}

// The style sheet's colours for canvases, read once for each theme.
const read = {};
export function sheetColors() {
  const root = document.documentElement;
  return (read[root.dataset.theme] ??= (() => {
    const style = getComputedStyle(root);
    return Object.fromEntries(['line', 'faint', 'accent', 'bad', 'ink'].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  })());
}

export function applyTheme(name) {
  const theme = THEMES[name], set = (uniform, rgb) => uniform.value.set(...rgb);
  document.documentElement.dataset.theme = name;
  set(uniforms.backTop, parse(theme.backTop));
  set(uniforms.backBottom, parse(theme.backBottom));
  set(uniforms.groundColor, parse(theme.ground));
  set(uniforms.gridColor, parse(theme.grid));
  set(uniforms.lineColor, parse(theme.line));
  set(uniforms.accent, parse(theme.accent));
  set(uniforms.skyColor, theme.sky);
  set(uniforms.bounceColor, theme.bounce);
  uniforms.sunStrength.value = theme.sun;
  uniforms.lineAlpha.value = theme.lineAlpha;
  uniforms.gridAlpha.value = theme.gridAlpha;
  try { localStorage.setItem('abd-theme', name); } catch { /* then it is not saved */ }
}
