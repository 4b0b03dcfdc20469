/* Every constant of the solver that a person chose, with its unit, its reason and the test that fails when it changes.
 *
 * Constants that follow from a formula (b''(1/2), 4/9 of BDF2, half a range for each of two bodies) stay in their
 * formulas. docs/choices.md, section "Constants", has a row of the same name for each constant. The row says what a
 * smaller and a larger value do. tests/constants.sh compares header and rows. tests/mutate.sh changes one constant at a
 * time and runs its test.
 *
 * h is the time step, m a mass, b the barrier, y a gap over the contact range. */
#ifndef ABD_KERNEL_CONSTANT_H
#define ABD_KERNEL_CONSTANT_H

/* ---- Stiffness of barriers: contacts and joint stops (docs/method.md, section 4) ---- */

/* [rad] A smaller angle between two triangles or edges is a rounding error of the mesh. test_sharp */
#define FLAT_ANGLE 1e-8
/* [radius] An edge this far from the plane of its triangles' other corners is in it, up to rounding. test_sharp */
#define PLANE_ROUNDING 1e-14
/* [1] A closest point with a smaller weight of a corner lies on the opposite edge or end, up to rounding. test_merge */
#define SNAP_WEIGHT 1e-9
/* [ranges] Edge-edge stencils of vertices with shorter edges are all counted. test_merge */
#define SHARE_LENGTH 2.0
/* [1] What contacts of negative weight leave at least of the stiffness of the others along a normal. test_contact */
#define RELIEF_LEAST 0.1
/* [m/h^2 at y = 1/2] A contact stops what enters the range within a step. test_constant_barrier */
#define BARRIER_INERTIAS 40.0
/* [weights at -b' = 1] A body rests near the edge of the range. test_constant_barrier */
#define BARRIER_WEIGHTS 30.0
/* [m way r] A contact carries the impact of its own pair near half the range. test_constant_barrier */
#define BARRIER_IMPACT 1.0
/* [motion] The way of a pair that does not touch yet, with some excess. test_constant_barrier */
#define APPROACH_MOTION 1.1
/* [times] A contact's force is expected to grow by no more within an iteration. No effect found */
#define EXPECT_MOST 1e3
/* [force] Forces that are expected to change by less have the curvature of the barrier itself. Cost alone */
#define EXPECT_NEAR 0.01
/* [y] A barrier pressed below is too soft for its load. test_constant_barrier */
#define BARRIER_TIGHT 0.1
/* [times] A pair that is tight at the end of a step becomes so much stiffer. test_constant_barrier */
#define STIFFEN_STEP 2.0
/* [gap before] If the gap of a barrier made stiffer hardly changes, its load comes from the stiffness. test_law */
#define STIFFEN_SAME 0.8
/* [y] A barrier with a larger gap is stiffer than its load needs. test_constant_barrier */
#define RELAX_ABOVE 0.5
/* [times] Its stiffness falls by no more in a step. test_constant_barrier */
#define RELAX_STEP 0.25
/* [gap before] A tight gap that shrinks to this is stiffened within the step. test_constant_barrier */
#define GUARD_SHRINK 0.5
/* [times] The first step of an impact cannot wait for many doublings. test_constant_barrier */
#define GUARD_STEP 8.0
/* [times] A barrier far stiffer than all else would hide other energies. test_constant_joint */
#define STIFFENING_MAX 1e6
/* [room between two stops] Half of the room stays free of both barriers. test_constant_joint */
#define STOP_RANGE 0.25

/* ---- What a step leaves of a gap, a stop, a tet's volume ---- */

