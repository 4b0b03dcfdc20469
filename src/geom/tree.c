/* The tree of boxes over a mesh's elements. Nodes are split at the median along the longest axis of their elements'
 * centres until a leaf can hold them, so the tree is balanced and its depth is about log2 of the number of elements.
 * Nodes are stored breadth first, children side by side. Tested in tests/test_mesh.c. */
#include "geom/build.h"

#include <string.h>

enum { SMALL_LEAF_SIZE = 2, SMALL_MESH = 8 };

typedef struct TreeBuild {
  const Mesh *mesh;
  Vec3 *center; /* of each element's box */
  int *order;   /* elements in the order of the leaves */
} TreeBuild;

static Box element_box(const Mesh *mesh, const Element *e) {
  Box box = box_empty();
  for (int k = 0; k < e->vertex_count; k++) box = box_add(box, mesh->vertex[e->vertex[k]]);
  return box;
}

static float round_down(double x) {
  float f = (float)x;
  return (double)f <= x ? f : nextafterf(f, -INFINITY);
}

static float round_up(double x) {
  float f = (float)x;
  return (double)f >= x ? f : nextafterf(f, INFINITY);
}

void box_round(Box box, float *lo, float *hi) {
  for (int k = 0; k < 3; k++) {
    lo[k] = round_down(component(box.lo, k));
    hi[k] = round_up(component(box.hi, k));
  }
}

static void set_node_box(TreeNode *node, Box box) { box_round(box, node->lo, node->hi); }

static bool before(const TreeBuild *build, int axis, int a, int b) {
  double x = component(build->center[a], axis), y = component(build->center[b], axis);
  return x != y ? x < y : a < b;
}

/* Partitions order[first .. last] around the element of rank middle (quickselect). */
static void select_median(const TreeBuild *build, int axis, int first, int last, int middle) {
  int *order = build->order;
  while (first < last) {
    int pivot = order[first + (last - first) / 2], i = first, j = last;
    while (i <= j) {
      while (before(build, axis, order[i], pivot)) i++;
      while (before(build, axis, pivot, order[j])) j--;
      if (i > j) break;
      int keep = order[i];
      order[i++] = order[j];
      order[j--] = keep;
    }
    if (middle <= j) last = j;
    else if (middle >= i) first = i;
    else return;
  }
}

static int longest_axis(Box box) {
  Vec3 h = box_half(box);
  if (h.x >= h.y && h.x >= h.z) return 0;
  return h.y >= h.z ? 1 : 2;
}

/* Sets the node's box; splits its elements into two children at the end of the nodes unless they fit in a leaf. */
static void build_node(TreeBuild *build, TreeNode *nodes, int *node_count, int index, int leaf_size) {
  TreeNode *node = &nodes[index];
  int first = node->first, count = node->element_count, half = count / 2;
  Box box = box_empty(), centers = box_empty();
  for (int i = first; i < first + count; i++) {
    box = box_union(box, element_box(build->mesh, &build->mesh->element[build->order[i]]));
    centers = box_add(centers, build->center[build->order[i]]);
  }
  set_node_box(node, box);
  if (count <= leaf_size) return;
  select_median(build, longest_axis(centers), first, first + count - 1, first + half);
  node->left = *node_count;
  node->element_count = 0;
  nodes[(*node_count)++] = (TreeNode){.first = first, .element_count = half};
  nodes[(*node_count)++] = (TreeNode){.first = first + half, .element_count = count - half};
}

/* Replaces the largest inner node in the fan by its children while there is room. */
static void spread_fan(const Mesh *mesh, Fan *fan) {
  while (fan->count < FAN_WIDTH) {
    int widest = -1;
    double size = 0;
    for (int k = 0; k < fan->count; k++) {
      const TreeNode *n = &mesh->node[fan->index[k]];
      if (n->element_count > 0 || (widest >= 0 && tree_node_size(n) <= size)) continue;
      widest = k;
      size = tree_node_size(n);
    }
    if (widest < 0) return;
    int left = mesh->node[fan->index[widest]].left;
    fan->index[widest] = left;
    fan->index[fan->count++] = left + 1;
  }
}

static void set_lane(Fan *fan, int lane, const float lo[3], const float hi[3]) {
  for (int k = 0; k < 3; k++) {
    fan->lo[k][lane] = lo[k];
    fan->hi[k][lane] = hi[k];
  }
}

