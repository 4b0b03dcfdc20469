// Reads a .usda with TinyUSDZ (a USD library in C++, from npm as WebAssembly), follows its references, and writes where every
// vertex is at the first of its frames, see points.py.
//   node tinyusdz_points.mjs FOLDER-WITH-node_modules FILE
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, path] = process.argv.slice(2), package_ = join(folder, 'node_modules/tinyusdz');
// It is made for browsers' workers: this looks like one.
process.type = 'renderer';
globalThis.WorkerGlobalScope = class {};
globalThis.fetch = async () => new Response(readFileSync(join(package_, 'tinyusdz.wasm')), { headers: { 'Content-Type': 'application/wasm' } });
const { default: begin } = await import(pathToFileURL(join(package_, 'tinyusdz.js')));
const { TinyUSDZLoaderNative: Loader } = await begin({ locateFile: () => 'http://here/tinyusdz.wasm' });
const loader = new Loader();
const must = (good, what) => { if (!good) throw new Error(`${path}: ${what}: ${loader.error()}`); };
must(loader.loadAsLayerFromBinary(new Uint8Array(readFileSync(path)), 'file.usda'), 'cannot be parsed');
if (loader.hasReferences()) must(loader.composeReferences(), 'references');
must(loader.layerToRenderScene(), 'no scene');

const points = {};
// A point times the rows of a matrix.
const apply = (m, x, y, z) => [0, 1, 2].map((i) => x * m[i] + y * m[4 + i] + z * m[8 + i] + m[12 + i]);
function visit(node) {
  if (node.nodeType === 'mesh') {
    must(node.contentId >= 0, `no geometry in ${node.primName}`);
    const flat = [], { points: p } = loader.getMesh(node.contentId);
    for (let k = 0; k < p.length; k += 3) flat.push(...apply(node.globalMatrix, p[k], p[k + 1], p[k + 2]));
    points[node.primName] = [flat];
  }
  node.children.forEach(visit);
}
visit(loader.getDefaultRootNode());
process.stdout.write(JSON.stringify(points));