/* [gap] A path stops here. A few cuts of a smaller share would end at rounding. test_constant_joint */
#define GAP_LEFT 0.1
/* [gap] No advance falls below. Each gains at least what lies between the two. test_ccd */
#define GAP_FLOOR 0.09
/* [rounding of the largest coordinate] A smaller gap may be a crossing. No step leads there. test_far */
#define GAP_ROUNDING 64.0
/* [range] A stencil that stays above needs no continuous test. test_constant_count */
#define GAP_CLEAR 0.11
/* [advances] Then the costlier certificate of turning parts is tried. Cost alone */
#define CCD_PATIENCE 4
/* [advances] A limit for the loop. An end, never reached */
#define CCD_PROBES 4096
/* [radius of the mesh] The direction of a shorter edge is rounding error. test_barrier */
#define EDGE_POINT 1e-13
/* [cosine] A step turns a joint with stops by less than a quarter turn. test_constant_joint */
#define TURN_LEFT 0.01

/* ---- Lists of candidates and the broad phase ---- */

/* [edge] Lists grow with the square of what they cover beyond an edge. test_constant_count */
#define LIST_EDGES 0.25
/* [radius / sqrt(triangles)] About the edge of a sphere with so many triangles. test_constant_count */
#define LIST_EDGE_LENGTH 3.5
/* [body radius] A longer margin would list most of a coarse mesh. test_constant_count */
#define LIST_RADIUS 0.05
/* [ranges] A list of the finest mesh is valid for some iterations too. test_constant_path */
#define LIST_RANGES 4.0
/* [ranges] A list is still valid in the next step of bodies at rest. test_constant_path */
#define LIST_SPARE 0.5
/* [ranges] Longer motions are swept, because most of their list would be unused. test_constant_path */
#define LIST_AGAIN 8.0
/* [reach] After so short a way only the near candidates are tested again. test_constant_count */
#define RECHECK_WITHIN 0.1
/* [reach] Planes of farther candidates are not evaluated. test_constant_count */
#define PLANE_WITHIN 2.0
/* [turn of b] The bound by planes is useless beyond. test_constant_path */
#define PLANE_TURN 0.5
/* [motion] Bent steps seldom leave a box with this excess. test_constant_path */
#define REACH_MOTION 0.1
/* [tests of boxes for each body] Beyond so many the broad phase sweeps by columns. Cost alone */
#define COLUMNS_TESTS 32
/* [columns] A body in more of them is tested against all others. Cost alone */
#define COLUMNS_MOST 16
/* [body radius] Shorter motions are swept in one window. test_constant_path */
#define SWEEP_LONG 0.2
/* [motion] An early hit costs a sweep of this length only. test_constant_path */
#define SWEEP_FIRST 0.1
/* [times] Each next window is so much longer. test_constant_path */
#define SWEEP_STEP 3.0
/* [turn of b] Within a window paths in b's rest frame are nearly straight. test_constant_path */
#define SWEEP_TURN 0.4
/* [range] Lists of soft surfaces serve paths so far from their own. Cost alone */
#define PATH_SPARE 0.25
/* [stencils] All threads test a longer list of soft surfaces together. Cost alone */
#define PATH_LARGE 4096

/* ---- Friction ---- */

/* [island's load] Loads that change less in an iteration are fixed from then on. test_constant_count */
#define LOAD_SETTLED 0.02
/* [island's load] Loads farther from the normal forces at the end follow them again. test_constant_count */
#define LOAD_ERROR 0.03
/* [iterations] Then loads that did not settle are averaged over more and more iterations. test_constant_count */
#define LOAD_MEAN 20
/* [iterations] Then they are fixed. test_constant_count */
#define LOAD_ITERATIONS 60
/* [times] A load grows by no more within an iteration. test_constant_count */
#define LOAD_GROWTH 2.0
/* [distance from the aim before] Loads that come no nearer in an iteration creep. test_constant_count */
#define LOAD_CREEPS 0.5
/* [iterations] After so many, one after the other, they move farther. test_constant_count */
#define LOAD_CREEPING 5
/* [distance from the aim] But no farther. test_constant_count */
#define LOAD_FARTHEST 16.0

/* ---- Newton's method ---- */

/* [promised by the slope] Steps that overshoot gain less. A quadratic gains half. test_constant_count */
#define STEP_GAIN 0.1
/* [promised by the slope] A last step that gains more does not end an island: its error may be larger than the step.
 * test_physics_contact */
