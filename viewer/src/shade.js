// Shaders. Colours are sRGB numbers that the shaders convert to linear light and back, so that the page looks the same with
// any version of three.
import * as THREE from 'three';

const POSE = `
attribute vec4 iRow0, iRow1, iRow2; // rows of [A | p]
attribute vec4 iColor;              // sRGB; alpha: 0 plain, 1 chosen, 0.5 pointed at
attribute float iId;
attribute vec3 tint;                // sRGB of a vertex in place of its instance's colour; 0: none
vec3 posed(vec3 X) { vec4 h = vec4(X, 1.0); return vec3(dot(iRow0, h), dot(iRow1, h), dot(iRow2, h)); }
vec3 posedNormal(vec3 n) {          // the cofactor matrix: right for any affine map
  vec3 c1 = vec3(iRow0.x, iRow1.x, iRow2.x), c2 = vec3(iRow0.y, iRow1.y, iRow2.y), c3 = vec3(iRow0.z, iRow1.z, iRow2.z);
  return cross(c2, c3) * n.x + cross(c3, c1) * n.y + cross(c1, c2) * n.z;
}`;

const SECTION = `
uniform vec4 section; uniform float sectionOn; // geometry beyond the plane is cut away
void cut(vec3 x) { if (sectionOn > 0.5 && dot(section.xyz, x) > section.w) discard; }`;

const LIGHT = `
uniform vec3 eye, sun, up, skyColor, bounceColor, accent;
uniform float sunStrength, shadowOn, shadowTexel;
uniform sampler2D shadowMap; uniform mat4 shadowMatrix;
vec3 toLinear(vec3 c) { return pow(c, vec3(2.2)); }
vec3 toScreen(vec3 c) {
  c = c * (1.0 + c * 0.12) / (1.0 + c * 0.62) * 1.28; // soft shoulder
  return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2));
}
float lit(vec2 uv, float depth) { return step(depth, texture2D(shadowMap, uv).r); }
float sunlight(vec3 x, vec3 n) { // 4 x 4 samples weighted as a bilinear 3 x 3 filter
  if (shadowOn < 0.5) return 1.0;
  vec4 h = shadowMatrix * vec4(x + n * shadowTexel * 1.5, 1.0);
  vec3 p = h.xyz / h.w;
  if (any(lessThan(p, vec3(0.0))) || any(greaterThan(p, vec3(1.0)))) return 1.0;
  float size = 2048.0, depth = p.z - 0.0006;
  vec2 grid = p.xy * size - 0.5, base = (floor(grid) + 0.5) / size, f = fract(grid);
  float sum = 0.0;
  for (int j = -1; j <= 2; j++) for (int i = -1; i <= 2; i++) {
    float wx = i == -1 ? 1.0 - f.x : i == 2 ? f.x : 1.0, wy = j == -1 ? 1.0 - f.y : j == 2 ? f.y : 1.0;
    sum += wx * wy * lit(base + vec2(float(i), float(j)) / size, depth);
  }
  return sum / 9.0;
}
vec3 shade(vec3 base, vec3 n, vec3 x, float gloss) {
  vec3 toEye = normalize(eye - x), half_ = normalize(toEye + sun);
  float facing = dot(n, sun), day = facing > 0.0 ? sunlight(x, n) : 0.0;
  float sky = 0.5 + 0.5 * dot(n, up);
  vec3 light = mix(bounceColor, skyColor, sky) + sunStrength * vec3(1.0, 0.96, 0.9) * max(facing, 0.0) * day;
  float shine = pow(max(dot(n, half_), 0.0), 48.0) * gloss * day;
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 4.0) * gloss;
  return base * light + vec3(shine) + rim * skyColor;
}`;

const surfaceVertex = `${POSE}
varying vec3 vWorld, vNormal; varying vec4 vColor;
void main() {
  vWorld = posed(position); vNormal = posedNormal(normal); vColor = dot(tint, tint) > 0.0 ? vec4(tint, iColor.a) : iColor;
  gl_Position = projectionMatrix * viewMatrix * vec4(vWorld, 1.0);
  gl_PointSize = 6.0;
}`;