/* Boxes of all fans from those of the nodes and of the elements. */
static void fill_fans(Mesh *mesh) {
  for (int n = 0; n < mesh->node_count; n++) {
    const TreeNode *node = &mesh->node[n];
    Fan *fan = node->fan < 0 ? NULL : &mesh->fan[node->fan];
    for (int k = 0; fan && k < fan->count; k++) {
      TreeNode own;
      if (node->element_count > 0) set_node_box(&own, element_box(mesh, &mesh->element[fan->index[k]]));
      else own = mesh->node[fan->index[k]];
      set_lane(fan, k, own.lo, own.hi);
    }
  }
}

static Fan fan_below(const Mesh *mesh, int n) {
  const TreeNode *node = &mesh->node[n];
  Fan fan = {.count = 0};
  for (int k = 0; k < node->element_count; k++) fan.index[fan.count++] = node->first + k;
  if (fan.count > 0) return fan;
  fan.index[fan.count++] = n;
  spread_fan(mesh, &fan);
  return fan;
}

/* Parents precede their children, so whether a node has a fan is decided before the node is visited. */
static void number_fans(Mesh *mesh) {
  for (int n = 0; n < mesh->node_count; n++) mesh->node[n].fan = n == 0 || mesh->node[n].element_count > 0 ? 0 : -1;
  for (int n = 0; n < mesh->node_count; n++) {
    TreeNode *node = &mesh->node[n];
    if (node->fan < 0) continue;
    node->fan = mesh->fan_count++;
    Fan fan = fan_below(mesh, n);
    for (int k = 0; node->element_count == 0 && k < fan.count; k++) mesh->node[fan.index[k]].fan = 0;
  }
}

static bool build_fans(Mesh *mesh) {
  number_fans(mesh);
  mesh->fan = mem_alloc((size_t)mesh->fan_count, sizeof *mesh->fan);
  if (!mesh->fan) return false;
  for (int n = 0; n < mesh->node_count; n++)
    if (mesh->node[n].fan >= 0) mesh->fan[mesh->node[n].fan] = fan_below(mesh, n);
  fill_fans(mesh);
  return true;
}

static void name_owners(Mesh *mesh, bool *vertex_owned, bool *edge_owned) {
  for (int i = 0; i < mesh->element_count; i++) {
    Element *e = &mesh->element[i];
    e->owned_vertices = e->owned_edges = 0;
    for (int k = 0; k < e->vertex_count; k++)
      if (!vertex_owned[e->vertex[k]]) {
        vertex_owned[e->vertex[k]] = true;
        e->owned_vertices |= (unsigned char)(1 << k);
      }
    for (int k = 0; k < (e->vertex_count == 3 ? 3 : 1); k++)
      if (!edge_owned[e->edge[k]]) {
        edge_owned[e->edge[k]] = true;
        e->owned_edges |= (unsigned char)(1 << k);
      }
  }
}

static void build_nodes(Mesh *mesh, TreeBuild *build, Element *sorted) {
  int leaf_size = mesh->element_count <= SMALL_MESH ? SMALL_LEAF_SIZE : LEAF_MAX;
  for (int i = 0; i < mesh->element_count; i++) {
    build->order[i] = i;
    build->center[i] = box_center(element_box(mesh, &mesh->element[i]));
  }
  mesh->node[0] = (TreeNode){.first = 0, .element_count = mesh->element_count};
  mesh->node_count = 1;
  for (int n = 0; n < mesh->node_count; n++) build_node(build, mesh->node, &mesh->node_count, n, leaf_size);
  for (int i = 0; i < mesh->element_count; i++) sorted[i] = mesh->element[build->order[i]];
}

bool mesh_build_tree(Mesh *mesh) {
  size_t count = (size_t)mesh->element_count;
  TreeBuild build = {mesh, mem_alloc(count, sizeof(Vec3)), mem_alloc(count, sizeof(int))};
  Element *sorted = mem_alloc(count, sizeof *sorted);
  bool *vertex_owned = mem_zeroed((size_t)mesh->vertex_count, sizeof(bool));
  bool *edge_owned = mem_zeroed((size_t)mesh->edge_count, sizeof(bool));
  mesh->node = mem_alloc(2 * count, sizeof *mesh->node);
  bool ok = build.center && build.order && sorted && vertex_owned && edge_owned && mesh->node;
  if (ok) {
    build_nodes(mesh, &build, sorted);
    mem_free(mesh->element);
    mesh->element = sorted;
    sorted = NULL;
    name_owners(mesh, vertex_owned, edge_owned);
    ok = build_fans(mesh);
  }
  mem_free(build.center);
  mem_free(build.order);
  mem_free(sorted);
  mem_free(vertex_owned);
  mem_free(edge_owned);
  return ok;
}
