// Package shadow compares Karpenter with the controller that runs in a cluster, without writing to it.
//
// Problem: whether another controller would run a cluster better shows only after a switch. A simulation of one moment does not say how the
// fleet would have changed over days.
//
// Approach: a second cluster, the mirror, is in memory. It gets the pods of the real cluster as they come and go, its NodePools, DaemonSets,
// PodDisruptionBudgets and volumes; its nodes are those that the real cluster had at the start, and from then on those that the controller
// under test launches and removes there. Both fleets are measured at the same moments.
//
// Invariants: the real cluster is only read. A pod is in the mirror as long as it, or a pod that replaces it, is in the real cluster; on which
// node is decided in each cluster alone. A real pod that is replaced by its controller, because its node was drained, does not disturb the
// mirror: its twin stays for the replacement.
//
// Cost: a step takes time in proportion to the number of objects, with little for objects that have not changed.
package shadow