const surfaceFragment = `${SECTION}${LIGHT}
uniform float closed, wire;
varying vec3 vWorld, vNormal; varying vec4 vColor;
void main() {
  cut(vWorld);
  vec3 n = normalize(vNormal), base = toLinear(vColor.rgb), color;
  bool back = !gl_FrontFacing;
  if (back) n = -n;
  if (back && sectionOn > 0.5 && closed > 0.5) { // back faces seen through the cut are drawn as the cut, hatched
    float stripe = smoothstep(0.35, 0.65, abs(fract((gl_FragCoord.x + gl_FragCoord.y) / 9.0) - 0.5) * 2.0);
    color = base * mix(0.42, 0.62, stripe);
  } else {
    color = shade(base, n, vWorld, 0.18);
  }
  float chosen = vColor.a;
  float rim = pow(1.0 - abs(dot(n, normalize(eye - vWorld))), 1.5);
  color = mix(color, toLinear(accent), chosen * (0.22 + 0.6 * rim));
  if (wire > 0.5) color = mix(color, base, 0.5) * 0.55;
  gl_FragColor = vec4(toScreen(color), 1.0);
}`;

const lineVertex = `${POSE}
attribute float iSize;
uniform vec3 eye; uniform float pixel;
varying vec3 vWorld; varying vec4 vColor; varying float vFade; // lines fade on small bodies, which they would blacken
void main() {
  vWorld = posed(position); vColor = iColor;
  vFade = clamp(iSize / (16.0 * pixel * max(distance(eye, posed(vec3(0.0))), 1e-9)), 0.0, 1.0);
  gl_Position = projectionMatrix * viewMatrix * vec4(vWorld, 1.0);
  gl_PointSize = 6.0;
}`;

const lineFragment = `${SECTION}
uniform vec3 lineColor, accent; uniform float lineAlpha, wire, own;
varying vec3 vWorld; varying vec4 vColor; varying float vFade;
void main() {
  cut(vWorld);
  vec3 color = own > 0.5 ? vColor.rgb : mix(lineColor, vColor.rgb, wire * 0.55);
  float alpha = own > 0.5 ? 1.0 : lineAlpha * vFade;
  gl_FragColor = vec4(mix(color, accent, vColor.a), max(alpha, vColor.a));
}`;

const groundVertex = `
uniform vec3 planePoint, planeU, planeV; uniform float planeSize;
varying vec3 vWorld;
void main() {
  vWorld = planePoint + planeSize * (position.x * planeU + position.y * planeV);
  gl_Position = projectionMatrix * viewMatrix * vec4(vWorld, 1.0);
}`;

const groundFragment = `${LIGHT}
uniform vec3 planePoint, planeU, planeV, groundColor, gridColor; uniform float planeFade, gridStep, gridAlpha;
varying vec3 vWorld;
float lines(vec2 p, float width) {
  vec2 w = fwidth(p), d = abs(fract(p - 0.5) - 0.5);
  vec2 l = 1.0 - smoothstep(w * (width - 0.5), w * (width + 0.8), d);
  return max(l.x, l.y) * (1.0 - smoothstep(0.2, 0.6, max(w.x, w.y)));
}
void main() { // the ground is not cut, so that bodies keep their reference
  vec3 n = cross(planeU, planeV);
  bool below = dot(eye - vWorld, n) < 0.0;
  vec2 p = vec2(dot(vWorld, planeU), dot(vWorld, planeV));
  vec3 color = shade(toLinear(groundColor), n, vWorld, 0.0);
  float fine = lines(p / gridStep * 10.0, 0.5), coarse = lines(p / gridStep, 0.9);
  color = mix(color, toLinear(gridColor), max(0.22 * fine, 0.9 * coarse) * gridAlpha);
  float fade = 1.0 - smoothstep(0.25, 1.0, length(vWorld - planePoint) / planeFade);
  gl_FragColor = vec4(toScreen(color), (below ? 0.35 : 1.0) * fade * fade);
}`;

const markVertex = `
attribute vec3 iBase, iVector; attribute vec4 iColor; attribute float iThick, iId; // iColor.a: 1 chosen
uniform float idPass, pixel;
uniform vec3 eye;
varying vec3 vWorld, vNormal; varying vec4 vColor;
void main() {
  float length_ = length(iVector);
  vec3 z = length_ > 0.0 ? iVector / length_ : vec3(0.0, 0.0, 1.0);
  vec3 x = normalize(abs(z.z) < 0.9 ? cross(z, vec3(0.0, 0.0, 1.0)) : cross(z, vec3(1.0, 0.0, 0.0))), y = cross(z, x);
  float thick = max(iThick, 1.7 * pixel * distance(eye, iBase)) * (idPass > 0.5 ? 2.5 : iColor.a > 0.5 ? 1.6 : 1.0), head = min(3.2 * thick, length_);
#ifdef BALL
  vec3 local = position * thick * 1.5;
#else
  vec3 local = vec3(position.xy * thick, min(position.z, 1.0) * (length_ - head) + max(position.z - 1.0, 0.0) * head);
#endif
  vWorld = iBase + x * local.x + y * local.y + z * local.z;
  vNormal = x * normal.x + y * normal.y + z * normal.z;
  vColor = iColor;
  gl_Position = projectionMatrix * viewMatrix * vec4(vWorld, 1.0);
}`;

