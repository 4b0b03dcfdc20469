/* See mesh_assimp.h. */
#include "scene/mesh_assimp.h"

#include "scene/json_node.h"

#ifdef ABD_HAVE_ASSIMP

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include "scene/file_bytes.h"
#include "scene/zip_unit.h"

/* x_abd = axis[k] . x_assimp, in metres. */
typedef struct Frame {
  double axis[3][3];
} Frame;

static bool has_extension(const char *path, const char *extension) {
  const char *own = file_extension(path);
  return own && strcasecmp(own, extension) == 0;
}

static const struct aiMetadataEntry *find_entry(const struct aiScene *scene, const char *key) {
  const struct aiMetadata *m = scene->mMetaData;
  for (unsigned i = 0; m && i < m->mNumProperties; i++)
    if (strcmp(m->mKeys[i].data, key) == 0) return &m->mValues[i];
  return NULL;
}

static double metadata_number(const struct aiScene *scene, const char *key, double fallback) {
  const struct aiMetadataEntry *e = find_entry(scene, key);
  if (e && e->mType == AI_INT32) return *(const int32_t *)e->mData;
  if (e && e->mType == AI_FLOAT) return *(const float *)e->mData;
  if (e && e->mType == AI_DOUBLE) return *(const double *)e->mData;
  return fallback;
}

static Frame frame_of(double scale, int right, double right_sign, int up, double up_sign) {
  Frame f = {{{0}}};
  f.axis[0][right] = right_sign * scale;
  f.axis[2][up] = up_sign * scale;
  for (int k = 0; k < 3; k++) { /* y = z cross x */
    int i = (k + 1) % 3, j = (k + 2) % 3;
    f.axis[1][k] = (f.axis[2][i] * f.axis[0][j] - f.axis[2][j] * f.axis[0][i]) / scale;
  }
  return f;
}

static Frame fbx_frame(const struct aiScene *scene) {
  double centimetres = metadata_number(scene, "UnitScaleFactor", 1);
  int up = (int)metadata_number(scene, "UpAxis", 1), right = (int)metadata_number(scene, "CoordAxis", 0);
  double up_sign = metadata_number(scene, "UpAxisSign", 1), right_sign = metadata_number(scene, "CoordAxisSign", 1);
  bool sound = up >= 0 && up < 3 && right >= 0 && right < 3 && up != right && isfinite(centimetres) && centimetres > 0;
  if (!sound) return frame_of(0.01, 0, 1, 1, 1);
  return frame_of(0.01 * centimetres, right, right_sign < 0 ? -1 : 1, up, up_sign < 0 ? -1 : 1);
}

/* assimp turns .dae and .3ds so that y is up, and scales .dae to metres. */
static Frame file_frame(const char *path, const struct aiScene *scene) {
  static const char *const y_up[] = {"dae", "gltf", "glb", "vrm", "3ds"};
  for (int i = 0; i < 5; i++)
    if (has_extension(path, y_up[i])) return frame_of(1, 0, 1, 1, 1);
  if (has_extension(path, "fbx")) return fbx_frame(scene);
  if (has_extension(path, "3mf")) return frame_of(zip_unit_3mf(path), 0, 1, 2, 1);
  return frame_of(1, 0, 1, 2, 1);
}

typedef struct Walk {
  const struct aiScene *scene;
  Frame frame;
  MeshData *out;
  const char *path;
  SceneError *error;
} Walk;

static bool out_of_memory(const Walk *w) { return scene_fail(w->error, "%.500s: out of memory", w->path); }

