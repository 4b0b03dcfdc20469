/* Bullet's rigid bodies. C++ as Bullet has no C interface for GImpact. Tested by tests/cli/peers.sh.
 *
 * Its defaults, except: bodies never sleep (a frozen house proves nothing); shapes have a skin of half abd's range of
 * contact: boxes and balls by their size, hulls and meshes as their margin, which is 40 mm otherwise. Its friction of a
 * pair is the product of the two bodies'; abd's is the geometric mean, so each is given the root. */
#include "peer.h"

#include <BulletCollision/Gimpact/btGImpactCollisionAlgorithm.h>
#include <BulletCollision/Gimpact/btGImpactShape.h>
#include <btBulletDynamicsCommon.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

enum Variant { BOXES, HULLS, GIMPACT };

/* A mesh of the scene and Bullet's views of it; the arrays must stay valid. */
struct MeshShape {
  std::vector<std::unique_ptr<btCollisionShape>> own; /* parts first, then the compound that holds them */
  std::vector<btScalar> vertex;
  std::vector<int> triangle;
  std::unique_ptr<btTriangleIndexVertexArray> array;
  btCollisionShape *shape = nullptr;
};

struct World {
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  btDbvtBroadphase broadphase;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};
  std::vector<MeshShape> mesh;
  std::vector<std::unique_ptr<btCollisionShape>> plane;
  std::vector<std::unique_ptr<btRigidBody>> body;
  btScalar dt = 0;

  ~World() {
    for (auto &b : body) world.removeRigidBody(b.get());
  }
};

btVector3 vector_of(const double v[3]) { return btVector3(btScalar(v[0]), btScalar(v[1]), btScalar(v[2])); }

btTransform transform_of(const double node[12]) {
  double q[4];
  quaternion_of(node + 3, q);
  return btTransform(btQuaternion(btScalar(q[1]), btScalar(q[2]), btScalar(q[3]), btScalar(q[0])), vector_of(node));
}

btConvexHullShape *hull_shape(const Hull &hull, double skin) {
  auto *shape = new btConvexHullShape();
  for (size_t v = 0; v < hull.vertex_count; v++) shape->addPoint(vector_of(hull.vertex + 3 * v), false);
  shape->recalcLocalAabb();
  shape->setMargin(btScalar(skin));
  return shape;
}

void add_part(MeshShape &out, btCompoundShape *compound, const Part &part, int variant, double skin) {
  btTransform place = btTransform::getIdentity();
  if (variant == BOXES && (part.kind == PART_BOX || part.kind == PART_BALL)) {
    btCollisionShape *shape;
    if (part.kind == PART_BOX) shape = new btBoxShape(vector_of(part.half) + btScalar(skin) * btVector3(1, 1, 1));
    else shape = new btSphereShape(btScalar(part.half[0] + skin));
    out.own.emplace_back(shape);
    place.setOrigin(vector_of(part.center));
    compound->addChildShape(place, shape);
    return;
  }
  for (size_t h = 0; h < part.hull_count; h++) {
    out.own.emplace_back(hull_shape(part.hull[h], skin));
    compound->addChildShape(place, out.own.back().get());
  }
}

/* A single shape at the centre needs no compound, which would cost time. */
void convex_shape(MeshShape &out, const PeerMesh &mesh, int variant, double skin) {
  auto *compound = new btCompoundShape();
  for (size_t p = 0; p < mesh.part_count; p++) add_part(out, compound, mesh.part[p], variant, skin);
  out.own.emplace_back(compound);
  out.shape = compound;
  bool centred =
      compound->getNumChildShapes() == 1 && compound->getChildTransform(0).getOrigin().length2() < btScalar(1e-12);
  if (centred) out.shape = compound->getChildShape(0);
}

void gimpact_shape(MeshShape &out, const PeerMesh &mesh, double skin) {
  out.vertex.assign(mesh.vertex, mesh.vertex + 3 * mesh.vertex_count);
  out.triangle.assign(mesh.triangle, mesh.triangle + 3 * mesh.triangle_count);
  out.array.reset(new btTriangleIndexVertexArray(int(mesh.triangle_count), out.triangle.data(), 3 * int(sizeof(int)),
                                                 int(mesh.vertex_count), out.vertex.data(), 3 * int(sizeof(btScalar))));
  auto *shape = new btGImpactMeshShape(out.array.get());
  out.own.emplace_back(shape);
  shape->setMargin(btScalar(skin));
  shape->updateBound();
  out.shape = shape;
}