#define LAST_GAIN 0.6
/* [slope of the straight step] A bent step with less is halved. No effect found */
#define STEP_DOWNHILL 0.3
/* [slope of the straight step] A bent step that is so much steeper is halved. No effect found */
#define STEP_STEEP 1e4
/* [bound] A shorter step bends differently and needs room. test_constant_count */
#define STEP_CUT 0.9
/* [cuts] Then the straight part up to the bound is taken, which is always safe. No effect found */
#define STEP_CUTS 6
/* [fraction] The next trial after one that gained too little. test_constant_count */
#define STEP_HALVING 0.5
/* [trials] More halvings than a double has digits. An end, never reached */
#define STEP_TRIALS 60
/* [fraction] No bent step is shorter. An end, never reached */
#define STEP_LEAST 1e-12
/* [rad] A straight step that turns less strains by 5e-9 at most. test_constant_joint */
#define TURN_SMALL 1e-4
/* [rounds] Corrections of linear joints after a bent step. Two are enough. An end, never reached */
#define CLOSE_ROUNDS 5
/* [g dt] Impacts slower than this part of what gravity adds in a step do not bounce. test_impact */
#define IMPACT_GRAVITY 2
/* [threshold] Slower approaches are left to the next step; [approach] what impulses leave of one that does not bounce.
 * test_impact */
#define IMPACT_SLOW 0.1
/* [threshold] Smaller changes by blows are left to bodies that keep the velocities of the solve; [tolerance] the lowest
 * threshold. test_impact */
#define IMPACT_LEAST 0.01
/* [sweeps] over the pairs while blows pass through bodies; after these they jam. test_impact */
#define IMPACT_SWEEPS 250
/* [rounds] of impulses over the contacts of a pair. An end, reached by patches of many contacts.
 * No effect found */
#define IMPACT_ROUNDS 200
/* [1] The rounds end when the last changed the speed by less than this part of it. test_impact */
#define IMPACT_SMALL 1e-9
/* [1] A contact is held by joints if they leave less of what impulses change there. No effect found */
#define IMPACT_HELD 1e-6
/* [kinetic energy] A flight's error of energy up to this part is corrected; a larger loss is left. test_cluster */
#define ENERGY_CORRECTED 0.02
/* [kinetic energy] The same with a rope that stays taut. test_cluster */
#define ROPE_CORRECTED 0.25
/* [mass of a body at another end of its joints] A lighter body is corrected for its own gain. test_cluster */
#define LIGHT_LINK 0.01
/* [inertias] Resistance to strain when joints are closed by impulses. Larger ones lose digits. test_motion */
#define FLIGHT_STIFFNESS 1e6
/* [mass of the heaviest block of the mechanism times radius^2] A block resists strain as if its inertia were no less.
 * test_motion */
#define FLIGHT_LOAD 1e-3
/* [inertias] ... but no more. Larger ones lose digits, and flights are not found. test_motion */
#define FLIGHT_LOAD_MOST 1e4
/* [1] dt^2 times stiffness over inertia: springs below it act as kicks, which keep energy; stable below 4 for one
 * spring, less for several on one body. test_motion */
#define SPRING_FLIES 0.25
/* [rounds] Corrections of a flight's impulses. test_motion */
#define FLIGHT_ROUNDS 12
/* [rounds] After so many rounds a flight may be given up. test_motion */
#define FLIGHT_TRIAL 3
/* [1] It is given up if what is open did not fall to this part. test_motion */
#define FLIGHT_PROGRESS 0.1
/* [parts times blocks of the mechanism] Most work of a flight in which blocks turn too far for one part.
 * test_motion */
