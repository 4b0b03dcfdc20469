/* Elements and nodes of a mesh's tree, see geom/mesh.h. Plain structs for both compilers. */
#ifndef ABD_GEOM_NODE_H
#define ABD_GEOM_NODE_H

#include "math/vec.h"

typedef struct Element {
  int vertex[3]; /* triangle: 3; wire: 2; point: 1; the rest repeat the first */
  int edge[3];   /* edge k joins vertex[k], vertex[(k + 1) % 3]; wire and point: edge[0] only */
  int triangle;  /* index of the triangle, -1 for wires and points */
  unsigned char vertex_count;
  unsigned char owned_vertices; /* bit k: vertex[k] is owned by this element */
  unsigned char owned_edges;    /* bit k: edge[k] is owned */
  unsigned char sharp_edges;    /* bit k: edge[k] is owned and no diagonal of a plane face */
  bool on_wire;                 /* a point that is a vertex of wires */
} Element;

/* Do two elements have edge-edge stencils? A vertex of wires has none with triangles: that of the vertex and the
 * triangle is enough. */
KERNEL bool edges_meet(const Element *a, const Element *b) {
  return !(a->on_wire && b->triangle >= 0) && !(b->on_wire && a->triangle >= 0);
}

enum { LEAF_MAX = 8, FAN_WIDTH = 8 }; /* elements in a leaf, boxes in a fan, at most */

/* Inner node: children at left and left + 1, element_count 0. Leaf: elements first .. first + element_count - 1.
 * Boxes are rounded outward to float. */
typedef struct TreeNode {
  float lo[3], hi[3];
  int left, first, element_count;
  int fan; /* -1 for inner nodes inside another node's fan */
} TreeNode;

/* The squared diagonal of a node's box; of two nodes the larger one is split first. */
KERNEL double tree_node_size(const TreeNode *n) {
  double x = n->hi[0] - n->lo[0], y = n->hi[1] - n->lo[1], z = n->hi[2] - n->lo[2];
  return x * x + y * y + z * z;
}

/* Does a traversal of two trees split a's node? At least one of the nodes is not a leaf. */
KERNEL bool tree_splits_a(const TreeNode *na, const TreeNode *nb) {
  bool leaf_a = na->element_count > 0, leaf_b = nb->element_count > 0;
  return leaf_b || (!leaf_a && tree_node_size(na) >= tree_node_size(nb));
}

#endif
