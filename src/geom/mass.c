/* Mass moments of a mesh at density 1: the integrals of 1, x and x x^T over
 *   a closed surface's inside  tetrahedra (0, a, b, c), V = a.(b x c)/6, s = a + b + c: V, V s/4, V/20 (ss' + aa' + bb' + cc')
 *   an open triangle           area F, thickness t, normal n: tF, tF s/3, tF/12 (ss' + aa' + bb' + cc') + t^3 F/12 nn'
 *   a wire                     length L, section Q = pi r^2, tangent e, s = a + b: QL, QL s/2, QL/6 (ss' + aa' + bb')
 *                              + QL r^2/4 (1 - ee')
 *   a point                    a ball of volume m = 4/3 pi r^3: m, m x, m xx' + m r^2/5
 * with r = t/2. If the thickness is 0, then t, Q and m are 1 and the terms of the section are dropped. Wires and
 * points of a closed mesh have mass only if there is a thickness, or a stray vertex would weigh as much as a cubic
 * metre. Tested in tests/test_mesh.c. */
#include "geom/build.h"

static const double PI = 3.14159265358979323846;

static void add_second(Moments *m, double k, Vec3 v) {
  m->second = mat3_add(m->second, mat3_scale(k, mat3_outer(v, v)));
}

static void add_first(Moments *m, double volume, Vec3 center) {
  m->volume += volume;
  m->first = add_scaled(m->first, volume, center);
}

static void add_tetrahedron(Moments *m, Vec3 a, Vec3 b, Vec3 c) {
  double volume = dot(a, cross(b, c)) / 6;
  Vec3 s = add(a, add(b, c));
  add_first(m, volume, scale(0.25, s));
  add_second(m, volume / 20, s);
  add_second(m, volume / 20, a);
  add_second(m, volume / 20, b);
  add_second(m, volume / 20, c);
}

void moments_add_tetrahedron(Moments *m, Vec3 a, Vec3 b, Vec3 c) { add_tetrahedron(m, a, b, c); }

static void add_shell(Moments *m, double thickness, Vec3 a, Vec3 b, Vec3 c) {
  Vec3 normal = cross(sub(b, a), sub(c, a)), s = add(a, add(b, c));
  double area = norm(normal) / 2, volume = thickness > 0 ? area * thickness : area;
  add_first(m, volume, scale(1.0 / 3, s));
  add_second(m, volume / 12, s);
  add_second(m, volume / 12, a);
  add_second(m, volume / 12, b);
  add_second(m, volume / 12, c);
  if (thickness > 0 && area > 0) add_second(m, volume * thickness * thickness / 12, unit(normal));
}

static void add_rod(Moments *m, double thickness, Vec3 a, Vec3 b) {
  double r = thickness / 2, length = norm(sub(b, a)), volume = thickness > 0 ? PI * r * r * length : length;
  Vec3 s = add(a, b);
  add_first(m, volume, scale(0.5, s));
  add_second(m, volume / 6, s);
  add_second(m, volume / 6, a);
  add_second(m, volume / 6, b);
  m->second = mat3_add(m->second, mat3_scale(volume * r * r / 4, mat3_identity()));
  if (length > 0) add_second(m, -volume * r * r / 4, unit(sub(b, a)));
}

static void add_ball(Moments *m, double thickness, Vec3 a) {
  double r = thickness / 2, volume = thickness > 0 ? 4.0 / 3 * PI * r * r * r : 1;
  add_first(m, volume, a);
  add_second(m, volume, a);
  m->second = mat3_add(m->second, mat3_scale(volume * r * r / 5, mat3_identity()));
}

Moments mesh_moments(const Mesh *mesh, double thickness, Vec3 reference) {
  Moments m = {0, vec3(0, 0, 0), mat3_zero()};
  for (int i = 0; i < mesh->element_count; i++) {
    const Element *e = &mesh->element[i];
    if (e->on_wire) continue;
    Vec3 a = sub(mesh->vertex[e->vertex[0]], reference), b = sub(mesh->vertex[e->vertex[1]], reference);
    Vec3 c = sub(mesh->vertex[e->vertex[2]], reference);
    if (mesh->closed && e->vertex_count == 3) add_tetrahedron(&m, a, b, c);
    else if (mesh->closed && thickness == 0) continue;
    else if (e->vertex_count == 3) add_shell(&m, thickness, a, b, c);
    else if (e->vertex_count == 2) add_rod(&m, thickness, a, b);
    else add_ball(&m, thickness, a);
  }
  return m;
}

/* A flat or straight body without thickness would have no second moment along its normals and a singular mass matrix.
 * It gets 1e-6 of its largest moment there, as if its thickness were about 1/1000 of its length. A single point, on
 * which no force depends on the shape, gets that of a ball with a radius of 0.7 m. With a volume this only guards
 * against rounding. */
void mesh_set_mass(Mesh *mesh, double thickness, Moments m) {
  double floor = mesh->source != ABD_VOLUME_SHEET || thickness > 0 ? 1e-12 : 1e-6;
  double largest = fmax(m.second.c[0].x, fmax(m.second.c[1].y, m.second.c[2].z));
  mesh->volume = m.volume;
  mesh->thickness = thickness;
  for (int k = 0; k < 3; k++)
    mesh->second[k] = largest > 0 ? fmax(component(m.second.c[k], k), floor * largest) : 0.1 * m.volume;
}