const markFragment = `${SECTION}
uniform vec3 eye, sun, accent;
varying vec3 vWorld, vNormal; varying vec4 vColor;
void main() {
  cut(vWorld);
  vec3 n = normalize(vNormal);
  float light = 0.62 + 0.38 * max(dot(n, normalize(eye - vWorld)), 0.0);
  gl_FragColor = vec4(mix(vColor.rgb, accent, vColor.a) * light, 1.0);
}`;

// Ids as colours, and depth as colours, for picking.
const ID = `
varying float vId;
vec3 idColor(float given) { float id = floor(given + 0.5); return vec3(mod(id, 256.0), mod(floor(id / 256.0), 256.0), floor(id / 65536.0)) / 255.0; }`;
const PACK = `
vec4 packDepth(float d) {
  vec4 r = fract(d * vec4(1.0, 255.0, 65025.0, 16581375.0));
  return r - r.yzww * vec4(1.0 / 255.0, 1.0 / 255.0, 1.0 / 255.0, 0.0);
}`;
const pickFragment = `${SECTION}${ID}${PACK}
uniform float pickDepth;
varying vec3 vWorld;
void main() { cut(vWorld); gl_FragColor = pickDepth > 0.5 ? packDepth(gl_FragCoord.z) : vec4(idColor(vId), 1.0); }`;
const withId = (shader) => shader.replace('void main() {', 'varying float vId;\nvoid main() {\n  vId = iId;');

const shadowFragment = `${SECTION}
varying vec3 vWorld;
void main() { cut(vWorld); gl_FragColor = vec4(1.0); }`;

const backFragment = `
uniform vec3 backTop, backBottom; uniform vec2 screen;
void main() {
  vec2 p = gl_FragCoord.xy / screen;
  float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) / 255.0; // against banding
  gl_FragColor = vec4(mix(backBottom, backTop, smoothstep(0.0, 1.0, p.y)) + noise, 1.0);
}`;

const vector = (x = 0, y = 0, z = 0) => ({ value: new THREE.Vector3(x, y, z) });
const number = (value) => ({ value });

export const uniforms = {
  eye: vector(), sun: vector(0.4, 0.3, 0.86), up: vector(0, 0, 1), skyColor: vector(), bounceColor: vector(), accent: vector(),
  sunStrength: number(1), shadowOn: number(1), shadowTexel: number(0), shadowMap: { value: null },
  shadowMatrix: { value: new THREE.Matrix4() }, section: { value: new THREE.Vector4(0, 0, 1, 0) }, sectionOn: number(0),
  wire: number(0), lineColor: vector(), lineAlpha: number(0.5), groundColor: vector(), gridColor: vector(), gridAlpha: number(1),
  gridStep: number(1), backTop: vector(), backBottom: vector(), screen: { value: new THREE.Vector2() }, pickDepth: number(0), pixel: number(0),
};

function material(vertexShader, fragmentShader, own = {}, options = {}) {
  return new THREE.ShaderMaterial({ vertexShader, fragmentShader, uniforms: { ...uniforms, ...own }, ...options });
}

const offset = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1, side: THREE.DoubleSide };

export const makeMaterials = () => ({
  closed: material(surfaceVertex, surfaceFragment, { closed: number(1) }, offset),
  open: material(surfaceVertex, surfaceFragment, { closed: number(0) }, offset),
  line: material(lineVertex, lineFragment, { own: number(0) }, { transparent: true, depthWrite: false }),
  wireBody: material(lineVertex, lineFragment, { own: number(1) }),
  shadow: material(surfaceVertex, shadowFragment, {}, { side: THREE.DoubleSide, colorWrite: false }),
  pick: material(withId(surfaceVertex), pickFragment, {}, { side: THREE.DoubleSide }),
  arrow: material(markVertex, markFragment, { idPass: number(0) }),
  ball: material(markVertex, markFragment, { idPass: number(0) }, { defines: { BALL: 1 } }),
  pickBall: material(withId(markVertex), pickFragment, { idPass: number(1) }, { defines: { BALL: 1 } }),
  back: material('void main() { gl_Position = vec4(position.xy, 0.0, 1.0); }', backFragment, {}, { depthTest: false, depthWrite: false }),
});

export const groundMaterial = (plane) => material(groundVertex, groundFragment, plane,
  { transparent: true, side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 });