static bool add_vertices(const Walk *w, const struct aiMesh *mesh, const struct aiMatrix4x4 *m) {
  for (unsigned i = 0; i < mesh->mNumVertices; i++) {
    struct aiVector3D v = mesh->mVertices[i];
    double p[3] = {(double)m->a1 * v.x + (double)m->a2 * v.y + (double)m->a3 * v.z + m->a4,
                   (double)m->b1 * v.x + (double)m->b2 * v.y + (double)m->b3 * v.z + m->b4,
                   (double)m->c1 * v.x + (double)m->c2 * v.y + (double)m->c3 * v.z + m->c4},
           x[3];
    for (int k = 0; k < 3; k++) {
      const double *axis = w->frame.axis[k];
      x[k] = axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2];
      if (!isfinite(x[k]))
        return scene_fail(w->error, "%.500s: mesh \"%.100s\": vertex %u: expected finite coordinates, got %g", w->path,
                          mesh->mName.data, i + 1, x[k]);
    }
    if (!mesh_add_vertex(w->out, x[0], x[1], x[2])) return out_of_memory(w);
  }
  return true;
}

static bool add_face(const Walk *w, const struct aiFace *face, uint32_t first, bool mirrored) {
  const unsigned *v = face->mIndices;
  if (face->mNumIndices == 2) return mesh_add_edge(w->out, first + v[0], first + v[1]) || out_of_memory(w);
  if (face->mNumIndices != 3) return true; /* points; polygons were divided */
  uint32_t b = first + v[mirrored ? 2 : 1], c = first + v[mirrored ? 1 : 2];
  return mesh_add_triangle(w->out, first + v[0], b, c) || out_of_memory(w);
}

static bool add_mesh(const Walk *w, const struct aiMesh *mesh, const struct aiMatrix4x4 *m) {
  uint32_t first = (uint32_t)w->out->vertex_count;
  bool mirrored = aiMatrix4Determinant(m) < 0;
  if (!add_vertices(w, mesh, m)) return false;
  for (unsigned i = 0; i < mesh->mNumFaces; i++) {
    const struct aiFace *face = &mesh->mFaces[i];
    for (unsigned k = 0; k < face->mNumIndices; k++)
      if (face->mIndices[k] >= mesh->mNumVertices)
        return scene_fail(w->error, "%.500s: mesh \"%.100s\": face %u has vertex %u of %u", w->path, mesh->mName.data,
                          i + 1, face->mIndices[k] + 1, mesh->mNumVertices);
    if (!add_face(w, face, first, mirrored)) return false;
  }
  return true;
}

static bool add_node(const Walk *w, const struct aiNode *node, const struct aiMatrix4x4 *parent) {
  struct aiMatrix4x4 m = *parent;
  aiMultiplyMatrix4(&m, &node->mTransformation);
  for (unsigned i = 0; i < node->mNumMeshes; i++)
    if (!add_mesh(w, w->scene->mMeshes[node->mMeshes[i]], &m)) return false;
  for (unsigned i = 0; i < node->mNumChildren; i++)
    if (!add_node(w, node->mChildren[i], &m)) return false;
  return true;
}

bool assimp_knows(const char *extension) {
  char dotted[32];
  if (!extension || !extension[0] || strlen(extension) > 20) return false;
  snprintf(dotted, sizeof dotted, ".%s", extension);
  return aiIsExtensionSupported(dotted) == AI_TRUE;
}

bool mesh_read_assimp(const char *path, MeshData *out, SceneError *error) {
  struct aiMatrix4x4 identity;
  const struct aiScene *scene = aiImportFile(path, aiProcess_Triangulate);
  if (!scene) return scene_fail(error, "%.300s: assimp cannot read it: %.150s", path, aiGetErrorString());
  Walk w = {scene, file_frame(path, scene), out, path, error};
  aiIdentityMatrix4(&identity);
  bool ok = !scene->mRootNode || add_node(&w, scene->mRootNode, &identity);
  aiReleaseImport(scene);
  return ok;
}

#else

bool assimp_knows(const char *extension) {
  (void)extension;
  return false;
}

bool mesh_read_assimp(const char *path, MeshData *out, SceneError *error) {
  (void)out;
  return scene_fail(error, "%.500s: this build reads no such files: it needs assimp (-DABD_ASSIMP=ON)", path);
}

#endif