#define FLIGHT_PARTS 128
/* [rad] A block turns at most so far in a part of its mechanism's flight, if FLIGHT_PARTS allows. test_motion */
#define FLIGHT_TURN 0.3
/* [1] What a flight may leave open, relative to the bodies' size, before it is closed by a displacement. test_motion */
#define FLIGHT_OPEN 1e-9
/* [strain] Bodies do not fly to poses that strain them by more: the step is solved for. test_joint_cost */
#define FLIGHT_STRAIN 1e-6
/* [volume] A body that is crushed to less is held by a barrier, and never turns inside out. test_elasticity */
#define ELASTIC_VOLUME 0.1
/* [strain] A body that is strained by more has lost it at the end of its flight. test_outcome */
#define FREE_STRAIN 1e-3
/* [step length] Shorter steps add inertia to the matrix. test_constant_count */
#define DAMPING_BELOW 0.3
/* [step length] Longer steps remove it. test_constant_count */
#define DAMPING_END 0.5
/* [Newton's step] The shortest one that a secant chooses. An end, never reached */
#define SCALE_LEAST 0.1
/* [Newton's step] The longest one that is tried. test_constant_count */
#define SCALE_MOST 16.0
/* [Newton's step] If the lowest length is below this, a whole step is tried. test_constant_count */
#define SCALE_LONGER 1.3
/* [last Newton step] A Newton step that is shorter is not made longer. test_constant_count */
#define SCALE_SLOW 0.5
/* [inertias] The first amount. test_constant_count */
#define DAMPING_FIRST 1.0
/* [times] The amount grows and falls by this. test_constant_count */
#define DAMPING_STEP 8.0
/* [inertias] Less than that is removed at once. No effect found */
#define DAMPING_LEAST 0.2
/* [iterations] Soft elements are made convex after an indefinite matrix. No effect found */
#define CONVEX_ITERATIONS 5
/* [iterations] An island that still iterates gets the exact stiffness of contacts and joints. test_secant */
#define EXACT_AFTER 8
/* [steps] An island that still takes whole steps after so many of them converges slowly. test_secant */
#define SECANT_AFTER 8
/* [bodies] A smaller island gains nothing from dozing. test_constant_count */
#define DOZE_BODIES 8
/* [island] If more than this is active, all bodies take part. test_constant_count */
#define DOZE_SHARE 0.5
/* [tolerances] An island nearer to its end takes part as a whole. test_constant_count */
#define DOZE_ABOVE 10.0
/* [term of energy] What rounding of one term may add. test_constant_rounding */
#define ROUNDING_ENERGY 1e-14
/* [strain] What rounding of a pose adds to stiff elasticity. test_constant_rounding */
#define ROUNDING_STRAIN 1e-15
/* [coordinate] What rounding of a distance adds to a barrier. test_constant_rounding */
#define ROUNDING_DISTANCE 1e-15

/* ---- Sub-steps ---- */

/* [iterations] A step that takes more is given up and taken in halves. test_substep */
#define SUBSTEP_ITERATIONS 150
/* [iterations] Newton's smallest steps of so many iterations are compared with those before. test_substep */
#define STALL_WINDOW 15
/* [smallest step before] If they are not below, the step is given up as well. test_substep */
#define STALL_PROGRESS 0.5
/* [iterations] So is a step that takes more after the loads of friction disagreed. test_substep */
#define STALL_AGAIN 20
/* [tolerances] An island with a shorter Newton step is near its end and takes STALL_WINDOW more. test_substep */
#define STALL_NEAR 10.0
/* [iterations] After a sub-step that takes no more the next one is twice as long. test_substep */
#define SUBSTEP_EASY 20
/* [sub-steps] So many at most are awaited after longer ones were given up. Cost alone */
#define SUBSTEP_WAIT 16
/* [rad] A step in which a body with others in reach would turn farther is taken in sub-steps. test_substep */
#define SUBSTEP_TURN 1.5
/* [rad] The same for a joint whose equations contain its angle: half a turn is ambiguous. test_motion */
#define SUBSTEP_ANGLE 2.5
/* [breadths of the body] The same for a body that would approach another one farther. test_substep */
#define SUBSTEP_WAY 2.0
/* [energy of motion] A step in which contacts add more to that of a body alone is taken in sub-steps. test_substep */
#define CONTACT_GAIN 0.01
/* [halvings] The shortest sub-step is dt / 4096. test_substep */
#define SUBSTEP_LEVELS 12
/* [shortest sub-steps] After so many that do not converge the rest of the step is not split. test_substep */
#define SUBSTEP_FAILURES 4

