/* See vtk_data.h. The XML form has this machine's byte order and declares it; the legacy form is big-endian. */
#include "export/vtk_data.h"

#include "export/out_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const xml_type[] = {"UInt8", "Int32", "Int64", "Float64"};
static const char *const legacy_type[] = {"unsigned_char", "int", "vtktypeint64", "double"};
static const size_t type_size[] = {1, 4, 8, 8};
static const char *const cell_name[] = {"Verts", "Lines", "Polys"};

static size_t cell_total(const VtkData *data) {
  return data->cell_count[0] + data->cell_count[1] + data->cell_count[2];
}
static size_t array_length(const VtkData *data, const VtkArray *a) {
  return (size_t)a->components * (a->cell ? cell_total(data) : data->point_count);
}

void *vtk_add_array(VtkData *data, const char *name, VtkType type, int components, bool cell) {
  VtkArray array = {name, type, components, cell, NULL};
  array.data = malloc(array_length(data, &array) * type_size[type] + 1);
  if (array.data) data->array[data->array_count++] = array;
  return array.data;
}

void vtk_free(VtkData *data) {
  for (int k = 0; k < data->array_count; k++) free(data->array[k].data);
  for (int k = 0; k < VTK_CELL_KINDS; k++) free(data->corner[k]);
  free(data->point);
  *data = (VtkData){0};
}

/* ---- XML ---- */

/* The offset of the next block in the appended part; a block is a length and its bytes. */
static void describe(FILE *file, const char *indent, const char *name, VtkType type, int components, size_t length,
                     uint64_t *offset) {
  fprintf(file,
          "%s<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%llu\"/>\n",
          indent, xml_type[type], name, components, (unsigned long long)*offset);
  *offset += 8 + length * type_size[type];
}

static void describe_arrays(FILE *file, const VtkData *data, bool cell, uint64_t *offset) {
  fprintf(file, "      <%sData>\n", cell ? "Cell" : "Point");
  for (int k = 0; k < data->array_count; k++) {
    const VtkArray *a = &data->array[k];
    if (a->cell == cell) describe(file, "        ", a->name, a->type, a->components, array_length(data, a), offset);
  }
  fprintf(file, "      </%sData>\n", cell ? "Cell" : "Point");
}

static void append(FILE *file, const void *bytes, size_t size) {
  uint64_t length = size;
  fwrite(&length, sizeof length, 1, file);
  if (size) fwrite(bytes, 1, size, file);
}

static void append_offsets(FILE *file, size_t count, size_t corners) {
  uint64_t length = count * sizeof(int64_t);
  fwrite(&length, sizeof length, 1, file);
  for (size_t k = 1; k <= count; k++) {
    int64_t end = (int64_t)(k * corners);
    fwrite(&end, sizeof end, 1, file);
  }
}

static void append_arrays(FILE *file, const VtkData *data, bool cell) {
  for (int k = 0; k < data->array_count; k++) {
    const VtkArray *a = &data->array[k];
    if (a->cell == cell) append(file, a->data, array_length(data, a) * type_size[a->type]);
  }
}

