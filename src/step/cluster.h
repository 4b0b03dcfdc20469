/* Clusters: blocks that contacts and joints connect in a step. Their mechanical energy (kinetic, gravity, strain,
 * springs, soft elements) must not rise by what contacts do, and must not change in the flight of a mechanism.
 *
 * The step's forces act at the poses of its end. A contact on a body that turns thereby adds energy of second order in
 * the turn, a barrier that relaxes pushes bodies apart, and a flight's energy oscillates. The velocities at the end of
 * the step are scaled such that the balance holds: in a free cluster those relative to its motion as one rigid body, so
 * that momentum is kept. This motion has the angular momentum that the cluster had before: contact changes it by its
 * arm, of first order in the step. Under `rigid`, bodies and soft vertices have different integrators, which turn a
 * force between them into different impulses. So a free cluster with a soft body also gets back the momentum it had. In
 * a blow off centre this changes the energy, since the bodies are where an impact without bounce led them. A cluster
 * that bounced gets back what it took.
 *
 * In a cluster that touches the world the velocities are scaled relative to the part of this motion that its ties
 * cannot change. Contacts without friction push along their normals: the momentum across them is kept, and if they are
 * parallel the angular momentum about them. All other ties may push in any direction: nothing is kept. What contact
 * takes of half kicks (State.taken) is no pair of opposite impulses: what it took of the momentum that is kept is
 * returned.
 *
 * A barrier that relaxes after an impact lifts bodies on the world. As far as the energy that it loses explains that, it
 * is no gain. What is one is taken first from velocities along what contacts gave, so that a body keeps its speed along
 * the ground.
 *
 * A taut rope takes energy from a load that swings on it. If nothing else holds its cluster to the world, the energy is
 * returned to the cluster's translation across the rope: a rotor on the load keeps its speed.
 *
 * A light link in a cluster that touches the world is corrected for its own rise of energy before the rest is. The
 * forces of heavy bodies that pass through it at the end of a step do much work compared with its energy. If the heavy
 * bodies were slowed for that, the link would whirl faster in every step. Tested in tests/test_cluster.c. */
#ifndef ABD_STEP_CLUSTER_H
#define ABD_STEP_CLUSTER_H

#include "step/work.h"

/* Sums of m x, m v, and angular momentum about the origin. */
typedef struct Momenta {
  Vec3 moment, momentum, spin;
} Momenta;

typedef struct Cluster {
  bool tied;                    /* it touches static bodies or is joined to the world */
  bool driven;                  /* drives act on it: its energy may rise by their work */
  bool scripted;                /* scripts act on it, or surfaces that move: its energy may rise */
  bool touched;                 /* contacts, stops or dampers act on it: it may lose energy */
  bool jointed;                 /* it has joints */
  bool loaded;                  /* its joints carry forces from a step that was solved */
  bool grips;                   /* what ties it may push it in all directions: joints, friction, held vertices */
  bool guided;                  /* by a rope that stays taut */
  int ties, hooks;              /* contacts and joints with the world; ropes among them that stay taut */
  Vec3 along;                   /* direction of the last of these */
  Mat3 pushes;                  /* sum of n n^T over the normals n of contacts with the world */
  Vec3 returned_momentum;       /* of half kicks that contact took in the step before, see State.taken */
  bool soft;                    /* it has soft bodies */
  bool unbounced;               /* it has blocks that did not bounce */
  bool keeps_spin;              /* the integrator keeps angular momentum */
  uint32_t held, let;           /* ABD_FIX_* bits that some of its blocks have, and do not have */
  double gain;                  /* [J] rise of its mechanical energy less the work of given forces and drag */
  double risen;                 /* [J] the same of light links, up to the rise of their kinetic energies */
  double strain;                /* [J] rise of the strain energy of its bodies; under `rigid` a flight only rounds it */
  double released;              /* [J] fall of the energy of its barriers */
  double lifted;                /* [J] rise of blocks against gravity, beyond what their velocities explain */
  double pushed_energy;         /* [J] kinetic energy along what contacts gave, of each block */
  double push_along, push_size; /* products of what they gave with the velocities, and with itself */
  double exchange;              /* [J] sizes of what gravity, given forces and springs did */
  double owed;                  /* [J] gain of flights that is not corrected yet; cluster_close: after the step */
  int joints;                   /* among which that is shared */
  double swing[2];              /* [J] errors of its springs in flight, which oscillate: losses, gains */
  double drive_work;            /* [J] */
  double known;                 /* [J] part of it that scripts, drives, damping and friction explain */
  bool took;                    /* contact took of the half kicks at the end of the step, see State.taken */
  double returned;              /* [J] kinetic energy of what contact took of half kicks */
  double returned_before;       /* [J] the same at the start of the step */
  double returning;             /* [J] what the return of its momenta adds to the energy of its rigid motion */
  double kinetic, scaled, mass; /* scaled: kinetic energy relative to the rigid motion */
  Momenta own;                  /* at the end of the step */
  Momenta whole, before;        /* the same and at the start, with what contact took of half kicks, see State.taken */
  bool pushed;                  /* by given forces or torques, by drag, or by gravity that differs */
  Vec3 gravity;                 /* of its first block */
  Mat3 second;                  /* sum of m x x^T */
  /* cluster_close: */
  bool by_rope;                   /* `velocity`, that across or along its rope, is corrected */
  double link_loss;               /* part of their rise that light links of a tied cluster lose */
  bool keeps;                     /* it is tied and has a rigid motion that its ties cannot change */
  bool whole_kick;                /* contact takes nothing of the half kick at the end of the step */
  double pushed_factor;           /* of velocities along what contacts gave */
  double factor;                  /* of velocities, relative to the rigid motion if there is one */
  Vec3 center, velocity, turning; /* of the rigid motion */
  Vec3 turning_kept;              /* with the angular momentum from before the step */
  Vec3 velocity_kept;             /* the same with the momentum */
  double turning_energy;          /* [J] of turning_kept */
} Cluster;

/* [J] What acts on a block in the step. */
typedef struct GivenWork {
  double gravity, forces, drag;
} GivenWork;
/* [J] by the script of a kinematic block. */
double cluster_script_work(const Work *work, int block);
/* Adds a dynamic block: its inertia and velocity after the step, and the change of its energies in the step. */
GivenWork cluster_add(Cluster *cluster, const Work *work, int block, const State *after);
/* Adds the sums of another part of the same cluster. */
void cluster_join(Cluster *cluster, const Cluster *part);
/* Decides on the factor of its velocities. */
void cluster_close(Cluster *cluster, double h);
/* [J] what is left of its gain after scaling. */
double cluster_rest(const Cluster *cluster);
/* Does it change the rates of its blocks? */
bool cluster_changes(const Cluster *cluster);
/* The rate of a block after scaling. */
Affine cluster_rate(const Cluster *cluster, const Work *work, int block, const State *after);
/* What contact took of the half kick of a body, less what its cluster returns. */
Flight cluster_taken(const Cluster *cluster, const Model *model, int body, const State *after);

#endif