/* ---- Forces that are shown (step/push.h) ---- */

/* [1] What a change of a contact's force weighs against what all of them miss. test_contact_force */
#define PUSH_WEIGHT 1e-4
/* [1] The search for the factors ends at smaller changes. Cost alone */
#define PUSH_DONE 1e-7

/* ---- Automatic settings ---- */

/* [mean diagonal] The contact range, too small to see. test_constant_path */
#define RANGE_OF_SIZE 1e-3
/* [smallest diagonal] The same if a body is far smaller than the mean. test_constant_path */
#define RANGE_OF_SMALLEST 0.1
/* [rounding of the largest coordinate] The least contact range: GAP_ROUNDING has to be a small part of it. test_far */
#define RANGE_ROUNDING 1e4
/* [rad] No body turns farther in an iteration: paths of many turns take minutes to test. Cost alone */
#define NEWTON_TURN 3.0
/* [ranges a step] The tolerance of Newton's last step. test_constant_count */
#define TOLERANCE_RANGE 0.1
/* [friction_speed] A larger one lets bodies stick on slopes too steep. test_constant_count */
#define TOLERANCE_FRICTION 0.1
/* [heaviest mass] A scripted body yields by a ten thousandth, and contact can stop it. test_constant_path */
#define KINEMATIC_MASS 1e4
/* [times] What keeps a scripted body rigid against what draws it: one that is blocked is not crushed. test_outcome */
#define KINEMATIC_RIGID 1e4
/* [ranges] A scripted body farther from its target is reported. test_constant_barrier */
#define KINEMATIC_BLOCKED 0.1
/* [scene] The gap left in a joint that is not linear. test_constant_joint */
#define JOINT_TOLERANCE_SIZE 1e-7
/* [range] The same where ranges are short. test_constant_joint */
#define JOINT_TOLERANCE_RANGE 1e-3

/* ---- Joints that are not linear, dry friction, drives ---- */

/* [m/h^2] The first penalty of an equation. test_constant_joint */
#define JOINT_INERTIAS 1e3
/* [times] The penalty grows by this if a renewal closed too little. test_constant_joint */
#define JOINT_STEP 10.0
/* [gap before] A renewal that leaves more closed too little. test_constant_joint */
#define JOINT_PROGRESS 0.1
/* [m/h^2] The largest penalty. No effect found */
#define JOINT_INERTIAS_MAX 1e8
/* [renewals] A joint not closed then is reported open. An end, never reached */
#define JOINT_RENEWALS 30
/* [cosine] The twist of a joint refers to new poses if the cosine of half its turn is less. test_constant_joint */
#define TWIST_NEAR 0.9999
/* [rad or arms] The elastic part of dry friction. test_constant_joint */
#define JOINT_STICK 1e-5
/* [rad] A step of less than a quarter turn does not reach farther stops. test_constant_joint */
#define STOP_NEAR 1.5
/* [m/h^2] The damper of a speed drive without a maximum. test_constant_joint */
#define DRIVE_INERTIAS 1e3
/* [motion of a step] A drive at its maximum yields within this. test_constant_joint */
#define DRIVE_GIVE 0.1
/* [inertias over the damper] A drive that learns faster rings. test_constant_joint */
#define DRIVE_SLOWNESS 4.0

/* ---- Linear systems ---- */

/* [block] Zeros let in where up to four columns join. test_constant_linear */
#define MERGE_ZEROS_FEW 0.25
/* [block] Zeros let in beyond four columns. test_constant_linear */
#define MERGE_ZEROS 0.05
/* [stiffness of a body's strain] Bodies whose contacts are softer in sum have six unknowns in Newton's system; the
 * steps of others would lack their strains. test_condense */
