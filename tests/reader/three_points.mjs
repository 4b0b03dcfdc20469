// Reads a file with three.js's own loaders (GLTFLoader, USDLoader, PLYLoader) and writes where every vertex is at every frame,
// see points.py.
//   node three_points.mjs FOLDER-WITH-node_modules FILE TIMES...
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, path, ...times] = process.argv.slice(2);
const get = (name) => import(pathToFileURL(join(folder, 'node_modules/three', name)));
const THREE = await get('build/three.module.js');
globalThis.self ??= globalThis;

// What is in time of a .usda, of which USDLoader makes no animation: matrices and points as its parser read them, by the names
// of prims; give(samples, seconds) is the value there.
async function usdSamples(text) {
  const { USDAParser } = await get('examples/jsm/loaders/usd/USDAParser.js');
  const { specsByPath } = new USDAParser().parseData(text), rate = specsByPath['/'].fields.timeCodesPerSecond;
  const kept = (ending) => Object.fromEntries(Object.entries(specsByPath)
    .filter(([where, spec]) => where.endsWith(ending) && spec.fields.timeSamples)
    .map(([where, spec]) => [where.slice(0, -ending.length).split('/').pop(), spec.fields.timeSamples]));
  const give = ({ times, values }, seconds) => {
    const far = times.map((t) => Math.abs(t - seconds * rate));
    return values[far.indexOf(Math.min(...far))];
  };
  return { matrices: kept('.xformOp:transform'), points: kept('.points'), give };
}

async function load() {
  if (path.endsWith('.ply')) {
    const { PLYLoader } = await get('examples/jsm/loaders/PLYLoader.js'), scene = new THREE.Group();
    const { buffer, byteOffset, byteLength } = readFileSync(path);
    scene.add(new THREE.Mesh(new PLYLoader().parse(buffer.slice(byteOffset, byteOffset + byteLength))));
    return { scene, animations: [] };
  }
  if (path.endsWith('.usda')) {
    const { USDLoader } = await get('examples/jsm/loaders/USDLoader.js'), text = readFileSync(path, 'utf8');
    const scene = new USDLoader().parse(text);
    return { scene, animations: scene.animations, samples: await usdSamples(text) };
  }
  const { GLTFLoader } = await get('examples/jsm/loaders/GLTFLoader.js'), data = readFileSync(path);
  return new GLTFLoader().parseAsync(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength), '');
}

const { scene, animations, samples } = await load();
const mixer = new THREE.AnimationMixer(scene), points = {}, x = new THREE.Vector3();
for (const clip of animations) {
  const action = mixer.clipAction(clip).setLoop(THREE.LoopOnce, 1);
  action.clampWhenFinished = true;
  action.play();
}

// The vertices of an object as it stands, or as its points in time say.
function vertices(object, seconds) {
  const flat = [], moving = samples?.points[object.name];
  if (moving) {
    const value = samples.give(moving, seconds), whole = value.length - (value.length % 3);
    for (let k = 0; k < whole; k += 3) flat.push(...x.fromArray(value, k).applyMatrix4(object.matrixWorld).toArray());
    return flat;
  }
  const { count } = object.geometry.attributes.position;
  for (let k = 0; k < count; k++) {
    if (object.isMesh) object.getVertexPosition(k, x);
    else x.fromBufferAttribute(object.geometry.attributes.position, k);
    flat.push(...x.applyMatrix4(object.matrixWorld).toArray());
  }
  return flat;
}

for (const time of times.map(Number)) {
  mixer.setTime(time);
  scene.traverse((object) => {
    const matrix = samples?.matrices[object.name];
    if (!matrix) return;
    object.matrixAutoUpdate = false;
    object.matrix.fromArray(samples.give(matrix, time)); // rows of USD are columns of three.js
  });
  scene.updateMatrixWorld(true);
  scene.traverse((object) => { if (object.geometry) (points[object.name] ??= []).push(vertices(object, time)); });
}
process.stdout.write(JSON.stringify(points));
