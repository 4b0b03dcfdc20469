// What the page says besides the picture: slider, time, legend, the chosen thing's values, which buttons are on.
import { MODES, gradient, tidy } from './colors.js';
import { bodyRows, contactRows } from './inspector.js';
import { fillRows, icon } from './layout.js';
import { PlotStrip } from './plots.js';
import { Slider } from './slider.js';

export class Controls {
  constructor(app) {
    this.app = app;
    const { elements } = app, player = () => app.player;
    this.slider = new Slider(elements.slider, (t) => app.scrub(player().start + t * (player().end - player().start)));
    this.strip = new PlotStrip(elements.strip, (time) => app.scrub(time));
  }

  draw() {
    const { app } = this, { player, elements, reports, frame } = app, span = player.end - player.start || 1;
    const fraction = (time) => Math.max(0, Math.min(1, (time - player.start) / span));
    const failures = [];
    const converged = reports.columns.converged, times = reports.columns.time;
    for (let r = 0; converged && r < reports.length && failures.length < 200; r++) if (converged[r] === 0) failures.push(fraction(times[r]));
    const ranges = app.frames.held().map(([a, b]) => [fraction(player.timeOf(a)), fraction(player.timeOf(b - 1))]);
    const digits = span < 1 ? 3 : 2;
    this.slider.draw({ at: fraction(player.time), ranges, failures, text: `${player.time.toFixed(digits)} seconds` });
    this.strip.draw(reports, { from: player.start, to: player.start + span }, player.time, frame?.step);
    this.writeTime(digits);
    const playing = app.meta.live ? !app.status.paused : player.playing;
    if (elements.play.dataset.state !== String(playing)) {
      elements.play.dataset.state = String(playing);
      elements.play.innerHTML = icon(playing ? 'pause' : 'play');
    }
    this.drawToggles();
    this.drawLegend();
    this.drawInspector();
  }

  writeTime(digits) {
    const { player, elements, meta, status, frame } = this.app;
    const parts = [`${player.time.toFixed(digits)} s`, ` / ${player.end.toFixed(digits)} s`, `  step ${frame?.step ?? 0}`];
    elements.time.replaceChildren(parts[0], ...['of', 'step'].map((name, k) => {
      const small = document.createElement('small');
      small.className = name;
      small.textContent = parts[k + 1];
      return small;
    }));
    elements.tail.hidden = !(meta.live || status.writing);
    elements.tail.classList.toggle('on', player.tail);
    elements.tail.querySelector('span').textContent = meta.live ? (status.paused ? 'Paused' : 'Live') : 'Following';
  }

  drawToggles() {
    const { elements, stage, player, following, section } = this.app;
    const states = {
      ...stage.show, follow: following, section: section.on, loop: player.loop, plots: elements.strip.hidden === false,
    };
    for (const [id, on] of Object.entries(states)) elements[id].setAttribute('aria-pressed', String(Boolean(on)));
    elements.cutter.hidden = !section.on;
    elements.cutter.querySelectorAll('[data-axis]').forEach((button) => {
      button.setAttribute('aria-pressed', String(Number(button.dataset.axis) === section.axis));
    });
    elements['show-all'].hidden = !stage.hidden.includes(1);
  }

  drawLegend() {
    const { app } = this, { legend } = app.elements, mode = MODES[app.mode], [title, bar, ends, more] = legend.children;
    const arrows = app.stage.show.contacts && app.contactsHere?.count > 0;
    legend.hidden = !mode.value && !arrows;
    if (legend.hidden) return;
    title.hidden = bar.hidden = ends.hidden = !mode.value;
    if (mode.value) {
      const [low, high] = app.ranges[app.mode].ends(mode);
      title.textContent = mode.unit ? `${mode.title} [${mode.unit}]` : mode.title;
      bar.style.background = gradient(mode.table);
      const middle = mode.log ? Math.sqrt(low * high) : (low + high) / 2;
      [low, middle, high].forEach((value, k) => { ends.children[k].textContent = tidy(value, 2); });
    }
    more.textContent = arrows ? `${app.contactsHere.count} contacts, arrows up to ${tidy(app.forceScale, 2)} N` : '';
  }

  drawInspector() {
    const { app } = this, { chosen, elements } = app, { inspector } = elements;
    inspector.hidden = !chosen;
    if (!chosen || !app.frame) return;
    const isBody = chosen.body !== undefined;
    const { bodies } = app.meta;
    inspector.querySelector('h2').textContent = isBody ? bodies.name[chosen.body] : 'Contact';
    inspector.querySelector('.swatch').style.background = isBody ? bodies.color[chosen.body] : 'var(--bad)';
    fillRows(inspector.querySelector('dl'), isBody ? bodyRows(app, chosen.body) : contactRows(app, chosen.data));
    elements['inspect-follow'].hidden = elements['inspect-hide'].hidden = !isBody;
    elements['inspect-follow'].setAttribute('aria-pressed', String(app.following));
  }
}
