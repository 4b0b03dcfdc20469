/* One VTK PolyData in memory and its two file formats. Internal to src/export; tested in tests/cli/export.sh. */
#ifndef ABD_EXPORT_VTK_DATA_H
#define ABD_EXPORT_VTK_DATA_H

#include "export/shape_file.h"

typedef enum VtkType { VTK_UINT8, VTK_INT32, VTK_INT64, VTK_FLOAT64 } VtkType;

typedef struct VtkArray {
  const char *name;
  VtkType type;
  int components;
  bool cell;  /* a value for each cell, else for each point */
  void *data; /* malloc'ed */
} VtkArray;

/* Cells in VTK's order: verts, lines, polys. */
enum { VTK_VERTS, VTK_LINES, VTK_POLYS, VTK_CELL_KINDS, VTK_MOST_ARRAYS = 8 };

typedef struct VtkData {
  double time;
  double *point;
  size_t point_count;
  int64_t *corner[VTK_CELL_KINDS]; /* 1, 2 or 3 for each cell */
  size_t cell_count[VTK_CELL_KINDS];
  VtkArray array[VTK_MOST_ARRAYS];
  int array_count;
} VtkData;

/* A new array for all points or cells; NULL if memory runs out. */
void *vtk_add_array(VtkData *data, const char *name, VtkType type, int components, bool cell);
void vtk_free(VtkData *data);
/* .vtp: XML with raw data appended; anything else: legacy, binary. */
bool vtk_write(const VtkData *data, const char *path, ExportError *error);

#endif