#define CONDENSE_BELOW 0.1
/* [bodies] The least active set with such bodies: a smaller one is factored in little time, and its last iterations
 * converge as fast as Newton's with all unknowns. test_condense */
#define CONDENSE_BODIES 600
/* [flops a body] The least factor with twelve unknowns that is worth it: that of a net costs less than condensing.
 * Cost alone */
#define CONDENSE_FLOPS 1e5
/* [first residual] Newton takes no more iterations than with Cholesky. test_constant_linear */
#define PCG_TOLERANCE 1e-7
/* [first residual] The same on the GPU, whose solves are inexact: 1e-5 takes twice the iterations of conjugate
 * gradients and no fewer of Newton's. test_cuda_serial */
#define GPU_PCG_TOLERANCE 1e-3
/* [first residual] The same between ranks: 1e-2 takes 0.6 times the iterations of conjugate gradients and 1.3 times
 * those of Newton in a net of 27,645 rings on 16 ranks, 1e-4 1.4 and 0.96 times. test_partition */
#define RANKS_TOLERANCE 1e-3
/* [mean load] Bodies are divided anew if the busiest rank has more: a body that changes its rank loses its candidates.
 * test_partition */
#define RANKS_UNEVEN 1.15
/* [steps] The least number between two divisions. test_partition */
#define RANKS_PATIENCE 5
/* [bodies] The least number for each rank from which on bodies are divided, and not pairs alone. test_partition */
#define RANKS_BODIES 100
/* [triangles per body] From here on the GPU steps a world faster than 16 cores (docs/gpu.md). test_cuda_serial */
#define GPU_TRIANGLES 4000
/* [bodies] The same, if meshes are coarser and nothing but contact joins bodies. test_cuda_serial */
#define GPU_BODIES 1000
/* [elements] From here on it computes those of soft bodies faster (docs/gpu.md). test_cuda_soft */
#define GPU_ELEMENTS 5000
/* [bodies] The least active set whose matrix the GPU solves by conjugate gradients: 16 cores factor a smaller one in
 * less time than the iterations take (docs/gpu.md). test_cuda_serial */
#define GPU_SOLVE_BODIES 250
/* [bodies] The most that the preconditioner of the GPU inverts together, a multiple of 4: 4 takes more iterations of
 * conjugate gradients, 12 twice the time to invert. test_cuda_serial */
#define GPU_CLUSTER 8
/* [candidates] The longest list that the search on the GPU puts in order by counting smaller keys, with a time of its
 * square; if one is longer, all are sorted by kernels of their own. test_cuda_serial */
#define GPU_RANKED 2000
/* [margin of lists] How much further lists of candidates reach that the GPU makes, if meshes are coarser than
 * GPU_TRIANGLES: distances cost less there than searches. test_cuda_serial */
#define GPU_LIST_MORE 1.0
/* [windows] How many windows of a long step the GPU searches at once: three make a whole step in most cases, a search
 * costs more than the windows that an early bound makes needless. Cost alone. */
#define GPU_WINDOWS 4

/* ---- Volumes of surfaces that are not clean closed ones ---- */

/* [radii] Triangles so far away count as one dipole, to a few per cent. test_winding */
#define WINDING_FAR 2.0
/* [cells along an axis] Openings are large: a few cells would do. Cost alone */
#define WINDING_GRID 16
/* [columns along an axis] The volume of overlapping balls is found to 1e-4. test_winding */
#define WINDING_COLUMNS 128
/* [volume] If large holes decide of more, it is a sheet. A bowl has 0.5, an open box 0.2. test_winding */
#define WINDING_UNDECIDED 0.1
/* [diagonal of the mesh] A smaller loop of edges is a defect and no opening. test_winding */
#define LID_SMALL 0.1
/* [volume] With more of it wound around twice, shells overlap. test_winding */
#define WINDING_OVERLAP 0.001

#endif
