#!/bin/bash
# tetrahedralize, and check on meshes of tetrahedra.
#   soft.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >tet.obj
sed 's/f 2 3 4//' tet.obj >open.obj
expect 0 'Usage: abd tetrahedralize' "$abd" tetrahedralize --help
expect 2 'expected one surface' "$abd" tetrahedralize
expect 2 'o FILE is missing' "$abd" tetrahedralize tet.obj
expect 2 'ends in .msh, got .x.vtk.' "$abd" tetrahedralize tet.obj -o x.vtk
expect 2 "expected tetgen or gmsh, got 'netgen'" "$abd" tetrahedralize tet.obj -o x.msh --with netgen
expect 2 'No such file' "$abd" tetrahedralize missing.obj -o x.msh
expect 2 'open.obj: not a closed surface \(3 open edges' "$abd" tetrahedralize open.obj -o x.msh
# nothing installed, and a program that fails: sentences, no file
mkdir bin
expect 2 'tetgen, gmsh: no such program on PATH.*apt install tetgen' env PATH="$PWD/bin" "$abd" tetrahedralize tet.obj -o x.msh
printf '#!/bin/sh\necho the facets cross\nexit 3\n' >bin/tetgen
chmod +x bin/tetgen
expect 2 'tetgen failed \(exit code 3\); its last line: the facets cross' env PATH="$PWD/bin:$PATH" "$abd" tetrahedralize tet.obj -o x.msh
printf '#!/bin/sh\nkill -9 $$\n' >bin/tetgen
expect 2 'tetgen was ended by signal 9' env PATH="$PWD/bin:$PATH" "$abd" tetrahedralize tet.obj -o x.msh
[ ! -e x.msh ] || wrong "a mesh where the program failed"
for program in tetgen gmsh; do
  command -v $program >/dev/null || { echo "$program is not installed: skipped"; continue; }
  expect 0 "$program.msh: [0-9]+ vertices, [0-9]+ tetrahedra, volume 0.166667" "$abd" tetrahedralize tet.obj -o $program.msh --with $program
  expect 0 'no problem' "$abd" check $program.msh
  mkdir -p scratch
  TMPDIR=$PWD/scratch expect 0 '' "$abd" tetrahedralize tet.obj -o fine.msh --edge 0.1 --with $program
  [ -z "$(ls scratch)" ] || wrong "left behind: $(ls scratch)"
  expect 4 'cannot write' "$abd" tetrahedralize tet.obj -o no/such/folder/x.msh --with $program
done
if command -v tetgen >/dev/null; then # without --with the first that is there; finer means more
  expect 0 '' "$abd" tetrahedralize tet.obj -o coarse.msh
  expect 0 '' "$abd" tetrahedralize tet.obj -o fine.msh --edge 0.1
  [ "$(wc -l <fine.msh)" -gt $((2 * $(wc -l <coarse.msh))) ] || wrong "--edge made no difference"
fi

# check
medit() { printf 'MeshVersionFormatted 2\nDimension 3\nVertices 5\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\n%s 0\nTetrahedra %s\n' "$1" "$2"; }
{ medit '1 1 1' 2; echo '1 2 3 4 0'; echo '2 3 4 5 0'; } >good.mesh
expect 0 'good.mesh: 2 tetrahedra of volume 0.5 on 5 vertices' "$abd" check good.mesh
expect 0 'good.mesh: no problem' "$abd" check good.mesh
{ medit '1 1 1' 2; echo '1 2 3 4 0'; echo '2 3 5 4 0'; } >folded.mesh
expect 1 'inverted: 1 tetrahedron is inside out, the worst is 1 at \(0.5, 0.5, 0.5\) with volume -0.333' "$abd" check folded.mesh
{ medit '0.34 0.34 0.3400001' 2; echo '1 2 3 4 0'; echo '2 3 4 5 0'; } >sliver.mesh
expect 1 'sliver: 1 tetrahedron with an angle between faces below 5 degrees, the worst is 1' "$abd" check sliver.mesh
{ medit '1 1 1' 3; echo '1 2 3 4 0'; echo '2 3 4 5 0'; echo '3 1 2 4 0'; } >twice.mesh
expect 1 'repeated: tetrahedra 0 and 2 have the same corners' "$abd" check twice.mesh
{ medit '0.2 0.2 0.9' 2; echo '1 2 3 4 0'; echo '1 2 3 5 0'; } >over.mesh
expect 1 'overlapping: 1 face of more than two' "$abd" check over.mesh
{ medit '1 1 1' 2; printf '1 2 3 4 0\n2 3 4 5 0\nTriangles 2\n1 2 3 0\n1 2 5 0\n'; } >stray.mesh
expect 1 'the surface does not match: 1 triangle of the file .the first is 1. that are no faces' "$abd" check stray.mesh
{ medit '1 1 0' 0; printf 'Triangles 2\n1 2 3 0\n2 5 3 0\n'; } >sheet.mesh
expect 0 'sheet.mesh: no problem' "$abd" check sheet.mesh
{ medit '1 1 1' 1; echo '1 2 3 6 0'; } >index.mesh
expect 2 'index.mesh:10: tetrahedron 1: vertex 6 is out of range 1..5' "$abd" check index.mesh
echo good
