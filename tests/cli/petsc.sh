#!/bin/bash
# PETSc's solvers between ranks: steps converge and agree with those of the own solver to its tolerance, the same bits run after run,
# also resumed; options that are wrong are told. Skipped without MPI or PETSc.
#   petsc.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
command -v mpirun >out.txt || { echo "skipped: no mpirun (Debian: openmpi-bin)"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid it, with warnings
"$abd" scene net --size 4 -o net.json >out.txt
if ! "$abd" run net.json -o probe.abd --steps 1 --set solver.ranks_linear=petsc >out.txt 2>&1; then
  grep -q 'solver.ranks_linear is "petsc", which this build does not have' out.txt || wrong "$(cat out.txt)"
  echo "skipped: a build without PETSc, see -DABD_PETSC=ON"
  exit 77
fi

# petsc RANKS RUN OPTIONS: near the own solver's run
petsc() {
  local near
  expect 0 '' env ABD_PETSC_OPTIONS="$3" mpirun -n "$1" "$abd" run net.json -o "$2" --steps 24 --set solver.ranks=bodies \
    --set solver.ranks_linear=petsc --quiet
  near=$(sqlite3 own.abd "ATTACH '$2' AS b; SELECT count(*) = 24 AND min(b.report.converged) AND sum(b.report.linear_iterations) > 0 AND
    max(abs(a.kinetic - b.report.kinetic) / (1e-9 + a.kinetic)) < 1e-3 FROM main.report a JOIN b.report USING (step)")
  [ "$near" = 1 ] || wrong "PETSc with '$3' on $1 ranks: far from the own solver"
}
expect 0 '' mpirun -n 2 "$abd" run net.json -o own.abd --steps 24 --set solver.ranks=bodies --quiet
petsc 2 a.abd ''
petsc 2 b.abd ''
same a.abd b.abd "PETSc, twice"
petsc 3 c.abd '-sub_pc_type icc -sub_pc_factor_mat_ordering_type natural'
petsc 2 d.abd '-mat_type aij -pc_type gamg'
petsc 2 e.abd '-mat_type sbaij -ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type mumps'
expect 0 '' mpirun -n 2 "$abd" run net.json -o f.abd --steps 20 --set solver.ranks=bodies --set solver.ranks_linear=petsc --quiet
expect 0 '' mpirun -n 2 "$abd" run f.abd --resume --steps 24 --quiet
same a.abd f.abd "PETSc, resumed"
export ABD_PETSC_OPTIONS='-pc_type nonsense'
expect 2 'refuses the options "-pc_type nonsense": .*nonsense' mpirun -n 2 "$abd" run net.json -o g.abd --steps 1 --set solver.ranks=bodies --set solver.ranks_linear=petsc
export ABD_PETSC_OPTIONS='-pc_typ gamg'
expect 2 'does not use -pc_typ ' mpirun -n 2 "$abd" run net.json -o g.abd --steps 1 --set solver.ranks=bodies --set solver.ranks_linear=petsc
echo good