btCollisionShape *plane_shape(World &w, const PeerScene *scene, size_t body) {
  double normal[3], offset;
  peer_plane(scene, body, normal, &offset);
  w.plane.emplace_back(new btStaticPlaneShape(vector_of(normal), btScalar(offset)));
  return w.plane.back().get();
}

void add_body(World &w, const PeerScene *scene, size_t k) {
  const PeerBody &given = scene->body[k];
  bool plane = scene->mesh[given.mesh].half_space;
  btCollisionShape *shape = plane ? plane_shape(w, scene, k) : w.mesh[given.mesh].shape;
  btVector3 inertia = given.moves ? vector_of(given.inertia) : btVector3(0, 0, 0);
  btRigidBody::btRigidBodyConstructionInfo info(given.moves ? btScalar(given.mass) : btScalar(0), nullptr, shape,
                                                inertia);
  info.m_startWorldTransform = plane ? btTransform::getIdentity() : transform_of(given.node);
  info.m_friction = btScalar(std::sqrt(given.friction));
  auto *body = new btRigidBody(info);
  w.body.emplace_back(body);
  body->setLinearVelocity(vector_of(given.velocity));
  body->setAngularVelocity(vector_of(given.spin));
  body->setActivationState(DISABLE_DEACTIVATION);
  w.world.addRigidBody(body);
}

void *create(const PeerScene *scene, int variant, char error[PEER_ERROR_SIZE]) {
  (void)error;
  auto *w = new World();
  w->dt = btScalar(scene->dt);
  if (scene->iterations) w->world.getSolverInfo().m_numIterations = scene->iterations;
  w->world.setGravity(vector_of(scene->gravity));
  if (variant == GIMPACT) btGImpactCollisionAlgorithm::registerAlgorithm(&w->dispatcher);
  w->mesh.resize(scene->mesh_count);
  for (size_t m = 0; m < scene->mesh_count; m++) {
    if (scene->mesh[m].half_space) continue;
    if (variant == GIMPACT) gimpact_shape(w->mesh[m], scene->mesh[m], 0.5 * scene->range);
    else convex_shape(w->mesh[m], scene->mesh[m], variant, 0.5 * scene->range);
  }
  for (size_t k = 0; k < scene->body_count; k++) add_body(*w, scene, k);
  return w;
}

bool step(void *state, char error[PEER_ERROR_SIZE]) {
  (void)error;
  auto *w = static_cast<World *>(state);
  w->world.stepSimulation(w->dt, 0);
  return true;
}

void pose(void *state, size_t index, double node[12], double rate[6]) {
  const btRigidBody *body = static_cast<World *>(state)->body[index].get();
  btQuaternion turn = body->getWorldTransform().getRotation();
  const btVector3 &at = body->getWorldTransform().getOrigin();
  const btVector3 &velocity = body->getLinearVelocity(), &spin = body->getAngularVelocity();
  double position[3] = {at.x(), at.y(), at.z()}, q[4] = {turn.w(), turn.x(), turn.y(), turn.z()};
  node_of(position, q, node);
  for (int k = 0; k < 3; k++) rate[k] = velocity[k], rate[3 + k] = spin[k];
}

void destroy(void *state) { delete static_cast<World *>(state); }

} // namespace

extern "C" {
const Engine engine_bullet_box = {
    "bullet-box",
    "Bullet boxes",
    "Bullet " PEERS_BULLET ", single precision: boxes, spheres, planes, convex hulls for the rest; 10 iterations",
    BOXES,
    false,
    create,
    step,
    pose,
    destroy};
const Engine engine_bullet_hull = {
    "bullet-hull", "Bullet hulls", "the same with convex hulls for everything but planes", HULLS, false, create, step,
    pose,          destroy};
const Engine engine_bullet_gimpact = {
    "bullet-gimpact", "Bullet GImpact", "the same with the triangles themselves", GIMPACT, true, create, step, pose,
    destroy};
}
