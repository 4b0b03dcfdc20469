// The time slider: loaded ranges, bodies that come and go, joints that break, steps that did not converge, the current time.
import { sheetColors } from './theme.js';

export class Slider {
  constructor(canvas, onScrub, onResize) {
    this.canvas = canvas;
    const measure = () => { this.width = canvas.clientWidth; this.height = canvas.clientHeight; };
    measure();
    new ResizeObserver(() => { measure(); onResize(); }).observe(canvas);
    const scrub = (event) => {
      const pad = 9;
      onScrub(Math.max(0, Math.min(1, (event.offsetX - pad) / (canvas.clientWidth - 2 * pad))));
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.held = true;
      scrub(event);
    });
    canvas.addEventListener('pointermove', (event) => { if (this.held) scrub(event); });
    for (const type of ['pointerup', 'pointercancel']) canvas.addEventListener(type, () => { this.held = false; });
  }

  // at and ranges are fractions of the length; failures and changes too. Bodies come above the line and go below it.
  draw({ at, ranges, failures, changes, text }) {
    const { canvas } = this, ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.round(this.width * ratio), height = Math.round(this.height * ratio);
    if (!width) return;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const color = sheetColors(), pen = canvas.getContext('2d');
    const pad = 9 * ratio, y = height / 2, x = (t) => pad + t * (width - 2 * pad);
    const bar = (from, to, shade, thick) => {
      pen.strokeStyle = shade;
      pen.lineWidth = thick * ratio;
      pen.lineCap = 'round';
      pen.beginPath();
      pen.moveTo(x(from), y);
      pen.lineTo(Math.max(x(to), x(from) + 0.01), y);
      pen.stroke();
    };
    pen.clearRect(0, 0, width, height);
    bar(0, 1, color.line, 5);
    pen.globalAlpha = 0.35;
    for (const [from, to] of ranges) bar(from, to, color.faint, 5);
    pen.globalAlpha = 1;
    bar(0, at, color.accent, 5);
    pen.fillStyle = color.faint;
    for (const t of changes.come) pen.fillRect(x(t) - ratio / 2, y - 8 * ratio, ratio, 4 * ratio);
    for (const t of changes.gone) pen.fillRect(x(t) - ratio / 2, y + 4 * ratio, ratio, 4 * ratio);
    pen.fillStyle = color.accent;
    for (const t of changes.joints) pen.fillRect(x(t) - ratio, y - 8 * ratio, 2 * ratio, 16 * ratio);
    pen.fillStyle = color.bad;
    for (const t of failures) pen.fillRect(x(t) - ratio, y - 8 * ratio, 2 * ratio, 16 * ratio);
    pen.fillStyle = color.ink;
    pen.beginPath();
    pen.arc(x(at), y, 7.5 * ratio, 0, 2 * Math.PI);
    pen.fill();
    canvas.setAttribute('aria-valuenow', at.toFixed(3));
    canvas.setAttribute('aria-valuetext', text);
    canvas.setAttribute('aria-valuemax', '1');
  }
}
