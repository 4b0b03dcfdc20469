// Values of the chosen body or contact, as rows.
import { tidy } from './colors.js';
import { isAbsent } from './stage.js';
import { CONTACT_WORDS, JOINT_WORDS } from './store.js';

const MOTION = ['dynamic', 'static', 'kinematic'];
const CONTACT_KIND = ['vertex on triangle', 'triangle on vertex', 'edge on edge'];
const norm = (v) => Math.hypot(v[0], v[1], v[2]);
// Three numbers with as many decimals as the largest needs for three digits.
function triple(v) {
  const size = Math.max(...v.map(Math.abs));
  if (!(size > 1e-9)) return '0\u20020\u20020';
  if (size >= 1e5 || size < 1e-3) return v.map((x) => tidy(Math.abs(x) < 1e-3 * size ? 0 : x, 2)).join('\u2002');
  const places = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return v.map((x) => tidy(Number(x.toFixed(places)), 6)).join('\u2002');
}
// Rounding errors are shown as zero.
const still = (x, least) => tidy(Math.abs(x) < least ? 0 : x);

// Record k of a frame's contacts.
export function readContact(contacts, k) {
  const at = CONTACT_WORDS * k, f = contacts.f32, u = contacts.u32;
  return {
    a: u[at] - 1, b: u[at + 1] - 1, kind: u[at + 2], point: [...f.subarray(at + 3, at + 6)], normal: [...f.subarray(at + 6, at + 9)],
    distance: f[at + 9], force: f[at + 10], friction: [...f.subarray(at + 11, at + 14)],
  };
}

// Of one body: the number of contacts, the sum of normal forces, the resultant force.
function bodyContacts(contacts, body) {
  const sum = { count: 0, normal: 0, force: [0, 0, 0] };
  for (let k = 0; contacts && k < contacts.count; k++) {
    const first = contacts.u32[CONTACT_WORDS * k] - 1 === body;
    if (!first && contacts.u32[CONTACT_WORDS * k + 1] - 1 !== body) continue;
    const c = readContact(contacts, k), sign = first ? 1 : -1;
    sum.count++;
    sum.normal += c.force;
    for (let i = 0; i < 3; i++) sum.force[i] += sign * (c.force * c.normal[i] + c.friction[i]);
  }
  return sum;
}

function jointRows(joint, reading) {
  const angular = joint.coordinate === 'angle';
  return [
    [`${joint.type} ${joint.name}`],
    ...(joint.coordinate ? [
      [angular ? 'Angle' : 'Travel', angular ? still((reading.position * 180) / Math.PI, 1e-5) : still(reading.position, 1e-9), angular ? '°' : 'm'],
      ['Rate', still(reading.rate, 1e-9), angular ? 'rad/s' : 'm/s'],
    ] : []),
    ...(reading.effort ? [['Drive', tidy(reading.effort), angular ? 'N m' : 'N']] : []),
    ['Force', tidy(norm(reading.force)), 'N'],
    ['Torque', tidy(norm(reading.torque)), 'N m'],
  ];
}

export function readJoint(joints, k) {
  const f = joints.f32.subarray(JOINT_WORDS * k, JOINT_WORDS * (k + 1));
  return {
    position: f[1], rate: f[2], force: [...f.subarray(3, 6)], torque: [...f.subarray(6, 9)], effort: f[9], residual: f[10],
    point: [...f.subarray(11, 14)], axis: [...f.subarray(14, 17)],
  };
}

export function bodyRows(app, body) {
  const { bodies } = app.meta, soft = app.meta.meshes[bodies.mesh[body]].soft, frame = app.frame, v = frame.velocity.subarray(6 * body, 6 * body + 6);
  const rows = [
    ['Body', `${body + 1}, ${soft ? 'soft' : MOTION[bodies.motion[body]]}`],
    ['Mass', tidy(bodies.mass[body] ?? NaN), 'kg'],
    ...(bodies.born?.[body] > 0 ? [['Comes', tidy(bodies.born[body] * app.meta.dt), 's']] : []),
    ...(bodies.died?.[body] ? [['Goes', tidy(bodies.died[body] * app.meta.dt), 's']] : []),
    ...(isAbsent(frame, body) ? [['', 'It is not there now.']] : []),
  ];
  if (isAbsent(frame, body)) return rows;
  rows.push(
    ['Centre [m]', triple([...frame.pose.subarray(12 * body, 12 * body + 3)])],
    ['Speed', still(norm(v), 1e-9), 'm/s'],
    ['Velocity [m/s]', triple([v[0], v[1], v[2]])],
    ...(soft ? [] : [['Spin', still(norm(v.subarray(3)), 1e-9), 'rad/s']]),
    soft ? ['Strain |FᵀF − I|', tidy(frame.strain[body], 2)] : ['Deviation |AᵀA − I|', tidy(frame.strain[body], 2)],
  );
  if (app.contactsHere) {
    const sum = bodyContacts(app.contactsHere, body);
    rows.push(['Contacts', String(sum.count)], ['Normal forces', tidy(sum.normal), 'N'], ['Contact force [N]', triple(sum.force)]);
  }
  (app.meta.joints ?? []).forEach((joint, k) => {
    if (joint.bodies.includes(body) && app.jointsHere && k < app.jointsHere.count) rows.push(...jointRows(joint, readJoint(app.jointsHere, k)));
  });
  return rows;
}

export function contactRows(app, contact) {
  const slip = norm(contact.friction);
  return [
    ['On', app.meta.bodies.name[contact.a]],
    ['From', app.meta.bodies.name[contact.b]],
    ['Kind', CONTACT_KIND[contact.kind]],
    ['Distance', tidy(contact.distance), 'm'],
    ['Normal force', tidy(contact.force), 'N'],
    ['Friction force', tidy(slip), 'N'],
    ['Friction / normal', contact.force > 0 ? tidy(slip / contact.force, 2) : '–'],
    ['Point [m]', triple(contact.point)],
    ['Normal', triple(contact.normal)],
  ];
}