static void write_xml(FILE *file, const VtkData *data) {
  uint64_t offset = 0;
  fprintf(file,
          "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" "
          "header_type=\"UInt64\">\n"
          "  <PolyData>\n    <FieldData>\n      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
          "format=\"ascii\">"
          "%.17g</DataArray>\n    </FieldData>\n",
          data->time);
  fprintf(file,
          "    <Piece NumberOfPoints=\"%zu\" NumberOfVerts=\"%zu\" NumberOfLines=\"%zu\" NumberOfPolys=\"%zu\" "
          "NumberOfStrips=\"0\">\n",
          data->point_count, data->cell_count[VTK_VERTS], data->cell_count[VTK_LINES], data->cell_count[VTK_POLYS]);
  describe_arrays(file, data, false, &offset);
  describe_arrays(file, data, true, &offset);
  fprintf(file, "      <Points>\n");
  describe(file, "        ", "Points", VTK_FLOAT64, 3, 3 * data->point_count, &offset);
  fprintf(file, "      </Points>\n");
  for (int k = 0; k < VTK_CELL_KINDS; k++) {
    fprintf(file, "      <%s>\n", cell_name[k]);
    describe(file, "        ", "connectivity", VTK_INT64, 1, data->cell_count[k] * (size_t)(k + 1), &offset);
    describe(file, "        ", "offsets", VTK_INT64, 1, data->cell_count[k], &offset);
    fprintf(file, "      </%s>\n", cell_name[k]);
  }
  fprintf(file, "    </Piece>\n  </PolyData>\n  <AppendedData encoding=\"raw\">\n   _");
  append_arrays(file, data, false);
  append_arrays(file, data, true);
  append(file, data->point, 24 * data->point_count);
  for (int k = 0; k < VTK_CELL_KINDS; k++) {
    append(file, data->corner[k], data->cell_count[k] * (size_t)(k + 1) * sizeof(int64_t));
    append_offsets(file, data->cell_count[k], (size_t)(k + 1));
  }
  fprintf(file, "\n  </AppendedData>\n</VTKFile>\n");
}

/* ---- Legacy ---- */

static void write_swapped(FILE *file, const void *bytes, size_t count, size_t size) {
  const unsigned char *from = bytes;
  for (size_t k = 0; k < count; k++)
    for (size_t i = size; i-- > 0;) fputc(from[k * size + i], file);
}

static void write_legacy_arrays(FILE *file, const VtkData *data, bool cell) {
  int count = 0;
  for (int k = 0; k < data->array_count; k++) count += data->array[k].cell == cell;
  if (!count) return;
  size_t tuples = cell ? cell_total(data) : data->point_count;
  fprintf(file, "%s_DATA %zu\nFIELD FieldData %d\n", cell ? "CELL" : "POINT", tuples, count);
  for (int k = 0; k < data->array_count; k++) {
    const VtkArray *a = &data->array[k];
    if (a->cell != cell) continue;
    fprintf(file, "%s %d %zu %s\n", a->name, a->components, tuples, legacy_type[a->type]);
    write_swapped(file, a->data, array_length(data, a), type_size[a->type]);
    fputc('\n', file);
  }
}

static void write_legacy(FILE *file, const VtkData *data) {
  static const char *const section[] = {"VERTICES", "LINES", "POLYGONS"};
  fprintf(file,
          "# vtk DataFile Version 3.0\nabd %s, time %.9g s\nBINARY\nDATASET POLYDATA\nFIELD FieldData 1\nTimeValue 1 1 "
          "double\n",
          abd_version(), data->time);
  write_swapped(file, &data->time, 1, 8);
  fprintf(file, "\nPOINTS %zu double\n", data->point_count);
  write_swapped(file, data->point, 3 * data->point_count, 8);
  fputc('\n', file);
  for (int k = 0; k < VTK_CELL_KINDS; k++) {
    int32_t corners = k + 1;
    if (!data->cell_count[k]) continue;
    fprintf(file, "%s %zu %zu\n", section[k], data->cell_count[k], data->cell_count[k] * (size_t)(corners + 1));
    for (size_t c = 0; c < data->cell_count[k]; c++) {
      write_swapped(file, &corners, 1, 4);
      for (int i = 0; i < corners; i++)
        write_swapped(file, &(int32_t){(int32_t)data->corner[k][c * (size_t)corners + (size_t)i]}, 1, 4);
    }
    fputc('\n', file);
  }
  write_legacy_arrays(file, data, false);
  write_legacy_arrays(file, data, true);
}

bool vtk_write(const VtkData *data, const char *path, ExportError *error) {
  OutFile out;
  const char *dot = strrchr(path, '.');
  if (!out_open(&out, path, error)) return false;
  if (dot && !strcasecmp(dot, ".vtk")) write_legacy(out.file, data);
  else write_xml(out.file, data);
  return out_close(&out, true, error);
}
