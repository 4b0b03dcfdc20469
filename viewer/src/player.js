// The time shown: playing, scrubbing, following the end of a growing run.

export class Player {
  constructor(dt) {
    this.dt = dt;
    this.speed = 1;
    this.loop = true;
    this.clear();
  }

  clear() {
    this.steps = [];
    this.time = 0;
    this.playing = false;
    this.tail = false; // stays at the newest frame
  }

  get count() { return this.steps.length; }
  timeOf(index) { return (this.steps[index] ?? 0) * this.dt; }
  get start() { return this.timeOf(0); }
  get end() { return this.timeOf(this.count - 1); }

  grow(steps) {
    for (const step of steps) this.steps.push(step);
  }

  // The frame at or before the time, and the fraction towards the next.
  locate(time = this.time) {
    let low = 0, high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.timeOf(middle) <= time + 1e-9 * this.dt) low = middle; else high = middle - 1;
    }
    const span = this.timeOf(low + 1) - this.timeOf(low);
    return { index: low, at: low + 1 < this.count && span > 0 ? Math.max(0, Math.min(1, (time - this.timeOf(low)) / span)) : 0 };
  }

  nearest(time) {
    const { index, at } = this.locate(time);
    return at > 0.5 ? index + 1 : index;
  }

  show(index) {
    const last = this.count - 1;
    this.time = this.timeOf(Math.max(0, Math.min(last, index)));
  }

  // Advances by wall-clock seconds as far as frames exist; true if it moved.
  advance(seconds, isLoaded) {
    if (!this.playing || this.count < 2) return false;
    let time = this.time + seconds * this.speed;
    if (time >= this.end) {
      if (this.loop && this.time >= this.end - 1e-9) time = this.start;
      else {
        time = this.end;
        if (!this.loop) this.playing = false;
      }
    }
    const { index, at } = this.locate(time);
    if (!isLoaded(index) || (at > 0 && !isLoaded(index + 1))) return false;
    const moved = time !== this.time;
    this.time = time;
    return moved;
  }
}
