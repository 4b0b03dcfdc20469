/* Reads an animated file with assimp and writes where every vertex is at every frame, see points.py.
 *
 *   assimp_points FILE FRAMES...     times of frames in seconds
 * Writes {"node name": [[x, y, z, ... of frame 0], ...], ...}. Keys stand at the times of frames, so that none are
 * mixed. */
#include <assimp/defs.h> /* first: the others use what it defines */

#include <assimp/cimport.h>
#include <assimp/scene.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
  const struct aiScene *scene;
  const double *time;
  int frame_count;
  int written;
} Reader;

/* Index of the key nearest to a time; keys are a stride of bytes apart and begin with their time. */
static unsigned nearest_key(const void *keys, size_t stride, unsigned count, double time) {
  unsigned best = 0;
  double least = INFINITY;
  for (unsigned k = 0; k < count; k++) {
    double at;
    memcpy(&at, (const char *)keys + k * stride, sizeof at);
    if (fabs(at - time) < least) least = fabs(at - time), best = k;
  }
  return best;
}

static double ticks(const struct aiAnimation *animation, double seconds) {
  return seconds * (animation->mTicksPerSecond > 0 ? animation->mTicksPerSecond : 25);
}

/* A node's own matrix at a time: what its channel says, else as it stands. */
static struct aiMatrix4x4 local_matrix(const struct aiScene *scene, const struct aiNode *node, double seconds) {
  for (unsigned a = 0; a < scene->mNumAnimations; a++) {
    const struct aiAnimation *animation = scene->mAnimations[a];
    for (unsigned c = 0; c < animation->mNumChannels; c++) {
      const struct aiNodeAnim *channel = animation->mChannels[c];
      if (strcmp(channel->mNodeName.data, node->mName.data)) continue;
      double t = ticks(animation, seconds);
      struct aiVector3D scale = {1, 1, 1};
      struct aiMatrix4x4 matrix;
      unsigned p = nearest_key(channel->mPositionKeys, sizeof *channel->mPositionKeys, channel->mNumPositionKeys, t);
      unsigned r = nearest_key(channel->mRotationKeys, sizeof *channel->mRotationKeys, channel->mNumRotationKeys, t);
      aiMatrix4FromScalingQuaternionPosition(&matrix, &scale, &channel->mRotationKeys[r].mValue,
                                             &channel->mPositionKeys[p].mValue);
      return matrix;
    }
  }
  return node->mTransformation;
}

static struct aiMatrix4x4 world_matrix(const struct aiScene *scene, const struct aiNode *node, double seconds) {
  struct aiMatrix4x4 own = local_matrix(scene, node, seconds);
  if (!node->mParent) return own;
  struct aiMatrix4x4 all = world_matrix(scene, node->mParent, seconds);
  aiMultiplyMatrix4(&all, &own);
  return all;
}

/* The weights of a mesh's shapes at a time; NULL without any. */
static const struct aiMeshMorphKey *weights(const struct aiScene *scene, const struct aiNode *node, double seconds) {
  for (unsigned a = 0; a < scene->mNumAnimations; a++) {
    const struct aiAnimation *animation = scene->mAnimations[a];
    for (unsigned c = 0; c < animation->mNumMorphMeshChannels; c++) {
      const struct aiMeshMorphAnim *channel = animation->mMorphMeshChannels[c];
      if (strcmp(channel->mName.data, node->mName.data)) continue;
      return &channel->mKeys[nearest_key(channel->mKeys, sizeof *channel->mKeys, channel->mNumKeys,
                                         ticks(animation, seconds))];
    }
  }
  return NULL;
}

static struct aiVector3D shaped(const struct aiMesh *mesh, unsigned v, const struct aiMeshMorphKey *key) {
  struct aiVector3D x = mesh->mVertices[v], sum = x;
  for (unsigned k = 0; key && k < key->mNumValuesAndWeights; k++) {
    const struct aiVector3D *y = &mesh->mAnimMeshes[key->mValues[k]]->mVertices[v];
    float w = (float)key->mWeights[k];
    sum.x += w * (y->x - x.x), sum.y += w * (y->y - x.y), sum.z += w * (y->z - x.z);
  }
  return sum;
}

static void write_frame(const Reader *reader, const struct aiNode *node, double seconds) {
  struct aiMatrix4x4 matrix = world_matrix(reader->scene, node, seconds);
  const struct aiMeshMorphKey *key = weights(reader->scene, node, seconds);
  const char *comma = "";
  for (unsigned m = 0; m < node->mNumMeshes; m++) {
    const struct aiMesh *mesh = reader->scene->mMeshes[node->mMeshes[m]];
    for (unsigned v = 0; v < mesh->mNumVertices; v++, comma = ",") {
      struct aiVector3D x = shaped(mesh, v, key);
      aiTransformVecByMatrix4(&x, &matrix);
      printf("%s%.9g,%.9g,%.9g", comma, (double)x.x, (double)x.y, (double)x.z);
    }
  }
}

static void write_node(Reader *reader, const struct aiNode *node) {
  if (node->mNumMeshes) {
    printf("%s\"%s\":[", reader->written++ ? ",\n" : "", node->mName.data);
    for (int f = 0; f < reader->frame_count; f++) {
      fputs(f ? ",[" : "[", stdout);
      write_frame(reader, node, reader->time[f]);
      fputc(']', stdout);
    }
    fputc(']', stdout);
  }
  for (unsigned c = 0; c < node->mNumChildren; c++) write_node(reader, node->mChildren[c]);
}

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "assimp_points FILE TIMES...\n"), 2;
  const struct aiScene *scene = aiImportFile(argv[1], 0);
  if (!scene) return fprintf(stderr, "%s: %s\n", argv[1], aiGetErrorString()), 1;
  double *time = malloc((size_t)argc * sizeof *time);
  if (!time) return 1;
  for (int k = 2; k < argc; k++) time[k - 2] = strtod(argv[k], NULL);
  Reader reader = {scene, time, argc - 2, 0};
  fputc('{', stdout);
  write_node(&reader, scene->mRootNode);
  fputs("}\n", stdout);
  free(time);
  aiReleaseImport(scene);
  return 0;
}
