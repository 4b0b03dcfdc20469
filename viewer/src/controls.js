// Updates the page around the picture: slider, time, legend, values of the selection, state of buttons.
import { MODES, count, force, gradient, tidy } from './colors.js';
import { bodyRows, contactRows } from './inspector.js';
import { fillRows, icon, setText } from './layout.js';
import { PlotStrip } from './plots.js';
import { Slider } from './slider.js';

export class Controls {
  constructor(app) {
    this.app = app;
    const { elements } = app, player = () => app.player, onResize = () => app.touch();
    this.slider = new Slider(elements.slider, (t) => app.scrub(player().start + t * (player().end - player().start)), onResize);
    this.strip = new PlotStrip(elements.strip, (time) => app.scrub(time), onResize);
  }

  draw() {
    const { app } = this, { player, elements, reports, frame } = app, span = player.end - player.start || 1;
    const fraction = (time) => Math.max(0, Math.min(1, (time - player.start) / span));
    const ranges = app.frames.held().map(([a, b]) => [fraction(player.timeOf(a)), fraction(player.timeOf(b - 1))]);
    const digits = span < 1 ? 3 : 2;
    this.slider.draw({ at: fraction(player.time), ranges, failures: this.failures(fraction), changes: this.changes(fraction), text: `${player.time.toFixed(digits)} seconds` });
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

  // Positions on the slider at which bodies come, bodies go, and joints break or are removed.
  changes(fraction) {
    const { meta, player } = this.app, stamp = `${meta.changes} ${player.end}`;
    if (this.changesOf === stamp) return this.changesAt;
    const places = (steps = []) => [...new Set(steps.filter((step) => step > 0 && step * player.dt <= player.end))]
      .slice(-400).map((step) => fraction(step * player.dt));
    this.changesOf = stamp;
    this.changesAt = {
      come: places(meta.bodies.born), gone: places(meta.bodies.died), joints: places((meta.joints ?? []).map((joint) => joint.died ?? 0)),
    };
    return this.changesAt;
  }

  // Positions on the slider of steps that did not converge; computed again when there are more steps.
  failures(fraction) {
    const { reports, player } = this.app, stamp = `${reports.length} ${player.end}`;
    if (this.failuresOf === stamp) return this.failuresAt;
    const { converged, time } = reports.columns, found = [];
    for (let r = 0; converged && r < reports.length && found.length < 200; r++) if (converged[r] === 0) found.push(fraction(time[r]));
    this.failuresOf = stamp;
    this.failuresAt = found;
    return found;
  }

  writeTime(digits) {
    const { player, elements, meta, status, frame } = this.app, [now, of, step] = elements.time.children;
    setText(now, `${player.time.toFixed(digits)} s`);
    setText(of, ` / ${player.end.toFixed(digits)} s`);
    setText(step, `  step ${frame?.step ?? 0}`);
    elements.tail.hidden = !(meta.live || status.writing);
    elements.tail.classList.toggle('on', player.tail);
    setText(elements.tail.querySelector('span'), meta.live ? (status.paused ? 'Paused' : 'Live') : 'Following');
  }

  drawToggles() {
    const { elements, stage, player, following, section } = this.app;
    const states = {
      ...stage.show, follow: following, section: section.on, loop: player.loop, plots: elements.strip.hidden === false,
    };
    states.axis = section.axis;
    states.hidden = stage.hidden.includes(1);
    const stamp = JSON.stringify(states);
    if (stamp === this.toggled) return;
    this.toggled = stamp;
    for (const id in states) elements[id]?.setAttribute('aria-pressed', String(Boolean(states[id])));
    elements.cutter.hidden = !section.on;
    elements.cutter.querySelectorAll('[data-axis]').forEach((button) => {
      button.setAttribute('aria-pressed', String(Number(button.dataset.axis) === section.axis));
    });
    elements['show-all'].hidden = !states.hidden;
  }

  drawLegend() {
    const { app } = this, { legend } = app.elements, mode = MODES[app.mode], [title, bar, ends, more] = legend.children;
    const arrows = app.stage.show.contacts && app.contactsHere?.count > 0;
    legend.hidden = !mode.value && !arrows;
    if (legend.hidden) return;
    title.hidden = bar.hidden = ends.hidden = !mode.value;
    if (mode.value) {
      const [low, high] = app.ranges[app.mode].most > 0 ? app.ranges[app.mode].ends(mode) : [NaN, NaN];
      setText(title, mode.unit ? `${mode.title} [${mode.unit}]` : mode.title);
      if (bar.dataset.table !== mode.table) bar.style.background = gradient(mode.table);
      bar.dataset.table = mode.table;
      const middle = mode.log ? Math.sqrt(low * high) : (low + high) / 2;
      [low, middle, high].forEach((value, k) => { setText(ends.children[k], tidy(value, 2)); });
    }
    setText(more, arrows ? `${count(app.contactsHere.count)} contacts, largest ${force(app.forces.most)}`
      : app.mode === 'force' && app.hasContacts ? 'No contact in this frame' : '');
  }

  drawInspector() {
    const { app } = this, { chosen, elements } = app, { inspector } = elements;
    inspector.hidden = !chosen;
    if (!chosen || !app.frame) return;
    const isBody = chosen.body !== undefined;
    const { bodies } = app.meta;
    setText(inspector.querySelector('h2'), isBody ? bodies.name[chosen.body] : 'Contact');
    inspector.querySelector('.swatch').style.background = isBody ? bodies.color[chosen.body] : 'var(--bad)';
    fillRows(inspector.querySelector('dl'), isBody ? bodyRows(app, chosen.body) : contactRows(app, chosen.data));
    elements['inspect-follow'].hidden = elements['inspect-hide'].hidden = !isBody;
    elements['inspect-follow'].setAttribute('aria-pressed', String(app.following));
  }
}
